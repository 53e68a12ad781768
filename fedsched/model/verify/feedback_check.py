"""Check that jobs that follow others were submitted as reading 45 says.

It shares no code with the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.lost_nodes_check import whose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule


def followed(workload: Workload) -> Iterator[tuple[int, int, float]]:
    """Yield (row, row that it follows, think time) for each job that follows a job of the workload."""
    if workload.feedback is None:
        return
    row_of = {float(job): row for row, job in enumerate(workload.id.tolist())}
    preceding, think = workload.feedback.preceding.tolist(), workload.feedback.think_time.tolist()
    for row, job in enumerate(preceding):
        if job in row_of:
            yield row, row_of[job], think[row]


def broken_submits(schedule: Schedule, gone: NDArray[np.bool_]) -> Iterator[str]:
    """Yield an error for each started job with a submit other than its preceding job's end plus the think time."""
    workload, over = schedule.workload, schedule.finish.copy()
    over[schedule.lost.killed] = schedule.lost.end[~schedule.lost.requeued]
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.cancel_at[gone]
    for row, on, think in followed(workload):
        if not np.isnan(schedule.start[row]) and workload.submit[row] != over[on] + think:
            submitted = f"{whose(schedule, row)}: it is submitted at {workload.submit[row]:g}"
            yield f"{submitted}, not {think:g} s after the end of job {workload.id[on]} at {over[on]:g}."
