"""Nice values: by how much users lower the priorities of their own jobs, as Slurm's --nice [74]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.job_numbers import JobNumbers

if TYPE_CHECKING:
    from fedsched.model.machine.federation import Federation

MOST = 2_147_483_645.0  # Slurm's own limit
BY_ITSELF = 100  # the value of --nice without a number
SLURM_ALONE = "of which policy slurm alone takes note"


class Nice(JobNumbers):
    """A whole number that is subtracted from each job's priority; below 0 raises it, 0 = none."""

    __slots__ = ()
    NAMES = ("nice",)
    CELL = int
    NOTHING = 0
    KIND = np.int64
    RANGE = (-MOST, MOST)
    RULE = f"a whole number from {-MOST:.0f} to {MOST:.0f}"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, that nice values affect policy slurm only."""
        return [f"{counted(self.jobs, 'job')} with a nice value, {SLURM_ALONE}"]

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with {self.given.min():,} to {self.given.max():,} off their priority"
