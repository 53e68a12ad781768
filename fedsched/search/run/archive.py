"""The archive of a search's non-dominated plans; beyond its capacity it drops the most crowded ones (as NSGA-II)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.policies import is_policy
from fedsched.search.run.checkpoint_arrays import saved_plans, saved_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem


@dataclass(frozen=True, slots=True)
class Entry:
    """A kept plan: a row, or the name of the policy that made its schedule.

    Parameters
    ----------
    row
        The plan; None if a policy made the schedule.
    policy
        The policy's name.

    Examples
    --------
    >>> from fedsched.search import Entry
    >>> Entry(row=None, policy="easy").policy
    'easy'
    """

    row: Ints | None
    policy: str = ""


@dataclass(slots=True)
class Archive:
    """The non-dominated plans met so far; of plans with equal values only the first is kept.

    Parameters
    ----------
    objectives
        The number of objectives.
    capacity
        The most plans that are kept.
    entries
        The kept plans; their values are rows of `values`.
    changes
        How often the archive has changed.

    Examples
    --------
    >>> from fedsched.search import Archive
    >>> import numpy as np
    >>> archive = Archive(objectives=2)
    >>> archive.add(np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 3.0]]), policies=["a", "b", "c"])
    True
    >>> [entry.policy for entry in archive.entries]
    ['a', 'b']
    >>> archive.best()
    array([1., 2.])
    """

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
        """Offer plans, given as rows or by the names of policies; return whether any was kept.

        Plans with a NaN value are ignored. Kept plans that a new one dominates are dropped.

        Parameters
        ----------
        values
            Plans × objectives: the values.
        rows
            The plans.
        policies
            In place of rows: the names of the policies that made the schedules.
        """
        candidates = np.flatnonzero(~np.isnan(values).any(axis=1))
        if len(self) and candidates.size:
            # Most candidates are dominated by kept plans: dropping them first saves sorting.
            worse = np.any(np.all(self.values[None] <= values[candidates][:, None], axis=2), axis=1)
            candidates = candidates[~worse]
        if not candidates.size:
            return False
        together = np.concatenate([self.values, values[candidates]])
        kept = non_dominated(together)
        kept = kept[least_crowded(together[kept], self.capacity)]
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

    def state(self, length: int) -> dict[str, Plain]:
        """Return the archive's content for a checkpoint; `length` is the number of elements of a row."""
        return {
            "values": self.values,
            "rows": np.array(self.rows(), dtype=np.int64).reshape(-1, length),
            "policies": [entry.policy for entry in self.entries],  # "" for a row
            "changes": self.changes,
        }

    def restore(self, saved: Saved, problem: PackedProblem) -> None:
        """Replace the archive's content by a saved one; raise UnfitError if it does not fit the problem."""
        policies = saved.words("policies")
        values = saved_values(saved, "values", problem, len(policies))
        rows = iter(saved_plans(saved, "rows", problem, policies.count("")))
        if len(policies) > self.capacity:
            raise saved.unfit("policies", f"must name {self.capacity} plans at most")
        if not all(name == "" or is_policy(name) for name in policies):
            raise saved.unfit("policies", "must be names of policies")
        self.values = values
        self.entries = [Entry(None, name) if name else Entry(next(rows)) for name in policies]
        self.changes = saved.whole("changes")

    def rows(self) -> list[Ints]:
        """Return the rows of the kept plans; schedules of policies have none."""
        return [entry.row for entry in self.entries if entry.row is not None]

    def plans(self) -> tuple[list[Ints], Floats]:
        """Return the kept plans that are rows, and their values; schedules of policies are left out."""
        return self.rows(), self.values[[k for k, entry in enumerate(self.entries) if entry.row is not None]]

    def best(self) -> Floats:
        """Return the least kept value of each objective; inf if the archive is empty."""
        return self.values.min(axis=0) if len(self) else np.full(self.objectives, np.inf)


def non_dominated(values: Floats) -> Ints:
    """Return the indices of the rows that no other row dominates (less is better), in order.

    Of equal rows only the first counts.
    """
    if values.shape[1] == 1:
        return np.array([int(np.argmin(values[:, 0]))])
    from moocore import is_nondominated

    return np.flatnonzero(is_nondominated(values, keep_weakly=False))


def crowding(values: Floats, front: Ints | None = None) -> Floats:
    """Return every point's crowding distance within its front; −1 for all but the first of equal points.

    The extremes of a front have inf. `front` has the front's number of each point; by default all points are on one
    front.
    """
    front = np.zeros(len(values), dtype=np.int64) if front is None else front
    distance = np.zeros(len(values))
    order = np.lexsort(values.T)
    again = order[1:][(values[order[1:]] == values[order[:-1]]).all(axis=1)]
    distance[again] = -1.0
    points = np.flatnonzero(distance == 0.0)
    for m in range(values.shape[1]):
        # All fronts are handled at once: points are sorted by front, then by the objective.
        sorted_points = points[np.lexsort((values[points, m], front[points]))]
        x, of = values[sorted_points, m], front[sorted_points]
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        ends = np.append(begins[1:], len(of)) - 1
        extent = np.repeat(x[ends] - x[begins], ends - begins + 1)
        gap = np.zeros(len(of))
        gap[1:-1] = x[2:] - x[:-2]
        distance[sorted_points] += np.divide(gap, extent, out=np.zeros(len(of)), where=extent > 0.0)
        distance[sorted_points[np.union1d(begins, ends)]] = np.inf
    return distance


def least_crowded(values: Floats, count: int) -> Ints:
    """Return the indices of a front's `count` least crowded points in ascending order; all if there are fewer."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.sort(np.argsort(-crowding(values), kind="stable")[:count])
