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
    """The linear problem that bounds a makespan T or an energy: its prices and constraints.

    The constraints limit the node-seconds of each class after each release level, the time of wide jobs, and each
    job's own end.
    """

    relaxation: Relaxation
    levels: Floats  # release instants r_l, ascending; the first is the earliest release
    wide: Floats  # family p × job: f_p(τ_j)
    time_price: float  # the price of a second of T
    price: Floats  # per class: the price of a node-second in use
    floor: float = 0.0  # a known lower bound on T
    reached: float = 0.0  # another one, used for closed nodes

    @property
    def level_of(self) -> Ints:
        """Return for each job the index of the last level (a release instant) at or before its release."""
        return np.searchsorted(self.levels, self.relaxation.release, side="right") - 1

    @property
    def lost(self) -> Floats:
        """Return the closed node-seconds, level × class, from each level until `reached`, a lower bound on T."""
        return self.relaxation.shut.lost(self.levels, self.reached, self.relaxation.nodes.size)


@dataclass(frozen=True, slots=True, eq=False)
class Multipliers:
    """The multipliers >= 0 of the problem's constraints: areas, wide jobs, and single jobs."""

    area: Floats  # level × class
    wide: Floats  # family
    job: Floats  # job

    def clipped(self) -> Multipliers:
        """Return the multipliers with values below 0 or NaN, left by a solver's tolerance, set to 0."""
        return Multipliers(*(np.maximum(np.nan_to_num(part), 0.0) for part in (self.area, self.wide, self.job)))

    def scaled(self, factor: float) -> Multipliers:
        """Return all multipliers times a factor."""
        return Multipliers(self.area * factor, self.wide * factor, self.job * factor)


@dataclass(frozen=True, slots=True, eq=False)
class DualValue:
    """A proven lower bound, as a linear function of the limit on T: bound(limit) = constant − slope·limit.

    The slope is at least 0.
    """

    constant: float
    slope: float
    multipliers: Multipliers
    area_gradient: Floats  # level × class
    wide_gradient: Floats

    def at(self, limit: float) -> float:
        """Return the bound for schedules with T <= limit; it is constant if the slope is 0."""
        return self.constant - self.slope * limit if self.slope > 0 else self.constant


def dual_value(problem: BoundProblem, multipliers: Multipliers, *, limited: bool = False) -> DualValue:
    """Return the lower bound that these multipliers prove, with its gradients.

    If they cost more than a second of T is worth, they are scaled down; with `limited` the bound instead falls with
    the limit on T.
    """
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
    """Return the price of a second of T that the multipliers use up, to be compared with `time_price`."""
    return float(
        (multipliers.area @ relaxation.nodes).sum()
        + multipliers.wide.sum() * relaxation.total_nodes
        + multipliers.job.sum()
    )


def cheapest_modes(problem: BoundProblem, node_price: Floats, per_second: Floats) -> tuple[Floats, Ints, Floats]:
    """Return every job's least cost, the mode (slowdown) that has it, and the nodes of each class used.

    `node_price` is the price of a node-second per level and class. `per_second` is each job's price of a second
    besides its nodes.
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
    """Return the problem restricted to modes that can end before an instant; None if some job cannot.

    It then bounds the schedules with T below the instant.
    """
    relaxation = problem.relaxation
    early = relaxation.usable & (relaxation.release[:, None] + relaxation.duration < instant)
    if not early.any(axis=1).all():
        return None
    return replace(problem, relaxation=replace(relaxation, usable=early), floor=0.0)


def least_end(problem: BoundProblem, floor: float, bound_on: Callable[[BoundProblem], float]) -> float:
    """Return a lower bound on T, at least `floor`, by a binary search among the instants at which modes end.

    If T < t, the bound without modes that end at t or later holds: T >= min(t, that bound). That bound falls as t
    grows. `bound_on` computes the bound of a restricted problem.
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
