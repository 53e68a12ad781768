"""The virtual organisation's choice: one alternative a job, with the best total within a limit (eqs. 1-9)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.market.codes import BUDGETS, PROBLEMS, Budget, Problem, code_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

GRID = 2000
LOOKS = 200_000  # alternatives that the exact search tries before it keeps the best found
ROUNDED = 1e-12  # a quotient may be rounded up by less than this share
ROUNDING = 1e-9  # least expenses may exceed the limit by this share: both are sums of the same numbers, rounded


@dataclass(frozen=True, slots=True, eq=False)
class Combination:
    """The result of `choose`: one alternative for each job that has any, the totals, and the limit.

    Parameters
    ----------
    rows
        The chosen alternatives, by row.
    problem
        The problem, as in `choose`.
    value, expense, limit
        The sum that the problem optimises, the sum that is limited, and its limit.
    within
        Whether the limit is kept.
    proven
        Whether no combination is better.

    Examples
    --------
    >>> chosen = fs.market.choose(job=[0, 0, 1], time=[10, 4, 8], cost=[1, 3, 2], problem="cost", limit=20)
    >>> chosen.rows, chosen.within
    (array([0, 2]), True)
    """

    rows: Ints
    problem: str
    value: float
    expense: float
    limit: float
    within: bool  # the limit is kept
    proven: bool  # no combination is better


class _Solved(NamedTuple):
    rows: Ints
    within: bool
    proven: bool


def choose(
    job: ArrayLike,
    time: ArrayLike,
    cost: ArrayLike,
    *,
    problem: str = "time",
    limit: float | None = None,
    budget: str = "mean",
    grid: int = GRID,
) -> Combination:
    """Return the best combination of alternatives, one for each job that occurs.

    Values and expenses are exact; the recursion's table discretises each expense beyond its job's least one. Ties are
    broken by lower expense, then by earlier alternatives.

    Parameters
    ----------
    job, time, cost
        A row an alternative: its job, its time (the sum of its slots), its cost.
    problem
        "profit" maximises cost within a total time (eq. 6), "time" minimises time within the VO's budget (7), "cost"
        minimises cost within a total time (8), "idleness" maximises the time used within a total time (9).
    limit
        The limit on the total. By default t* = Σ ⌈mean time⌉ (eq. 5), and for "time" the VO's budget b*.
    budget
        How b* is computed if no limit is given. "mean": Σ ⌈mean cost⌉, as t* of eq. 5 (g* of eq. 1); "profit": the
        greatest profit within t* (the value of eq. 6).
    grid
        Cells of the recursion's table, which divide the range from the least expenses to the limit.

    Examples
    --------
    >>> chosen = fs.market.choose(job=[0, 0, 1, 1], time=[10, 4, 8, 5], cost=[1, 3, 2, 6], limit=6)
    >>> chosen.rows, chosen.value, chosen.expense
    (array([1, 2]), 12.0, 5.0)
    """
    code = code_of("problem", problem, PROBLEMS)
    if grid < 1:
        raise ValueError(f"choose: grid={grid!r} must be at least 1.")
    if limit is not None and not 0 <= limit < np.inf:
        raise ValueError(f"choose: limit={limit!r} must be finite and at least 0; leave it out for the default.")
    job, time, cost = _checked(job, time, cost)
    if not len(job):
        return Combination(np.zeros(0, np.int64), problem, 0.0, 0.0, limit or 0.0, within=True, proven=True)
    value, expense = _figures(code, time, cost)
    if limit is None:
        level = code_of("budget", budget, BUDGETS)
        if code != Problem.TIME:
            limit = mean_level(job, time)
        elif level == Budget.MEAN:
            limit = mean_level(job, cost)
        else:
            limit = choose(job, time, cost, problem="profit", grid=grid).value
    order = np.argsort(job, kind="stable")
    begin = np.concatenate([np.flatnonzero(np.diff(job[order], prepend=-1)), [len(job)]])
    solved = _solve(begin, value[order], expense[order], limit, grid)
    chosen = order[solved.rows]
    sign = -1.0 if code in (Problem.PROFIT, Problem.IDLENESS) else 1.0
    return Combination(
        chosen,
        problem,
        sign * float(value[chosen].sum()),
        float(expense[chosen].sum()),
        float(limit),
        solved.within,
        solved.proven,
    )


def _checked(job: ArrayLike, time: ArrayLike, cost: ArrayLike) -> tuple[Ints, Floats, Floats]:
    owner, times, costs = np.asarray(job), np.asarray(time, dtype=np.float64), np.asarray(cost, dtype=np.float64)
    if owner.ndim != 1 or owner.shape != times.shape or owner.shape != costs.shape:
        raise ValueError(
            f"choose: job, time and cost have shapes {owner.shape}, {times.shape} and {costs.shape}; "
            "they must be rows of one length."
        )
    if owner.size and owner.dtype.kind not in "iu":
        raise TypeError(f"choose: job must hold whole numbers, not {owner.dtype}.")
    for name, column in (("job", owner), ("time", times), ("cost", costs)):
        holds = np.isfinite(column) & (column >= 0)
        if not holds.all():
            row = int(np.argmin(holds))
            raise ValueError(f"choose: row {row}: {name}={column[row].item()!r} must be finite and at least 0.")
    return owner.astype(np.int64), times, costs


def mean_level(job: Ints, expense: Floats) -> float:
    """Return t* or b*: the sum over jobs of their alternatives' mean expense, rounded up (eq. 5)."""
    _, place, counts = np.unique(job, return_inverse=True, return_counts=True)
    return float(np.ceil(np.bincount(place, weights=expense) / counts).sum())


def _figures(code: Problem, time: Floats, cost: Floats) -> tuple[Floats, Floats]:
    """Return, of each alternative, the figure to minimise (negated if it is to be maximised) and the limited figure."""
    if code == Problem.PROFIT:
        return -cost, time
    if code == Problem.TIME:
        return time, cost
    if code == Problem.COST:
        return cost, time
    return -time, time


class _Table:
    """The recursion's table f_i(g) for expenses in whole cells of the grid (`steps`), and the combination it yields."""

    def __init__(self, begin: Ints, value: Floats, expense: Floats, steps: Ints, grid: int) -> None:
        from fedsched.market.recursion import recur, trace

        shape = (len(begin), grid + 1)
        self.best, self.spent = np.empty(shape), np.empty(shape)
        self.possible = np.empty(shape, np.bool_)
        self.rows = np.empty(len(begin) - 1, np.int64)
        pick = np.empty(shape, np.int64)
        recur(begin, value, expense, steps, self.best, self.spent, pick, self.possible)
        trace(begin, steps, pick, self.rows)


def _solve(begin: Ints, value: Floats, expense: Floats, limit: float, grid: int) -> _Solved:
    """Return the chosen row of each job, whether the limit is kept, and whether the choice is proven to be the best.

    If the limit cannot be kept, the rows are those of least expense.

    With expenses rounded down the recursion gives a bound. If its combination keeps the limit, it is optimal. Otherwise
    rounding up gives a feasible combination, which an exact search improves, with the first table as its bound.
    """
    from fedsched.market.recursion import search_exact

    least = np.minimum.reduceat(expense, begin[:-1])
    floor = float(least.sum())
    spare = limit - floor
    within = spare >= -ROUNDING * max(limit, floor)
    spare = max(spare, 0.0)
    excess = expense - np.repeat(least, np.diff(begin))
    cell = spare / grid
    if cell == 0 or not excess.any():
        grid = 0  # nothing to weigh up: each alternative has its job's least expense, or exceeds the limit
    cells = np.divide(excess, cell, out=np.where(excess > 0, np.inf, 0.0), where=cell > 0)
    down = _Table(begin, value, expense, _steps(np.floor(cells * (1 - ROUNDED)), grid), grid)
    if excess[down.rows].sum() <= spare:
        return _Solved(down.rows, within=within, proven=True)
    up = _Table(begin, value, expense, _steps(np.ceil(cells), grid), grid)
    rows = up.rows
    incumbent = np.array([value[rows].sum(), expense[rows].sum()])
    jobs = len(rows)
    proven = search_exact(
        begin,
        value,
        expense,
        excess,
        spare,
        cell,
        down.best,
        down.spent,
        down.possible,
        incumbent,
        rows,
        np.zeros(jobs, np.int64),
        np.zeros((jobs, 3)),
        LOOKS,
    )
    return _Solved(rows, within=within, proven=proven)


def _steps(cells: Floats, grid: int) -> Ints:
    return np.minimum(cells, grid + 1).astype(np.int64)
