"""Pools: licences, burst buffers and the like, held beside nodes from a job's start to its finish [30, 31].

Every function takes the extras first, and is compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints


@inlined
def reset(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset: every pool is full, as before the first job."""
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        state.pools.free[p] = extras.pools.amount[p]


@inlined
def take(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Take what a job needs from the pools."""
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        state.pools.free[p] -= extras.pools.need[j, p]


@inlined
def give_back(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Give back what a job held."""
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        state.pools.free[p] += extras.pools.need[j, p]


@inlined
def _allow(need: Ints, j: int, left: Ints) -> bool:
    borne = True
    for p in range(left.size):
        borne = borne and need[j, p] <= left[p]
    return borne


@inlined
def suffice(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Return whether enough is left now for a job."""
    if extras is None or state is None:
        return True
    return _allow(extras.pools.need, j, state.pools.free)


# ---- sets of jobs that need the same pools, each with its least needs (queue/classes.py)


@inlined
def pool_count(state: ExtraState | None) -> int:
    """Return how many pools there are."""
    if state is None:
        return 0
    return state.pools.free.size


@inlined
def needs_same_pools(extras: Extras | None, least: Ints, j: int) -> bool:
    """Return whether a job needs exactly the pools that a set of jobs needs."""
    if extras is None:
        return True
    same = True
    for p in range(extras.pools.amount.size):
        same = same and (least[p] > 0) == (extras.pools.need[j, p] > 0)
    return same


@inlined
def note_needs(extras: Extras | None, least: Ints, j: int, first: bool) -> None:
    """Update the least needs of a set of jobs for one more job that needs the same pools."""
    if extras is None:
        return
    for p in range(extras.pools.amount.size):
        need = extras.pools.need[j, p]
        least[p] = need if first else min(least[p], need)


@inlined
def suffice_for_one(state: ExtraState | None, least: Ints) -> bool:
    """Return whether enough is left now for the least needs of a set."""
    if state is None:
        return True
    return _cover(least, state.pools.free)


@inlined
def suffice_for_one_then(state: ExtraState | None, least: Ints) -> bool:
    """Return whether the least needs of a set fit beside the reservation."""
    if state is None:
        return True
    return _cover(least, state.pools.extra)


@inlined
def _cover(least: Ints, left: Ints) -> bool:
    enough = True
    for p in range(left.size):
        enough = enough and least[p] <= left[p]
    return enough


# ---- which pools a job needs, as a number: a bit for each (queue/candidate_index.py)


@inlined
def bits(extras: Extras | None) -> int:
    """Return the number of bits that encode which pools a job needs."""
    if extras is None:
        return 0
    return extras.pools.amount.size


@inlined
def needed(extras: Extras | None, j: int) -> int:
    """Return which pools a job needs, as bits."""
    if extras is None:
        return 0
    found = 0
    for p in range(extras.pools.amount.size):
        found |= (1 if extras.pools.need[j, p] > 0 else 0) << p
    return found


@inlined
def have_some(state: ExtraState | None, which: int) -> bool:
    """Return whether each of these pools has something left now."""
    if state is None:
        return True
    return _some_of_each(state.pools.free, which)


@inlined
def have_some_then(state: ExtraState | None, which: int) -> bool:
    """Return whether each of these pools has something left beside what is reserved."""
    if state is None:
        return True
    return _some_of_each(state.pools.extra, which)


@inlined
def _some_of_each(left: Ints, which: int) -> bool:
    some = True
    for p in range(left.size):
        some = some and ((which >> p) & 1 == 0 or left[p] > 0)
    return some


# ---- in the order of local queues


@inlined
def unblock_all(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset: no waiting job blocks a pool, as a pass over local queues begins."""
    if extras is None or state is None:
        return
    for p in range(state.pools.held.size):
        state.pools.held[p] = 0


@inlined
def block(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Let a waiting job block its pools for the jobs behind it."""
    if extras is None or state is None:
        return
    for p in range(state.pools.held.size):
        if extras.pools.need[j, p] > 0:
            state.pools.held[p] = 1


@inlined
def is_blocked(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Return whether a job needs a pool that a waiting job ahead of it blocks."""
    if extras is None or state is None:
        return False
    held = False
    for p in range(state.pools.held.size):
        held = held or (extras.pools.need[j, p] > 0 and state.pools.held[p] == 1)
    return held


# ---- beside the reservation of EASY's head


@inlined
def look_ahead(extras: Extras | None, state: ExtraState | None) -> None:
    """Begin the search for the head's start with what is left now."""
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] = state.pools.free[p]


@inlined
def look_past(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Add what a running job gives back, as the search passes its planned end."""
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] += extras.pools.need[j, p]


@inlined
def suffice_then(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Return whether a job's needs fit into what is left at the head's start, beside what is reserved."""
    if extras is None or state is None:
        return True
    return _allow(extras.pools.need, j, state.pools.extra)


@inlined
def reserve(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Subtract the needs of the head, or of a job that runs beyond its start, from what is left at that start."""
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] -= extras.pools.need[j, p]


# ---- over the breakpoints of a conservative plan


@inlined
def begin_profile(extras: Extras | None, state: ExtraState | None) -> None:
    """Set the first breakpoint to what is left now."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        state.pools.planned[p, 0] = state.pools.free[p]


@inlined
def repeat_breakpoint(extras: Extras | None, state: ExtraState | None, row: int) -> None:
    """Set a new last breakpoint to a copy of the one before it."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        state.pools.planned[p, row] = state.pools.planned[p, row - 1]


@inlined
def end_at(extras: Extras | None, state: ExtraState | None, row: int, j: int) -> None:
    """Add to a breakpoint what a running job gives back then."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        state.pools.planned[p, row] += extras.pools.need[j, p]


@inlined
def insert_breakpoint(extras: Extras | None, state: ExtraState | None, place: int, rows: int) -> None:
    """Insert a breakpoint as a copy of the one before it."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        for b in range(rows, place - 1, -1):
            state.pools.planned[p, b] = state.pools.planned[p, b - 1]


@inlined
def move_breakpoints(extras: Extras | None, state: ExtraState | None, begin: int, to: int, count: int) -> None:
    """Copy `count` breakpoints from row `begin` to row `to`, which is an earlier or an unused one."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        for i in range(count):
            state.pools.planned[p, to + i] = state.pools.planned[p, begin + i]


@inlined
def suffice_until(
    extras: Extras | None, state: ExtraState | None, times: Floats, rows: int, j: int, begin: int, end: float
) -> bool:
    """Return whether enough is left for a job at breakpoint `begin` and at the later ones before the time `end`."""
    if extras is None or state is None:
        return True
    for p in range(state.pools.free.size):
        need = extras.pools.need[j, p]
        b = begin
        while need > 0 and b < rows and (b == begin or times[b] < end):
            if state.pools.planned[p, b] < need:
                return False
            b += 1
    return True


@inlined
def reserve_over(extras: Extras | None, state: ExtraState | None, j: int, begin: int, end: int) -> None:
    """Subtract a job's needs from every breakpoint from `begin` on and before `end`."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        need = extras.pools.need[j, p]
        if need > 0:
            for b in range(begin, end):
                state.pools.planned[p, b] -= need
