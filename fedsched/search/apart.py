"""A walk over plans that bind every job to one cluster, where a trial runs the one or two that it changes.

A trial moves a job to another place of its cluster's queue or of another's, or exchanges two jobs of two clusters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined, kernel, part
from fedsched.engine.codes import Dispatch, Status
from fedsched.model.integrals import Integrals
from fedsched.model.metrics import fill_row
from fedsched.random_numbers import below, uniform
from fedsched.search.cluster_runs import FROM, TO, keep, restore, run_cluster
from fedsched.search.descent import note, pocket, scalar

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Problem, State
    from fedsched.random_numbers import Stream
    from fedsched.search.cluster_runs import Alone, Parts
    from fedsched.search.descent import Goal, Walker
    from fedsched.search.genome import Space

LATE_SHARE = 0.5  # of the trials whose job is the latest to end among some drawn at random
LATE_AMONG = 4
STAY_SHARE = 0.5  # of the trials that stay within a cluster
SWAP_SHARE = 0.4  # of the others: two jobs exchange their places
NEAR_SHARE = 0.5  # of the insertions that stay near


# ---- rows and queues ------------------------------------------------------------------------------------------------


@part
def _read_row(problem: Problem, space: Space, alone: Alone, parts: Parts, row: Ints) -> None:
    # Fills the queues from a row whose every job is bound to one cluster.
    jobs, groups = space.limits.shape
    parts.length[:] = 0
    for i in range(jobs):
        j = row[i]
        k = 0
        for g in range(groups):
            if row[jobs + j * groups + g] > 0:
                k = problem.groups.cluster[g]
        parts.home[j] = k
        parts.queue[k, parts.length[k]] = j
        parts.length[k] += 1


@part
def _write_row(problem: Problem, space: Space, parts: Parts, placement: int, row: Ints) -> None:
    # Writes the plan down: the queues one after the other, each job bound to its cluster.
    jobs, groups = space.limits.shape
    place = 0
    for k in range(parts.length.size):
        for i in range(parts.length[k]):
            j = parts.queue[k, i]
            row[place] = j
            place += 1
            for g in range(groups):
                row[jobs + j * groups + g] = space.limits[j, g] if problem.groups.cluster[g] == k else 0
    row[jobs * (1 + groups)] = Dispatch.GREEDY
    row[jobs * (1 + groups) + 1] = placement


# ---- trials ---------------------------------------------------------------------------------------------------------


@inlined
def _job_to_move(parts: Parts, jobs: int, stream: Stream) -> int:
    j = below(stream, jobs)
    if uniform(stream) < LATE_SHARE:
        for _ in range(LATE_AMONG - 1):
            other = below(stream, jobs)
            if parts.finish[other] > parts.finish[j]:
                j = other
    return j


@inlined
def _place_of(queue: Ints, j: int) -> int:
    place = 0
    while queue[place] != j:
        place += 1
    return place


@inlined
def _insert(parts: Parts, k: int, place: int, to: int, near: bool, stream: Stream) -> None:
    # Takes the job at a place of one queue and puts it into another, or the same: near its place, or anywhere.
    length = parts.length[k]
    source, target = parts.queue[k], parts.queue[to]
    j = source[place]
    for i in range(place, length - 1):
        source[i] = source[i + 1]
    parts.length[k] -= 1
    room = parts.length[to] + 1
    if near:
        reach = 1 + room // 10
        middle = place if to == k else place * room // length
        at = min(max(middle - reach + below(stream, 2 * reach + 1), 0), room - 1)
    else:
        at = below(stream, room)
    for i in range(room - 1, at, -1):
        target[i] = target[i - 1]
    target[at] = j
    parts.length[to] = room
    parts.home[j] = to


@inlined
def _accepted(goal: Goal, walker: Walker, value: float) -> bool:
    return value <= walker.value[0] or value <= walker.late[walker.steps[0] % walker.late.size]


@kernel
def walk_apart(
    problem: Problem,
    space: Space,
    alone: Alone,
    goal: Goal,
    walker: Walker,
    parts: Parts,
    state: State,
    user_sums: Floats,
    metrics: Floats,
    fresh: bool,
    most: int,
) -> int:
    """Move jobs in the plan at hand, which binds each to one cluster, until so many jobs were run; return a Status.

    A `fresh` walk reads the plan; another goes on where the last one of this walker ended. One move at least is tried.
    """
    jobs = space.limits.shape[0]
    clusters = parts.length.size
    stream, value = walker.stream, walker.value
    placement = walker.current[walker.current.size - 1]
    nothing = Integrals(np.nan, np.nan)
    if fresh:
        _read_row(problem, space, alone, parts, walker.current)
        for k in range(clusters):
            if run_cluster(problem, space, alone, parts, state, k, placement) != Status.DONE:
                return Status.STUCK
    going = True
    while going:
        j = _job_to_move(parts, jobs, stream)
        k = parts.home[j]
        to, other = k, j
        if uniform(stream) >= STAY_SHARE:
            to = below(stream, clusters)
            if alone.allowed[j, to] == 0:
                to = k
        length, length_to = parts.length[k], parts.length[to]
        swaps = False
        if to != k and length_to > 0 and uniform(stream) < SWAP_SHARE:
            other = parts.queue[to, below(stream, length_to)]
            swaps = alone.allowed[other, k] == 1
        keep(parts, k, FROM)
        if to != k:
            keep(parts, to, TO)
        place = _place_of(parts.queue[k], j)
        if swaps:
            parts.queue[to, _place_of(parts.queue[to], other)] = j
            parts.queue[k, place] = other
            parts.home[j], parts.home[other] = to, k
        else:
            _insert(parts, k, place, to, uniform(stream) < NEAR_SHARE, stream)
        if run_cluster(problem, space, alone, parts, state, k, placement) != Status.DONE:
            return Status.STUCK
        if to != k and run_cluster(problem, space, alone, parts, state, to, placement) != Status.DONE:
            return Status.STUCK
        fill_row(
            space.common.measured, problem.t0, parts.start, parts.finish, parts.counts, nothing, user_sums, metrics
        )
        new = scalar(goal, metrics)
        better = new < value[1]
        if goal.columns.size > 1 or better:
            _write_row(problem, space, parts, placement, walker.trial)
            pocket(goal, walker, metrics, walker.trial)
        if _accepted(goal, walker, new):
            value[0] = new
            note(goal, metrics, walker.objectives[0])
            if better:
                value[1] = new
                walker.steps[1] = walker.steps[0]
                note(goal, metrics, walker.objectives[1])
                for x in range(walker.best.size):
                    walker.best[x] = walker.trial[x]
        else:
            restore(parts, k, FROM, length)
            if to != k:
                restore(parts, to, TO, length_to)
        late = walker.steps[0] % walker.late.size
        walker.late[late] = min(walker.late[late], value[0])
        walker.steps[0] += 1
        going = parts.jobs_run[0] < most
    _write_row(problem, space, parts, placement, walker.current)
    return Status.DONE
