"""Offspring of plans: the compiled operators applied to arrays of rows, for the genetic methods and the adapters.

These functions are not in `operators`: kernels import that module, and are compiled anew when its imports change.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.encoding.delays import cross_delays, mutate_delays
from fedsched.search.encoding.operators import cross_rows, mutate_rows

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.search.problem.packed import PackedProblem


def crossed(problem: PackedProblem, parents: Ints, pairs: Ints, *, seed: int, generation: int) -> Ints:
    """Return one feasible child for each pair of row numbers of `parents`, by order crossover of the queues.

    Each job's caps, shape and delay come from either parent at random, as do the rules.
    """
    children = np.empty((len(pairs), problem.layout.length), dtype=np.int64)
    packed, space, state = problem.seat()
    cross_rows(
        packed,
        space,
        parents,
        np.ascontiguousarray(pairs, dtype=np.int64),
        children,
        np.zeros(problem.layout.jobs, dtype=np.int64),
        np.zeros(1, dtype=np.uint64),
        seed,
        generation,
        state,
    )
    if problem.delays is not None:
        cross_delays(problem.layout, parents, pairs, children, seed=seed, generation=generation)
    return children


def mutated(problem: PackedProblem, rows: Ints, moves: Ints, *, seed: int, generation: int) -> Ints:
    """Change each row in place by its number of random moves, `moves[row]`, and return the rows.

    With slack, some moves also give a job a new delay.
    """
    packed, space, state = problem.seat()
    mutate_rows(
        packed,
        space,
        rows,
        np.ascontiguousarray(moves, dtype=np.int64),
        np.zeros(problem.layout.jobs),
        np.zeros(1, dtype=np.uint64),
        seed,
        generation,
        state,
    )
    if problem.delays is not None:
        mutate_delays(problem.delays, problem.layout, rows, moves, seed=seed, generation=generation)
    return rows


def tournament(fitness: Floats | Ints, count: int, rng: np.random.Generator) -> Ints:
    """Return the indices of `count` winners of binary tournaments; less fitness wins, ties go to the first drawn."""
    a, b = rng.integers(0, len(fitness), size=(2, count))
    return np.where(fitness[b] < fitness[a], b, a)
