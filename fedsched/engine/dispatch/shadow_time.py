"""The planned start of EASY's head (the shadow time) if nodes close for a while, or power is capped [39, 70]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Placement
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, ClosedNumber, Counter
from fedsched.engine.optional_features import pools, power_caps
from fedsched.engine.optional_features.downtimes import (
    NO_SHADOW,
    apply_change,
    next_known,
    place_over_run,
    time_of_change,
)
from fedsched.engine.placement.node_choice import planned_duration
from fedsched.engine.profile.free_profile import planned_load

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State


@part
def shadow_beside_closures(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, head: int
) -> float:
    """Reserve nodes, pools and power for EASY's head; return its planned start, the shadow time.

    Fill `state.scratch.extra` with the nodes of each group that are then free beside the reservation. If closures or
    caps keep the head from ever starting, return infinity, reserve nothing and set `extra` to 0. Recurring caps are
    searched for one whole period after the last other change.
    """
    calendar, lookout, closed, peak = extras.calendar, extras.calendar.lookout, extra_state.closed, state.profile.peak
    now, left, free = state.clock[Clock.NOW], state.scratch.extra, state.scratch.limited
    for g in range(left.size):
        left[g] = state.free[g] - closed.owed[g]
    pools.look_ahead(more_than_closing(extras), extra_state)
    place_in_list = state.counter[Counter.ENDS] - 1
    i = next_known(calendar, now, closed.number[ClosedNumber.CHANGED])
    turn = power_caps.longest_period(extras)
    step, until = power_caps.next_after(extras, extra_state, now), now + turn
    once = power_caps.any_for_good_after(extras, now)
    while place_in_list >= 0 or i < calendar.change.size or once or step <= until:
        other = time_of_change(calendar, i)
        if place_in_list >= 0:
            other = min(other, end_after(state.ends.time[place_in_list], now))
        time = min(other, step)
        more = step == time and step < np.inf
        if more:
            if power_caps.changes_for_good(extras, time):
                until, once = time + turn, power_caps.any_for_good_after(extras, time)
            step = power_caps.next_after(extras, extra_state, time)
        if other == time:
            until = time + turn if time < np.inf else -np.inf
        while place_in_list >= 0 and end_after(state.ends.time[place_in_list], now) == time:
            j = state.ends.job[place_in_list]
            for g in range(left.size):
                left[g] += state.counts[j, g]
            pools.look_past(more_than_closing(extras), extra_state, j)
            place_in_list -= 1
            more = True
        while i < calendar.change.size and time_of_change(calendar, i) == time:  # the time may be infinite
            if apply_change(calendar, i, left):
                more = True
            i = next_known(calendar, now, i + 1)
        total = 0
        for g in range(left.size):
            free[g] = max(0, left[g])
            total += free[g]
        if more and total >= problem.tasks[head] and pools.suffice_then(more_than_closing(extras), extra_state, head):
            if plan.placement == Placement.LINK_AWARE:
                planned_load(problem, state, time, peak)
            placed = place_over_run(lookout, closed, problem, plan, state, head, free, peak, time, NO_SHADOW)
            if placed and _caps_allow_head(extras, extra_state, problem, state, head, time):
                return _reserve(extras, extra_state, problem, state, head, time, free)
    # The head may wait only for the uplink load of jobs with a pending finish.
    planned_load(problem, state, np.nextafter(now, np.inf), peak)
    pools.look_ahead(more_than_closing(extras), extra_state)
    if (
        pools.suffice(more_than_closing(extras), extra_state, head)
        and place_over_run(lookout, closed, problem, plan, state, head, state.free, peak, now, NO_SHADOW)
        and _caps_allow_head(extras, extra_state, problem, state, head, now)
    ):
        return _reserve(extras, extra_state, problem, state, head, now, state.free)
    left[:] = 0
    power_caps.reserve_nothing(extra_state)
    closed.head[:] = 0
    closed.head_until[0] = np.inf
    return np.inf


@inlined
def _caps_allow_head(
    extras: Extras, extra_state: ExtraState, problem: Problem, state: State, head: int, time: float
) -> bool:
    end = end_after(time + planned_duration(problem, head, state.scratch.chosen), time)
    return power_caps.allow(extras.ceilings, extra_state.beneath, state, head, time, end, power_caps.WITHOUT_HEAD)


@part
def _reserve(
    extras: Extras, extra_state: ExtraState, problem: Problem, state: State, head: int, time: float, free: Ints
) -> float:
    closed, chosen = extra_state.closed, state.scratch.chosen
    for g in range(chosen.size):
        closed.head[g] = chosen[g]
        state.scratch.extra[g] = free[g] - chosen[g]
    closed.head_until[0] = end_after(time + planned_duration(problem, head, chosen), time)
    power_caps.reserve(extras, extra_state, head, chosen, closed.head_until[0])
    pools.reserve(more_than_closing(extras), extra_state, head)
    return time
