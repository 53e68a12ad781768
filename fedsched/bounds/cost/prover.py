"""The prover of lower bounds: it searches for multipliers and prices within its time, and stores the bounds proven."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.buckets import Scarce, proven
from fedsched.bounds.cost.charges import CHARGES, TRIVIAL_BOUNDS
from fedsched.bounds.cost.dual import BoundProblem, DualValue, Multipliers, cheapest_modes, dual_value, least_end
from fedsched.bounds.cost.linear import Solved, solve
from fedsched.bounds.cost.prices import find_prices
from fedsched.bounds.lower import closed, small_problems
from fedsched.bounds.lower.relaxation import Relaxation, release_levels, rounded_down
from fedsched.core.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.bounds.lower.relaxation import Floats

ROUNDS = 8  # of new prices, since a later end means longer closures
RISES = 1e-4  # the least relative rise of the bound for another round
FEW_JOBS = 200  # up to this number, the LP is solved again without late modes
SAMPLE = 250
STEPS = 40
ENOUGH = 1e-4  # stop if the cuts promise a smaller relative improvement


def solve_by_classes(problem: BoundProblem, *, limit: float | None = None, until: float = math.inf) -> Solved:
    """Return good multipliers of the classes and wide families; those of single jobs stay 0.

    The dual function is concave in a few dozen prices, and closed-form in each job, so the program of the cutting
    planes is tiny. It maximises the least tangent in a box around the best point. The box shrinks if the tangents
    mislead. With `limit` T has this upper limit; solvers stop at `until`.
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
        second = problem.floor if limit is None or found.slope == 0 else limit  # the T that minimises the Lagrangian
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
    """Return a vector of prices (of classes, then of wide families) as Multipliers; those of single jobs are 0."""
    levels, classes = problem.levels.size, problem.relaxation.nodes.size
    area = prices[: levels * classes].reshape(levels, classes)
    return Multipliers(area, prices[levels * classes :], np.zeros(problem.relaxation.tasks.size))


def _of_sample(problem: BoundProblem, limit: float | None, until: float) -> Solved:
    """Return the multipliers of the program for at most 250 jobs, each of which stands for its neighbours.

    Neighbours are next to each other in order of release level and area.
    """
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
    """Return the point of the box at which the least tangent is highest, and its height; None if HiGHS gives up.

    At most `purse` is spent on the prices, if that is finite.
    """
    from scipy.optimize import linprog

    scale = max(abs(cuts[0][1]), 1e-300)
    low, high = np.maximum(centre - radius, 0.0), centre + radius
    unit = np.maximum(high, 1e-300)  # scales each price, so that HiGHS sees numbers near 1
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


class Prover:
    """The prover of one relaxation: it searches for multipliers, and stores the bounds that they prove."""

    def __init__(
        self, relaxation: Relaxation, method: str, seconds: float = math.inf, unclocked: Relaxation | None = None
    ) -> None:
        self.seconds = seconds  # left for solvers
        self.unclocked = unclocked  # with true run times, if CP-SAT may be used
        self.cut = False  # whether a solver had to stop for lack of time
        self.solver_missing = False  # whether CP-SAT may have raised the bound on the makespan, but is not installed
        wide, rows = closed.wide_jobs(relaxation)
        self.relaxation = relaxation
        self.method = method
        self.longest_job = closed.longest_job(relaxation)
        self.area = max(closed.area(relaxation), wide)
        self.floor = max(self.longest_job, self.area)
        self.problem = BoundProblem(
            relaxation, release_levels(relaxation), rows, 1.0, np.zeros(relaxation.nodes.size), self.floor
        )
        self.energy_lines: list[DualValue] = []
        self.thrifty_horizon = math.nan  # the T of the least-energy LP, at which the front ends
        self._of_starts: dict[str, float] = {}

    def fixed_prices(self) -> list[Multipliers]:
        """Return multipliers that need no solver: for each release level equal node prices, and prices by speed."""
        jobs, wide = self.relaxation.tasks.size, len(self.problem.wide)
        prices = class_prices(self.relaxation, self.problem.levels.size)
        return [Multipliers(price, np.zeros(wide), np.zeros(jobs)) for price in prices]

    @cached_property
    def longest_wait(self) -> float:
        """Return the lower bound on the longest wait in seconds, besides that by the mean wait."""
        works = [_work(self, price.area.sum(axis=0)) for price in self.fixed_prices()]
        return rounded_down(closed.longest_wait(self.relaxation, works), self.relaxation.t0)

    def makespan(self) -> DualValue:
        """Return the best bound on T that multipliers prove, and raise `floor`, the bound that later ones use.

        T is the time from t0 to the last end.
        """
        tried = self.fixed_prices()
        if self.method != "closed":
            tried.append(self._solve(self.problem, None).multipliers)
        best = max((dual_value(self.problem, prices) for prices in tried), key=lambda found: found.constant)
        self.floor = max(self.floor, rounded_down(best.constant, self.relaxation.t0))
        best = self._between_downtimes([*tried, best.multipliers], best)
        self.floor = max(self.floor, self._by_modes([*tried, best.multipliers]))
        return best

    def _between_downtimes(self, known: list[Multipliers], best: DualValue) -> DualValue:
        """Return the best bound on T with closed nodes, after several rounds.

        Each round may raise the floor, and so the closed time before T.
        """
        shut, levels, t0 = self.relaxation.shut, self.problem.levels, self.relaxation.t0
        if not shut.begin.size:
            return best
        for _ in range(ROUNDS):
            before = self.floor
            for prices in known:
                base = dual_value(replace(self.problem, reached=0.0), prices)
                until = shut.reached(base.constant, base.multipliers.area, levels)
                self.floor = max(self.floor, rounded_down(until, t0))
            self.problem = replace(self.problem, floor=self.floor, reached=self.floor)
            if self.method == "closed" or self.floor <= before * (1.0 + RISES):
                break
            known = [*known, self._solve(self.problem, None).multipliers]
        return max((dual_value(self.problem, prices) for prices in known), key=lambda found: found.constant)

    def _by_modes(self, known: list[Multipliers]) -> float:
        """Return the bound on T after ruling out modes that end late: by known prices, then by a few programs.

        A mode is a job at a slowdown. For few jobs CP-SAT may raise the bound further. With method "closed" it
        is the floor.
        """
        # As for longest job and area: every duration is clocked, which allows for more than the rounding of sums.

        def by_known(problem: BoundProblem) -> float:
            return rounded_down(max(dual_value(problem, prices).constant for prices in known))

        def by_program(problem: BoundProblem) -> float:
            solved = dual_value(problem, self._solve(problem, None).multipliers)
            return max(by_known(problem), rounded_down(solved.constant))

        if self.method == "closed":
            return self.floor
        best = least_end(self.problem, self.floor, by_known)
        if self.method == "lp" and self.relaxation.tasks.size <= FEW_JOBS:
            best = least_end(self.problem, best, by_program)
        best = rounded_down(best)
        if self.unclocked is not None and self.unclocked.tasks.size <= small_problems.JOBS:
            with self._limited() as until:
                left = until - time.perf_counter()
                try:
                    best = max(best, rounded_down(small_problems.solved_makespan(self.unclocked, best, left)))
                except MissingExtraError:
                    self.solver_missing = True
        return best

    def energy(self) -> float:
        """Return the best bound on the energy of all schedules, in joules."""
        if math.isnan(self.thrifty_horizon):
            self._add_line(None)
        return max(line.constant for line in self.energy_lines if line.slope == 0) + self.relaxation.more_joules

    def energy_within(self, limit: float, *, solve: bool = True) -> float:
        """Return the best bound on the energy of schedules with T <= limit, in joules.

        Without `solve` only multipliers found before are used.
        """
        self.energy()
        if solve:
            self._add_line(limit)
        return max(line.at(limit) for line in self.energy_lines) + self.relaxation.more_joules

    def _add_line(self, limit: float | None) -> None:
        problem = replace(
            self.problem,
            time_price=self.relaxation.idle_total,
            price=self.relaxation.extra_watts,
            floor=self.floor,
        )
        if limit is None:
            nothing = self.fixed_prices()[0].scaled(0.0)
            self.energy_lines.append(dual_value(problem, nothing))
            self.thrifty_horizon = self.floor
        if self.method == "closed":
            return
        solved = self._solve(problem, limit)
        self.energy_lines.append(dual_value(problem, solved.multipliers, limited=limit is not None))
        if limit is None:
            self.thrifty_horizon = max(solved.horizon, self.floor)

    def _solve(self, problem: BoundProblem, limit: float | None) -> Solved:
        from fedsched.bounds.cost.linear import solve

        solver = solve if self.method == "lp" else solve_by_classes
        with self._limited() as until:
            return solver(problem, limit=limit, until=until)

    @contextmanager
    def _limited(self) -> Iterator[float]:
        """A context that yields the time until which a solver may run, and subtracts the time used from `seconds`.

        The time is one of `time.perf_counter`. If no seconds are left, `cut` is set.
        """
        begun = time.perf_counter()
        yield begun + self.seconds
        self.seconds -= time.perf_counter() - begun
        self.cut = self.cut or self.seconds <= 0.0

    @cached_property
    def responses(self) -> closed.Responses:
        """Return the closed-form bounds on sums of responses and waits, computed once."""
        relaxation = self.relaxation
        works = []
        for multipliers in (*self.fixed_prices(), self.best_makespan.multipliers):
            price = multipliers.area.sum(axis=0)
            spent = float(price @ relaxation.nodes)
            if spent > 0:
                works.append(_work(self, price / spent))
        return closed.responses(relaxation, works)

    @cached_property
    def best_makespan(self) -> DualValue:
        """Return the best bound on T as `makespan` finds it, computed once."""
        return self.makespan()

    def of_starts(self, metric: str) -> float:
        """Return the bound on a metric that is a sum over jobs, such as "flow", computed once."""
        if metric not in self._of_starts:
            self._of_starts[metric] = max(self.without_prices(metric), self._by_buckets(metric))
        return self._of_starts[metric]

    def without_prices(self, metric: str) -> float:
        """Return the bound on a metric that is a sum over jobs, without prices over time.

        It comes from closed forms and class prices; for slowdowns it is 1.
        """
        relaxation = self.relaxation
        jobs, t0 = relaxation.tasks.size, relaxation.t0
        if metric == "flow":
            return rounded_down(self.responses.flow, jobs * t0)
        if metric == "mean_wait":
            return rounded_down(self.responses.wait / jobs, t0)
        if metric == "weighted_response":
            return rounded_down(self.responses.weighted / float(relaxation.tasks.sum()), t0)
        return TRIVIAL_BOUNDS[metric]

    def _by_buckets(self, metric: str) -> float:
        if self.method == "closed":
            return 0.0
        scarce, charge = Scarce.of(self.relaxation, self.problem.wide), CHARGES[metric]
        with self._limited() as until:
            if time.perf_counter() >= until:
                return 0.0
            return proven(scarce, charge, find_prices(scarce, charge, until))


def class_prices(relaxation: Relaxation, levels: int) -> list[Floats]:
    """Return several prices of a node-second, level × class: for each level equal ones, and ones by speed.

    The prices of all nodes add up to 1.
    """
    made = []
    for weight in (np.ones(relaxation.nodes.size), 1.0 / relaxation.slowdown[relaxation.class_slowdown]):
        for level in range(levels):
            prices = np.zeros((levels, relaxation.nodes.size))
            prices[level] = weight / float(weight @ relaxation.nodes)
            made.append(prices)
    return made


def _work(prover: Prover, price: Floats) -> Floats:
    """Return each job's least work on a machine of rate 1 that is made of all nodes, each with its class's price.

    The prices of all nodes add up to 1.
    """
    levels = prover.problem.levels.size
    return cheapest_modes(prover.problem, np.tile(price, (levels, 1)), np.zeros(prover.relaxation.tasks.size))[0]
