"""Feedback: a user submits a job some seconds, the think time, after the end of its preceding job [45]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.core.values import MOST_SECONDS
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.validation import table_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload

NO_JOB = -1.0


@dataclass(frozen=True, slots=True, eq=False)
class Feedback(JobColumns):
    """The id of each job's preceding job, and the think time: the seconds from that job's end to this job's submit.

    Both are -1 if a job follows no other. Think times do not change if submits are moved onto another clock.
    """

    PREFIX = "feedback."
    NAMES = ("preceding", "think_time")
    CELL = float
    NOTHING = NO_JOB

    preceding: NDArray[np.float64]
    think_time: NDArray[np.float64]

    @classmethod
    def of(cls, given: Feedback | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Feedback | None:
        """Return the checked feedback of these jobs; None if no job follows another."""
        if isinstance(given, Feedback):
            return given
        if not isinstance(given, Mapping) or set(given) != set(cls.NAMES):
            raise TypeError('feedback must give "preceding" and "think_time", by name.')
        preceding, think = (table_column(name, given[name], len(ids), np.float64, ids) for name in cls.NAMES)
        follows = preceding != NO_JOB
        wrong = follows & ~((preceding >= 0) & (preceding == np.floor(preceding)) & (preceding < 2.0**53))
        if wrong.any():
            job = int(np.argmax(wrong))
            raise ValueError(f"Job {ids[job]}: preceding={preceding[job]:g} must be a job's id, or -1 for none.")
        if (wrong := follows & ~((think >= 0) & np.isfinite(think))).any():
            job = int(np.argmax(wrong))
            raise ValueError(f"Job {ids[job]}: think_time={think[job]:g} must be finite and at least 0 seconds.")
        if (wrong := think > MOST_SECONDS).any():
            job = int(np.argmax(wrong))
            raise ValueError(f"Job {ids[job]}: think_time={think[job]:g} must be at most {MOST_SECONDS:g} seconds.")
        return cls(preceding, think) if follows.any() else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of preceding jobs and of think times by name."""
        return {"preceding": self.preceding, "think_time": self.think_time}

    def renumbered(self, new: Mapping[int, int]) -> Feedback | None:
        """Return the feedback for new job ids (`new` maps old ids to new ones); None if no job follows another.

        A job follows no other if its preceding job has no new id.
        """
        preceding = np.array([new.get(int(job), NO_JOB) for job in self.preceding.tolist()], dtype=np.float64)
        think = np.where(preceding == NO_JOB, NO_JOB, self.think_time)
        return self.of({"preceding": preceding, "think_time": think}, np.arange(preceding.size))

    def __str__(self) -> str:
        return f"{counted(int((self.preceding != NO_JOB).sum()), 'job')} submitted after another's end"


def followers_of(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the rows of jobs with a preceding job in the workload, the rows of their preceding jobs, and think times.

    Think times are in seconds.
    """
    if workload.feedback is None:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0)
    by_id = np.argsort(workload.id, kind="stable")
    asked = workload.feedback.preceding
    place = np.minimum(np.searchsorted(workload.id, asked, sorter=by_id), by_id.size - 1)
    rows = np.flatnonzero(workload.id[by_id[place]] == asked)
    return rows, by_id[place[rows]], workload.feedback.think_time[rows]


def submits_after(workload: Workload, over: NDArray[np.float64], cancelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each job's submit time in seconds, given the jobs' end times `over` (NaN: no end).

    A job with a preceding job is submitted at that job's end plus the think time. Its recorded submit stays if there
    is no such end, or if the job was `cancelled` before that time.
    """
    rows, on, think = followers_of(workload)
    submit = np.array(workload.submit)
    moved = over[on] + think
    if workload.cancel_at is not None:  # some jobs had left before their users would have submitted them
        moved = np.where(cancelled[rows] & (moved > workload.cancel_at.times[rows]), np.nan, moved)
    submit[rows] = np.where(np.isnan(moved), submit[rows], moved)
    return submit


def feedback_of_absent_jobs(workload: Workload) -> str | None:
    """Return, in words, how many jobs have a preceding job that is not in the workload; None if none have."""
    if workload.feedback is None:
        return None
    asked = workload.feedback.preceding
    away = int(((asked != NO_JOB) & ~np.isin(asked, workload.id)).sum())
    return f"{counted(away, 'job')} after the ends of jobs that are not here (submitted as recorded)" if away else None
