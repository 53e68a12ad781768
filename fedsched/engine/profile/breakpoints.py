"""Searches, insertions and subtractions on rows of a profile; each row is a breakpoint: what is free from a time on.

All functions here work on contiguous rows.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Profile

NOW = constant(0)  # the breakpoint of now


@by_reference
class Blocks(NamedTuple):
    """Additional arrays of a kept plan on one node group: its planned starts, and the blocks of a long profile."""

    number: Ints  # indexed by BlockNumber
    due: Ints  # heap of the jobs that wait for their planned starts (dispatch/planned_starts.py)
    place: Ints  # BlockRow x block in the order of time (long_profile.py); of size 0 if there are few jobs
    floor: Floats  # times before which no window is wide and long enough (dispatch/earliest_start_bounds.py)


class BlockNumber(IntEnum):
    """Indices into `Blocks.number`, the integers of a kept plan on one node group."""

    DUE = 0  # entries of the heap
    PLACES = 1  # blocks; 0: the breakpoints are contiguous
    PAST = 2  # the first block that is not over
    ROOMS = 3  # slots for blocks that have been used so far


class BlockRow(IntEnum):
    """Row numbers of the table that describes the blocks of a long profile, one column per block."""

    ROOM = 0  # the slot that holds its breakpoints
    SIZE = 1
    LEAST = 2  # free nodes
    MOST = 3


@inlined
def first_at(profile: Profile, time: float, first: int, rows: int) -> int:
    """Return the first breakpoint from `first` on with a time that is not before `time`; `rows` if there is none."""
    low, high = first, rows
    while low < high:
        middle = (low + high) >> 1
        if profile.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@inlined
def first_with(totals: Ints, first: int, rows: int, tasks: int) -> int:
    """Return the first breakpoint from `first` on with at least `tasks` free nodes in total; else `rows`."""
    rest = totals[first:rows]
    for i in range(rest.size):
        if rest[i] >= tasks:
            return first + i
    return rows


@inlined
def first_without(profile: Profile, first: int, rows: int, tasks: int, end: float) -> int:
    """Return the first breakpoint from `first` on with fewer than `tasks` free nodes in total.

    It is `rows` if there is none before the time `end`.
    """
    times, totals = profile.time[first:rows], profile.total[first:rows]
    for i in range(times.size):
        if times[i] >= end:
            return rows
        if totals[i] < tasks:
            return first + i
    return rows


@inlined
def insert_time(times: Floats, place: int, rows: int, time: float) -> None:
    """Insert a time at index `place`; the entries from there to `rows` move up by one."""
    later, carried = times[place : rows + 1], time
    for i in range(later.size):
        here = later[i]
        later[i] = carried
        carried = here


@inlined
def repeat_before(values: Ints, place: int, rows: int) -> None:
    """Insert a copy of the entry before `place` at `place`; the entries from there to `rows` move up by one."""
    tail = values[place - 1 : rows + 1]
    carried = tail[0]
    for i in range(1, tail.size):
        here = tail[i]
        tail[i] = carried
        carried = here


@inlined
def take(values: Ints, begin: int, end: int, nodes: int) -> None:
    """Subtract `nodes` from the entries `begin` to `end` − 1."""
    span = values[begin:end]
    for i in range(span.size):
        span[i] -= nodes


@inlined
def least_of(values: Ints, begin: int, end: int, least: int) -> int:
    """Return the minimum of `least` and the entries `begin` to `end` − 1."""
    span = values[begin:end]
    for i in range(span.size):
        least = min(least, span[i])
    return least
