"""A time of every job's own, on the clock of the submits, of which jobs may have none: a column of one name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.model.validation import table_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

EARLIEST = 0.0  # no submit is before


@dataclass(frozen=True, slots=True, eq=False)
class JobTimes(JobColumns):
    """A time of every job; `NOTHING` where it has none."""

    PREFIX = ""
    NAMES: ClassVar[tuple[str]]  # the one that the column has
    CELL = float
    NOTHING: ClassVar[float]
    RULE: ClassVar[str]  # what a time must be, for errors

    given: NDArray[np.float64]

    @classmethod
    def of(cls, given: JobTimes | Mapping[str, ArrayLike] | ArrayLike, ids: NDArray[np.int64]) -> Self | None:
        """Return the times of these jobs; None where none has one."""
        if isinstance(given, JobTimes):
            return cls(given.given)
        (name,) = cls.NAMES
        times = table_column(name, given[name] if isinstance(given, Mapping) else given, len(ids), np.float64, ids)
        sound = (times == cls.NOTHING) | ((times >= EARLIEST) & np.isfinite(times))
        if (wrong := np.flatnonzero(~sound)).size:
            raise ValueError(f"Job {ids[wrong[0]]}: {name}={times[wrong[0]]:g} must be {cls.RULE}.")
        return cls(times) if (times != cls.NOTHING).any() else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the times by their name."""
        return {self.NAMES[0]: self.given}

    def of_job(self, row: int) -> float | None:
        """Return the time of one job."""
        return None if self.given[row] == self.NOTHING else float(self.given[row])

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of what is said of one job after the other."""
        known = any(time is not None for time in said)
        return {cls.NAMES[0]: np.array([cls.NOTHING if time is None else time for time in said])} if known else {}

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Self:
        """Return the same times on another clock."""
        none = self.given == self.NOTHING
        moved = np.where(none, self.NOTHING, np.maximum(onto(self.given), EARLIEST))
        moved.setflags(write=False)
        return type(self)(moved)

    @property
    def jobs(self) -> int:
        """Return how many jobs have one."""
        return int((self.given != self.NOTHING).sum())
