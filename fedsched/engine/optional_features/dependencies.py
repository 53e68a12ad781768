"""Dependencies: jobs that wait for other jobs, or for an earliest start, before they join the queue [34 to 36].

A job's own submit is one of its conditions. A job that has met all of them is put on the timer, a heap ordered by the
time from which it is eligible; then the loop lets it join the queue. Without extras this module is compiled to nothing;
if no job waits for another, its arrays are empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.numbers import Awaits, WaitingNumber
from fedsched.engine.optional_features import holds
from fedsched.model.schedule.integrals import Eligible

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Problem, Waiting

START, END = constant(Awaits.START), constant(Awaits.END)
END_WELL, END_BADLY = constant(Awaits.END_WELL), constant(Awaits.END_BADLY)
CANCELLED = constant(Awaits.NOTHING)
NO_JOBS = constant(0)
DOOMED = constant(1 << 40)  # open conditions of a job that can never start


@inlined
def reset(extras: Extras | None, state: ExtraState | None, problem: Problem, start: Floats) -> None:
    """Reset for a run: all conditions are open, except those on the start of jobs that run already."""
    if extras is None or state is None:
        return
    waiting = state.waiting
    waiting.number[:] = 0
    for j in range(waiting.open.size):
        waiting.open[j] = DOOMED  # it stays so for jobs that never arrive
        waiting.submitted[j] = problem.submit[j] if problem.submit[j] < np.inf else problem.t0  # until it is known
        waiting.moment[j] = max(waiting.submitted[j], extras.precedence.earliest[j])
        waiting.begun[j] = 0
    if waiting.open.size > 0:
        for j in problem.arrival:
            waiting.open[j] = extras.precedence.conditions[j] - (1 if problem.submit[j] == np.inf else 0)
        for j in problem.running:
            waiting.begun[j] = 1
            waiting.moment[j] = holds.eligible_since(extras, j, waiting.moment[j], start[j])
            _settle_followers(extras, state, problem.arrival_rank, j, start[j], problem.t0, START)


@inlined
def note_submit(extras: Extras | None, state: ExtraState | None, rank: Ints, j: int, now: float) -> bool:
    """Note a job's submit; return whether the job joins the queue at once.

    If it still has to wait for time alone, it is put on the timer.
    """
    if extras is None or state is None:
        return True
    waiting = state.waiting
    if waiting.open.size == 0:
        return True
    waiting.open[j] -= 1
    if waiting.open[j] > 0:
        return False
    waiting.moment[j] = holds.eligible_since(extras, j, waiting.moment[j], now)
    if waiting.moment[j] <= now:
        return True
    _push(waiting, rank, j)
    return False


@inlined
def note_start(extras: Extras | None, state: ExtraState | None, rank: Ints, j: int, now: float) -> None:
    """Note a job's start, for the jobs that wait for its first start.

    A job that waited for nothing else is put on the timer. Later starts of the job, after a lost run, are ignored.
    """
    if extras is None or state is None:
        return
    if state.waiting.open.size > 0 and state.waiting.begun[j] == 0:
        state.waiting.begun[j] = 1
        if _is_followed(extras, j):
            _settle_followers(extras, state, rank, j, now, now, START)


@inlined
def note_end(extras: Extras | None, state: ExtraState | None, rank: Ints, j: int, now: float) -> int:
    """Note that a job has run to its end, which meets conditions of jobs that wait for it.

    Return how many jobs can therefore never start, directly or through others.
    """
    if extras is None or state is None:
        return 0
    if state.waiting.open.size == 0 or not _is_followed(extras, j):
        return 0
    return _settle_followers(extras, state, rank, j, now, now, _end_of(extras, state, j))


@inlined
def note_kill(extras: Extras, state: ExtraState, rank: Ints, j: int, now: float) -> int:
    """Note that a job was killed, which counts as a bad end; return how many jobs can therefore never start."""
    return _settle_followers(extras, state, rank, j, now, now, END_BADLY) if state.waiting.open.size > 0 else 0


@inlined
def note_cancellation(extras: Extras, state: ExtraState, rank: Ints, j: int, time: float, now: float) -> int:
    """Note that a job was cancelled at `time`, before it ran; return how many jobs can therefore never start [44]."""
    waiting = state.waiting
    if waiting.open.size == 0:
        return 0
    waiting.open[j] = DOOMED
    while waiting.number[WaitingNumber.TIMERS] > 0 and waiting.open[waiting.timer[0]] > DOOMED // 2:
        _pop(waiting, rank)
    return _settle_followers(extras, state, rank, j, time, now, CANCELLED)


@inlined
def _end_of(extras: Extras, state: ExtraState, j: int) -> int:
    if extras.moldable.end.size > 0:
        return extras.moldable.end[state.molded.at[j]]
    return extras.precedence.end[j]


@inlined
def _is_followed(extras: Extras, j: int) -> bool:
    return extras.precedence.first[j] < extras.precedence.first[j + 1]


@part
def _settle_followers(
    extras: Extras, state: ExtraState, rank: Ints, j: int, time: float, now: float, what: int
) -> int:
    precedence, waiting = extras.precedence, state.waiting
    doomed = NO_JOBS
    for i in range(precedence.first[j], precedence.first[j + 1]):
        awaits, follower = precedence.awaits[i], precedence.follower[i]
        if awaits == START and what == CANCELLED:
            if waiting.begun[j] == 0:  # else its first start settled this, and it has lost that run since
                doomed = _doom(extras, waiting, follower, doomed)
            continue
        if (awaits == START) != (what == START):
            continue
        if awaits > START and awaits != what:
            doomed = _doom(extras, waiting, follower, doomed)
            continue
        waiting.moment[follower] = max(waiting.moment[follower], time + precedence.lag[i])
        if precedence.moves[i] == 1:
            waiting.submitted[follower] = time + precedence.lag[i]
        waiting.open[follower] -= 1
        if waiting.open[follower] == 0:
            waiting.moment[follower] = holds.eligible_since(extras, follower, waiting.moment[follower], now)
            _push(waiting, rank, follower)
    told = 0
    while told < doomed:  # the followers of jobs that never start
        j = waiting.doomed[told]
        told += 1
        for i in range(precedence.first[j], precedence.first[j + 1]):
            doomed = _doom(extras, waiting, precedence.follower[i], doomed)
    return doomed


@inlined
def _doom(extras: Extras, waiting: Waiting, j: int, doomed: int) -> int:
    # Notes that a job can never start; returns how many there are now, without jobs that a cancellation ends anyway.
    if waiting.open[j] > DOOMED // 2:
        return doomed
    waiting.open[j] = DOOMED
    if extras.cancellations.place.size > 0 and extras.cancellations.place[j] >= 0:
        return doomed
    waiting.doomed[doomed] = j
    return doomed + 1


@inlined
def next_moment(state: ExtraState | None) -> float:
    """Return when the first job on the timer becomes eligible; infinite if the timer is empty."""
    if state is None:
        return np.inf
    waiting = state.waiting
    return waiting.moment[waiting.timer[0]] if waiting.number[WaitingNumber.TIMERS] > 0 else np.inf


@inlined
def pop_due(state: ExtraState, rank: Ints) -> int:
    """Remove the first job from the timer and return it; cancelled jobs behind it are removed too."""
    waiting = state.waiting
    j = _pop(waiting, rank)
    while waiting.number[WaitingNumber.TIMERS] > 0 and waiting.open[waiting.timer[0]] > DOOMED // 2:
        _pop(waiting, rank)  # it was cancelled meanwhile
    return j


@inlined
def put_on_timer(state: ExtraState, rank: Ints, j: int, moment: float) -> None:
    """Put a job that was in the queue on the timer: it is to join the queue again at `moment`."""
    state.waiting.moment[j] = moment
    _push(state.waiting, rank, j)


@inlined
def note_joined(state: ExtraState | None, j: int) -> None:
    """Append a job to the list of jobs that have joined the queue, if some jobs wait for others."""
    if state is None:
        return
    waiting = state.waiting
    if waiting.open.size > 0:
        waiting.joined[waiting.number[WaitingNumber.JOINED]] = j
        waiting.number[WaitingNumber.JOINED] += 1


@inlined
def joined_count(state: ExtraState | None, arrived: int) -> int:
    """Return how many jobs have joined the queue.

    This is `arrived`, the number of submitted jobs, if no job waits for another.
    """
    if state is None:
        return arrived
    if state.waiting.open.size == 0:
        return arrived
    return state.waiting.number[WaitingNumber.JOINED]


@inlined
def joined_job(state: ExtraState | None, arrival: Ints, i: int) -> int:
    """Return the job that joined the queue as number `i`, counted from 0."""
    if state is None:
        return arrival[i]
    if state.waiting.open.size == 0:
        return arrival[i]
    return state.waiting.joined[i]


@inlined
def eligible_since(state: ExtraState | None, submit: Floats, j: int) -> float:
    """Return the time since which a queued job has been eligible: its submit if no job waits for another."""
    if state is None:
        return submit[j]
    return state.waiting.moment[j] if state.waiting.open.size > 0 else submit[j]


@inlined
def eligible_times(state: ExtraState | None, nothing: Floats) -> Eligible:
    """Return the time since which each job has been eligible; `nothing` if all are eligible from their submits on."""
    if state is None:
        return Eligible(nothing)
    return Eligible(state.waiting.moment)


@inlined
def submitted_at(state: ExtraState | None, submit: Floats, j: int) -> float:
    """Return a queued job's submit: the actual one if that depends on another job's end."""
    if state is None:
        return submit[j]
    return state.waiting.submitted[j] if state.waiting.open.size > 0 else submit[j]


# ---- the timer: a heap of jobs


@inlined
def _earlier(waiting: Waiting, rank: Ints, a: int, b: int) -> bool:
    if waiting.moment[a] != waiting.moment[b]:
        return waiting.moment[a] < waiting.moment[b]
    return rank[a] < rank[b]


@part
def _push(waiting: Waiting, rank: Ints, j: int) -> None:
    place = waiting.number[WaitingNumber.TIMERS]
    waiting.number[WaitingNumber.TIMERS] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _earlier(waiting, rank, j, waiting.timer[parent]):
            break
        waiting.timer[place] = waiting.timer[parent]
        place = parent
    waiting.timer[place] = j


@part
def _pop(waiting: Waiting, rank: Ints) -> int:
    top = waiting.timer[0]
    size = waiting.number[WaitingNumber.TIMERS] - 1
    waiting.number[WaitingNumber.TIMERS] = size
    j, place = waiting.timer[size], 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _earlier(waiting, rank, waiting.timer[child + 1], waiting.timer[child]):
            child += 1
        if not _earlier(waiting, rank, waiting.timer[child], j):
            break
        waiting.timer[place] = waiting.timer[child]
        place = child
    waiting.timer[place] = j
    return top
