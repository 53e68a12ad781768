"""Who waits, in the order in which passes look at them: partition tier, priority, number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined, part
from fedsched.slurm.arrays import Counter

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State


@inlined
def comes_before(problem: Problem, state: State, one: int, other: int) -> bool:
    """Return whether one of two waiting jobs is looked at first."""
    tier = problem.machine.tier
    first, second = tier[problem.jobs.partition[one]], tier[problem.jobs.partition[other]]
    if first != second:
        return first > second
    value = state.priorities.value
    if value[one] != value[other]:
        return value[one] > value[other]
    return one < other


@part
def join(problem: Problem, state: State, job: int) -> None:
    """Put a job into the queue."""
    queue, many = state.queue, state.counter[Counter.WAITING]
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


@part
def drop_started(state: State) -> None:
    """Take those out of the queue who have started."""
    queue, kept = state.queue, 0
    for place in range(state.counter[Counter.WAITING]):
        if np.isnan(state.start[queue[place]]):
            queue[kept] = queue[place]
            kept += 1
    state.counter[Counter.WAITING] = kept


@part
def order(problem: Problem, state: State) -> None:
    """Put the queue in order again, after priorities have changed: runs of growing length are merged."""
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
