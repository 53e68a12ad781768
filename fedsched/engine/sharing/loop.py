"""The event loop of shared nodes: an instant's cancellations, finishes and submissions, then one pass [1, 36, 44]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.engine.codes import Dispatch, Status
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.loop.running import enter, pop_finish, vacate
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import (
    cancellations,
    dependencies,
    hold_and_requeue,
    holds,
    limits,
    lost_runs,
    pools,
    reservation_queues,
)
from fedsched.engine.optional_features.downtimes import next_change
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.sharing import closing, counted, line, losing
from fedsched.engine.sharing.arrays import Number
from fedsched.engine.sharing.choosing import choose
from fedsched.engine.sharing.fitting import fits_ever
from fedsched.engine.sharing.passes import pass_over
from fedsched.engine.sharing.stock import give_back, measure_room, note_freed, open_all, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, State
    from fedsched.engine.sharing.arrays import Ints, Sharing, Work

NOBODY = constant(-1)


@kernel
def begin(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Set the state to t0, at which nobody runs but those whom the problem says so of."""
    counter = state.counter
    counter[:] = 0
    state.clock[:] = 0.0
    state.clock[Clock.NOW] = problem.t0
    state.load[:] = 0.0
    counter[Counter.TRACK_ENDS] = 1 if plan.dispatch == Dispatch.EASY else 0
    queues.begin(state.queue, plan.order, plan.order_key)
    if plan.separate_backfill:
        queues.begin(state.backfill, plan.backfill_order, plan.backfill_key)
    line.empty(work)
    work.number[:] = 0
    work.number[Number.BOUNDED] = NOBODY
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    pools.reset(problem.extras, state.extras)
    closing.open_all(problem.extras, state.extras, sharing, work, problem.t0)
    limits.reset(problem.extras, state.extras, plan, state)
    limits.stop_parking(problem.extras, state.extras, state)  # who waits of each kind is looked at here as it is
    cancellations.reset(problem.extras, state.extras, problem.t0)
    holds.reset(problem.extras, state.extras)
    reservation_queues.reset(problem.extras, state.extras)
    lost_runs.reset(state.extras)
    for j in problem.arrival:
        state.start[j] = np.nan
        state.finish[j] = np.nan
    for j in problem.running:
        _go_on(problem, state, sharing, work, j)
    dependencies.reset(problem.extras, state.extras, problem, state.start)


@inlined
def _go_on(problem: Problem, state: State, sharing: Sharing, work: Work, j: int) -> None:
    # A job that runs at t0, whose times are set, on the nodes that it has.
    held, present, number = work.held, work.present, work.number
    held.first[j], held.pieces[j] = number[Number.PIECES], present.pieces[j]
    held.first_device[j], held.devices[j] = number[Number.DEVICES], present.devices[j]
    number[Number.FOUND], number[Number.FOUND_DEVICES] = present.pieces[j], present.devices[j]
    for i in range(present.pieces[j]):
        held.node[held.first[j] + i] = present.node[present.first[j] + i]
        held.tasks[held.first[j] + i] = present.tasks[present.first[j] + i]
    for i in range(present.devices[j]):
        held.device_node[held.first_device[j] + i] = present.device_node[present.first_device[j] + i]
        held.device[held.first_device[j] + i] = present.device[present.first_device[j] + i]
        held.amount[held.first_device[j] + i] = present.amount[present.first_device[j] + i]
    take(sharing, work, work.now, sharing.kinds.of_job[j], number[Number.PIECES], number[Number.DEVICES])
    counted.take(sharing, work, j)
    number[Number.PIECES] += present.pieces[j]
    number[Number.DEVICES] += present.devices[j]
    enter(problem, state, j)


@kernel
def first_unfit(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Return the first job that fits on no nodes even while all are free, or -1."""
    state.load[:] = 0.0
    open_all(sharing, work.now)
    tested = work.bound  # kind: 1 where one of it was tried
    tested[:] = 0
    for j in problem.arrival:
        kind = sharing.kinds.of_job[j]
        if tested[kind] == 0:
            tested[kind] = 1
            if not fits_ever(problem, plan, state, sharing, work, j):
                return j
    return NOBODY


@kernel
def first_over(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Return the first job that is given nodes, while all are free, that are too many or too few of them, or -1.

    Each fits while all nodes are free.
    """
    state.load[:] = 0.0
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    work.number[Number.PIECES] = 0
    work.number[Number.DEVICES] = 0
    tested = work.bound
    tested[:] = 0
    for j in problem.arrival:
        kind = sharing.kinds.of_job[j]
        if tested[kind] == 0:
            tested[kind] = 1
            fits_ever(problem, plan, state, sharing, work, j)
            choose(sharing, work, work.now, kind, state.scratch.chosen)
            if not counted.suffice(sharing, work, j):
                return j
    return NOBODY


@kernel
def rooms(sharing: Sharing, work: Work, room: Ints) -> None:
    """Fill how many tasks of each kind fit on each group while all nodes are free, or enough where there is one."""
    open_all(sharing, work.now)
    for kind in range(room.shape[0]):
        measure_room(sharing, work.now, kind, room[kind])


@kernel
def line_up_anew(
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
    jobs: Ints,
    places: Ints,
    others: Ints,
) -> None:
    """Give queued jobs these places of the queue, the first job the first place and so on, by a plan of another order.

    Those of their kinds are in `sharing.leaf` already. Others wait, too, whose places stay, for they are in a queue of
    a reservation.
    """
    line.empty(work)
    work.number[Number.BOUNDED] = NOBODY
    work.number[Number.FREED] = 0
    for i in range(jobs.size):
        j = jobs[i]
        state.queue.order[places[i]] = j
        state.queue.position[j] = places[i]
        shown = queues.shown_tasks(state.extras, problem.tasks[j], j)
        queues.set_leaf(state.queue, places[i], shown, state.shortest[j])
        if plan.dispatch != Dispatch.STRICT:
            line.join(sharing, work, j, sharing.leaf[j], state.shortest[j])
    for j in others:
        if plan.dispatch != Dispatch.STRICT:
            line.join(sharing, work, j, sharing.leaf[j], state.shortest[j])


@kernel
def take_up(state: State, sharing: Sharing, work: Work) -> None:
    """Let what jobs that run hold be taken, and all else be free, as a run goes on of which no more is known."""
    open_all(sharing, work.now)
    counted.open_all(sharing, work)
    number, held = work.number, work.held
    for place in range(state.counter[Counter.RUNNING]):
        j = state.heap.job[place]
        number[Number.FOUND], number[Number.FOUND_DEVICES] = held.pieces[j], held.devices[j]
        take(sharing, work, work.now, sharing.kinds.of_job[j], held.first[j], held.first_device[j])
        counted.take(sharing, work, j)


@inlined
def _next_time(problem: Problem, state: State) -> float:
    time, arrived = dependencies.next_moment(state.extras), state.counter[Counter.ARRIVED]
    time = min(time, cancellations.next_cancellation(more_than_closing(problem.extras), state.extras, state))
    time = min(time, next_change(problem.extras, state.extras))
    if state.counter[Counter.RUNNING] > 0:
        time = min(time, state.heap.time[0])
    if arrived < problem.arrival.size:
        time = min(time, problem.submit[problem.arrival[arrived]])
    return max(holds.next_hold(more_than_closing(problem.extras), state.extras, state, time), state.clock[Clock.NOW])


@inlined
def _finish_first(problem: Problem, state: State, sharing: Sharing, work: Work) -> None:
    j = pop_finish(state)
    vacate(problem, state, j)
    give_back(sharing, work, work.now, j)
    counted.give_back(sharing, work, j)
    note_freed(work, j)
    state.counter[Counter.FINISHED] += 1 + dependencies.note_end(
        more_than_closing(problem.extras), state.extras, problem.arrival_rank, j, state.clock[Clock.NOW]
    )


@inlined
def _arrive(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    j = problem.arrival[state.counter[Counter.ARRIVED]]
    state.counter[Counter.ARRIVED] += 1
    now = state.clock[Clock.NOW]
    comes = dependencies.note_submit(more_than_closing(problem.extras), state.extras, problem.arrival_rank, j, now)
    if comes and not cancellations.is_gone(state.extras, j):
        _join(problem, plan, state, sharing, work, j)


@inlined
def _join(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> None:
    state.counter[Counter.QUEUED] += 1 if limits.note_joined(
        more_than_closing(problem.extras), state.extras, state, j
    ) else 0
    reservation_queues.note_joined(more_than_closing(problem.extras), state.extras, j)
    queues.enqueue(problem, plan, state, j, queues.AT_ONCE)
    dependencies.note_joined(state.extras, j)
    cancellations.note_joined(state.extras, j)
    holds.note_joined(state.extras, j)
    line.joins(plan, state, sharing, work, j)


@inlined
def _join_all_that_are_due(
    extras: Extras | None,
    extra_state: ExtraState | None,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> None:
    # Whom the time, or what has ended, makes eligible.
    if extras is None or extra_state is None:
        return
    while dependencies.next_moment(extra_state) <= state.clock[Clock.NOW]:
        j = dependencies.pop_due(extra_state, problem.arrival_rank)
        if holds.is_held(extra_state, j):
            hold_and_requeue.rejoin_queue(extras, extra_state, problem, plan, state, j)
            line.joins(plan, state, sharing, work, j)
        else:
            _join(problem, plan, state, sharing, work, j)


@inlined
def _lose_all_that_leave(
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
    _cancel_those_due(extras, extra_state, problem, plan, state, sharing, work)
    if extras.holds.first.size > 0:
        _hold_those_due(extras, extra_state, problem, plan, state, sharing, work)


@part
def _cancel_those_due(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> None:
    while cancellations.next_cancellation(extras, extra_state, state) <= state.clock[Clock.NOW]:
        j = cancellations.cancel_next(extras, extra_state, problem, plan, state)
        if j >= 0 and plan.dispatch != Dispatch.STRICT:
            line.leave(sharing, work, j)


@part
def _hold_those_due(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> None:
    j = hold_and_requeue.hold_next(extras, extra_state, problem, plan, state)
    while j >= 0:
        if plan.dispatch != Dispatch.STRICT:
            line.leave(sharing, work, j)
        j = hold_and_requeue.hold_next(extras, extra_state, problem, plan, state)


@inlined
def _take_events(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, time: float) -> None:
    counter, jobs = state.counter, problem.arrival.size
    state.clock[Clock.NOW] = time
    _lose_all_that_leave(more_than_closing(problem.extras), state.extras, problem, plan, state, sharing, work)
    while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
        _finish_first(problem, state, sharing, work)
    if losing.go_on(problem, plan, state, sharing, work):
        work.number[Number.FREED] = work.freed.size  # so many that all have to be looked at
    while counter[Counter.ARRIVED] < jobs and problem.submit[problem.arrival[counter[Counter.ARRIVED]]] <= time:
        _arrive(problem, plan, state, sharing, work)
    _join_all_that_are_due(more_than_closing(problem.extras), state.extras, problem, plan, state, sharing, work)


@kernel
def run(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, limit: int) -> int:
    """Advance by up to `limit` instants; return a Status.

    A state that asks for plans stops between the events of an instant and its pass, as in the engine's own loop.
    """
    counter, jobs = state.counter, problem.arrival.size + problem.running.size
    for _ in range(limit):
        if counter[Counter.PASS_DUE] == 0:
            if counter[Counter.FINISHED] == jobs:
                return Status.DONE
            time = _next_time(problem, state)
            if time == np.inf:
                return Status.STUCK
            _take_events(problem, plan, state, sharing, work, time)
            if counter[Counter.ASKS] == 1 and counter[Counter.QUEUED] > 0:
                counter[Counter.PASS_DUE] = 1
                return Status.ASKED
        counter[Counter.PASS_DUE] = 0
        pass_over(problem, plan, state, sharing, work)
    return Status.DONE if counter[Counter.FINISHED] == jobs else Status.MORE
