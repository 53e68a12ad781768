"""Cancellations: a job that has not started by its own cancellation time leaves the queue, or never joins it [44].

Cancellations are the first events of their instant. In the state, a cancelled job has a start and no finish, so that
scans of the queue skip it. Without extras this module is compiled to nothing; if no job may be cancelled, its arrays
are empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, flag, inlined, part
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import dependencies, holds, limits
from fedsched.engine.queue import queue_tree as queues

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Plan, Problem, State

NEXT = constant(0)  # in `Cancelled.number`
AWAY, QUEUED, GONE = constant(0), constant(1), constant(2)  # in `Cancelled.what`
END, LOST = constant(0), constant(1)  # in `Cancelled.busy`
NO_JOB = flag(False)


@by_reference
class Cancellations(NamedTuple):
    """The cancellation times of jobs: when each leaves the queue if it has not started; empty if there are none."""

    time: Floats  # ascending
    job: Ints
    place: Ints  # job: its index among these, or -1


@by_reference
class Cancelled(NamedTuple):
    """The state of cancellations: which jobs have been cancelled, and which cancellation is next.

    The arrays are empty if no job may be cancelled.
    """

    number: Ints  # [0]: the next cancellation, or an earlier one of a job that has started
    what: Ints  # job: 0 it is yet to join the queue, 1 it has joined it, 2 it is gone
    busy: Floats  # until when jobs ran, and the node-seconds of capacity lost by then


@inlined
def reset(extras: Extras | None, state: ExtraState | None, t0: float) -> None:
    """Reset for a run from `t0` on: no job has been cancelled, and all cancellations are to come."""
    if extras is None or state is None:
        return
    cancelled = state.cancelled
    if cancelled.what.size > 0:
        cancelled.number[NEXT] = 0
        cancelled.what[:] = AWAY
        cancelled.busy[END], cancelled.busy[LOST] = t0, 0.0


@inlined
def next_cancellation(extras: Extras | None, state: ExtraState | None, run: State) -> float:
    """Return the time of the next cancellation of a job that has not started; infinite if there is none.

    Cancellations of started jobs are passed over for good.
    """
    if extras is None or state is None:
        return np.inf
    times, jobs, number = extras.cancellations.time, extras.cancellations.job, state.cancelled.number
    while number[NEXT] < jobs.size and _has_started(state, run, jobs[number[NEXT]]):
        number[NEXT] += 1
    return times[number[NEXT]] if number[NEXT] < jobs.size else np.inf


@inlined
def _has_started(state: ExtraState, run: State, j: int) -> bool:
    return not np.isnan(run.start[j]) and not holds.is_held(state, j)


@inlined
def note_joined(state: ExtraState | None, j: int) -> None:
    """Note that a job has joined the queue, so that a cancellation has to remove it from there."""
    if state is None:
        return
    if state.cancelled.what.size > 0:
        state.cancelled.what[j] = QUEUED


@inlined
def is_gone(state: ExtraState | None, j: int) -> bool:
    """Return whether a job has been cancelled."""
    if state is None:
        return False
    return state.cancelled.what.size > 0 and state.cancelled.what[j] == GONE


@inlined
def note_requeued(extras: Extras, state: ExtraState, j: int, now: float) -> None:
    """Note that a job is queued again after it lost its nodes.

    If its cancellation time is after `now`, it may still be cancelled then.
    """
    if state.cancelled.what.size == 0:
        return
    state.cancelled.what[j] = QUEUED
    place = extras.cancellations.place[j]
    if place >= 0 and extras.cancellations.time[place] > now:
        state.cancelled.number[NEXT] = min(state.cancelled.number[NEXT], place)


@inlined
def note_left(state: ExtraState, j: int) -> None:
    """Note that a job has left the queue for a while, as it is held; a cancellation need not remove it from there."""
    if state.cancelled.what.size > 0:
        state.cancelled.what[j] = AWAY


@inlined
def note_busy(state: ExtraState | None, running: int, now: float, lost: float) -> None:
    """Store `now` and the capacity lost so far (node-seconds) if jobs run and some may be cancelled.

    Later cancellations then do not lengthen the schedule.
    """
    if state is None:
        return
    if running > 0 and state.cancelled.what.size > 0:
        state.cancelled.busy[END], state.cancelled.busy[LOST] = now, lost


@inlined
def busy_until(state: ExtraState | None, now: float) -> float:
    """Return the last time at which jobs ran in a finished run; `now` if no job may be cancelled."""
    if state is None:
        return now
    return state.cancelled.busy[END] if state.cancelled.what.size > 0 else now


@inlined
def lost_until_then(state: ExtraState | None, lost: float) -> float:
    """Return the capacity lost until jobs last ran, in node-seconds; `lost` if no job may be cancelled."""
    if state is None:
        return lost
    return state.cancelled.busy[LOST] if state.cancelled.what.size > 0 else lost


@inlined
def cancel_due(problem: Problem, plan: Plan, state: State) -> bool:
    """Cancel all jobs with a cancellation time that is not after now; return whether there is any."""
    return _cancel_due(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _cancel_due(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> bool:
    if extras is None or extra_state is None:
        return NO_JOB
    if extra_state.cancelled.what.size == 0:
        return NO_JOB
    return _cancel_due_jobs(extras, extra_state, problem, plan, state)


@part
def _cancel_due_jobs(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> bool:
    cancelled_any, now = False, state.clock[Clock.NOW]
    while next_cancellation(extras, extra_state, state) <= now:
        _cancel_next(extras, extra_state, problem, plan, state)
        cancelled_any = True
    return cancelled_any


@inlined
def _cancel_next(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> None:
    """Cancel the job that `next_cancellation` found.

    It leaves the queue and counts as finished, together with the jobs that can therefore never start.
    """
    counter, cancelled = state.counter, extra_state.cancelled
    j, time = extras.cancellations.job[cancelled.number[NEXT]], extras.cancellations.time[cancelled.number[NEXT]]
    if cancelled.what[j] == QUEUED:
        queues.dequeue(problem, plan, state, j)
        counter[Counter.QUEUED] -= 1 if limits.note_left(extras, extra_state, state, j) else 0
        counter[Counter.PLAN_HOLDS] = 0
    cancelled.what[j] = GONE
    holds.note_gone(extra_state, j)
    now = state.clock[Clock.NOW]
    state.start[j] = now
    counter[Counter.FINISHED] += 1 + dependencies.note_cancellation(
        extras, extra_state, problem.arrival_rank, j, time, now
    )
