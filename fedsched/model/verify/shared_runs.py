"""All runs of a schedule with shared nodes, lost ones included, as a schedule of their own [42, 55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.schedule.schedule import Schedule
from fedsched.model.verify.lost_nodes_check import runs_apart

if TYPE_CHECKING:
    from numpy.typing import NDArray


def every_run(
    schedule: Schedule, use: NodeUse, lost: NodeUse, ended: NDArray[np.int64]
) -> tuple[Schedule, NodeUse]:
    """Return all runs, with their nodes: those of rows `ended`, which ran to their end, then the lost ones."""
    rows = np.concatenate([ended, schedule.lost.job])
    workload, first = runs_apart(schedule.workload, rows), ended.size
    mine = use.take(ended, runs_apart(schedule.workload, ended))
    devices = None
    if mine.devices is not None and lost.devices is not None:
        devices = np.concatenate([mine.devices, lost.devices + np.array([first, 0, 0, 0])])
    of_all = NodeUse(
        workload=workload,
        federation=schedule.federation,
        start=np.concatenate([mine.start, lost.start]),
        finish=np.concatenate([mine.finish, lost.finish]),
        alone=np.concatenate([mine.alone, lost.alone]),
        job=np.concatenate([mine.job, lost.job + first]),
        node=np.concatenate([mine.node, lost.node]),
        tasks=np.concatenate([mine.tasks, lost.tasks]),
        devices=devices,
    )
    every = Schedule(
        workload=workload,
        federation=schedule.federation,
        start=of_all.start,
        finish=of_all.finish,
        counts=np.concatenate([schedule.counts[ended], schedule.lost.counts]),
        t0=schedule.t0,
        reading=schedule.reading,
    )
    return every, of_all
