"""When and where a job could run if no other job started: now, or after the expected ends of running jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, part
from fedsched.slurm.loop.structs import Counter, Setting
from fedsched.slurm.nodes.node_sets import meet
from fedsched.slurm.nodes.shared_nodes import begin_release, fits_then, place_then, release

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

WINDOW = constant(30)  # seconds that select/cons_tres's first group of ends spans
CROWD = 200  # a group is cut after more jobs than this
UNKNOWN = -1  # no second of a run is below 0


@part
def will_run(problem: Problem, state: State, now: int, job: int) -> int:
    """Return when a job could start on the usable nodes: now, or after expected ends of running jobs; UNKNOWN if never.

    Set `state.scratch.chosen` to its nodes then. Nodes with completing jobs count as free: the caller checks for them.
    """
    free = begin_release(state.shared, state)
    if fits_then(state.shared, problem, state.scratch.free, free, job):
        moment = now
    elif problem.settings[Setting.CONS_TRES] == 1:
        moment = _in_groups(problem, state, now, job, free)
    else:
        moment = _one_by_one(problem, state, now, job, free)
    if moment != UNKNOWN:
        place_then(state.shared, problem, state, job)
    return moment


@part
def _one_by_one(problem: Problem, state: State, now: int, job: int, free: int) -> int:
    running = state.running
    for place in range(state.counter[Counter.RUNNING]):
        free += release(state.shared, state, running.job[place])
        if fits_then(state.shared, problem, state.scratch.free, free, job):
            return max(running.end[place], now + 1)
    return UNKNOWN


@part
def _in_groups(problem: Problem, state: State, now: int, job: int, free: int) -> int:
    running, settings = state.running, problem.settings
    many, linear = state.counter[Counter.RUNNING], settings[Setting.BF_WINDOW_LINEAR]
    window, place, known, first = WINDOW, 0, False, 0
    while place < many:
        last, crowd = UNKNOWN, 0
        while place < many:
            end, job_there = running.end[place], running.job[place]
            place += 1
            first_word, after = state.span[job_there, 0], state.span[job_there, 1]
            if not meet(state.held[job_there, first_word:after], state.scratch.usable[first_word:after]):
                continue
            if not known:
                known, first = True, end + WINDOW - (end + settings[Setting.EPOCH]) % WINDOW
            last = end
            crowd += 1
            free += release(state.shared, state, job_there)
            if crowd > CROWD or (place < many and running.end[place] > first + window):
                break
        if last == UNKNOWN:
            return UNKNOWN
        window = _next(window, linear)
        while place < many and running.end[place] > first + window:
            window = _next(window, linear)
        if fits_then(state.shared, problem, state.scratch.free, free, job):
            return last if last > now else max(last + settings[Setting.OVERDUE], now + 1)
    return UNKNOWN


@part
def _next(window: int, linear: int) -> int:
    return window + linear if linear > 0 else 2 * window
