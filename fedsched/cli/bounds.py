"""`fedsched bounds`: what no schedule of a log can beat."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Literal

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import load_federation, load_workload, number_text, print_json, print_table, reading_of

if TYPE_CHECKING:
    from fedsched.bounds import LowerBounds


def command(
    trace: options.Trace,
    /,
    *,
    federation: options.Federation = None,
    nodes: options.Nodes = None,
    head: options.Head = None,
    submits: options.Submits = "keep",
    knowledge: options.Knowledge = "runtime",
    kill_at_estimate: options.KillAtEstimate = False,
    method: Literal["auto", "lp", "lagrangian", "closed"] = "auto",
    points: int = 5,
    json: options.Json = False,
) -> int:
    """Say what no schedule of a log can beat: makespan, energy, their front, responses.

    Parameters
    ----------
    method
        lp: the linear program. lagrangian: for thousands of jobs. closed: closed forms. auto chooses by size.
    points
        How many points of the lower bound of the Pareto front to look at.

    Examples
    --------
    fedsched bounds sample --head 200 --federation example --submits now
    """
    from dataclasses import replace

    from fedsched.bounds import lower_bounds

    workload = load_workload(trace, head)
    cluster = load_federation(federation, nodes, workload)
    if submits == "now" and len(workload):
        workload = replace(workload, submit=workload.submit * 0 + workload.submit.min())
    begun = time.perf_counter()
    bounds = lower_bounds(
        workload, cluster, knowledge=knowledge, kill_at_estimate=kill_at_estimate, method=method
    )  # fmt: skip
    front = bounds.front(points).tolist()
    seconds = time.perf_counter() - begun
    if json:
        print_json(
            {
                "workload": workload.name,
                "federation": cluster.name,
                "jobs": len(workload),
                **reading_of(workload, cluster),
                "method": bounds.method,
                "bounds": {name: value for name, value in _known(bounds).items() if value == value},
                "penalty": bounds.penalty,
                "front": [{"makespan": makespan, "energy": energy} for makespan, energy in front],
                "seconds": seconds,
            }
        )
        return 0
    _print(bounds, front, str(cluster))
    print(f"{len(workload):,} jobs in {seconds:.2f} s")
    return 0


def _known(bounds: LowerBounds) -> dict[str, float]:
    from fedsched.metrics import NAMES

    return {name: bounds.of(name) for name in NAMES}


def _print(bounds: LowerBounds, front: list[list[float]], cluster: str) -> None:
    from fedsched.bounds.lower import METHOD_NAMES
    from fedsched.metrics import METRICS

    rows = [
        (metric.name, number_text(bounds.of(metric.name)), metric.unit, metric.meaning)
        for metric in METRICS
        if bounds.of(metric.name) == bounds.of(metric.name)
    ]
    title = f"No schedule is below (by {METHOD_NAMES[bounds.method]}), {cluster}"
    print_table(title, ("metric", "at least", "unit", "meaning"), rows, align="lrll")
    if len(front) > 1:
        cells = [(number_text(makespan), number_text(energy)) for makespan, energy in front]
        print_table("With a makespan up to … the energy is at least …", ("makespan, s", "energy, J"), cells)
    meaning = (
        "makespan and energy want nearly the same plan" if bounds.penalty < 0.02 else "there is something to trade"
    )  # fmt: skip
    print(f"Energy penalty at the least makespan: {bounds.penalty:.1%} ({meaning}).")
