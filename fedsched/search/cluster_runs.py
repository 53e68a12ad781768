"""A cluster as a federation of its own.

Under `greedy` in batches clusters that share no job know nothing of each other. A plan that binds every job to one
cluster falls into one queue a cluster, and a change of one queue is run without the others. All jobs are there at t0,
none runs already, and none needs a pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine.arrays import Groups, Plan, Problem, Queue, Rates, Scratch, State
from fedsched.engine.codes import Dispatch, Status
from fedsched.engine.loop import begin, run

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.genome import Space

FOREVER = constant(np.iinfo(np.int64).max)
GREEDY = constant(Dispatch.GREEDY)
FROM, TO = constant(0), constant(1)  # where what a change touches is remembered


class Alone(NamedTuple):
    """The clusters as federations: what of their groups is not a stretch of the whole federation's."""

    cluster: Ints  # zeros, one a group
    begin: Ints  # cluster × 2: from 0 to its number of groups
    fast: Ints  # its groups, fastest first, numbered within it
    cheap: Ints
    caps: Ints  # the jobs' limits, a table of jobs × groups a cluster, one after the other
    allowed: Ints  # job × cluster: 1 where it fits


class Parts(NamedTuple):
    """A plan cluster by cluster: who is in which queue, what comes of it, and both before the last change."""

    queue: Ints  # cluster × place
    arrival: Ints  # the same memory, not to be written
    length: Ints  # jobs of each cluster
    home: Ints  # job → cluster
    start: Floats
    finish: Floats
    counts: Ints  # job × group
    old_queue: Ints  # 2 × place: of the clusters that a change touches
    old_start: Floats
    old_finish: Floats
    old_counts: Ints
    jobs_run: Ints  # [0]: jobs simulated so far


@inlined
def _problem_of(problem: Problem, alone: Alone, parts: Parts, k: int) -> Problem:
    groups = problem.groups
    first, last = groups.cluster_begin[k], groups.cluster_begin[k + 1]
    nodes = 0
    for g in range(first, last):
        nodes += groups.nodes[g]
    return Problem(
        problem.submit,
        problem.tasks,
        problem.runtime,
        problem.estimate,
        problem.sigma,
        problem.bandwidth,
        problem.origin,
        problem.user,
        parts.arrival[k, : parts.length[k]],
        problem.arrival_rank,
        problem.running,
        Groups(
            groups.nodes[first:last],
            alone.cluster[first:last],
            groups.slowdown[first:last],
            groups.speed[first:last],
            groups.busy_watts[first:last],
            groups.idle_watts[first:last],
            alone.begin[k],
            alone.fast[first:last],
            alone.cheap[first:last],
            alone.fast[first:last],
            alone.cheap[first:last],
            groups.uplink[k : k + 1],
        ),
        problem.t0,
        nodes,
        problem.idle_total,
        problem.same_time,
        problem.saturation,
        problem.extras,
    )


@inlined
def _workspace_of(state: State, jobs: int, groups: int, queued: int) -> State:
    rates, scratch, queue = state.rates, state.scratch, state.queue
    leaves = 1
    while leaves < queued:
        leaves *= 2
    own = Queue(
        queue.order[:queued],
        queue.position,
        queue.tasks[: 2 * leaves],
        queue.shortest[: 2 * leaves],
        queue.key,
        queue.members,
    )
    return State(
        state.counter,
        state.clock,
        state.start,
        state.finish,
        state.planned_end,
        state.counts.reshape(state.counts.size)[: jobs * groups].reshape((jobs, groups)),
        state.shortest,
        Rates(
            rates.tc,
            rates.processing,
            rates.work_left,
            rates.estimate_left,
            rates.since,
            rates.demand.reshape(rates.demand.size)[:jobs].reshape((jobs, 1)),
            rates.spanning,
        ),
        state.heap,
        state.ends,
        state.free[:groups],
        state.load[:1],
        own,
        own,
        state.classes,
        state.profile,
        state.packing,
        Scratch(
            scratch.chosen[:groups],
            scratch.extra[:groups],
            scratch.limited[:groups],
            scratch.mark[:groups],
            scratch.cluster_sum[:1],
            scratch.demand[:1],
        ),
        state.extras,
    )


@part
def run_cluster(
    problem: Problem, space: Space, alone: Alone, parts: Parts, state: State, k: int, placement: int
) -> int:
    """Run one cluster anew and note what its jobs do; return a Status."""
    jobs = space.limits.shape[0]
    first, last = problem.groups.cluster_begin[k], problem.groups.cluster_begin[k + 1]
    groups, queued = last - first, parts.length[k]
    if queued == 0:
        return Status.DONE
    shared = space.common.shared
    order = parts.queue[k, :queued]
    plan = Plan(
        order,
        shared.order_key,
        order,
        shared.backfill_key,
        shared.separate_backfill,
        alone.caps[jobs * first : jobs * last].reshape((jobs, groups)),
        shared.cap_row,
        GREEDY,
        placement,
    )
    own, narrow = _problem_of(problem, alone, parts, k), _workspace_of(state, jobs, groups, queued)
    begin(own, plan, narrow)
    status = run(own, plan, narrow, FOREVER, np.inf)
    parts.jobs_run[0] += queued
    for i in range(queued):
        j = order[i]
        parts.start[j] = state.start[j]
        parts.finish[j] = state.finish[j]
        for g in range(parts.counts.shape[1]):
            parts.counts[j, g] = 0
        for g in range(groups):
            parts.counts[j, first + g] = narrow.counts[j, g]
    return status


@inlined
def keep(parts: Parts, k: int, slot: int) -> None:
    """Remember a cluster's queue and what came of it."""
    for i in range(parts.length[k]):
        j = parts.queue[k, i]
        parts.old_queue[slot, i] = j
        parts.old_start[j] = parts.start[j]
        parts.old_finish[j] = parts.finish[j]
        for g in range(parts.counts.shape[1]):
            parts.old_counts[j, g] = parts.counts[j, g]


@inlined
def restore(parts: Parts, k: int, slot: int, length: int) -> None:
    """Bring back what was remembered of a cluster, whose queue had this length."""
    parts.length[k] = length
    for i in range(length):
        j = parts.old_queue[slot, i]
        parts.queue[k, i] = j
        parts.home[j] = k
        parts.start[j] = parts.old_start[j]
        parts.finish[j] = parts.old_finish[j]
        for g in range(parts.counts.shape[1]):
            parts.counts[j, g] = parts.old_counts[j, g]
