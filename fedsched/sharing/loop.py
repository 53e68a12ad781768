"""The event loop of shared nodes: an instant's finishes, then its submissions, then one pass [1]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, kernel
from fedsched.engine import queue as queues
from fedsched.engine.codes import Dispatch, QueueKey, Status
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.running import enter, pop_finish, vacate
from fedsched.sharing import line
from fedsched.sharing.arrays import Number
from fedsched.sharing.fitting import fits
from fedsched.sharing.passes import pass_over
from fedsched.sharing.stock import give_back, measure_room, open_all, take

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, State
    from fedsched.sharing.arrays import Ints, Sharing, Work

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
    for j in problem.arrival:
        state.start[j] = np.nan
        state.finish[j] = np.nan
    for j in problem.running:
        _go_on(problem, state, sharing, work, j)


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
            if not fits(problem, plan, state, sharing, work, work.now, j):
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
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, jobs: Ints, places: Ints
) -> None:
    """Give queued jobs these places of the queue, the first job the first place and so on, by a plan of another order.

    Those of their kinds are in `sharing.leaf` already.
    """
    line.empty(work)
    work.number[Number.BOUNDED] = NOBODY
    work.number[Number.FREED] = 0
    for i in range(jobs.size):
        j = jobs[i]
        state.queue.order[places[i]] = j
        state.queue.position[j] = places[i]
        queues.set_leaf(state.queue, places[i], problem.tasks[j], state.shortest[j])
        if plan.dispatch != Dispatch.STRICT:
            line.join(sharing, work, j, sharing.leaf[j], state.shortest[j])


@inlined
def _next_time(problem: Problem, state: State) -> float:
    time, arrived = np.inf, state.counter[Counter.ARRIVED]
    if state.counter[Counter.RUNNING] > 0:
        time = min(time, state.heap.time[0])
    if arrived < problem.arrival.size:
        time = min(time, problem.submit[problem.arrival[arrived]])
    return max(time, state.clock[Clock.NOW])


@inlined
def _finish_first(problem: Problem, state: State, sharing: Sharing, work: Work) -> None:
    j = pop_finish(state)
    vacate(problem, state, j)
    give_back(sharing, work, work.now, j)
    for i in range(work.held.first[j], work.held.first[j] + work.held.pieces[j]):
        if work.number[Number.FREED] < work.freed.size:
            work.freed[work.number[Number.FREED]] = work.held.node[i]
            work.number[Number.FREED] += 1
    state.counter[Counter.FINISHED] += 1


@inlined
def _arrive(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    j = problem.arrival[state.counter[Counter.ARRIVED]]
    state.counter[Counter.ARRIVED] += 1
    state.counter[Counter.QUEUED] += 1
    queues.enqueue(problem, plan, state, j, queues.AT_ONCE)
    if plan.dispatch == Dispatch.STRICT:
        return
    key = plan.backfill_key if plan.separate_backfill else plan.order_key
    place, kind = sharing.leaf[j], sharing.kinds.of_job[j]
    if key != QueueKey.FIXED:  # anywhere among those of its kind: the pass lines them up
        place = sharing.begin[kind] + work.line.waiting[kind]
    line.join(sharing, work, j, place, state.shortest[j])


@inlined
def _take_events(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, time: float) -> None:
    counter, jobs = state.counter, problem.arrival.size
    state.clock[Clock.NOW] = time
    while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
        _finish_first(problem, state, sharing, work)
    while counter[Counter.ARRIVED] < jobs and problem.submit[problem.arrival[counter[Counter.ARRIVED]]] <= time:
        _arrive(problem, plan, state, sharing, work)


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
