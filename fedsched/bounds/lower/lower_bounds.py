"""lower_bounds(): values that no schedule of these jobs can undercut, proven without trust in a solver's numbers."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.charges import CHARGES, is_useful
from fedsched.bounds.cost.dual import cheapest_modes
from fedsched.bounds.cost.hours import least_costs
from fedsched.bounds.cost.prover import Prover
from fedsched.bounds.lower.longest_paths import sure_starts
from fedsched.bounds.lower.relaxation import Relaxation, relax, rounded_down
from fedsched.bounds.lower.shapes import UNPROVEN, LeastShapes
from fedsched.bounds.lower.small_problems import WITHOUT_SOLVER
from fedsched.bounds.lower.time_grid import start_delays_of
from fedsched.core.errors import TraceError, unknown_name
from fedsched.core.text import counted
from fedsched.core.values import origin, whole
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack
from fedsched.io.arguments import nouns_of
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.assumed import WATTS_MARK
from fedsched.model.jobs.shaping import with_chosen_shapes
from fedsched.model.jobs.transformations import with_submits
from fedsched.model.power.power_cap import without_caps
from fedsched.model.power.switching import with_least_idle_watts
from fedsched.model.reading import CLAIRVOYANT, Reading, in_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Floats, Ints
    from fedsched.bounds.lower.shapes import Areas
    from fedsched.core.names import Alternatives, Knowledge, Submits
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.machine.federation import Federation

METHODS = ("auto", "lp", "lagrangian", "closed")
MEANS = (  # a different number of jobs may make them smaller
    *("mean_wait", "mean_wait_eligible", "mean_response"),
    *("mean_slowdown", "bounded_slowdown", "weighted_response", "weighted_slowdown"),
)
FROM_SUBMITS = (*MEANS, "flow", "max_wait")
LP_JOBS = 1000  # with more, `auto` takes the Lagrangian over classes


def lower_bounds(
    workload: AnyJobs,
    federation: AnyMachine,
    *,
    submits: Submits = "keep",
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: Knowledge | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: Alternatives | None = None,
    caps: NDArray[np.int64] | None = None,
    method: str = "auto",
    seconds: float | None = None,
    deadline: float | None = None,
) -> LowerBounds:
    """Return lower bounds on every schedule of a workload on a federation, under any rule and with co-allocation.

    Parameters
    ----------
    workload, federation
        The jobs, and the machine, given as to `simulate`.
    submits
        "keep": jobs arrive at their submit times. "now": all jobs wait from the start, as in `optimize` and `compare`.
    t0
        The origin of time: no job starts before it. By default the earliest submit.
    reading
        The reading of a schedule or search: its knowledge and kills determine the run times used here.
    knowledge
        "runtime" by default: bounds on real values. "estimate": bounds on the values if every job took its requested
        time.
    kill_at_estimate
        A job runs min(runtime, estimate).
    alternatives
        For jobs with several shapes: "fixed" (the default) uses the recorded ones, "smallest_area" those of the least
        tasks × planned time; with "free" and "earliest_finish" bounds hold for any choice.
    caps
        Jobs × groups: the number of nodes of each group that a job may use.
    method
        "lp": the linear program. "lagrangian": only its multipliers of classes, for thousands of jobs. "closed": closed
        forms only. "auto": the LP up to 1000 jobs, then the Lagrangian; and CP-SAT's bound on the makespan up to 50
        jobs, if OR-tools is installed (extra `exact`).
    seconds
        Seconds for solvers in all, including those for a front's points and for metrics asked for later. Once they are
        used up, closed forms are used. By default there is no limit.
    deadline
        The time by which all jobs end, for the bounds on cost and carbon; by default none.

    Examples
    --------
    >>> bounds = fs.bounds.lower_bounds(fs.read("sample").head(50), fs.read_federation("example"))
    >>> round(bounds.makespan), round(bounds.energy / 3.6e6)
    (70534, 482)
    """
    workload, federation = nouns_of("lower_bounds", workload, federation, second="federation")
    reading = reading.but(knowledge=knowledge, kill_at_estimate=kill_at_estimate, alternatives=alternatives).settled(
        "lower_bounds"
    )
    if method not in METHODS:
        raise unknown_name("method of bounds", method, METHODS)
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to bound.")
    t0 = origin("lower_bounds", t0)
    workload = with_submits("lower_bounds", workload, submits, t0, some_run=False)
    told = in_words(submits, reading)
    delays = start_delays_of(workload, federation, -math.inf if t0 is None else t0)
    federation = with_least_idle_watts(federation)
    workload = count_in_nodes(with_default_times(workload, federation), federation)
    if reading.leaves_open(workload):
        shapes = LeastShapes(workload, federation, reading, caps, t0=t0, delays=delays)
        federation = without_caps(federation)  # which shapes they leave is known
        workload, reading = shapes.least, reading.but(alternatives="fixed")
    else:
        shapes, workload = None, with_chosen_shapes(workload, federation, reading)
    problem = pack(workload, federation, reading=reading, t0=t0)
    problem = problem if shapes is None else shapes.drawing(problem)
    planned = np.minimum(workload.estimate, reading.runtime(workload))  # the least run times of any plan
    limits = caps_table(workload, federation, caps)
    runs = reading.planned(workload)
    keeps_plans = shapes is None and bool((planned >= runs).all())
    relaxation = relax(
        problem, limits, workload.id, runtime=runs, planned=planned, keeps_plans=keeps_plans, delays=delays
    )
    found = bounds_of_relaxation(relaxation, method=method, seconds=seconds)
    if shapes is not None:
        found = found.with_areas(shapes.areas(relaxation, sure_starts(problem)))
    if federation.signals:
        first = None
        if shapes is None:
            own = relax(problem, limits, workload.id, runtime=runs, planned=planned, separate=True, delays=delays)
        else:
            own, first = shapes.every(relaxation, sure_starts(problem), separate=True)
        latest = math.inf if deadline is None else deadline - relaxation.t0
        found = found.with_costs(federation, own, shapes=first, latest=latest, seconds=seconds)
    return replace(found, watts_assumed=federation.watts_assumed, reading=told)


def bounds_of_relaxation(relaxation: Relaxation, *, method: str = "auto", seconds: float | None = None) -> LowerBounds:
    """Return the bounds that a relaxation proves, on values as a clock measures them.

    `method` and `seconds` are those of `lower_bounds`.
    """
    unclocked = relaxation if method == "auto" else None
    if method == "auto":
        method = "lp" if relaxation.tasks.size <= LP_JOBS else "lagrangian"
    return _bounds_of(Prover(relaxation.clocked(), method, math.inf if seconds is None else seconds, unclocked))


@dataclass(frozen=True, slots=True, eq=False)
class LowerBounds:
    """Lower bounds on the metrics of all schedules of one problem.

    Bounds on sums over jobs (responses, waits, slowdowns) are computed when first asked for, and then stored.

    Parameters
    ----------
    makespan, energy, busy_energy
        The best bounds, in seconds and joules, as in the metric columns.
    coallocated
        The bound on the number of co-allocated jobs.
    longest_job, area
        The closed forms of the bound on the makespan.
    jobs
        The number of jobs.
    method
        How the bounds were computed, as in `lower_bounds`.
    watts_assumed
        Whether energies are computed from assumed watts.
    free
        Whether they hold for any choice of the jobs' alternatives.
    costs
        The bounds on costs by signals, if there are any.
    reading
        In words: when jobs arrive and what is known of them.

    Examples
    --------
    >>> bounds = fs.bounds.lower_bounds(fs.read("sample").head(50), fs.read_federation("example"))
    >>> round(bounds.gap("makespan", 1.1 * bounds.makespan), 3)
    0.1
    >>> bounds.front(points=3).shape
    (3, 2)
    """

    makespan: float
    energy: float
    busy_energy: float
    coallocated: int
    longest_job: float
    area: float
    jobs: int
    method: str
    _prover: Prover = field(repr=False)
    watts_assumed: bool = False
    free: bool = False  # whether they hold for any choice of the jobs' alternatives
    costs: Mapping[str, float] = field(default_factory=dict)  # by signals, if there are any
    reading: str = ""  # in words: when jobs arrive and what is known

    def __getitem__(self, metric: str) -> float:
        """Return the bound on a metric by its name: see `of`."""
        return self.of(metric)

    def of(self, metric: str) -> float:
        """Return the bound on a metric by its name; NaN if none is known.

        Raise an error for a name that is no metric.
        """
        from fedsched.model.schedule.metrics import NAMES

        if metric not in NAMES:
            raise unknown_name("metric", metric, NAMES)
        if metric in self.unproven or (self.free and metric in UNPROVEN):
            return math.nan
        if metric in CHARGES:
            return self._prover.of_starts(metric)
        if metric == "mean_response":
            return self.flow / self.jobs
        if metric == "max_wait":
            return float(np.fmax(self.mean_wait, self._prover.longest_wait))
        if metric == "mean_wait_eligible":
            return 0.0 if self._prover.relaxation.some_wait_for_more else self.mean_wait
        known: dict[str, float] = {
            "makespan": self.makespan,
            "energy": self.energy,
            "busy_energy": self.busy_energy,
            "coallocated": float(self.coallocated),
            **self.costs,
        }
        return known.get(metric, math.nan)

    @property
    def unproven(self) -> tuple[str, ...]:
        """Return the names of the metrics for which nothing is proven.

        These are means, if some jobs may be cancelled or are in a reservation, and everything measured from
        submits, if submits depend on the schedule.
        """
        relaxation = self._prover.relaxation
        return FROM_SUBMITS if relaxation.submits_move else MEANS if relaxation.some_may_go else ()

    @property
    def flow(self) -> float:
        """Return the bound on Σ(finish − submit) in seconds; NaN if nothing is proven of it."""
        return math.nan if "flow" in self.unproven else self._prover.of_starts("flow")

    @property
    def mean_wait(self) -> float:
        """Return the bound on the mean of start − submit in seconds; NaN if nothing is proven of it."""
        return math.nan if "mean_wait" in self.unproven else self._prover.of_starts("mean_wait")

    @property
    def weighted_response(self) -> float:
        """Return the bound on the mean response weighted by tasks, in seconds; NaN if nothing is proven of it."""
        unproven = self.free or "weighted_response" in self.unproven
        return math.nan if unproven else self._prover.of_starts("weighted_response")

    @property
    def cut(self) -> bool:
        """Return whether a solver had to stop for lack of time, so that some bound may be weaker."""
        return self._prover.cut

    @property
    def solver_missing(self) -> bool:
        """Return whether CP-SAT may have proven a higher makespan, but is not installed (extra `exact`)."""
        return self._prover.solver_missing

    def with_areas(self, areas: Areas) -> LowerBounds:
        """Return these bounds, made for the least shapes of jobs, raised by areas that hold for any shapes."""
        area = areas.area()
        makespan = max(self.makespan, area)
        return replace(
            self,
            makespan=makespan,
            area=max(self.area, area),
            energy=max(self.energy, areas.energy(makespan)),
            busy_energy=max(self.busy_energy, areas.busy_energy()),
            free=True,
        )

    def with_costs(
        self,
        federation: Federation,
        relaxation: Relaxation,
        *,
        shapes: Ints | None = None,
        latest: float,
        seconds: float | None,
    ) -> LowerBounds:
        """Return the bounds with those on costs by signals, for schedules with a makespan up to `latest`.

        If the relaxation's rows are shapes of jobs, `shapes` has the first row of each job.

        Parameters
        ----------
        federation, relaxation
            The machine, and the relaxation of the problem.
        shapes
            The shapes that jobs may choose.
        latest
            The latest makespan of the schedules.
        seconds
            The solvers' time; None: no limit.
        """
        until = math.inf if seconds is None else time.perf_counter() + seconds
        costs = least_costs(
            federation, relaxation.clocked(), self.makespan, shapes=shapes, latest=latest,
            closed=self.method == "closed", until=until,
        )  # fmt: skip
        return replace(self, costs=costs)

    def gap(self, metric: str, value: float) -> float:
        """Return value/bound − 1: the most by which the value can be improved; NaN if there is no useful bound.

        Parameters
        ----------
        metric
            The metric's name.
        value
            A value of that metric.
        """
        bound = self.of(metric)
        return value / bound - 1.0 if is_useful(metric, bound) else math.nan

    def front(self, points: int = 9) -> Floats:
        """Return rows (T, E): no schedule with makespan <= T needs less energy than E.

        The first row has the least makespan that is not ruled out, the last the least energy; if the two agree,
        the front is one point. E falls and is convex in T.

        Parameters
        ----------
        points
            The number of values of T; each needs one more linear program.
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
        """Return the bound on the energy (J) of schedules with at most this makespan (s); inf if there are none."""
        if makespan < self.makespan:
            return math.inf
        return max(rounded_down(self._prover.energy_within(makespan)), self.energy)

    @property
    def penalty(self) -> float:
        """Return an estimate of how much more energy the least makespan takes than the least energy, as a share.

        It is the ratio of two bounds, so it proves nothing: the ratio of the true values may be less or more. Near 0,
        the same plan is best for makespan and energy, and the front is nearly a point. Idle power is then a large share
        of busy power. The penalty is large if fast nodes draw disproportionately much.
        """
        return self.energy_within(self.makespan) / self.energy - 1.0 if self.energy > 0 else 0.0

    def __str__(self) -> str:
        assumed = f"; {WATTS_MARK}" if self.watts_assumed else ""
        mean = f"mean response {self.flow / self.jobs:,.6g}"
        mean = f"not proven: {', '.join(self.unproven)}" if self.unproven else mean
        rows = [
            ("makespan", self.makespan, "s", f"longest job {self.longest_job:,.6g}, area {self.area:,.6g}"),
            ("energy", self.energy, "J", f"about {self.penalty:.1%} more at the least makespan{assumed}"),
            ("flow", self.flow, "s", mean),
        ]
        hours = f"work in the cheapest hours that have room{assumed}"
        rows += [(name, value, "kg" if name == "carbon" else "", hours) for name, value in self.costs.items()]
        lines = [f"  {name:<9} >= {value:,.6g} {unit}  ({note})" for name, value, unit, note in rows]
        lines += [f"  Reading: {self.reading}."] if self.reading else []
        if self.free:
            lines.append(f"  {FREE_UNPROVEN}")
        if self.solver_missing:
            lines.append(f"  left out: {WITHOUT_SOLVER}")
        return "\n".join([f"Lower bounds for {counted(self.jobs, 'job')}, by {METHOD_NAMES[self.method]}:", *lines])


FREE_UNPROVEN = "slowdowns and the weighted response are not proven with alternatives"
METHOD_NAMES = {"lp": "linear program", "lagrangian": "Lagrangian over node classes", "closed": "closed forms"}


def _bounds_of(prover: Prover) -> LowerBounds:
    relaxation = prover.relaxation
    prover.best_makespan  # noqa: B018 - raises the floor
    jobs = relaxation.tasks.size
    # Longest job and area need no allowance for rounding: every duration in them is clocked, so they are three ticks a
    # job too low, and one sum of that many numbers rounds by less than one.
    makespan = max(prover.longest_job, prover.area, prover.floor)
    busy = cheapest_modes(prover.problem, np.tile(relaxation.busy_watts, (prover.problem.levels.size, 1)),
                          np.zeros(jobs))[0].sum()  # fmt: skip
    return LowerBounds(
        makespan=makespan,
        energy=rounded_down(prover.energy()),
        busy_energy=rounded_down(float(busy)) + relaxation.more_joules,
        coallocated=int((~relaxation.single).sum()),
        longest_job=prover.longest_job,
        area=prover.area,
        jobs=jobs,
        method=prover.method,
        _prover=prover,
    )
