"""Pools: countable amounts beside nodes (licences, burst buffers), which jobs hold from start to finish [30, 31].

Every function takes the extras first, and is compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints


@inlined
def reset(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset for a run: all of every pool is free."""
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        state.pools.free[p] = extras.pools.amount[p]


@inlined
def take(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Subtract what a starting job needs of each pool from what is free."""
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        state.pools.free[p] -= extras.pools.need[j, p]


@inlined
def give_back(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Add what an ending job held of each pool to what is free."""
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
    """Return whether what is free now in each pool is enough for a job."""
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
    """Return whether a job needs exactly the pools that a set of jobs needs.

    `least` is what any job of the set needs at least, per pool.
    """
    if extras is None:
        return True
    same = True
    for p in range(extras.pools.amount.size):
        same = same and (least[p] > 0) == (extras.pools.need[j, p] > 0)
    return same


@inlined
def note_needs(extras: Extras | None, least: Ints, j: int, first: bool) -> None:
    """Lower `least`, the least need of a set's jobs per pool, to the needs of one more job.

    For the `first` job of the set, set it to that job's needs.
    """
    if extras is None:
        return
    for p in range(extras.pools.amount.size):
        need = extras.pools.need[j, p]
        least[p] = need if first else min(least[p], need)


@inlined
def suffice_for_one(state: ExtraState | None, least: Ints) -> bool:
    """Return whether the pools now have enough free for `least`, the least need of a set's jobs per pool.

    If not, no job of the set can start.
    """
    if state is None:
        return True
    return _cover(least, state.pools.free)


@inlined
def suffice_for_one_then(state: ExtraState | None, least: Ints) -> bool:
    """Return whether `least`, the least need of a set's jobs per pool, fits beside EASY's reservation.

    That is, whether the pools have that much left at the start of EASY's head.
    """
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
    """Return the number of bits that encode which pools a job needs: the number of pools."""
    if extras is None:
        return 0
    return extras.pools.amount.size


@inlined
def needed(extras: Extras | None, j: int) -> int:
    """Return which pools a job needs as an integer: bit p is 1 if it needs pool p."""
    if extras is None:
        return 0
    found = 0
    for p in range(extras.pools.amount.size):
        found |= (1 if extras.pools.need[j, p] > 0 else 0) << p
    return found


@inlined
def have_some(state: ExtraState | None, which: int) -> bool:
    """Return whether each pool in `which` (a bit per pool) has something free now."""
    if state is None:
        return True
    return _some_of_each(state.pools.free, which)


@inlined
def have_some_then(state: ExtraState | None, which: int) -> bool:
    """Return whether each pool in `which` (a bit per pool) has something left beside EASY's reservation."""
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
    """Mark all pools as not blocked by a waiting job, as a pass over local queues begins."""
    if extras is None or state is None:
        return
    for p in range(state.pools.held.size):
        state.pools.held[p] = 0


@inlined
def block(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Mark the pools that a waiting job needs as blocked for the jobs behind it, in a pass over local queues."""
    if extras is None or state is None:
        return
    for p in range(state.pools.held.size):
        if extras.pools.need[j, p] > 0:
            state.pools.held[p] = 1


@inlined
def is_blocked(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Return whether a job needs a pool that a waiting job ahead of it has blocked, in a pass over local queues."""
    if extras is None or state is None:
        return False
    held = False
    for p in range(state.pools.held.size):
        held = held or (extras.pools.need[j, p] > 0 and state.pools.held[p] == 1)
    return held


# ---- beside the reservation of EASY's head


@inlined
def look_ahead(extras: Extras | None, state: ExtraState | None) -> None:
    """Begin the search for the planned start of EASY's head: set what is left in each pool to what is free now."""
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] = state.pools.free[p]


@inlined
def look_past(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Add what a running job gives back to what is left in each pool.

    The search for the start of EASY's head passes the planned end of that job.
    """
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] += extras.pools.need[j, p]


@inlined
def suffice_then(extras: Extras | None, state: ExtraState | None, j: int) -> bool:
    """Return whether a job's needs fit into what the pools have left at the start of EASY's head; true without pools.

    The needs of jobs that run beyond that start are subtracted already. So are those of the head once its start is
    found; while it is sought, the job is the head itself.
    """
    if extras is None or state is None:
        return True
    return _allow(extras.pools.need, j, state.pools.extra)


@inlined
def reserve(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Subtract a job's needs from what the pools have left at the start of EASY's head.

    The job is the head, or one that runs beyond that start.
    """
    if extras is None or state is None:
        return
    for p in range(state.pools.extra.size):
        state.pools.extra[p] -= extras.pools.need[j, p]


# ---- over the breakpoints of a conservative plan; rows of power caps behind those of the pools are copied with them


@inlined
def begin_profile(extras: Extras | None, state: ExtraState | None) -> None:
    """Set what is left in each pool at the profile's first breakpoint to what is free now."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        state.pools.planned[p, 0] = state.pools.free[p]


@inlined
def repeat_breakpoint(extras: Extras | None, state: ExtraState | None, row: int) -> None:
    """Set what is left in each pool at the new last breakpoint `row` to a copy of the breakpoint before it."""
    if extras is None or state is None:
        return
    for p in range(state.pools.planned.shape[0]):
        state.pools.planned[p, row] = state.pools.planned[p, row - 1]


@inlined
def end_at(extras: Extras | None, state: ExtraState | None, row: int, j: int) -> None:
    """Add what a running job gives back to what is left in each pool at breakpoint `row`."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        state.pools.planned[p, row] += extras.pools.need[j, p]


@inlined
def insert_breakpoint(extras: Extras | None, state: ExtraState | None, place: int, rows: int) -> None:
    """Insert a breakpoint at `place`, with as much left in each pool as at the one before; shift the later ones."""
    if extras is None or state is None:
        return
    for p in range(state.pools.planned.shape[0]):
        for b in range(rows, place - 1, -1):
            state.pools.planned[p, b] = state.pools.planned[p, b - 1]


@inlined
def move_breakpoints(extras: Extras | None, state: ExtraState | None, begin: int, to: int, count: int) -> None:
    """Copy what is left in each pool at `count` breakpoints from row `begin` on to rows from `to` on.

    These rows are earlier ones, or unused.
    """
    if extras is None or state is None:
        return
    for p in range(state.pools.planned.shape[0]):
        for i in range(count):
            state.pools.planned[p, to + i] = state.pools.planned[p, begin + i]


@inlined
def suffice_until(
    extras: Extras | None, state: ExtraState | None, times: Floats, rows: int, j: int, begin: int, end: float
) -> bool:
    """Return whether the pools have enough for a job at breakpoint `begin` and the later ones before time `end`."""
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
    """Subtract a job's needs from what is left in each pool at breakpoints `begin` to `end` − 1."""
    if extras is None or state is None:
        return
    for p in range(state.pools.free.size):
        need = extras.pools.need[j, p]
        if need > 0:
            for b in range(begin, end):
                state.pools.planned[p, b] -= need
