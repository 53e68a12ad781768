"""Starts, ends and what lies between an end and free nodes; the jobs that run stand by their latest ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.structs import By, Counter, Setting
from fedsched.slurm.nodes.node_sets import meet
from fedsched.slurm.nodes.shared_nodes import allocate, clear, keep_lost, release_ended
from fedsched.slurm.passes.conditions import END, END_BADLY, START, end_of, settle, wait_until
from fedsched.slurm.passes.limit_checks import give_back, take
from fedsched.slurm.passes.windows import next_hit
from fedsched.slurm.priority.ticks import charge_ended

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, Running, State, Words

NEVER = constant(2**62)
NEXT = constant(0)  # the place of the earliest event
NO_NODE = np.uint64(0)
NO_JOB, NOBODY = constant(-1), constant(By.NOBODY)


@part
def start(problem: Problem, state: State, job: int, now: int, nodes: Words, by: int) -> None:
    """Let a job run on these nodes; who reads the queue takes it out of that."""
    jobs, running, counter = problem.jobs, state.running, state.counter
    state.start[job], state.by[job] = now, by
    take(problem, state, job)
    allocate(state.shared, job)
    if state.waiting.begun[job] == 1:
        for k in range(nodes.size):
            state.held[job, k] = NO_NODE  # what it held in a run that it has lost
    elif problem.conditions.first[job] < problem.conditions.first[job + 1]:
        settle(problem, state, job, now, START)
    state.waiting.begun[job] = 1
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
            state.counter[Counter.FINISHED] += 1
            _end(problem, state, job, state.start[job] + problem.jobs.charged[job])
            settle(problem, state, job, time, problem.conditions.end[job])
            if _completes(problem, state, job, time):
                continue
        freed = True
        clear(state.shared, state, job)
    return freed


@inlined
def _end(problem: Problem, state: State, job: int, until: float) -> None:
    _leave(state, job)
    charge_ended(state.priorities, job, until, state.start)
    give_back(problem, state, job)
    release_ended(state.shared, job)


@inlined
def _completes(problem: Problem, state: State, job: int, time: int) -> bool:
    # Returns whether the nodes of a job that has ended are still busy for some seconds.
    if problem.jobs.completing[job] == 0:
        return False
    for k in range(state.span[job, 0], state.span[job, 1]):
        state.completing[k] |= state.held[job, k]
    _push(state, time + problem.jobs.completing[job], 2 * job + 1)
    return True


@part
def take_ends_and_losses(problem: Problem, state: State, now: int) -> bool:
    """Let jobs end, and downtimes take nodes from running jobs, up to `now`; return whether nodes became free.

    Of one second ends come first.
    """
    freed, windows, counter = False, problem.windows, state.counter
    while next_hit(problem, state) <= now:
        hit, window = next_hit(problem, state), windows.taking[counter[Counter.TAKEN]]
        freed = take_ends(problem, state, hit) or freed
        counter[Counter.TAKEN] += 1
        place = 0
        while place < counter[Counter.RUNNING]:
            job = state.running.job[place]
            if _is_hit(problem, state, job, window):
                freed = _lose(problem, state, job, window, hit) or freed
            else:
                place += 1
    return take_ends(problem, state, now) or freed


@inlined
def _is_hit(problem: Problem, state: State, job: int, window: int) -> bool:
    windows, begun = problem.windows, state.start[job] + problem.settings[Setting.BASE]
    if not begun < windows.exact[window] or not end_of(problem, state, job, END) > windows.exact[window]:
        return False  # it has ended by then, and is only seen to end later
    if windows.reservation[window] >= 0 and windows.reservation[window] == problem.jobs.reservation[job]:
        return False
    return meet(state.held[job], windows.nodes[window])


@part
def _lose(problem: Problem, state: State, job: int, window: int, now: int) -> bool:
    """Let a job lose its run: it is killed, or queued again as a record of its own; return whether nodes are free."""
    waiting, lost, jobs, last = state.waiting, state.lost, problem.jobs, state.counter[Counter.LOST]
    lost.job[last], lost.start[last], lost.window[last] = job, int(state.start[job]), window
    for k in range(lost.nodes.shape[1]):
        lost.nodes[last, k] = state.held[job, k]
    keep_lost(state.shared, job, last)
    state.counter[Counter.LOST] += 1
    _forget_end(state, job)
    _end(problem, state, job, float(now))
    if problem.windows.kills[window] == 1:
        state.counter[Counter.FINISHED] += 1
        lost.end[job] = problem.windows.exact[window]
        settle(problem, state, job, now, END_BADLY)
    else:
        lost.end[job] = np.nan
        state.start[job], state.by[job] = np.nan, NOBODY
        _stand_alone(state, job)
        waiting.open[job] = 0
        if waiting.inside.size > 0:
            waiting.inside[job] = 0
        wait_until(problem, state, job, now + max(problem.settings[Setting.REQUEUED], jobs.completing[job]))
    if _completes(problem, state, job, now):
        return False
    clear(state.shared, state, job)
    return True


@inlined
def _stand_alone(state: State, job: int) -> None:
    # A task that is queued again is no longer part of its array's record.
    waiting, before = state.waiting, state.waiting.record[job]
    if before >= state.start.size:
        return
    while before != job and waiting.successor[before] != job:
        before = waiting.successor[before]
    if before != job:
        waiting.successor[before] = waiting.successor[job]
    waiting.record[job], waiting.successor[job] = state.start.size + job, NO_JOB


@inlined
def _forget_end(state: State, job: int) -> None:
    # Its event goes to the top of the heap, whenever it is, and is taken off there.
    place = 0
    while state.running.what[place] != 2 * job:
        place += 1
    while place > 0:
        _swap(state.running, place, (place - 1) // 2)
        place = (place - 1) // 2
    _pop(state)


@inlined
def _leave(state: State, job: int) -> None:
    running, many = state.running, state.counter[Counter.RUNNING]
    place = 0
    while running.job[place] != job:
        place += 1
    for k in range(place, many - 1):
        running.end[k], running.job[k] = running.end[k + 1], running.job[k + 1]
    state.counter[Counter.RUNNING] = many - 1


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
