"""Earliest starts: times before which jobs may not start, as their users asked besides the submit time [34]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.text import counted
from fedsched.model.jobs.job_numbers import LEAST
from fedsched.model.jobs.times import JobTimes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

AT_ONCE = LEAST


class EarliestStarts(JobTimes):
    """The earliest start of each job, on the clock of the submits; 0 = its submit."""

    __slots__ = ()
    NAMES = ("begin",)
    NOTHING = AT_ONCE
    RULE = "finite and at least 0 seconds"

    @property
    def begin(self) -> NDArray[np.float64]:
        """Return the earliest starts."""
        return self.given

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} not before a time of their own"
