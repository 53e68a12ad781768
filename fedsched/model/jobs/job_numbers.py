"""Base class for an optional number per job: a column with one name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from fedsched.core.values import MOST_SECONDS
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.validation import table_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

LEAST = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class JobNumbers(JobColumns):
    """A number per job; `NOTHING` if the job has none."""

    PREFIX = ""
    NAMES: ClassVar[tuple[str]]  # the column's only name
    CELL: ClassVar[type[int] | type[float] | type[str]] = float
    KIND: ClassVar[type[np.int64] | type[np.float64]] = np.float64
    NOTHING: ClassVar[float]
    RANGE: ClassVar[tuple[float, float]] = (LEAST, MOST_SECONDS)
    RULE: ClassVar[str]  # the condition on a number, for errors

    given: NDArray[Any]

    @classmethod
    def of(cls, given: JobNumbers | Mapping[str, ArrayLike] | ArrayLike, ids: NDArray[np.int64]) -> Self | None:
        """Return the numbers of these jobs; None if no job has one."""
        if isinstance(given, JobNumbers):
            return cls(given.given)
        (name,) = cls.NAMES
        values = table_column(name, given[name] if isinstance(given, Mapping) else given, len(ids), cls.KIND, ids)
        least, most = cls.RANGE
        sound = (values == cls.NOTHING) | ((values >= least) & (values <= most) & np.isfinite(values))
        if (wrong := np.flatnonzero(~sound)).size:
            above = f", and at most {most:g}" if least <= values[wrong[0]] < np.inf else ""
            raise ValueError(f"Job {ids[wrong[0]]}: {name}={values[wrong[0]]:g} must be {cls.RULE}{above}.")
        return cls(values) if (values != cls.NOTHING).any() else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the numbers by their name."""
        return {self.NAMES[0]: self.given}

    def of_job(self, row: int) -> float | None:
        """Return the number of one job; None if it has none."""
        value: float = self.given[row].item()
        return None if value == self.NOTHING else value

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column by its name, from the jobs' numbers in order."""
        known = any(value is not None for value in said)
        return {cls.NAMES[0]: np.array([cls.NOTHING if value is None else value for value in said])} if known else {}

    @property
    def jobs(self) -> int:
        """Return how many jobs have a number."""
        return int((self.given != self.NOTHING).sum())
