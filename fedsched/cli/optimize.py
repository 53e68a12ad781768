"""`fedsched optimize`: search the best plan for a package of jobs and print it beside baselines and bounds."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import (
    CHART_FORMATS,
    PLAN_FORMATS,
    announce_compiling,
    check_output,
    chosen_executor,
    load_federation,
    load_workload,
    print_json,
    write_schedule,
)

if TYPE_CHECKING:
    from fedsched.result import Result

INTERRUPTED = 130


def command(
    trace: str,
    /,
    *,
    federation: str | None = None,
    nodes: int | None = None,
    head: int | None = None,
    objective: tuple[str, ...] = (),
    method: str = "auto",
    seconds: float | None = None,
    evaluations: int | None = None,
    target: float | None = None,
    seed: int = 0,
    threads: int = 1,
    islands: int | None = None,
    workers: int = 1,
    executor: str | None = None,
    package: int | None = None,
    submits: Literal["now", "keep"] = "now",
    knowledge: Literal["runtime", "estimate"] = "runtime",
    saturation: Literal["dynamic", "static"] = "dynamic",
    kill_at_estimate: bool = False,
    choose: str = "knee",
    initial: tuple[Path, ...] = (),
    checkpoint: Path | None = None,
    out: Path | None = None,
    gantt: Path | None = None,
    save: Path | None = None,
    json: bool = False,
) -> int:
    """Search the best plan for a package of jobs and print it beside baselines and bounds.

    Example: fedsched optimize sample --head 300 --federation example --seconds 10 --out plan.csv --gantt plan.png

    Parameters
    ----------
    trace
        A workload file (.swf or .csv, also .gz, .xz, .bz2), or `sample`.
    federation
        A federation file (.toml), or the name of a shipped one (example, figure-1-5, …).
    nodes
        Instead of a federation: one cluster of so many equal nodes. Default: the log's machine.
    head
        Only the first so many jobs.
    objective
        A metric to minimise, e.g. makespan, energy, bounded_slowdown; several make a front. Default: the method's own.
    method
        memetic (auto), ga, ga-mf, ga-slowdown, ga-ea, pso-ea, moga, mpso-fga, sa, hc or random.
    seconds
        Search so long.
    evaluations
        Search so many plans. Default: 30,000,000 / jobs.
    target
        Stop when the first objective is as good.
    seed
        Same seed and evaluations, same plan.
    threads
        How many threads evaluate; the plan does not depend on it.
    islands
        How many searches share the budget side by side, on the threads, and exchange their best plans. Default: one, or
        four with --workers or --executor.
    workers
        Islands that live at the same time, in processes of their own.
    executor
        Where islands live: threads, processes, dask:ADDRESS (a scheduler or its scheduler file) or mpi.
    package
        Plan the log in successive packages of so many jobs; needs one objective.
    submits
        Whether all jobs wait now, or keep their submit times (the plan is then clairvoyant).
    knowledge
        Whether plans and baselines see the true run times or the users' estimates.
    saturation
        Whether rates follow the uplinks' load or stay as at the start.
    kill_at_estimate
        Jobs end at their estimate.
    choose
        Which plan of a front --out and --gantt take: knee, or an objective's name for the best by it.
    initial
        Begin with the plans of this saved result; may be given several times.
    checkpoint
        Save the search here as it goes on, and go on from there when called again.
    out
        Write the chosen schedule: .csv, .swf (both also .gz) or .json.
    gantt
        Draw the chosen schedule: .svg, .png or .pdf.
    save
        Write the whole result: .json or .json.gz.
    json
        Print JSON instead of a table.
    """
    from fedsched.optimize import optimize
    from fedsched.result import Result

    check_output(out, PLAN_FORMATS)
    check_output(gantt, CHART_FORMATS, what="a chart")
    check_output(save, (".json",), what="a result")
    workload = load_workload(trace, head)
    cluster = load_federation(federation, nodes, workload)
    former = [Result.load(path) for path in initial]
    announce_compiling()
    with chosen_executor(executor, workers) as chosen:
        result = optimize(
            workload,
            cluster,
            objectives=objective or None,
            method=method,
            seconds=seconds,
            evaluations=evaluations,
            target=target,
            seed=seed,
            threads=threads,
            islands=islands,
            executor=chosen,
            package=package,
            submits=submits,
            knowledge=knowledge,
            saturation=saturation,
            kill_at_estimate=kill_at_estimate,
            initial=former,
            checkpoint=checkpoint,
            progress=sys.stderr.isatty(),
        )
    schedule = result.knee() if choose == "knee" else result.best(choose)
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    if save is not None:
        result.save(save)
    if json:
        print_json(as_json(result, [str(path) for path in (out, gantt, save) if path]))
    else:
        print(result)
    if result.stop_reason == "interrupted":
        print("fedsched: interrupted; the best until then is above.", file=sys.stderr)
        return INTERRUPTED
    return 0


def as_json(result: Result, written: list[str]) -> dict[str, object]:
    """Return the summary of a result as a machine reads it."""

    def plain(value: float) -> float | None:
        return None if value != value else value

    return {
        "method": result.method,
        "seed": result.seed,
        "objectives": list(result.objectives),
        "front": result.front.values.tolist(),
        "baselines": {baseline.policy: list(baseline.values) for baseline in result.baselines},
        "lower_bounds": {name: plain(value) for name, value in result.lower_bounds.items()},
        "gaps": {name: plain(result.gap(name)) for name in result.objectives},
        "energy_penalty": plain(result.energy_penalty),
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "stop_reason": result.stop_reason,
        "versions": result.versions,
        "written": written,
    }
