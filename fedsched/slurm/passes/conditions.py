"""The conditions of jobs before they join Slurm's queue: submit, dependencies, and begin times [34 to 36].

A job that has met all its conditions is put on the timer, a heap ordered by the second from which a job may start. A
job with a condition that cannot be met never starts, and nor do the jobs that depend on it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.structs import Counter, Setting

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Ints, Problem, State

START, END, END_WELL, END_BADLY, CANCELLED = (constant(k) for k in range(5))
NEVER = constant(2**62)
NO_JOBS, NO_JOB = constant(0), constant(-1)
DOOMED = constant(2**40)  # open conditions of a job that can never start


@part
def note_submit(problem: Problem, state: State, job: int) -> None:
    """Mark the submit condition of a job as met; if no condition is left, put the job on the timer."""
    state.waiting.open[job] -= 1
    if state.waiting.open[job] == 0:
        wait_until(problem, state, job, state.waiting.moment[job])


@part
def settle(problem: Problem, state: State, job: int, now: int, what: int) -> None:
    """Update the jobs that depend on a job, after that job has started, ended, or been cancelled (`what`).

    A job with no condition left is put on the timer; one with a condition that cannot be met never starts. A dependency
    on a start is met in the next second at the earliest: the pass that starts the job has a fixed list.
    """
    conditions, waiting = problem.conditions, state.waiting
    doomed = NO_JOBS
    for i in range(conditions.first[job], conditions.first[job + 1]):
        awaits, follower = conditions.awaits[i], conditions.follower[i]
        if awaits == START and what == CANCELLED:
            if waiting.begun[job] == 0:  # else its first start has settled this
                doomed = _doom(problem, state, follower, doomed)
            continue
        if (awaits == START) != (what == START):
            continue
        if awaits > END and awaits != what:
            doomed = _doom(problem, state, follower, doomed)
            continue
        if conditions.moves[i] == 1:
            _submit_later(problem, state, follower, end_of(problem, state, job, what))
            continue
        waiting.moment[follower] = max(waiting.moment[follower], now + max(conditions.lag[i], int(what == START)))
        waiting.open[follower] -= 1
        if waiting.open[follower] == 0:
            wait_until(problem, state, follower, waiting.moment[follower])
    _doom_followers(problem, state, doomed)


@inlined
def end_of(problem: Problem, state: State, job: int, what: int) -> float:
    """Return the exact end of a job on the workload's clock: of its run, or its cancellation (`what`)."""
    if what == CANCELLED:
        return problem.feedback.cancel[job]
    if not np.isnan(state.lost.end[job]):
        return state.lost.end[job]
    begun = state.start[job] + problem.settings[Setting.BASE]
    least = math.ldexp(1.0, math.frexp(begun)[1] - 53)  # to the next number: a run takes some time
    return begun + max(problem.feedback.runtime[job], least)


@part
def _submit_later(problem: Problem, state: State, job: int, over: float) -> None:
    # The job that this one follows has ended; its submit is still to come, or is that very second.
    waiting = state.waiting
    second = int(np.ceil(over + problem.feedback.think[job])) - problem.settings[Setting.BASE]
    waiting.submitted[job], waiting.since[job] = second, second
    waiting.moment[job] = max(waiting.moment[job], second)
    _push(waiting.coming, waiting.submitted, state.counter[Counter.COMING], job)
    state.counter[Counter.COMING] += 1


@part
def next_submitted(problem: Problem, state: State) -> int:
    """Return the job that is submitted next, among jobs with a known submit; -1 if there is none.

    Within a second jobs are submitted in the order of their numbers.
    """
    counter, waiting, by_submit = state.counter, state.waiting, problem.jobs.by_submit
    first = by_submit[counter[Counter.ARRIVED]] if counter[Counter.ARRIVED] < by_submit.size else NO_JOB
    if counter[Counter.COMING] == 0:
        return first
    follows = waiting.coming[0]
    return first if first != NO_JOB and _earlier(waiting.submitted, first, follows) else follows


@part
def pop_submitted(problem: Problem, state: State, job: int) -> None:
    """Remove the job that `next_submitted` returned from those to come."""
    if problem.jobs.submit[job] < NEVER:
        state.counter[Counter.ARRIVED] += 1
    else:
        state.counter[Counter.COMING] -= 1
        _pop(state.waiting.coming, state.waiting.submitted, state.counter[Counter.COMING])


@part
def wait_until(problem: Problem, state: State, job: int, moment: int) -> None:
    """Put a job on the timer, to join the queue at `moment`; if it is held then, at the end of the hold [73]."""
    state.waiting.moment[job] = released(problem, job, moment)
    _push(state.waiting.timer, state.waiting.moment, state.counter[Counter.TIMERS], job)
    state.counter[Counter.TIMERS] += 1


@part
def released(problem: Problem, job: int, moment: int) -> int:
    """Return the first second, `moment` or later, in which a job is not held."""
    holds, found = problem.holds, moment
    if holds.first.size > 0:
        for h in range(holds.first[job], holds.first[job + 1]):
            if holds.begin[h] <= found:
                found = max(found, holds.end[h])
    return found


@part
def doom_job(problem: Problem, state: State, job: int) -> None:
    """Mark a job as never starting, as one of its conditions cannot be met; likewise all jobs that depend on it."""
    _doom_followers(problem, state, _doom(problem, state, job, NO_JOBS))


@part
def _doom_followers(problem: Problem, state: State, doomed: int) -> None:
    told = NO_JOBS
    while told < doomed:
        job = state.waiting.doomed[told]
        told += 1
        for i in range(problem.conditions.first[job], problem.conditions.first[job + 1]):
            if problem.conditions.awaits[i] == START and state.waiting.begun[job] == 1:
                continue
            doomed = _doom(problem, state, problem.conditions.follower[i], doomed)


@inlined
def _doom(problem: Problem, state: State, job: int, doomed: int) -> int:
    # Returns the new number of doomed jobs. A job with a time of cancellation is not among them: that time ends it.
    waiting = state.waiting
    if waiting.open[job] > DOOMED // 2:
        return doomed
    waiting.open[job] = DOOMED
    if problem.jobs.cancel[job] < NEVER:
        return doomed
    waiting.gone[job] = 1
    state.counter[Counter.GONE] += 1
    waiting.doomed[doomed] = job
    return doomed + 1


@part
def next_moment(state: State) -> int:
    """Return the second from which the first job on the timer may start; NEVER if the timer is empty."""
    if state.counter[Counter.TIMERS] == 0:
        return NEVER
    return state.waiting.moment[state.waiting.timer[0]]


@part
def pop_due(state: State) -> int:
    """Remove the first job from the timer and return it."""
    state.counter[Counter.TIMERS] -= 1
    return _pop(state.waiting.timer, state.waiting.moment, state.counter[Counter.TIMERS])


# ---- heaps of jobs, by their times


@inlined
def _earlier(times: Ints, one: int, other: int) -> bool:
    if times[one] != times[other]:
        return times[one] < times[other]
    return one < other


@part
def _push(heap: Ints, times: Ints, many: int, job: int) -> None:
    place = many
    while place > 0:
        above = (place - 1) // 2
        if not _earlier(times, job, heap[above]):
            break
        heap[place] = heap[above]
        place = above
    heap[place] = job


@part
def _pop(heap: Ints, times: Ints, left: int) -> int:
    first, last, place = heap[0], heap[left], NO_JOBS
    while 2 * place + 1 < left:
        child = 2 * place + 1
        if child + 1 < left and _earlier(times, heap[child + 1], heap[child]):
            child += 1
        if not _earlier(times, heap[child], last):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    return first
