"""The profile: nodes, uplink loads and pools that are free from each breakpoint in time on [8, 12, 22, 31].

A plan with reservations fills the profile with what the running jobs leave free, finds windows and subtracts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Placement
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import downtimes, pools, power_caps, power_states
from fedsched.engine.placement.node_choice import fill_demand, place, planned_duration
from fedsched.engine.placement.tasks_per_node import nodes_taken
from fedsched.engine.profile import long_profile
from fedsched.engine.profile.breakpoints import (
    NOW,
    first_at,
    first_with,
    first_without,
    insert_time,
    least_of,
    repeat_before,
    take,
)

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Plan, Problem, State

MOST_AT_ONCE = constant(64)  # breakpoints that are added before a search goes on
UNCAPPED = constant(-2)  # no row: there are no power caps
ROUNDING = 1e-12  # margin, relative to the clock, by which the search for candidates is wider than the exact test


@inlined
def planned_load(problem: Problem, state: State, time: float, load: Floats) -> None:
    """Fill `load` with the planned load of each uplink at `time`, which is after now, by the running jobs [22]."""
    now = state.clock[Clock.NOW]
    load[:] = 0.0
    for i in range(state.counter[Counter.SPANNING] + state.counter[Counter.BOOTING]):
        j = state.rates.spanning[i]
        if end_after(state.planned_end[j], now) > time:
            for k in range(load.size):
                load[k] += state.rates.demand[j, k]


@part
def fill_profile(problem: Problem, plan: Plan, state: State) -> None:
    """Fill the profile anew from now on, without reservations.

    Nodes become free at the planned ends of running jobs, and nodes close and open by the calendar.
    """
    now = state.clock[Clock.NOW]
    long_profile.join_blocks(state.profile)
    state.counter[Counter.BREAKPOINTS] = _fill_times(problem.extras, state.extras, problem, state)
    _begin_under_caps(more_than_closing(problem.extras), state.extras, problem, plan, state)
    _split_if_long(state)
    if _tracks_loads(plan, state):
        # Row 0 is right after now, without jobs of pending finishes; the load of now itself is `state.load`.
        planned_load(problem, state, np.nextafter(now, np.inf), state.profile.load[0])
        _load_from(problem, state, NOW + 1)


@inlined
def _begin_under_caps(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> None:
    # Under power caps, a plan knows all closings and openings from its begin on.
    if extras is None or extra_state is None:
        return
    if extras.ceilings.period.size > 0:
        _cover(extras, extra_state, problem, plan, state, np.inf)
        power_caps.begin_plan(extras, extra_state, state.profile.time[state.counter[Counter.BREAKPOINTS] - 1])


@inlined
def _tracks_loads(plan: Plan, state: State) -> bool:
    # On a single group no job uses an uplink.
    return plan.placement == Placement.LINK_AWARE and state.free.size > 1


@inlined
def _split_if_long(state: State) -> None:
    rows = state.counter[Counter.BREAKPOINTS]
    if rows >= long_profile.LONG_PROFILE and state.profile.blocks.place.shape[1] > 0:
        long_profile.split_into_blocks(state.profile, rows)


@inlined
def _fill_times(extras: Extras | None, extra_state: ExtraState | None, problem: Problem, state: State) -> int:
    # Returns the number of breakpoints.
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
    # Breakpoints at planned ends, and at closings and openings until the last planned end; `_cover` adds later ones.
    profile, beyond, now = state.profile, extra_state.closed.beyond, state.clock[Clock.NOW]
    downtimes.begin_profile(extras, extra_state, state.free, now)
    downtimes.set_breakpoint(extras, extra_state, profile, NOW, now)
    pools.begin_profile(more_than_closing(extras), extra_state)
    power_caps.begin_profile(more_than_closing(extras), extra_state)
    row, i = NOW, state.counter[Counter.ENDS] - 1
    while i >= 0:
        end = end_after(state.ends.time[i], now)
        time = min(end, downtimes.covered_until(extras, extra_state))
        row += 1
        pools.repeat_breakpoint(more_than_closing(extras), extra_state, row)
        while i >= 0 and end_after(state.ends.time[i], now) == time:
            j = state.ends.job[i]
            for g in range(beyond.size):
                beyond[g] += state.counts[j, g]
            pools.end_at(more_than_closing(extras), extra_state, row, j)
            power_caps.end_at(more_than_closing(extras), extra_state, row, j, state.counts[j])
            i -= 1
        downtimes.change_until(extras, extra_state, now, time)
        downtimes.set_breakpoint(extras, extra_state, profile, row, time)
    return row + 1


@part
def _cover(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, time: float) -> None:
    # Adds the closings and openings until this time, and more until the rows double or MOST_AT_ONCE are added.
    now, rows = state.clock[Clock.NOW], state.counter[Counter.BREAKPOINTS]
    if long_profile.are_in_use(state.profile):
        _cover_with_blocks(extras, extra_state, state, time)
        return
    row = rows
    while downtimes.covered_until(extras, extra_state) <= time or row < min(2 * rows, rows + MOST_AT_ONCE):
        change = downtimes.covered_until(extras, extra_state)
        if change == np.inf:
            break
        pools.repeat_breakpoint(more_than_closing(extras), extra_state, row)
        downtimes.change_until(extras, extra_state, now, change)
        downtimes.set_breakpoint(extras, extra_state, state.profile, row, change)
        row += 1
    state.counter[Counter.BREAKPOINTS] = row
    if _tracks_loads(plan, state):
        _load_from(problem, state, rows)


@inlined
def _cover_with_blocks(extras: Extras, extra_state: ExtraState, state: State, time: float) -> None:
    added, now = 0, state.clock[Clock.NOW]
    while downtimes.covered_until(extras, extra_state) <= time or added < MOST_AT_ONCE:
        change = downtimes.covered_until(extras, extra_state)
        if change == np.inf:
            break
        row = long_profile.add_last(extras, extra_state, state.profile)
        downtimes.change_until(extras, extra_state, now, change)
        downtimes.set_breakpoint(extras, extra_state, state.profile, row, change)
        long_profile.update_last(state.profile)
        added += 1


@inlined
def _fill_at_ends(problem: Problem, state: State) -> int:
    profile = state.profile
    groups = profile.free.shape[0]
    now = state.clock[Clock.NOW]
    profile.time[NOW] = now
    profile.total[NOW] = state.counter[Counter.FREE]
    for g in range(groups):
        profile.free[g, NOW] = state.free[g]
    pools.begin_profile(more_than_closing(problem.extras), state.extras)
    power_caps.begin_profile(more_than_closing(problem.extras), state.extras)
    row = 0
    for i in range(state.counter[Counter.ENDS] - 1, -1, -1):
        time = end_after(state.ends.time[i], now)
        if time != profile.time[row]:
            row += 1
            profile.time[row] = time
            profile.total[row] = profile.total[row - 1]
            for g in range(groups):
                profile.free[g, row] = profile.free[g, row - 1]
            pools.repeat_breakpoint(more_than_closing(problem.extras), state.extras, row)
        j = state.ends.job[i]
        profile.total[row] += nodes_taken(problem.extras, problem.tasks[j], j, state.counts[j])
        for g in range(groups):
            profile.free[g, row] += state.counts[j, g]
        pools.end_at(more_than_closing(problem.extras), state.extras, row, j)
        power_caps.end_at(more_than_closing(problem.extras), state.extras, row, j, state.counts[j])
    return row + 1


@inlined
def _cover_until(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, time: float
) -> None:
    if extras is None or extra_state is None:
        return
    if downtimes.covered_until(extras, extra_state) <= time:
        _cover(extras, extra_state, problem, plan, state, time)


@part
def _break_at(extras: Extras | None, state: State, time: float, first: int, with_loads: bool) -> int:
    # The breakpoint at `time`, made if there is none; `first` is a breakpoint before it.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    place = first_at(profile, time, first, rows)
    if place < rows and profile.time[place] == time:
        return place
    insert_time(profile.time, place, rows, time)
    repeat_before(profile.total, place, rows)
    for g in range(profile.free.shape[0]):
        repeat_before(profile.free[g], place, rows)
    pools.insert_breakpoint(more_than_closing(extras), state.extras, place, rows)
    power_caps.insert_breakpoint(more_than_closing(extras), state.extras, place)
    if with_loads:
        for b in range(rows, place - 1, -1):
            for k in range(state.load.size):
                profile.load[b, k] = profile.load[b - 1, k]
    state.counter[Counter.BREAKPOINTS] = rows + 1
    return place


@inlined
def reserve_window(problem: Problem, plan: Plan, state: State, j: int, begin: int, end_time: float) -> None:
    """Subtract the nodes in `state.scratch.chosen`, and the job's pools, from breakpoint `begin` up to time `end_time`.

    A breakpoint is inserted at `end_time` if there is none.
    """
    profile, chosen = state.profile, state.scratch.chosen
    link_aware = _tracks_loads(plan, state)
    _cover_until(problem.extras, state.extras, problem, plan, state, end_time)
    if long_profile.are_in_use(profile):
        long_profile.reserve(problem.extras, state.extras, profile, j, problem.tasks[j], profile.time[begin], end_time)
        return
    end = _break_at(problem.extras, state, end_time, begin, link_aware)
    take(profile.total, begin, end, nodes_taken(problem.extras, problem.tasks[j], j, chosen))
    for g in range(profile.free.shape[0]):
        if chosen[g] > 0:
            take(profile.free[g], begin, end, chosen[g])
    pools.reserve_over(more_than_closing(problem.extras), state.extras, j, begin, end)
    power_caps.reserve_over(more_than_closing(problem.extras), state.extras, j, chosen, begin, end, end_time)
    if link_aware and fill_demand(
        problem.extras, problem.groups, j, problem.tasks[j], problem.bandwidth[j], chosen, state.scratch.demand
    ):
        for b in range(begin, end):
            for k in range(state.load.size):
                profile.load[b, k] += state.scratch.demand[k]
    _split_if_long(state)


@inlined
def planned_end(problem: Problem, state: State, j: int, time: float) -> float:
    """Return when a job is planned to end that takes the nodes in `state.scratch.chosen` at `time`.

    If it takes them now, it may start later, when the last of them has booted.
    """
    chosen, now = state.scratch.chosen, state.clock[Clock.NOW]
    start = power_states.on_at(more_than_closing(problem.extras), state.extras, chosen, time, now)
    return end_after(start + planned_duration(problem, j, chosen), start)


@inlined
def _fits_from(problem: Problem, plan: Plan, state: State, j: int, begin: int, time: float) -> bool:
    # Whether the job fits on several groups from `time` on, at or after breakpoint `begin`; fills `scratch.chosen`.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    low, peak = profile.low, profile.peak
    link_aware = plan.placement == Placement.LINK_AWARE
    end = end_after(time + state.shortest[j], time)
    for g in range(low.size):
        low[g] = profile.free[g, begin]
    if link_aware:
        for k in range(peak.size):
            peak[k] = state.load[k] if time == profile.time[NOW] else profile.load[begin, k]
    seen = begin + 1
    while True:
        past = first_at(profile, end, seen, rows)
        total = 0
        for g in range(low.size):
            low[g] = least_of(profile.free[g], seen, past, low[g])
            total += low[g]
        if link_aware:
            for b in range(seen, past):
                for k in range(peak.size):
                    peak[k] = max(peak[k], profile.load[b, k])
        seen = past
        if total < problem.tasks[j] or not place(problem, plan, j, low, peak, state):
            return False
        if not pools.suffice_until(more_than_closing(problem.extras), state.extras, profile.time, rows, j, begin, end):
            return False
        planned = planned_end(problem, state, j, time)
        if planned > downtimes.open_until(state.extras):
            return False
        if planned <= end:
            return True
        end = planned


@inlined
def first_fit(problem: Problem, plan: Plan, state: State, j: int) -> int:
    """Return the first breakpoint from which the job can run until its planned end; -1 if there is none.

    If there is one, `state.scratch.chosen` has its nodes in each group.
    """
    return _first_fit(problem.extras, state.extras, problem, plan, state, j)


@inlined
def _first_fit(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> int:
    begin = _first_under_caps(more_than_closing(extras), extra_state, problem, plan, state, j)
    if begin != UNCAPPED:
        return begin
    begin = _first_in_profile(problem, plan, state, j)
    if extras is None or extra_state is None:
        return begin
    while downtimes.covered_until(extras, extra_state) < np.inf:
        # Refused windows stay refused; the window found may run into closures that are not in the profile yet.
        end = np.inf
        if begin >= 0:
            time = state.profile.time[begin]
            end = planned_end(problem, state, j, time)
        known = downtimes.covered_until(extras, extra_state)
        if end < known:
            break
        _cover(extras, extra_state, problem, plan, state, end if begin >= 0 else known)
        begin = _first_in_profile(problem, plan, state, j)
    return begin


@inlined
def _first_under_caps(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> int:
    if extras is None or extra_state is None:
        return UNCAPPED
    if extras.ceilings.period.size == 0:
        return UNCAPPED
    return _first_with_power(extras, extra_state, problem, plan, state, j)


@inlined
def _fits_with_power(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int, row: int, time: float
) -> bool:
    if state.profile.free.shape[0] > 0:
        if not _fits_from(problem, plan, state, j, row, time):
            return False
        end = planned_end(problem, state, j, time)
    else:
        state.scratch.chosen[0] = problem.tasks[j]
        end, times = planned_end(problem, state, j, time), state.profile.time
        rows = state.counter[Counter.BREAKPOINTS]
        if end > downtimes.open_until(extra_state):
            return False
        if first_without(state.profile, row + 1, rows, problem.tasks[j], end) < rows:  # after boots
            return False
        if not pools.suffice_until(extras, extra_state, times, rows, j, row, end):
            return False
    return power_caps.allow_planned(extras, extra_state, state, j, row, time, end)


@part
def _first_with_power(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int
) -> int:
    # As `_first_in_profile`, under power caps: the job may also begin as a cap changes, which becomes a breakpoint.
    profile, rows, tasks = state.profile, state.counter[Counter.BREAKPOINTS], problem.tasks[j]
    with_loads = _tracks_loads(plan, state)
    row, time, until = NOW, profile.time[NOW], power_caps.looks_until(extras, extra_state)
    while row < rows:
        if profile.total[row] < tasks:
            row = first_with(profile.total, row + 1, rows, tasks)
            if row == rows:
                break
            time = profile.time[row]
        lacking = first_without(profile, row + 1, rows, tasks, end_after(time + state.shortest[j], time))
        if lacking < rows:
            row = lacking
            continue
        if _fits_with_power(extras, extra_state, problem, plan, state, j, row, time):
            return row if time == profile.time[row] else _break_at(extras, state, time, row, with_loads)
        change = power_caps.next_after(extras, extra_state, time)
        following = profile.time[row + 1] if row + 1 < rows else np.inf
        if following <= change or change > until:
            row, time = row + 1, following
        else:
            time = change
    return -1


@inlined
def _ends_in_time(state: State, begin: int, duration: float) -> bool:
    time = state.profile.time[begin]
    return end_after(time + duration, time) <= downtimes.open_until(state.extras)


@inlined
def _fits_with_boots(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, state: State, j: int
) -> bool:
    # Whether a job that takes its nodes of the only group now keeps them until its end, after their boots.
    if extras is None or extra_state is None:
        return True
    return not power_states.is_saved(extras) or _fits_after_boots(extras, extra_state, problem, state, j)


@part
def _fits_after_boots(extras: Extras, extra_state: ExtraState, problem: Problem, state: State, j: int) -> bool:
    profile, rows = state.profile, state.counter[Counter.BREAKPOINTS]
    end = planned_end(problem, state, j, state.clock[Clock.NOW])
    if end > downtimes.open_until(extra_state) or first_without(profile, NOW + 1, rows, problem.tasks[j], end) < rows:
        return False
    return pools.suffice_until(extras, extra_state, profile.time, rows, j, NOW, end)


@inlined
def _first_in_profile(problem: Problem, plan: Plan, state: State, j: int) -> int:
    # A breakpoint with too few free nodes rules out every window that contains it. On one group, only pools rule out
    # more. On several groups, the first window that no breakpoint rules out is noted.
    profile = state.profile
    rows = state.counter[Counter.BREAKPOINTS]
    tasks = problem.tasks[j]
    duration = state.shortest[j]
    several = profile.free.shape[0] > 0
    untouched = np.inf
    state.scratch.chosen[0] = tasks
    if long_profile.are_in_use(profile):
        begin = long_profile.first_window(problem.extras, state.extras, profile, j, tasks, duration)
        return begin if begin < NOW or _ends_in_time(state, begin, duration) else -1
    begin = first_with(profile.total, NOW, rows, tasks)
    while begin < rows:
        # A window contains its begin, even if its end is too near for the clock [0].
        lacking = first_without(profile, begin + 1, rows, tasks, profile.time[begin] + duration)
        if lacking == rows:
            if several:
                untouched = min(untouched, profile.time[begin])
                if _fits_from(problem, plan, state, j, begin, profile.time[begin]):
                    profile.untouched[j] = untouched
                    return begin
            elif pools.suffice_until(
                more_than_closing(problem.extras),
                state.extras,
                profile.time,
                rows,
                j,
                begin,
                profile.time[begin] + duration,
            ) and (begin > NOW or _fits_with_boots(more_than_closing(problem.extras), state.extras, problem, state, j)):
                return begin if _ends_in_time(state, begin, duration) else -1
        begin = first_with(profile.total, lacking + 1 if lacking < rows else begin + 1, rows, tasks)
    return -1


@inlined
def row_of_now(state: State) -> int:
    """Return the row of the breakpoint of now, the first one of the profile."""
    return long_profile.first_row(state.profile) if long_profile.are_in_use(state.profile) else NOW


@inlined
def next_below(state: State, nodes: int) -> int:
    """Return the first breakpoint after now with fewer than `nodes` free nodes in total; -1 if there is none."""
    if long_profile.are_in_use(state.profile):
        return long_profile.first_below(state.profile, nodes)
    rows = state.counter[Counter.BREAKPOINTS]
    less = first_without(state.profile, NOW + 1, rows, nodes, np.inf)
    return less if less < rows else -1


@inlined
def could_start(problem: Problem, state: State, j: int, first: int) -> bool:
    """Return whether the total of free nodes is enough for a job that starts now, from breakpoint `first` on.

    It is checked until the job's earliest end.
    """
    profile = state.profile
    end = state.clock[Clock.NOW] + state.shortest[j] * (1.0 - ROUNDING)
    if long_profile.are_in_use(profile):
        return long_profile.has_room_until(profile, profile.time[first], problem.tasks[j], end)
    rows = state.counter[Counter.BREAKPOINTS]
    return first_without(profile, first, rows, problem.tasks[j], end) == rows


@inlined
def drop_past(problem: Problem, plan: Plan, state: State) -> None:
    """Drop the breakpoints of the kept plan that are over, so that the first one is at now."""
    _cover_until(problem.extras, state.extras, problem, plan, state, state.clock[Clock.NOW])
    profile = state.profile
    now = state.clock[Clock.NOW]
    if long_profile.are_in_use(profile):
        long_profile.drop_until(problem.extras, state.extras, profile, now)
        return
    rows = state.counter[Counter.BREAKPOINTS]
    past = 0
    while past + 1 < rows and profile.time[past + 1] <= now:
        past += 1
    if past > 0:
        for b in range(past, rows):
            profile.time[b - past] = profile.time[b]
            profile.total[b - past] = profile.total[b]
        pools.move_breakpoints(more_than_closing(problem.extras), state.extras, past, NOW, rows - past)
        state.counter[Counter.BREAKPOINTS] = rows - past
    profile.time[0] = now
