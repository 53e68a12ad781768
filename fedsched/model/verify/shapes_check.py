"""Check that each job has one of its alternative shapes, as the reading's rule chooses it; implemented anew [49]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.lost_nodes_check import job_name
from fedsched.model.verify.tasks_per_node_check import fewest_nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.model.jobs.alternatives import Shape
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.schedule import Schedule


def broken_shapes(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each job with a shape that is none of its alternatives, or not the one that the rule chooses.

    The rules "fixed" and "smallest_area" are checked; under other rules, any of the alternatives is accepted.
    """
    workload, reading = schedule.workload, schedule.reading
    if workload.alternatives is None:
        return
    none = np.zeros(len(workload), dtype=np.int64)
    layout = {} if workload.layout is None else workload.layout.columns()
    told, together = layout.get("tasks_on_nodes", none), layout.get("tasks_per_node", none)
    for row in range(len(workload)):
        listed = workload.alternatives.shapes(row)
        each = int(together[row]) if told[row] else 1  # for a job in whole nodes, shapes count tasks (reading 76)
        now = (
            int(told[row] or workload.tasks[row]), float(workload.runtime[row]), float(workload.estimate[row]),
            0 if workload.gear is None else int(workload.gear.values[row]),
            # A share below 0 in the shapes stands for the job's own share (reading 77).
            float(workload.compute_fraction[row]) if listed and listed[0].compute_fraction >= 0 else -1.0,
        )  # fmt: skip
        if listed and now not in listed:
            yield f"{job_name(schedule, row)}: its shape is none of its {len(listed)} alternatives."
        elif listed and reading.alternatives == "fixed" and now != listed[0]:
            yield f"{job_name(schedule, row)}: its shape is not the recorded one, {listed[0]}."
        elif listed and reading.alternatives == "smallest_area":
            nodes = [-(-one.tasks // each) if each else fewest_nodes(schedule, row, one.tasks) for one in listed]
            areas = [(x * _planned(one, reading), x) for x, one in zip(nodes, listed, strict=True)]
            best = listed[areas.index(min(areas))]
            if now != best:
                yield f"{job_name(schedule, row)}: its shape is not the one of least area, {best}."


def _planned(shape: Shape, reading: Reading) -> float:
    run = min(shape.runtime, shape.estimate) if reading.kill_at_estimate else shape.runtime
    return run if reading.knowledge == "runtime" else shape.estimate
