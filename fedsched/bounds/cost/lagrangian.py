"""Multipliers without the whole LP: from a sample of the jobs, then improved by cutting planes on all of them."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.dual import Multipliers, dual_value
from fedsched.bounds.cost.linear import Solved, solve

if TYPE_CHECKING:
    from fedsched.bounds.cost.dual import BoundProblem
    from fedsched.bounds.lower.relaxation import Floats

SAMPLE = 250
STEPS = 40
ENOUGH = 1e-4  # stop when the cuts promise no more than this share of improvement


def solve_by_classes(problem: BoundProblem, *, limit: float | None = None, until: float = math.inf) -> Solved:
    """Return good multipliers of the classes and wide families; those of single jobs stay 0.

    The dual function is concave in a few dozen prices and closed in each job, so the cutting planes' own LP is tiny:
    maximise the least of the tangents in a box around the best point, which shrinks where they mislead.
    """
    guess = _of_sample(problem, limit, until)
    if limit is None and problem.time_price == 0:  # time costs nothing, so no multiplier may be above 0
        return guess
    nodes, families = problem.relaxation.nodes, problem.wide.shape[0]
    capacity = np.concatenate(
        [np.tile(nodes, problem.levels.size), np.full(families, problem.relaxation.total_nodes)]
    ).astype(np.float64)

    def tangent(prices: Floats) -> tuple[float, Floats]:
        found = dual_value(problem, _multipliers(problem, prices), limited=limit is not None)
        second = problem.floor if limit is None or found.slope == 0 else limit  # the T that the Lagrangian chooses
        gradient = np.concatenate([found.area_gradient.ravel(), found.wide_gradient])
        return found.at(problem.floor if limit is None else limit), gradient - capacity * second

    centre = np.concatenate([guess.multipliers.area.ravel(), guess.multipliers.wide])
    spent = float(capacity @ centre)
    if limit is None and spent > problem.time_price:
        centre = centre * (problem.time_price / spent)
    best, slope = tangent(centre)
    cuts = [(slope, best - float(slope @ centre))]
    radius = 0.3 * max(spent, problem.time_price) / capacity / problem.levels.size
    for _ in range(STEPS):
        if time.perf_counter() >= until:
            break
        found = _highest(cuts, centre, radius, capacity, np.inf if limit is not None else problem.time_price)
        if found is None or found[1] - best <= ENOUGH * abs(best):
            break
        prices, promise = found
        value, slope = tangent(prices)
        cuts.append((slope, value - float(slope @ prices)))
        radius = radius * (1.5 if value - best > 0.5 * (promise - best) else 0.5)
        if value > best:
            best, centre = value, prices
    return Solved(_multipliers(problem, centre), guess.horizon)


def _multipliers(problem: BoundProblem, prices: Floats) -> Multipliers:
    """Return a vector of prices as multipliers."""
    levels, classes = problem.levels.size, problem.relaxation.nodes.size
    area = prices[: levels * classes].reshape(levels, classes)
    return Multipliers(area, prices[levels * classes :], np.zeros(problem.relaxation.tasks.size))


def _of_sample(problem: BoundProblem, limit: float | None, until: float) -> Solved:
    """Return the LP's multipliers for every k-th job by (release, area), each standing for k."""
    relaxation = problem.relaxation
    jobs = relaxation.tasks.size
    order = np.lexsort((relaxation.tasks * relaxation.shortest, problem.level_of))
    ends = np.linspace(0, jobs, min(SAMPLE, jobs) + 1).astype(np.int64)
    rows = order[(ends[:-1] + ends[1:]) // 2]
    part = replace(problem, relaxation=relaxation.take(rows), wide=problem.wide[:, rows])
    return solve(part, limit=limit, copies=np.diff(ends), until=until)


def _highest(
    cuts: list[tuple[Floats, float]], centre: Floats, radius: Floats, capacity: Floats, purse: float
) -> tuple[Floats, float] | None:
    """Return where in the box the least tangent is highest, and how high; None where HiGHS gives up."""
    from scipy.optimize import linprog

    scale = max(abs(cuts[0][1]), 1e-300)
    low, high = np.maximum(centre - radius, 0.0), centre + radius
    unit = np.maximum(high, 1e-300)  # of each price, so that HiGHS sees numbers near 1
    slopes = np.array([np.append(-slope * unit, scale) for slope, _ in cuts]) / scale
    rows, right = slopes, np.array([height for _, height in cuts]) / scale
    if np.isfinite(purse):
        rows = np.vstack([rows, np.append(capacity * unit, 0.0) / purse])
        right = np.append(right, 1.0)
    bounds = [*zip(low / unit, high / unit, strict=True), (None, None)]
    found = linprog(np.append(np.zeros(centre.size), -1.0), A_ub=rows, b_ub=right, bounds=bounds, method="highs")
    if found.x is None:
        return None
    return np.clip(found.x[:-1] * unit, low, high), float(found.x[-1]) * scale
