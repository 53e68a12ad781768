"""Decisions: in place of a dispatch pass somebody outside chooses, one job after the other [32, 33].

These are steps, which whoever drives the runs puts together: `next_pass` goes to the next instant, `look` says whether
a decision is to be asked there, `decide` carries out the answer, `end_pass` goes without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined
from fedsched.engine.codes import SameTime, Status
from fedsched.engine.dispatch.greedy import fits_now, is_over, start_apart
from fedsched.engine.loop.events import next_time, take_events
from fedsched.engine.loop.running import release_pending, update_rates
from fedsched.engine.numbers import Counter
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.queue.queue_tree import ANY, FIRST
from fedsched.engine.queue.scan import next_small

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints, Plan, Problem, State

NOBODY = constant(-1)  # in a place where no job waits; as an answer: none


@inlined
def next_pass(problem: Problem, plan: Plan, state: State) -> int:
    """Go to the next instant (event, in the sequential reading), whose pass is due then; return a Status."""
    counter = state.counter
    if counter[Counter.FINISHED] == problem.arrival.size + problem.running.size:
        return Status.DONE
    time = next_time(problem, state)
    if time == np.inf:
        return Status.STUCK
    take_events(problem, plan, state, time)
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem.extras, state)
    if counter[Counter.QUEUED] > 0:
        queues.sort(problem, state, state.queue, plan.order_key, time)
    counter[Counter.PASS_DUE] = 1
    return Status.ASKED


@inlined
def look(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8]) -> bool:
    """Note the first waiting jobs in queue order, and which of them could start now; return whether any could.

    Where all that wait are larger than what is free nothing is noted: nobody will be asked.
    """
    queue, free = state.queue, state.counter[Counter.FREE]
    if queue.tasks[1] > free:
        return False
    any_fits, seen = False, 0
    position = next_small(problem, state, queue, FIRST, ANY)
    while position >= 0 and seen < waiting.size:
        j = queue.order[position]
        waiting[seen] = j
        fits[seen] = 0
        if problem.tasks[j] <= free and fits_now(problem, plan, state, j) and not is_over(problem, state, j):
            fits[seen] = 1
            any_fits = True
        seen += 1
        position = next_small(problem, state, queue, position + 1, ANY)
    leave_places(waiting, fits, seen)
    return any_fits


@inlined
def leave_places(waiting: Ints, fits: NDArray[np.int8], first: int) -> None:
    """Note that nobody waits in the places from this one on; behind an empty place all are empty already."""
    for i in range(first, waiting.size):
        if waiting[i] == NOBODY:
            break
        waiting[i] = NOBODY
        fits[i] = 0


@inlined
def end_pass(problem: Problem, state: State) -> None:
    """Let the time go on."""
    state.counter[Counter.PASS_DUE] = 0
    update_rates(problem, state)


@inlined
def decide(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8], answer: int) -> None:
    """Start the job in the place that was chosen if it fits, else end the pass; where no time is left, start the first.

    `waiting` and `fits` are what `look` has noted; nothing has changed since.
    """
    j = NOBODY
    if 0 <= answer < waiting.size and fits[answer] == 1:
        j = waiting[answer]
    elif state.counter[Counter.RUNNING] == 0 and next_time(problem, state) == np.inf:
        j = waiting[0]  # which fits, for all is free
    if j < 0:
        end_pass(problem, state)
    else:
        fits_now(problem, plan, state, j)  # it does, and its nodes are chosen
        start_apart(problem, plan, state, j)
