"""Limits: whoever has as much as they may is as good as not in the queue until something of theirs ends [43].

A queued job that is over some limit is absent from the trees over the queue, keeps its place in the order, and is
counted neither as queued nor as waiting. Every function takes the extras first; where a problem has none, or no limits,
nothing is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined, part
from fedsched.engine.arrays import Counter
from fedsched.engine.queue import ABSENT, NEVER, set_leaf, shown_tasks
from fedsched.engine.reserved import waits_for_another_turn

if TYPE_CHECKING:
    from fedsched.engine.arrays import Extras, ExtraState, State


@inlined
def open_all(extras: Extras | None, state: ExtraState | None) -> None:
    """Let nobody have anything yet, and nobody wait."""
    if extras is None or state is None:
        return
    for c in range(extras.limits.amount.size):
        state.limited.left[c] = extras.limits.amount[c]
    state.limited.over[:] = 0
    state.limited.waits[:] = 0


@inlined
def bind(state: ExtraState | None) -> bool:
    """Return whether there are limits at all."""
    if state is None:
        return False
    return state.limited.left.size > 0


@inlined
def are_full(state: ExtraState | None, j: int) -> bool:
    """Return whether a queued job may not start, for some limit of its is full."""
    if state is None:
        return False
    return state.limited.left.size > 0 and state.limited.over[j] > 0


@inlined
def joins(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Note that a job joins the queue; return whether it waits as the others do."""
    if extras is None or state is None:
        return True
    if state.limited.left.size == 0:
        return True
    limits, limited = extras.limits, state.limited
    limited.waits[j], limited.over[j] = 1, 0
    for i in range(limits.first[j], limits.first[j + 1]):
        if limits.weight[i] > limited.left[limits.counter[i]]:
            limited.over[j] += 1
    return limited.over[j] == 0


@inlined
def leaves(extras: Extras, state: ExtraState, j: int) -> bool:
    """Note that a job leaves the queue without a start; return whether it waited as the others do."""
    if state.limited.left.size == 0:
        return True
    state.limited.waits[j] = 0
    return state.limited.over[j] == 0


@inlined
def take(extras: Extras | None, extra_state: ExtraState | None, state: State, j: int) -> None:
    """Count what a job has that starts."""
    if extras is None or extra_state is None:
        return
    if extra_state.limited.left.size > 0:
        extra_state.limited.waits[j] = 0
        for i in range(extras.limits.first[j], extras.limits.first[j + 1]):
            _change(extras, extra_state, state, extras.limits.counter[i], -extras.limits.weight[i])


@inlined
def give_back(extras: Extras | None, extra_state: ExtraState | None, state: State, j: int) -> None:
    """Count what a job had that ends."""
    if extras is None or extra_state is None:
        return
    if extra_state.limited.left.size > 0:
        for i in range(extras.limits.first[j], extras.limits.first[j + 1]):
            _change(extras, extra_state, state, extras.limits.counter[i], extras.limits.weight[i])


@part
def _change(extras: Extras, extra_state: ExtraState, state: State, c: int, by: int) -> None:
    # Lets a counter have more or less left; whoever is over it now, or is not any more, leaves the queue or comes back.
    limits, limited = extras.limits, extra_state.limited
    before = limited.left[c]
    limited.left[c] = after = before + by
    if limits.most[c] <= min(before, after) or limits.least[c] > max(before, after):
        return
    for i in range(limits.first_member[c], limits.first_member[c + 1]):
        j = limits.member[i]
        was_over, is_over = limits.member_weight[i] > before, limits.member_weight[i] > after
        if limited.waits[j] == 0 or was_over == is_over:
            continue
        limited.over[j] += 1 if is_over else -1
        if is_over and limited.over[j] == 1:
            _show(extra_state, state, j, ABSENT, NEVER)
            state.counter[Counter.QUEUED] -= 1
        elif not is_over and limited.over[j] == 0:
            _show(extra_state, state, j, limits.tasks[j], state.shortest[j])
            state.counter[Counter.QUEUED] += 1


@part
def show_all(extras: Extras, extra_state: ExtraState, state: State) -> None:
    """Let everybody's queue know who waits and is within limits, for others have started meanwhile [46]."""
    for j in range(extra_state.limited.waits.size):
        if extra_state.limited.waits[j] == 1:
            tasks = shown_tasks(extra_state, extras.limits.tasks[j], j)
            if tasks == ABSENT:
                _show(extra_state, state, j, ABSENT, NEVER)
            else:
                _show(extra_state, state, j, tasks, state.shortest[j])


@inlined
def _show(extra_state: ExtraState, state: State, j: int, tasks: int, shortest: float) -> None:
    # Where jobs are backfilled in the queue's order both queues are one. Whoever is in another has a turn of its own.
    if waits_for_another_turn(extra_state, j):
        return
    set_leaf(state.queue, state.queue.position[j], tasks, shortest)
    set_leaf(state.backfill, state.backfill.position[j], tasks, shortest)
