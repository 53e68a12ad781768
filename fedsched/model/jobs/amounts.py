"""Base class for whole numbers by name, one row per job: how much of each named thing a job takes or asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.validation import check_labels, table_column

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class JobAmounts(JobColumns):
    """How much of each named thing every job needs: one column per name, one row per job."""

    CELL = int
    NOTHING = 0
    FIELD: ClassVar[str]  # the field of a workload
    OF: ClassVar[str]  # the noun for one of them, for errors
    WHAT: ClassVar[str]  # the noun for the numbers, for errors

    names: tuple[str, ...]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, given: JobAmounts | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Self | None:
        """Return the amounts of these jobs by name, given as one number for all or one per job; None if all are 0."""
        if isinstance(given, JobAmounts):
            given = given.columns()
        if not isinstance(given, Mapping):
            raise TypeError(f"Workload: {cls.FIELD}={given!r} must give {cls.WHAT} by the {cls.OF}s' names.")
        names = check_labels(f"Workload: {cls.OF}", given)
        columns = [table_column(f"{cls.FIELD}[{name!r}]", given[name], len(ids), np.int64, ids) for name in names]
        for name, column in zip(names, columns, strict=True):
            if (short := np.flatnonzero(column < 0)).size:
                raise ValueError(f"Job {ids[short[0]]}: it needs {column[short[0]]} of {cls.OF} {name!r}; at least 0.")
        if not any(column.any() for column in columns):
            return None
        amounts = np.stack(columns, axis=1)
        amounts.setflags(write=False)
        return cls(names, amounts)

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return the amounts by name."""
        return {name: self.amounts[:, p] for p, name in enumerate(self.names)}

    def jobs_with(self) -> dict[str, int]:
        """Return the number of jobs that need some of each."""
        return {name: int((column > 0).sum()) for name, column in self.columns().items()}

    def __str__(self) -> str:
        return ", ".join(f"{one_line(name)} by {counted(jobs, 'job')}" for name, jobs in self.jobs_with().items())
