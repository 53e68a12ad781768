"""Whom jobs follow: their users see a job end, think, and submit the next one [45]."""

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

NOBODY = -1.0


@dataclass(frozen=True, slots=True, eq=False)
class Feedback(JobColumns):
    """Each job's preceding job, by id, and the seconds from that one's end to its own submit; -1 = none.

    Thinking takes as long on any clock.
    """

    PREFIX = "feedback."
    NAMES = ("preceding", "think_time")
    CELL = float
    NOTHING = NOBODY

    preceding: NDArray[np.float64]
    think_time: NDArray[np.float64]

    @classmethod
    def of(cls, given: Feedback | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Feedback | None:
        """Return whom these jobs follow; None where they follow nobody."""
        if isinstance(given, Feedback):
            return given
        if not isinstance(given, Mapping) or set(given) != set(cls.NAMES):
            raise TypeError('feedback must give "preceding" and "think_time", by name.')
        preceding, think = (table_column(name, given[name], len(ids), np.float64, ids) for name in cls.NAMES)
        follows = preceding != NOBODY
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
        """Return the preceding jobs and the think times."""
        return {"preceding": self.preceding, "think_time": self.think_time}

    def renumbered(self, new: Mapping[int, int]) -> Feedback | None:
        """Return the same where jobs have other ids; whoever follows one that has none follows nobody."""
        preceding = np.array([new.get(int(job), NOBODY) for job in self.preceding.tolist()], dtype=np.float64)
        think = np.where(preceding == NOBODY, NOBODY, self.think_time)
        return self.of({"preceding": preceding, "think_time": think}, np.arange(preceding.size))

    def __str__(self) -> str:
        return f"{counted(int((self.preceding != NOBODY).sum()), 'job')} submitted after another's end"


def followers_of(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return who follows whom, by rows, and for how long its user thinks; jobs that are not here are not followed."""
    if workload.feedback is None:
        none = np.zeros(0, dtype=np.int64)
        return none, none, np.zeros(0)
    by_id = np.argsort(workload.id, kind="stable")
    asked = workload.feedback.preceding
    place = np.minimum(np.searchsorted(workload.id, asked, sorter=by_id), by_id.size - 1)
    rows = np.flatnonzero(workload.id[by_id[place]] == asked)
    return rows, by_id[place[rows]], workload.feedback.think_time[rows]


def submits_after(workload: Workload, over: NDArray[np.float64], cancelled: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return when jobs were submitted, where they ended at these times (NaN: they did not); else as recorded."""
    rows, on, think = followers_of(workload)
    submit = np.array(workload.submit)
    moved = over[on] + think
    if workload.cancel_at is not None:  # some had left before their users would have submitted them
        moved = np.where(cancelled[rows] & (moved > workload.cancel_at.times[rows]), np.nan, moved)
    submit[rows] = np.where(np.isnan(moved), submit[rows], moved)
    return submit


def not_here(workload: Workload) -> str | None:
    """Return that some jobs follow jobs that are not here, in a few words; None where none does."""
    if workload.feedback is None:
        return None
    asked = workload.feedback.preceding
    away = int(((asked != NOBODY) & ~np.isin(asked, workload.id)).sum())
    return f"{counted(away, 'job')} after the ends of jobs that are not here (submitted as recorded)" if away else None
