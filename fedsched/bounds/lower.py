"""lower_bounds(): what no schedule of these jobs can beat, with the proof's value and not a solver's."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds import closed
from fedsched.bounds.dual import BoundProblem, DualValue, Multipliers, cheapest_modes, dual_value
from fedsched.bounds.relaxation import Relaxation, relax, release_levels, rounded_down
from fedsched.bounds.trivial import is_telling
from fedsched.engine.pack import caps_table, pack
from fedsched.errors import TraceError, unknown_name
from fedsched.model.assumed import WATTS_MARK
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.text import counted
from fedsched.values import origin, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.linear import Solved
    from fedsched.bounds.relaxation import Floats
    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

METHODS = ("auto", "lp", "lagrangian", "closed")
LP_JOBS = 1000  # above, `auto` takes the Lagrangian over classes


def lower_bounds(
    workload: Workload,
    federation: Federation,
    *,
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: str | None = None,
    kill_at_estimate: bool | None = None,
    caps: NDArray[np.int64] | None = None,
    method: str = "auto",
    seconds: float | None = None,
) -> LowerBounds:
    """Return lower bounds on every schedule of a workload on a federation, under any rule and with co-allocation.

    Parameters
    ----------
    workload, federation
        The jobs, and what they run on.
    t0
        The time's origin: no job starts before it. The earliest submit when not given.
    reading
        Of a schedule or search: what is known and whether jobs are killed makes the run times that are bounded.
    knowledge
        "runtime" unless the reading says otherwise: bounds on what schedules cost. "estimate": on what they would if
        every job took its estimate.
    kill_at_estimate
        A job runs min(runtime, estimate).
    caps
        Jobs × groups: how many nodes of each group a job may use.
    method
        "lp": the linear program. "lagrangian": its multipliers of classes alone, for thousands of jobs. "closed":
        closed forms only. "auto": the LP up to 1000 jobs, then the Lagrangian.
    seconds
        When solvers are to stop, those of a front's points included: what they have not found by then, closed forms
        must do. By default they take what they need.
    """
    reading = reading.but(knowledge=knowledge, kill_at_estimate=kill_at_estimate).settled("lower_bounds")
    if method not in METHODS:
        raise unknown_name("method of bounds", method, METHODS)
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to bound.")
    t0 = origin("lower_bounds", t0)
    problem = pack(workload, federation, reading=reading, t0=t0)
    relaxation = relax(problem, caps_table(workload, federation, caps), workload.id, runtime=reading.planned(workload))
    found = bounds_of_relaxation(relaxation, method=method, seconds=seconds)
    return replace(found, watts_assumed=federation.watts_assumed)


def bounds_of_relaxation(relaxation: Relaxation, *, method: str = "auto", seconds: float | None = None) -> LowerBounds:
    """Return the bounds that a relaxation proves, on what a clock would measure."""
    until = math.inf if seconds is None else time.perf_counter() + seconds
    if method == "auto":
        method = "lp" if relaxation.tasks.size <= LP_JOBS else "lagrangian"
    return _bounds_of(Prover(relaxation.clocked(), method, until))


class Prover:
    """What finds multipliers and remembers the bounds on energy that they prove."""

    __slots__ = (
        "area", "cut", "energy_lines", "floor", "longest_job", "method", "problem", "relaxation", "thrifty_horizon",
        "until",
    )  # fmt: skip

    def __init__(self, relaxation: Relaxation, method: str, until: float = math.inf) -> None:
        self.until = until  # by `time.perf_counter`: solvers stop then
        self.cut = False  # whether one had to
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
        self.thrifty_horizon = math.nan  # the T of the least-energy LP: where the front ends

    def fixed_prices(self) -> list[Multipliers]:
        """Return class prices that need no solver: all nodes alike, and each by its speed."""
        relaxation, shape = self.relaxation, (self.problem.levels.size, self.relaxation.nodes.size)
        made = []
        for weight in (np.ones(shape[1]), 1.0 / relaxation.slowdown[relaxation.class_slowdown]):
            for level in range(shape[0]):
                prices = np.zeros(shape)
                prices[level] = weight / float(weight @ relaxation.nodes)
                made.append(Multipliers(prices, np.zeros(len(self.problem.wide)), np.zeros(relaxation.tasks.size)))
        return made

    def makespan(self) -> DualValue:
        """Return the best bound on T that is found, proven by multipliers; it raises the floor of what follows."""
        tried = self.fixed_prices()
        if self.method != "closed":
            tried.append(self._solve(self.problem, None).multipliers)
        best = max((dual_value(self.problem, prices) for prices in tried), key=lambda found: found.constant)
        self.floor = max(self.floor, rounded_down(best.constant, self.relaxation.t0))
        return best

    def energy(self) -> float:
        """Return the best bound on energy."""
        if math.isnan(self.thrifty_horizon):
            self._add_line(None)
        return max(line.constant for line in self.energy_lines if line.slope == 0)

    def energy_within(self, limit: float, *, solve: bool = True) -> float:
        """Return the best bound on the energy of schedules with T <= limit; without `solve`, by what is known."""
        self.energy()
        if solve:
            self._add_line(limit)
        return max(line.at(limit) for line in self.energy_lines)

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
        from fedsched.bounds.lagrangian import solve_by_classes
        from fedsched.bounds.linear import solve

        solver = solve if self.method == "lp" else solve_by_classes
        found = solver(problem, limit=limit, until=self.until)
        self.cut = self.cut or time.perf_counter() >= self.until
        return found


@dataclass(frozen=True, slots=True, eq=False)
class LowerBounds:
    """Lower bounds on all schedules of one problem; seconds and joules, as the metric columns have them.

    `flow` is Σ(finish − submit). `longest_job` and `area` are the closed forms; `makespan` is the best of all.
    """

    makespan: float
    energy: float
    flow: float
    mean_wait: float
    weighted_response: float
    busy_energy: float
    coallocated: int
    longest_job: float
    area: float
    jobs: int
    method: str
    _prover: Prover = field(repr=False)
    watts_assumed: bool = False

    def of(self, metric: str) -> float:
        """Return the bound on a column of the metric row; NaN where none is known."""
        from fedsched.model.metrics import NAMES

        if metric not in NAMES:
            raise unknown_name("metric", metric, NAMES)
        known: dict[str, float] = {
            "makespan": self.makespan,
            "flow": self.flow,
            "mean_wait": self.mean_wait,
            "max_wait": max(self.mean_wait, float(self._prover.relaxation.late.max())),
            "mean_response": self.flow / self.jobs,
            "mean_slowdown": 1.0,
            "bounded_slowdown": 1.0,
            "weighted_response": self.weighted_response,
            "weighted_slowdown": 1.0,
            "energy": self.energy,
            "busy_energy": self.busy_energy,
            "coallocated": float(self.coallocated),
        }
        return known.get(metric, math.nan)

    @property
    def cut(self) -> bool:
        """Return whether the time that solvers had was too short for all that they were asked."""
        return self._prover.cut

    def gap(self, metric: str, value: float) -> float:
        """Return value/bound − 1: by how much the value may at most be improved; NaN where no bound says anything."""
        bound = self.of(metric)
        return value / bound - 1.0 if is_telling(metric, bound) else math.nan

    def front(self, points: int = 9) -> Floats:
        """Return rows (T, E): no schedule with makespan <= T needs less energy than E.

        The first row has the least makespan that is not ruled out, the last the least energy; where the two agree the
        front is one point. E falls and is convex in T.

        Parameters
        ----------
        points
            How many values of T are looked at; each solves a linear program once more.
        """
        whole("front", "points", points, least=1)
        thriftiest = self._prover.energy()
        last = self._prover.thrifty_horizon
        if points == 1 or last <= self.makespan * (1 + 1e-9):
            limits = np.array([self.makespan])
        else:
            limits = np.linspace(self.makespan, last, points)
        for limit in limits.tolist():
            self._prover.energy_within(limit)
        energies = [max(self._prover.energy_within(limit, solve=False), thriftiest) for limit in limits.tolist()]
        return np.column_stack([limits, [rounded_down(energy) for energy in energies]])

    def energy_within(self, makespan: float) -> float:
        """Return the bound on the energy of schedules whose makespan is no more than this; inf where there is none."""
        if makespan < self.makespan:
            return math.inf
        return max(rounded_down(self._prover.energy_within(makespan)), self.energy)

    @property
    def penalty(self) -> float:
        """Return the diagnosis: the share of energy that the least makespan costs above the least energy.

        By bounds alone. Near 0, makespan and energy want the same plan and the front is nearly a point: idle power is
        a large share of busy power. Large where fast nodes are disproportionately hungry.
        """
        return self.energy_within(self.makespan) / self.energy - 1.0 if self.energy > 0 else 0.0

    def __str__(self) -> str:
        assumed = f"; {WATTS_MARK}" if self.watts_assumed else ""
        rows = [
            ("makespan", self.makespan, "s", f"longest job {self.longest_job:,.6g}, area {self.area:,.6g}"),
            ("energy", self.energy, "J", f"+{self.penalty:.1%} at the least makespan{assumed}"),
            ("flow", self.flow, "s", f"mean response {self.flow / self.jobs:,.6g}"),
        ]
        lines = [f"  {name:<9} >= {value:,.6g} {unit}  ({note})" for name, value, unit, note in rows]
        return "\n".join([f"Lower bounds for {counted(self.jobs, 'job')}, by {METHOD_NAMES[self.method]}:", *lines])


METHOD_NAMES = {"lp": "linear program", "lagrangian": "Lagrangian over node classes", "closed": "closed forms"}


def _bounds_of(prover: Prover) -> LowerBounds:
    relaxation = prover.relaxation
    best = prover.makespan()
    prices = [*prover.fixed_prices(), best.multipliers]
    works = []
    for multipliers in prices:
        price = multipliers.area.sum(axis=0)
        spent = float(price @ relaxation.nodes)
        if spent > 0:
            works.append(_work(prover, price / spent))
    response = closed.responses(relaxation, works)
    jobs = relaxation.tasks.size
    # Longest job and area need no allowance of their own: every duration in them is clocked, so they are three ticks a
    # job too low, and one sum of so many numbers rounds by less than one.
    makespan = max(prover.longest_job, prover.area, rounded_down(best.constant, relaxation.t0))
    busy = cheapest_modes(prover.problem, np.tile(relaxation.busy_watts, (prover.problem.levels.size, 1)),
                          np.zeros(jobs))[0].sum()  # fmt: skip
    return LowerBounds(
        makespan=makespan,
        energy=rounded_down(prover.energy()),
        flow=rounded_down(response.flow, jobs * relaxation.t0),
        mean_wait=rounded_down(response.wait / jobs, relaxation.t0),
        weighted_response=rounded_down(response.weighted / float(relaxation.tasks.sum()), relaxation.t0),
        busy_energy=rounded_down(float(busy)),
        coallocated=int((~relaxation.single).sum()),
        longest_job=prover.longest_job,
        area=prover.area,
        jobs=jobs,
        method=prover.method,
        _prover=prover,
    )


def _work(prover: Prover, price: Floats) -> Floats:
    """Return what each job takes at least of a machine of rate 1 whose nodes have these prices, together 1."""
    levels = prover.problem.levels.size
    return cheapest_modes(prover.problem, np.tile(price, (levels, 1)), np.zeros(prover.relaxation.tasks.size))[0]
