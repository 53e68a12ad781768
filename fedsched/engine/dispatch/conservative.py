"""Conservative backfilling: every queued job gets a reservation in queue order; jobs planned for now start [12].

The plan is made anew at each instant, but only as far as needed: planning ends when no job further down the queue
could start now. A plan on a single node group stays valid until a job ends at another time than planned, or a job joins
ahead of planned ones; so it is kept and only extended (planned_starts.py, profile/long_profile.py). On several groups
most planned starts are reused (conservative_plans.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.codes import Placement, QueueKey
from fedsched.engine.dispatch import conservative_plans, planned_starts
from fedsched.engine.dispatch.greedy import exceeds_limits, start_job
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import limits, power_caps, power_states
from fedsched.engine.profile.free_profile import (
    ROUNDING,
    could_start,
    drop_past,
    fill_profile,
    first_fit,
    next_below,
    planned_end,
    reserve_window,
    row_of_now,
)
from fedsched.engine.queue.queue_tree import ANY, FIRST
from fedsched.engine.queue.scan import next_candidate, next_small

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State

NO_JOB = constant(-1)
NOWHERE = constant(-1)


@inlined
def _has_power(problem: Problem, state: State, j: int) -> bool:
    return power_caps.may_start(more_than_closing(problem.extras), state.extras, problem.tasks[j], j)


@part
def _next_starter(problem: Problem, state: State, position: int) -> int:
    # The first position from `position` on with a job that could start now if nothing before it were planned, or -1.
    profile = state.profile
    now = state.clock[Clock.NOW]
    free_now = profile.total[row_of_now(state)]
    if state.queue.tasks[1] > free_now:
        return NO_JOB
    less = next_below(state, free_now)
    window = np.inf
    free_after = free_now
    if less >= 0:
        window = (profile.time[less] - now) + ROUNDING * (abs(profile.time[less]) + abs(now))
        free_after = profile.total[less]
    position = next_candidate(problem, state, state.queue, position, free_now, window, free_after)
    while position >= 0:
        j = state.queue.order[position]
        if _has_power(problem, state, j) and (less < 0 or could_start(problem, state, j, less)):
            return position
        position = next_candidate(problem, state, state.queue, position + 1, free_now, window, free_after)
    return NO_JOB


@inlined
def _started_as_planned(problem: Problem, plan: Plan, state: State) -> bool:
    # Whether the last pass's plan is still valid; it does not include uplink loads.
    if state.counter[Counter.PLAN_HOLDS] == 0 or plan.order_key != QueueKey.FIXED:
        return False
    if limits.has_limits(state.extras):  # a start may take other jobs out of the queue
        return False
    more = more_than_closing(problem.extras)
    if power_caps.has_caps(more) or power_states.is_saved(more):  # plans look one period ahead, and know no later boots
        return False
    if plan.placement == Placement.LINK_AWARE and state.free.size > 1:
        return False
    ends = state.counter[Counter.ENDS]
    return ends == 0 or state.ends.time[ends - 1] > state.clock[Clock.NOW]  # else a job has outrun its estimate


@inlined
def _start_due_jobs(problem: Problem, plan: Plan, state: State) -> None:
    j = planned_starts.pop_due(state)
    while j >= 0:
        state.scratch.chosen[0] = problem.tasks[j]
        start_job(problem, plan, state, j)
        j = planned_starts.pop_due(state)


@part
def plan_the_queue(problem: Problem, plan: Plan, state: State) -> None:
    """Do a conservative dispatch pass: reserve nodes for jobs in queue order, and start those planned for now.

    Reserving ends when no later job could start now.
    """
    if state.counter[Counter.QUEUED] == 0 and state.counter[Counter.PLAN_HOLDS] == 0:
        return
    queue = state.queue
    profile = state.profile
    now = state.clock[Clock.NOW]
    several = state.free.size > 1
    as_planned = _started_as_planned(problem, plan, state)
    promised_to = state.counter[Counter.PLANNED_TO] if as_planned and several else FIRST
    if as_planned and not several:
        drop_past(problem, plan, state)
        _start_due_jobs(problem, plan, state)
    else:
        fill_profile(problem, plan, state)
        planned_starts.clear_planned(state)
        state.counter[Counter.PLANNED_TO] = 0
    position = next_small(problem, state, queue, state.counter[Counter.PLANNED_TO], ANY)
    starter = NO_JOB if position < 0 else _next_starter(problem, state, position)
    while 0 <= position <= starter:
        j = queue.order[position]
        begin = conservative_plans.recall_promise(state, j) if position < promised_to else NOWHERE
        if begin < 0:
            begin = first_fit(problem, plan, state, j)
            if begin >= 0 and profile.time[begin] == now and exceeds_limits(problem, state, j):
                begin = NOWHERE
            if several and not conservative_plans.keep_promise(state, j, begin):
                promised_to = FIRST
        if begin < 0:  # it waits only for the load of jobs with a pending finish, for nodes to open, or for a limit
            profile.reserved[j] = np.inf
        else:
            time = profile.time[begin]
            profile.reserved[j] = time
            end = planned_end(problem, state, j, time)
            reserve_window(problem, plan, state, j, begin, end)
            if time == now:
                start_job(problem, plan, state, j)
                if several:
                    conservative_plans.invalidate_promises(state, position, end)
            elif not several:
                planned_starts.add_planned(state, j)
        first = queue.order[starter]
        gone = position == starter or limits.is_over_limit(state.extras, first) or not _has_power(problem, state, first)
        if gone or not could_start(problem, state, first, begin if begin >= 0 else row_of_now(state)):
            starter = _next_starter(problem, state, starter + 1)
        position = next_small(problem, state, queue, position + 1, ANY)
    state.counter[Counter.PLANNED_TO] = max(position if position >= 0 else queue.position.size, promised_to)
    state.counter[Counter.PLAN_HOLDS] = 1


@inlined
def note_joined(state: State, j: int) -> None:
    """Note that a job has joined the queue.

    If it stands before a job with a reservation in the kept plan, the plan is marked invalid; the next pass makes a new
    one.
    """
    if state.queue.position[j] < state.counter[Counter.PLANNED_TO]:
        state.counter[Counter.PLAN_HOLDS] = 0
