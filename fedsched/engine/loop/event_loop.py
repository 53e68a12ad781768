"""The event loop: resumable, and the only source of every schedule (docs/readings 1 to 4)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.engine.allocation_sums import slowest
from fedsched.engine.codes import SameTime, Status, needs_ends
from fedsched.engine.dispatch.greedy import start_all_that_fit
from fedsched.engine.loop.events import next_time, take_events
from fedsched.engine.loop.feature_flags import more_than_closing
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

UNCOUNTED = constant(1 << 40)  # free nodes of each group where jobs share nodes: the store of shared nodes counts


@part
def set_out(problem: Problem, plan: Plan, state: State) -> None:
    """Set the state to t0: nothing queued, the running jobs of the problem on their nodes.

    The rows of running jobs (start, finish, planned end, time cost, work left, counts) must be set already.
    """
    counter, clock = state.counter, state.clock
    counter[:] = 0
    clock[:] = 0.0
    clock[Clock.NOW] = problem.t0
    _free_all_nodes(problem.sharing, state.work, problem, state)
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
    if problem.sharing is None and (looks_ahead or downtimes.has_closures(problem.extras)):
        for j in problem.arrival:
            state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
    begin_ungrouped(plan, state)
    candidate_index.begin(problem, plan, state)
    queues.begin(state.queue, plan.order, plan.order_key)
    if plan.separate_backfill:
        queues.begin(state.backfill, plan.backfill_order, plan.backfill_key)
    limits.reset(problem.extras, state.extras, plan, state)
    if problem.sharing is not None:
        limits.stop_parking(problem.extras, state.extras, state)  # shared nodes group waiting jobs by themselves
    for j in problem.running:
        state.rates.processing[j] = slowest(problem.groups, state.counts[j])
        hold_from_begin(problem.sharing, state.work, j)
        enter(problem, state, j)
    dependencies.reset(problem.extras, state.extras, problem, state.start)
    if problem.sharing is None:
        downtimes.close_begun(problem.extras, state.extras, state)
    counter[Counter.SPANNING_FIXED] = counter[Counter.SPANNING]
    update_rates(problem, state)


@inlined
def _free_all_nodes(sharing: Sharing | None, work: Work | None, problem: Problem, state: State) -> None:
    if sharing is None or work is None:
        for g in range(state.free.size):
            state.free[g] = problem.groups.nodes[g]
        state.counter[Counter.FREE] = problem.nodes
        downtimes.reset(problem.extras, state.extras, problem.t0)
        return
    for g in range(state.free.size):
        state.free[g] = UNCOUNTED
    state.counter[Counter.FREE] = UNCOUNTED
    all_free.begin(problem, state, sharing, work)


@kernel
def begin(problem: Problem, plan: Plan, state: State) -> None:
    """Set the state to t0, as `set_out` does."""
    set_out(problem, plan, state)


@inlined
def _dispatch(problem: Problem, plan: Plan, state: State) -> None:
    # One dispatch pass.
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem, state)
    _pass_over_queues(problem.sharing, state.work, problem, plan, state)


@inlined
def _pass_over_queues(
    sharing: Sharing | None, work: Work | None, problem: Problem, plan: Plan, state: State
) -> None:
    if sharing is None or work is None:
        run_reservation_passes(problem, plan, state)
        if may_start_some(plan, state):
            sort_queues(problem, plan, state)
            pass_over(problem, plan, state)
        return
    passes.pass_over(problem, plan, state, sharing, work)


@kernel
def run(problem: Problem, plan: Plan, state: State, limit: int, until: float) -> int:
    """Advance by up to `limit` instants (events, in the sequential reading), none after `until`; return a Status.

    A state that asks for plans stops between the events of an instant and its pass, where some queued job is no
    larger than what is free: the pass follows with the next call, by the plan that is given then.
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
            if counter[Counter.ASKS] == 1 and state.queue.tasks[1] <= counter[Counter.FREE]:
                counter[Counter.PASS_DUE] = 1
                return Status.ASKED
        counter[Counter.PASS_DUE] = 0
        _dispatch(problem, plan, state)
        update_rates(problem, state)
    return Status.DONE if counter[Counter.FINISHED] == jobs else Status.MORE


@inlined
def run_greedily(problem: Problem, plan: Plan, state: State, spare: float) -> int:
    """Go on by `greedy`, in batches, until all ends are known; return a Status.

    It is MORE as soon as beyond `spare` node-seconds were idle while jobs waited: what remains would end too late.
    """
    counter, jobs = state.counter, problem.arrival.size
    idle = 0.0
    while counter[Counter.FINISHED] < jobs:
        waits = counter[Counter.QUEUED] > 0
        if not waits and counter[Counter.ARRIVED] == jobs and counter[Counter.SPANNING] == 0:
            return Status.DONE  # nothing can change any more
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
    """Return the first job that could not be placed on the empty federation, or -1."""
    for g in range(state.free.size):
        state.free[g] = problem.groups.nodes[g]
    state.load[:] = 0.0
    for j in problem.arrival:
        if not place(problem, plan, j, state.free, state.load, state):
            return j
        if not limits.allow_alone(problem.extras, j, state.scratch.chosen):
            return j
    return -1
