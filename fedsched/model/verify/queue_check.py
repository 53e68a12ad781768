"""Check of the submits of jobs that follow other jobs [45], and of cancellations [44].

It shares no code with the simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.lost_nodes_check import job_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule


def unstarted(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs have a cancellation time and no start, and were not killed.

    Excluded is a job that names a reservation, ran at its cancellation time and lost its nodes later: it may have
    missed the reservation.
    """
    gone = np.zeros(len(schedule), dtype=np.bool_)
    if schedule.workload.cancel_at is not None:
        gone = np.isnan(schedule.start) & (schedule.workload.cancel_at.cancel_at >= 0.0)
        gone[schedule.lost.killed] = False
        gone &= ~(_ran_at_cancellation(schedule) & (schedule.workload.label("reservation") != ""))
    return gone


def _ran_at_cancellation(schedule: Schedule) -> NDArray[np.bool_]:
    # Jobs that ran at their cancellation time, in a run that was lost later.
    lost, at = schedule.lost, schedule.workload.cancel_at.cancel_at[schedule.lost.job]  # type: ignore[union-attr]
    spared = np.zeros(len(schedule), dtype=np.bool_)
    spared[lost.job[(lost.start < at) & (at <= lost.end)]] = True
    return spared


def broken_cancellations(schedule: Schedule, gone: NDArray[np.bool_]) -> Iterator[str]:
    """Yield an error for each start at or after the job's cancellation, and each missing start of a job not cancelled.

    `gone` is the result of `unstarted`.
    """
    if schedule.workload.cancel_at is None:
        return
    lost, times = schedule.lost, schedule.workload.cancel_at.cancel_at
    at, spared = times[lost.job], _ran_at_cancellation(schedule)
    since = schedule.start if schedule.promises is None else schedule.promises.time  # then the job has its nodes
    for row in np.flatnonzero((times >= 0.0) & (since >= times) & ~np.isnan(schedule.start) & ~spared):
        yield f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g}, but was cancelled at {times[row]:g}."
    for run in np.flatnonzero((at >= 0.0) & (lost.start >= at) & ~spared[lost.job]):
        job = job_name(schedule, lost.job[run])
        yield f"{job}: its run from {lost.start[run]:g} begins when it was cancelled, at {at[run]:g}."
    for row in np.flatnonzero(gone & spared):
        yield f"{job_name(schedule, row)}: it was never started again, though it ran when it was to be cancelled."
    for row in np.flatnonzero(gone & (times > schedule.until)):
        yield f"{job_name(schedule, row)}: it was never started."


def followed(workload: Workload) -> Iterator[tuple[int, int, float]]:
    """Yield (row, row of its preceding job, think time in seconds) for each job that follows a job of the workload."""
    if workload.feedback is None:
        return
    row_of = {float(job): row for row, job in enumerate(workload.id.tolist())}
    preceding, think = workload.feedback.preceding.tolist(), workload.feedback.think_time.tolist()
    for row, job in enumerate(preceding):
        if job in row_of:
            yield row, row_of[job], think[row]


def broken_submits(schedule: Schedule, gone: NDArray[np.bool_]) -> Iterator[str]:
    """Yield an error for each started job with a submit other than its preceding job's end plus the think time.

    A killed job ends when it loses its nodes, and a `gone` (cancelled) job at its cancellation.
    """
    workload, over = schedule.workload, schedule.finish.copy()
    over[schedule.lost.killed] = schedule.lost.end[~schedule.lost.requeued]
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.cancel_at[gone]
    for row, on, think in followed(workload):
        if not np.isnan(schedule.start[row]) and workload.submit[row] != over[on] + think:
            submitted = f"{job_name(schedule, row)}: it is submitted at {workload.submit[row]:g}"
            yield f"{submitted}, not {think:g} s after the end of job {workload.id[on]} at {over[on]:g}."
