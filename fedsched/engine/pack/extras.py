"""Packing of the optional features: the arrays of jobs and machine beyond the plain model.

`PACKINGS` is the list of them. Nothing else has to know which there are: a feature that is not in it has no arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.engine.arrays.read_only import floats, ints
from fedsched.engine.arrays.structs import Calendar, Extras, Limits, Pools, Precedence
from fedsched.engine.codes import OnRunning
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.loop.feature_flags import MORE
from fedsched.engine.numbers import Awaits
from fedsched.engine.optional_features import downtimes
from fedsched.engine.optional_features.cancellations import Cancellations
from fedsched.engine.optional_features.holds import Holds
from fedsched.engine.optional_features.moldable import Moldable
from fedsched.engine.optional_features.power_caps import PowerCaps
from fedsched.engine.optional_features.reservation_queues import ReservationMembers
from fedsched.engine.pack.choices import Possible, possible_shapes, refuse_open_sizes
from fedsched.engine.pack.limit_classes import limits_of, of_present_shapes
from fedsched.engine.pack.power_cap_arrays import power_caps_of, power_caps_of_jobs
from fedsched.engine.placement.tasks_per_node import TasksPerNode, rows_of
from fedsched.model.constraints.dependencies import NO_EDGES, Edges, ends_of, ends_of_shapes, open_ends
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.admission import tiers_of_jobs
from fedsched.model.jobs.demands import pool_amounts, pool_needs
from fedsched.model.jobs.layout import layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import uneven_fits
from fedsched.model.machine.counters import counters_of
from fedsched.model.power.switching import is_switching
from fedsched.model.schedule.node_stack import NodeStacks, Saving, as_begun, new_stacks
from fedsched.model.schedule.off_spans import saving_of
from fedsched.model.time.downtimes import closures_of
from fedsched.model.time.reservations import earliest_starts, in_reservations, reservation_of_jobs, reservations_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.time.downtimes import Closures

# The engine's codes, indexed by `Kind` and `End` (model/constraints/dependencies.py).
AWAITS = np.array([Awaits.START, Awaits.END, Awaits.END_WELL, Awaits.END_BADLY, Awaits.END])
ENDS = np.array([Awaits.END_WELL, Awaits.END_BADLY, Awaits.NOTHING])


@dataclass(frozen=True)
class Run:
    """What features are packed from: the jobs, the machine, and how they are read."""

    workload: Workload
    federation: Federation
    edges: Edges | None
    reading: Reading
    t0: float
    arrival: Ints  # the rows of jobs that wait for their submits, in that order
    possible: Possible | None  # the shapes of which jobs choose one as they join the queue

    @cached_property
    def limits_of_shapes(self) -> Limits | None:
        """The limits of the possible shapes, each as a job of its own; None without either."""
        if self.possible is None:
            return None
        return limits_of(counters_of(self.possible.each, self.federation), self.possible.each.tasks)


class PlannedJobs(NamedTuple):
    """What a plan of some jobs knows in the midst of a run: each of them is eligible or runs at t0."""

    rows: Ints
    t0: float
    stacks: NodeStacks | None  # nodes without jobs at t0, if some of them may be off


class Packing(NamedTuple):
    """How an optional feature is packed: how its field of `Extras` is made."""

    pack: Callable[[Run], Any]  # its arrays, or None if a run does not use it
    entries: Callable[[Any], Ints | Floats]  # an array of these that is empty if and only if it is not in use
    nothing: Any  # its arrays if it is not in use
    of_plan: Callable[[Any, PlannedJobs], Any] | None = None  # what a plan of some jobs knows of it; None: nothing
    more: bool = True  # kernels without `Extras.more` leave it out


def nothing_of(kind: type[Any], *tables: str, **others: Any) -> Any:
    """Return the arrays of a feature that is not in use: empty, with two dimensions if in `tables`; and `others`."""
    arrays = {
        name: (floats if "Floats" in str(type_) else ints)(np.zeros((0, 0) if name in tables else 0))
        for name, type_ in kind.__annotations__.items()
        if name not in others
    }
    return kind(**arrays, **others)


def _pools(run: Run) -> Pools:
    need = pool_needs(run.workload, run.federation)
    if not need.any():
        return Pools(ints(np.zeros(0)), ints(need[:, :0]))
    return Pools(ints(pool_amounts(run.workload, run.federation)), ints(need))


def _precedence(run: Run) -> Precedence | None:
    edges = NO_EDGES if run.edges is None else run.edges
    earliest = earliest_starts(run.workload, run.federation)
    if not edges.job.size and earliest is None:
        return None
    jobs = len(run.workload)
    by_on = np.argsort(edges.on, kind="stable")
    follows = followers_of(run.workload)[0].size
    return Precedence(
        earliest=floats(np.zeros(jobs) if earliest is None else earliest),
        conditions=ints(1 + np.bincount(edges.job, minlength=jobs)),
        first=ints(np.searchsorted(edges.on[by_on], np.arange(jobs + 1))),
        follower=ints(edges.job[by_on]),
        awaits=ints(AWAITS[edges.kind[by_on]]),
        lag=floats(edges.lag[by_on]),
        moves=ints((np.arange(edges.job.size) >= edges.job.size - follows)[by_on]),
        end=ints(ENDS[ends_of(run.workload, run.reading)]),
    )


def _calendar(run: Run) -> Calendar | None:
    every = closures_of(run.federation)
    nodes = np.array([group.count for group in run.federation.groups], dtype=np.int64)
    return calendar_of(every.take(every.end > run.t0), nodes, run.t0) if every.end.size else None


def calendar_of(closures: Closures, nodes: Ints, t0: float) -> Calendar:
    """Return the arrays of closures for a run from `t0` on; all closures given have to end after t0.

    `nodes` is the number of nodes of each group.
    """
    begins, ends = closures.begin, closures.end
    number = np.arange(begins.size)
    ending = number[np.isfinite(ends)]
    changes = np.concatenate([2 * ending + 1, 2 * number])  # nodes are opened before others are closed
    times = np.concatenate([ends[ending], begins])
    learned = np.argsort(closures.known_from, kind="stable")
    lookout = np.unique(begins)
    known = closures.known_from <= t0
    left = np.zeros((lookout.size + 1, nodes.size), dtype=np.int64)
    for times_of, sign in ((begins, -1), (closures.planned_end, 1)):
        rows = np.searchsorted(lookout, times_of[known])
        np.add.at(left, (rows, closures.group[known]), sign * closures.nodes[known])
    return Calendar(
        group=ints(closures.group),
        nodes=ints(closures.nodes),
        begin=floats(begins),
        end=floats(ends),
        known_from=floats(closures.known_from),
        planned_end=floats(closures.planned_end),
        change=ints(changes[np.argsort(times, kind="stable")]),
        learned=ints(learned),
        lookout=floats(lookout),
        left=ints(nodes + np.cumsum(left, axis=0)[:-1]),
        known=ints([known.sum()]),
        on_running=ints(closures.on_running),
        victims=ints(closures.victims),
        seed=ints(closures.seed),
        number=ints(closures.number),
        reservation=ints(closures.reservation),
    )


def _limits(run: Run) -> Limits | None:
    limits = limits_of(counters_of(run.workload, run.federation), run.workload.tasks)
    if limits is None or run.possible is None or run.limits_of_shapes is None:
        return limits
    return of_present_shapes(run.limits_of_shapes, run.possible.first[:-1], limits.tasks)


def _reserved(run: Run) -> ReservationMembers | None:
    if not in_reservations(run.workload, run.federation).any():
        return None
    of_job, reservations = reservation_of_jobs(run.workload, run.federation), reservations_of(run.federation)
    jobs = np.bincount(of_job[of_job >= 0], minlength=len(reservations))
    return ReservationMembers(ints(of_job), ints([0, *np.cumsum(jobs)]), floats([one.end for one in reservations]))


def _cancellations(run: Run) -> Cancellations | None:
    if run.workload.cancel_at is None:
        return None
    time = run.workload.cancel_at.times
    jobs = run.arrival[np.isfinite(time[run.arrival])]
    jobs = jobs[np.argsort(time[jobs], kind="stable")]
    place = np.full(len(run.workload), -1)
    place[jobs] = np.arange(jobs.size)
    return Cancellations(time=floats(time[jobs]), job=ints(jobs), place=ints(place))


def _holds(run: Run) -> Holds | None:
    held = run.workload.held
    if held is None:
        return None
    order = np.argsort(held.begin, kind="stable")
    return Holds(ints(held.first), floats(held.begin), floats(held.end), ints(order), ints(held.owner))


def shapes_at_submit(workload: Workload, federation: Federation, reading: Reading) -> Possible | None:
    """Return the shapes of which jobs choose one as they join the queue; None if none chooses."""
    if not reading.chooses_late(workload):
        return None
    refuse_open_sizes("alternatives='earliest_finish'", workload, federation)
    return possible_shapes(workload, federation)


def _moldable(run: Run) -> Moldable | None:
    if run.possible is None:
        return None
    workload, possible, none = run.workload, run.possible, ints(np.zeros(0))
    each, first, per_node = possible.each, possible.first, _tasks_per_node(possible.each, run.federation)
    kind = none if run.limits_of_shapes is None else run.limits_of_shapes.kind
    by_kind = kind.size > 0 and bool((kind != kind[first[:-1]][possible.owner]).any())
    by_end = workload.after is not None and bool(open_ends(workload, each, possible.owner, run.reading).any())
    return Moldable(
        first=ints(first),
        which=ints(possible.which),
        tasks=ints(each.tasks),
        runtime=floats(run.reading.runtime(each)),
        estimate=floats(run.reading.planned(each)),
        on_nodes=none if per_node is None else per_node.tasks,
        kind=kind if by_kind else none,
        end=ints(ENDS[ends_of_shapes(workload, each, possible.owner, run.reading)]) if by_end else none,
    )


def _tiers(run: Run) -> Ints | None:
    tiers = tiers_of_jobs(run.workload, run.federation)
    return ints(tiers) if tiers.size else None


def _saving(run: Run) -> Saving | None:
    if not is_switching(run.federation.power):
        return None
    refuse("boots", Use(run.workload, run.federation, run.reading))
    return saving_of(run.federation)


def _tasks_per_node(workload: Workload, federation: Federation) -> TasksPerNode | None:
    tasks, (uneven, fits) = tasks_on_nodes(workload), uneven_fits(workload, federation)
    counted = (tasks > 0) & (workload.task_bandwidth > 0) & (len(federation.clusters) > 1)
    if not counted.any() and not uneven.size:
        return None
    nothing = NO_TASKS_PER_NODE
    each = ints(np.where(counted, layout_of(workload)[0], 0))
    if not uneven.size:
        return TasksPerNode(each, ints(tasks), nothing.row, nothing.fits)
    rows, row_of = np.unique(fits, axis=0, return_inverse=True)
    row = np.full(len(workload), -1)
    row[uneven] = row_of.reshape(-1)
    return TasksPerNode(each, ints(tasks), ints(row), ints(rows))


def _that_only_close(calendar: Calendar, plan: PlannedJobs) -> Calendar:
    reservation = np.full(calendar.begin.size, downtimes.NO_RESERVATION)
    if plan.stacks is not None:
        reservation[calendar.reservation >= 0] = downtimes.KEPT
    waits = np.full(reservation.size, OnRunning.WAIT)
    return calendar._replace(on_running=ints(waits), reservation=ints(reservation))


def _begun(saving: Saving, plan: PlannedJobs) -> Saving:
    return saving if plan.stacks is None else saving._replace(begun=as_begun(plan.stacks))


NO_TASKS_PER_NODE = nothing_of(TasksPerNode, "fits")

# By field of Extras. A plan of some jobs, each eligible or running at its begin, ignores what has no `of_plan`: the run
# deals with dependencies, reservations, lost runs, limits, cancellations and holds as they occur.
PACKINGS = {
    "pools": Packing(
        _pools, lambda pools: pools.amount, nothing_of(Pools, "need"),
        lambda pools, plan: pools._replace(need=ints(pools.need[plan.rows])),
    ),
    "precedence": Packing(_precedence, lambda precedence: precedence.conditions, nothing_of(Precedence)),
    "calendar": Packing(
        _calendar, lambda calendar: calendar.begin,
        nothing_of(Calendar, "left", known=ints([0])), _that_only_close, more=False,
    ),
    "limits": Packing(_limits, lambda limits: limits.amount, nothing_of(Limits, "of_node")),
    "reserved": Packing(
        _reserved, lambda reserved: reserved.of_job, nothing_of(ReservationMembers, first=ints([0]))
    ),
    "cancellations": Packing(_cancellations, lambda cancellations: cancellations.job, nothing_of(Cancellations)),
    "holds": Packing(_holds, lambda holds: holds.first, nothing_of(Holds)),
    "moldable": Packing(_moldable, lambda moldable: moldable.which, nothing_of(Moldable)),
    "tier": Packing(_tiers, lambda tier: tier, ints(np.zeros(0)), lambda tier, plan: ints(tier[plan.rows]), more=False),
    "saving": Packing(
        _saving, lambda saving: saving.timeout,
        nothing_of(Saving, less=floats(np.zeros((0, 3))), begun=as_begun(new_stacks(0, 0, 0, paced=False))), _begun,
    ),
    "ceilings": Packing(
        lambda run: power_caps_of(run.workload, run.federation, run.t0),
        lambda caps: caps.period, nothing_of(PowerCaps, "covers", "need", first=ints([0])),
        lambda caps, plan: power_caps_of_jobs(caps, plan.rows, plan.t0),
    ),
    "standing": Packing(
        lambda run: _tasks_per_node(run.workload, run.federation),
        lambda standing: standing.each, NO_TASKS_PER_NODE,
        lambda standing, plan: rows_of(standing, plan.rows), more=False,
    ),
}  # fmt: skip


def _extras(parts: dict[str, Any]) -> Extras | None:
    """Return the extras from the arrays of features by field; None, for plain kernels, if no feature is in use.

    A feature that is left out, or is None, is not in use.
    """
    arrays = {name: packing.nothing for name, packing in PACKINGS.items()}
    arrays |= {name: part for name, part in parts.items() if part is not None}
    used = [packing for name, packing in PACKINGS.items() if packing.entries(arrays[name]).size]
    return Extras(**arrays, more=MORE if any(one.more for one in used) else None) if used else None


def packed_extras(run: Run) -> Extras | None:
    """Return the features that a run uses, beyond the plain model."""
    return _extras({name: packing.pack(run) for name, packing in PACKINGS.items()})


def extras_of_jobs(problem: Problem, state: State, jobs: Ints, t0: float) -> Extras | None:
    """Return the features for a plan of only the given jobs from `t0` on; each of them is eligible or runs at t0.

    Nodes without jobs are on, off or boot as in `state`.
    """
    if problem.extras is None:
        return None
    stacks = None if state.extras is None or not problem.extras.saving.timeout.size else state.extras.powered.stacks
    parts = {
        name: packing.of_plan(part, PlannedJobs(jobs, t0, stacks))
        for name, packing in PACKINGS.items()
        if packing.of_plan is not None and packing.entries(part := getattr(problem.extras, name)).size
    }
    return _extras(parts)


def going_on_from(problem: Problem, idle: NodeStacks | None) -> Problem:
    """Return the problem of a run that begins with these nodes without jobs on, off or booting; None: all are on."""
    if problem.extras is None or idle is None:
        return problem
    return problem._replace(extras=problem.extras._replace(saving=problem.extras.saving._replace(begun=idle)))
