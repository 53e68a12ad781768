"""A long profile of one node group, in blocks of breakpoints, each with its fewest and its most free nodes.

The breakpoints of a short profile are contiguous, and a scan of them is the quickest search. A long profile is split
into blocks. Inserting a breakpoint then shifts only those of its block. A search skips blocks that cannot hold what it
looks for, and begins at a lower bound on the job's start (dispatch/earliest_start_bounds.py). The results are the same.

The breakpoints of a block are contiguous rows of the profile, in a slot for BLOCK rows. Places number the blocks in the
order of time. Callers see only rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.dispatch.earliest_start_bounds import bound_of, clear_bounds, raise_bound
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.optional_features import pools
from fedsched.engine.profile.breakpoints import (
    BlockNumber,
    BlockRow,
    first_at,
    first_with,
    first_without,
    insert_time,
    repeat_before,
    take,
)

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Profile

BLOCK = constant(128)  # breakpoints that a block has room for
LONG_PROFILE = constant(512)  # a profile with this many breakpoints is split into blocks
NOWHERE = constant(-1)
EMPTY, ONE = constant(0), constant(1)


@inlined
def are_in_use(profile: Profile) -> bool:
    """Return whether the profile is split into blocks."""
    return profile.blocks.number[BlockNumber.PLACES] > 0


@inlined
def join_blocks(profile: Profile) -> None:
    """Mark the profile as not split into blocks, because a plan is made anew; its contents are not moved."""
    profile.blocks.number[BlockNumber.PLACES] = 0


@inlined
def _first_row(profile: Profile, place: int) -> int:
    return profile.blocks.place[BlockRow.ROOM, place] * BLOCK


@inlined
def _end_row(profile: Profile, place: int) -> int:
    return _first_row(profile, place) + profile.blocks.place[BlockRow.SIZE, place]


@inlined
def _measure(profile: Profile, place: int) -> None:
    totals = profile.total[_first_row(profile, place) : _end_row(profile, place)]
    least = most = totals[0]
    for i in range(1, totals.size):
        least, most = min(least, totals[i]), max(most, totals[i])
    profile.blocks.place[BlockRow.LEAST, place], profile.blocks.place[BlockRow.MOST, place] = least, most


@part
def split_into_blocks(profile: Profile, rows: int) -> None:
    """Split the first `rows` breakpoints of the profile, which are contiguous, into blocks; drop all start bounds."""
    blocks = profile.blocks
    places = (rows + BLOCK - 1) // BLOCK
    for place in range(places):
        blocks.place[BlockRow.ROOM, place] = place
        blocks.place[BlockRow.SIZE, place] = min(BLOCK, rows - place * BLOCK)
        _measure(profile, place)
    blocks.number[BlockNumber.PLACES] = blocks.number[BlockNumber.ROOMS] = places
    blocks.number[BlockNumber.PAST] = 0
    clear_bounds(blocks.floor)


@inlined
def first_row(profile: Profile) -> int:
    """Return the row of the breakpoint of now, the first one of the profile."""
    return _first_row(profile, profile.blocks.number[BlockNumber.PAST])


@inlined
def _place_at(profile: Profile, time: float) -> int:
    # The place of the last block that begins at this time or before, or the first place.
    low, high = profile.blocks.number[BlockNumber.PAST], profile.blocks.number[BlockNumber.PLACES] - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if profile.time[_first_row(profile, middle)] <= time:
            low = middle
        else:
            high = middle - 1
    return low


@inlined
def _add_place(profile: Profile, place: int, size: int) -> None:
    # Inserts a block with a room of its own, which is still to be filled.
    number, table = profile.blocks.number, profile.blocks.place
    places = number[BlockNumber.PLACES]
    for row in range(table.shape[0]):
        for p in range(places, place, -1):
            table[row, p] = table[row, p - 1]
    table[BlockRow.ROOM, place], table[BlockRow.SIZE, place] = number[BlockNumber.ROOMS], size
    number[BlockNumber.ROOMS] += 1
    number[BlockNumber.PLACES] += 1


@part
def _halve(extras: Extras | None, extra_state: ExtraState | None, profile: Profile, place: int) -> None:
    half = BLOCK // 2
    _add_place(profile, place + 1, BLOCK - half)
    begin, other = _first_row(profile, place) + half, _first_row(profile, place + 1)
    for i in range(BLOCK - half):
        profile.time[other + i] = profile.time[begin + i]
        profile.total[other + i] = profile.total[begin + i]
    pools.move_breakpoints(more_than_closing(extras), extra_state, begin, other, BLOCK - half)
    profile.blocks.place[BlockRow.SIZE, place] = half
    _measure(profile, place)
    _measure(profile, place + 1)


@inlined
def _break_at(extras: Extras | None, extra_state: ExtraState | None, profile: Profile, time: float) -> None:
    # Inserts a breakpoint at this time if there is none.
    place = _place_at(profile, time)
    row = first_at(profile, time, _first_row(profile, place), _end_row(profile, place))
    if row < _end_row(profile, place) and profile.time[row] == time:
        return
    if profile.blocks.place[BlockRow.SIZE, place] == BLOCK:
        _halve(extras, extra_state, profile, place)
        place = _place_at(profile, time)
        row = first_at(profile, time, _first_row(profile, place), _end_row(profile, place))
    rows = _end_row(profile, place)
    insert_time(profile.time, row, rows, time)
    repeat_before(profile.total, row, rows)
    pools.insert_breakpoint(more_than_closing(extras), extra_state, row, rows)
    profile.blocks.place[BlockRow.SIZE, place] += 1


@part
def reserve(
    extras: Extras | None,
    extra_state: ExtraState | None,
    profile: Profile,
    j: int,
    tasks: int,
    begin: float,
    end: float,
) -> None:
    """Subtract a job's `tasks` nodes, and its pools, from the breakpoint at the time `begin` up to the time `end`.

    A breakpoint is inserted at `end` if there is none.
    """
    _break_at(extras, extra_state, profile, end)
    place, past = _place_at(profile, begin), profile.blocks.number[BlockNumber.PLACES]
    row = first_at(profile, begin, _first_row(profile, place), _end_row(profile, place))
    while place < past and profile.time[row] < end:
        until = first_at(profile, end, row, _end_row(profile, place))
        take(profile.total, row, until, tasks)
        pools.reserve_over(more_than_closing(extras), extra_state, j, row, until)
        _measure(profile, place)
        place += 1
        row = _first_row(profile, min(place, past - 1))


@inlined
def _next_with(profile: Profile, place: int, row: int, tasks: int) -> tuple[int, int]:
    # The place and row of the first breakpoint from this one on with enough free nodes; or the number of places.
    places, most = profile.blocks.number[BlockNumber.PLACES], profile.blocks.place[BlockRow.MOST]
    while place < places:
        if most[place] >= tasks:
            end = _end_row(profile, place)
            row = first_with(profile.total, row, end, tasks)
            if row < end:
                break
        place += 1
        if place < places:
            row = _first_row(profile, place)
    return place, row


@inlined
def _next_without(profile: Profile, place: int, row: int, tasks: int, until: float) -> tuple[int, int]:
    # The same for the first one with too few free nodes before `until`.
    places, least = profile.blocks.number[BlockNumber.PLACES], profile.blocks.place[BlockRow.LEAST]
    while place < places:
        if least[place] < tasks:
            end = _end_row(profile, place)
            row = first_without(profile, row, end, tasks, until)
            if row < end:
                break
        place += 1
        if place < places:
            row = _first_row(profile, place)
            if profile.time[row] >= until:
                return places, row
    return place, row


@inlined
def _pools_suffice(
    extras: Extras | None, extra_state: ExtraState | None, profile: Profile, j: int, place: int, row: int, until: float
) -> bool:
    more = more_than_closing(extras)
    if more is None or extra_state is None:
        return True
    while pools.suffice_until(more, extra_state, profile.time, _end_row(profile, place), j, row, until):
        place += 1
        if place == profile.blocks.number[BlockNumber.PLACES]:
            return True
        row = _first_row(profile, place)
        if profile.time[row] >= until:
            return True
    return False


@part
def first_window(
    extras: Extras | None, extra_state: ExtraState | None, profile: Profile, j: int, tasks: int, duration: float
) -> int:
    """Return the row of the first breakpoint from which a job can run for `duration` seconds; -1 if there is none.

    At least `tasks` nodes, and the job's pools, are free for so long.
    """
    blocks = profile.blocks
    floor, searched = bound_of(blocks.floor, tasks, duration), False
    place = _place_at(profile, floor)
    row = first_at(profile, floor, _first_row(profile, place), _end_row(profile, place))
    places = blocks.number[BlockNumber.PLACES]
    place, row = _next_with(profile, place, row, tasks)
    while place < places:
        until = profile.time[row] + duration
        # A window contains its begin, even if its end is too near for the clock [0].
        less, lacking = _next_without(profile, place, row + 1, tasks, until)
        if less == places:
            if not searched:
                raise_bound(blocks.floor, tasks, duration, profile.time[row])
                searched = True
            if _pools_suffice(extras, extra_state, profile, j, place, row, until):
                return row
            less, lacking = place, row
        place, row = _next_with(profile, less, lacking + 1, tasks)
    return NOWHERE


@part
def has_room_until(profile: Profile, begin: float, tasks: int, until: float) -> bool:
    """Return whether `tasks` nodes are free at each breakpoint from the time `begin` on and before `until`."""
    place = _place_at(profile, begin)
    row = first_at(profile, begin, _first_row(profile, place), _end_row(profile, place))
    return _next_without(profile, place, row, tasks, until)[0] == profile.blocks.number[BlockNumber.PLACES]


@part
def first_below(profile: Profile, tasks: int) -> int:
    """Return the row of the first breakpoint after now with fewer than `tasks` free nodes; -1 if there is none."""
    past, places = profile.blocks.number[BlockNumber.PAST], profile.blocks.number[BlockNumber.PLACES]
    place, row = _next_without(profile, past, first_row(profile) + 1, tasks, float("inf"))
    return row if place < places else NOWHERE


@part
def drop_until(extras: Extras | None, extra_state: ExtraState | None, profile: Profile, now: float) -> None:
    """Drop the breakpoints that are over at `now`, so that the first one is at `now`."""
    number, table = profile.blocks.number, profile.blocks.place
    place = _place_at(profile, now)
    number[BlockNumber.PAST] = place
    first, rows = _first_row(profile, place), _end_row(profile, place)
    past = first
    while past + 1 < rows and profile.time[past + 1] <= now:
        past += 1
    if past > first:
        for row in range(past, rows):
            profile.time[row - past + first] = profile.time[row]
            profile.total[row - past + first] = profile.total[row]
        pools.move_breakpoints(more_than_closing(extras), extra_state, past, first, rows - past)
        table[BlockRow.SIZE, place] = rows - past
        _measure(profile, place)
    profile.time[first] = now


@inlined
def add_last(extras: Extras, extra_state: ExtraState, profile: Profile) -> int:
    """Append a breakpoint, in a new block if the last one is full; return its row.

    Its pools are those of the one before it; time and free nodes are still to be set.
    """
    place = profile.blocks.number[BlockNumber.PLACES] - 1
    before = _end_row(profile, place) - 1
    if profile.blocks.place[BlockRow.SIZE, place] == BLOCK:
        place += 1
        _add_place(profile, place, EMPTY)
    row = _end_row(profile, place)
    profile.blocks.place[BlockRow.SIZE, place] += 1
    pools.move_breakpoints(more_than_closing(extras), extra_state, before, row, ONE)
    return row


@inlined
def update_last(profile: Profile) -> None:
    """Compute the fewest and the most free nodes of the last block again, as a breakpoint was added to it."""
    _measure(profile, profile.blocks.number[BlockNumber.PLACES] - 1)
