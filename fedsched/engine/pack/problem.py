"""Packing of a workload and a federation into a Problem: the read-only arrays that a run works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import UnknownNameError
from fedsched.engine.arrays.structs import Calendar, Extras, Groups, Pools, Precedence, Problem
from fedsched.engine.codes import OnRunning, SameTime, Saturation
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.loop.feature_flags import as_used
from fedsched.engine.numbers import Awaits
from fedsched.engine.optional_features import downtimes
from fedsched.engine.optional_features.cancellations import Cancellations
from fedsched.engine.optional_features.holds import Holds
from fedsched.engine.optional_features.moldable import Moldable
from fedsched.engine.optional_features.reservation_queues import ReservationMembers
from fedsched.engine.pack.choices import possible_shapes, refuse_open_sizes
from fedsched.engine.pack.limit_classes import limits_of, no_limits
from fedsched.engine.pack.power_cap_arrays import power_caps_of, power_caps_of_jobs
from fedsched.engine.placement.tasks_per_node import TasksPerNode, rows_of
from fedsched.model.constraints.dependencies import NO_EDGES, Edges, edges_of, ends_of, never_start, topological_order
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.admission import tiers_of_jobs
from fedsched.model.jobs.demands import pool_amounts, pool_needs
from fedsched.model.jobs.layout import layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import uneven_fits
from fedsched.model.machine.counters import counters_of
from fedsched.model.power.gears import check_job_gears
from fedsched.model.power.power_cap import is_capped
from fedsched.model.power.switching import is_switching, with_planned_idle_watts
from fedsched.model.power.watts import watts_of
from fedsched.model.schedule.metrics import Measured
from fedsched.model.schedule.node_stack import as_begun
from fedsched.model.schedule.off_spans import saving_of
from fedsched.model.time.downtimes import closures_of, kills
from fedsched.model.time.reservations import earliest_starts, in_reservations, reservation_of_jobs, reservations_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, State
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.node_stack import NodeStacks
    from fedsched.model.time.downtimes import Closures

# The engine's codes, indexed by `Kind` and `End` (model/constraints/dependencies.py).
AWAITS = np.array([Awaits.START, Awaits.END, Awaits.END_WELL, Awaits.END_BADLY, Awaits.END])
ENDS = np.array([Awaits.END_WELL, Awaits.END_BADLY, Awaits.NOTHING])


def _floats(values: ArrayLike) -> Floats:
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


def _ints(values: ArrayLike) -> Ints:
    array = np.array(values, dtype=np.int64, order="C")
    array.setflags(write=False)
    return array


def clusters_of_sites(workload: Workload, federation: Federation) -> Ints:
    """Return the cluster index of each of the workload's sites; raise an error if a site has no cluster."""
    return _ints(federation.clusters_of_sites(workload.sites))


def _home_clusters(workload: Workload, federation: Federation) -> Ints:
    # Sites without a cluster in this federation are allowed until a rule needs them.
    try:
        return clusters_of_sites(workload, federation)
    except UnknownNameError:
        if workload.allowed is not None:
            raise
        return np.full(len(workload.sites), -1, dtype=np.int64)


def thrifty_orders(busy: Floats, idle: Floats, speed: Floats, cluster: Ints, turns: Ints) -> tuple[Ints, Ints]:
    """Return the groups of each cluster, and all groups, least watts above idle by speed first [19]."""
    price = (busy - idle) / speed
    return _ints(np.lexsort((turns, price, cluster))), _ints(np.lexsort((turns, cluster, price)))


def pack(
    workload: Workload,
    federation: Federation,
    *,
    reading: Reading,
    t0: float | None = None,
    running: Sequence[int] = (),
) -> Problem:
    """Return the Problem (read-only arrays) of these jobs on this federation, under this reading.

    `t0` is the begin, None: the first submit. `running` are the rows of jobs that run at t0 already.
    """
    groups = with_planned_idle_watts(federation).groups
    check_job_gears(workload, groups)
    group_cluster = np.array(federation.group_cluster, dtype=np.int64)
    speed = np.array([group.speed for group in groups], dtype=np.float64)
    busy = np.array([group.busy_watts for group in groups], dtype=np.float64)
    idle = np.array([group.idle_watts for group in groups], dtype=np.float64)
    nodes = np.array([group.count for group in groups], dtype=np.int64)
    turns = federation.turns
    cheap_in_cluster, cheap = thrifty_orders(busy, idle, speed, group_cluster, turns)
    t0 = float(workload.submit.min() if t0 is None else t0)

    by_arrival = np.lexsort((workload.id, workload.submit))
    rank = np.empty(len(workload), dtype=np.int64)
    rank[by_arrival] = np.arange(len(workload))
    waiting = np.ones(len(workload), dtype=np.bool_)
    edges = None if workload.after is None and workload.feedback is None else edges_of(workload)
    if edges is not None:
        topological_order(workload, edges)  # refuses cycles
        waiting[never_start(workload, reading, edges, any_may_be_killed=kills(federation, t0))] = False
    waiting[list(running)] = False

    submit = np.array(workload.submit)
    submit[followers_of(workload)[0]] = np.inf  # they are submitted after another's end
    submit[list(running)] = workload.submit[list(running)]
    arrival = by_arrival[waiting[by_arrival]]
    arrival = arrival[np.argsort(submit[arrival], kind="stable")]
    site_cluster = np.append(_home_clusters(workload, federation), -1)  # origin −1 stays −1
    return Problem(
        submit=_floats(submit),
        tasks=_ints(workload.tasks),
        runtime=_floats(reading.runtime(workload)),
        estimate=_floats(reading.planned(workload)),
        sigma=_floats(workload.compute_fraction),
        bandwidth=_floats(workload.task_bandwidth),
        origin=_ints(site_cluster[workload.origin]),
        user=_ints(np.unique(workload.user, return_inverse=True)[1]),
        watts=_floats(watts_of(workload, groups)),
        arrival=_ints(arrival),
        arrival_rank=_ints(rank),
        running=_ints(list(running)),
        groups=Groups(
            nodes=_ints(nodes),
            cluster=_ints(group_cluster),
            slowdown=_floats(1.0 / speed),
            speed=_floats(speed),
            busy_watts=_floats(busy),
            idle_watts=_floats(idle),
            cluster_begin=_ints(np.searchsorted(group_cluster, np.arange(len(federation.clusters) + 1))),
            fast_in_cluster=_ints(np.lexsort((turns, -speed, group_cluster))),
            cheap_in_cluster=cheap_in_cluster,
            fast=_ints(np.lexsort((turns, group_cluster, -speed))),
            cheap=cheap,
            uplink=_floats([cluster.uplink for cluster in federation.clusters]),
        ),
        t0=t0,
        nodes=int(nodes.sum()),
        idle_total=float((idle * nodes).sum()),
        same_time=int(SameTime[str(reading.same_time).upper()]),
        saturation=int(Saturation[reading.saturation.upper()]),
        extras=_extras(workload, federation, edges, reading, t0, arrival),
    )


def _extras(
    workload: Workload,
    federation: Federation,
    edges: Edges | None,
    reading: Reading,
    t0: float,
    arrival: Ints,
) -> Extras | None:
    # What these jobs and this federation have beyond the plain model; None keeps the plain kernels.
    need, waits = pool_needs(workload, federation), edges is not None and edges.job.size > 0
    counters, tier = counters_of(workload, federation), tiers_of_jobs(workload, federation)
    bound = need.any() or counters.amount.size or tier.size
    asked = any(part is not None for part in (workload.begin, workload.held, workload.cancel_at))
    switching = is_switching(federation.power)
    if switching:
        refuse("boots", Use(workload, federation, reading))
    bound = bound or switching
    bound = bound or is_capped(federation)
    per_node = _tasks_per_node(workload, federation)
    bound = bound or per_node.each.size
    if not bound and not waits and not asked and not federation.calendar and not reading.chooses_late(workload):
        return None
    extras = Extras(
        _pools(workload, federation, need),
        _precedence(workload, edges, reading, earliest_starts(workload, federation)),
        _calendar(federation, t0),
        limits_of(counters, workload.tasks),
        _reserved(workload, federation),
        _cancellations(workload, arrival),
        _holds(workload),
        _moldable(workload, federation, reading),
        _ints(tier),
        saving_of(federation),
        power_caps_of(workload, federation, t0),
        per_node,
        more=None,
    )
    return as_used(extras)


def _tasks_per_node(workload: Workload, federation: Federation) -> TasksPerNode:
    tasks, (uneven, fits) = tasks_on_nodes(workload), uneven_fits(workload, federation)
    counted = (tasks > 0) & (workload.task_bandwidth > 0) & (len(federation.clusters) > 1)
    none = _ints(np.zeros(0))
    if not counted.any() and not uneven.size:
        return TasksPerNode(none, none, none, _ints(np.zeros((0, 0))))
    each = _ints(np.where(counted, layout_of(workload)[0], 0))
    if not uneven.size:
        return TasksPerNode(each, _ints(tasks), none, _ints(np.zeros((0, 0))))
    rows, row_of = np.unique(fits, axis=0, return_inverse=True)
    row = np.full(len(workload), -1)
    row[uneven] = row_of.reshape(-1)
    return TasksPerNode(each, _ints(tasks), _ints(row), _ints(rows))


def _reserved(workload: Workload, federation: Federation) -> ReservationMembers:
    of_job = reservation_of_jobs(workload, federation)
    if not in_reservations(workload, federation).any():
        return _no_members()
    reservations = reservations_of(federation)
    jobs = np.bincount(of_job[of_job >= 0], minlength=len(reservations))
    return ReservationMembers(_ints(of_job), _ints([0, *np.cumsum(jobs)]), _floats([one.end for one in reservations]))


def _no_members() -> ReservationMembers:
    return ReservationMembers(_ints(np.zeros(0)), _ints(np.zeros(1)), _floats(np.zeros(0)))


def _cancellations(workload: Workload, arrival: Ints) -> Cancellations:
    if workload.cancel_at is None:
        return _no_cancellations()
    time = workload.cancel_at.times
    jobs = arrival[np.isfinite(time[arrival])]
    jobs = jobs[np.argsort(time[jobs], kind="stable")]
    place = np.full(len(workload), -1)
    place[jobs] = np.arange(jobs.size)
    return Cancellations(time=_floats(time[jobs]), job=_ints(jobs), place=_ints(place))


def _holds(workload: Workload) -> Holds:
    held = workload.held
    if held is None:
        return _no_holds()
    order = np.argsort(held.begin, kind="stable")
    return Holds(_ints(held.first), _floats(held.begin), _floats(held.end), _ints(order), _ints(held.owner))


def _no_holds() -> Holds:
    return Holds(_ints(np.zeros(0)), _floats(np.zeros(0)), _floats(np.zeros(0)), _ints(np.zeros(0)), _ints(np.zeros(0)))


def _no_cancellations() -> Cancellations:
    return Cancellations(_floats(np.zeros(0)), _ints(np.zeros(0)), _ints(np.zeros(0)))


def _moldable(workload: Workload, federation: Federation, reading: Reading) -> Moldable:
    if not reading.chooses_late(workload):
        return _no_moldable()
    refuse("shapes at submit", Use(workload, federation, reading))
    refuse_open_sizes("alternatives='earliest_finish'", workload, federation)
    possible = possible_shapes(workload, federation)
    each = possible.each
    per_node = _tasks_per_node(each, federation)
    return Moldable(
        first=_ints(possible.first),
        which=_ints(possible.which),
        tasks=_ints(each.tasks),
        runtime=_floats(reading.runtime(each)),
        estimate=_floats(reading.planned(each)),
        on_nodes=per_node.tasks,
    )


def _no_moldable() -> Moldable:
    nothing, never = _ints(np.zeros(0)), _floats(np.zeros(0))
    return Moldable(nothing, nothing, nothing, never, never, nothing)


def _pools(workload: Workload, federation: Federation, need: Ints) -> Pools:
    amount = pool_amounts(workload, federation)
    return Pools(amount=_ints(amount), need=_ints(need))


def _precedence(
    workload: Workload, edges: Edges | None, reading: Reading, earliest: NDArray[np.float64] | None
) -> Precedence:
    edges = NO_EDGES if edges is None else edges
    if not edges.job.size and earliest is None:
        return _no_precedence()
    jobs = len(workload)
    by_on = np.argsort(edges.on, kind="stable")
    return Precedence(
        earliest=_floats(np.zeros(jobs) if earliest is None else earliest),
        conditions=_ints(1 + np.bincount(edges.job, minlength=jobs)),
        first=_ints(np.searchsorted(edges.on[by_on], np.arange(jobs + 1))),
        follower=_ints(edges.job[by_on]),
        awaits=_ints(AWAITS[edges.kind[by_on]]),
        lag=_floats(edges.lag[by_on]),
        moves=_ints((np.arange(edges.job.size) >= edges.job.size - followers_of(workload)[0].size)[by_on]),
        end=_ints(ENDS[ends_of(workload, reading)]),
    )


def _no_precedence() -> Precedence:
    nothing, never = _ints(np.zeros(0)), _floats(np.zeros(0))
    return Precedence(never, nothing, nothing, nothing, nothing, never, nothing, nothing)


def _calendar(federation: Federation, t0: float) -> Calendar:
    every = closures_of(federation)
    nodes = np.array([group.count for group in federation.groups], dtype=np.int64)
    return calendar_of(every.take(every.end > t0), nodes, t0)


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
        group=_ints(closures.group),
        nodes=_ints(closures.nodes),
        begin=_floats(begins),
        end=_floats(ends),
        known_from=_floats(closures.known_from),
        planned_end=_floats(closures.planned_end),
        change=_ints(changes[np.argsort(times, kind="stable")]),
        learned=_ints(learned),
        lookout=_floats(lookout),
        left=_ints(nodes + np.cumsum(left, axis=0)[:-1]),
        known=_ints([known.sum()]),
        on_running=_ints(closures.on_running),
        victims=_ints(closures.victims),
        seed=_ints(closures.seed),
        number=_ints(closures.number),
        reservation=_ints(closures.reservation),
    )


def extras_of(problem: Problem, state: State, jobs: Ints, t0: float) -> Extras | None:
    """Return the extras (features beyond the plain model) for a plan of only the given jobs from `t0` on.

    Each of them is eligible or runs at t0, and nodes without jobs are on, off or boot as in `state`. Such a plan
    ignores dependencies, the jobs of reservations, lost runs, limits, cancellations and holds; the run deals with these
    as they occur. Return None if the problem has no extras.
    """
    if problem.extras is None:
        return None
    pools, calendar, saving = problem.extras.pools, problem.extras.calendar, problem.extras.saving
    reservation = np.full(calendar.begin.size, downtimes.NO_RESERVATION)
    if state.extras is not None and saving.timeout.size:
        saving = saving._replace(begun=as_begun(state.extras.powered.stacks))
        reservation[calendar.reservation >= 0] = downtimes.KEPT
    waits = calendar._replace(
        on_running=_ints(np.full(calendar.begin.size, OnRunning.WAIT)),
        reservation=_ints(reservation),
    )
    needs = pools._replace(need=_ints(pools.need[jobs]))
    tier = problem.extras.tier
    tier = _ints(tier[jobs] if tier.size else tier)
    extras = Extras(
        needs,
        _no_precedence(),
        waits,
        no_limits(),
        _no_members(),
        _no_cancellations(),
        _no_holds(),
        _no_moldable(),
        tier,
        saving,
        power_caps_of_jobs(problem.extras.ceilings, jobs, t0),
        rows_of(problem.extras.standing, jobs),
        more=None,
    )
    return as_used(extras)


def going_on_from(problem: Problem, idle: NodeStacks | None) -> Problem:
    """Return the problem of a run that begins with these nodes without jobs on, off or booting; None: all are on."""
    if problem.extras is None or idle is None:
        return problem
    return problem._replace(extras=problem.extras._replace(saving=problem.extras.saving._replace(begun=idle)))


def measured_of(problem: Problem) -> Measured:
    """Return the arrays of a problem from which metrics are computed, such as submits, tasks and watts."""
    groups = problem.groups
    return Measured(
        submit=problem.submit,
        tasks=problem.tasks,
        user=problem.user,
        group_nodes=groups.nodes,
        group_cluster=groups.cluster,
        busy_watts=groups.busy_watts,
        idle_watts=groups.idle_watts,
        watts=problem.watts,
    )


def parts_of(problem: Problem) -> tuple[object, ...]:
    """Return all fields of a problem in one tuple, followed by the fields of its groups and of its extras."""
    return (*problem, *problem.groups, *_flat(() if problem.extras is None else problem.extras))


def _flat(parts: tuple[object, ...]) -> Iterator[object]:
    for one in parts:
        yield from _flat(one) if isinstance(one, tuple) else (one,)


def frozen(problem: Problem) -> Problem:
    """Make all arrays of a problem read-only, as kernels are compiled for that type; return the problem."""
    for array in parts_of(problem):
        if isinstance(array, np.ndarray):
            array.setflags(write=False)
    return problem
