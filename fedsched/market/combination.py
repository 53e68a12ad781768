"""The VO's choice: one alternative a job, the best sum of one figure within a limit on another (eqs. 1-9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.market.codes import PROBLEMS, Problem, code_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GRID = 2000
ROUNDING = 1e-9  # least expenses above the limit by less than this share meet it: both are sums of the same numbers


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """One alternative for each job that has any, by its row; the sums, and the limit that the choice kept."""

    rows: Ints
    problem: str
    value: float
    expense: float
    limit: float
    within: bool


def choose(
    job: Ints, time: Floats, cost: Floats, *, problem: str = "time", limit: float | None = None, grid: int = GRID
) -> Combination:
    """Return the best combination of alternatives, one for each job that occurs.

    Expenses beyond each job's least one are rounded up to a grid of (limit − least expenses)/grid: the limit is never
    overspent, and what is possible at all stays possible. Values are exact. Of equally good combinations that of lower
    expense is chosen, then the one of earlier alternatives.

    Parameters
    ----------
    job, time, cost
        A row an alternative: whose it is, the time that it uses (the sum of its slots), what it costs.
    problem
        "profit" maximises cost within a total time (eq. 6), "time" minimises time within the VO's budget (7), "cost"
        minimises cost within a total time (8), "idleness" maximises the time used within a total time (9).
    limit
        On the total; when not given, t* = Σ ⌈mean time⌉ (eq. 5), and for "time" b*, the greatest profit within t*.
    grid
        Cells of the recursion's table.
    """
    code = code_of("problem", problem, PROBLEMS)
    if grid < 1:
        raise ValueError(f"choose: grid={grid!r} must be at least 1.")
    if limit is not None and not 0 <= limit < np.inf:
        raise ValueError(f"choose: limit={limit!r} must be finite and at least 0; leave it out for the default.")
    if not len(job):
        return Combination(np.zeros(0, np.int64), problem, 0.0, 0.0, limit or 0.0, within=True)
    value, expense = _figures(code, time, cost)
    if limit is None:
        limit = budget_limit(job, time, cost, grid=grid) if code == Problem.TIME else time_limit(job, time)
    order = np.argsort(job, kind="stable")
    begin = np.concatenate([np.flatnonzero(np.diff(job[order], prepend=-1)), [len(job)]])
    rows, within = _recursion(begin, value[order], expense[order], limit, grid)
    chosen = order[rows]
    sign = -1.0 if code in (Problem.PROFIT, Problem.IDLENESS) else 1.0
    return Combination(
        chosen, problem, sign * float(value[chosen].sum()), float(expense[chosen].sum()), float(limit), within
    )


def time_limit(job: Ints, time: Floats) -> float:
    """Return t*: the sum over jobs of the mean time of their alternatives, rounded up (eq. 5)."""
    counts = np.bincount(job)
    sums = np.bincount(job, weights=time)
    some = counts > 0
    return float(np.ceil(sums[some] / counts[some]).sum())


def budget_limit(job: Ints, time: Floats, cost: Floats, *, grid: int = GRID) -> float:
    """Return b*: the owners' greatest profit within t* (eq. 6)."""
    return choose(job, time, cost, problem="profit", grid=grid).value


def _figures(code: Problem, time: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Return what is minimised, and what is limited."""
    if code == Problem.PROFIT:
        return -cost, time
    if code == Problem.TIME:
        return time, cost
    if code == Problem.COST:
        return cost, time
    return -time, time


def _recursion(begin: Ints, value: Floats, expense: Floats, limit: float, grid: int) -> tuple[Ints, bool]:
    """Return a row for each job, and whether the limit is kept; where it cannot be, the least expense is chosen."""
    from fedsched.market.recursion import recur, trace

    jobs = len(begin) - 1
    least = np.minimum.reduceat(expense, begin[:-1])
    spare = limit - float(least.sum())
    within = spare >= -ROUNDING * max(limit, float(least.sum()))
    excess = expense - np.repeat(least, np.diff(begin))
    cell = max(spare, 0.0) / grid
    steps = np.where(excess > 0, np.ceil(excess / cell) if cell > 0 else grid + 1, 0.0)
    steps = np.minimum(steps, grid + 1).astype(np.int64)
    if not steps.any():
        grid = 0  # nothing to weigh up: every alternative is its job's least
    shape = (jobs + 1, grid + 1)
    best, spent, pick = np.empty(shape), np.empty(shape), np.empty(shape, np.int64)
    chosen = np.empty(jobs, np.int64)
    recur(begin, value, expense, steps, best, spent, pick, np.empty(shape, np.bool_))
    trace(begin, steps, pick, chosen)
    return chosen, within
