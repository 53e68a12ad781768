"""Conservative backfilling: every queued job gets a reservation in queue order; what is due now starts [12].

The plan is made anew at each instant, but only as far as it matters: planning ends where no job further down the
queue could start now. On a single node group a plan stays right until a job ends off its planned end or a job
joins ahead of planned ones, so it is kept and only lengthened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine.arrays import Clock, Counter
from fedsched.engine.codes import Placement, QueueKey
from fedsched.engine.dispatch import ROUNDING, planned_load, start_job
from fedsched.engine.placement import fill_demand, place, planned_duration
from fedsched.engine.queue import ANY, FIRST, next_candidate, next_small
from fedsched.engine.running import end_after

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, Profile, State

NOW = constant(0)  # the breakpoint of now


@part
def _profile_of_running_jobs(problem: Problem, plan: Plan, state: State) -> None:
    profile = state.profile
    now = state.clock[Clock.NOW]
    profile.time[0] = now
    for g in range(state.free.size):
        profile.free[0, g] = state.free[g]
    row = 0
    for i in range(state.counter[Counter.ENDS] - 1, -1, -1):
        time = end_after(state.ends.time[i], now)
        if time != profile.time[row]:
            row += 1
            profile.time[row] = time
            for g in range(state.free.size):
                profile.free[row, g] = profile.free[row - 1, g]
        j = state.ends.job[i]
        for g in range(state.free.size):
            profile.free[row, g] += state.counts[j, g]
    state.counter[Counter.BREAKPOINTS] = row + 1
    if plan.placement == Placement.LINK_AWARE:
        # Row 0 stands for right after now, without pending finishes; for now itself the load is `state.load`.
        planned_load(problem, state, np.nextafter(now, np.inf), profile.load[0])
        for b in range(1, row + 1):
            planned_load(problem, state, profile.time[b], profile.load[b])


@part
def _break_at(state: State, time: float, first: int) -> int:
    # The breakpoint at `time`, made if there is none; `first` is a breakpoint at or before it.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    low, high = first, rows
    while low < high:
        middle = (low + high) // 2
        if profile.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    if low < rows and profile.time[low] == time:
        return low
    for b in range(rows, low, -1):
        profile.time[b] = profile.time[b - 1]
        for g in range(state.free.size):
            profile.free[b, g] = profile.free[b - 1, g]
    profile.time[low] = time
    for g in range(state.free.size):
        profile.free[low, g] = profile.free[low - 1, g]
    if profile.load.shape[0] > 0:
        for b in range(rows, low, -1):
            for k in range(state.load.size):
                profile.load[b, k] = profile.load[b - 1, k]
        for k in range(state.load.size):
            profile.load[low, k] = profile.load[low - 1, k]
    state.counter[Counter.BREAKPOINTS] = rows + 1
    return low


@inlined
def _reserve(problem: Problem, plan: Plan, state: State, j: int, begin: int, end_time: float) -> None:
    # Takes the nodes in `state.scratch.chosen` from breakpoint `begin` up to `end_time`.
    profile = state.profile
    end = _break_at(state, end_time, begin)
    for b in range(begin, end):
        for g in range(state.free.size):
            profile.free[b, g] -= state.scratch.chosen[g]
    if plan.placement == Placement.LINK_AWARE and fill_demand(
        problem.groups, problem.tasks[j], problem.bandwidth[j], state.scratch.chosen, state.scratch.demand
    ):
        for b in range(begin, end):
            for k in range(state.load.size):
                profile.load[b, k] += state.scratch.demand[k]


@inlined
def _free_in(profile: Profile, b: int) -> int:
    total = 0
    for g in range(profile.free.shape[1]):
        total += profile.free[b, g]
    return total


@inlined
def _fits_from(problem: Problem, plan: Plan, state: State, j: int, begin: int) -> bool:
    # Whether the job fits from breakpoint `begin` on; fills `state.scratch.chosen`.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    low, peak = profile.low, profile.peak
    link_aware = plan.placement == Placement.LINK_AWARE
    time = profile.time[begin]
    end = end_after(time + state.shortest[j], time)
    for g in range(low.size):
        low[g] = profile.free[begin, g]
    if link_aware:
        for k in range(peak.size):
            peak[k] = state.load[k] if begin == 0 else profile.load[begin, k]
    b = begin + 1
    while True:
        total = 0
        while b < rows and profile.time[b] < end:
            for g in range(low.size):
                low[g] = min(low[g], profile.free[b, g])
            if link_aware:
                for k in range(peak.size):
                    peak[k] = max(peak[k], profile.load[b, k])
            b += 1
        for g in range(low.size):
            total += low[g]
        if total < problem.tasks[j] or not place(problem, plan, j, low, peak, state):
            return False
        planned = end_after(time + planned_duration(problem, j, state.scratch.chosen), time)
        if planned <= end:
            return True
        end = planned


@part
def _first_fit(problem: Problem, plan: Plan, state: State, j: int) -> int:
    # The breakpoint from which the job can run, its nodes in `state.scratch.chosen`.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    tasks = problem.tasks[j]
    if state.free.size > 1:
        for b in range(rows):
            if _free_in(profile, b) >= tasks and _fits_from(problem, plan, state, j, b):
                return b
        return -1
    # One group: a job fits over a window iff its tasks fit everywhere in it, so failed windows are skipped whole.
    state.scratch.chosen[0] = tasks
    begin = 0
    duration = state.shortest[j]
    while begin < rows:
        if profile.free[begin, 0] < tasks:
            begin += 1
            continue
        end = profile.time[begin] + duration  # were it too near for the clock: a window holds its begin [0]
        b = begin + 1
        while b < rows and profile.time[b] < end and profile.free[b, 0] >= tasks:
            b += 1
        if b == rows or profile.time[b] >= end:
            return begin
        begin = b + 1
    return -1


@part
def _next_starter(state: State, position: int) -> int:
    # The first position from `position` on whose job could start now if nothing before it were planned, or -1.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    now = profile.time[0]
    free_now = _free_in(profile, NOW)
    less = NOW + 1
    while less < rows and _free_in(profile, less) >= free_now:
        less += 1
    window = np.inf
    free_after = free_now
    if less < rows:
        window = (profile.time[less] - now) + ROUNDING * (abs(profile.time[less]) + abs(now))
        free_after = _free_in(profile, less)
    position = next_candidate(state.queue, position, free_now, window, free_after)
    while position >= 0:
        leaf = state.queue.tasks.size // 2 + position
        end = now + state.queue.shortest[leaf] * (1.0 - ROUNDING)
        b = less
        while b < rows and profile.time[b] < end and _free_in(profile, b) >= state.queue.tasks[leaf]:
            b += 1
        if b >= rows or profile.time[b] >= end:
            return position
        position = next_candidate(state.queue, position + 1, free_now, window, free_after)
    return -1


@inlined
def _standing_plan_holds(plan: Plan, state: State) -> bool:
    if state.counter[Counter.PLAN_HOLDS] == 0 or plan.order_key != QueueKey.FIXED or state.free.size > 1:
        return False
    ends = state.counter[Counter.ENDS]
    return ends == 0 or state.ends.time[ends - 1] > state.clock[Clock.NOW]  # else a job has outrun its estimate


@inlined
def _forget_the_past(state: State) -> None:
    # Makes `now` the first breakpoint of the standing plan.
    profile = state.profile
    now = state.clock[Clock.NOW]
    rows = state.counter[Counter.BREAKPOINTS]
    past = 0
    while past + 1 < rows and profile.time[past + 1] <= now:
        past += 1
    if past > 0:
        for b in range(past, rows):
            profile.time[b - past] = profile.time[b]
            profile.free[b - past, 0] = profile.free[b, 0]
        state.counter[Counter.BREAKPOINTS] = rows - past
    profile.time[0] = now


@inlined
def _start_what_is_due(problem: Problem, plan: Plan, state: State) -> None:
    now = state.clock[Clock.NOW]
    if state.clock[Clock.NEXT_DUE] > now:
        return
    next_due = np.inf
    position = next_small(state.queue, FIRST, ANY)
    while 0 <= position < state.counter[Counter.PLANNED_TO]:
        j = state.queue.order[position]
        if state.profile.reserved[j] <= now:
            state.scratch.chosen[0] = problem.tasks[j]
            start_job(problem, plan, state, j)
        else:
            next_due = min(next_due, state.profile.reserved[j])
        position = next_small(state.queue, position + 1, ANY)
    state.clock[Clock.NEXT_DUE] = next_due


@part
def plan_the_queue(problem: Problem, plan: Plan, state: State) -> None:
    """Reserve for the queued jobs in order as far as it matters, and start what is due."""
    if state.counter[Counter.QUEUED] == 0 and state.counter[Counter.PLAN_HOLDS] == 0:
        return
    queue = state.queue
    profile = state.profile
    if _standing_plan_holds(plan, state):
        _forget_the_past(state)
        _start_what_is_due(problem, plan, state)
    else:
        _profile_of_running_jobs(problem, plan, state)
        state.counter[Counter.PLANNED_TO] = 0
        state.clock[Clock.NEXT_DUE] = np.inf
    starter = -1
    position = next_small(queue, state.counter[Counter.PLANNED_TO], ANY)
    while position >= 0:
        if starter < position or problem.tasks[queue.order[starter]] > _free_in(profile, NOW):
            starter = _next_starter(state, position)
            if starter < 0:
                break
        j = queue.order[position]
        begin = _first_fit(problem, plan, state, j)
        if begin < 0:  # it waits only for the load of jobs whose finish is pending: the next pass sees it
            position = next_small(queue, position + 1, ANY)
            continue
        duration = planned_duration(problem, j, state.scratch.chosen)
        profile.reserved[j] = profile.time[begin]
        _reserve(problem, plan, state, j, begin, end_after(profile.time[begin] + duration, profile.time[begin]))
        if begin == 0:
            start_job(problem, plan, state, j)
        else:
            state.clock[Clock.NEXT_DUE] = min(state.clock[Clock.NEXT_DUE], profile.reserved[j])
        position = next_small(queue, position + 1, ANY)
    state.counter[Counter.PLANNED_TO] = position if position >= 0 else queue.position.size
    state.counter[Counter.PLAN_HOLDS] = 1


@inlined
def joins_plan(state: State, j: int) -> None:
    """Note that a job has joined the queue: a standing plan falls if the job comes before planned ones."""
    if state.queue.position[j] < state.counter[Counter.PLANNED_TO]:
        state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def ends_as_planned(state: State, j: int) -> None:
    """Note that a job has ended: a standing plan falls if that is not when it was planned to."""
    if state.planned_end[j] != state.clock[Clock.NOW]:
        state.counter[Counter.PLAN_HOLDS] = 0
