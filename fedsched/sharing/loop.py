"""The event loop of shared nodes: an instant's finishes, then its submissions, then one pass [1]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, kernel
from fedsched.engine import queue as queues
from fedsched.engine.codes import Dispatch, QueueKey, Status
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.running import pop_finish, vacate
from fedsched.sharing import line
from fedsched.sharing.arrays import Number
from fedsched.sharing.fitting import fits
from fedsched.sharing.passes import pass_over
from fedsched.sharing.stock import give_back, open_all

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, State
    from fedsched.sharing.arrays import Sharing, Work

NOBODY = constant(-1)


@kernel
def begin(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> int:
    """Set the state to t0, and return the first job that fits on no nodes even then, or -1."""
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
    tested = work.bound  # kind: 1 where one of it was tried
    tested[:] = 0
    for j in problem.arrival:
        kind = sharing.kinds.of_job[j]
        if tested[kind] == 0:
            tested[kind] = 1
            if not fits(problem, plan, state, sharing, work, work.now, j):
                return j
    return NOBODY


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


@kernel
def run(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, limit: int) -> int:
    """Advance by up to `limit` instants; return a Status."""
    counter, jobs = state.counter, problem.arrival.size
    for _ in range(limit):
        if counter[Counter.FINISHED] == jobs:
            return Status.DONE
        time = _next_time(problem, state)
        if time == np.inf:
            return Status.STUCK
        state.clock[Clock.NOW] = time
        while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
            _finish_first(problem, state, sharing, work)
        while counter[Counter.ARRIVED] < jobs and problem.submit[problem.arrival[counter[Counter.ARRIVED]]] <= time:
            _arrive(problem, plan, state, sharing, work)
        pass_over(problem, plan, state, sharing, work)
    return Status.DONE if counter[Counter.FINISHED] == jobs else Status.MORE
