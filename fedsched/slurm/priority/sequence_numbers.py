"""The sequence numbers of jobs under `priority/basic`: earlier numbers mean higher priority [73].

Each job record gets a number at submit, and a new one at each release from a hold. A job that is submitted held gets
its number at release. The tasks of an array that wait as one record share a number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.slurm.loop.structs import Counter
from fedsched.slurm.passes.conditions import released

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State


@part
def give_number(problem: Problem, state: State, job: int) -> None:
    """Give a submitted job its number; jobs that are released by then get theirs first.

    A job that is held at its submit gets no number yet.
    """
    submit = state.waiting.submitted[job]
    if problem.holds.first.size > 0:
        give_released_numbers(problem, state, submit)
        if released(problem, job, submit) > submit:
            return
    _give(problem, state, job, problem.jobs.record[job])


@part
def give_released_numbers(problem: Problem, state: State, now: int) -> None:
    """Give a new number to each waiting job with a hold that has ended by `now`, in order of these ends."""
    counter, holds, jobs = state.counter, problem.holds, problem.jobs
    submitted = state.waiting.submitted
    while counter[Counter.RELEASED] < holds.by_end.size:
        hold = holds.by_end[counter[Counter.RELEASED]]
        job, end = holds.job[hold], holds.end[hold]
        if end > now:
            break
        counter[Counter.RELEASED] += 1
        if end > submitted[job] and _waits(problem, state, job, end):
            first = jobs.record[job]
            while not _waits(problem, state, first, end):
                first = jobs.successor[first]
            _give(problem, state, job, first)


@inlined
def _give(problem: Problem, state: State, job: int, first: int) -> None:
    # The first waiting task of a record takes a new number; the other tasks copy it.
    number, counter = state.priorities.number, state.counter
    if first != job:
        number[job] = number[first]
        return
    number[job] = counter[Counter.NUMBERED]
    counter[Counter.NUMBERED] += 1


@inlined
def _waits(problem: Problem, state: State, job: int, second: int) -> bool:
    return np.isnan(state.start[job]) and problem.jobs.cancel[job] >= second
