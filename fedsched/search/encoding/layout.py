"""How the rows of searches lie: as the engine's, and, where jobs have slack, with a delay for each behind that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.run.evaluate import Layout

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints


@dataclass(frozen=True, slots=True)
class PlanLayout(Layout):
    """Where the parts of a row lie, `… | delays (n)` in whole seconds behind what kernels read."""

    delayed: bool = False  # whether rows say by how long jobs are put off, too

    @property
    def read(self) -> int:
        """Return how many numbers of a row kernels read: all but the delays."""
        return self._unshaped + self.jobs * self.shaped

    @property
    def length(self) -> int:
        """Return how many numbers a row has."""
        return self.read + self.jobs * self.delayed

    def choices(self, rows: Ints) -> Ints:
        """Return which shape the jobs of some rows have, as a view; 0 = their present one."""
        return rows[:, self._unshaped : self.read]

    def delays(self, rows: Ints) -> Ints:
        """Return by how many seconds the jobs of some rows are put off, as a view."""
        return rows[:, self.read :]

    def pack(
        self, orders: Ints, caps: Ints, rules: Ints, choices: Ints | None = None, delays: Ints | None = None
    ) -> Ints:
        """Return rows made of their parts; no job is put off unless `delays` says so."""
        rows = Layout.pack(self, orders, caps, rules, choices)
        if not self.delayed:
            return rows
        return np.concatenate([rows, np.zeros_like(orders) if delays is None else delays], axis=1, dtype=np.int64)
