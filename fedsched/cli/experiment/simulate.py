"""`fedsched simulate`: simulate a policy on one or several logs, and print its metrics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHART_FORMATS,
    INTERRUPTED,
    PLAN_FORMATS,
    NotTakenError,
    check_apart,
    check_output,
    facts_of,
    figure,
    file_labels,
    load_workload,
    machine_text,
    number_text,
    option,
    print_json,
    print_table,
    progress_bar,
    reading_of,
    say,
    stopwatch,
    write_schedule,
    written,
)
from fedsched.core.text import counted
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.core.names import Submits
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Policy, Slurm
    from fedsched.study.scenario import Scenario


# In the short help.
FIRST = (
    "--federation", "--nodes", "--policy", "--conf", "--head",
    "--knowledge", "--submits", "--scenario", "--out", "--gantt", "--json",
)  # fmt: skip


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
    checkpoint: Annotated[Path | None, Parameter(group=options.SEARCH)] = None,
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
        named = asked[0].policy.policy(seed=asked[0].seed, checkpoint=checkpoint)
        rules = policy.own() or named
        sharing = asked[0].policy.shared
    except NotOfPolicyError as error:
        raise NotTakenError(error.fields[:1], error.told(option)) from None
    runs: list[Run] = []
    for one, label in zip(asked, _labels(asked), strict=True):
        workload = load_workload(one.jobs, one.seed, announced=json)  # otherwise print_metrics says it
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
    free = None
    if not more and schedule.complete:
        free = _otherwise(asked[0], submits, workload, recorded, cluster, rules, sharing)
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
        print_metrics(runs[0], free)
    if schedule.complete:
        return 0
    kept = f" and in {', '.join(there)}" if there else ""
    say(f"fedsched: {'; '.join(schedule.notes)}. What was done until then is above{kept}.", err=True)
    return INTERRUPTED


def _otherwise(
    asked: Scenario,
    submits: Submits,
    workload: Workload,
    recorded: Workload,
    federation: Federation,
    rules: Policy | Slurm,
    sharing: NodeSharing | None,
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
        schedule = simulate(
            recorded, other, rules, sharing=sharing, submits=submits, reading=asked.reading, progress=progress
        )
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


@dataclass(frozen=True, slots=True)
class Run:
    """The simulation of one log: the log's label in the output, the schedule, and the seconds that simulating took.

    `notes` says what Slurm's scheduler assumes about its files, and what in them it does not model.
    """

    label: str
    schedule: Schedule
    seconds: float
    notes: Sequence[str] = ()

    @property
    def values(self) -> Mapping[str, float]:
        """Return the schedule's metrics by name, without unknown ones (NaN) and without losses that are zero."""
        return self.schedule.metrics().telling()

    @property
    def recorded(self) -> Mapping[str, float]:
        """Return the metrics that the log itself records, by name; empty if it records none."""
        found = self.schedule.workload.recorded
        return {} if found is None else found.figures()

    @property
    def shared(self) -> bool:
        """Return whether jobs share nodes in the simulation."""
        return getattr(self.schedule, "use", None) is not None

    @property
    def ending(self) -> str:
        """Return as text how many jobs ran, in how many seconds of simulating, and the schedule's hash.

        After an interrupt, return how many jobs finished, without a hash.
        """
        jobs = len(self.schedule)
        if self.schedule.complete:
            jobs -= int(self.schedule.hopeless.sum()) + self.schedule.lost.killed.size
            return f"{counted(jobs, 'job')} in {self.seconds:.2f} s; start hash {self.schedule.start_hash()}"
        finished = int((self.schedule.finish == self.schedule.finish).sum())
        return (
            f"{finished:,} of {counted(jobs, 'job')} finished in {self.seconds:.2f} s; the metrics are of those alone"
        )

    def to_json(self) -> dict[str, object]:
        """Return the schedule, how its log was read, and the seconds, as a dictionary for --json."""
        about = reading_of(self.schedule.workload, self.schedule.federation, shared=self.shared)
        about |= {"seconds": self.seconds}
        return self.schedule.to_json() | about


def verdict(run: Run) -> str:
    """Return the answer in a sentence: mean wait, bounded slowdown, share of nodes used; number of jobs and machine."""
    schedule, values, log = run.schedule, run.values, run.recorded
    told = []
    for name in ("mean_wait", "bounded_slowdown"):
        if name in values:
            beside = f" (recorded: {figure(name, log[name])})" if name in log else ""
            told.append(f"{name.replace('_', ' ')} {figure(name, values[name])}{beside}")
    if "utilisation" in values:
        told.append(f"{figure('utilisation', values['utilisation'])} of the nodes used")
    of = f"{counted(len(schedule), 'job')} on {machine_text(schedule.federation)}"
    what = ", ".join(told) or "no job ended"
    return f"{_name(schedule)}: {what}; {of}{'' if schedule.complete else ', interrupted before the end'}."


def _name(schedule: Schedule) -> str:
    return schedule.policy.partition(" on ")[0]


def verdict_of_several(runs: Sequence[Run]) -> str:
    """Return a sentence with the policy and the mean wait on each of several logs."""
    waits = [f"{figure('mean_wait', run.values.get('mean_wait', float('nan')))} on {run.label}" for run in runs]
    return f"{_name(runs[0].schedule)}: mean wait {', '.join(waits)}."


def print_metrics(run: Run, free: Run | None = None) -> None:
    """Print the verdict, what is in the log, and a table of the metrics.

    `free`, the same simulation without a requested cap, power saving or gear, gets a column in the table.
    """
    from fedsched.model.jobs.assumed import marked
    from fedsched.model.jobs.recorded import partial_record_in_words
    from fedsched.model.schedule.metrics import METRICS

    schedule, values, log = run.schedule, run.values, run.recorded
    beside = {} if free is None else {**free.values, "peak_watts": free.schedule.power().peak}
    rows = [
        (
            metric.name,
            *_cells(metric.name, values, log),
            *([] if free is None else _cells(metric.name, beside, {})),
            marked(metric.unit, metric.name, schedule.federation),
            metric.meaning,
        )
        for metric in METRICS
        if metric.name in values
    ]
    say(verdict(run))
    say(schedule.workload)
    say(f"Reading: {schedule.question}.")
    for line in facts_of(schedule.workload, schedule.federation, shared=run.shared):
        if line not in str(schedule.workload):  # printed already
            say(line)
    for line in filter(None, (partial_record_in_words(schedule), *run.notes, *schedule.remarks)):
        say(line)
    shown = (*(("simulated", "recorded") if log else ("value",)), *(() if free is None else (free.label,)))
    heads = ("metric", *shown, "unit", "meaning")
    print_table(f"{schedule.policy}, {schedule.federation}", heads, rows, align=f"l{'r' * len(shown)}ll")
    say(run.ending)


def print_side_by_side(runs: Sequence[Run]) -> None:
    """Print the verdict, what is in each log, and a table: a row per metric; columns for logs and their records."""
    from fedsched.model.jobs.assumed import marked
    from fedsched.model.jobs.recorded import partial_record_in_words
    from fedsched.model.schedule.metrics import METRICS

    say(verdict_of_several(runs))
    for run in runs:
        say(run.schedule.workload)
        for line in facts_of(run.schedule.workload, run.schedule.federation, shared=run.shared):
            say(line)
        say(f"reading of {run.label}: {run.schedule.question}")
        say(f"machine of {run.label}: {run.schedule.federation}")
        for line in filter(None, (*run.notes, *run.schedule.remarks, partial_record_in_words(run.schedule))):
            say(f"{run.label}: {line}")
    found = [(run.values, run.recorded) for run in runs]
    heads = [
        head
        for run, (_, log) in zip(runs, found, strict=True)
        for head in (run.label, *([f"{run.label} recorded"] if log else []))
    ]
    bare = next((run for run in runs if run.schedule.federation.watts_assumed), runs[0])
    rows = [
        (
            metric.name,
            *(cell for values, log in found for cell in _cells(metric.name, values, log)),
            marked(metric.unit, metric.name, bare.schedule.federation),
        )
        for metric in METRICS
        if any(metric.name in values for values, _ in found)
    ]
    print_table(f"{runs[0].schedule.policy}", ("metric", *heads, "unit"), rows, align=f"l{'r' * len(heads)}l")
    for run in runs:
        say(f"{run.label}: {run.ending}")


def _cells(metric: str, values: Mapping[str, float], log: Mapping[str, float]) -> list[str]:
    return [number_text(found[metric]) if metric in found else "" for found in (values, *([log] if log else []))]
