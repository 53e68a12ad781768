"""What users ask of the scheduler for a job: an earliest start besides the submit time [34], and a nice value [74].

A positive nice value lowers the job's priority, as Slurm's --nice.
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
    """The earliest start that a user asks for each job, in seconds on the clock of the submits; 0 = its submit."""

    __slots__ = ()
    NAMES = ("begin",)
    NOTHING = AT_ONCE
    RULE = "finite and at least 0 seconds"

    @property
    def begin(self) -> NDArray[np.float64]:
        """Return the earliest starts in seconds, 0 if the job has none."""
        return self.values

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with an earliest start"


class Nice(JobNumbers):
    """A whole number per job that is subtracted from its priority; a negative number raises the priority."""

    __slots__ = ()
    NAMES = ("nice",)
    CELL = int
    NOTHING = 0
    KIND = np.int64
    RANGE = (-MOST_NICE, MOST_NICE)
    RULE = f"a whole number from {-MOST_NICE:.0f} to {MOST_NICE:.0f}"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, how many jobs have a nice value, and that only the policy "slurm" uses it."""
        return [f"{counted(self.jobs, 'job')} with a nice value, {SLURM_ONLY}"]

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with {self.values.min():,} to {self.values.max():,} off their priority"
