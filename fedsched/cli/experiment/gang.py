"""`fedsched gang`: simulate gang scheduling of gangs and local jobs, on sites with a queue per processor."""

from __future__ import annotations

import math
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    CHART_FORMATS,
    check_apart,
    check_output,
    figure,
    load_workload,
    number_text,
    print_json,
    print_table,
    reading_of,
    refuse,
    say,
    written,
)
from fedsched.core.text import counted
from fedsched.core.values import is_number
from fedsched.io.files import STDIN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.gang import GangSchedule, GangSystem
    from fedsched.gang.presets import Preset
    from fedsched.model.jobs.workload import Workload


# Groups of options in the long help.
EXPERIMENT = Group("Published experiments", sort_key=1)
SYSTEM = Group("Sites and rules", sort_key=2)
RUN = Group("Length of a run", sort_key=3)
# In the short help.
FIRST = (
    "--scheduler", "--approach", "--load", "--processors", "--discipline",
    "--migration", "--replications", "--seed", "--gantt", "--json",
)  # fmt: skip


def command(
    what: str = "dimitriadou-karatza-1",
    /,
    *,
    log: groups.HowRead = groups.HOW_READ,
    scheduler: Annotated[str | None, Parameter(group=EXPERIMENT)] = None,
    approach: Annotated[int | None, Parameter(group=SYSTEM)] = None,
    local_rate: Annotated[float | None, Parameter(group=EXPERIMENT)] = None,
    gang_rate: Annotated[float | None, Parameter(group=EXPERIMENT)] = None,
    overhead: Annotated[float | None, Parameter(group=SYSTEM)] = None,
    threshold: Annotated[float | None, Parameter(group=SYSTEM)] = None,
    routing: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    processors: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    grid: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    dispatch: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    discipline: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    order: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    claim: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    migration: Annotated[Literal["none", "local", "external", "both"] | None, Parameter(group=SYSTEM)] = None,
    aging: Annotated[int | None, Parameter(group=SYSTEM)] = None,
    preempts: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    preempted: Annotated[str | None, Parameter(group=SYSTEM)] = None,
    load: Annotated[float | None, Parameter(group=EXPERIMENT)] = None,
    arrivals: Annotated[Path | None, Parameter(group=EXPERIMENT)] = None,
    completions: Annotated[int | None, Parameter(group=RUN)] = None,
    time_limit: Annotated[float | None, Parameter(group=RUN)] = None,
    head: options.Head = None,
    warmup: Annotated[float, Parameter(group=RUN)] = 0.0,
    replications: Annotated[int, Parameter(group=EXPERIMENT)] = 10,
    seed: options.Seed = None,
    gantt: options.Gantt = None,
    json: options.Json = False,
) -> int:
    """Simulate a published experiment of gang scheduling, or a log, on sites with a queue per processor.

    Parameters
    ----------
    what
        An experiment (as pinto-2019-s1), or a log. dimitriadou-karatza-1 to -3, pinto-2014-s1 to -s3, pinto-2019-s2, …
    scheduler
        Pinto: the scheduler. AFCFS or LGFS (2014); AFCFS, LXF or LJFS (2019; a final m adds migration, e.g. LJFSm).
    approach
        Which processors a gang may use. 1: of one site; 2: idle ones of all sites; 3: it may also wait in empty queues.
    local_rate
        Arrivals of local jobs at each of the two sites of 16 processors, per unit of time (a mean service time).
    gang_rate
        Arrivals of gangs at the grid, per unit of time.
    overhead
        How much longer a gang that spans sites runs: 0.1 = 10 %.
    threshold
        The longest delay that a local job may cause a waiting gang that it overtakes.
    routing
        The queue that a local job joins: shortest_waiting, idle_first, fastest or dispatch.
    processors
        For a log: each site's processors, as 128,256. Default: the log's machine as one site.
    grid
        For a log: the rule that chooses a gang's site: multi_site, load (default) or random.
    dispatch
        For a log: the rule that chooses processors on the site: least_remaining, olb, jsq, ald or jseq (default).
    discipline
        For a log: which waiting job goes first. fcfs (default), afcfs, ljfs, lxf or sxf.
    order
        afcfs: sort the queues by size (sort), or try jobs in order of arrival first (head).
    claim
        A gang that cannot start keeps its idle processors from later jobs (hold), or leaves them to others (skip).
    migration
        For a log: where gangs migrate. none (default), local (within a site), external (to another site) or both.
    aging
        A job goes first once this many later arrivals have overtaken it by migration.
    preempts
        When a local job stops a gang: never (a log's default); site (none idle there); system (none idle anywhere).
    preempted
        Whether a stopped gang starts again from the beginning (restart), or continues (resume).
    load
        Pinto: the offered load. It is a share of the capacity of all processors.
    arrivals
        Pinto experiments: take the submit times from this log, stretched to the load. Default: uniform arrivals.
    completions
        End a run after this many completed jobs.
    time_limit
        For a log: end the run at this time, in seconds.
    warmup
        Leave this many seconds, from the first arrival on, out of the metrics.
    replications
        The number of runs, each with its own seed. A log is run once.

    Examples
    --------
    fedsched gang pinto-2019-s1 --scheduler LJFSm
    fedsched gang sample --processors 128,256 --discipline afcfs --migration both
    """
    from fedsched.gang import GangSystem, presets, simulate

    seed = seed or 0
    check_output(gantt, CHART_FORMATS, what="a chart")
    check_apart((what, arrivals), {"--gantt": gantt})
    of_experiment: dict[str, Any] = {
        "scheduler": scheduler, "approach": approach, "local_rate": local_rate, "gang_rate": gang_rate,
        "overhead": overhead, "threshold": threshold, "routing": routing, "completions": completions,
        "preempts": preempts, "preempted": preempted, "aging": aging, "load": load, "arrivals": arrivals,
    }  # fmt: skip
    of_system: dict[str, Any] = {
        "approach": approach, "overhead": overhead, "threshold": threshold, "routing": routing, "grid": grid,
        "dispatch": dispatch, "discipline": discipline, "order": order, "claim": claim, "aging": aging,
        "preempts": preempts, "preempted": preempted,
    }  # fmt: skip
    of_log: dict[str, Any] = {"processors": processors, "migration": migration, "time_limit": time_limit, "head": head}
    if not (is_number(warmup) and warmup >= 0):
        raise ValueError(f"--warmup={warmup!r} must be finite and at least 0 seconds.")
    what = str(Path(what))
    if _is_log(what):
        refuse(what, of_experiment, (*of_system, "completions"))
        workload = load_workload(replace(log.log(what), head=head))
        if not len(workload):
            raise ValueError(f"Workload {workload.name!r} is empty: there is nothing to simulate.")
        if time_limit is not None and time_limit < (first := float(workload.submit.min())):
            raise ValueError(f"--time-limit={time_limit!r} is before the first job arrives, at {first:g} s.")
        defaults: dict[str, Any] = {"grid": "load", "dispatch": "jseq", "routing": "fastest"}
        chosen = defaults | {name: value for name, value in of_system.items() if value is not None}
        if chosen["grid"] == "multi_site" and dispatch is None:
            chosen["dispatch"] = "least_remaining"
        for kind in ("local", "external"):
            chosen[f"{kind}_migration"] = migration in (kind, "both")
        system = GangSystem(processors=_sites(processors, workload), **chosen)
        limit = math.inf if time_limit is None else time_limit
        schedule = simulate(workload, system, max_completions=completions, time_limit=limit, seed=seed)
        _draw(schedule, gantt)
        about = reading_of(workload) | {"written": written(gantt)}
        return _print_run(what, schedule, about, warmup, json)
    preset = presets.named(what)
    names = [field.name for field in fields(preset)]  # type: ignore[arg-type]
    refuse(what, of_system | of_experiment | of_log, names)
    if arrivals is not None:
        of_experiment["arrivals"] = load_workload(log.log(arrivals)).submit
    preset = replace(preset, **{name: value for name, value in of_experiment.items() if value is not None})  # type: ignore[type-var]
    if gantt is not None:
        _draw(preset.run(seed), gantt)
    about = {"arrivals": None if arrivals is None else str(arrivals), "written": written(gantt)}
    return _print_replications(what, preset, about, replications, seed, warmup, json)


def _is_log(what: str) -> bool:
    return what in ("sample", STDIN) or Path(what).exists() or Path(what).suffix != ""


def _sites(processors: str | None, workload: Workload) -> tuple[int, ...]:
    if processors is None:
        if not workload.nodes:
            raise ValueError(
                f"{workload.name}: the log does not say how many nodes its machine has; give --processors."
            )
        return (workload.nodes,)
    try:
        return tuple(int(count) for count in processors.split(","))
    except ValueError:
        raise ValueError(f"--processors {processors!r} must be whole numbers with commas, like 128,256.") from None


def _draw(schedule: GangSchedule, path: Path | None) -> None:
    if path is not None:
        from matplotlib.figure import Figure

        from fedsched.plot.style import save

        figure = Figure(figsize=(10, 5), layout="constrained")
        schedule.gantt(figure.add_subplot())
        save(figure, path)


def _print_run(what: str, schedule: GangSchedule, about: Mapping[str, object], warmup: float, json: bool) -> int:
    classes = ("all", "gangs", "locals")
    rows = {jobs: asdict(schedule.metrics(jobs, warmup=warmup)) for jobs in classes}
    if json:
        print_json({**rows, "notes": schedule.notes, **about})
        return 0
    table = [(name, *(number_text(rows[jobs][name]) for jobs in classes)) for name in rows["all"]]
    told = [f"{name.replace('_', ' ')} {figure(name, rows['all'][name])}" for name in ("mean_wait", "mean_response")]
    used = f"{figure('utilisation', rows['all']['utilisation'])} of the processors used"
    say(f"{what}: {', '.join(told)}, {used}; {counted(rows['all']['completed'], 'job')} completed.")
    for note in (_words(schedule.system), *schedule.notes):
        say(f"note: {note}")
    print_table(what, ("metric", *classes), table, align="lrrr")
    return 0


def _words(system: GangSystem) -> str:
    moves = [kind for kind in ("local", "external") if getattr(system, f"{kind}_migration")]
    sites = " + ".join(str(count) for count in system.processors)
    nodes = "processor" if sites == "1" else "processors"
    return f"{sites} {nodes}, {system.discipline}, {system.dispatch}, migration {' and '.join(moves) or 'none'}"


def _print_replications(
    what: str, preset: Preset, about: Mapping[str, object], replications: int, seed: int, warmup: float, json: bool
) -> int:
    from fedsched.gang import replicate

    answer = replicate(preset, replications=replications, seed=seed, warmup=warmup)
    if json:
        means = {jobs: {name: asdict(value) for name, value in row.items()} for jobs, row in answer.items()}
        print_json({**means, **about})
        return 0
    rows = [(name, *(str(answer[jobs][name]) for jobs in answer)) for name in answer["all"]]
    told = [f"{name.replace('_', ' ')} {answer['all'][name]}" for name in ("mean_response", "mean_slowdown")]
    used = figure("utilisation", answer["all"]["utilisation"].mean)
    say(f"{what}: {', '.join(told)}, {used} of the processors used; {counted(replications, 'run')}, 95 % intervals.")
    if about["arrivals"]:
        say(f"note: the jobs arrive as those of {about['arrivals']} do, stretched to the experiment's load")
    left = 1.0 - answer["all"]["completed_share"].mean
    if left > 0.0:
        say(f"note: the runs ended at their limit with {left:.1%} of the jobs unfinished, which no mean counts")
    print_table(f"{what}, {counted(replications, 'run')}, 95 % intervals", ("metric", *answer), rows, align="lrrr")
    return 0
