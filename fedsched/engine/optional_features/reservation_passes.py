"""A pass over the queue of each active reservation, before the pass over the general queue [46].

To other jobs a reservation is a closure of whole groups: none of their nodes are free, and nodes that jobs still hold
there are owed to it. Its own jobs see the remaining nodes of these groups as free, no nodes of other groups, and none
at all from its end on. So the state is changed to their view, the dispatch rule goes over a queue of these jobs alone,
and the state is changed back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.arrays.structs import Classes, Queue, State
from fedsched.engine.clock import end_after
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.loop.passes import may_start_some, pass_over_apart, sort_queues
from fedsched.engine.numbers import ClassNumber, Clock, ClosedTime, Counter
from fedsched.engine.optional_features import limits
from fedsched.engine.optional_features.reservation_queues import EVERYBODYS, TURN
from fedsched.engine.queue.queue_tree import ABSENT, NEVER, set_leaf, shown_tasks

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem
    from fedsched.engine.optional_features.reservation_queues import Apart

BEYOND_REACH = constant(1 << 40)  # more nodes than there are, closed to jobs of a reservation elsewhere
ENDLESS = np.iinfo(np.int64).max  # the patience with which a queue stays ungrouped


@inlined
def pass_over_reservations(problem: Problem, plan: Plan, state: State) -> None:
    """Go over the queue of each active reservation, in the order of the calendar."""
    _pass_over_reservations(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _pass_over_reservations(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> None:
    if extras is None or extra_state is None:
        return
    if extra_state.apart.of_job.size > 0 and extra_state.apart.number.sum() > 0:
        _go_over(extras, extra_state, problem, plan, state)


@part
def _go_over(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> None:
    apart, started = extra_state.apart, state.counter[Counter.STARTED]
    sorted_already = False
    for r in range(apart.number.size):
        if apart.number[r] == 0 or not stands(extra_state, r):
            continue
        if not sorted_already:
            sort_queues(problem, plan, state)
            sorted_already = True
        view = turn_to(extras, extra_state, problem, plan, state, r)
        if may_start_some(plan, view):
            pass_over_apart(problem, plan, view)
        turn_back(extras, extra_state, problem, plan, state, view, r)
    if state.counter[Counter.STARTED] > started:
        limits.show_all(extras, extra_state, state)


@inlined
def stands(extra_state: ExtraState, r: int) -> bool:
    """Return whether a reservation is active: it has begun and not ended."""
    found = False
    for holder in extra_state.closed.holder:
        found = found or holder == r
    return found


@inlined
def turn_to(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, r: int
) -> State:
    """Change the state to the view of a reservation's jobs, and return it with their queue, which is sorted."""
    view = queued_apart(extra_state.apart, state)
    show(extras, extra_state, problem, plan, view, r)
    _turn_to(extras, extra_state, problem, state, r)
    return view


@inlined
def turn_back(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, view: State, r: int
) -> None:
    """Change the state back to the view of the other jobs."""
    _turn_back(extra_state, problem, state, r)
    hide(extras, extra_state.apart, plan, view, r)


@inlined
def queued_apart(apart: Apart, state: State) -> State:
    """Return the same state with the queue of a reservation; its jobs keep their places in the general queue."""
    queue, backfill = state.queue, state.backfill
    return State(
        state.counter,
        state.clock,
        state.start,
        state.finish,
        state.planned_end,
        state.counts,
        state.shortest,
        state.rates,
        state.heap,
        state.ends,
        state.free,
        state.load,
        Queue(queue.order, queue.position, apart.tasks, apart.shortest, queue.key, queue.members),
        Queue(
            backfill.order,
            backfill.position,
            apart.backfill_tasks,
            apart.backfill_shortest,
            backfill.key,
            backfill.members,
        ),
        Classes(apart.classes, apart.durations, state.classes.rooms),
        state.profile,
        state.packing,
        state.scratch,
        state.extras,
    )


@inlined
def show(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, view: State, r: int) -> None:
    """Fill the trees with the reservation's waiting jobs that can still end within it; its queue is scanned now."""
    apart, first, now = extra_state.apart, extras.reserved.first[r], view.clock[Clock.NOW]
    apart.turn[TURN] = r
    apart.classes[ClassNumber.CLASSES], apart.classes[ClassNumber.PATIENCE] = 0, ENDLESS
    for i in range(first, first + apart.number[r]):
        j = apart.waits[i]
        if np.isnan(view.start[j]) and end_after(now + view.shortest[j], now) <= extras.reserved.end[r]:
            _set_leaves(plan, view, j, shown_tasks(view.extras, problem.tasks[j], j), view.shortest[j])


@inlined
def hide(extras: Extras, apart: Apart, plan: Plan, view: State, r: int) -> None:
    """Empty the trees, drop jobs that have started, and go back to the general queue."""
    first, left = extras.reserved.first[r], 0
    for i in range(first, first + apart.number[r]):
        j = apart.waits[i]
        _set_leaves(plan, view, j, ABSENT, NEVER)
        if np.isnan(view.start[j]):
            apart.waits[first + left] = j
            left += 1
    apart.number[r] = left
    apart.turn[TURN] = EVERYBODYS


@inlined
def _set_leaves(plan: Plan, view: State, j: int, tasks: int, shortest: float) -> None:
    set_leaf(view.queue, view.queue.position[j], tasks, shortest)
    if plan.separate_backfill:
        set_leaf(view.backfill, view.backfill.position[j], tasks, shortest)


@inlined
def _turn_to(extras: Extras, extra_state: ExtraState, problem: Problem, state: State, r: int) -> None:
    apart, closed = extra_state.apart, extra_state.closed
    state.counter[Counter.FREE] = 0
    for g in range(closed.holder.size):
        apart.free[g], apart.owed[g] = state.free[g], closed.owed[g]
        left, closed.back[g] = -BEYOND_REACH, -BEYOND_REACH
        if closed.holder[g] == r:
            left, closed.back[g] = state.free[g] - closed.owed[g] + problem.groups.nodes[g], problem.groups.nodes[g]
        state.free[g], closed.owed[g] = max(0, left), max(0, -left)
        state.counter[Counter.FREE] += state.free[g]
    closed.time[ClosedTime.UNTIL] = extras.reserved.end[r]
    state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def _turn_back(extra_state: ExtraState, problem: Problem, state: State, r: int) -> None:
    # Nodes that the reservation's jobs have taken are owed to the closure, as the other jobs see it.
    apart, closed = extra_state.apart, extra_state.closed
    state.counter[Counter.FREE] = 0
    for g in range(closed.holder.size):
        taken = 0
        if closed.holder[g] == r:
            taken = max(0, apart.free[g] - apart.owed[g] + problem.groups.nodes[g]) - state.free[g]
        state.free[g], closed.owed[g], closed.back[g] = apart.free[g], apart.owed[g] + taken, 0
        state.counter[Counter.FREE] += state.free[g]
    closed.time[ClosedTime.UNTIL] = np.inf
    state.counter[Counter.PLAN_HOLDS] = 0
