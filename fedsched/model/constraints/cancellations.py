"""Cancellations: when jobs that have not started leave the queue because their users cancel them [44]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, first_of
from fedsched.model.jobs.columns import JobTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

STAYS = -1.0


class Cancellations(JobTimes):
    """The time in seconds, on the clock of the submits, at which each job is cancelled unless started; -1 = never."""

    __slots__ = ()
    NAMES = ("cancel_at",)
    NOTHING = STAYS
    RULE = "finite and at least 0, or -1 for never"

    @property
    def cancel_at(self) -> NDArray[np.float64]:
        """Return each job's cancellation time in seconds, -1 if it has none."""
        return self.values

    @property
    def times(self) -> NDArray[np.float64]:
        """Return each job's cancellation time in seconds, infinite if it has none."""
        return np.where(self.values == STAYS, np.inf, self.values)

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} cancelled at a given time unless started"


def may_be_cancelled(workload: Workload) -> NDArray[np.bool_]:
    """Return which jobs have a cancellation time, at which they are cancelled unless they have started."""
    if workload.cancel_at is None:
        return np.zeros(len(workload), dtype=np.bool_)
    return np.isfinite(workload.cancel_at.times)


def until(workload: Workload, time: float) -> Cancellations | None:
    """Return the workload's cancellations without those after `time`; None if none is left.

    It is the workload's own object if none is later.
    """
    if workload.cancel_at is None or not (later := workload.cancel_at.cancel_at > time).any():
        return workload.cancel_at
    return Cancellations.of(np.where(later, STAYS, workload.cancel_at.cancel_at), workload.id)


def cancelled_in(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs of a schedule were cancelled.

    Such a job has no start, and its cancellation time has passed. It neither ran at that time nor was killed.
    """
    if schedule.workload.cancel_at is None:
        return np.zeros(len(schedule), dtype=np.bool_)
    gone = np.isnan(schedule.start) & (schedule.workload.cancel_at.times <= schedule.until)
    gone &= np.isfinite(schedule.workload.cancel_at.times)
    lost, times = schedule.lost, schedule.workload.cancel_at.times[schedule.lost.job]
    gone[lost.job[(lost.start < times) & (times <= lost.end)]] = False  # a job that ran at that time stays
    gone[lost.killed] = False
    return gone


def in_words(schedule: Schedule) -> list[str]:
    """Return one line that counts and names the cancelled jobs; [] if no job was cancelled."""
    gone = cancelled_in(schedule)
    jobs = f"{counted(int(gone.sum()), 'job')} ({first_of(schedule.workload.id[gone])})"
    return [f"cancelled before they started: {jobs}"] * bool(gone.any())
