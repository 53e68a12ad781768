"""EASY's reservation for the head, the first job in queue order that cannot start [11, 22, 31].

Functions find the head's planned start (the shadow time) and the jobs that may start without delaying it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Placement
from fedsched.engine.dispatch.greedy import exceeds_limits, fits_now, is_skipped, start_out_of_line
from fedsched.engine.dispatch.shadow_time import shadow_beside_closures
from fedsched.engine.loop.feature_flags import more_is, more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import downtimes, pools, power_caps
from fedsched.engine.placement.node_choice import fills_from_the_fastest, place, planned_duration
from fedsched.engine.profile.free_profile import planned_load

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State

REFUSED, BRIEF, LASTING = constant(0), constant(1), constant(2)


@inlined
def reserve(problem: Problem, state: State, j: int) -> None:
    """Subtract a job's nodes (`state.scratch.chosen`) and pools from those that are free at the shadow time."""
    extra = state.scratch.extra
    for g in range(extra.size):
        extra[g] -= state.scratch.chosen[g]
    pools.reserve(more_than_closing(problem.extras), state.extras, j)


@inlined
def reserve_for_head(problem: Problem, plan: Plan, state: State, head: int) -> float:
    """Reserve nodes for EASY's head; return its planned start, the shadow time.

    Fill `state.scratch.extra` with the nodes of each group that are then free beside the reservation. If the head waits
    only for the uplink load of jobs with a pending finish, the shadow time is now.
    """
    return _reserve_for_head(problem.extras, state.extras, problem, plan, state, head)


@inlined
def _reserve_for_head(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, head: int
) -> float:
    if extras is None or extra_state is None:
        return _first_end_that_fits(problem, plan, state, head)
    if extras.calendar.lookout.size == 0 and extras.ceilings.period.size == 0:
        return _first_end_that_fits(problem, plan, state, head)
    return shadow_beside_closures(extras, extra_state, problem, plan, state, head)


@inlined
def _first_end_that_fits(problem: Problem, plan: Plan, state: State, head: int) -> float:
    now = state.clock[Clock.NOW]
    extra = state.scratch.extra
    total = state.counter[Counter.FREE]
    for g in range(extra.size):
        extra[g] = state.free[g]
    pools.look_ahead(more_than_closing(problem.extras), state.extras)
    place_in_list = state.counter[Counter.ENDS] - 1
    while place_in_list >= 0:
        time = end_after(state.ends.time[place_in_list], now)
        while place_in_list >= 0 and end_after(state.ends.time[place_in_list], now) == time:
            j = state.ends.job[place_in_list]
            for g in range(extra.size):
                extra[g] += state.counts[j, g]
                total += state.counts[j, g]
            pools.look_past(more_than_closing(problem.extras), state.extras, j)
            place_in_list -= 1
        if total < problem.tasks[head] or not pools.suffice_then(more_than_closing(problem.extras), state.extras, head):
            continue
        if plan.placement == Placement.LINK_AWARE:
            planned_load(problem, state, time, state.profile.peak)
        if place(problem, plan, head, extra, state.profile.peak, state):
            reserve(problem, state, head)
            return time
    state.profile.peak[:] = 0.0
    place(problem, plan, head, extra, state.profile.peak, state)
    reserve(problem, state, head)
    return now


@inlined
def free_beside_reservation(state: State) -> int:
    """Return how many nodes are free both now and beside the head's reservation, summed over the groups.

    A job that runs beyond the shadow time can take no more than these.
    """
    total = 0
    for g in range(state.free.size):
        total += min(state.free[g], state.scratch.extra[g])
    return total


@inlined
def _within(chosen: Ints, limit: Ints) -> bool:
    within = True
    for g in range(chosen.size):
        within = within and chosen[g] <= limit[g]
    return within


@inlined
def _may_fit_on_fewer(problem: Problem, plan: Plan) -> bool:
    # Other nodes may do if uplink loads count, or if the job runs shorter on them, before nodes close.
    shorter = downtimes.has_closures(problem.extras) and not fills_from_the_fastest(problem, plan)
    return plan.placement == Placement.LINK_AWARE or shorter


@inlined
def could_not_start(problem: Problem, plan: Plan, state: State, j: int) -> bool:
    """Return True if a job cannot start now even without the reservation.

    False means that it may, or that this quick check cannot tell.
    """
    if _may_fit_on_fewer(problem, plan) or power_caps.has_caps(more_than_closing(problem.extras)):
        return False
    return not fits_now(problem, plan, state, j)


@inlined
def place_beside_reservation(problem: Problem, plan: Plan, state: State, j: int, shadow: float) -> int:
    """Fill `state.scratch.chosen` with nodes on which a job can start now without delaying EASY's head.

    Return REFUSED if there are none, BRIEF if the job ends by the shadow time, or LASTING if it runs beyond.
    """
    now = state.clock[Clock.NOW]
    extra, limited = state.scratch.extra, state.scratch.limited
    extras, more, extra_state = problem.extras, more_than_closing(problem.extras), state.extras
    if more_is(extras) and (is_skipped(state, j) or not pools.suffice(more, extra_state, j)):
        return REFUSED
    fits = downtimes.place_from_now(extras, extra_state, problem, plan, state, j)
    if not fits and not _may_fit_on_fewer(problem, plan):
        return REFUSED
    fits = fits and power_caps.allow_now(more, extra_state, problem, state, j) and not exceeds_limits(problem, state, j)
    end = end_after(now + planned_duration(problem, j, state.scratch.chosen), now) if fits else now
    if fits and end <= shadow:
        return BRIEF
    lasting = pools.suffice_then(more, extra_state, j)
    beside = fits and lasting and _within(state.scratch.chosen, extra)
    beside = beside and downtimes.keeps_head_nodes(extras, extra_state, state.scratch.chosen, shadow, end)
    if not beside or not power_caps.keeps_head_power(more, extra_state, state, j, shadow, end):
        for g in range(extra.size):
            limited[g] = min(state.free[g], extra[g])
        if not downtimes.place_beside_head(extras, extra_state, problem, plan, state, j, limited, shadow):
            return REFUSED
        if not power_caps.allow_now(more, extra_state, problem, state, j) or exceeds_limits(problem, state, j):
            return REFUSED
        end = end_after(now + planned_duration(problem, j, state.scratch.chosen), now)
        if end <= shadow:
            return BRIEF
        lasting = lasting and power_caps.keeps_head_power(more, extra_state, state, j, shadow, end)
    return LASTING if lasting else REFUSED


@part
def place_out_of_line(problem: Problem, plan: Plan, state: State, j: int, shadow: float) -> int:
    """Place a job as `place_beside_reservation` does, with the same result.

    That function is inlined; this copy is compiled once, for less frequent scans.
    """
    return place_beside_reservation(problem, plan, state, j, shadow)


@part
def start_beside_reservation(problem: Problem, plan: Plan, state: State, j: int, shadow: float) -> None:
    """Start a job now if it fits without delaying EASY's head; else do nothing.

    If the job runs beyond the shadow time, subtract its nodes and pools from those free then.
    """
    fit = place_out_of_line(problem, plan, state, j, shadow)
    if fit == LASTING:
        reserve(problem, state, j)
    if fit != REFUSED:
        start_out_of_line(problem, plan, state, j)
