"""Groups of shared nodes that are closed for a while: which of them a run may use from its begin to its end [38 to 40].

A downtime closes groups whole here: a job may use a group or not, and what is free on its nodes stays what it is.
Every function takes the extras first. Where a problem has none it is compiled to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine.calendar import time_of
from fedsched.engine.clock import end_after
from fedsched.engine.numbers import Clock, ClosedNumber
from fedsched.engine.placement import place, planned_duration

if TYPE_CHECKING:
    from fedsched.engine.arrays import Calendar, Extras, ExtraState, Floats, Ints, Plan, Problem, State

NONE = constant(0)


@inlined
def open_all(extras: Extras | None, extra_state: ExtraState | None, t0: float) -> None:
    """Let what has closed or opened by t0 have done so."""
    if extras is None or extra_state is None:
        return
    number = extra_state.closed.number
    number[ClosedNumber.PAST] = extras.calendar.lookout.size  # of counts of nodes the engine keeps none for this loop
    number[ClosedNumber.CHANGED] = 0
    while time_of(extras.calendar, number[ClosedNumber.CHANGED]) <= t0:
        number[ClosedNumber.CHANGED] += 1


@inlined
def _is_known(calendar: Calendar, c: int, now: float) -> bool:
    return calendar.known_from[c] <= now and now < calendar.end[c]


@part
def _shut(calendar: Calendar, room: Ints, now: float, begin: float, end: float) -> int:
    # Leaves no room on groups that known downtimes close within [begin, end); returns how many tasks fit there.
    away = NONE
    for c in range(calendar.begin.size):
        if calendar.begin[c] < end and begin < calendar.planned_end[c] and _is_known(calendar, c, now):
            away += room[calendar.group[c]]
            room[calendar.group[c]] = 0
    return away


@inlined
def shut_soon(extras: Extras | None, state: State, room: Ints, j: int) -> int:
    """Leave no room on groups that close before a job could end, were it as short as can be; return how much less."""
    if extras is None:
        return 0
    if extras.calendar.begin.size == 0:
        return 0
    now = state.clock[Clock.NOW]
    return _shut(extras.calendar, room, now, now, end_after(now + state.shortest[j], now))


@inlined
def place_while_open(
    extras: Extras | None, problem: Problem, plan: Plan, state: State, room: Ints, total: int, j: int, begin: float
) -> bool:
    """Fill `state.scratch.chosen` with tasks on groups that are open from `begin` until the job's planned end, if any.

    `room` is how many of its tasks fit on each group, in all `total`; groups that close lose theirs.
    """
    if extras is None:
        return total >= problem.tasks[j] and place(problem, plan, j, room, state.load, state)
    if extras.calendar.begin.size == 0:
        return total >= problem.tasks[j] and place(problem, plan, j, room, state.load, state)
    return _place_while_open(extras.calendar, problem, plan, state, room, total, j, begin)


@part
def _place_while_open(
    calendar: Calendar, problem: Problem, plan: Plan, state: State, room: Ints, total: int, j: int, begin: float
) -> bool:
    # The job is first taken to be as short as it can be [12, 39].
    end = end_after(begin + state.shortest[j], begin)
    while True:
        total -= _shut(calendar, room, state.clock[Clock.NOW], begin, end)
        if total < problem.tasks[j] or not place(problem, plan, j, room, state.load, state):
            return False
        needed = end_after(begin + planned_duration(problem, j, state.scratch.chosen), begin)
        if needed <= end:
            return True
        end = needed


@inlined
def next_opening(extras: Extras | None, clock: Floats, time: float) -> float:
    """Return the first known end of a downtime after a time; infinite where there is none."""
    if extras is None:
        return np.inf
    calendar, first = extras.calendar, np.inf
    for c in range(calendar.begin.size):
        if time < calendar.planned_end[c] < first and _is_known(calendar, c, clock[Clock.NOW]):
            first = calendar.planned_end[c]
    return first
