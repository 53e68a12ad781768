"""The layout of the searches' rows: the engine's, followed by a delay for each job if jobs have slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.run.evaluate import Layout

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints


@dataclass(frozen=True, slots=True)
class PlanLayout(Layout):
    """The positions of the parts of a row: the engine's, which kernels read, then `delays (n)` in whole seconds."""

    delayed: bool = False  # whether rows have delays

    @property
    def read(self) -> int:
        """Return how many numbers of a row kernels read: all except the delays."""
        return self._unshaped + self.jobs * self.shaped

    @property
    def length(self) -> int:
        """Return the number of a row's elements."""
        return self.read + self.jobs * self.delayed

    def choices(self, rows: Ints) -> Ints:
        """Return the index of each job's shape in these rows, as a view; 0 is the job's present shape."""
        return rows[:, self._unshaped : self.read]

    def delays(self, rows: Ints) -> Ints:
        """Return each job's delay in seconds in these rows, as a view."""
        return rows[:, self.read :]

    def pack(
        self, orders: Ints, caps: Ints, rules: Ints, choices: Ints | None = None, delays: Ints | None = None
    ) -> Ints:
        """Return rows made of their parts; without `delays` no job is put off."""
        rows = Layout.pack(self, orders, caps, rules, choices)
        if not self.delayed:
            return rows
        return np.concatenate([rows, np.zeros_like(orders) if delays is None else delays], axis=1, dtype=np.int64)
