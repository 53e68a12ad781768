"""The calendar: nodes that close for a while, and the nodes that stay free over a whole run [38 to 40].

Lookouts are the distinct begins of closures. Between two lookouts, free nodes can only become more, as jobs and
closures end. So the fewest over a period are those at its begin or at a lookout in it. The nodes that running jobs
leave free at every lookout are updated at each start and end. To place a run, only the lookouts in it are checked.

Every function takes the extras first, and is compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after, first_after
from fedsched.engine.codes import OnRunning
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, ClosedNumber, ClosedTime, Counter
from fedsched.engine.optional_features import power_states
from fedsched.engine.placement.node_choice import place, planned_duration

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import (
        Calendar,
        Closed,
        Extras,
        ExtraState,
        Floats,
        Ints,
        Plan,
        Problem,
        Profile,
        State,
    )

GAINED, LOST = constant(1), constant(-1)  # a job begins, or ceases, to hold nodes
NO_SHADOW = np.inf
NO_MORE = constant(-1)
NO_RESERVATION = constant(-1)  # nodes that no reservation has
KEPT = constant(-2)  # of a closure: it is a reservation, and its jobs are not in the plan
FIRST = constant(0)
OTHERWISE = constant(-1)  # as FREE_BEFORE: what is free, now or later, has changed since the last pass


@inlined
def has_closures(extras: Extras | None) -> bool:
    """Return whether there are closures (nodes that close for a while) at all."""
    if extras is None:
        return False
    return extras.calendar.lookout.size > 0


# ---- as the clock goes on


@inlined
def reset(extras: Extras | None, state: ExtraState | None, t0: float) -> None:
    """Reset for a run from `t0` on: no nodes are closed yet, and planners know the closures that are known at t0."""
    if extras is None or state is None:
        return
    closed, calendar = state.closed, extras.calendar
    closed.back[:] = 0
    closed.time[ClosedTime.UNTIL] = np.inf
    closed.holder[:] = NO_RESERVATION
    closed.last_end[0], closed.last_end[1] = t0, 0.0
    closed.number[ClosedNumber.CHANGED] = 0
    closed.number[ClosedNumber.LEARNED] = calendar.known[0]
    closed.number[ClosedNumber.PAST] = first_after(calendar.lookout, t0, FIRST)
    for g in range(closed.owed.size):
        closed.owed[g] = 0
        for i in range(calendar.lookout.size):
            closed.left[i, g] = calendar.left[i, g]
    _look_ahead(calendar, closed)


@inlined
def _look_ahead(calendar: Calendar, closed: Closed) -> None:
    # Keeps the times of what comes next, as they are needed at each event, start and end.
    past, learned = closed.number[ClosedNumber.PAST], closed.number[ClosedNumber.LEARNED]
    note_next_change(calendar, closed)
    closed.time[ClosedTime.NEWS] = closed.time[ClosedTime.CHANGE]
    if learned < calendar.learned.size:
        known_from = calendar.known_from[calendar.learned[learned]]
        closed.time[ClosedTime.NEWS] = min(closed.time[ClosedTime.NEWS], known_from)
    closed.time[ClosedTime.LOOKOUT] = calendar.lookout[past] if past < calendar.lookout.size else np.inf


@inlined
def note_next_change(calendar: Calendar, closed: Closed) -> None:
    """Store when nodes are next closed or opened, for `next_change`."""
    closed.time[ClosedTime.CHANGE] = time_of_change(calendar, closed.number[ClosedNumber.CHANGED])


@inlined
def next_change(extras: Extras | None, state: ExtraState | None) -> float:
    """Return when nodes are next closed or opened; infinite if that never happens."""
    if extras is None or state is None:
        return np.inf
    return state.closed.time[ClosedTime.CHANGE]


@inlined
def is_due(closed: Closed, now: float) -> bool:
    """Return whether, by `now`, nodes close or open, or a closure becomes known, and this is not processed yet."""
    return closed.time[ClosedTime.NEWS] <= now


@inlined
def time_of_change(calendar: Calendar, i: int) -> float:
    """Return the time of change number `i` (a closing or opening, counted from 0); infinite if there are fewer."""
    if i >= calendar.change.size:
        return np.inf
    c = calendar.change[i] >> 1
    return calendar.end[c] if calendar.change[i] & 1 else calendar.begin[c]


@inlined
def close_begun(extras: Extras | None, extra_state: ExtraState | None, state: State) -> None:
    """Process all changes until t0: close the nodes of closures that have begun; no job loses nodes by this."""
    if extras is None or extra_state is None:
        return
    if extras.calendar.lookout.size > 0:
        c = process_changes(extras, extra_state, state)
        while c != NO_MORE:
            close(extras, extra_state, state, c)
            c = process_changes(extras, extra_state, state)


@part
def process_changes(extras: Extras, extra_state: ExtraState, state: State) -> int:
    """Process all closures that begin, end or become known until now; stop at one that may take nodes from jobs.

    Return that closure, or -1 if all is done. The caller takes the nodes from jobs, closes it and calls this again.
    """
    closure = _process_changes(extras, extra_state, state)
    _look_ahead(extras.calendar, extra_state.closed)
    return closure


@inlined
def _process_changes(extras: Extras, extra_state: ExtraState, state: State) -> int:
    calendar, closed = extras.calendar, extra_state.closed
    number, now = closed.number, state.clock[Clock.NOW]
    while number[ClosedNumber.PAST] < calendar.lookout.size and calendar.lookout[number[ClosedNumber.PAST]] <= now:
        number[ClosedNumber.PAST] += 1
    while number[ClosedNumber.LEARNED] < calendar.learned.size:
        c = calendar.learned[number[ClosedNumber.LEARNED]]
        if calendar.known_from[c] > now:
            break
        number[ClosedNumber.LEARNED] += 1
        _expect(calendar, closed, c, calendar.nodes[c])
        state.counter[Counter.PLAN_HOLDS] = 0
    while time_of_change(calendar, number[ClosedNumber.CHANGED]) <= now:
        i = number[ClosedNumber.CHANGED]
        power_states.note_spared(more_than_closing(extras), extra_state, state.counter[Counter.RUNNING])
        number[ClosedNumber.CHANGED] += 1
        c = calendar.change[i] >> 1
        if calendar.change[i] & 1 == 0:
            if calendar.on_running[c] != OnRunning.WAIT:
                return c
            close(extras, extra_state, state, c)
        else:
            _open(extras, extra_state, state, c)
            if calendar.planned_end[c] != calendar.end[c]:
                _expect(calendar, closed, c, -calendar.nodes[c])
                state.counter[Counter.PLAN_HOLDS] = 0
    return NO_MORE


@inlined
def _expect(calendar: Calendar, closed: Closed, c: int, nodes: int) -> None:
    # Subtracts the nodes at the lookouts that closure c is planned to cover.
    for i in range(closed.number[ClosedNumber.PAST], calendar.lookout.size):
        time = calendar.lookout[i]
        if calendar.begin[c] <= time and time < calendar.planned_end[c]:
            closed.left[i, calendar.group[c]] -= nodes


@inlined
def close(extras: Extras, extra_state: ExtraState, state: State, c: int) -> None:
    """Close a closure's nodes: those free now leave the free nodes, the others follow as soon as jobs release them."""
    calendar, closed = extras.calendar, extra_state.closed
    g, nodes = calendar.group[c], calendar.nodes[c]
    if calendar.reservation[c] > NO_RESERVATION:
        closed.holder[g] = calendar.reservation[c]
    elif calendar.reservation[c] == NO_RESERVATION:
        power_states.close_nodes(more_than_closing(extras), extra_state, g, nodes, state.clock[Clock.NOW])
    taken = min(nodes, state.free[g])
    state.free[g] -= taken
    state.counter[Counter.FREE] -= taken
    closed.owed[g] += nodes - taken


@inlined
def _open(extras: Extras, extra_state: ExtraState, state: State, c: int) -> None:
    calendar, closed = extras.calendar, extra_state.closed
    g, nodes = calendar.group[c], calendar.nodes[c]
    if calendar.reservation[c] > NO_RESERVATION:
        closed.holder[g] = NO_RESERVATION
    elif calendar.reservation[c] == NO_RESERVATION:
        power_states.open_nodes(more_than_closing(extras), extra_state, g, nodes, state.clock[Clock.NOW])
    paid = min(nodes, closed.owed[g])
    closed.owed[g] -= paid
    state.free[g] += nodes - paid
    state.counter[Counter.FREE] += nodes - paid


@inlined
def hold_nodes(extras: Extras | None, state: ExtraState | None, counts: Ints, planned_end: float) -> None:
    """Note that a job holds these nodes until its planned end: they are not free at the lookouts until then."""
    if extras is None or state is None:
        return
    _hold(extras.calendar, state.closed, counts, planned_end, GAINED)


@inlined
def release_nodes(extras: Extras | None, extra_state: ExtraState | None, state: State, j: int) -> None:
    """Note that a job no longer holds its nodes, which were just counted as free.

    Nodes that closures wait for are closed now: they leave the free nodes.
    """
    if extras is None or extra_state is None:
        return
    closed = extra_state.closed
    if extras.calendar.lookout.size > 0:
        _hold(extras.calendar, closed, state.counts[j], state.planned_end[j], LOST)
        for g in range(closed.owed.size):
            if closed.owed[g] > 0:
                paid = min(closed.owed[g], state.counts[j, g])
                closed.owed[g] -= paid
                state.free[g] -= paid
                state.counter[Counter.FREE] -= paid
                state.counter[Counter.FREE_BEFORE] = OTHERWISE


@inlined
def note_end(state: ExtraState | None, clock: Floats) -> None:
    """Store the time now, at which a job's run ends, and the capacity lost until now, in node-seconds.

    These are the final figures if no other job ever starts.
    """
    if state is None:
        return
    state.closed.last_end[0] = clock[Clock.NOW]
    state.closed.last_end[1] = clock[Clock.LOST_NODE_SECONDS]


@inlined
def move_end(extras: Extras | None, state: ExtraState | None, counts: Ints, before: float, after: float) -> None:
    """Note that the planned end of a job on these nodes has moved from `before` to `after`."""
    if extras is None or state is None:
        return
    _hold(extras.calendar, state.closed, counts, before, LOST)
    _hold(extras.calendar, state.closed, counts, after, GAINED)


@inlined
def _hold(calendar: Calendar, closed: Closed, counts: Ints, planned_end: float, times: int) -> None:
    if planned_end > closed.time[ClosedTime.LOOKOUT]:
        _hold_at_lookouts(calendar.lookout, closed, counts, planned_end, times)


@part
def _hold_at_lookouts(lookout: Floats, closed: Closed, counts: Ints, planned_end: float, times: int) -> None:
    for g in range(counts.size):
        nodes, i = times * counts[g], closed.number[ClosedNumber.PAST]
        while nodes != 0 and i < lookout.size and lookout[i] < planned_end:
            closed.left[i, g] -= nodes
            i += 1


# ---- what is free over a whole run


@inlined
def place_from_now(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> bool:
    """Return whether a job fits from now to its planned end, with all closures that planners know.

    If it does, fill `state.scratch.chosen` with its nodes in each group.
    """
    if extras is None or extra_state is None:
        return place(problem, plan, j, state.free, state.load, state)
    return _place_before_closures(extras.calendar.lookout, extra_state.closed, problem, plan, state, j)


@part
def _place_before_closures(
    lookout: Floats, closed: Closed, problem: Problem, plan: Plan, state: State, j: int
) -> bool:
    # Mostly nothing closes soon: then nodes that are free now stay free.
    now = state.clock[Clock.NOW]
    end, closing = end_after(now + state.shortest[j], now), closed.time[ClosedTime.LOOKOUT]
    is_saved = power_states.is_saved(more_than_closing(problem.extras))
    if is_saved and min(closing, closed.time[ClosedTime.UNTIL]) < np.inf:  # it may end later, as its nodes have to boot
        return place_over_run(lookout, closed, problem, plan, state, j, state.free, state.load, now, NO_SHADOW)
    if state.free.size == 1:  # on one group a job always has its shortest duration
        placed = end <= closed.time[ClosedTime.UNTIL] and place(problem, plan, j, state.free, state.load, state)
        return placed and (end <= closing or _stay_free(lookout, closed, problem.tasks[j], end))
    closing = min(closing, closed.time[ClosedTime.UNTIL])
    if end <= closing:
        if not place(problem, plan, j, state.free, state.load, state):
            return False
        if end_after(now + planned_duration(problem, j, state.scratch.chosen), now) <= closing:
            return True
    return place_over_run(lookout, closed, problem, plan, state, j, state.free, state.load, now, NO_SHADOW)


@part
def _stay_free(lookout: Floats, closed: Closed, nodes: int, end: float) -> bool:
    # Whether this many nodes of the only group are left at every lookout before `end`.
    i, least = closed.number[ClosedNumber.PAST], nodes - closed.back[0]
    while i < lookout.size and lookout[i] < end:
        if closed.left[i, 0] < least:
            return False
        i += 1
    return True


@inlined
def place_beside_head(
    extras: Extras | None,
    extra_state: ExtraState | None,
    problem: Problem,
    plan: Plan,
    state: State,
    j: int,
    free: Ints,
    shadow: float,
) -> bool:
    """Place a job as `place_from_now` does, but on nodes among `free`; return whether it fits.

    At each lookout after the shadow time, the nodes reserved for EASY's head count as not free.
    """
    if extras is None or extra_state is None:
        return place(problem, plan, j, free, state.load, state)
    lookout, closed, now = extras.calendar.lookout, extra_state.closed, state.clock[Clock.NOW]
    return place_over_run(lookout, closed, problem, plan, state, j, free, state.load, now, shadow)


@part
def place_over_run(
    lookout: Floats,
    closed: Closed,
    problem: Problem,
    plan: Plan,
    state: State,
    j: int,
    free: Ints,
    load: Floats,
    begin: float,
    shadow: float,
) -> bool:
    """Return whether a job fits from `begin` to its planned end; fill `state.scratch.chosen` with its nodes if it does.

    `free` are the nodes free at `begin`, `load` the load of the uplinks then. At lookouts after the time `shadow`,
    nodes reserved for EASY's head are not free. If the job takes its nodes now, it may have to wait for their boots.
    """
    # The first try assumes the job's shortest duration [12].
    low = closed.low
    for g in range(low.size):
        low[g] = free[g]
    i = first_after(lookout, begin, closed.number[ClosedNumber.PAST])
    end, until = end_after(begin + state.shortest[j], begin), closed.time[ClosedTime.UNTIL]
    while end <= until:
        while i < lookout.size and lookout[i] < end:
            beside = shadow < lookout[i] and lookout[i] < closed.head_until[0]
            for g in range(low.size):
                left = closed.left[i, g] + closed.back[g] - (closed.head[g] if beside else 0)
                low[g] = max(0, min(low[g], left))
            i += 1
        if not place(problem, plan, j, low, load, state):
            return False
        chosen, more, now = state.scratch.chosen, more_than_closing(problem.extras), state.clock[Clock.NOW]
        start = power_states.on_at(more, state.extras, chosen, begin, now)
        end = end_after(start + planned_duration(problem, j, chosen), start)
        if end <= until and (i == lookout.size or lookout[i] >= end):
            return True
    return False


@inlined
def keeps_head_nodes(
    extras: Extras | None, extra_state: ExtraState | None, chosen: Ints, shadow: float, end: float
) -> bool:
    """Return whether EASY's head keeps its reserved nodes if a job runs on the chosen ones until `end`.

    This is checked at each lookout after the shadow time, until either ends.
    """
    if extras is None or extra_state is None:
        return True
    return _keeps_head_nodes(extras.calendar.lookout, extra_state.closed, chosen, shadow, end)


@part
def _keeps_head_nodes(lookout: Floats, closed: Closed, chosen: Ints, shadow: float, end: float) -> bool:
    until = min(end, closed.head_until[0])
    i = first_after(lookout, shadow, closed.number[ClosedNumber.PAST])
    while i < lookout.size and lookout[i] < until:
        for g in range(chosen.size):
            if chosen[g] > max(0, closed.left[i, g] + closed.back[g] - closed.head[g]):
                return False
        i += 1
    return True


# ---- the closures to come, as planners know them


@inlined
def next_known(calendar: Calendar, now: float, i: int) -> int:
    """Return the index, `i` or later, of the first change (closing or opening) that planners know of.

    It is the number of changes if there is none. An end that differs from the planned one is not known.
    """
    while i < calendar.change.size:
        c = calendar.change[i] >> 1
        its_end = calendar.change[i] & 1 == 1
        if calendar.known_from[c] <= now and not (its_end and calendar.planned_end[c] != calendar.end[c]):
            break
        i += 1
    return i


@inlined
def apply_change(calendar: Calendar, i: int, left: Ints) -> bool:
    """Add the nodes of an opening to `left`, or subtract those of a closing; return whether it is an opening."""
    c = calendar.change[i] >> 1
    opens = calendar.change[i] & 1 == 1
    left[calendar.group[c]] += calendar.nodes[c] if opens else -calendar.nodes[c]
    return opens


@inlined
def open_until(state: ExtraState | None) -> float:
    """Return the end of the reservation with the queue that is scanned now: then all its nodes close.

    It is infinite while the general queue is scanned.
    """
    if state is None:
        return np.inf
    return state.closed.time[ClosedTime.UNTIL]


@inlined
def covered_until(extras: Extras | None, state: ExtraState | None) -> float:
    """Return the time of the first known change that is not in the profile yet; infinite if all are."""
    if extras is None or state is None:
        return np.inf
    return time_of_change(extras.calendar, state.closed.number[ClosedNumber.PLANNED])


@inlined
def begin_profile(extras: Extras, state: ExtraState, free: Ints, now: float) -> None:
    """Begin a profile with the nodes that are free now, less those that closures wait for.

    Closings and openings are added as it grows.
    """
    closed = state.closed
    for g in range(free.size):
        closed.beyond[g] = free[g] - closed.owed[g]
    closed.number[ClosedNumber.PLANNED] = next_known(extras.calendar, now, closed.number[ClosedNumber.CHANGED])


@inlined
def change_until(extras: Extras, state: ExtraState, now: float, time: float) -> None:
    """Apply the known closings and openings until `time` to the free nodes at the profile's end."""
    calendar, closed = extras.calendar, state.closed
    i = closed.number[ClosedNumber.PLANNED]
    while i < calendar.change.size and time_of_change(calendar, i) <= time:  # the time may be infinite
        apply_change(calendar, i, closed.beyond)
        i = next_known(calendar, now, i + 1)
    closed.number[ClosedNumber.PLANNED] = i


@inlined
def set_breakpoint(extras: Extras, state: ExtraState, profile: Profile, row: int, time: float) -> None:
    """Set the profile's breakpoint `row`: its time, and as free nodes those at the profile's end, at least 0."""
    beyond = state.closed.beyond
    profile.time[row] = time
    profile.total[row] = 0
    for g in range(beyond.size):
        free = max(0, beyond[g])
        profile.total[row] += free
        if profile.free.shape[0] > 0:
            profile.free[g, row] = free
