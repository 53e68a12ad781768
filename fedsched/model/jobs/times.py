"""Base class for an optional time per job, on the clock of the submit times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fedsched.model.jobs.job_numbers import LEAST, JobNumbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray


class JobTimes(JobNumbers):
    """A time per job, no earlier than the earliest possible submit; `NOTHING` if the job has none."""

    __slots__ = ()

    def moved(self, onto: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Self:
        """Return the same times on another clock."""
        none = self.given == self.NOTHING
        moved = np.where(none, self.NOTHING, np.maximum(onto(self.given), LEAST))
        moved.setflags(write=False)
        return type(self)(moved)
