"""Starts, ends and what lies between an end and free nodes; the jobs that run stand by their latest ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.structs import Counter
from fedsched.slurm.nodes.shared_nodes import allocate, clear, release_ended
from fedsched.slurm.passes.conditions import START, settle
from fedsched.slurm.passes.limit_checks import give_back, take
from fedsched.slurm.priority.ticks import charge_ended

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, Running, State, Words

NEVER = constant(2**62)
NEXT = constant(0)  # the place of the earliest event
NO_NODE = np.uint64(0)


@part
def start(problem: Problem, state: State, job: int, now: int, nodes: Words, by: int) -> None:
    """Let a job run on these nodes; who reads the queue takes it out of that."""
    jobs, running, counter = problem.jobs, state.running, state.counter
    state.start[job], state.by[job] = now, by
    take(problem, state, job)
    allocate(state.shared, job)
    if problem.conditions.first[job] < problem.conditions.first[job + 1]:
        settle(problem, state, job, now, START)
    span = state.span
    span[job, 0], span[job, 1] = nodes.size, 0
    for k in range(nodes.size):
        if nodes[k] != NO_NODE:
            state.held[job, k] = nodes[k]
            state.busy[k] |= nodes[k]
            span[job, 0], span[job, 1] = min(span[job, 0], k), k + 1
    end, place = now + jobs.limit[job], counter[Counter.RUNNING]
    while place > 0 and (
        running.end[place - 1] > end or (running.end[place - 1] == end and running.job[place - 1] > job)
    ):
        running.end[place], running.job[place] = running.end[place - 1], running.job[place - 1]
        place -= 1
    running.end[place], running.job[place] = end, job
    counter[Counter.RUNNING] += 1
    _push(state, now + jobs.runtime[job], 2 * job)


@part
def next_end(state: State) -> int:
    """Return when the next job ends or has cleared its nodes."""
    return state.running.time[0] if state.counter[Counter.EVENTS] > 0 else NEVER


@part
def take_ends(problem: Problem, state: State, now: int) -> bool:
    """Let everything happen to running jobs that is due; return whether nodes became free."""
    freed = False
    while next_end(state) <= now:
        time, what = state.running.time[0], state.running.what[0]
        _pop(state)
        job = what // 2
        if what % 2 == 0:
            _leave(state, job)
            charge_ended(state.priorities, job, state.start[job] + problem.jobs.charged[job], state.start)
            give_back(problem, state, job)
            release_ended(state.shared, job)
            settle(problem, state, job, time, problem.conditions.end[job])
            if problem.jobs.completing[job] > 0:
                for k in range(state.span[job, 0], state.span[job, 1]):
                    state.completing[k] |= state.held[job, k]
                _push(state, time + problem.jobs.completing[job], what + 1)
                continue
        freed = True
        clear(state.shared, state, job)
    return freed


@inlined
def _leave(state: State, job: int) -> None:
    running, many = state.running, state.counter[Counter.RUNNING]
    place = 0
    while running.job[place] != job:
        place += 1
    for k in range(place, many - 1):
        running.end[k], running.job[k] = running.end[k + 1], running.job[k + 1]
    state.counter[Counter.RUNNING] = many - 1
    state.counter[Counter.FINISHED] += 1


@inlined
def _earlier(running: Running, one: int, other: int) -> bool:
    # At one second ends come first, then nodes that are free, by number.
    if running.time[one] != running.time[other]:
        return running.time[one] < running.time[other]
    first, second = running.what[one], running.what[other]
    return first < second if first % 2 == second % 2 else first % 2 == 0


@inlined
def _swap(running: Running, one: int, other: int) -> None:
    running.time[one], running.time[other] = running.time[other], running.time[one]
    running.what[one], running.what[other] = running.what[other], running.what[one]


@part
def _push(state: State, time: int, what: int) -> None:
    running, place = state.running, state.counter[Counter.EVENTS]
    running.time[place], running.what[place] = time, what
    state.counter[Counter.EVENTS] += 1
    while place > 0 and _earlier(running, place, (place - 1) // 2):
        _swap(running, place, (place - 1) // 2)
        place = (place - 1) // 2


@part
def _pop(state: State) -> None:
    running = state.running
    many = state.counter[Counter.EVENTS] - 1
    _swap(running, NEXT, many)
    state.counter[Counter.EVENTS] = many
    place = NEXT
    while True:
        least = place
        for child in (2 * place + 1, 2 * place + 2):
            if child < many and _earlier(running, child, least):
                least = child
        if least == place:
            return
        _swap(running, place, least)
        place = least
