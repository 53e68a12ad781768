"""Simulation of units: parts of the machine that run as federations of their own.

Under `greedy` with whole instants, clusters without common jobs do not affect each other. A *unit* is one cluster, or
the clusters that jobs too wide for one may span. A plan that keeps every job within one unit splits into one queue for
each unit. A change of one queue is simulated without the others. This holds if all jobs are submitted by t0, none runs
already, and none needs a pool.

A job's *home* is the part of the machine that it may use: one cluster, or a whole unit of several clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, flag, inlined, part, with_fields
from fedsched.engine.arrays.structs import Groups, Plan, Scratch
from fedsched.engine.codes import Dispatch, QueueKey, SameTime, Status
from fedsched.engine.loop.event_loop import run_greedily, set_out
from fedsched.engine.numbers import Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, Queue, Rates, State
    from fedsched.search.encoding.genome import Space

GREEDY, FIXED, BATCH = constant(Dispatch.GREEDY), constant(QueueKey.FIXED), constant(SameTime.BATCH)
ONE_QUEUE = flag(False)
FROM, TO = constant(0), constant(1)  # slots of the (at most two) units that a move changes


@by_reference
class Units(NamedTuple):
    """The machine unit by unit; a unit is a part of the machine that is simulated on its own.

    Numbers of groups and clusters count within a unit unless stated otherwise.
    """

    groups: Groups  # groups of all units, one unit after the other; `cluster_begin` has begins and end for each unit
    group: Ints  # the federation's number of each of these groups
    first_group: Ints  # unit → index of its first group; the end in one more element
    first_cluster: Ints
    unit: Ints  # home → unit
    option: Ints  # home → index among its unit's homes
    covers: Ints  # home × group of the federation: 1 if the home contains the group
    allowed: Ints  # job × home: 1 if the job fits
    area: Floats  # unit × job: least node-seconds of the job there
    caps: Ints  # for each unit a table of homes·jobs × groups, one after the other
    first_cap: Ints


@by_reference
class Parts(NamedTuple):
    """A plan unit by unit: each unit's queue, and the jobs' simulated times and nodes.

    The `old_` arrays have them as they were before the last move.
    """

    queue: Ints  # unit × place
    arrival: Ints  # the same memory, read-only
    length: Ints  # jobs of each unit
    home: Ints  # of each job
    cap_row: Ints  # each job's row in its unit's caps
    start: Floats
    finish: Floats
    counts: Ints  # job × group
    end: Floats  # end of each unit's last job
    old_queue: Ints  # 2 × place: queues of the units that a move changes
    old_home: Ints
    old_start: Floats
    old_finish: Floats
    old_counts: Ints
    old_end: Floats
    jobs_run: Ints  # [0]: jobs simulated so far


@inlined
def set_home(units: Units, parts: Parts, j: int, home: int) -> None:
    """Set a job's home (the cluster or unit that it may use), and with it the job's row in the unit's table of caps."""
    parts.home[j] = home
    parts.cap_row[j] = units.option[home] * parts.home.size + j


@inlined
def _problem_of(problem: Problem, units: Units, parts: Parts, u: int) -> Problem:
    groups = units.groups
    first, last = units.first_group[u], units.first_group[u + 1]
    first_cluster, last_cluster = units.first_cluster[u], units.first_cluster[u + 1]
    own = Groups(
        groups.nodes[first:last],
        groups.cluster[first:last],
        groups.slowdown[first:last],
        groups.speed[first:last],
        groups.busy_watts[first:last],
        groups.idle_watts[first:last],
        groups.cluster_begin[first_cluster + u : last_cluster + u + 1],
        groups.fast_in_cluster[first:last],
        groups.cheap_in_cluster[first:last],
        groups.fast[first:last],
        groups.cheap[first:last],
        groups.uplink[first_cluster:last_cluster],
    )
    # Idle energy stays divided by the nodes of the whole federation [19].
    return _with_groups(problem, parts.arrival[u, : parts.length[u]], own, BATCH)


@with_fields("arrival", "groups", "same_time")
def _with_groups(problem: Problem, arrival: Ints, groups: Groups, same_time: int) -> Problem:
    return problem._replace(arrival=arrival, groups=groups, same_time=same_time)


@inlined
def _workspace_of(state: State, jobs: int, groups: int, clusters: int, queued: int) -> State:
    rates, scratch, queue = state.rates, state.scratch, state.queue
    leaves = 1
    while leaves < queued:
        leaves *= 2
    return _with_sizes(
        state,
        state.counts.reshape(state.counts.size)[: jobs * groups].reshape((jobs, groups)),
        _with_demand(rates, rates.demand.reshape(rates.demand.size)[: jobs * clusters].reshape((jobs, clusters))),
        state.free[:groups],
        state.load[:clusters],
        _with_leaves(queue, queue.order[:queued], queue.tasks[: 2 * leaves], queue.shortest[: 2 * leaves]),
        Scratch(
            scratch.chosen[:groups],
            scratch.extra[:groups],
            scratch.limited[:groups],
            scratch.mark[:groups],
            scratch.cluster_sum[:clusters],
            scratch.demand[:clusters],
        ),
    )


@with_fields("counts", "rates", "free", "load", "queue", "scratch")
def _with_sizes(
    state: State, counts: Ints, rates: Rates, free: Ints, load: Floats, queue: Queue, scratch: Scratch
) -> State:
    return state._replace(counts=counts, rates=rates, free=free, load=load, queue=queue, scratch=scratch)


@with_fields("demand")
def _with_demand(rates: Rates, demand: Floats) -> Rates:
    return rates._replace(demand=demand)


@with_fields("order", "tasks", "shortest")
def _with_leaves(queue: Queue, order: Ints, tasks: Ints, shortest: Floats) -> Queue:
    return queue._replace(order=order, tasks=tasks, shortest=shortest)


@inlined
def _nodes_of(units: Units, u: int) -> int:
    nodes = 0
    for g in range(units.first_group[u], units.first_group[u + 1]):
        nodes += units.groups.nodes[g]
    return nodes


@inlined
def area_of(units: Units, parts: Parts, u: int) -> float:
    """Return the sum of a unit's jobs' least node-seconds."""
    area = 0.0
    for i in range(parts.length[u]):
        area += units.area[u, parts.queue[u, i]]
    return area


@part
def run_unit(
    problem: Problem,
    space: Space,
    units: Units,
    parts: Parts,
    state: State,
    u: int,
    placement: int,
    latest: float,
    ends_alone: bool,
) -> int:
    """Simulate one unit and write its jobs' times and nodes, and the unit's end, to `parts`; return a Status.

    The Status is MORE if a job must end more than `latest` seconds after t0: then the simulation stops. With
    `ends_alone` only the ends are written. The simulated jobs are added to `parts.jobs_run`.
    """
    jobs = space.limits.shape[0]
    first, queued = units.first_group[u], parts.length[u]
    groups = units.first_group[u + 1] - first
    parts.end[u] = problem.t0
    if queued == 0:
        return Status.DONE
    parts.jobs_run[0] += 1
    nodes = _nodes_of(units, u)
    spare = nodes * latest - area_of(units, parts, u)
    if spare < 0.0:
        return Status.MORE
    own = _problem_of(problem, units, parts, u)
    order = parts.queue[u, :queued]
    caps = units.caps[units.first_cap[u] : units.first_cap[u + 1]]
    plan = Plan(
        order,
        FIXED,
        order,
        FIXED,
        ONE_QUEUE,
        caps.reshape((caps.size // groups, groups)),
        parts.cap_row,
        GREEDY,
        placement,
    )
    narrow = _workspace_of(state, jobs, groups, own.groups.uplink.size, queued)
    set_out(own, plan, narrow)
    narrow.counter[Counter.FREE] -= problem.nodes - nodes
    status = run_greedily(own, plan, narrow, spare)
    parts.jobs_run[0] += narrow.counter[Counter.STARTED] - 1
    if status != Status.DONE:
        return status
    end = problem.t0
    for i in range(queued):
        j = order[i]
        parts.finish[j] = state.finish[j]
        end = max(end, state.finish[j])
    parts.end[u] = end
    if ends_alone:
        return status
    for i in range(queued):
        j = order[i]
        parts.start[j] = state.start[j]
        for g in range(parts.counts.shape[1]):
            parts.counts[j, g] = 0
        for g in range(groups):
            parts.counts[j, units.group[first + g]] = narrow.counts[j, g]
    return status


@inlined
def last_end(parts: Parts) -> float:
    """Return the end of the last job of all units, as a time in seconds."""
    end = parts.end[0]
    for u in range(1, parts.end.size):
        end = max(end, parts.end[u])
    return end


@inlined
def save_unit(parts: Parts, u: int, slot: int, ends_alone: bool) -> None:
    """Copy a unit's queue, and its jobs' homes, times and nodes, to a slot; with `ends_alone` no starts and nodes."""
    parts.old_end[slot] = parts.end[u]
    for i in range(parts.length[u]):
        j = parts.queue[u, i]
        parts.old_queue[slot, i] = j
        parts.old_home[j] = parts.home[j]
        parts.old_finish[j] = parts.finish[j]
        if not ends_alone:
            parts.old_start[j] = parts.start[j]
            for g in range(parts.counts.shape[1]):
                parts.old_counts[j, g] = parts.counts[j, g]


@inlined
def restore_unit(units: Units, parts: Parts, u: int, slot: int, length: int, ends_alone: bool) -> None:
    """Copy a unit's queue, and its jobs' homes, times and nodes, back from a slot.

    `length` is the length of the saved queue. With `ends_alone` starts and nodes are left as they are.
    """
    parts.length[u] = length
    parts.end[u] = parts.old_end[slot]
    for i in range(length):
        j = parts.old_queue[slot, i]
        parts.queue[u, i] = j
        set_home(units, parts, j, parts.old_home[j])
        parts.finish[j] = parts.old_finish[j]
        if not ends_alone:
            parts.start[j] = parts.old_start[j]
            for g in range(parts.counts.shape[1]):
                parts.counts[j, g] = parts.old_counts[j, g]
