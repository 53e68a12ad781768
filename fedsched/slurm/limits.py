"""Limits: who has as much as he may is not looked at, and holds up nobody [43]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined, part

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State


@part
def is_full(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job would take more than is left of some limit."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        if limits.binds[i] == 1 and limits.weight[i] > state.left[limits.counter[i]]:
            return True
    return False


@inlined
def take(problem: Problem, state: State, job: int) -> None:
    """Count what a job has that starts."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        state.left[limits.counter[i]] -= limits.weight[i]


@inlined
def give_back(problem: Problem, state: State, job: int) -> None:
    """Count what a job had that ends."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        state.left[limits.counter[i]] += limits.weight[i]


@inlined
def left_of_array(problem: Problem, state: State, job: int) -> int:
    """Return how many more tasks of a job's array may run."""
    counter = problem.limits.array[job]
    return problem.jobs.tasks.size if counter < 0 else state.left[counter]
