"""The plans worth keeping: non-dominated ones, at most so many, the least crowded first to stay."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class Entry:
    """A plan that is kept: a row, or the name of the policy whose schedule it is."""

    row: Ints | None
    policy: str = ""


@dataclass(slots=True)
class Archive:
    """The non-dominated plans met so far; equal values are kept once, the first to come stays."""

    objectives: int
    capacity: int = 500
    values: Floats = field(init=False)
    entries: list[Entry] = field(default_factory=list)
    changes: int = 0

    def __post_init__(self) -> None:
        self.values = np.zeros((0, self.objectives))

    def __len__(self) -> int:
        return len(self.entries)

    def add(self, values: Floats, rows: Sequence[Ints] | Ints | None = None, *, policies: Sequence[str] = ()) -> bool:
        """Offer plans, given as rows or by the names of policies; return whether any was kept."""
        candidates = np.flatnonzero(~np.isnan(values).any(axis=1))
        if len(self) and candidates.size:
            # most candidates are dominated by what is there: those go before anything is sorted
            worse = np.any(np.all(self.values[None] <= values[candidates][:, None], axis=2), axis=1)
            candidates = candidates[~worse]
        if not candidates.size:
            return False
        together = np.concatenate([self.values, values[candidates]])
        kept = non_dominated(together)
        kept = kept[_spread_out(together[kept], self.capacity)]
        old = len(self)
        entries = []
        for k in kept.tolist():
            if k < old:
                entries.append(self.entries[k])
            else:
                c = int(candidates[k - old])
                entries.append(Entry(None, policies[c]) if rows is None else Entry(rows[c].copy()))
        changed = bool((kept >= old).any())
        self.values, self.entries = together[kept], entries
        self.changes += changed
        return changed

    def rows(self) -> Ints:
        """Return the kept plans that are rows."""
        rows = [entry.row for entry in self.entries if entry.row is not None]
        return np.array(rows, dtype=np.int64) if rows else np.zeros((0, 0), dtype=np.int64)

    def plans(self) -> tuple[Ints, Floats]:
        """Return the kept plans that are rows, and their values."""
        chosen = [k for k, entry in enumerate(self.entries) if entry.row is not None]
        return self.rows(), self.values[chosen]

    def best(self) -> Floats:
        """Return the least value of each objective."""
        return self.values.min(axis=0) if len(self) else np.full(self.objectives, np.inf)


def non_dominated(values: Floats) -> Ints:
    """Return which rows no other row dominates, the first of equal ones only, in their order."""
    if values.shape[1] == 1:
        return np.array([int(np.argmin(values[:, 0]))])
    from moocore import is_nondominated

    return np.flatnonzero(is_nondominated(values, keep_weakly=False))


def crowding(values: Floats) -> Floats:
    """Return every point's crowding distance: the sum over objectives of the gap between its neighbours."""
    points, objectives = values.shape
    distance = np.zeros(points)
    if points == 0:
        return distance
    for m in range(objectives):
        order = np.argsort(values[:, m], kind="stable")
        sorted_values = values[order, m]
        extent = sorted_values[-1] - sorted_values[0]
        distance[order[[0, -1]]] = np.inf
        if points > 2 and extent > 0:
            distance[order[1:-1]] += (sorted_values[2:] - sorted_values[:-2]) / extent
    return distance


def _spread_out(values: Floats, capacity: int) -> Ints:
    # The indices that stay when only so many may: the least crowded.
    if len(values) <= capacity:
        return np.arange(len(values))
    return np.sort(np.argsort(-crowding(values), kind="stable")[:capacity])
