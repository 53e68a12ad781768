"""Slurm's queue, in the order in which passes test jobs: jobs of reservations, partition tier, priority, number.

An array has one entry, its first waiting task, which stands for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.slurm.loop.structs import Counter, Setting
from fedsched.slurm.priority.ticks import add_array_task, remove_cancelled

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State


@inlined
def comes_before(problem: Problem, state: State, one: int, other: int) -> bool:
    """Return whether a waiting job is before another one in the queue.

    Jobs of reservations come first, then higher tiers, then higher priorities, earlier submits and lower numbers;
    under FIFO, older entries.
    """
    tier, reservation = problem.machine.tier, problem.jobs.reservation
    if problem.settings[Setting.FIFO] == 1:
        since = state.waiting.since
        return since[one] < since[other] if since[one] != since[other] else one < other
    if (reservation[one] >= 0) != (reservation[other] >= 0):
        return reservation[one] >= 0
    first, second = tier[problem.jobs.partition[one]], tier[problem.jobs.partition[other]]
    if first != second:
        return first > second
    value = state.priorities.value
    if value[one] != value[other]:
        return value[one] > value[other]
    submitted = state.waiting.submitted
    return submitted[one] < submitted[other] if submitted[one] != submitted[other] else one < other


@inlined
def may_block(problem: Problem, state: State, job: int, now: int) -> bool:
    """Return whether a job may block others or get a reservation: by its age and its priority.

    The minima are bf_min_age_reserve and bf_min_prio_reserve.
    """
    settings = problem.settings
    if now - state.waiting.moment[job] < settings[Setting.BF_MIN_AGE_RESERVE]:
        return False
    least = settings[Setting.BF_MIN_PRIO_RESERVE]
    return least == 0 or state.priorities.value[job] >= least


@part
def join(problem: Problem, state: State, job: int) -> None:
    """Insert a job into the queue at its place in the order; do nothing if an earlier task of its array is there."""
    queue, many = state.queue, state.counter[Counter.WAITING]
    if state.waiting.shown[state.waiting.record[job]] >= 0:
        return
    state.waiting.shown[state.waiting.record[job]] = job
    low, high = 0, many
    while low < high:
        middle = (low + high) // 2
        if comes_before(problem, state, queue[middle], job):
            low = middle + 1
        else:
            high = middle
    for place in range(many, low, -1):
        queue[place] = queue[place - 1]
    queue[low] = job
    state.counter[Counter.WAITING] = many + 1


@inlined
def _is_elsewhere(problem: Problem, state: State, task: int) -> bool:
    waiting = state.waiting
    held = problem.holds.first.size > 0 and waiting.away[task] == 1
    return waiting.open[task] != 0 or waiting.gone[task] == 1 or not np.isnan(state.start[task]) or held


@part
def replace_by_next_task(problem: Problem, state: State, place: int, since: int) -> int:
    """Replace a job that no longer waits by the next waiting task of its array; return that task, or -1.

    If there is none the queue keeps the job; the caller removes it. Under FIFO the task counts as having joined at
    `since`.
    """
    job, waiting = state.queue[place], state.waiting
    record, task = state.waiting.record[job], state.waiting.successor[job]
    while task >= 0 and _is_elsewhere(problem, state, task):
        task = state.waiting.successor[task]
    waiting.shown[record] = task
    if task >= 0:
        state.queue[place] = task
        add_array_task(state.priorities, task, job)
        waiting.since[task] = since
    return task


@part
def leave(problem: Problem, state: State, job: int) -> None:
    """Remove a waiting job from the queue and from the waiting jobs: it is cancelled, held, or missed its reservation.

    If its queue entry stands for an array, the array's next waiting task takes its place.
    """
    remove_cancelled(state.priorities, job)
    queue, many = state.queue, state.counter[Counter.WAITING]
    if state.waiting.shown[state.waiting.record[job]] != job:
        return  # an earlier task of its array has the entry
    place = 0
    while queue[place] != job:
        place += 1
    if replace_by_next_task(problem, state, place, state.waiting.since[job]) >= 0:
        return
    for k in range(place, many - 1):
        queue[k] = queue[k + 1]
    state.counter[Counter.WAITING] = many - 1


@part
def drop_started(state: State) -> None:
    """Remove all jobs that have started from the queue."""
    queue, kept = state.queue, 0
    for place in range(state.counter[Counter.WAITING]):
        if np.isnan(state.start[queue[place]]):
            queue[kept] = queue[place]
            kept += 1
    state.counter[Counter.WAITING] = kept


@part
def order(problem: Problem, state: State) -> None:
    """Sort the queue again, after priorities or places have changed (merge sort)."""
    many, queue, other = state.counter[Counter.WAITING], state.queue, state.scratch.queue
    width = 1
    while width < many:
        for begin in range(0, many, 2 * width):
            left, middle = begin, min(begin + width, many)
            right, end = middle, min(begin + 2 * width, many)
            for place in range(begin, end):
                if left < middle and (right >= end or not comes_before(problem, state, queue[right], queue[left])):
                    other[place] = queue[left]
                    left += 1
                else:
                    other[place] = queue[right]
                    right += 1
        for place in range(many):
            queue[place] = other[place]
        width *= 2
