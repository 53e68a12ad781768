"""Integrals over time: what lasts between two events, added up as the clock goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined, kernel
from fedsched.engine.arrays import Clock, Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays import Problem, State


@inlined
def go_on(state: State, time: float) -> None:
    """Move the clock, and every integral with it: the only place where time passes."""
    counter, clock = state.counter, state.clock
    elapsed = time - clock[Clock.NOW]
    if elapsed > 0.0:
        if counter[Counter.SATURATED_LINKS] > 0:
            clock[Clock.SATURATED_SECONDS] += counter[Counter.SATURATED_LINKS] * elapsed
        if counter[Counter.QUEUED] > 0 and state.queue.tasks[1] <= counter[Counter.FREE]:
            clock[Clock.LOST_NODE_SECONDS] += counter[Counter.FREE] * elapsed
        clock[Clock.NOW] = time


@kernel
def loss_of_capacity(problem: Problem, state: State) -> float:
    """Return the loss of capacity up to now."""
    elapsed = state.clock[Clock.NOW] - problem.t0
    if elapsed <= 0.0:
        return 0.0
    return state.clock[Clock.LOST_NODE_SECONDS] / (problem.nodes * elapsed)
