"""The linear program of a bound problem, solved by HiGHS: its dual values are the multipliers."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bounds.cost.dual import Multipliers

if TYPE_CHECKING:
    from fedsched.bounds.cost.dual import BoundProblem
    from fedsched.bounds.lower.relaxation import Floats, Ints


class _Rows:
    """The rows of a sparse system `A x <= b` or `A x = b`, added block by block."""

    def __init__(self) -> None:
        self.count = 0
        self._entries: list[tuple[Ints, Ints, Floats]] = []
        self._right: list[Floats] = []

    def add(self, right: Floats, *blocks: tuple[Ints, Ints, Floats]) -> slice:
        """Add rows with these right-hand sides, and return the slice of their numbers.

        Entries are (row in the block, column, value).
        """
        first = self.count
        self._entries += [(np.asarray(row) + first, column, value) for row, column, value in blocks]
        self._right.append(np.asarray(right, dtype=np.float64))
        self.count += len(right)
        return slice(first, self.count)

    def matrix(self, columns: int) -> Any:
        """Return the sparse matrix A of all rows, with this many columns."""
        from scipy.sparse import csr_matrix

        rows, cols, values = (np.concatenate(parts) for parts in zip(*self._entries, strict=True))
        return csr_matrix((values, (rows, cols)), shape=(self.count, columns))

    @property
    def right(self) -> Floats:
        """Return the right-hand sides b of all rows."""
        return np.concatenate(self._right)


def within(until: float) -> dict[str, float]:
    """Return the options with which HiGHS gives up at a time of `time.perf_counter`; none if the time is inf."""
    return {} if until == math.inf else {"time_limit": max(until - time.perf_counter(), 0.01)}


class Solved(NamedTuple):
    """The multipliers of a linear program, and its T: only a guide, since a solver's tolerance proves nothing."""

    multipliers: Multipliers
    horizon: float


def solve(
    problem: BoundProblem, *, limit: float | None = None, copies: Ints | None = None, until: float = math.inf
) -> Solved:
    """Return the multipliers of a bound problem's linear program and its T; multipliers are 0 if HiGHS gives up.

    Parameters
    ----------
    problem
        The problem.
    limit
        An upper limit on T.
    copies
        The number of jobs that each job stands for; they count in the areas only.
    until
        When HiGHS must give up, by `time.perf_counter`.
    """
    from scipy.optimize import linprog

    relaxation = problem.relaxation
    jobs, classes, levels = relaxation.tasks.size, relaxation.nodes.size, problem.levels.size
    nothing = Multipliers(np.zeros((levels, classes)), np.zeros(problem.wide.shape[0]), np.zeros(jobs))
    if time.perf_counter() >= until:
        return Solved(nothing, problem.floor)
    weight = np.ones(jobs) if copies is None else copies.astype(np.float64)
    # HiGHS' tolerances are absolute, so time is scaled. Runs below the clock's resolution have no length.
    scale = max(problem.floor, float(relaxation.shortest.max())) or 1.0
    duration, floor = relaxation.duration / scale, problem.floor / scale
    job, v = np.nonzero(relaxation.usable)  # a mode a row: its number is y's column
    modes = job.size
    in_set = (relaxation.class_slowdown <= v[:, None]) & (relaxation.caps[job] > 0)
    of_mode, c = np.nonzero(in_set)  # q's columns come after those of y
    q = modes + np.arange(of_mode.size)
    horizon = modes + of_mode.size
    seconds = duration[job, v]

    equal, less = _Rows(), _Rows()
    ones = np.ones(modes)
    equal.add(np.ones(jobs), (job, np.arange(modes), ones))
    equal.add(
        np.zeros(modes),
        (of_mode, q, np.ones(q.size)),
        (np.arange(modes), np.arange(modes), -relaxation.tasks[job].astype(np.float64)),
    )
    cap = relaxation.caps[job[of_mode], c]
    tight = np.flatnonzero(cap < relaxation.tasks[job[of_mode]])  # elsewhere Σ q = τ·y is stronger
    less.add(
        np.zeros(tight.size),
        (np.arange(tight.size), q[tight], np.ones(tight.size)),
        (np.arange(tight.size), of_mode[tight], -cap[tight].astype(np.float64)),
    )
    level_of, lost = problem.level_of, problem.lost / scale
    use = weight[job[of_mode]] * seconds[of_mode]
    area = []
    for level in range(levels):
        here = np.flatnonzero(level_of[job[of_mode]] >= level)
        area.append(
            less.add(
                -relaxation.nodes * problem.levels[level] / scale - lost[level],
                (c[here], q[here], use[here]),
                (np.arange(classes), np.full(classes, horizon), -relaxation.nodes.astype(np.float64)),
            )
        )
    families = problem.wide.shape[0]
    family, column = np.nonzero(problem.wide[:, job])
    wide = less.add(
        np.full(families, -relaxation.total_nodes * problem.levels[0] / scale),
        (family, column, problem.wide[family, job[column]] * (weight[job] * seconds)[column]),
        (np.arange(families), np.full(families, horizon), np.full(families, -float(relaxation.total_nodes))),
    )
    latest = relaxation.release + np.where(relaxation.usable, relaxation.duration, 0.0).max(axis=1)
    watched = np.flatnonzero(latest > problem.floor)  # the others end by then in any mode
    place = np.full(jobs, -1)
    place[watched] = np.arange(watched.size)
    seen = np.flatnonzero(place[job] >= 0)
    alone = less.add(
        -relaxation.release[watched] / scale,
        (place[job[seen]], seen, seconds[seen]),
        (np.arange(watched.size), np.full(watched.size, horizon), np.full(watched.size, -1.0)),
    )
    energy = problem.price[c] * use
    prices = max(problem.time_price, float(energy.max(initial=0.0))) or 1.0  # 1 if no node draws any power
    cost = np.concatenate([np.zeros(modes), energy, [problem.time_price]]) / prices
    bounds = np.zeros((horizon + 1, 2))
    bounds[:, 1] = np.inf
    bounds[horizon] = floor, np.inf if limit is None else max(limit / scale, floor)
    found = linprog(
        cost,
        A_ub=less.matrix(horizon + 1),
        b_ub=less.right,
        A_eq=equal.matrix(horizon + 1),
        b_eq=equal.right,
        bounds=bounds,
        method="highs",
        options=within(until),
    )
    if found.x is None or found.ineqlin.marginals is None:
        return Solved(nothing, problem.floor)
    # A row is in units of `scale` seconds: its price in `prices` a unit is prices/scale a second. The cost is in those
    # units too (time_price·T/scale), so the two cancel.
    price = -np.asarray(found.ineqlin.marginals) * prices
    of_jobs = np.zeros(jobs)
    of_jobs[watched] = price[alone]
    return Solved(
        Multipliers(np.stack([price[rows] for rows in area]), price[wide], of_jobs), float(found.x[-1]) * scale
    )
