"""Limits: scans of the queue do not find a job that would exceed a limit until enough is given back [43].

A job over a limit is absent from the trees over the queue. It keeps its place in the order, and is not counted as
queued. A kind is the set of jobs that take the same amounts of the same limits (pack/limit_classes.py): either all jobs
of a kind are over a limit, or none. Jobs that wait for a limit are parked (queue/parked_jobs.py): later, one queue
entry stands for all parked jobs of a kind. Every function takes the extras first; without extras, or limits, nothing is
done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import flag, inlined, part
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.queue import parked_jobs
from fedsched.engine.queue.parked_jobs import HIDDEN, LONGEST, ORDERS, PARKED, SHOWN, UNPARKED
from fedsched.engine.queue.queue_tree import ABSENT, NEVER, set_leaf

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Limited, Limits, Plan, State

NOT_PARKED = flag(False)


@inlined
def reset(extras: Extras | None, state: ExtraState | None, plan: Plan, run: State) -> None:
    """Reset for a run: all limits are unused and no job waits; the queue is empty already, and has its order."""
    if extras is None or state is None:
        return
    limited = state.limited
    if limited.left.size > 0:
        for c in range(limited.left.size):
            limited.left[c] = extras.limits.amount[c]
        for j in range(limited.kind.size):
            limited.kind[j] = extras.limits.kind[j]
        limited.over[:] = 0
        limited.waiting[:] = 0
        parked_jobs.reset(extras.limits, limited.sleepers, plan, run)
        if extras.moldable.kind.size > 0:
            limited.sleepers.number[ORDERS] = 0  # the jobs of a kind are not known beforehand


@inlined
def has_limits(state: ExtraState | None) -> bool:
    """Return whether the federation has limits (on what may run at a time) at all."""
    if state is None:
        return False
    return state.limited.left.size > 0


@inlined
def has_large_kind(state: ExtraState | None, jobs: int) -> bool:
    """Return whether at least `jobs` jobs take the same of the same limits (are of one kind).

    It is then better to park them behind one queue entry than to group the queue into classes.
    """
    if state is None:
        return False
    return state.limited.left.size > 0 and state.limited.sleepers.number[LONGEST] >= jobs


@inlined
def _is_over(limited: Limited, j: int) -> bool:
    k = limited.kind[j]
    return k >= 0 and limited.over[k] > 0


@inlined
def is_over_limit(state: ExtraState | None, j: int) -> bool:
    """Return whether a queued job may not start because one of its limits has too little left."""
    if state is None:
        return False
    return state.limited.left.size > 0 and _is_over(state.limited, j)


@inlined
def note_joined(extras: Extras | None, state: ExtraState | None, run: State, j: int) -> bool:
    """Note that a job joins the queue; return whether it is within its limits, and so counts as queued.

    If it is over a limit, it is parked if that is possible.
    """
    if extras is None or state is None:
        return True
    if state.limited.left.size == 0:
        return True
    return _note_joined(extras, state, run, j)


@part
def _note_joined(extras: Extras, state: ExtraState, run: State, j: int) -> bool:
    limited, k = state.limited, state.limited.kind[j]
    if k < 0:
        return True
    limited.waiting[k] += 1
    if limited.over[k] > 0 and parked_jobs.may_park(state, j):
        parked_jobs.park(extras.limits, limited.sleepers, k, j, run.shortest[j])
    else:
        parked_jobs.add_unparked(limited.sleepers, k, j)
    return limited.over[k] == 0


@inlined
def note_left(extras: Extras, state: ExtraState, run: State, j: int) -> bool:
    """Note that a job has left the queue without a start.

    Return whether it was within its limits, and so counted as queued.
    """
    if state.limited.left.size == 0:
        return True
    return _note_left(extras, state, run, j)


@part
def _note_left(extras: Extras, state: ExtraState, run: State, j: int) -> bool:
    limited, k = state.limited, state.limited.kind[j]
    if k < 0:
        return True
    limited.waiting[k] -= 1
    if not parked_jobs.is_parked(limited.sleepers, j):
        parked_jobs.remove_unparked(limited.sleepers, k, j)
    else:
        parked_jobs.show_entry(extras.limits, limited.sleepers, run, k, HIDDEN)
        parked_jobs.remove_parked(extras.limits, limited.sleepers, k, j)
        if limited.over[k] == 0:
            parked_jobs.show_entry(extras.limits, limited.sleepers, run, k, SHOWN)
    return limited.over[k] == 0


@inlined
def expand_entry(
    extras: Extras | None, extra_state: ExtraState | None, state: State, order: Ints, position: int
) -> bool:
    """Queue a parked job as itself if the entry at `position` stands for it and other parked jobs.

    Return whether it does; another entry then stands for the jobs that are still parked.
    """
    if extras is None or extra_state is None:
        return NOT_PARKED
    if extra_state.limited.left.size == 0 or position < 0:
        return NOT_PARKED
    limited, j = extra_state.limited, order[position]
    if not parked_jobs.is_parked(limited.sleepers, j):
        return NOT_PARKED
    parked_jobs.unpark(extras.limits, limited.sleepers, state, limited.kind[j], j)
    return True


@inlined
def _taken(limits: Limits, i: int, counts: Ints) -> int:
    # What a job on these nodes takes of a counter of its kind [76].
    if limits.row.size == 0 or limits.row[i] < 0:
        return limits.weight[i]
    taken = 0
    for g in range(counts.size):
        taken += counts[g] * limits.of_node[limits.row[i], g]
    return taken


@inlined
def allow(extras: Extras | None, state: ExtraState | None, j: int, counts: Ints) -> bool:
    """Return whether the limits leave enough for a job on these nodes (`counts` per group) [76].

    Only limits that count nodes by group can say no; earlier checks assumed the job's fewest nodes.
    """
    if extras is None or state is None:
        return True
    if extras.limits.row.size == 0:
        return True
    limits, k, enough = extras.limits, state.limited.kind[j], True
    if k >= 0:
        for i in range(limits.first[k], limits.first[k + 1]):
            enough = enough and _taken(limits, i, counts) <= state.limited.left[limits.counter[i]]
    return enough


@inlined
def allow_alone(extras: Extras | None, j: int, counts: Ints) -> bool:
    """Return whether the limits allow a job on these nodes (`counts` per group) if no other job runs."""
    if extras is None:
        return True
    if extras.limits.row.size == 0:
        return True
    # A copy of `allow`: `amount` is read-only, which is another type than that of `left`.
    limits, k, enough = extras.limits, extras.limits.kind[j], True
    if k >= 0:
        for i in range(limits.first[k], limits.first[k + 1]):
            enough = enough and _taken(limits, i, counts) <= limits.amount[limits.counter[i]]
    return enough


@inlined
def take(extras: Extras | None, extra_state: ExtraState | None, state: State, j: int) -> None:
    """Subtract what a starting job takes from the rest of its limits.

    Waiting jobs that are now over a limit are hidden in the queue.
    """
    if extras is None or extra_state is None:
        return
    if extra_state.limited.left.size > 0 and extra_state.limited.kind[j] >= 0:
        limited, k = extra_state.limited, extra_state.limited.kind[j]
        if limited.sleepers.what[j] == UNPARKED:  # else it has run from the beginning
            limited.waiting[k] -= 1
            parked_jobs.remove_unparked(limited.sleepers, k, j)
        for i in range(extras.limits.first[k], extras.limits.first[k + 1]):
            taken = _taken(extras.limits, i, state.counts[j])
            _change(extras, extra_state, state, extras.limits.counter[i], -taken)


@inlined
def give_back(extras: Extras | None, extra_state: ExtraState | None, state: State, j: int) -> None:
    """Add what an ending job gives back to the rest of its limits.

    Waiting jobs that are no longer over a limit are shown in the queue again.
    """
    if extras is None or extra_state is None:
        return
    if extra_state.limited.left.size > 0 and extra_state.limited.kind[j] >= 0:
        k = extra_state.limited.kind[j]
        for i in range(extras.limits.first[k], extras.limits.first[k + 1]):
            taken = _taken(extras.limits, i, state.counts[j])
            _change(extras, extra_state, state, extras.limits.counter[i], taken)


@part
def _change(extras: Extras, extra_state: ExtraState, state: State, c: int, by: int) -> None:
    # Changes what is left of a counter; kinds that are now over it leave the queue, kinds no longer over it return.
    limits, limited = extras.limits, extra_state.limited
    before = limited.left[c]
    limited.left[c] = after = before + by
    least, most = min(before, after), max(before, after)
    low, high = limits.first_kind[c], limits.first_kind[c + 1]
    while low < high:  # find the first kind with jobs that take more than `least`
        middle = (low + high) >> 1
        if limits.kind_weight[middle] <= least:
            low = middle + 1
        else:
            high = middle
    while low < limits.first_kind[c + 1] and limits.kind_weight[low] <= most:
        k = limits.of_counter[low]
        low += 1
        if by < 0:
            limited.over[k] += 1
            if limited.over[k] == 1:
                state.counter[Counter.QUEUED] -= limited.waiting[k]
                _hide(extras, extra_state, state, k)
        else:
            limited.over[k] -= 1
            if limited.over[k] == 0:
                state.counter[Counter.QUEUED] += limited.waiting[k]
                _show(extras, extra_state, state, k)


@inlined
def _hide(extras: Extras, extra_state: ExtraState, state: State, k: int) -> None:
    # Jobs of queues that are not scanned now are hidden when their turn comes, or by `show_all`.
    limits, kinds = extras.limits, extra_state.limited.sleepers
    in_general_queue = extra_state.apart.turn[0] < 0
    if in_general_queue:
        parked_jobs.show_entry(limits, kinds, state, k, HIDDEN)
    j = kinds.awake[k]
    while j >= 0:
        after = kinds.link[parked_jobs.NEXT, j]
        _set_leaves(extra_state, state, j, ABSENT, NEVER)
        if in_general_queue and parked_jobs.may_park(extra_state, j):
            parked_jobs.remove_unparked(kinds, k, j)
            parked_jobs.park(limits, kinds, k, j, state.shortest[j])
        j = after


@inlined
def _show(extras: Extras, extra_state: ExtraState, state: State, k: int) -> None:
    limits, kinds = extras.limits, extra_state.limited.sleepers
    parked_jobs.show_entry(limits, kinds, state, k, SHOWN)
    j = kinds.awake[k]
    while j >= 0:
        _set_leaves(extra_state, state, j, limits.tasks[j], state.shortest[j])
        j = kinds.link[parked_jobs.NEXT, j]


@part
def update_shown(extras: Extras, extra_state: ExtraState, state: State) -> None:
    """Hide jobs of the general queue that are over a limit now, because jobs of reservations have started [46]."""
    for k in range(extra_state.limited.over.size):
        if extra_state.limited.over[k] > 0:
            _hide(extras, extra_state, state, k)


@part
def unpark_all(extras: Extras, extra_state: ExtraState, state: State) -> None:
    """End parking for the rest of this run: each parked job is queued as itself, hidden if it is over a limit."""
    limits, limited = extras.limits, extra_state.limited
    for j in range(limited.sleepers.what.size):
        if limited.sleepers.what[j] == PARKED:
            k = limited.kind[j]
            parked_jobs.add_unparked(limited.sleepers, k, j)
            if limited.over[k] == 0:
                _set_leaves(extra_state, state, j, limits.tasks[j], state.shortest[j])
    limited.sleepers.tasks[:] = ABSENT
    limited.sleepers.shortest[:] = NEVER
    limited.sleepers.number[ORDERS] = 0


@inlined
def stop_parking(extras: Extras | None, extra_state: ExtraState | None, state: State) -> None:
    """End parking for the rest of this run (see `unpark_all`), if jobs may be parked; else do nothing."""
    if extras is None or extra_state is None:
        return
    if extra_state.limited.left.size > 0 and extra_state.limited.sleepers.number[ORDERS] > 0:
        unpark_all(extras, extra_state, state)


@inlined
def _set_leaves(extra_state: ExtraState, state: State, j: int, tasks: int, shortest: float) -> None:
    # If jobs are backfilled in queue order, both queues are the same. Jobs of another queue have a turn of their own.
    if is_in_other_queue(extra_state, j):
        return
    set_leaf(state.queue, state.queue.position[j], tasks, shortest)
    set_leaf(state.backfill, state.backfill.position[j], tasks, shortest)
