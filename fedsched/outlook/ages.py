"""How waiting adds to priorities: what age is worth, so that those of different moments can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.io.slurm_values import seconds_of
from fedsched.steer.priorities import MULTIFACTOR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.steer import Queue
    from fedsched.twin.records import Records

    Column = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ages:
    """What age adds to a priority: `weight` once a job has waited for `most` seconds, in proportion before.

    `by_factors` tells whether priorities are made of factors at all; else a later job comes behind earlier ones.
    """

    by_factors: bool
    weight: float
    most: float

    @classmethod
    def of(cls, queue: Queue) -> Ages:
        """Return what a cluster's settings say."""
        weight = queue.setting("PriorityWeightAge")
        most = seconds_of(queue.setting("PriorityMaxAge") or "7-0", "PriorityMaxAge")
        by_factors = queue.setting("PriorityType").lower() == MULTIFACTOR
        return cls(by_factors, float(weight) if by_factors and weight.isdecimal() else 0.0, most)

    def points(self, seconds: Column) -> Column:
        """Return what so much waiting adds."""
        if not self.weight or not 0.0 < self.most < np.inf:
            return np.zeros(len(seconds))
        return self.weight * np.clip(seconds / self.most, 0.0, 1.0)

    def without(self, records: Records, rows: NDArray[np.int64]) -> Column:
        """Return the priorities of runs as they were at their starts, without what age had added by then."""
        waited = np.where(np.isnan(records.start), 0.0, records.start - records.eligible)[rows]
        priority = records.priority[rows]
        return np.where(priority > 0, priority - self.points(waited), np.nan)
