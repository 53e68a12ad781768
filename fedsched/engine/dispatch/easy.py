"""Dispatch passes of EASY and lookahead: jobs are backfilled around the reservation of the head.

The head is the first job in queue order that cannot start. Lookahead packs jobs before it scans the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.codes import Dispatch
from fedsched.engine.dispatch.greedy import start_from_head, start_job
from fedsched.engine.dispatch.head_reservation import (
    LASTING,
    REFUSED,
    could_not_start,
    free_beside_reservation,
    place_beside_reservation,
    reserve,
    reserve_for_head,
    start_beside_reservation,
)
from fedsched.engine.dispatch.lookahead import start_packed
from fedsched.engine.numbers import ClassNumber, Clock, Counter
from fedsched.engine.profile.free_profile import ROUNDING
from fedsched.engine.queue import candidate_index, incremental_pass
from fedsched.engine.queue.candidate_index import next_candidate, next_small
from fedsched.engine.queue.classes import first_of_classes, group, next_of_classes
from fedsched.engine.queue.queue_tree import FIRST, NEVER

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, Queue, State

NONE = constant(0)
CHEAP = 4  # failed placements that take as long as one look at all classes


@inlined
def backfill_around_head(problem: Problem, plan: Plan, state: State) -> None:
    """Do a dispatch pass of EASY or lookahead: start jobs in queue order until one cannot, then backfill [11, 24].

    That first job, the head, gets a reservation only if another job could start. If nothing was freed since the last
    pass, this one begins at the first position at which a job has joined.
    """
    first = state.counter[Counter.JOINED_FROM]
    if not incremental_pass.is_incremental(state):
        incremental_pass.reset(state)
        head, first = start_from_head(problem, plan, state), FIRST
        if head < 0:
            return
        incremental_pass.set_head(problem, plan, state, head)
    queue, free = state.backfill if plan.separate_backfill else state.queue, state.counter[Counter.FREE]
    candidate_index.add_new_jobs(problem, plan, state)
    position, in_vain = next_small(problem, plan, state, queue, first, free), NONE
    while position >= 0 and in_vain < CHEAP and could_not_start(problem, plan, state, queue.order[position]):
        position, in_vain = next_small(problem, plan, state, queue, position + 1, free), in_vain + 1
    if position >= 0:
        _backfill_from(problem, plan, state, queue, position, in_vain)
    incremental_pass.note_complete(state)


@inlined
def _backfill_from(problem: Problem, plan: Plan, state: State, queue: Queue, first: int, in_vain: int) -> None:
    # Reserves for the head, and scans the queue from this position on.
    head = incremental_pass.head_of(state)
    if state.clock[Clock.SHADOW] == NEVER:
        state.clock[Clock.SHADOW] = reserve_for_head(problem, plan, state, head)
    shadow, now = state.clock[Clock.SHADOW], state.clock[Clock.NOW]
    window = (shadow - now) + ROUNDING * (abs(shadow) + abs(now))
    if plan.dispatch == Dispatch.LOOKAHEAD:
        start_packed(problem, plan, state, head, shadow, window, first)
    number, beside = state.classes.number, free_beside_reservation(state)
    position = next_candidate(problem, plan, state, queue, first, state.counter[Counter.FREE], window, beside)
    while position >= 0:
        j = queue.order[position]
        if j != head:
            fit = place_beside_reservation(problem, plan, state, j, shadow)
            if fit == LASTING:
                reserve(problem, state, j)
            if fit != REFUSED:
                start_job(problem, plan, state, j)
                beside = free_beside_reservation(state)
            else:
                in_vain += 1
                if in_vain > CHEAP:
                    number[ClassNumber.PATIENCE] -= 1
                    if number[ClassNumber.PATIENCE] < 0:
                        _backfill_by_class(problem, plan, state, head, shadow, window, position + 1)
                        break
        free = state.counter[Counter.FREE]
        position = next_candidate(problem, plan, state, queue, position + 1, free, window, beside)


@part
def _backfill_by_class(
    problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float, position: int
) -> None:
    queue = state.backfill if plan.separate_backfill else state.queue
    if state.classes.number[ClassNumber.CLASSES] == 0:
        group(problem, plan, state, queue)
    position = first_of_classes(problem, plan, state, queue, position, window)
    while position >= 0:
        j = queue.order[position]
        if j != head:
            start_beside_reservation(problem, plan, state, j, shadow)
        position = next_of_classes(problem, plan, state, queue, window)
