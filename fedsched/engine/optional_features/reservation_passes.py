"""Dispatch passes over the queue of each active reservation, before the pass over the general queue [46].

To other jobs a reservation is a closure of whole groups: no nodes of theirs are free, and nodes that jobs still hold
there are closed when released. The reservation's jobs see the remaining nodes of these groups as free, no nodes of
other groups, and none at all from its end on. So the state is changed to their view, the dispatch rule goes over a
queue of these jobs alone, and the state is changed back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part, with_fields
from fedsched.engine.arrays.structs import Classes
from fedsched.engine.clock import end_after
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.loop.passes import may_start_some, pass_over_apart, sort_queues
from fedsched.engine.numbers import ClassNumber, Clock, ClosedTime, Counter
from fedsched.engine.optional_features import limits
from fedsched.engine.optional_features.reservation_queues import CURRENT, GENERAL_QUEUE
from fedsched.engine.queue.queue_tree import ABSENT, NEVER, set_leaf, shown_tasks

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Plan, Problem, Queue, State
    from fedsched.engine.optional_features.reservation_queues import ReservationQueues

BEYOND_REACH = constant(1 << 40)  # more nodes than there are, closed to jobs of a reservation elsewhere
ENDLESS = np.iinfo(np.int64).max  # the patience with which a queue stays ungrouped


@inlined
def run_reservation_passes(problem: Problem, plan: Plan, state: State) -> None:
    """Do a dispatch pass over the queue of each active reservation with waiting jobs, in the order of the calendar."""
    _run_reservation_passes(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _run_reservation_passes(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> None:
    if extras is None or extra_state is None:
        return
    if extra_state.apart.of_job.size > 0 and extra_state.apart.number.sum() > 0:
        _run_passes(extras, extra_state, problem, plan, state)


@part
def _run_passes(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> None:
    own_queues, started = extra_state.apart, state.counter[Counter.STARTED]
    sorted_already = False
    for r in range(own_queues.number.size):
        if own_queues.number[r] == 0 or not is_active(extra_state, r):
            continue
        if not sorted_already:
            sort_queues(problem, plan, state)
            sorted_already = True
        view = enter_reservation(extras, extra_state, problem, plan, state, r)
        if may_start_some(plan, view):
            pass_over_apart(problem, plan, view)
        leave_reservation(extras, extra_state, problem, plan, state, view, r)
    if state.counter[Counter.STARTED] > started:
        limits.update_shown(extras, extra_state, state)


@inlined
def is_active(extra_state: ExtraState, r: int) -> bool:
    """Return whether reservation `r` has begun and not ended."""
    found = False
    for holder in extra_state.closed.holder:
        found = found or holder == r
    return found


@inlined
def enter_reservation(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, r: int
) -> State:
    """Change the state to what the jobs of reservation `r` see: only its nodes are free.

    Return the state with their queue in place of the general one; the general queue must be sorted.
    """
    view = with_reservation_queue(extra_state.apart, state)
    show_queue(extras, extra_state, problem, plan, view, r)
    _enter_reservation(extras, extra_state, problem, state, r)
    return view


@inlined
def leave_reservation(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, view: State, r: int
) -> None:
    """Change the state back to what the jobs of the general queue see.

    Nodes taken by the reservation's jobs stay taken; started jobs leave its queue.
    """
    _leave_reservation(extra_state, problem, state, r)
    hide_queue(extras, extra_state.apart, plan, view, r)


@inlined
def with_reservation_queue(own_queues: ReservationQueues, state: State) -> State:
    """Return the state with the trees for a reservation's queue in place of the general queue's; arrays are shared.

    Jobs keep their places in the order of the general queue.
    """
    return _with_queues(
        state,
        _with_trees(state.queue, own_queues.tasks, own_queues.shortest),
        _with_trees(state.backfill, own_queues.backfill_tasks, own_queues.backfill_shortest),
        Classes(own_queues.classes, own_queues.durations, state.classes.rooms),
    )


@with_fields("tasks", "shortest")
def _with_trees(queue: Queue, tasks: Ints, shortest: Floats) -> Queue:
    return queue._replace(tasks=tasks, shortest=shortest)


@with_fields("queue", "backfill", "classes")
def _with_queues(state: State, queue: Queue, backfill: Queue, classes: Classes) -> State:
    return state._replace(queue=queue, backfill=backfill, classes=classes)


@inlined
def show_queue(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, view: State, r: int) -> None:
    """Make the queue of reservation `r` the one that is scanned.

    Put its waiting jobs into the trees, except those that cannot end within the reservation.
    """
    own_queues, first, now = extra_state.apart, extras.reserved.first[r], view.clock[Clock.NOW]
    own_queues.turn[CURRENT] = r
    own_queues.classes[ClassNumber.CLASSES], own_queues.classes[ClassNumber.PATIENCE] = 0, ENDLESS
    for i in range(first, first + own_queues.number[r]):
        j = own_queues.waits[i]
        if np.isnan(view.start[j]) and end_after(now + view.shortest[j], now) <= extras.reserved.end[r]:
            _set_leaves(plan, view, j, shown_tasks(view.extras, problem.tasks[j], j), view.shortest[j])


@inlined
def hide_queue(extras: Extras, own_queues: ReservationQueues, plan: Plan, view: State, r: int) -> None:
    """Make the general queue the one that is scanned again.

    Empty the trees of reservation `r`'s queue, and drop started jobs from its waiting jobs.
    """
    first, left = extras.reserved.first[r], 0
    for i in range(first, first + own_queues.number[r]):
        j = own_queues.waits[i]
        _set_leaves(plan, view, j, ABSENT, NEVER)
        if np.isnan(view.start[j]):
            own_queues.waits[first + left] = j
            left += 1
    own_queues.number[r] = left
    own_queues.turn[CURRENT] = GENERAL_QUEUE


@inlined
def _set_leaves(plan: Plan, view: State, j: int, tasks: int, shortest: float) -> None:
    set_leaf(view.queue, view.queue.position[j], tasks, shortest)
    if plan.separate_backfill:
        set_leaf(view.backfill, view.backfill.position[j], tasks, shortest)


@inlined
def _enter_reservation(extras: Extras, extra_state: ExtraState, problem: Problem, state: State, r: int) -> None:
    own_queues, closed = extra_state.apart, extra_state.closed
    state.counter[Counter.FREE] = 0
    for g in range(closed.holder.size):
        own_queues.free[g], own_queues.owed[g] = state.free[g], closed.owed[g]
        left, closed.back[g] = -BEYOND_REACH, -BEYOND_REACH
        if closed.holder[g] == r:
            left, closed.back[g] = state.free[g] - closed.owed[g] + problem.groups.nodes[g], problem.groups.nodes[g]
        state.free[g], closed.owed[g] = max(0, left), max(0, -left)
        state.counter[Counter.FREE] += state.free[g]
    closed.time[ClosedTime.UNTIL] = extras.reserved.end[r]
    state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def _leave_reservation(extra_state: ExtraState, problem: Problem, state: State, r: int) -> None:
    # Nodes that the reservation's jobs have taken are owed to the closure, as the other jobs see it.
    own_queues, closed = extra_state.apart, extra_state.closed
    state.counter[Counter.FREE] = 0
    for g in range(closed.holder.size):
        taken = 0
        if closed.holder[g] == r:
            taken = max(0, own_queues.free[g] - own_queues.owed[g] + problem.groups.nodes[g]) - state.free[g]
        state.free[g], closed.owed[g], closed.back[g] = own_queues.free[g], own_queues.owed[g] + taken, 0
        state.counter[Counter.FREE] += state.free[g]
    closed.time[ClosedTime.UNTIL] = np.inf
    state.counter[Counter.PLAN_HOLDS] = 0
