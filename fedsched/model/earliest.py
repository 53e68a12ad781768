"""Before when jobs may not start, whatever is free: what their users asked for beside the submit time [34]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.model.validation import table_column
from fedsched.text import counted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

AT_ONCE = 0.0  # no submit is earlier


@dataclass(frozen=True, slots=True, eq=False)
class EarliestStarts(JobColumns):
    """The earliest start of every job, on the clock of the submits; 0 = its submit."""

    PREFIX = ""
    NAMES = ("begin",)
    CELL = float
    NOTHING = AT_ONCE

    begin: NDArray[np.float64]

    @classmethod
    def of(
        cls, given: EarliestStarts | Mapping[str, ArrayLike] | ArrayLike, ids: NDArray[np.int64]
    ) -> EarliestStarts | None:
        """Return the earliest starts of these jobs; None where there is none."""
        if isinstance(given, EarliestStarts):
            return given
        values = given["begin"] if isinstance(given, Mapping) else given
        begin = table_column("begin", values, len(ids), np.float64, ids)
        if (wrong := np.flatnonzero(~(np.isfinite(begin) & (begin >= AT_ONCE)))).size:
            job = wrong[0]
            raise ValueError(f"Job {ids[job]}: begin={begin[job]:g} must be finite and at least 0 seconds.")
        return cls(begin) if begin.any() else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the earliest starts."""
        return {"begin": self.begin}

    def of_job(self, row: int) -> float | None:
        """Return the earliest start of one job."""
        return None if self.begin[row] == AT_ONCE else float(self.begin[row])

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of what is said of one job after the other."""
        known = any(begin is not None for begin in said)
        return {"begin": np.array([AT_ONCE if begin is None else begin for begin in said])} if known else {}

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> EarliestStarts:
        """Return the same starts on another clock."""
        moved = np.where(self.begin > AT_ONCE, np.maximum(onto(self.begin), AT_ONCE), AT_ONCE)
        moved.setflags(write=False)
        return EarliestStarts(moved)

    def __str__(self) -> str:
        return f"{counted(int((self.begin > AT_ONCE).sum()), 'job')} not before a time of their own"
