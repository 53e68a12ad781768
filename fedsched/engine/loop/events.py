"""The time of the next event, and the events of an instant: all that happens at it before its dispatch pass.

Events are cancellations, holds, finishes, downtimes, submits, jobs that become eligible, and changes of power caps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.engine.codes import SameTime
from fedsched.engine.dispatch.conservative import note_joined
from fedsched.engine.loop.feature_flags import more_is, more_than_closing
from fedsched.engine.loop.metric_integrals import go_on
from fedsched.engine.loop.running import (
    begin_to_send,
    ends_as_planned,
    next_boot_over,
    pop_finish,
    update_rates,
    vacate,
)
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import (
    cancellations,
    dependencies,
    downtimes,
    hold_and_requeue,
    holds,
    limits,
    power_caps,
    reservation_queues,
    victims,
)
from fedsched.engine.optional_features.moldable import begin_instant, may_choose
from fedsched.engine.optional_features.molding import choose_shape
from fedsched.engine.queue import incremental_pass
from fedsched.engine.queue import queue_tree as queues

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, State


@inlined
def next_time(problem: Problem, state: State) -> float:
    """Return the time of the next event: now at the earliest, and infinite if no event is to come."""
    time = _next_but_caps(problem, state)
    time = min(time, power_caps.next_step(more_than_closing(problem.extras), state.extras, state))
    return max(time, state.clock[Clock.NOW])


@inlined
def is_last(problem: Problem, state: State) -> bool:
    """Return whether no event is to come; changes of recurring caps alone are no such event [33]."""
    lasting = power_caps.next_lasting_step(more_than_closing(problem.extras), state.extras)
    return min(_next_but_caps(problem, state), lasting) == np.inf


@inlined
def _next_but_caps(problem: Problem, state: State) -> float:
    time = downtimes.next_change(problem.extras, state.extras)
    if state.counter[Counter.RUNNING] > 0:
        time = min(time, state.heap.time[0])
    arrived = state.counter[Counter.ARRIVED]
    if arrived < problem.arrival.size:
        time = min(time, problem.submit[problem.arrival[arrived]])
    if more_is(problem.extras):
        more = more_than_closing(problem.extras)
        time = min(time, dependencies.next_moment(state.extras))
        time = min(time, cancellations.next_cancellation(more, state.extras, state))
        time = holds.next_hold(more, state.extras, state, time)
        time = min(time, next_boot_over(state))
    return time


@inlined
def _caps_change(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, state: State, time: float
) -> bool:
    if extras is None or extra_state is None:
        return False
    if extras.ceilings.period.size == 0:
        return False
    quiet = _next_but_caps(problem, state) > time
    return power_caps.take_steps(extras.ceilings, extra_state.beneath, time, quiet)


@inlined
def _finish_first(problem: Problem, state: State) -> None:
    j = pop_finish(state)
    ends_as_planned(state, j)
    vacate(problem, state, j)
    state.counter[Counter.FINISHED] += 1
    if more_is(problem.extras):
        state.counter[Counter.FINISHED] += dependencies.note_end(
            more_than_closing(problem.extras), state.extras, problem.arrival_rank, j, state.clock[Clock.NOW]
        )


@inlined
def _join(problem: Problem, plan: Plan, state: State, j: int, mend: bool) -> None:
    if more_is(problem.extras):
        _join_with_extras(problem, plan, state, j, mend)
    else:
        _enter_queue(problem, plan, state, j, mend)


@part
def _join_with_extras(problem: Problem, plan: Plan, state: State, j: int, mend: bool) -> None:
    # With optional features this is long: as a part it is compiled once, not into each of its callers.
    _enter_queue(problem, plan, state, j, mend)


@inlined
def _enter_queue(problem: Problem, plan: Plan, state: State, j: int, mend: bool) -> None:
    more = more_than_closing(problem.extras)
    choose_shape(more, state.extras, problem, plan, state, j)
    state.counter[Counter.QUEUED] += 1 if limits.note_joined(more, state.extras, state, j) else 0
    reservation_queues.note_joined(more, state.extras, j)
    queues.enqueue(problem, plan, state, j, mend)
    if more_is(problem.extras):
        dependencies.note_joined(state.extras, j)
        cancellations.note_joined(state.extras, j)
        holds.note_joined(state.extras, j)
    note_joined(state, j)
    incremental_pass.note_joined(state, j)


@inlined
def _arrive(problem: Problem, plan: Plan, state: State, mend: bool) -> None:
    j = problem.arrival[state.counter[Counter.ARRIVED]]
    state.counter[Counter.ARRIVED] += 1
    comes = True
    if more_is(problem.extras):
        now = state.clock[Clock.NOW]
        comes = dependencies.note_submit(more_than_closing(problem.extras), state.extras, problem.arrival_rank, j, now)
        comes = comes and not cancellations.is_gone(state.extras, j)
    if comes:
        _join(problem, plan, state, j, mend)


@inlined
def _join_all_that_are_due(problem: Problem, plan: Plan, state: State) -> None:
    while dependencies.next_moment(state.extras) <= state.clock[Clock.NOW]:
        _join_next(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _join_next(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> None:
    # The first job on the timer joins the queue.
    if extras is None or extra_state is None:
        return
    j = dependencies.pop_due(extra_state, problem.arrival_rank)
    if holds.is_held(extra_state, j):
        hold_and_requeue.rejoin_queue(extras, extra_state, problem, plan, state, j)
    else:
        _join(problem, plan, state, j, queues.AT_ONCE)


@inlined
def arrive_all(problem: Problem, plan: Plan, state: State) -> int:
    """Process all submits until now; return how many there are.

    A submitted job joins the queue unless it still waits for a condition or was cancelled. If there are many submits,
    the inner nodes of the queue's trees are recomputed only once, after the last.
    """
    now = state.clock[Clock.NOW]
    first = state.counter[Counter.ARRIVED]
    last = first
    while last < problem.arrival.size and problem.submit[problem.arrival[last]] <= now:
        last += 1
    one_by_one = may_choose(more_than_closing(problem.extras)) or 16 * (last - first) < state.queue.tasks.size
    for _ in range(first, last):
        _arrive(problem, plan, state, one_by_one)
    if not one_by_one:
        queues.rebuild_prefix(state.queue, state.queue.order.size)
        if plan.separate_backfill:
            queues.rebuild_prefix(state.backfill, state.backfill.order.size)
    return last - first


@inlined
def take_events(problem: Problem, plan: Plan, state: State, time: float) -> None:
    """Move the clock to `time` and process events of this instant, before its dispatch pass.

    In the batch reading these are all events of the instant. In the sequential reading they are all of its
    cancellations, holds, and changes of caps and nodes. If no caps or nodes change, the next submit, eligible job or
    finish follows.
    """
    counter = state.counter
    more, changed, cancelled = more_is(problem.extras), False, False
    if more:
        changed = _caps_change(more_than_closing(problem.extras), state.extras, problem, state, time)
    go_on(problem.extras, state, time)
    if more:
        begin_instant(state.extras)
        cancelled = cancellations.cancel_due(problem, plan, state)
        cancelled = hold_and_requeue.hold_due(problem, plan, state) or cancelled
    if problem.same_time == SameTime.BATCH:
        while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
            _finish_first(problem, state)
        if more:
            begin_to_send(state, time)
        update_rates(problem, state)
        victims.process_downtimes(problem, plan, state)
        arrive_all(problem, plan, state)
        if more:
            _join_all_that_are_due(problem, plan, state)
    elif not victims.process_downtimes(problem, plan, state) and not changed:
        arrived = counter[Counter.ARRIVED]
        if arrived < problem.arrival.size and problem.submit[problem.arrival[arrived]] <= time:
            _arrive(problem, plan, state, queues.AT_ONCE)
        elif dependencies.next_moment(state.extras) <= time:
            _join_next(more_than_closing(problem.extras), state.extras, problem, plan, state)
        elif not cancelled or (counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time):
            _finish_first(problem, state)
            update_rates(problem, state)
            _join_all_that_are_due(problem, plan, state)
