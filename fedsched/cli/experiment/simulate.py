"""`fedsched simulate`: simulate a policy on one or several logs, and print its metrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.costs import Run, print_costs, print_side_by_side
from fedsched.cli.shared.shared import (
    CHART_FORMATS,
    INTERRUPTED,
    PLAN_FORMATS,
    NotTakenError,
    check_apart,
    check_output,
    file_labels,
    load_workload,
    option,
    print_json,
    progress_bar,
    say,
    stopwatch,
    write_schedule,
    written,
)
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.policies import Policy, Slurm
    from fedsched.study.scenario import Scenario


def command(
    trace: options.Trace = None,
    /,
    *more: options.MoreTraces,
    scenario: options.Scenario = None,
    log: groups.Sampled = groups.SAMPLED,
    machine: groups.Machine = groups.MACHINE,
    policy: groups.Policy = groups.POLICY,
    submits: options.Submits = "keep",
    reading: groups.WholeReading = groups.WHOLE_READING,
    gear: options.Gear = None,
    seed: options.Seed = None,
    checkpoint: Path | None = None,
    out: options.OutPlan = None,
    gantt: options.Gantt = None,
    json: options.Json = False,
) -> int:
    """Simulate a policy on a log and print its metrics.

    Several logs are simulated one after the other, and their metrics are printed side by side.

    Parameters
    ----------
    more
        More logs. Each is simulated alone; --json then prints a list.
    checkpoint
        rolling: a file in which the run saves its state. The same call made again resumes from it.

    Examples
    --------
    fedsched simulate sample --federation example --policy easy --gantt plan.png --out plan.csv
    fedsched simulate sample --nodes 128 --order saf --dispatch greedy --json
    fedsched simulate sample --head 100 --federation example --policy rolling --evaluations 300
    fedsched simulate sample figure-1-6 --nodes 128
    """
    from fedsched.simulate import is_slurm, simulate
    from fedsched.study.scenario.policy_choice import NotOfPolicyError

    if more:
        _refuse_of_one({"out": out, "gantt": gantt, "checkpoint": checkpoint}, 1 + len(more))
    check_output(out, PLAN_FORMATS)
    check_output(gantt, CHART_FORMATS, what="a chart")
    files = {"--out": out, "--gantt": gantt, "--checkpoint": checkpoint}
    check_apart((trace, *more, scenario, *machine.files), files)
    asked = [
        groups.scenario_of(
            scenario, one, log=log, machine=machine, policy=policy, reading=reading, seed=seed, usual=USUAL
        )
        for one in (trace, *more)
    ]
    check_apart(groups.files_read(scenario, *asked), files)
    try:
        rules, sharing = asked[0].policy.policy(seed=asked[0].seed, checkpoint=checkpoint), asked[0].policy.shared
    except NotOfPolicyError as error:
        raise NotTakenError(error.fields[:1], error.told(option)) from None
    groups.refuse_chart(sharing, gantt)
    runs: list[Run] = []
    for one, label in zip(asked, _labels(asked), strict=True):
        workload = load_workload(one.jobs, one.seed, announced=json)  # otherwise print_costs says it
        cluster = one.cluster(workload)
        recorded = workload
        if gear is not None:
            from fedsched.generate import geared

            workload = geared(recorded, cluster, gear)
        with stopwatch() as taken, progress_bar(f"simulating {label}" if more else "simulating") as progress:
            schedule = simulate(
                workload, cluster, rules, sharing=sharing, submits=submits, reading=one.reading, progress=progress
            )
            notes = schedule.notes if is_slurm(rules) and schedule.complete else ()
            runs.append(Run(label, schedule, taken(), notes))
        if not schedule.complete:
            break
    free = None if more or not schedule.complete else _otherwise(asked[0], submits, workload, recorded, cluster, rules)
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    there = written(out, gantt, checkpoint)
    if json:
        said = [run.to_json() | {"written": there} for run in runs]
        if free is not None:
            said[0][free.label.replace(" ", "_")] = {**free.values, "peak_watts": free.schedule.power().peak}
        print_json(said if more else said[0])
    elif more:
        print_side_by_side(runs)
    else:
        print_costs(runs[0], free)
    if schedule.complete:
        return 0
    kept = f" and in {', '.join(there)}" if there else ""
    say(f"fedsched: {'; '.join(schedule.notes)}. What was done until then is above{kept}.", err=True)
    return INTERRUPTED


def _otherwise(
    asked: Scenario,
    submits: str,
    workload: Workload,
    recorded: Workload,
    federation: Federation,
    rules: Policy | Slurm,
) -> Run | None:
    # The same simulation without the requested cap, power saving and gear, for comparison; None if none is requested.
    from fedsched.model.power.power_cap import is_capped, without_caps
    from fedsched.simulate import simulate

    other, left = federation, []
    if asked.machine.cap and is_capped(federation):
        other, left = without_caps(other), ["without cap"]
    if asked.machine.power and federation.power is not None:
        other, left = replace(other, power=None), [*left, "always on"]
    if workload is not recorded:
        left = [*left, "as recorded"]
    if not left:
        return None
    label = " ".join(left)
    with stopwatch() as taken, progress_bar(label) as progress:
        schedule = simulate(recorded, other, rules, submits=submits, reading=asked.reading, progress=progress)
        return Run(label, schedule, taken())


def _refuse_of_one(options: Mapping[str, object], logs: int) -> None:
    given = {name: value for name, value in options.items() if value is not None}
    if given:
        name, value = next(iter(given.items()))
        raise NotTakenError(
            given,
            f"--{name} {value} is for one log, and {logs} are given; simulate each alone for it, or leave it out.",
        )


def _labels(asked: Sequence[Scenario]) -> list[str]:
    from fedsched.study.scenario import Made

    if any(isinstance(one.jobs, Made) for one in asked):
        return [one.name or "made" for one in asked]
    return file_labels([Path(one.jobs.file) for one in asked if not isinstance(one.jobs, Made)])
