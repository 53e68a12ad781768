"""Schedules of an instance's own jobs, from the start, end and nodes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FedschedError
from fedsched.engine.sharing.result import Played, SharedSchedule
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.schedule.schedule import Schedule

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.bench.documents import Document
    from fedsched.comparison.instances import Instance


def placed(
    problem: Document | Instance, start: ArrayLike, finish: ArrayLike, given: NDArray[np.int64], *, policy: str = ""
) -> Schedule:
    """Return the schedule of a problem's jobs; `given` is the number of nodes of each group that each job has.

    If jobs share nodes, it is the number of its tasks on each node.
    """
    workload, federation = problem.workload, problem.federation
    columns: dict[str, Any] = {
        "workload": workload, "federation": federation, "start": start, "finish": finish, "t0": 0.0,
        "reading": problem.reading, "policy": policy,
    }  # fmt: skip
    if problem.sharing is None:
        return Schedule(counts=given, **columns)
    job, node = np.nonzero(given)
    use = NodeUse(
        workload=workload, federation=federation, start=np.array(start, dtype=np.float64),
        finish=np.array(finish, dtype=np.float64), alone=np.zeros(len(workload), dtype=np.bool_), job=job, node=node,
        tasks=given[job, node],
    )  # fmt: skip
    return SharedSchedule(counts=use.counts, played=Played(problem.sharing, use), **columns)


def replaced(problem: Document | Instance, schedule: Schedule) -> Schedule:
    """Return a schedule as one of the problem's own jobs, on the same nodes."""
    given = schedule.counts
    if problem.sharing is not None:
        if not isinstance(schedule, SharedSchedule):
            raise FedschedError(
                "The schedule is of whole nodes, but jobs share them here; make it with sharing=instance.sharing."
            )
        given = np.zeros((len(schedule), problem.federation.nodes), dtype=np.int64)
        np.add.at(given, (schedule.use.job, schedule.use.node), schedule.use.tasks)
    return placed(problem, schedule.start, schedule.finish, given)
