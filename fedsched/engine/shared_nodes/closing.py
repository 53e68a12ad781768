"""Closures of groups of shared nodes: which groups a job may use from its start to its planned end [38 to 40].

Here a downtime closes whole groups: a job may use a group or not, and what is free on its nodes does not change. A
reservation closes its groups to all jobs but its own; when it ends, all groups are closed to these [46]. Every function
takes the extras first, and is compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.core.random import random_bits
from fedsched.engine.clock import end_after
from fedsched.engine.numbers import Clock, ClosedNumber, ClosedTime
from fedsched.engine.optional_features.downtimes import NO_RESERVATION, note_next_change
from fedsched.engine.placement.node_choice import place, planned_duration

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Calendar, Closed, Extras, ExtraState, Floats, Ints, Plan, Problem, State
    from fedsched.engine.optional_features.reservation_queues import ReservationMembers
    from fedsched.engine.shared_nodes.arrays import Closures, Sharing, Work

NONE = constant(0)


@inlined
def open_all(
    extras: Extras | None, extra_state: ExtraState | None, sharing: Sharing, work: Work, t0: float
) -> None:
    """Reset for a run: process the closings and openings until `t0`."""
    if extras is None or extra_state is None:
        return
    for g in range(work.ended.size):
        work.ended[g] = sharing.closures.first[g]
    number = extra_state.closed.number
    number[ClosedNumber.PAST] = extras.calendar.lookout.size  # no lookout is to come: free nodes are not counted
    number[ClosedNumber.CHANGED] = 0
    extra_state.closed.time[:] = np.inf
    extra_state.closed.holder[:] = NO_RESERVATION
    note_next_change(extras.calendar, extra_state.closed)
    while extra_state.closed.time[ClosedTime.CHANGE] <= t0:
        turn_page(extras.calendar, extra_state.closed)


@inlined
def turn_page(calendar: Calendar, closed: Closed) -> int:
    """Process the next closing or opening of a group; return it as an entry of `Calendar.change`.

    If the closure is a reservation, the group belongs to it from the closing to the opening.
    """
    change = calendar.change[closed.number[ClosedNumber.CHANGED]]
    c, opens = change >> 1, change & 1 == 1
    closed.number[ClosedNumber.CHANGED] += 1
    note_next_change(calendar, closed)
    if calendar.reservation[c] != NO_RESERVATION:
        closed.holder[calendar.group[c]] = NO_RESERVATION if opens else calendar.reservation[c]
    return change


@inlined
def _is_known(calendar: Calendar, c: int, now: float) -> bool:
    return calendar.known_from[c] <= now and now < calendar.end[c]


@inlined
def _reservation_of(reserved: ReservationMembers, j: int) -> int:
    return reserved.of_job[j] if reserved.of_job.size > 0 else NO_RESERVATION


@part
def _shut(
    calendar: Calendar,
    reserved: ReservationMembers,
    closures: Closures,
    ended: Ints,
    room: Ints,
    now: float,
    begin: float,
    end: float,
    j: int,
) -> int:
    # Sets the room of groups that known closures close to the job within [begin, end) to 0; returns by how much the
    # room has fallen in total.
    away, mine = NONE, _reservation_of(reserved, j)
    for g in range(room.size):
        if room[g] == 0:
            continue
        last = closures.first[g + 1]
        while ended[g] < last and calendar.end[closures.of_group[ended[g]]] <= now:
            ended[g] += 1
        for i in range(ended[g], last):
            c = closures.of_group[i]
            if calendar.begin[c] >= end:
                break
            yields = mine != NO_RESERVATION and calendar.reservation[c] == mine
            if not yields and begin < calendar.planned_end[c] and _is_known(calendar, c, now):
                away += room[g]
                room[g] = 0
                break
    if mine != NO_RESERVATION and end > reserved.end[mine]:  # then all groups are closed to its jobs
        for g in range(room.size):
            away += room[g]
            room[g] = 0
    return away


@inlined
def shut_soon(extras: Extras | None, state: State, sharing: Sharing, work: Work, room: Ints, j: int) -> int:
    """Set the room of groups that close before the job's earliest possible end to 0; return how much that was."""
    if extras is None:
        return 0
    if extras.calendar.begin.size == 0:
        return 0
    now = state.clock[Clock.NOW]
    end = end_after(now + state.shortest[j], now)
    return _shut(extras.calendar, extras.reserved, sharing.closures, work.ended, room, now, now, end, j)


@inlined
def place_while_open(
    extras: Extras | None,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
    room: Ints,
    total: int,
    j: int,
    begin: float,
) -> bool:
    """Place a job on groups that are open from `begin` to its planned end; return whether it fits.

    If it fits, `state.scratch.chosen` has its tasks on each group. `room` has how many of its tasks fit on each group,
    and `total` is their sum. The room of groups that close is set to 0.
    """
    if extras is None:
        return total >= problem.tasks[j] and place(problem, plan, j, room, state.load, state)
    if extras.calendar.begin.size == 0:
        return total >= problem.tasks[j] and place(problem, plan, j, room, state.load, state)
    return _place_while_open(
        extras.calendar, extras.reserved, problem, plan, state, sharing.closures, work.ended, room, total, j, begin
    )


@part
def _place_while_open(
    calendar: Calendar,
    reserved: ReservationMembers,
    problem: Problem,
    plan: Plan,
    state: State,
    closures: Closures,
    ended: Ints,
    room: Ints,
    total: int,
    j: int,
    begin: float,
) -> bool:
    # The first try assumes the job's shortest duration [12, 39].
    end = end_after(begin + state.shortest[j], begin)
    while True:
        total -= _shut(calendar, reserved, closures, ended, room, state.clock[Clock.NOW], begin, end, j)
        if total < problem.tasks[j] or not place(problem, plan, j, room, state.load, state):
            return False
        needed = end_after(begin + planned_duration(problem, j, state.scratch.chosen), begin)
        if needed <= end:
            return True
        end = needed


@inlined
def next_opening(extras: Extras | None, clock: Floats, closures: Closures, time: float) -> float:
    """Return the first known end of a downtime after `time`; infinite if there is none."""
    if extras is None:
        return np.inf
    return _next_opening(extras.calendar, closures, clock[Clock.NOW], time)


@part
def _next_opening(calendar: Calendar, closures: Closures, now: float, time: float) -> float:
    low, high = 0, closures.planned_end.size
    while low < high:
        middle = (low + high) >> 1
        if closures.planned_end[middle] <= time:
            low = middle + 1
        else:
            high = middle
    while low < closures.planned_end.size:
        if _is_known(calendar, closures.by_end[low], now):
            return closures.planned_end[low]
        low += 1
    return np.inf


@kernel
def draw(nodes: Ints, seed: int, number: int) -> None:
    """Put nodes into a random order, in which a downtime hits them: a Fisher-Yates shuffle.

    `seed` and `number`, the row of the closure, determine the order.
    """
    for k in range(nodes.size):
        place = k + int(random_bits(seed, number, k) % np.uint64(nodes.size - k))
        nodes[k], nodes[place] = nodes[place], nodes[k]
