"""NSGA-II on rows, with pymoo's sorting and crowding: the thesis's MOGA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.variation import crossed, mutated, tournament

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.run import Run

POPULATION = 100
RANDOM = 0.2  # share of the first population that is random, however many seeds there are


class Moga:
    """NSGA-II: parents by rank and crowding, as many children, the better half of both stays."""

    def __init__(self, run: Run) -> None:
        self._generation = 0
        self._rows = np.zeros((0, run.problem.layout.length), dtype=np.int64)
        self._values: Floats = np.zeros((0, len(run.problem.objectives.names)))
        self._order: Floats = np.zeros(0)

    def step(self, run: Run) -> bool:
        """Make the first population, or the next generation."""
        if self._generation == 0:
            count = max(POPULATION - len(run.seeds), int(RANDOM * POPULATION))
            rows = np.concatenate([run.seeds, run.problem.random_rows(count, run.generator())])
        else:
            rng = run.generator(1 + self._generation)
            pairs = tournament(self._order, 2 * len(self._rows), rng).reshape(-1, 2)
            rows = crossed(run.problem, self._rows, pairs, seed=run.seed, generation=2 * self._generation)
            moves = np.minimum(rng.geometric(0.6, size=len(rows)), 5)
            rows = mutated(run.problem, rows, moves, seed=run.seed, generation=2 * self._generation + 1)
            rows = rows[_new(rows, self._rows)]
        values = run.evaluate(rows)
        self._survive(np.concatenate([self._rows, rows]), np.concatenate([self._values, values]))
        self._generation += 1
        return True

    def _survive(self, rows: Ints, values: Floats) -> None:
        order = by_rank_and_crowding(values, POPULATION)
        self._rows, self._values = rows[order], values[order]
        self._order = np.arange(len(order), dtype=np.float64)


def by_rank_and_crowding(values: Floats, count: int) -> Ints:
    """Return the `count` best points: by front, and within a front the least crowded first."""
    from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
    from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

    chosen: list[Ints] = []
    found = 0
    for front in NonDominatedSorting().do(values, n_stop_if_ranked=count):
        members = np.asarray(front, dtype=np.int64)
        chosen.append(members[np.argsort(-calc_crowding_distance(values[members]), kind="stable")])
        found += len(members)
        if found >= count:
            break
    return np.concatenate(chosen)[:count]


def _new(children: Ints, parents: Ints) -> Ints:
    # Duplicates are found by the bytes of rows.
    seen = {row.tobytes() for row in parents}
    fresh = []
    for k, row in enumerate(children):
        key = row.tobytes()
        if key not in seen:
            seen.add(key)
            fresh.append(k)
    return np.array(fresh if fresh else [0], dtype=np.int64)
