"""By how much users lower the priorities of their own jobs, as Slurm's --nice: a number that is taken off [74]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.job_numbers import JobNumbers

if TYPE_CHECKING:
    from fedsched.model.machine.federation import Federation

MOST = 2_147_483_645.0  # as Slurm has it
BY_ITSELF = 100  # what --nice without a number means
SLURM_ALONE = "of which policy slurm alone takes note"


class Nice(JobNumbers):
    """What is taken off the priority of each job, a whole number, below 0 for who comes sooner; 0 = nothing."""

    __slots__ = ()
    NAMES = ("nice",)
    CELL = int
    NOTHING = 0
    KIND = np.int64
    RANGE = (-MOST, MOST)
    RULE = f"a whole number from {-MOST:.0f} to {MOST:.0f}"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return that no rule of the plain loop looks at it."""
        return [f"{counted(self.jobs, 'job')} with a nice value, {SLURM_ALONE}"]

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} with {self.given.min():,} to {self.given.max():,} off their priority"
