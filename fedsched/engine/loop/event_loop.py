"""The event loop, which makes every schedule and can be interrupted and continued at any instant [1 to 4].

Numbers in brackets are those of docs/readings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.engine.allocation_sums import slowest
from fedsched.engine.codes import SameTime, Status, needs_ends
from fedsched.engine.dispatch.greedy import start_all_that_fit
from fedsched.engine.loop.events import next_time, take_events
from fedsched.engine.loop.feature_flags import counted_nodes, more_than_closing
from fedsched.engine.loop.passes import may_start_some, pass_over, sort_queues
from fedsched.engine.loop.running import enter, release_pending, update_rates
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import (
    cancellations,
    dependencies,
    downtimes,
    holds,
    limits,
    lost_runs,
    moldable,
    pools,
    power_caps,
    power_states,
    reservation_queues,
)
from fedsched.engine.optional_features.reservation_passes import run_reservation_passes
from fedsched.engine.placement.node_choice import place, shortest_duration
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.queue.classes import begin_ungrouped
from fedsched.engine.shared_nodes import all_free, passes
from fedsched.engine.shared_nodes.allocations import hold_from_begin

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work

UNCOUNTED = constant(1 << 40)  # free nodes of each group if jobs share nodes: `State.work` has the true amounts


@part
def set_out(problem: Problem, plan: Plan, state: State) -> None:
    """Set the state to t0: no job is queued, and the problem's running jobs hold their nodes.

    The caller has set start, finish, planned end, rate, remaining work and nodes (`counts`) of the running jobs.
    """
    counter, clock = state.counter, state.clock
    counter[:] = 0
    clock[:] = 0.0
    clock[Clock.NOW] = problem.t0
    _free_counted_nodes(counted_nodes(problem), state)
    _free_shared_nodes(problem.sharing, state.work, problem, state)
    pools.reset(problem.extras, state.extras)
    power_caps.reset(problem.extras, state.extras, problem.t0)
    power_states.reset(problem.extras, state.extras, problem.groups.nodes, problem.t0)
    lost_runs.reset(state.extras)
    reservation_queues.reset(problem.extras, state.extras)
    cancellations.reset(problem.extras, state.extras, problem.t0)
    holds.reset(problem.extras, state.extras)
    moldable.reset(problem.extras, state.extras)
    state.load[:] = 0.0
    looks_ahead = needs_ends(plan.dispatch) or moldable.may_choose(more_than_closing(problem.extras))
    any_caps = power_caps.has_caps(more_than_closing(problem.extras))
    if looks_ahead or problem.same_time == SameTime.SEQUENTIAL or any_caps:
        counter[Counter.TRACK_ENDS] = 1
    for j in problem.arrival:
        state.start[j] = np.nan
        state.finish[j] = np.nan
    if looks_ahead or downtimes.has_closures(problem.extras):
        _find_shortest(counted_nodes(problem), plan, state)
    begin_ungrouped(plan, state)
    candidate_index.begin(problem, plan, state)
    queues.begin(state.queue, plan.order, plan.order_key)
    if plan.separate_backfill:
        queues.begin(state.backfill, plan.backfill_order, plan.backfill_key)
    limits.reset(problem.extras, state.extras, plan, state)
    if problem.sharing is not None:
        limits.stop_parking(problem.extras, state.extras, state)  # scans skip jobs by kind (shared_nodes/line.py)
    for j in problem.running:
        state.rates.processing[j] = slowest(problem.groups, state.counts[j])
        hold_from_begin(problem.sharing, state.work, j)
        more = more_than_closing(problem.extras)
        power_states.hold_from_begin(more, state.extras, j, state.counts[j], state.start[j])
        enter(problem, state, j)
    dependencies.reset(problem.extras, state.extras, problem, state.start)
    _close_begun(counted_nodes(problem), state)
    power_states.go_on(more_than_closing(problem.extras), state.extras, problem.t0)
    counter[Counter.SPANNING_FIXED] = counter[Counter.SPANNING]
    update_rates(problem, state)
    counter[Counter.SPANNING_FIXED] = _settled_before(problem, state)


@inlined
def _settled_before(problem: Problem, state: State) -> int:
    """Return how many of the spanning jobs have a settled rate: not those that started at t0, in the batch reading [6].

    Jobs of the next pass start at the same instant. The spanning jobs are in start order.
    """
    count = state.counter[Counter.SPANNING]
    if problem.same_time == SameTime.BATCH:
        while count > 0 and state.start[state.rates.spanning[count - 1]] == problem.t0:
            count -= 1
    return count


@inlined
def _free_counted_nodes(problem: Problem | None, state: State) -> None:
    if problem is None:
        return
    for g in range(state.free.size):
        state.free[g] = problem.groups.nodes[g]
    state.counter[Counter.FREE] = problem.nodes
    downtimes.reset(problem.extras, state.extras, problem.t0)


@inlined
def _free_shared_nodes(sharing: Sharing | None, work: Work | None, problem: Problem, state: State) -> None:
    if sharing is None or work is None:
        return
    for g in range(state.free.size):
        state.free[g] = UNCOUNTED
    state.counter[Counter.FREE] = UNCOUNTED
    all_free.begin(problem, state, sharing, work)


@inlined
def _find_shortest(problem: Problem | None, plan: Plan, state: State) -> None:
    if problem is None:  # on shared nodes these are set already
        return
    for j in problem.arrival:
        state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])


@inlined
def _close_begun(problem: Problem | None, state: State) -> None:
    if problem is None:
        return
    downtimes.close_begun(problem.extras, state.extras, state)


@kernel
def begin(problem: Problem, plan: Plan, state: State) -> None:
    """Set the state to t0, as `set_out` does; this function can be called from Python."""
    set_out(problem, plan, state)


@kernel
def change_until(problem: Problem, state: State, time: float) -> None:
    """Let downtimes close and open nodes until `time`, in a state in which nothing else happens before that."""
    change = downtimes.next_change(problem.extras, state.extras)
    while change <= time:
        state.clock[Clock.NOW] = change
        _close_begun(counted_nodes(problem), state)
        change = downtimes.next_change(problem.extras, state.extras)


@inlined
def _dispatch(problem: Problem, plan: Plan, state: State) -> None:
    # Does one dispatch pass.
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem, state)
    _pass_over_counted(counted_nodes(problem), plan, state)
    _pass_over_shared(problem.sharing, state.work, problem, plan, state)


@inlined
def _pass_over_counted(problem: Problem | None, plan: Plan, state: State) -> None:
    if problem is None:
        return
    run_reservation_passes(problem, plan, state)
    if may_start_some(plan, state):
        sort_queues(problem, plan, state)
        pass_over(problem, plan, state)


@inlined
def _pass_over_shared(
    sharing: Sharing | None, work: Work | None, problem: Problem, plan: Plan, state: State
) -> None:
    if sharing is None or work is None:
        return
    passes.pass_over(problem, plan, state, sharing, work)


@kernel
def run(problem: Problem, plan: Plan, state: State, limit: int, until: float) -> int:
    """Advance by up to `limit` instants (single events in the sequential reading), none after `until`; return a Status.

    DONE: all jobs have finished. PAUSED: the next instant is after `until`. STUCK: no event is to come, so the other
    jobs can never start. MORE: `limit` is reached. ASKED: the state asks for plans (`Counter.ASKS`), the events of an
    instant are processed, and some queued job needs no more nodes than are free. The next call does the pass of that
    instant, by the plan that it is given.
    """
    counter = state.counter
    jobs = problem.arrival.size + problem.running.size
    for _ in range(limit):
        if counter[Counter.PASS_DUE] == 0:
            if counter[Counter.FINISHED] == jobs:
                return Status.DONE
            time = next_time(problem, state)
            if time == np.inf:
                return Status.STUCK
            if time > until:
                return Status.PAUSED
            take_events(problem, plan, state, time)
            if counter[Counter.ASKS] == 1:
                if problem.same_time == SameTime.SEQUENTIAL:
                    release_pending(problem, state)  # plans see what the pass sees
                if state.queue.tasks[1] <= counter[Counter.FREE]:
                    counter[Counter.PASS_DUE] = 1
                    return Status.ASKED
        counter[Counter.PASS_DUE] = 0
        _dispatch(problem, plan, state)
        update_rates(problem, state)
    return Status.DONE if counter[Counter.FINISHED] == jobs else Status.MORE


@inlined
def run_greedily(problem: Problem, plan: Plan, state: State, spare: float) -> int:
    """Continue by the greedy rule, in the batch reading, until all ends are known; return a Status.

    DONE: all jobs have started, and their ends cannot change. MORE: more than `spare` node-seconds were idle while jobs
    waited, so the last job would end too late. STUCK: no event is to come.
    """
    counter, jobs = state.counter, problem.arrival.size
    idle = 0.0
    while counter[Counter.FINISHED] < jobs:
        waits = counter[Counter.QUEUED] > 0
        if not waits and counter[Counter.ARRIVED] == jobs and counter[Counter.SPANNING] == 0:
            return Status.DONE  # no job waits or is to come, and no uplink load can change an end
        time = next_time(problem, state)
        if time == np.inf:
            return Status.STUCK
        if waits:
            idle += counter[Counter.FREE] * (time - state.clock[Clock.NOW])
            if idle > spare:
                return Status.MORE
        take_events(problem, plan, state, time)
        if counter[Counter.QUEUED] > 0 and state.queue.tasks[1] <= counter[Counter.FREE]:
            start_all_that_fit(problem, plan, state)
        update_rates(problem, state)
    return Status.DONE


@kernel
def first_unplaceable(problem: Problem, plan: Plan, state: State) -> int:
    """Return the first job that cannot be placed on the empty federation, or exceeds a limit there; -1 if none does."""
    for g in range(state.free.size):
        state.free[g] = problem.groups.nodes[g]
    state.load[:] = 0.0
    for j in problem.arrival:
        if not place(problem, plan, j, state.free, state.load, state):
            return j
        if not limits.allow_alone(problem.extras, j, state.scratch.chosen):
            return j
    return -1
