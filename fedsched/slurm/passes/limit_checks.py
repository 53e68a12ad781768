"""Checks of limits in Slurm's passes: jobs over a limit are skipped and do not block others [43].

Slurm's main scheduler checks the limits of accounts only when it looks for a job's nodes. It skips a job earlier only
if two things hold: the job was over such a limit at its last check, and is still over one on the number of running
jobs. Backfill skips all jobs that are over a limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

# Kinds of limits: of arrays and the federation; of accounts on the number of running jobs, and on their resources.
OTHERS, OF_JOBS, OF_AMOUNTS = (constant(k) for k in range(3))


@part
def is_over(problem: Problem, state: State, job: int, kind: int) -> bool:
    """Return whether a job needs more than is left of some limit of this kind that binds it."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        if limits.binds[i] == 1 and limits.kind[i] == kind and limits.weight[i] > state.left[limits.counter[i]]:
            return True
    return False


@part
def is_still_over(problem: Problem, state: State, job: int) -> bool:
    """Return whether the main scheduler skips a job for a limit before it looks for nodes.

    It does if an array or the federation is at its limit. It also does if the job was over a limit of accounts at its
    last check, and is still over one on running jobs; the result of that is stored in `waiting.limited`.
    """
    if is_over(problem, state, job, OTHERS):
        return True
    if state.waiting.limited[job] == 0:
        return False
    state.waiting.limited[job] = is_over(problem, state, job, OF_JOBS)
    return state.waiting.limited[job] == 1


@part
def has_too_many_jobs(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job is over a limit of arrays or the federation, or of accounts on running jobs.

    Store the latter in `waiting.limited`.
    """
    if is_over(problem, state, job, OTHERS):
        return True
    state.waiting.limited[job] = is_over(problem, state, job, OF_JOBS)
    return state.waiting.limited[job] == 1


@part
def is_found_over(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job is over any limit of accounts, and store that in `waiting.limited`."""
    over = is_over(problem, state, job, OF_JOBS) or is_over(problem, state, job, OF_AMOUNTS)
    state.waiting.limited[job] = over
    return over


@inlined
def take(problem: Problem, state: State, job: int) -> None:
    """Subtract what a starting job takes from what is left of each of its limits."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        state.left[limits.counter[i]] -= limits.weight[i]


@inlined
def give_back(problem: Problem, state: State, job: int) -> None:
    """Add what an ended job took back to what is left of each of its limits."""
    limits = problem.limits
    for i in range(limits.first[job], limits.first[job + 1]):
        state.left[limits.counter[i]] += limits.weight[i]


@inlined
def left_of_array(problem: Problem, state: State, job: int) -> int:
    """Return how many more tasks of a job's array may run; the number of all jobs if that has no limit."""
    counter = problem.limits.array[job]
    return problem.jobs.tasks.size if counter < 0 else state.left[counter]
