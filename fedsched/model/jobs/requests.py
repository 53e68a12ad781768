"""What users ask of the scheduler for a job: an earliest start besides the submit time [34], and a nice value [74].

A nice value lowers the priorities of a user's own jobs, as Slurm's --nice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.columns import LEAST, JobNumbers, JobTimes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation

AT_ONCE = LEAST
MOST_NICE = 2_147_483_645.0  # Slurm's own limit
DEFAULT_NICE = 100  # the value of --nice without a number
SLURM_ONLY = "which only policy slurm uses"


class EarliestStarts(JobTimes):
    """The earliest start of each job, on the clock of the submits; 0 = its submit."""

    __slots__ = ()
    NAMES = ("begin",)
    NOTHING = AT_ONCE
    RULE = "finite and at least 0 seconds"

    @property
    def begin(self) -> NDArray[np.float64]:
        """Return the earliest starts."""
        return self.values

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with an earliest start"


class Nice(JobNumbers):
    """A whole number that is subtracted from each job's priority; below 0 raises it, 0 = none."""

    __slots__ = ()
    NAMES = ("nice",)
    CELL = int
    NOTHING = 0
    KIND = np.int64
    RANGE = (-MOST_NICE, MOST_NICE)
    RULE = f"a whole number from {-MOST_NICE:.0f} to {MOST_NICE:.0f}"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, that nice values affect policy slurm only."""
        return [f"{counted(self.jobs, 'job')} with a nice value, {SLURM_ONLY}"]

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with {self.values.min():,} to {self.values.max():,} off their priority"
