"""Holds: periods in which a job may not start; a waiting job leaves the queue for that time [73].

Holds begin right after the cancellations of their instant. In the state, a held job has a start, so that scans of the
queue skip it; it is on the timer of jobs that become eligible by time. When the hold ends, it joins the queue again.
Without extras this module is compiled to nothing; if no job is ever held, its arrays are empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, State

NEXT = constant(0)  # in `HeldJobs.number`
ELSEWHERE, QUEUED, AWAY = constant(0), constant(1), constant(2)  # in `HeldJobs.what`


@by_reference
class Holds(NamedTuple):
    """The holds (periods without a start) of each job, in order of time; empty if no job is held."""

    first: Ints  # where the holds of each job begin, and where those of the last job end
    begin: Floats
    end: Floats
    order: Ints  # the holds by their begins
    job: Ints  # hold: its job


@by_reference
class HeldJobs(NamedTuple):
    """The state of holds: which jobs are held now, and which hold begins next; empty if no job is ever held."""

    number: Ints  # [0]: the next hold to begin
    what: Ints  # job: 1 it has joined the queue, 2 it is held since


@inlined
def reset(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset for a run: no job is held, and all holds are to come."""
    if extras is None or state is None:
        return
    if state.held.what.size > 0:
        state.held.number[NEXT] = 0
        state.held.what[:] = ELSEWHERE


@inlined
def eligible_since(extras: Extras, j: int, moment: float, time: float) -> float:
    """Return the time from which a job is eligible: `moment`, or the end of the last hold that has begun, if later.

    A hold has begun if its begin is not after the later one of `moment` and `time`.
    """
    return _eligible_since(extras.holds, j, moment, time) if extras.holds.first.size > 0 else moment


@part
def _eligible_since(holds: Holds, j: int, moment: float, time: float) -> float:
    # The end of the last hold that has begun by then, if that is later than `moment`.
    found, latest = moment, max(moment, time)
    for h in range(holds.first[j], holds.first[j + 1]):
        if holds.begin[h] <= latest:
            found = max(moment, holds.end[h])
    return found


@inlined
def note_joined(state: ExtraState | None, j: int) -> None:
    """Note that a job has joined the queue, so that its holds can take it out."""
    if state is None:
        return
    if state.held.what.size > 0:
        state.held.what[j] = QUEUED


@inlined
def is_held(state: ExtraState | None, j: int) -> bool:
    """Return whether a job that was in the queue has left it because of a hold."""
    if state is None:
        return False
    return state.held.what.size > 0 and state.held.what[j] == AWAY


@inlined
def note_held(state: ExtraState, j: int) -> None:
    """Note that a job has left the queue because of a hold."""
    state.held.what[j] = AWAY


@inlined
def note_gone(state: ExtraState, j: int) -> None:
    """Note that a job has left for good: its later holds do not count."""
    if state.held.what.size > 0:
        state.held.what[j] = ELSEWHERE


@inlined
def next_hold(extras: Extras | None, state: ExtraState | None, run: State, time: float) -> float:
    """Return when the next hold of a queued job begins, if that is before `time`; else return `time`."""
    if extras is None or state is None:
        return time
    return _next_hold(extras.holds, state.held, run, time) if extras.holds.first.size > 0 else time


@part
def _next_hold(holds: Holds, held: HeldJobs, run: State, time: float) -> float:
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
    """Return the next queued job with a hold that has begun by `now` and not ended, or -1.

    Holds up to that one are not looked at again.
    """
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
