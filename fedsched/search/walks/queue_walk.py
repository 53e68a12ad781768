"""A walk over strict queues, one for each cluster, that minimises a sum over jobs such as flow or mean wait.

Each job is bound to one cluster, and each cluster starts its jobs strictly in the order of its queue (`local`
dispatch). A queue then runs without an event loop: the next job starts as soon as enough nodes are free. A trial moves
a job within its queue or to another one, or exchanges two jobs, and runs only the changed queues. A run stops once the
plan must be rejected.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, kernel, part
from fedsched.core.random import below, uniform
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Dispatch
from fedsched.model.schedule.metrics import BOUND_SECONDS
from fedsched.search.encoding.operators import move_within
from fedsched.search.problem.subfederation_runs import set_home
from fedsched.search.walks.descent import note, scalar
from fedsched.search.walks.per_cluster_walk import count_trial, read_row

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints, Problem
    from fedsched.search.encoding.genome import Space
    from fedsched.search.problem.subfederation_runs import Parts, Units
    from fedsched.search.walks.descent import Goal, Walker

STAY_SHARE = 0.5  # share of the trials that change one queue only
SWAP_SHARE = 0.4  # share of these that exchange two jobs; the others insert one elsewhere
EXCHANGE_SHARE = 0.5  # share of the trials with two queues that exchange two jobs
NEAR_SHARE = 0.5  # share of the new places that are near the old one
CLOSE = 1e-9  # relative margin at the limit within which a run is still completed


class Term(IntEnum):
    """What a job adds to a sum: its response, its wait, or its slowdown, bounded or not; each times its weight."""

    RESPONSE = 0
    WAIT = 1
    SLOWDOWN = 2
    BOUNDED = 3


@by_reference
class Sums(NamedTuple):
    """The sum that is minimised, each queue's share of it, the best queues, and the workspace of a run."""

    term: Ints  # [0]: the Term
    weight: Floats  # of each job
    least: Floats  # a job that starts w seconds after t0 adds at least its `least` + w · its `rate`
    rate: Floats
    share: Floats  # of each queue
    best: Ints  # unit × place: the queues of the best plan
    best_length: Ints
    stale: Ints  # unit: 1 if its queue has changed since it was copied to `best`
    free: Ints  # free nodes of each of the unit's groups
    ends: Floats  # ends of the running jobs, the latest first
    running: Ints  # these jobs
    taken: Ints  # job × group of its unit: its nodes


# ---- runs -----------------------------------------------------------------------------------------------------------


@inlined
def _added(sums: Sums, problem: Problem, j: int, start: float, end: float) -> float:
    response = end - problem.submit[j]
    if sums.term[0] == Term.RESPONSE:
        return sums.weight[j] * response
    if sums.term[0] == Term.WAIT:
        return sums.weight[j] * (start - problem.submit[j])
    if sums.term[0] == Term.SLOWDOWN:
        return sums.weight[j] * (response / (end - start))
    return sums.weight[j] * max(1.0, response / max(end - start, BOUND_SECONDS))


@part
def run_queue(
    problem: Problem,
    space: Space,
    units: Units,
    parts: Parts,
    sums: Sums,
    u: int,
    queue: Ints,
    limit: float,
) -> float:
    """Run a unit's queue strictly in order, and return its share of the sum; infinite if that must exceed `limit`.

    The starts are written to `parts`, and the jobs that started are added to `parts.jobs_run`.
    """
    free, ends, running = sums.free, sums.ends, sums.running
    first = units.first_group[u]
    groups = units.first_group[u + 1] - first
    nodes = 0
    for g in range(groups):
        free[g] = units.groups.nodes[first + g]
        nodes += free[g]
    total, least, rate = 0.0, 0.0, 0.0  # the sum so far; the least that the waiting jobs add
    for i in range(queue.size):
        least += sums.least[queue[i]]
        rate += sums.rate[queue[i]]
    now, position, busy = problem.t0, 0, 0
    while position < queue.size:
        j = queue[position]
        usable = nodes
        if groups > 1 and usable >= problem.tasks[j]:
            usable = 0
            for g in range(groups):
                usable += min(free[g], space.limits[j, units.group[first + g]])
        if usable < problem.tasks[j]:  # the next job ends
            if total + least + rate * (now - problem.t0) > limit:
                break
            now = ends[busy - 1]
            while busy > 0 and ends[busy - 1] <= now:
                busy -= 1
                nodes += problem.tasks[running[busy]]
                if groups > 1:
                    for g in range(groups):
                        free[g] += sums.taken[running[busy], g]
            continue
        need, slowest = problem.tasks[j], units.groups.slowdown[first]
        nodes -= need
        if groups > 1:
            for i in range(groups):
                g = units.groups.fast_in_cluster[first + i]
                take = min(need, free[g], space.limits[j, units.group[first + g]])
                sums.taken[j, g] = take
                if take > 0:
                    slowest = units.groups.slowdown[first + g]
                    free[g] -= take
                    need -= take
        cost = problem.sigma[j] * slowest + (1.0 - problem.sigma[j])
        end = end_after(now + problem.runtime[j] * cost, now)
        parts.start[j] = now
        total += _added(sums, problem, j, now, end)
        least -= sums.least[j]
        rate -= sums.rate[j]
        place = busy
        while place > 0 and ends[place - 1] < end:
            ends[place], running[place] = ends[place - 1], running[place - 1]
            place -= 1
        ends[place], running[place] = end, j
        busy += 1
        position += 1
    parts.jobs_run[0] += max(position, 1)
    return total if position == queue.size and total <= limit else np.inf


@part
def write_queues(
    problem: Problem,
    space: Space,
    units: Units,
    parts: Parts,
    sums: Sums,
    queues: Ints,
    lengths: Ints,
    placement: int,
    row: Ints,
) -> None:
    """Write queues to a row under `local` dispatch, the jobs in the order of their starts; they do not count as run."""
    jobs, groups = space.limits.shape
    counted = parts.jobs_run[0]
    for u in range(lengths.size):
        run_queue(problem, space, units, parts, sums, u, queues[u, : lengths[u]], np.inf)
        for i in range(lengths[u]):
            j = queues[u, i]
            for g in range(groups):
                row[jobs + j * groups + g] = space.limits[j, g] * units.covers[u, g]
    parts.jobs_run[0] = counted
    place = sums.running  # of each unit's next job: no job runs any more
    place[: lengths.size] = 0
    for i in range(jobs):
        chosen = -1
        for u in range(lengths.size):
            if place[u] < lengths[u] and (
                chosen < 0 or parts.start[queues[u, place[u]]] < parts.start[queues[chosen, place[chosen]]]
            ):
                chosen = u
        row[i] = queues[chosen, place[chosen]]
        place[chosen] += 1
    row[jobs * (1 + groups)] = Dispatch.LOCAL
    row[jobs * (1 + groups) + 1] = placement


# ---- trials ---------------------------------------------------------------------------------------------------------


@inlined
def _near(middle: int, places: int, stream: Stream) -> int:
    # A place near the middle, or any one.
    if uniform(stream) < NEAR_SHARE:
        reach = 1 + places // 10
        return min(max(middle - reach + below(stream, 2 * reach + 1), 0), places - 1)
    return below(stream, places)


@inlined
def _move_to(parts: Parts, u: int, place: int, v: int, at: int) -> None:
    # Moves the job at a place of one queue to a place of another.
    parts.queue[v, parts.length[v]] = parts.queue[u, place]
    move_within(parts.queue[v], parts.length[v], at)
    parts.length[v] += 1
    parts.length[u] -= 1
    move_within(parts.queue[u], place, parts.length[u])


@inlined
def _change(parts: Parts, swaps: bool, u: int, place: int, v: int, at: int) -> None:
    # Exchanges two jobs, or moves the one at a place of a queue to a place of the same or another one. With the two
    # places exchanged it undoes this.
    if swaps:
        parts.queue[u, place], parts.queue[v, at] = parts.queue[v, at], parts.queue[u, place]
    elif u == v:
        move_within(parts.queue[u], place, at)
    else:
        _move_to(parts, u, place, v, at)


@inlined
def _update_best(parts: Parts, sums: Sums) -> None:
    for u in range(parts.length.size):
        if sums.stale[u] == 1:
            sums.best_length[u] = parts.length[u]
            for i in range(parts.length[u]):
                sums.best[u, i] = parts.queue[u, i]
            sums.stale[u] = 0


@kernel
def walk_queues(
    problem: Problem,
    space: Space,
    units: Units,
    goal: Goal,
    walker: Walker,
    parts: Parts,
    sums: Sums,
    metrics: Floats,
    fresh: bool,
    most: int,
) -> bool:
    """Try moves from the current plan until `most` jobs have started in runs; return whether the best plan is new.

    A `fresh` walk first reads the plan from its row; any other continues the walker's last one. At least one move is
    tried. The walker and its current and best rows are updated.
    """
    stream, value = walker.stream, walker.value
    placement = walker.current[walker.current.size - 1]
    column = goal.columns[0]
    jobs, clusters = space.limits.shape[0], parts.length.size
    if fresh:
        read_row(space, units, parts, walker.current)
        for u in range(clusters):
            sums.stale[u] = 1
            sums.share[u] = run_queue(problem, space, units, parts, sums, u, parts.queue[u, : parts.length[u]], np.inf)
    improved = False
    going = True
    while going:
        allowed = max(value[0], walker.late[walker.steps[0] % walker.late.size])
        limit = goal.ideal[0] + allowed * goal.scale[0] / goal.weights[0]
        limit += abs(limit) * CLOSE
        j = below(stream, jobs)
        u = parts.home[j]
        v = u
        length = parts.length[u]
        place = 0
        while parts.queue[u, place] != j:
            place += 1
        at = place
        swaps = False
        if clusters == 1 or uniform(stream) < STAY_SHARE:
            at = _near(place, length, stream)
            swaps = uniform(stream) < SWAP_SHARE
        else:
            v = below(stream, clusters - 1)
            v += v >= u
            if units.allowed[j, v] == 1:
                swaps = parts.length[v] > 0 and uniform(stream) < EXCHANGE_SHARE
                room = parts.length[v] if swaps else parts.length[v] + 1
                at = _near(place * room // length, room, stream)
                if swaps and units.allowed[parts.queue[v, at], u] == 0:
                    v, at = u, place
            else:
                v = u
        if u == v and at == place:
            parts.jobs_run[0] += 1  # no move, but the walk must end
        else:
            rest = 0.0
            for k in range(clusters):
                if k != u and k != v:
                    rest += sums.share[k]
            _change(parts, swaps, u, place, v, at)
            new_to, new_from = 0.0, 0.0
            if v != u:
                new_to = run_queue(
                    problem, space, units, parts, sums, v, parts.queue[v, : parts.length[v]], limit - rest
                )
            if new_to < np.inf:
                new_from = run_queue(
                    problem, space, units, parts, sums, u, parts.queue[u, : parts.length[u]], limit - rest - new_to
                )
            metrics[column] = 0.0
            for k in range(clusters):
                metrics[column] += new_from if k == u else (new_to if k == v else sums.share[k])
            new = scalar(goal, metrics)
            if new <= allowed:
                value[0] = new
                note(goal, metrics, walker.objectives[0])
                sums.share[u] = new_from
                sums.stale[u] = 1
                if v != u:
                    sums.share[v] = new_to
                    sums.stale[v] = 1
                    set_home(units, parts, j, v)
                    if swaps:
                        set_home(units, parts, parts.queue[u, place], u)
                if new < value[1]:
                    value[1] = new
                    walker.steps[1] = walker.steps[0]
                    note(goal, metrics, walker.objectives[1])
                    _update_best(parts, sums)
                    improved = True
            else:
                _change(parts, swaps, v, at, u, place)
        count_trial(walker)
        going = parts.jobs_run[0] < most
    if improved:
        write_queues(problem, space, units, parts, sums, sums.best, sums.best_length, placement, walker.best)
    write_queues(problem, space, units, parts, sums, parts.queue, parts.length, placement, walker.current)
    return improved
