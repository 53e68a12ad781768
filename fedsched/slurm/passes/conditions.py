"""The conditions of jobs before they join Slurm's queue: submit, dependencies, and begin times [34 to 36].

A job that has met all its conditions is put on the timer, a heap ordered by the second from which a job may start. A
job with a condition that cannot be met never starts, and nor do the jobs that depend on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.structs import Counter

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

START, END, END_WELL, END_BADLY, CANCELLED = (constant(k) for k in range(5))
NEVER = constant(2**62)
NO_JOBS = constant(0)
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
            doomed = _doom(problem, state, follower, doomed)
            continue
        if (awaits == START) != (what == START):
            continue
        if awaits > END and awaits != what:
            doomed = _doom(problem, state, follower, doomed)
            continue
        waiting.moment[follower] = max(waiting.moment[follower], now + max(conditions.lag[i], int(what == START)))
        waiting.open[follower] -= 1
        if waiting.open[follower] == 0:
            wait_until(problem, state, follower, waiting.moment[follower])
    _doom_followers(problem, state, doomed)


@part
def wait_until(problem: Problem, state: State, job: int, moment: int) -> None:
    """Put a job on the timer, to join the queue at `moment`; if it is held then, at the end of the hold [73]."""
    state.waiting.moment[job] = released(problem, job, moment)
    _push(state, job)


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


@inlined
def _earlier(state: State, one: int, other: int) -> bool:
    moment = state.waiting.moment
    if moment[one] != moment[other]:
        return moment[one] < moment[other]
    return one < other


@part
def _push(state: State, job: int) -> None:
    timer, place = state.waiting.timer, state.counter[Counter.TIMERS]
    state.counter[Counter.TIMERS] += 1
    while place > 0:
        above = (place - 1) // 2
        if not _earlier(state, job, timer[above]):
            break
        timer[place] = timer[above]
        place = above
    timer[place] = job


@part
def pop_due(state: State) -> int:
    """Remove the first job from the timer and return it."""
    timer = state.waiting.timer
    first, many = timer[0], state.counter[Counter.TIMERS] - 1
    state.counter[Counter.TIMERS] = many
    last, place = timer[many], NO_JOBS
    while 2 * place + 1 < many:
        child = 2 * place + 1
        if child + 1 < many and _earlier(state, timer[child + 1], timer[child]):
            child += 1
        if not _earlier(state, timer[child], last):
            break
        timer[place] = timer[child]
        place = child
    timer[place] = last
    return first
