"""Jobs that leave the queue and come back: held for a while, or queued again after they lost their nodes [42, 73]."""

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

NO_JOB = flag(False)


@part
def rejoin_queue(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Put a job that was in the queue before into it again, in all indexes of the queue; its start is unset."""
    state.start[j] = np.nan
    state.counter[Counter.PLAN_HOLDS] = 0
    state.counter[Counter.QUEUED] += 1 if limits.note_joined(more_than_closing(extras), extra_state, state, j) else 0
    reservation_queues.note_joined(more_than_closing(extras), extra_state, j)
    queues.rejoin(problem, plan, state, j)
    holds.note_joined(extra_state, j)
    cancellations.note_requeued(extras, extra_state, j, state.clock[Clock.NOW])
    begin_ungrouped(plan, state)
    candidate_index.note_joined(problem, plan, state, j)


@inlined
def requeue_job(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Queue a job again after it has lost its nodes.

    If the job is held now, it joins the queue when the hold ends.
    """
    if extras.holds.first.size > 0:
        waiting, now = extra_state.waiting, state.clock[Clock.NOW]
        waiting.moment[j] = holds.eligible_since(extras, j, waiting.moment[j], now)
        if waiting.moment[j] > now:
            _leave_queue(extras, extra_state, problem, state, j)
            return
    rejoin_queue(extras, extra_state, problem, plan, state, j)


@inlined
def _leave_queue(extras: Extras, extra_state: ExtraState, problem: Problem, state: State, j: int) -> None:
    state.start[j] = state.clock[Clock.NOW]  # so that scans of the queue skip it
    holds.note_held(extra_state, j)
    cancellations.note_requeued(extras, extra_state, j, state.clock[Clock.NOW])
    cancellations.note_left(extra_state, j)
    dependencies.put_on_timer(extra_state, problem.arrival_rank, j, extra_state.waiting.moment[j])


@inlined
def hold_due(problem: Problem, plan: Plan, state: State) -> bool:
    """Remove queued jobs with holds that have begun from the queue, until the holds end.

    Return whether there are any.
    """
    return _hold_due(more_than_closing(problem.extras), state.extras, problem, plan, state)


@inlined
def _hold_due(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State
) -> bool:
    if extras is None or extra_state is None:
        return NO_JOB
    if extras.holds.first.size == 0:
        return NO_JOB
    return _hold_due_jobs(extras, extra_state, problem, plan, state)


@part
def _hold_due_jobs(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> bool:
    held_any = False
    while hold_next(extras, extra_state, problem, plan, state) >= 0:
        held_any = True
    return held_any


@inlined
def hold_next(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> int:
    """Remove the next queued job with a hold that has begun from the queue, until the hold ends.

    Return the job, or -1 if there is none.
    """
    now, waiting = state.clock[Clock.NOW], extra_state.waiting
    j = holds.next_held(extras, extra_state, state, now)
    if j >= 0:
        queues.dequeue(problem, plan, state, j)
        state.counter[Counter.QUEUED] -= 1 if limits.note_left(extras, extra_state, state, j) else 0
        state.counter[Counter.PLAN_HOLDS] = 0
        reservation_queues.note_left(extras, extra_state, j)
        waiting.moment[j] = holds.eligible_since(extras, j, waiting.moment[j], now)
        _leave_queue(extras, extra_state, problem, state, j)
    return j
