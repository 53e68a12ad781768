"""Jobs that leave the queue and come back: held for a time, or queued again after losing their nodes [42, 73]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import flag, inlined, part
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import cancellations, dependencies, holds, limits, reservation_queues
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.queue.classes import begin_ungrouped

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Plan, Problem, State

NOBODY = flag(False)


@part
def come_back(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Let a job that was in the queue join it again."""
    state.start[j] = np.nan
    state.counter[Counter.PLAN_HOLDS] = 0
    state.counter[Counter.QUEUED] += 1 if limits.joins(more_than_closing(extras), extra_state, state, j) else 0
    reservation_queues.joins(more_than_closing(extras), extra_state, j)
    queues.join_again(problem, plan, state, j)
    holds.has_joined(extra_state, j)
    cancellations.queued_again(extras, extra_state, j, state.clock[Clock.NOW])
    begin_ungrouped(plan, state)
    candidate_index.joins(problem, plan, state, j)


@inlined
def queue_again(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Queue a job again after it has lost its nodes; if it is held, when the hold ends."""
    if extras.holds.first.size > 0:
        waiting, now = extra_state.waiting, state.clock[Clock.NOW]
        waiting.moment[j] = holds.since(extras, j, waiting.moment[j], now)
        if waiting.moment[j] > now:
            _goes_away(extras, extra_state, problem, state, j)
            return
    come_back(extras, extra_state, problem, plan, state, j)


@inlined
def _goes_away(extras: Extras, extra_state: ExtraState, problem: Problem, state: State, j: int) -> None:
    state.start[j] = state.clock[Clock.NOW]  # so that scans of the queue skip it
    holds.goes_away(extra_state, j)
    cancellations.queued_again(extras, extra_state, j, state.clock[Clock.NOW])
    cancellations.goes_away(extra_state, j)
    dependencies.waits_until(extra_state, problem.arrival_rank, j, extra_state.waiting.moment[j])


@inlined
def hold_all(problem: Problem, plan: Plan, state: State) -> bool:
    """Take the jobs that are held from now on out of the queue until the holds end; return whether there are any."""
    return _hold_all(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _hold_all(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> bool:
    if extras is None or extra_state is None:
        return NOBODY
    if extras.holds.first.size == 0:
        return NOBODY
    return _hold_those_due(extras, extra_state, problem, plan, state)


@part
def _hold_those_due(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> bool:
    anybody = False
    while hold_next(extras, extra_state, problem, plan, state) >= 0:
        anybody = True
    return anybody


@inlined
def hold_next(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> int:
    """Take the next job that is held from now on out of the queue until the hold ends; return it, or -1."""
    now, waiting = state.clock[Clock.NOW], extra_state.waiting
    j = holds.next_held(extras, extra_state, state, now)
    if j >= 0:
        queues.dequeue(plan, state, j)
        state.counter[Counter.QUEUED] -= 1 if limits.leaves(extras, extra_state, state, j) else 0
        state.counter[Counter.PLAN_HOLDS] = 0
        reservation_queues.leaves(extras, extra_state, j)
        waiting.moment[j] = holds.since(extras, j, waiting.moment[j], now)
        _goes_away(extras, extra_state, problem, state, j)
    return j
