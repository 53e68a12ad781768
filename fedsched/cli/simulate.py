"""`fedsched simulate`: run a policy on a log and print what it costs."""

from __future__ import annotations

import sys
import time
from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import Literal

from fedsched.cli.shared import (
    load_federation,
    load_workload,
    print_json,
    print_table,
    progress_bar,
    write_schedule,
)


def command(
    trace: str,
    *,
    federation: str | None = None,
    nodes: int | None = None,
    policy: str = "easy",
    placement: str | None = None,
    same_time: Literal["batch", "sequential"] = "batch",
    saturation: Literal["dynamic", "static"] = "dynamic",
    knowledge: Literal["estimate", "runtime"] = "estimate",
    kill_at_estimate: bool = False,
    head: int | None = None,
    out: Path | None = None,
    gantt: Path | None = None,
    json: bool = False,
) -> int:
    """Run a policy on a log and print what it costs.

    Example: fedsched simulate sample --federation example --policy easy --gantt plan.png

    Parameters
    ----------
    trace
        A workload file (.swf or .csv, also .gz, .xz, .bz2), or `sample`.
    federation
        A federation file (.toml), or the name of a shipped one (example, figure-1-5, …).
    nodes
        Instead of a federation: one cluster of so many equal nodes. Default: the log's machine.
    policy
        fcfs, easy, easy-sjbf, conservative, greedy, sjf, wfp3-easy, …; an unknown name lists them all.
    placement
        fastest, single, home, best_fit, efficient, powerful, big_small or link_aware.
    same_time
        How events of one instant are read.
    saturation
        Whether rates follow the uplinks' load or stay as at the start.
    knowledge
        Whether plans see the users' estimates or the true run times.
    kill_at_estimate
        Jobs end at their estimate.
    head
        Only the first so many jobs.
    out
        Write the schedule: .csv (also .gz), .swf or .json.
    gantt
        Draw the schedule: .png, .svg or .pdf.
    json
        Print JSON instead of a table.
    """
    from fedsched.metrics import METRICS
    from fedsched.simulate import simulate

    workload = load_workload(trace, head)
    cluster = load_federation(federation, nodes, workload)
    begun = time.perf_counter()
    with progress_bar("simulating") as progress:
        schedule = simulate(
            workload,
            cluster,
            policy,
            placement=placement,
            same_time=same_time,
            saturation=saturation,
            knowledge=knowledge,
            kill_at_estimate=kill_at_estimate,
            progress=progress,
        )
    seconds = time.perf_counter() - begun
    if out is not None:
        write_schedule(schedule, out)
    if gantt is not None:
        schedule.gantt(gantt)
    if json:
        print_json(schedule.to_json() | {"seconds": seconds})
    else:
        values = schedule.metrics().as_dict()
        rows = [
            (metric.name, f"{values[metric.name]:,.6g}", metric.unit, metric.meaning)
            for metric in METRICS
            if values[metric.name] == values[metric.name]
        ]
        print(workload)
        print_table(f"{schedule.policy}, {cluster}", ("metric", "value", "unit", "meaning"), rows)
        name = schedule.start_hash() if schedule.complete else "—"
        print(f"{len(workload):,} jobs in {seconds:.2f} s; start hash {name}")
    for note in schedule.notes:
        print(f"fedsched: {note}; what was done until then is kept.", file=sys.stderr)
    return 0 if schedule.complete else 130
