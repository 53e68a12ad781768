"""Groups of shared nodes close and open as the clock goes on, and jobs lose their nodes by it [38, 42, 55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, kernel, part
from fedsched.core.random import random_bits
from fedsched.engine.codes import OnRunning
from fedsched.engine.numbers import Clock, ClosedTime, LostNumber
from fedsched.engine.optional_features import hold_and_requeue, holds
from fedsched.engine.optional_features.victims import NO_JOB, first_started_in, take_nodes_from
from fedsched.engine.sharing import counted, line
from fedsched.engine.sharing.closing import turn_page
from fedsched.engine.sharing.stock import give_back, note_freed

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, State
    from fedsched.engine.sharing.arrays import Ints, Sharing, Work


@inlined
def go_on(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> bool:
    """Let groups close and open that do so by now, and jobs lose their nodes; return whether any group opens."""
    return _go_on(problem.extras, state.extras, problem, plan, state, sharing, work)


@inlined
def _go_on(
    extras: Extras | None,
    extra_state: ExtraState | None,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
) -> bool:
    if extras is None or extra_state is None:
        return False
    opens, pages, time = False, extras.calendar, extra_state.closed.time
    while time[ClosedTime.CHANGE] <= state.clock[Clock.NOW]:
        change = turn_page(pages, extra_state.closed)
        if change & 1 == 1:
            opens = True
        elif pages.on_running[change >> 1] != OnRunning.WAIT:
            _take_all(extras, extra_state, problem, plan, state, sharing, work, change >> 1)
    return opens


@part
def _take_all(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
    c: int,
) -> None:
    # All nodes of the group close, whoever has tasks there: who started first loses first.
    victim = first_started_in(state, extras.calendar.group[c])
    while victim != NO_JOB:
        _lose(extras, extra_state, problem, plan, state, sharing, work, victim, c)
        victim = first_started_in(state, extras.calendar.group[c])


@inlined
def _lose(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
    j: int,
    c: int,
) -> None:
    _keep_what_it_held(extra_state, work, j)
    give_back(sharing, work, work.now, j)
    counted.give_back(sharing, work, j)
    note_freed(work, j)
    if not take_nodes_from(extras, extra_state, problem, state, j, c):
        return
    hold_and_requeue.requeue_job(extras, extra_state, problem, plan, state, j)
    if not holds.is_held(extra_state, j):
        line.joins(plan, state, sharing, work, j)


@inlined
def _keep_what_it_held(extra_state: ExtraState, work: Work, j: int) -> None:
    # As the next row of lost runs; the pieces themselves stay where they are.
    run, gone, held = extra_state.lost.number[LostNumber.RUNS], work.gone, work.held
    gone.first[run], gone.pieces[run] = held.first[j], held.pieces[j]
    gone.first_device[run], gone.devices[run] = held.first_device[j], held.devices[j]


@kernel
def draw(nodes: Ints, seed: int, number: int) -> None:
    """Put nodes into the order in which they are hit: a draw by Fisher and Yates."""
    for k in range(nodes.size):
        place = k + int(random_bits(seed, number, k) % np.uint64(nodes.size - k))
        nodes[k], nodes[place] = nodes[place], nodes[k]
