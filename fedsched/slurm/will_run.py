"""When and where a job could run if nobody else came: now, or after so many ends that are expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import constant, part
from fedsched.slurm.arrays import Counter, Setting
from fedsched.slurm.choice import choose
from fedsched.slurm.node_sets import count, meet

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State

WINDOW = constant(30)  # seconds: of select/cons_tres's first group of ends
CROWD = 200  # jobs after which a group is cut
UNKNOWN = -1  # no second of a run is below 0


@part
def will_run(problem: Problem, state: State, now: int, tasks: int) -> int:
    """Return when so many of the usable nodes are free, and choose among them; UNKNOWN where they never are.

    Nodes of jobs that complete count as free: the caller looks at them.
    """
    usable, free = state.scratch.usable, state.scratch.free
    for k in range(usable.size):
        free[k] = usable[k] & ~(state.busy[k] & ~state.completing[k])
    if count(free) >= tasks:
        moment = now
    elif problem.settings[Setting.CONS_TRES] == 1:
        moment = _in_groups(problem, state, now, tasks)
    else:
        moment = _one_by_one(state, now, tasks)
    if moment != UNKNOWN:
        choose(problem, free, tasks, state.scratch.blocks, state.scratch.chosen)
    return moment


@part
def _one_by_one(state: State, now: int, tasks: int) -> int:
    usable, free, running = state.scratch.usable, state.scratch.free, state.running
    for place in range(state.counter[Counter.RUNNING]):
        held = state.held[running.job[place]]
        for k in range(free.size):
            free[k] |= held[k] & usable[k]
        if count(free) >= tasks:
            return max(running.end[place], now + 1)
    return UNKNOWN


@part
def _in_groups(problem: Problem, state: State, now: int, tasks: int) -> int:
    usable, free, running, settings = state.scratch.usable, state.scratch.free, state.running, problem.settings
    many, linear = state.counter[Counter.RUNNING], settings[Setting.BF_WINDOW_LINEAR]
    window, place, known, first = WINDOW, 0, False, 0
    while place < many:
        last, crowd = UNKNOWN, 0
        while place < many:
            end, held = running.end[place], state.held[running.job[place]]
            place += 1
            if not meet(held, usable):
                continue
            if not known:
                known, first = True, end + WINDOW - (end + settings[Setting.EPOCH]) % WINDOW
            last = end
            crowd += 1
            for k in range(free.size):
                free[k] |= held[k] & usable[k]
            if crowd > CROWD or (place < many and running.end[place] > first + window):
                break
        if last == UNKNOWN:
            return UNKNOWN
        window = _next(window, linear)
        while place < many and running.end[place] > first + window:
            window = _next(window, linear)
        if count(free) >= tasks:
            return last if last > now else max(last + settings[Setting.OVERDUE], now + 1)
    return UNKNOWN


@part
def _next(window: int, linear: int) -> int:
    return window + linear if linear > 0 else 2 * window
