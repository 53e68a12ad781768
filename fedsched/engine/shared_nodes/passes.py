"""Dispatch passes over jobs that share nodes, by the plan's dispatch rule [55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Dispatch, QueueKey
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.loop.passes import sort_queues
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import limits, pools
from fedsched.engine.optional_features.reservation_passes import (
    hide_queue,
    is_active,
    show_queue,
    with_reservation_queue,
)
from fedsched.engine.placement.node_choice import planned_duration
from fedsched.engine.profile.free_profile import ROUNDING
from fedsched.engine.queue.queue_tree import ANY, FIRST, reorder
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import line
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.candidates import ANY_LENGTH, gather
from fedsched.engine.shared_nodes.closing import place_while_open
from fedsched.engine.shared_nodes.conservative import plan_the_queue
from fedsched.engine.shared_nodes.fitting import fits, fits_now, keep_both, loosen, loosen_all, start
from fedsched.engine.shared_nodes.future import reserve
from fedsched.engine.shared_nodes.stock import ALL, measure_room, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, Queue, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work

NO_JOB = constant(-1)
# In `Line.beside`: whether a kind fits beside the head's reservation. IN_BRIEF: it does by nodes but not by pools, so
# that a job must end by the shadow time.
NOT_BESIDE, BESIDE, IN_BRIEF = constant(0), constant(1), constant(2)


@inlined
def _scanned(plan: Plan, state: State) -> Queue:
    return state.backfill if plan.separate_backfill else state.queue


@part
def _start_from_head(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    # Starts jobs in queue order until one does not fit; returns that job, the head, or -1 if there is none.
    position = next_small(problem, state, state.queue, FIRST, ANY)
    while position >= 0:
        j = state.queue.order[position]
        kind = sharing.kinds.of_job[j]
        if plan.dispatch == Dispatch.STRICT:
            if work.number[Number.BOUNDED] != kind:
                work.number[Number.BOUNDED] = kind
                work.bound[kind] = ALL
            loosen(sharing, work, kind)
            work.number[Number.FREED] = 0
        if not fits_now(problem, plan, state, sharing, work, j):
            return j
        start(problem, plan, state, sharing, work, work.now, j)
        position = next_small(problem, state, state.queue, position + 1, ANY)
    return NO_JOB


@part
def _start_all_that_fit(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    gather(problem, plan, state, sharing, work)
    position = _scanned(plan, state).position
    line.heap_up(work, position)
    while work.number[Number.HEAP] > 0:
        j = work.line.job[work.line.next[work.line.heap[0]]]
        if fits_now(problem, plan, state, sharing, work, j):
            start(problem, plan, state, sharing, work, work.now, j)
            line.advance(sharing, work, position, ANY_LENGTH)
        else:
            line.drop(work, position)


@part
def _start_per_cluster(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    # Starts jobs in queue order that fit; one that does not blocks its clusters and its pools for the jobs behind it.
    held, begin = state.scratch.limited, problem.groups.cluster_begin
    held[:] = 0
    pools.unblock_all(problem.extras, state.extras)
    still_open = held.size
    position = next_small(problem, state, state.queue, FIRST, ANY)
    while position >= 0 and still_open > 0:
        j = state.queue.order[position]
        opened, waits = sharing.kinds.opened[sharing.kinds.of_job[j]], pools.is_blocked(problem.extras, state.extras, j)
        for g in range(held.size):
            waits = waits or (held[g] == 1 and opened[g] == 1)
        if not waits and fits_now(problem, plan, state, sharing, work, j):
            start(problem, plan, state, sharing, work, work.now, j)
        else:
            pools.block(problem.extras, state.extras, j)
            for g in range(held.size):
                if held[g] == 0 and opened[g] == 1:
                    k = problem.groups.cluster[g]
                    for h in range(begin[k], begin[k + 1]):
                        held[h] = 1
                    still_open -= begin[k + 1] - begin[k]
        position = next_small(problem, state, state.queue, position + 1, ANY)


@part
def _look_beside(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, window: float
) -> None:
    # Keeps the kinds in the heap with a job that fits beside the reservation, or takes at most `window` seconds.
    heap, size = work.line.heap, work.number[Number.HEAP]
    work.number[Number.HEAP] = 0
    for i in range(size):
        kind = heap[i]
        j = work.line.job[work.line.next[kind]]
        beside = NOT_BESIDE
        if fits(problem, plan, state, sharing, work, work.both, j):
            beside = BESIDE if pools.suffice_then(more_than_closing(problem.extras), state.extras, j) else IN_BRIEF
        work.line.beside[kind] = beside
        if line.look_from(sharing, work, kind, sharing.begin[kind], ANY_LENGTH if beside == BESIDE else window):
            heap[work.number[Number.HEAP]] = kind
            work.number[Number.HEAP] += 1


@part
def _backfill(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, head: int) -> None:
    gather(problem, plan, state, sharing, work)
    if work.number[Number.HEAP] == 0:
        return
    now, position = state.clock[Clock.NOW], _scanned(plan, state).position
    shadow = reserve(problem, plan, state, sharing, work, head)
    window = min((shadow - now) + ROUNDING * (abs(shadow) + abs(now)), ANY_LENGTH)
    _look_beside(problem, plan, state, sharing, work, window)
    line.heap_up(work, position)
    while work.number[Number.HEAP] > 0:
        kind = work.line.heap[0]
        j = work.line.job[work.line.next[kind]]
        if not fits_now(problem, plan, state, sharing, work, j):
            line.drop(work, position)
            continue
        if end_after(now + planned_duration(problem, j, state.scratch.chosen), now) <= shadow:
            if start(problem, plan, state, sharing, work, work.now, j):
                keep_both(sharing, work, j)
        elif work.line.beside[kind] != NOT_BESIDE:
            _start_beside(problem, plan, state, sharing, work, j, shadow)
        line.advance(sharing, work, position, ANY_LENGTH if work.line.beside[kind] == BESIDE else window)


@part
def _start_beside(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int, shadow: float
) -> None:
    now, kind, chosen = state.clock[Clock.NOW], sharing.kinds.of_job[j], state.scratch.chosen
    room = measure_room(sharing, work.both, kind, work.room)
    lasting = pools.suffice_then(more_than_closing(problem.extras), state.extras, j)
    within = lasting and room >= problem.tasks[j]
    for g in range(chosen.size):
        within = within and chosen[g] <= work.room[g]
    if not within and not place_while_open(
        problem.extras, problem, plan, state, sharing, work, work.room, room, j, now
    ):
        work.line.beside[kind] = NOT_BESIDE
        return
    lasts = end_after(now + planned_duration(problem, j, state.scratch.chosen), now) > shadow
    if lasts and not lasting:
        work.line.beside[kind] = IN_BRIEF
        return
    pieces, devices = work.number[Number.PIECES], work.number[Number.DEVICES]
    if not start(problem, plan, state, sharing, work, work.both, j):
        return
    if lasts:
        take(sharing, work, work.later, kind, pieces, devices)
        pools.reserve(more_than_closing(problem.extras), state.extras, j)
    keep_both(sharing, work, j)


@part
def _go_over(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    if plan.dispatch == Dispatch.CONSERVATIVE:
        plan_the_queue(problem, plan, state, sharing, work)
        return
    if plan.dispatch == Dispatch.LOCAL:
        _start_per_cluster(problem, plan, state, sharing, work)
        return
    if plan.dispatch == Dispatch.GREEDY:
        _start_all_that_fit(problem, plan, state, sharing, work)
        return
    head = _start_from_head(problem, plan, state, sharing, work)
    if head >= 0 and plan.dispatch == Dispatch.EASY:
        _backfill(problem, plan, state, sharing, work, head)


@inlined
def _go_over_reservations(
    extras: Extras | None,
    extra_state: ExtraState | None,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> None:
    if extras is None or extra_state is None:
        return
    if extra_state.apart.of_job.size > 0 and extra_state.apart.number.sum() > 0:
        _go_over_those_that_stand(extras, extra_state, problem, plan, state, sharing, work)


@part
def _go_over_those_that_stand(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> None:
    apart, started = extra_state.apart, state.counter[Counter.STARTED]
    for r in range(apart.number.size):
        if apart.number[r] > 0 and is_active(extra_state, r):
            view = with_reservation_queue(apart, state)
            show_queue(extras, extra_state, problem, plan, view, r)
            _go_over(problem, plan, view, sharing, work)
            hide_queue(extras, apart, plan, view, r)
    if state.counter[Counter.STARTED] > started:
        limits.update_shown(extras, extra_state, state)


@inlined
def _line_up(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    # Sorts the waiting jobs of each kind if the queue order changes with time, and updates the bounds on what fits.
    queue = _scanned(plan, state)
    key = plan.backfill_key if plan.separate_backfill else plan.order_key
    if key != QueueKey.FIXED:
        if key >= QueueKey.SUBMITTED:  # such a queue has jobs that have left, until it is sorted
            reorder(problem, state, queue, key, state.clock[Clock.NOW])
        line.line_up(sharing, work, queue.order, queue.members[0], state.shortest)
    loosen_all(sharing, work)


@part
def pass_over(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Do a dispatch pass over the queue of each active reservation, and then over the general queue."""
    if state.counter[Counter.QUEUED] == 0:
        return
    sort_queues(problem, plan, state)
    if plan.dispatch != Dispatch.STRICT:
        _line_up(problem, plan, state, sharing, work)
    _go_over_reservations(problem.extras, state.extras, problem, plan, state, sharing, work)
    _go_over(problem, plan, state, sharing, work)
