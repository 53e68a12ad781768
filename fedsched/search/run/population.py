"""A population of plans with NSGA-II's selection of parents and survivors, by rank and crowding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.encoding.offspring import crossed, mutated, tournament
from fedsched.search.run.archive import crowding
from fedsched.search.run.checkpoint_arrays import saved_plans, saved_values

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

RANDOM = 0.2  # least share of random plans in a first population, however many seeds there are


class Population:
    """A breeding population: parents win tournaments by rank and crowding; the best of parents and children survive."""

    def __init__(self, rows: Ints, values: Floats, size: int) -> None:
        best = by_rank_and_crowding(values, size)
        self.rows, self.values = rows[best], values[best]
        self._standing = np.arange(len(best))  # each row's position, 0 for the best

    def state(self) -> dict[str, Plain]:
        """Return the plans, their values and their positions by rank and crowding, for a checkpoint."""
        return {"rows": self.rows, "values": self.values, "standing": self._standing}

    @classmethod
    def of(cls, saved: Saved, problem: PackedProblem, size: int) -> Population:
        """Return the population of a saved state; raise UnfitError if it does not fit the problem."""
        population = cls.__new__(cls)
        population.rows = saved_plans(saved, "rows", problem, size)
        population.values = saved_values(saved, "values", problem, size)
        population._standing = saved.ints("standing", (size,), most=size - 1)
        return population

    def children(self, run: Run, generation: int) -> Ints:
        """Return new children by crossover and mutation: at most as many as parents and as there is time for.

        Children that repeat a parent or another child are dropped, but one is always left.
        """
        rng = run.generator(1 + generation)
        pairs = tournament(self._standing, 2 * len(self.rows), rng).reshape(-1, 2)
        pairs = pairs[: run.plans_in_time(len(pairs))]
        rows = crossed(run.problem, self.rows, pairs, seed=run.seed, generation=2 * generation)
        moves = np.minimum(rng.geometric(0.6, size=len(rows)), 5)
        rows = mutated(run.problem, rows, moves, seed=run.seed, generation=2 * generation + 1)
        new = _new(rows, self.rows)
        return rows if len(new) == len(rows) else rows[new]

    def survive(self, rows: Sequence[Ints] | Ints, values: Floats) -> None:
        """Keep the best of the members and of these plans, by rank and crowding; the number of members stays."""
        # Rows are large: survivors stay in place, and new rows are copied to the places of dropped ones.
        count = len(self.rows)
        together = np.concatenate([self.values, values])
        order = by_rank_and_crowding(together, count)
        standing = np.full(len(together), count)
        standing[order] = np.arange(count)
        gone = np.flatnonzero(standing[:count] == count)
        risen = np.flatnonzero(standing[count:] < count)
        for place, k in zip(gone.tolist(), risen.tolist(), strict=True):
            self.rows[place] = rows[k]
        self.values[gone] = values[risen]
        self._standing = standing[:count]
        self._standing[gone] = standing[count + risen]


def first_population(run: Run, size: int) -> Ints:
    """Return first plans: the run's seeds, then random plans; at least `size` in all if there is time.

    At least a fifth of `size` are random.
    """
    return np.concatenate([run.seeds, run.random_rows(random_beside(run, size))])


def random_beside(run: Run, size: int) -> int:
    """Return how many random plans a first population of that size has besides the seeds: at least a fifth of it."""
    return max(size - len(run.seeds), int(RANDOM * size))


def by_rank_and_crowding(values: Floats, count: int) -> Ints:
    """Return the indices of the `count` best points: by front, then the least crowded first.

    Repeated points come last in their front.
    """
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    _, rank = NonDominatedSorting().do(values, return_rank=True)
    return np.lexsort((-crowding(values, rank), rank))[:count]


def row_hashes(rows: Ints) -> Ints:
    """Return a 64-bit hash of each row, a sum of products that wraps round; different rows rarely have equal ones."""
    factors = np.random.default_rng(rows.shape[1]).integers(np.iinfo(np.int64).max, size=rows.shape[1])
    return rows @ (2 * factors + 1)


def _new(children: Ints, parents: Ints) -> Ints:
    # The first of each set of equal children that equal no parent; the first child if there is none.
    hashes = row_hashes(children)
    _, first = np.unique(hashes, return_index=True)
    fresh = np.sort(first[~np.isin(hashes[first], row_hashes(parents))])
    return fresh if fresh.size else np.zeros(1, dtype=np.int64)
