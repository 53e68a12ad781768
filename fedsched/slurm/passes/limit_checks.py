"""Limits: who has as much as he may is not looked at, and holds up nobody [43].

Slurm's main scheduler looks at those of accounts as it looks for nodes. Only who was over one when he was last looked
at, and still is over one of how many jobs run, is passed over before that; backfill passes over all who are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

OTHERS, OF_JOBS, OF_AMOUNTS = (constant(k) for k in range(3))  # kinds of limits: the last two are of accounts


@part
def is_over(problem: Problem, state: State, job: int, kind: int) -> bool:
    """Return whether a job would take more than is left of some limit of a kind."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        if limits.binds[i] == 1 and limits.kind[i] == kind and limits.weight[i] > state.left[limits.counter[i]]:
            return True
    return False


@part
def is_still_over(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job waits for a limit that it was found to be over; of accounts those of jobs count."""
    if is_over(problem, state, job, OTHERS):
        return True
    if state.waiting.limited[job] == 0:
        return False
    state.waiting.limited[job] = is_over(problem, state, job, OF_JOBS)
    return state.waiting.limited[job] == 1


@part
def has_too_many_jobs(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job is over a limit of how many jobs run, and note it of those of accounts."""
    if is_over(problem, state, job, OTHERS):
        return True
    state.waiting.limited[job] = is_over(problem, state, job, OF_JOBS)
    return state.waiting.limited[job] == 1


@part
def is_found_over(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job is over a limit of accounts, and note it."""
    over = is_over(problem, state, job, OF_JOBS) or is_over(problem, state, job, OF_AMOUNTS)
    state.waiting.limited[job] = over
    return over


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
