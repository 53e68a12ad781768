"""Packing of a workload and a federation into a Problem: the read-only arrays that a run works on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import UnknownNameError
from fedsched.engine.arrays.read_only import floats, ints
from fedsched.engine.arrays.structs import Groups, Problem
from fedsched.engine.codes import SameTime, Saturation
from fedsched.engine.pack.extras import Run, packed_extras, shapes_at_submit
from fedsched.model.constraints.dependencies import edges_of, never_start, open_ends, topological_order
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.power.gears import check_job_gears
from fedsched.model.power.switching import with_planned_idle_watts
from fedsched.model.power.watts import watts_of
from fedsched.model.schedule.metrics import Measured
from fedsched.model.time.downtimes import kills

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading


def clusters_of_sites(workload: Workload, federation: Federation) -> Ints:
    """Return the cluster index of each of the workload's sites; raise an error if a site has no cluster."""
    return ints(federation.clusters_of_sites(workload.sites))


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
    return ints(np.lexsort((turns, price, cluster))), ints(np.lexsort((turns, cluster, price)))


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
    possible = shapes_at_submit(workload, federation, reading)
    if edges is not None:
        topological_order(workload, edges)  # refuses cycles
        either = None if possible is None else open_ends(workload, possible.each, possible.owner, reading)
        if either is not None:
            either[list(running)] = False  # they keep their shapes
        deadly = kills(federation, t0)
        waiting[never_start(workload, reading, edges, any_may_be_killed=deadly, either=either)] = False
    waiting[list(running)] = False

    submit = np.array(workload.submit)
    submit[followers_of(workload)[0]] = np.inf  # they are submitted after another's end
    submit[list(running)] = workload.submit[list(running)]
    arrival = by_arrival[waiting[by_arrival]]
    arrival = arrival[np.argsort(submit[arrival], kind="stable")]
    site_cluster = np.append(_home_clusters(workload, federation), -1)  # origin −1 stays −1
    return Problem(
        submit=floats(submit),
        tasks=ints(workload.tasks),
        runtime=floats(reading.runtime(workload)),
        estimate=floats(reading.planned(workload)),
        sigma=floats(workload.compute_fraction),
        bandwidth=floats(workload.task_bandwidth),
        origin=ints(site_cluster[workload.origin]),
        user=ints(np.unique(workload.user, return_inverse=True)[1]),
        watts=floats(watts_of(workload, groups)),
        arrival=ints(arrival),
        arrival_rank=ints(rank),
        running=ints(list(running)),
        groups=Groups(
            nodes=ints(nodes),
            cluster=ints(group_cluster),
            slowdown=floats(1.0 / speed),
            speed=floats(speed),
            busy_watts=floats(busy),
            idle_watts=floats(idle),
            cluster_begin=ints(np.searchsorted(group_cluster, np.arange(len(federation.clusters) + 1))),
            fast_in_cluster=ints(np.lexsort((turns, -speed, group_cluster))),
            cheap_in_cluster=cheap_in_cluster,
            fast=ints(np.lexsort((turns, group_cluster, -speed))),
            cheap=cheap,
            uplink=floats([cluster.uplink for cluster in federation.clusters]),
        ),
        t0=t0,
        nodes=int(nodes.sum()),
        idle_total=float((idle * nodes).sum()),
        same_time=int(SameTime[str(reading.same_time).upper()]),
        saturation=int(Saturation[reading.saturation.upper()]),
        extras=packed_extras(Run(workload, federation, edges, reading, t0, ints(arrival), possible)),
    )


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
