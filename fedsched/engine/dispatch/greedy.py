"""Dispatch rules without reservations, which look only at the nodes free now: strict, greedy and local."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.engine.allocation_sums import slowest
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Placement
from fedsched.engine.loop.feature_flags import more_is, more_than_closing
from fedsched.engine.loop.running import enter, sum_loads
from fedsched.engine.numbers import ClassNumber, Clock, Counter
from fedsched.engine.optional_features import dependencies, limits, pools, power_caps, power_states
from fedsched.engine.optional_features.downtimes import place_from_now
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue.classes import first_of_classes, group, next_of_classes
from fedsched.engine.queue.queue_tree import ABSENT, ANY, FIRST, NEVER, dequeue
from fedsched.engine.queue.scan import next_small

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State


@part
def start_job(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Start a queued job now on the nodes in `state.scratch.chosen`; it leaves the queue.

    Set its start, finish and planned end. The start is later than now if its nodes have to boot first.
    """
    now = state.clock[Clock.NOW]
    chosen = state.scratch.chosen
    processing = slowest(problem.groups, chosen)
    cost = problem.sigma[j] * processing + (1.0 - problem.sigma[j])
    for g in range(chosen.size):
        state.counts[j, g] = chosen[g]
    more = more_than_closing(problem.extras)
    start = power_states.ready_at(more, state.extras, j, chosen, now)
    state.start[j] = start
    state.finish[j] = end_after(start + problem.runtime[j] * cost, start)
    state.planned_end[j] = end_after(start + problem.estimate[j] * cost, start)
    rates = state.rates
    rates.tc[j] = cost
    rates.processing[j] = processing
    rates.since[j] = start
    rates.work_left[j] = problem.runtime[j]
    rates.estimate_left[j] = problem.estimate[j]
    dequeue(problem, plan, state, j)
    candidate_index.note_left(problem, plan, state, j)
    state.counter[Counter.QUEUED] -= 1
    enter(problem, state, j)
    dependencies.note_start(more, state.extras, problem.arrival_rank, j, start)
    if plan.placement == Placement.LINK_AWARE and state.counter[Counter.LOADS_STALE] == 1:
        # later decisions of this pass see the new demand; rates change at its end
        spanning = state.counter[Counter.SPANNING] + state.counter[Counter.BOOTING]
        sum_loads(problem.groups.uplink, rates.spanning, spanning, rates.demand, state.load)


@inlined
def is_skipped(state: State, j: int) -> bool:
    """Return whether this pass skips a queued job: it is over a limit, or not in the queue that is scanned [43, 46]."""
    return limits.is_over_limit(state.extras, j) or is_in_other_queue(state.extras, j)


@inlined
def fits_now(problem: Problem, plan: Plan, state: State, j: int) -> bool:
    """Return whether a job can start now by nodes, pools, closures and power caps; it cannot if this pass skips it.

    If it can, `state.scratch.chosen` has the nodes that it would take in each group.
    """
    more = more_than_closing(problem.extras)
    if more_is(problem.extras) and (is_skipped(state, j) or not pools.suffice(more, state.extras, j)):
        return False
    placed = place_from_now(problem.extras, state.extras, problem, plan, state, j)
    return placed and power_caps.allow_now(more, state.extras, problem, state, j)


@inlined
def exceeds_limits(problem: Problem, state: State, j: int) -> bool:
    """Return whether a job that fits must be skipped, because its limits allow fewer nodes than chosen [43, 76]."""
    return not limits.allow(more_than_closing(problem.extras), state.extras, j, state.scratch.chosen)


@inlined
def start_from_head(problem: Problem, plan: Plan, state: State) -> int:
    """Start jobs in queue order until one does not fit; return that job, or -1 if the queue has been gone through.

    A job that fits, but not within its limits, is passed over.
    """
    queue = state.queue
    position = next_small(problem, state, queue, FIRST, ANY)
    while position >= 0:
        j = queue.order[position]
        if problem.tasks[j] > state.counter[Counter.FREE]:
            return j
        if not fits_now(problem, plan, state, j):
            return j
        if not exceeds_limits(problem, state, j):
            start_job(problem, plan, state, j)
        position = next_small(problem, state, queue, position + 1, ANY)
    return -1


@part
def start_all_that_fit(problem: Problem, plan: Plan, state: State) -> None:
    """Do a greedy dispatch pass: scan the queue once in order and start every job that fits now [10]."""
    number = state.classes.number
    if number[ClassNumber.PATIENCE] < 0 or number[ClassNumber.ROWS] > 0:
        _start_from_candidate_index(problem, plan, state)
        return
    queue = state.queue
    position = next_small(problem, state, queue, FIRST, state.counter[Counter.FREE])
    while position >= 0:
        j = queue.order[position]
        if fits_now(problem, plan, state, j) and not exceeds_limits(problem, state, j):
            start_job(problem, plan, state, j)
        else:
            number[ClassNumber.PATIENCE] -= 1
        position = next_small(problem, state, queue, position + 1, state.counter[Counter.FREE])


@part
def start_out_of_line(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Start a job as `start_job` does; that is inlined, this copy is compiled once, for rules with fewer starts."""
    start_job(problem, plan, state, j)


@part
def _try_start(problem: Problem, plan: Plan, state: State, j: int) -> bool:
    fits = fits_now(problem, plan, state, j) and not exceeds_limits(problem, state, j)
    if fits:
        start_out_of_line(problem, plan, state, j)
    return fits


@part
def _start_from_candidate_index(problem: Problem, plan: Plan, state: State) -> None:
    # Skips jobs by the free nodes of their row of caps or, once many placements have failed, by class.
    queue, number = state.queue, state.classes.number
    by_class = number[ClassNumber.PATIENCE] < 0
    if not by_class and candidate_index.only_new_jobs_may_fit(problem, plan, state):
        _start_new_jobs(problem, plan, state)
        return
    if by_class:
        if number[ClassNumber.CLASSES] == 0:
            group(problem, plan, state, queue)
        position = first_of_classes(problem, plan, state, queue, FIRST, NEVER)
    else:
        candidate_index.add_new_jobs(problem, plan, state)
        position = candidate_index.next_small(problem, plan, state, queue, FIRST, ANY)
    while position >= 0:
        if not _try_start(problem, plan, state, queue.order[position]):
            number[ClassNumber.PATIENCE] -= 1
        if by_class:
            position = next_of_classes(problem, plan, state, queue, NEVER)
        else:
            position = candidate_index.next_small(problem, plan, state, queue, position + 1, ANY)


@inlined
def _start_new_jobs(problem: Problem, plan: Plan, state: State) -> None:
    queue = state.queue
    j = candidate_index.next_new_job(problem, state)
    while j >= 0:
        is_queued = queue.tasks[(queue.tasks.size >> 1) + queue.position[j]] != ABSENT
        if is_queued and not _try_start(problem, plan, state, j):
            candidate_index.note_joined(problem, plan, state, j)
        j = candidate_index.next_new_job(problem, state)


@part
def start_per_cluster(problem: Problem, plan: Plan, state: State) -> None:
    """Do a dispatch pass of local queues: scan the queue in order and start the jobs that fit and are not blocked [29].

    A job that cannot start blocks all clusters that it may use, and its pools, for the jobs behind it.
    """
    queue, held = state.queue, state.scratch.limited
    begin = problem.groups.cluster_begin
    held[:] = 0
    pools.unblock_all(problem.extras, state.extras)
    still_open = held.size
    position = next_small(problem, state, queue, FIRST, ANY)
    while position >= 0 and still_open > 0 and state.counter[Counter.FREE] > 0:
        j = queue.order[position]
        waits = problem.tasks[j] > state.counter[Counter.FREE] or pools.is_blocked(problem.extras, state.extras, j)
        for g in range(held.size):
            waits = waits or (held[g] == 1 and plan.caps[plan.cap_row[j], g] > 0)
        if not waits and fits_now(problem, plan, state, j):
            if not exceeds_limits(problem, state, j):
                start_out_of_line(problem, plan, state, j)
        else:
            pools.block(problem.extras, state.extras, j)
            for g in range(held.size):
                if held[g] == 0 and plan.caps[plan.cap_row[j], g] > 0:
                    k = problem.groups.cluster[g]
                    for h in range(begin[k], begin[k + 1]):
                        held[h] = 1
                    still_open -= begin[k + 1] - begin[k]
        position = next_small(problem, state, queue, position + 1, ANY)
