"""All runs of a schedule on shared nodes, lost ones too, as jobs of a schedule of their own [42, 55]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.labels import Labels
from fedsched.model.lost_nodes import JOB
from fedsched.model.node_use import NodeUse
from fedsched.model.schedule import Schedule

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.workload import Workload

# What each run has of its job; and what says when a job may start, which is asked of the jobs themselves.
COLUMNS = ("submit", "tasks", "runtime", "estimate", "compute_fraction", "task_bandwidth", "origin", "user")
WAITS = ("after", "begin", "held", "cancel_at", "feedback", "alternatives", "slack", "log")


def runs_apart(workload: Workload, rows: NDArray[np.int64]) -> Workload:
    """Return these rows, some of which may stand there twice, as jobs with ids of their own; a label says whose."""
    nothing: dict[str, Any] = dict.fromkeys(WAITS)
    without = replace(workload, **nothing)
    columns = {name: getattr(workload, name)[rows] for name in COLUMNS}
    parts: dict[str, Any] = {name: part.take(rows) for name, part in without.optional.items()}
    known = {} if workload.labels is None else {name: of[rows] for name, of in workload.labels.columns().items()}
    parts["labels"] = Labels(known | {JOB: workload.id[rows].astype(np.str_)})
    allowed = None if workload.allowed is None else workload.allowed[rows]
    return replace(without, id=np.arange(rows.size), allowed=allowed, **columns, **parts)


def every_run(
    schedule: Schedule, use: NodeUse, lost: NodeUse, ended: NDArray[np.int64]
) -> tuple[Schedule, NodeUse]:
    """Return the runs of a schedule that ended, of these rows, and behind them the lost ones: who was where when."""
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
