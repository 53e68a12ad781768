"""What is free, and when: the profile of nodes, loads and pools over the breakpoints of a plan [8, 12, 22, 31].

A plan that looks ahead fills the profile with what the running jobs leave, finds windows in it, and takes them off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine import calendar, pools
from fedsched.engine.arrays import Clock, Counter
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Placement
from fedsched.engine.placement import fill_demand, place, planned_duration

if TYPE_CHECKING:
    from fedsched.engine.arrays import Extras, ExtraState, Floats, Ints, Plan, Problem, Profile, State

NOW = constant(0)  # the breakpoint of now
MOST_AT_ONCE = constant(64)  # breakpoints that are added before a search goes on
ROUNDING = 1e-12  # by how much, relative to the clock, the search for candidates is wider than the test


@inlined
def planned_load(problem: Problem, state: State, time: float, load: Floats) -> None:
    """Fill the load of every uplink that the running jobs are planned to cause after now, at `time` [22]."""
    now = state.clock[Clock.NOW]
    load[:] = 0.0
    for i in range(state.counter[Counter.SPANNING]):
        j = state.rates.spanning[i]
        if end_after(state.planned_end[j], now) > time:
            for k in range(load.size):
                load[k] += state.rates.demand[j, k]


@part
def fill_profile(problem: Problem, plan: Plan, state: State) -> None:
    """Fill the profile with what is free at the planned ends of the running jobs, and as nodes close and open."""
    now = state.clock[Clock.NOW]
    state.counter[Counter.BREAKPOINTS] = _fill_times(problem.extras, state.extras, problem, state)
    if plan.placement == Placement.LINK_AWARE:
        # Row 0 stands for right after now, without pending finishes; for now itself the load is `state.load`.
        planned_load(problem, state, np.nextafter(now, np.inf), state.profile.load[0])
        _load_from(problem, state, NOW + 1)


@inlined
def _fill_times(extras: Extras | None, extra_state: ExtraState | None, problem: Problem, state: State) -> int:
    # Returns how many breakpoints there are.
    if extras is None or extra_state is None:
        return _fill_at_ends(problem, state)
    if extras.calendar.lookout.size == 0:
        return _fill_at_ends(problem, state)
    return _fill_beside_closures(extras, extra_state, state)


@inlined
def _load_from(problem: Problem, state: State, first: int) -> None:
    for b in range(first, state.counter[Counter.BREAKPOINTS]):
        planned_load(problem, state, state.profile.time[b], state.profile.load[b])


@part
def _fill_beside_closures(extras: Extras, extra_state: ExtraState, state: State) -> int:
    # At the planned ends, and as nodes close and open until the last of them: see `_cover`.
    profile, beyond, now = state.profile, extra_state.closed.beyond, state.clock[Clock.NOW]
    calendar.begin_profile(extras, extra_state, state.free, now)
    calendar.note_what_is_left(extras, extra_state, profile, NOW, now)
    pools.begin_profile(extras, extra_state)
    row, i = NOW, state.counter[Counter.ENDS] - 1
    while i >= 0:
        end = end_after(state.ends.time[i], now)
        time = min(end, calendar.covered_until(extras, extra_state))
        row += 1
        pools.repeat_breakpoint(extras, extra_state, row)
        while i >= 0 and end_after(state.ends.time[i], now) == time:
            j = state.ends.job[i]
            for g in range(beyond.size):
                beyond[g] += state.counts[j, g]
            pools.end_at(extras, extra_state, row, j)
            i -= 1
        calendar.change_until(extras, extra_state, now, time)
        calendar.note_what_is_left(extras, extra_state, profile, row, time)
    return row + 1


@part
def _cover(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, time: float) -> None:
    # Lets the profile know what closes and opens until this time, and as much again as it knows already.
    now, rows = state.clock[Clock.NOW], state.counter[Counter.BREAKPOINTS]
    row = rows
    while calendar.covered_until(extras, extra_state) <= time or row < min(2 * rows, rows + MOST_AT_ONCE):
        change = calendar.covered_until(extras, extra_state)
        if change == np.inf:
            break
        pools.repeat_breakpoint(extras, extra_state, row)
        calendar.change_until(extras, extra_state, now, change)
        calendar.note_what_is_left(extras, extra_state, state.profile, row, change)
        row += 1
    state.counter[Counter.BREAKPOINTS] = row
    if plan.placement == Placement.LINK_AWARE:
        _load_from(problem, state, rows)


@inlined
def _fill_at_ends(problem: Problem, state: State) -> int:
    profile = state.profile
    groups = profile.free.shape[0]
    now = state.clock[Clock.NOW]
    profile.time[NOW] = now
    profile.total[NOW] = state.counter[Counter.FREE]
    for g in range(groups):
        profile.free[g, NOW] = state.free[g]
    pools.begin_profile(problem.extras, state.extras)
    row = 0
    for i in range(state.counter[Counter.ENDS] - 1, -1, -1):
        time = end_after(state.ends.time[i], now)
        if time != profile.time[row]:
            row += 1
            profile.time[row] = time
            profile.total[row] = profile.total[row - 1]
            for g in range(groups):
                profile.free[g, row] = profile.free[g, row - 1]
            pools.repeat_breakpoint(problem.extras, state.extras, row)
        j = state.ends.job[i]
        profile.total[row] += problem.tasks[j]
        for g in range(groups):
            profile.free[g, row] += state.counts[j, g]
        pools.end_at(problem.extras, state.extras, row, j)
    return row + 1


@inlined
def _cover_until(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, time: float
) -> None:
    if extras is None or extra_state is None:
        return
    if calendar.covered_until(extras, extra_state) <= time:
        _cover(extras, extra_state, problem, plan, state, time)


@inlined
def first_at(profile: Profile, time: float, first: int, rows: int) -> int:
    """Return the first breakpoint from `first` on that is not before `time`, or `rows`."""
    low, high = first, rows
    while low < high:
        middle = (low + high) >> 1
        if profile.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def _repeat_at(values: Ints, place: int, size: int) -> None:
    # Inserts at `place` what stands before it.
    tail = values[place - 1 : size + 1]
    carried = tail[0]
    for i in range(1, tail.size):
        here = tail[i]
        tail[i] = carried
        carried = here


@part
def _break_at(extras: Extras | None, state: State, time: float, first: int, with_loads: bool) -> int:
    # The breakpoint at `time`, made if there is none; `first` is a breakpoint before it.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    place = first_at(profile, time, first, rows)
    if place < rows and profile.time[place] == time:
        return place
    later, carried = profile.time[place : rows + 1], time
    for i in range(later.size):
        here = later[i]
        later[i] = carried
        carried = here
    _repeat_at(profile.total, place, rows)
    for g in range(profile.free.shape[0]):
        _repeat_at(profile.free[g], place, rows)
    pools.insert_breakpoint(extras, state.extras, place, rows)
    if with_loads:
        for b in range(rows, place - 1, -1):
            for k in range(state.load.size):
                profile.load[b, k] = profile.load[b - 1, k]
    state.counter[Counter.BREAKPOINTS] = rows + 1
    return place


@inlined
def _take(values: Ints, begin: int, end: int, nodes: int) -> None:
    span = values[begin:end]
    for i in range(span.size):
        span[i] -= nodes


@inlined
def _least(values: Ints, begin: int, end: int, least: int) -> int:
    span = values[begin:end]
    for i in range(span.size):
        least = min(least, span[i])
    return least


@inlined
def reserve_window(problem: Problem, plan: Plan, state: State, j: int, begin: int, end_time: float) -> None:
    """Take the nodes in `state.scratch.chosen`, and the job's pools, from breakpoint `begin` up to `end_time`."""
    profile, chosen = state.profile, state.scratch.chosen
    link_aware = plan.placement == Placement.LINK_AWARE
    _cover_until(problem.extras, state.extras, problem, plan, state, end_time)
    end = _break_at(problem.extras, state, end_time, begin, link_aware)
    _take(profile.total, begin, end, problem.tasks[j])
    for g in range(profile.free.shape[0]):
        if chosen[g] > 0:
            _take(profile.free[g], begin, end, chosen[g])
    pools.reserve_over(problem.extras, state.extras, j, begin, end)
    if link_aware and fill_demand(problem.groups, problem.tasks[j], problem.bandwidth[j], chosen, state.scratch.demand):
        for b in range(begin, end):
            for k in range(state.load.size):
                profile.load[b, k] += state.scratch.demand[k]


@inlined
def _fits_from(problem: Problem, plan: Plan, state: State, j: int, begin: int) -> bool:
    # Whether the job fits on several groups from breakpoint `begin` on; fills `state.scratch.chosen`.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    low, peak = profile.low, profile.peak
    link_aware = plan.placement == Placement.LINK_AWARE
    time = profile.time[begin]
    end = end_after(time + state.shortest[j], time)
    for g in range(low.size):
        low[g] = profile.free[g, begin]
    if link_aware:
        for k in range(peak.size):
            peak[k] = state.load[k] if begin == NOW else profile.load[begin, k]
    seen = begin + 1
    while True:
        past = first_at(profile, end, seen, rows)
        total = 0
        for g in range(low.size):
            low[g] = _least(profile.free[g], seen, past, low[g])
            total += low[g]
        if link_aware:
            for b in range(seen, past):
                for k in range(peak.size):
                    peak[k] = max(peak[k], profile.load[b, k])
        seen = past
        if total < problem.tasks[j] or not place(problem, plan, j, low, peak, state):
            return False
        if not pools.suffice_until(problem.extras, state.extras, profile.time, rows, j, begin, end):
            return False
        planned = end_after(time + planned_duration(problem, j, state.scratch.chosen), time)
        if planned > calendar.open_until(state.extras):
            return False
        if planned <= end:
            return True
        end = planned


@inlined
def _first_with(totals: Ints, first: int, rows: int, tasks: int) -> int:
    # The first breakpoint from `first` on with so many free nodes in all, or `rows`.
    rest = totals[first:rows]
    for i in range(rest.size):
        if rest[i] >= tasks:
            return first + i
    return rows


@inlined
def first_without(profile: Profile, first: int, rows: int, tasks: int, end: float) -> int:
    """Return the first breakpoint from `first` on, but before `end`, with fewer free nodes in all; or `rows`."""
    times, totals = profile.time[first:rows], profile.total[first:rows]
    for i in range(times.size):
        if times[i] >= end:
            return rows
        if totals[i] < tasks:
            return first + i
    return rows


@inlined
def first_fit(problem: Problem, plan: Plan, state: State, j: int) -> int:
    """Return the breakpoint from which the job can run, its nodes in `state.scratch.chosen`, or -1."""
    return _first_fit(problem.extras, state.extras, problem, plan, state, j)


@inlined
def _first_fit(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> int:
    begin = _first_in_profile(problem, plan, state, j)
    if extras is None or extra_state is None:
        return begin
    while calendar.covered_until(extras, extra_state) < np.inf:
        # Whatever was refused was refused by what is known; what was found may run into what is not yet.
        end = np.inf
        if begin >= 0:
            time = state.profile.time[begin]
            end = end_after(time + planned_duration(problem, j, state.scratch.chosen), time)
        known = calendar.covered_until(extras, extra_state)
        if end < known:
            break
        _cover(extras, extra_state, problem, plan, state, end if begin >= 0 else known)
        begin = _first_in_profile(problem, plan, state, j)
    return begin


@inlined
def _first_in_profile(problem: Problem, plan: Plan, state: State, j: int) -> int:
    # A breakpoint with too few free nodes rules out every window that holds it; on one group nothing else does, but a
    # pool. On several, the first window that nothing rules out is noted.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    tasks = problem.tasks[j]
    duration = state.shortest[j]
    several = profile.free.shape[0] > 0
    untouched = np.inf
    state.scratch.chosen[0] = tasks
    begin = _first_with(profile.total, NOW, rows, tasks)
    while begin < rows:
        # A window holds its begin, even where its end is too near for the clock [0].
        lacking = first_without(profile, begin + 1, rows, tasks, profile.time[begin] + duration)
        if lacking == rows:
            if several:
                untouched = min(untouched, profile.time[begin])
                if _fits_from(problem, plan, state, j, begin):
                    profile.untouched[j] = untouched
                    return begin
            elif pools.suffice_until(
                problem.extras, state.extras, profile.time, rows, j, begin, profile.time[begin] + duration
            ):
                end = end_after(profile.time[begin] + duration, profile.time[begin])
                return begin if end <= calendar.open_until(state.extras) else -1
        begin = _first_with(profile.total, lacking + 1 if lacking < rows else begin + 1, rows, tasks)
    return -1


@inlined
def could_start(problem: Problem, state: State, j: int, first: int) -> bool:
    """Return whether enough nodes are free from breakpoint `first` on for a start now, as long as it surely lasts."""
    profile = state.profile
    end = profile.time[NOW] + state.shortest[j] * (1.0 - ROUNDING)
    rows = state.counter[Counter.BREAKPOINTS]
    return first_without(profile, first, rows, problem.tasks[j], end) == rows


@inlined
def forget_the_past(problem: Problem, plan: Plan, state: State) -> None:
    """Make `now` the first breakpoint of a plan that stands."""
    _cover_until(problem.extras, state.extras, problem, plan, state, state.clock[Clock.NOW])
    profile = state.profile
    now = state.clock[Clock.NOW]
    rows = state.counter[Counter.BREAKPOINTS]
    past = 0
    while past + 1 < rows and profile.time[past + 1] <= now:
        past += 1
    if past > 0:
        for b in range(past, rows):
            profile.time[b - past] = profile.time[b]
            profile.total[b - past] = profile.total[b]
        pools.drop_breakpoints(problem.extras, state.extras, past, rows)
        state.counter[Counter.BREAKPOINTS] = rows - past
    profile.time[0] = now
