"""`fedsched optimize`: search for the best plan for a package of jobs, and print it beside baselines and bounds."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHART_FORMATS,
    INTERRUPTED,
    PLAN_FORMATS,
    check_apart,
    check_choice,
    check_input,
    check_output,
    chosen_executor,
    chosen_plan,
    load_workload,
    plan_text,
    print_json,
    reading_of,
    say,
    write_schedule,
    written,
)
from fedsched.io.atomic import is_stdout
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.optimize.result import Result

# In the short help.
FIRST = (
    "--federation", "--nodes", "--objective", "--method", "--seconds", "--evaluations",
    "--head", "--submits", "--out", "--gantt", "--save", "--json",
)  # fmt: skip


def command(
    trace: options.Trace = None,
    /,
    *,
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machine = groups.MACHINE,
    objective: Annotated[options.Objectives, Parameter(show_default=lambda _: "the method's, as makespan energy")] = (),
    method: Annotated[str, Parameter(group=options.SEARCH)] = "auto",
    encoding: Annotated[str | None, Parameter(group=options.SEARCH)] = None,
    seconds: options.Seconds = None,
    evaluations: options.Evaluations = None,
    target: Annotated[float | None, Parameter(group=options.SEARCH)] = None,
    seed: options.Seed = None,
    threads: Annotated[int, Parameter(group=options.SEARCH)] = 1,
    islands: Annotated[int | None, Parameter(group=options.SEARCH)] = None,
    workers: options.Workers = 1,
    executor: options.Executor = None,
    package: Annotated[int | None, Parameter(group=options.SEARCH)] = None,
    submits: options.Submits = "now",
    put_off: options.PutOff = None,
    gears: options.Gears = False,
    end_by: options.EndBy = None,
    sharing: options.Sharing = None,
    reservation: options.Reservation = None,
    reading: groups.Reading = groups.READING,
    choose: options.Choose = "knee",
    initial: Annotated[tuple[Path, ...], Parameter(group=options.SEARCH)] = (),
    checkpoint: Annotated[Path | None, Parameter(group=options.SEARCH)] = None,
    out: options.OutPlan = None,
    gantt: options.Gantt = None,
    save: Annotated[Path | None, Parameter(group=options.OUTPUT)] = None,
    json: options.Json = False,
) -> int:
    """Search for the best plan for a package of jobs, and print it beside baselines and bounds.

    Parameters
    ----------
    method
        The search method; auto is memetic. ga, ga-mf, ga-slowdown, ga-ea, pso-ea, moga, mpso-fga, sa, hc or random.
    encoding
        ga and ga-mf: how a plan encodes the nodes of a job: blacklist (default) or assignment.
    target
        Stop when the first objective reaches this value.
    threads
        The number of threads that evaluate plans; the result does not depend on it.
    islands
        The number of searches that share the budget and exchange best plans. Default: 1; 4 with --workers, --executor.
    package
        Plan the log in successive packages of this many jobs, for one objective. --evaluations are per package.
    initial
        Start from the plans of this saved result. May be repeated.
    checkpoint
        Save the search in this file as it runs and at its end. The same call resumes from it, with any larger budget.
    save
        Write the whole result: .json or .json.gz.

    Examples
    --------
    fedsched optimize sample --head 300 --federation example --seconds 10 --out plan.csv --save result.json
    fedsched optimize sample --head 100 --nodes 128 --method moga --objective makespan --objective energy
        --evaluations 20000 --gantt plan.png
    """
    from fedsched.optimize import optimize
    from fedsched.optimize.result import Result
    from fedsched.search.methods.methods import method_named
    from fedsched.search.run.run import INTERRUPTED as SEARCH_INTERRUPTED

    check_output(out, PLAN_FORMATS)
    check_output(gantt, CHART_FORMATS, what="a chart")
    check_output(save, (".json",), what="a result")
    files = {"--out": out, "--gantt": gantt, "--save": save, "--checkpoint": checkpoint}
    check_apart((trace, scenario, *machine.files, *initial), files)
    asked = groups.scenario_of(scenario, trace, log=log, machine=machine, reading=reading, seed=seed, usual=CLAIRVOYANT)
    check_apart((*groups.files_read(scenario, asked), *initial), files)
    check_choice(choose, objective or method_named(method).encoded(encoding).objectives)
    for path in initial:
        check_input(path)
    if checkpoint is not None and checkpoint.exists():
        check_input(checkpoint)
    groups.say_unused(scenario, asked, "optimize", used=("sharing", "reservation"))
    shared = groups.sharing_of(asked.policy, sharing, reservation)
    workload = load_workload(asked.jobs, asked.seed)
    if put_off is not None:
        from fedsched.model.constraints.slack import parse_slack

        workload = replace(workload, slack=parse_slack(put_off))  # type: ignore[arg-type]
    deadline = None
    if end_by is not None:
        deadline = _moment_of("end_by", end_by, workload)
    cluster, known = asked.cluster(workload), asked.reading
    if gears:
        from fedsched.generate import gears as with_gears

        workload, known = with_gears(workload, cluster), known.but(alternatives="free")
    former = [Result.load(path, baselines=False) for path in initial]
    with chosen_executor(executor, workers) as chosen:
        result = optimize(
            workload,
            cluster,
            objectives=objective or None,
            method=method,
            encoding=encoding,
            seconds=seconds,
            evaluations=evaluations,
            target=target,
            seed=asked.seed,
            threads=threads,
            islands=islands,
            executor=chosen,
            package=package,
            submits=submits,
            sharing=shared,
            reading=known,
            initial=former,
            checkpoint=checkpoint,
            deadline=deadline,
            progress=sys.stderr.isatty(),
        )
    if save is not None:
        result.save(save)  # first, so that an error below does not lose a long search
    schedule = chosen_plan(result, choose)
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    if json:
        print_json(as_json(result, workload, written(out, gantt, save, checkpoint)))
    else:
        from fedsched.optimize.result.printed import verdicts

        say(verdicts(result))
        say(result)
        for file in (out, gantt):
            if file is not None and not is_stdout(file):
                say(f"{file}: {plan_text(result, choose)}")
        if save is not None:
            say(f"{save}: the whole result")
    if result.stop_reason == SEARCH_INTERRUPTED:
        say("fedsched: interrupted; the best until then is above.", err=True)
        return INTERRUPTED
    return 0


def as_json(result: Result, workload: Workload, files: list[str]) -> dict[str, object]:
    """Return a dictionary for --json: the summary of a result, how its log was read, and the written files."""
    return {
        "reading": result.reading,
        **reading_of(workload, result.federation),
        "method": result.method,
        "encoding": result.settings.encoding or None,
        "seed": result.seed,
        "objectives": list(result.objectives),
        "front": result.front.values.tolist(),
        "planned": None if result.front.planned is None else result.front.planned.tolist(),
        "without_end": list(result.front.missing),
        "foresight": result.foresight,
        "baselines": {baseline.policy: list(baseline.values) for baseline in result.baselines},
        "lower_bounds": {name: result.bound(name) for name in result.lower_bounds},
        "gaps": {name: result.gap(name) for name in result.objectives},
        "energy_penalty": result.energy_penalty,
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "warm_up": result.warm_up,
        "left_out": list(result.left_out),
        "refused": result.refused,
        "stop_reason": result.stop_reason,
        "versions": result.versions,
        "written": files,
    }


def _moment_of(field: str, text: str, workload: Workload) -> float:
    """Return a moment on the workload's clock, in seconds, for "18h" (after the first submit) or "2027-01-12T12:00".

    Raise ValueError if the text is neither, or is a date and the log does not say when its second 0 was.
    """
    import math

    from fedsched.core.errors import shortened
    from fedsched.io.wall_clock import clock_from, wall_time_of
    from fedsched.model.constraints.slack import parse_seconds

    if (seconds := parse_seconds(text)) is not None:
        return float(workload.submit.min()) + seconds
    moment = wall_time_of(text)
    if moment is None or not math.isfinite(moment.seconds):
        raise ValueError(
            f"{field}={shortened(repr(text))} must be a time after the first submit (18h, 90m, 1.5d) or a date by the "
            "log's clock (2027-01-12T12:00)."
        )
    clock = clock_from(workload)
    if clock is None:
        raise ValueError(
            f"{field}={shortened(repr(text))} is a date, and the log's header does not say when its second 0 was; give "
            "a time after the first submit: 18h."
        )
    return clock.second(moment)
