"""Holds: stretches of time in which a job may not start; one that waits leaves the queue for as long [73].

They begin right after the cancellations of their instant. Whoever is held counts as started wherever the queue is
looked at, and stands on the timer of those whom the time makes eligible; it joins the queue again as one does that lost
its run. Where a problem has no extras all of it is compiled to nothing; where nobody is held arrays are of no size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, State

NEXT = constant(0)  # in `Held.number`
ELSEWHERE, QUEUED, AWAY = constant(0), constant(1), constant(2)  # in `Held.what`


@by_reference
class Holds(NamedTuple):
    """When each job is held, in order; where nobody is of no size."""

    first: Ints  # where the holds of each job begin, and where the last one's end
    begin: Floats
    end: Floats
    order: Ints  # the holds by their begins
    job: Ints  # hold: whose it is


@by_reference
class Held(NamedTuple):
    """Who is held now; where nobody ever is of no size."""

    number: Ints  # [0]: the next hold to begin
    what: Ints  # job: 1 it has joined the queue, 2 it is held since


@inlined
def open_all(extras: Extras | None, state: ExtraState | None) -> None:
    """Let all holds be to come."""
    if extras is None or state is None:
        return
    if state.held.what.size > 0:
        state.held.number[NEXT] = 0
        state.held.what[:] = ELSEWHERE


@inlined
def since(extras: Extras, j: int, moment: float, time: float) -> float:
    """Return from when a job may start at `time` or later that else might from `moment` on."""
    return _since(extras.holds, j, moment, time) if extras.holds.first.size > 0 else moment


@part
def _since(holds: Holds, j: int, moment: float, time: float) -> float:
    # When the last hold ends that has begun by then, if that is later.
    found, latest = moment, max(moment, time)
    for h in range(holds.first[j], holds.first[j + 1]):
        if holds.begin[h] <= latest:
            found = max(moment, holds.end[h])
    return found


@inlined
def has_joined(state: ExtraState | None, j: int) -> None:
    """Note that a job has joined the queue."""
    if state is None:
        return
    if state.held.what.size > 0:
        state.held.what[j] = QUEUED


@inlined
def is_away(state: ExtraState | None, j: int) -> bool:
    """Return whether a job that was in the queue is held."""
    if state is None:
        return False
    return state.held.what.size > 0 and state.held.what[j] == AWAY


@inlined
def goes_away(state: ExtraState, j: int) -> None:
    """Note that a job that was in the queue is held."""
    state.held.what[j] = AWAY


@inlined
def is_gone(state: ExtraState, j: int) -> None:
    """Note that a job will not come back."""
    if state.held.what.size > 0:
        state.held.what[j] = ELSEWHERE


@inlined
def next_hold(extras: Extras | None, state: ExtraState | None, run: State, time: float) -> float:
    """Return when a job that is in the queue is next held, no later than `time`."""
    if extras is None or state is None:
        return time
    return _next_hold(extras.holds, state.held, run, time) if extras.holds.first.size > 0 else time


@part
def _next_hold(holds: Holds, held: Held, run: State, time: float) -> float:
    place = held.number[NEXT]
    while place < holds.order.size and holds.begin[holds.order[place]] < time:
        h = holds.order[place]
        j = holds.job[h]
        if held.what[j] == QUEUED and np.isnan(run.start[j]):
            return holds.begin[h]
        place += 1
    return time


@inlined
def next_held(extras: Extras, state: ExtraState, run: State, now: float) -> int:
    """Return the next job that is in the queue, and is held from now on at the latest, or -1."""
    holds, held = extras.holds, state.held
    while held.number[NEXT] < holds.order.size:
        h = holds.order[held.number[NEXT]]
        if holds.begin[h] > now:
            break
        held.number[NEXT] += 1
        j = holds.job[h]
        if held.what[j] == QUEUED and np.isnan(run.start[j]) and holds.end[h] > now:
            return j
    return -1
