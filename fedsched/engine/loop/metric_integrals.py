"""Metrics that are summed up over time: lost capacity and saturated uplinks, added whenever the clock moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, kernel
from fedsched.engine.loop.feature_flags import more_is, more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import cancellations, power_states
from fedsched.engine.optional_features.lost_runs import requeues, wasted_node_seconds
from fedsched.model.schedule.integrals import Integrals

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Problem, State


@inlined
def go_on(extras: Extras | None, state: State, time: float) -> None:
    """Move the clock to `time`, and add the time passed to every integral; only this function moves the clock.

    Capacity is lost while nodes are free and some queued job needs no more nodes than these.
    """
    counter, clock = state.counter, state.clock
    elapsed = time - clock[Clock.NOW]
    if elapsed > 0.0:
        if counter[Counter.SATURATED_LINKS] > 0:
            clock[Clock.SATURATED_SECONDS] += counter[Counter.SATURATED_LINKS] * elapsed
        if counter[Counter.QUEUED] > 0 and state.queue.tasks[1] <= counter[Counter.FREE]:
            clock[Clock.LOST_NODE_SECONDS] += counter[Counter.FREE] * elapsed
        power_states.note_spared(more_than_closing(extras), state.extras, counter[Counter.RUNNING])
        clock[Clock.NOW] = time
    if more_is(extras):
        lost = clock[Clock.LOST_NODE_SECONDS]
        cancellations.note_busy(state.extras, counter[Counter.RUNNING], clock[Clock.NOW], lost)


@kernel
def integrals(problem: Problem, state: State) -> Integrals:
    """Return the metrics summed up until now; in a finished run, lost capacity counts until jobs last ran."""
    clock = state.clock
    until, lost = clock[Clock.NOW], clock[Clock.LOST_NODE_SECONDS]
    if state.counter[Counter.FINISHED] == problem.arrival.size + problem.running.size:
        until = cancellations.busy_until(state.extras, until)
        lost = cancellations.lost_until_then(state.extras, lost)
    elapsed = until - problem.t0
    lost = lost / (problem.nodes * elapsed) if elapsed > 0.0 else 0.0
    return Integrals(
        clock[Clock.SATURATED_SECONDS], lost, wasted_node_seconds(state.extras), requeues(state.extras)
    )


@inlined
def lost_share(state: ExtraState | None, t0: float, nodes: int) -> float:
    """Return the share of the machine's node-seconds that was lost from `t0` to the last end of a run.

    It is 0 without optional features, and if no run has ended after `t0`.
    """
    if state is None:
        return 0.0
    elapsed = state.closed.last_end[0] - t0
    return state.closed.last_end[1] / (nodes * elapsed) if elapsed > 0.0 else 0.0


@kernel
def joules_spared(problem: Problem, state: State, makespan: float) -> float:
    """Return the joules that power saving takes less than nodes that are always on, at the end of a run [66]."""
    return power_states.energy_spared(more_than_closing(problem.extras), state.extras, problem.t0 + makespan)
