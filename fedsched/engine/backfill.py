"""Backfilling around the reservation of the head: EASY, and lookahead, which packs before it scans."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined, part
from fedsched.engine.availability import ROUNDING
from fedsched.engine.classes import group, next_of_classes
from fedsched.engine.codes import Dispatch
from fedsched.engine.dispatch import start_from_head, start_job
from fedsched.engine.lookahead import start_packed
from fedsched.engine.numbers import ClassNumber, Clock, Counter
from fedsched.engine.queue import FIRST
from fedsched.engine.reservation import (
    LASTING,
    REFUSED,
    free_beside_reservation,
    place_beside_reservation,
    reserve,
    reserve_for_head,
    start_beside_reservation,
)
from fedsched.engine.scan import next_candidate, next_small

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, State


@inlined
def backfill_around_head(problem: Problem, plan: Plan, state: State) -> None:
    """Start from the head, reserve for the first that cannot start, backfill the rest around it [11, 24]."""
    head = start_from_head(problem, plan, state)
    queue = state.backfill if plan.separate_backfill else state.queue
    if head < 0 or next_small(problem, state, queue, FIRST, state.counter[Counter.FREE]) < 0:
        return
    shadow = reserve_for_head(problem, plan, state, head)
    now = state.clock[Clock.NOW]
    window = (shadow - now) + ROUNDING * (abs(shadow) + abs(now))
    if plan.dispatch == Dispatch.LOOKAHEAD:
        start_packed(problem, plan, state, head, shadow, window)
    number = state.classes.number
    if number[ClassNumber.PATIENCE] < 0:
        _backfill_by_class(problem, plan, state, head, shadow, window)
        return
    beside = free_beside_reservation(state)
    position = next_candidate(problem, state, queue, FIRST, state.counter[Counter.FREE], window, beside)
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
                number[ClassNumber.PATIENCE] -= 1
        position = next_candidate(problem, state, queue, position + 1, state.counter[Counter.FREE], window, beside)


@part
def _backfill_by_class(problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float) -> None:
    queue = state.backfill if plan.separate_backfill else state.queue
    if state.classes.number[ClassNumber.CLASSES] == 0:
        group(problem, plan, state, queue)
    position = next_of_classes(problem, plan, state, queue, FIRST, window)
    while position >= 0:
        j = queue.order[position]
        if j != head:
            start_beside_reservation(problem, plan, state, j, shadow)
        position = next_of_classes(problem, plan, state, queue, position + 1, window)
