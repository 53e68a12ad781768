"""The event loop: resumable, and the only source of every schedule (docs/readings.md 1 to 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined, kernel
from fedsched.engine import pools
from fedsched.engine import queue as queues
from fedsched.engine.arrays import Clock, Counter, Plan
from fedsched.engine.backfill import backfill_around_head
from fedsched.engine.codes import Dispatch, QueueKey, SameTime, Status
from fedsched.engine.conservative import ends_as_planned, joins_plan, plan_the_queue
from fedsched.engine.dispatch import start_all_that_fit, start_from_head, start_per_cluster
from fedsched.engine.placement import place, shortest_duration, slowest
from fedsched.engine.running import enter, leave, pop_finish, release_pending, update_rates
from fedsched.metrics import Measured, fill_row

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Problem, State


@kernel
def begin(problem: Problem, plan: Plan, state: State) -> None:
    """Set the state to t0: nothing queued, the running jobs of the problem on their nodes.

    The rows of running jobs (start, finish, planned end, time cost, work left, counts) must be set already.
    """
    counter, clock = state.counter, state.clock
    counter[:] = 0
    clock[:] = 0.0
    clock[Clock.NOW] = problem.t0
    for g in range(state.free.size):
        state.free[g] = problem.groups.nodes[g]
    counter[Counter.FREE] = problem.nodes
    pools.open_all(problem.extras, state.extras)
    state.load[:] = 0.0
    if plan.dispatch >= Dispatch.EASY or problem.same_time == SameTime.SEQUENTIAL:
        counter[Counter.TRACK_ENDS] = 1
    for j in problem.arrival:
        state.start[j] = np.nan
        state.finish[j] = np.nan
    if plan.dispatch >= Dispatch.EASY:
        for j in problem.arrival:
            state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
    queues.begin(state.queue, plan.order, plan.order_key)
    if plan.separate_backfill:
        queues.begin(state.backfill, plan.backfill_order, plan.backfill_key)
    for j in problem.running:
        state.rates.processing[j] = slowest(problem.groups, state.counts[j])
        enter(problem, state, j)
    counter[Counter.SPANNING_FIXED] = counter[Counter.SPANNING]
    update_rates(problem, state)


@inlined
def _next_time(problem: Problem, state: State) -> float:
    time = np.inf
    if state.counter[Counter.RUNNING] > 0:
        time = state.heap.time[0]
    arrived = state.counter[Counter.ARRIVED]
    if arrived < problem.arrival.size:
        time = min(time, problem.submit[problem.arrival[arrived]])
    return max(time, state.clock[Clock.NOW])


@inlined
def _advance(problem: Problem, state: State, time: float) -> None:
    # Moves the clock and integrates what lasts between two events.
    counter, clock = state.counter, state.clock
    elapsed = time - clock[Clock.NOW]
    if elapsed > 0.0:
        if counter[Counter.SATURATED_LINKS] > 0:
            clock[Clock.SATURATED_SECONDS] += counter[Counter.SATURATED_LINKS] * elapsed
        if counter[Counter.QUEUED] > 0 and state.queue.tasks[1] <= counter[Counter.FREE]:
            clock[Clock.LOST_NODE_SECONDS] += counter[Counter.FREE] * elapsed
        clock[Clock.NOW] = time


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
def _arrive_all(problem: Problem, plan: Plan, state: State) -> int:
    # Every job submitted by now joins the queue; where they are many the trees are mended once.
    now = state.clock[Clock.NOW]
    first = state.counter[Counter.ARRIVED]
    last = first
    while last < problem.arrival.size and problem.submit[problem.arrival[last]] <= now:
        last += 1
    one_by_one = 16 * (last - first) < state.queue.tasks.size
    for _ in range(first, last):
        _arrive(problem, plan, state, one_by_one)
    if not one_by_one:
        queues.mend_prefix(state.queue, state.queue.position.size)
        if plan.separate_backfill:
            queues.mend_prefix(state.backfill, state.backfill.position.size)
    return last - first


@inlined
def _dispatch(problem: Problem, plan: Plan, state: State) -> None:
    # One dispatch pass.
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem.extras, state)
    nothing_fits = state.counter[Counter.QUEUED] == 0 or state.queue.tasks[1] > state.counter[Counter.FREE]
    if nothing_fits and plan.dispatch != Dispatch.CONSERVATIVE:
        return
    now = state.clock[Clock.NOW]
    if plan.order_key != QueueKey.FIXED:
        queues.reorder(problem, state, state.queue, plan.order_key, now)
    if plan.separate_backfill and plan.backfill_key != QueueKey.FIXED:
        queues.reorder(problem, state, state.backfill, plan.backfill_key, now)
    if plan.dispatch == Dispatch.STRICT:
        start_from_head(problem, plan, state)
    elif plan.dispatch == Dispatch.GREEDY:
        start_all_that_fit(problem, plan, state)
    elif plan.dispatch == Dispatch.LOCAL:
        start_per_cluster(problem, plan, state)
    elif plan.dispatch == Dispatch.CONSERVATIVE:
        plan_the_queue(problem, plan, state)
    else:
        backfill_around_head(problem, plan, state)


@inlined
def _take_events(problem: Problem, plan: Plan, state: State, time: float) -> None:
    # What happens at an instant before its pass.
    counter = state.counter
    _advance(problem, state, time)
    if problem.same_time == SameTime.BATCH:
        while counter[Counter.RUNNING] > 0 and state.heap.time[0] <= time:
            _finish_first(problem, state)
        update_rates(problem, state)
        _arrive_all(problem, plan, state)
    else:
        arrived = counter[Counter.ARRIVED]
        if arrived < problem.arrival.size and problem.submit[problem.arrival[arrived]] <= time:
            _arrive(problem, plan, state, queues.AT_ONCE)
        else:
            _finish_first(problem, state)
            update_rates(problem, state)


@kernel
def run(problem: Problem, plan: Plan, state: State, limit: int, until: float) -> int:
    """Advance by up to `limit` instants (events, in the sequential reading), none after `until`; return a Status.

    A state that asks for plans stops between the events of an instant and its pass, where some queued job is no
    larger than what is free: the pass follows with the next call, by the plan that is given then.
    """
    counter = state.counter
    jobs = problem.submit.size
    for _ in range(limit):
        if counter[Counter.PASS_DUE] == 0:
            if counter[Counter.FINISHED] == jobs:
                return Status.DONE
            time = _next_time(problem, state)
            if time == np.inf:
                return Status.STUCK
            if time > until:
                return Status.PAUSED
            _take_events(problem, plan, state, time)
            if counter[Counter.ASKS] == 1 and state.queue.tasks[1] <= counter[Counter.FREE]:
                counter[Counter.PASS_DUE] = 1
                return Status.ASKED
        counter[Counter.PASS_DUE] = 0
        _dispatch(problem, plan, state)
        update_rates(problem, state)
    return Status.DONE if counter[Counter.FINISHED] == jobs else Status.MORE


@kernel
def loss_of_capacity(problem: Problem, state: State) -> float:
    """Return the loss of capacity up to now."""
    elapsed = state.clock[Clock.NOW] - problem.t0
    if elapsed <= 0.0:
        return 0.0
    return state.clock[Clock.LOST_NODE_SECONDS] / (problem.nodes * elapsed)


@kernel
def evaluate(
    problem: Problem,
    plan: Plan,
    orders: Ints,
    caps: Ints,
    dispatch: Ints,
    placement: Ints,
    state: State,
    user_sums: Floats,
    rows: Floats,
    first: int,
    last: int,
) -> int:
    """Fill the metric rows of candidates first..last: the batch entry. Return a Status.

    A candidate has an order, caps, a dispatch and a placement rule of its own; `plan` holds what they share
    (keys FIXED, each job's own row of caps).
    """
    measured = Measured(
        problem.submit,
        problem.tasks,
        problem.user,
        problem.groups.nodes,
        problem.groups.cluster,
        problem.groups.busy_watts,
        problem.groups.idle_watts,
    )
    for c in range(first, last):
        candidate = Plan(
            orders[c],
            plan.order_key,
            orders[c],
            plan.backfill_key,
            plan.separate_backfill,
            caps[c],
            plan.cap_row,
            dispatch[c],
            placement[c],
        )
        begin(problem, candidate, state)
        status = run(problem, candidate, state, np.iinfo(np.int64).max, np.inf)
        if status != Status.DONE:
            return status
        fill_row(
            measured,
            problem.t0,
            state.start,
            state.finish,
            state.counts,
            state.clock[Clock.SATURATED_SECONDS],
            loss_of_capacity(problem, state),
            user_sums,
            rows[c],
        )
    return Status.DONE


@kernel
def first_unplaceable(problem: Problem, plan: Plan, state: State) -> int:
    """Return the first job that could not be placed on the empty federation, or -1."""
    for g in range(state.free.size):
        state.free[g] = problem.groups.nodes[g]
    state.load[:] = 0.0
    for j in problem.arrival:
        if not place(problem, plan, j, state.free, state.load, state):
            return j
    return -1
