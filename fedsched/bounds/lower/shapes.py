"""Lower bounds for jobs with several shapes, valid for plans that give each job any of them.

Take any schedule. Let each job keep its start, as many of its nodes as its narrowest shape has, and the run time of its
shortest shape. Nothing begins later or gets longer. A bound for these least jobs holds for all choices. If narrow
shapes are long, areas give better bounds: a job takes at least the least area of its shapes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.dual import BoundProblem, cheapest_modes
from fedsched.bounds.cost.prover import class_prices
from fedsched.bounds.lower.longest_paths import sure_starts
from fedsched.bounds.lower.relaxation import Relaxation, relax, release_levels, rounded_down, suffix_bounds
from fedsched.bounds.lower.time_grid import NO_DELAYS
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.pack.choices import possible_shapes
from fedsched.engine.pack.power_cap_arrays import refuse_jobs_over_caps
from fedsched.engine.pack.problem import pack
from fedsched.model.constraints.dependencies import ending_as, ends_of
from fedsched.model.jobs.alternatives import may_change_gear
from fedsched.model.jobs.layout import own_tasks, with_task_counts
from fedsched.model.power.power_cap import without_caps
from fedsched.model.power.watts import watts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Floats, Ints
    from fedsched.bounds.lower.time_grid import StartDelays
    from fedsched.engine.arrays.structs import Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading

# Slowdowns fall with longer runs, and weights by tasks depend on the shapes: nothing is proven for these.
UNPROVEN = frozenset(("mean_slowdown", "bounded_slowdown", "weighted_slowdown", "weighted_response"))
PARTS = 9  # shares of the idle power that are tried


class LeastShapes:
    """The jobs with several possible shapes, as bounds use them.

    `least` is the workload of least jobs: each has the fewest tasks and the shortest run time of its shapes.
    """

    def __init__(
        self, workload: Workload, federation: Federation, reading: Reading, caps: NDArray[np.int64] | None = None,
        *, t0: float | None = None, delays: StartDelays = NO_DELAYS,
    ) -> None:  # fmt: skip
        refuse("bounds of shapes", Use(workload, federation, reading))
        self._possible = possible = possible_shapes(workload, federation, caps, reading=reading, t0=t0)
        settled = possible.first[:-1][np.diff(possible.first) == 1]
        origin = float(workload.submit.min()) if t0 is None else t0
        refuse_jobs_over_caps(
            replace(possible.each.take(settled), id=workload.id[possible.owner[settled]]), federation, origin
        )
        each, begin = possible.each, possible.first[:-1]
        runtime = reading.runtime(each)
        # Compute time and the rest are no less than in the shapes where each is least.
        work, rest = runtime * each.compute_fraction, runtime * (1.0 - each.compute_fraction)
        work, rest, least = (np.minimum.reduceat(times, begin) for times in (work, rest, runtime))
        fastest = min(1.0, 1.0 / max(group.speed for group in federation.groups))
        rest = np.where(work + rest > 0.0, rest, least * fastest)  # one shape may only compute, another not at all
        in_gears = may_change_gear(workload)
        least_jobs = replace(  # no kill makes it shorter than the least of what kills leave
            workload,
            tasks=np.minimum.reduceat(each.tasks, begin),
            runtime=work + rest if in_gears else least,
            estimate=np.minimum.reduceat(each.estimate, begin),
            compute_fraction=work / (work + rest) if in_gears else workload.compute_fraction,
            layout=with_task_counts(workload.layout, np.minimum.reduceat(own_tasks(each), begin), workload.id),
            alternatives=None,
            gear=None,
        )
        self.least = ending_as(least_jobs, ends_of(workload, reading))
        watts = watts_of(each, federation.groups)
        self._watts = np.minimum.reduceat(watts, begin) if watts.size else watts
        self._federation, self._reading, self._delays = without_caps(federation), reading, delays

    def drawing(self, problem: Problem) -> Problem:
        """Return the problem of the least jobs with the watts replaced: each job draws the least of its shapes."""
        return problem._replace(watts=self._watts)

    def areas(self, least: Relaxation, started: Ints) -> Areas:
        """Return the Areas of all shapes, which raise the bounds of `least`, the relaxation of the least jobs.

        `started` are the rows of those jobs that start in every schedule.
        """
        each, begin = self.every(least, started)
        return Areas(each.clocked(), least, begin)

    def every(self, least: Relaxation, started: Ints, *, separate: bool = False) -> tuple[Relaxation, Ints]:
        """Return the relaxation of all shapes of the jobs `started`, and the first row of each job in it.

        With `separate`, groups that some shape may not use freely are node classes of their own.
        """
        each, owner, _, table, row_of = self._possible
        problem = pack(each, self._federation, reading=self._reading, t0=least.t0)
        planned = np.minimum(each.estimate, self._reading.runtime(each))
        runtime = self._reading.planned(each)
        relaxation = relax(
            problem, (table, row_of), each.id, runtime=runtime, planned=planned, separate=separate,
            delays=self._delays,
        )  # fmt: skip
        owner = owner[sure_starts(problem)]
        place = np.searchsorted(started, owner)  # the row of each shape's job among the least jobs
        rows = np.flatnonzero(np.isin(owner, started))
        of_those, place = relaxation.take(rows), place[rows]
        begin = np.flatnonzero(np.diff(place, prepend=-1))
        return replace(of_those, release=least.release[place]), begin


class Areas:
    """The jobs' least node time and energy, each in the shape in which it is least: bounds for any choice of shapes."""

    def __init__(self, relaxation: Relaxation, least: Relaxation, begin: Ints) -> None:
        self._relaxation, self._least, self._begin = relaxation, least, begin

    def _taken(self, problem: BoundProblem, price: Floats) -> float:
        nothing = np.zeros(self._relaxation.tasks.size)
        cost = cheapest_modes(problem, price, nothing)[0]
        return float(np.minimum.reduceat(cost, self._begin).sum())

    def _problem(self) -> BoundProblem:
        relaxation = self._relaxation
        nothing = np.zeros((0, relaxation.tasks.size))
        return BoundProblem(relaxation, release_levels(relaxation), nothing, 1.0, np.zeros(relaxation.nodes.size))

    def area(self) -> float:
        """Return the bound on the makespan in seconds by areas: with all nodes alike, or each weighted by its speed."""
        relaxation, problem = self._relaxation, self._problem()
        capacity = relaxation.nodes.astype(np.float64)
        best = 0.0
        for prices in class_prices(relaxation, problem.levels.size):
            constant = self._taken(problem, prices.cumsum(axis=0)) + float((prices @ capacity) @ problem.levels)
            best = max(best, constant)
        shortest = np.minimum.reduceat(relaxation.tasks * relaxation.shortest, self._begin)
        plain = suffix_bounds(self._least.release, shortest, relaxation.total_nodes)[1].max()
        return rounded_down(max(best, float(plain)), relaxation.t0)

    def busy_energy(self) -> float:
        """Return a lower bound on the energy of busy nodes in joules."""
        return self._joules(self._relaxation.busy_watts)

    def energy(self, makespan: float) -> float:
        """Return a lower bound on the energy in joules of all nodes in a schedule of at least this makespan (seconds).

        Jobs in slower, thriftier shapes keep nodes on for longer. No node has more time than the makespan, so a
        part of the idle power may be charged to the jobs, for their run times.
        """
        relaxation, best = self._relaxation, 0.0
        each = relaxation.idle_total / relaxation.total_nodes
        for part in np.linspace(0.0, 1.0, PARTS):
            rest = rounded_down((1.0 - part) * makespan * relaxation.idle_total)
            best = max(best, rest + self._joules(relaxation.extra_watts + part * each))
        return best

    def _joules(self, watts: Floats) -> float:
        # The jobs' least energy if each class of nodes draws these watts, and more with some jobs.
        relaxation = self._relaxation
        drawn = np.tile(watts, (relaxation.tasks.size, 1))
        drawn += relaxation.more_watts if relaxation.more_watts.size else 0.0
        cost = np.full(relaxation.tasks.size, np.inf)
        for v in range(relaxation.slowdown.size):  # each on its thriftiest nodes of at least that speed
            rows, fast = np.flatnonzero(relaxation.usable[:, v]), relaxation.class_slowdown <= v
            price, caps = drawn[rows][:, fast], relaxation.caps[rows][:, fast]
            order = np.argsort(price, axis=1, kind="stable")
            room = np.take_along_axis(caps, order, axis=1).cumsum(axis=1)
            taken = np.diff(np.minimum(room, relaxation.tasks[rows, None]), axis=1, prepend=0)
            joules = relaxation.duration[rows, v] * (taken * np.take_along_axis(price, order, axis=1)).sum(axis=1)
            cost[rows] = np.minimum(cost[rows], joules)
        return rounded_down(float(np.minimum.reduceat(cost, self._begin).sum()))
