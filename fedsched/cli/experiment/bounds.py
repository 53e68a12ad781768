"""`fedsched bounds`: compute lower bounds that hold for every schedule of a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import groups, options
from fedsched.cli.shared.input_output import (
    facts_of,
    figure,
    load_workload,
    machine_text,
    number_text,
    print_json,
    print_table,
    reading_of,
    say,
    stopwatch,
)
from fedsched.core.text import counted
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from fedsched.bounds import LowerBounds
    from fedsched.model.machine.federation import Federation


FIRST = ("--federation", "--nodes", "--submits", "--head", "--method", "--json")  # in the short help


def command(
    trace: options.Trace = None,
    /,
    *,
    scenario: options.Scenario = None,
    log: groups.Log = groups.LOG,
    machine: groups.Machine = groups.MACHINE,
    submits: options.Submits = "keep",
    reading: groups.Known = groups.KNOWN,
    method: Literal["auto", "lp", "lagrangian", "closed"] = "auto",
    points: int = 5,
    json: options.Json = False,
) -> int:
    """Compute lower bounds for every schedule of a log: makespan, energy, their Pareto front, response times.

    Parameters
    ----------
    method
        How to compute. lp: a linear program; lagrangian: for thousands of jobs; closed: closed forms; auto: by size.
    points
        How many points of the lower bound of the Pareto front to compute.

    Examples
    --------
    fedsched bounds sample --head 200 --federation example --submits now
    """
    from fedsched.bounds import lower_bounds

    asked = groups.scenario_of(scenario, trace, log=log, machine=machine, reading=reading, usual=CLAIRVOYANT)
    groups.say_unused(scenario, asked, "bounds")
    workload = load_workload(asked.jobs, asked.seed)
    cluster = asked.cluster(workload)
    with stopwatch() as taken:
        bounds = lower_bounds(workload, cluster, submits=submits, reading=asked.reading, method=method)
        front = bounds.front(points).tolist()
        seconds = taken()
    if json:
        print_json(
            {
                "workload": workload.name,
                "federation": cluster.name,
                "jobs": len(workload),
                **reading_of(workload, cluster),
                "reading": bounds.reading,
                "method": bounds.method,
                "bounds": _telling(bounds),
                "unproven": list(bounds.unproven),
                "penalty": bounds.penalty,
                "front": [{"makespan": makespan, "energy": energy} for makespan, energy in front],
                "seconds": seconds,
            }
        )
        return 0
    say(verdict(bounds, cluster, len(workload)))
    say(f"Reading: {bounds.reading}.")
    for line in facts_of(workload, cluster):
        say(line)
    _print(bounds, front, cluster)
    say(f"{counted(len(workload), 'job')} in {seconds:.2f} s")
    return 0


def _telling(bounds: LowerBounds) -> dict[str, float]:
    """Return, by metric, the bounds that say something: those above the metric's least possible value."""
    from fedsched.bounds.cost.charges import is_useful
    from fedsched.model.schedule.metrics import NAMES

    return {name: bounds.of(name) for name in NAMES if is_useful(name, bounds.of(name))}


def verdict(bounds: LowerBounds, cluster: Federation, jobs: int) -> str:
    """Return the answer in a sentence: the useful bounds on makespan, energy, mean wait and bounded slowdown."""
    from fedsched.model.jobs.assumed import marked

    telling = _telling(bounds)
    told = [
        f"{marked(name.replace('_', ' '), name, cluster)} below {figure(name, telling[name])}"
        for name in ("makespan", "energy", "mean_wait", "bounded_slowdown")
        if name in telling
    ]
    of = f"{counted(jobs, 'job')} on {machine_text(cluster)}"
    return f"No schedule has {', '.join(told)}; {of}." if told else f"No useful bound was found; {of}."


def _print(bounds: LowerBounds, front: list[list[float]], cluster: Federation) -> None:
    from fedsched.bounds.lower.lower_bounds import METHOD_NAMES
    from fedsched.bounds.lower.small_problems import WITHOUT_SOLVER
    from fedsched.model.jobs.assumed import marked
    from fedsched.model.schedule.metrics import METRICS

    telling = _telling(bounds)
    rows = [
        (metric.name, number_text(telling[metric.name]), marked(metric.unit, metric.name, cluster), metric.meaning)
        for metric in METRICS
        if metric.name in telling
    ]
    if bounds.unproven:
        why = "submits that move" if "flow" in bounds.unproven else "jobs that may never start"
        say(f"Not proven with {why}: {', '.join(bounds.unproven)}; the others are of {counted(bounds.jobs, 'job')}.")
    if bounds.solver_missing:
        say(f"Left out: {WITHOUT_SOLVER}")
    title = f"No schedule is below (by {METHOD_NAMES[bounds.method]}), {cluster}"
    print_table(title, ("metric", "at least", "unit", "meaning"), rows, align="lrll")
    if len(front) > 1:
        cells = [(number_text(makespan), number_text(energy)) for makespan, energy in front]
        heads = ("makespan, s", marked("energy, J", "energy", cluster))
        print_table("With a makespan up to … the energy is at least …", heads, cells)
    meaning = (
        "makespan and energy want nearly the same plan" if bounds.penalty < 0.02 else "there is something to trade"
    )  # fmt: skip
    penalty = f"{marked('Energy penalty', 'energy', cluster)} at the least makespan"
    say(f"{penalty}, estimated from the bounds: {bounds.penalty:.1%} ({meaning}).")
