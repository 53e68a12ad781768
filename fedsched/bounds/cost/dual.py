"""The value of a set of multipliers, which proves a bound whatever method found them.

The bound problem is: minimise time_price·T + Σ price_c·d_jv·q_jvc over modes y and node counts q, such that

    Σ over jobs released from r_l on of d·q <= m_c·(T − r_l) − x_lc   class c, level l   multiplier area[l, c]
    Σ f_p(τ_j)·d·y <= N·(T − r_0)                                wide family p        multiplier wide[p]
    release_j + d·y <= T                                         job j                multiplier job[j]
    floor <= T <= limit

where x_lc is the closed node-seconds of the class, from r_l to a known lower bound on T.

For any multipliers >= 0 the Lagrangian's minimum is a lower bound. It decomposes by job: each job takes the mode of
least cost, with nodes filled cheapest class first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation


@dataclass(frozen=True, slots=True, eq=False)
class BoundProblem:
    """The objective, and the constraints of the relaxation that are used."""

    relaxation: Relaxation
    levels: Floats  # release instants r_l, ascending; the first is the earliest release
    wide: Floats  # family p × job: f_p(τ_j)
    time_price: float  # the price of a second of T
    price: Floats  # per class: the price of a node-second in use
    floor: float = 0.0  # a known lower bound on T
    reached: float = 0.0  # another one, used for closed nodes

    @property
    def level_of(self) -> Ints:
        """Return the index of the last level at or before each job's release."""
        return np.searchsorted(self.levels, self.relaxation.release, side="right") - 1

    @property
    def lost(self) -> Floats:
        """Return the node-seconds, level × class, that are closed until T."""
        return self.relaxation.shut.lost(self.levels, self.reached, self.relaxation.nodes.size)


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """Multipliers >= 0 of the constraints."""

    area: Floats  # level × class
    wide: Floats  # family
    job: Floats  # job

    def clipped(self) -> Multipliers:
        """Return the multipliers with values below 0, left by a solver's tolerance, set to 0."""
        return Multipliers(*(np.maximum(np.nan_to_num(part), 0.0) for part in (self.area, self.wide, self.job)))

    def scaled(self, factor: float) -> Multipliers:
        """Return all multipliers times a factor."""
        return Multipliers(self.area * factor, self.wide * factor, self.job * factor)


@dataclass(frozen=True, slots=True, eq=False)
class DualValue:
    """A proven bound as a linear function of the limit on T: bound(limit) = constant − slope·limit, slope >= 0."""

    constant: float
    slope: float
    multipliers: Multipliers
    area_gradient: Floats  # level × class
    wide_gradient: Floats

    def at(self, limit: float) -> float:
        """Return the bound for schedules with T <= limit."""
        return self.constant - self.slope * limit if self.slope > 0 else self.constant


def dual_value(problem: BoundProblem, multipliers: Multipliers, *, limited: bool = False) -> DualValue:
    """Return the bound that these multipliers prove; without a limit on T, those that spend too much are scaled."""
    relaxation = problem.relaxation
    multipliers = multipliers.clipped()
    spent = _spent(relaxation, multipliers)
    if spent > problem.time_price and not limited:
        multipliers = multipliers.scaled(problem.time_price / spent)
        spent = min(_spent(relaxation, multipliers), problem.time_price)  # equal but for rounding: see rounded_down
    left = problem.time_price - spent
    watched = multipliers.area.cumsum(axis=0) + problem.price  # level × class: a job's price of a node-second
    per_second = multipliers.job + multipliers.wide @ problem.wide
    cost, mode, used = cheapest_modes(problem, watched, per_second)
    capacity = relaxation.nodes.astype(np.float64)
    first = float(problem.levels[0])
    constant = (
        float(cost.sum())
        + float(multipliers.job @ relaxation.release)
        + float((multipliers.area @ capacity) @ problem.levels)
        + float((multipliers.area * problem.lost).sum())
        + float(multipliers.wide.sum()) * relaxation.total_nodes * first
        + max(left, 0.0) * problem.floor
    )
    rows = np.arange(mode.size)
    seconds = relaxation.duration[rows, mode]
    load = np.zeros_like(multipliers.area)
    np.add.at(load, problem.level_of, used * seconds[:, None])
    later = load[::-1].cumsum(axis=0)[::-1]
    return DualValue(
        constant=constant,
        slope=max(-left, 0.0),
        multipliers=multipliers,
        area_gradient=later + problem.levels[:, None] * capacity + problem.lost,
        wide_gradient=problem.wide @ seconds + first * relaxation.total_nodes,
    )


def _spent(relaxation: Relaxation, multipliers: Multipliers) -> float:
    """Return how much of the price of T the multipliers use."""
    return float(
        (multipliers.area @ relaxation.nodes).sum()
        + multipliers.wide.sum() * relaxation.total_nodes
        + multipliers.job.sum()
    )


def cheapest_modes(problem: BoundProblem, node_price: Floats, per_second: Floats) -> tuple[Floats, Ints, Floats]:
    """Return every job's least cost, its mode, and its nodes of each class (eq. per job, closed form).

    `node_price` is per level and class. `per_second` is per job: the price of a second of it besides its nodes.
    """
    relaxation = problem.relaxation
    jobs, classes = relaxation.caps.shape
    cost = np.full(jobs, np.inf)
    mode = np.zeros(jobs, dtype=np.int64)
    used = np.zeros((jobs, classes))
    level_of = problem.level_of
    for level in np.unique(level_of).tolist():
        of_level = level_of == level
        by_price = np.argsort(node_price[level], kind="stable")
        for v in range(relaxation.slowdown.size):
            rows = np.flatnonzero(of_level & relaxation.usable[:, v])
            if not rows.size:
                continue
            order = by_price[relaxation.class_slowdown[by_price] <= v]
            filled = np.minimum(relaxation.caps[rows][:, order].cumsum(axis=1), relaxation.tasks[rows, None])
            taken = np.diff(filled, axis=1, prepend=0)
            here = relaxation.duration[rows, v] * (taken @ node_price[level, order] + per_second[rows])
            better = here < cost[rows]
            won = rows[better]
            cost[won] = here[better]
            mode[won] = v
            used[won] = 0.0
            used[won[:, None], order] = taken[better]
    return cost, mode, used


def without_late_modes(problem: BoundProblem, instant: float) -> BoundProblem | None:
    """Return the problem restricted to schedules with T below an instant; None if some job cannot end by then."""
    relaxation = problem.relaxation
    early = relaxation.usable & (relaxation.release[:, None] + relaxation.duration < instant)
    if not early.any(axis=1).all():
        return None
    return replace(problem, relaxation=replace(relaxation, usable=early), floor=0.0)


def least_end(problem: BoundProblem, floor: float, bound_on: Callable[[BoundProblem], float]) -> float:
    """Return a bound on T, at least `floor`, by a binary search among the instants at which modes end.

    If T < t, the bound without modes that end at t or later holds: T >= min(t, that bound). That bound falls as t
    grows.
    """
    relaxation = problem.relaxation
    ends = (relaxation.release[:, None] + relaxation.duration)[relaxation.usable]
    instants = np.unique(ends[ends > floor])
    best = floor

    def ruled_out(k: int) -> bool:
        nonlocal best
        instant = float(instants[k])
        fewer = without_late_modes(problem, instant)
        bound = np.inf if fewer is None else bound_on(fewer)
        best = max(best, min(instant, bound))
        return bool(bound >= instant)

    low, step = 0, 1  # usually the first instant is not ruled out
    while low + step <= instants.size and ruled_out(low + step - 1):
        low, step = low + step, 2 * step
    high = min(low + step - 1, instants.size)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if ruled_out(middle) else (low, middle)
    return best
