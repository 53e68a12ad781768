"""The next instant, and what happens at it before its pass: finishes, then submits (docs/readings.md 1 and 2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined
from fedsched.engine import queue as queues
from fedsched.engine.arrays import Clock, Counter
from fedsched.engine.codes import SameTime
from fedsched.engine.conservative import ends_as_planned, joins_plan
from fedsched.engine.meters import go_on
from fedsched.engine.running import leave, pop_finish, update_rates

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, State


@inlined
def next_time(problem: Problem, state: State) -> float:
    """Return when the next job ends or is submitted; never before now, infinite where nothing is left to come."""
    time = np.inf
    if state.counter[Counter.RUNNING] > 0:
        time = state.heap.time[0]
    arrived = state.counter[Counter.ARRIVED]
    if arrived < problem.arrival.size:
        time = min(time, problem.submit[problem.arrival[arrived]])
    return max(time, state.clock[Clock.NOW])


@inlined
def _finish_first(problem: Problem, state: State) -> None:
    j = pop_finish(state)
    ends_as_planned(state, j)
    leave(problem, state, j)


@inlined
def _arrive(problem: Problem, plan: Plan, state: State, mend: bool) -> None:
    j = problem.arrival[state.counter[Counter.ARRIVED]]
    state.counter[Counter.ARRIVED] += 1
    state.counter[Counter.QUEUED] += 1
    queues.enqueue(problem, plan, state, j, mend)
    joins_plan(state, j)


@inlined
def arrive_all(problem: Problem, plan: Plan, state: State) -> int:
    """Let every job submitted by now join the queue; where they are many the trees are mended once."""
    now = state.clock[Clock.NOW]
    first = state.counter[Counter.ARRIVED]
    last = first
    while last < problem.arrival.size and problem.submit[problem.arrival[last]] <= now:
        last += 1
    one_by_one = 16 * (last - first) < state.queue.tasks.size
    for _ in range(first, last):
        _arrive(problem, plan, state, one_by_one)
    if not one_by_one:
        queues.mend_prefix(state.queue, state.queue.order.size)
        if plan.separate_backfill:
            queues.mend_prefix(state.backfill, state.backfill.order.size)
    return last - first


@inlined
def take_events(problem: Problem, plan: Plan, state: State, time: float) -> None:
    """Let happen what happens at an instant before its pass."""
    counter = state.counter
    go_on(state, time)
    if problem.same_time == SameTime.BATCH:
        while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
            _finish_first(problem, state)
        update_rates(problem, state)
        arrive_all(problem, plan, state)
    else:
        arrived = counter[Counter.ARRIVED]
        if arrived < problem.arrival.size and problem.submit[problem.arrival[arrived]] <= time:
            _arrive(problem, plan, state, queues.AT_ONCE)
        else:
            _finish_first(problem, state)
            update_rates(problem, state)
