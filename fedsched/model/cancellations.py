"""When jobs leave the queue if they have not started by then: their users take them back [44]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.model.validation import table_column
from fedsched.text import counted, first_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.schedule import Schedule
    from fedsched.model.workload import Workload

STAYS = -1.0


@dataclass(frozen=True, slots=True, eq=False)
class Cancellations(JobColumns):
    """When each job is cancelled that has not started by then, on the clock of the submits; -1 = never."""

    PREFIX = ""
    NAMES = ("cancel_at",)
    CELL = float
    NOTHING = STAYS

    cancel_at: NDArray[np.float64]

    @classmethod
    def of(
        cls, given: Cancellations | Mapping[str, ArrayLike] | ArrayLike, ids: NDArray[np.int64]
    ) -> Cancellations | None:
        """Return when these jobs are cancelled; None where none is."""
        if isinstance(given, Cancellations):
            return given
        values = given["cancel_at"] if isinstance(given, Mapping) else given
        times = table_column("cancel_at", values, len(ids), np.float64, ids)
        if (wrong := np.flatnonzero(~((times == STAYS) | ((times >= 0.0) & (times < np.inf))))).size:
            job = wrong[0]
            given_as = f"Job {ids[job]}: cancel_at={times[job]:g}"
            raise ValueError(f"{given_as} must be finite and at least 0, or -1 for never.")
        return cls(times) if (times != STAYS).any() else None

    @property
    def times(self) -> NDArray[np.float64]:
        """Return the same, infinite where it is never."""
        return np.where(self.cancel_at == STAYS, np.inf, self.cancel_at)

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the times."""
        return {"cancel_at": self.cancel_at}

    def of_job(self, row: int) -> float | None:
        """Return when one job is cancelled."""
        return None if self.cancel_at[row] == STAYS else float(self.cancel_at[row])

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of what is said of one job after the other."""
        known = any(time is not None for time in said)
        return {"cancel_at": np.array([STAYS if time is None else time for time in said])} if known else {}

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Cancellations:
        """Return the same times on another clock."""
        moved = np.where(self.cancel_at == STAYS, STAYS, np.maximum(onto(self.cancel_at), 0.0))
        moved.setflags(write=False)
        return Cancellations(moved)

    def __str__(self) -> str:
        return f"{counted(int((self.cancel_at != STAYS).sum()), 'job')} cancelled unless started by a time of its own"


def may_be_cancelled(workload: Workload) -> NDArray[np.bool_]:
    """Return which jobs are cancelled if they have not started by a time of their own."""
    if workload.cancel_at is None:
        return np.zeros(len(workload), dtype=np.bool_)
    return np.isfinite(workload.cancel_at.times)


def cancelled_in(schedule: Schedule) -> NDArray[np.bool_]:
    """Return which jobs of a schedule were cancelled: they have no start, their time has come, nothing killed them."""
    if schedule.workload.cancel_at is None:
        return np.zeros(len(schedule), dtype=np.bool_)
    gone = np.isnan(schedule.start) & (schedule.workload.cancel_at.times <= schedule.until)
    gone &= np.isfinite(schedule.workload.cancel_at.times)
    lost, times = schedule.lost, schedule.workload.cancel_at.times[schedule.lost.job]
    gone[lost.job[(lost.start < times) & (times <= lost.end)]] = False  # who ran then stays
    gone[lost.killed] = False
    return gone


def in_words(schedule: Schedule) -> list[str]:
    """Return who was cancelled, in a line."""
    gone = cancelled_in(schedule)
    jobs = f"{counted(int(gone.sum()), 'job')} ({first_of(schedule.workload.id[gone])})"
    return [f"cancelled before they started: {jobs}"] * bool(gone.any())


def refuse_cancellations(noun: str, workload: Workload) -> None:
    """Refuse jobs that may be cancelled, where nobody can know of it beforehand."""
    if (jobs := int(may_be_cancelled(workload).sum())) == 0:
        return
    raise ValueError(
        f"{noun}: {counted(jobs, 'job')} may be cancelled (cancel_at), which no plan knows beforehand; leave that out: "
        "dataclasses.replace(workload, cancel_at=None), or take a rule or a Rolling policy."
    )
