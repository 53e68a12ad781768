"""A dispatch pass over jobs that share nodes: strict, greedy, or EASY."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

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
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.placement.node_choice import planned_duration
from fedsched.engine.profile.free_profile import ROUNDING
from fedsched.engine.queue.queue_tree import ANY, FIRST, reorder
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import line
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.closing import place_while_open
from fedsched.engine.shared_nodes.fitting import fits, fits_now, keep_both, loosen, loosen_all, start
from fedsched.engine.shared_nodes.future import reserve
from fedsched.engine.shared_nodes.stock import ALL, measure_room, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, Queue, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work

NOBODY = constant(-1)
ANYBODY = np.finfo(np.float64).max  # as long as a plan may be
NOT_BESIDE, BESIDE, IN_BRIEF = constant(0), constant(1), constant(2)  # in `Line.beside`


@inlined
def _scanned(plan: Plan, state: State) -> Queue:
    return state.backfill if plan.separate_backfill else state.queue


@part
def _start_from_head(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    # Starts jobs in queue order until one does not fit; returns that one, or -1.
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
    return NOBODY


@part
def _gather(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    # The kinds that fit now, each with the first who waits.
    work.number[Number.HEAP] = 0
    for i in range(work.number[Number.KINDS]):
        kind = work.line.kinds[i]
        if work.bound[kind] < sharing.kinds.tasks[kind]:
            continue
        line.look_from(sharing, work, kind, sharing.begin[kind], ANYBODY)
        j = work.line.job[work.line.next[kind]]
        if not is_in_other_queue(state.extras, j) and fits_now(problem, plan, state, sharing, work, j):
            work.line.heap[work.number[Number.HEAP]] = kind
            work.number[Number.HEAP] += 1


@part
def _start_all_that_fit(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    _gather(problem, plan, state, sharing, work)
    position = _scanned(plan, state).position
    line.heap_up(work, position)
    while work.number[Number.HEAP] > 0:
        j = work.line.job[work.line.next[work.line.heap[0]]]
        if fits_now(problem, plan, state, sharing, work, j):
            start(problem, plan, state, sharing, work, work.now, j)
            line.advance(sharing, work, position, ANYBODY)
        else:
            line.drop(work, position)


@part
def _look_beside(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, window: float
) -> None:
    # Of the kinds that fit now those of which somebody fits beside the reservation, or is short enough.
    heap, size = work.line.heap, work.number[Number.HEAP]
    work.number[Number.HEAP] = 0
    for i in range(size):
        kind = heap[i]
        j = work.line.job[work.line.next[kind]]
        beside = NOT_BESIDE
        if fits(problem, plan, state, sharing, work, work.both, j):
            beside = BESIDE if pools.suffice_then(more_than_closing(problem.extras), state.extras, j) else IN_BRIEF
        work.line.beside[kind] = beside
        if line.look_from(sharing, work, kind, sharing.begin[kind], ANYBODY if beside == BESIDE else window):
            heap[work.number[Number.HEAP]] = kind
            work.number[Number.HEAP] += 1


@part
def _backfill(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, head: int) -> None:
    _gather(problem, plan, state, sharing, work)
    if work.number[Number.HEAP] == 0:
        return
    now, position = state.clock[Clock.NOW], _scanned(plan, state).position
    shadow = reserve(problem, plan, state, sharing, work, head)
    window = min((shadow - now) + ROUNDING * (abs(shadow) + abs(now)), ANYBODY)
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
        line.advance(sharing, work, position, ANYBODY if work.line.beside[kind] == BESIDE else window)


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
    # Lets all who wait of each kind be in their order, and know what may fit since nodes were freed.
    queue = _scanned(plan, state)
    key = plan.backfill_key if plan.separate_backfill else plan.order_key
    if key != QueueKey.FIXED:
        if key >= QueueKey.SUBMITTED:  # which keeps those who have left until it is sorted
            reorder(problem, state, queue, key, state.clock[Clock.NOW])
        line.line_up(sharing, work, queue.order, queue.members[0], state.shortest)
    loosen_all(sharing, work)


@part
def pass_over(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Go over the queue of each reservation that stands, and then over everybody's, by the plan's dispatch rule."""
    if state.counter[Counter.QUEUED] == 0:
        return
    sort_queues(problem, plan, state)
    if plan.dispatch != Dispatch.STRICT:
        _line_up(problem, plan, state, sharing, work)
    _go_over_reservations(problem.extras, state.extras, problem, plan, state, sharing, work)
    _go_over(problem, plan, state, sharing, work)
