"""Breakpoints side by side: what is sought, put in and taken off in a stretch of a profile's rows."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Profile

NOW = constant(0)  # the breakpoint of now


@by_reference
class Blocks(NamedTuple):
    """A plan of one group that stands: who is due when and, where it is long, its breakpoints in blocks."""

    number: Ints  # indexed by BlockNumber
    due: Ints  # heap of the jobs that wait for their planned starts (engine/due.py)
    place: Ints  # BlockRow x block in the order of time (engine/blocks.py); of size 0 where there are few jobs
    floor: Floats  # before when no window is wide and long enough (engine/floors.py)


class BlockNumber(IntEnum):
    """Whole numbers of a plan of one group that stands."""

    DUE = 0  # entries of the heap
    PLACES = 1  # blocks; 0: the breakpoints stand side by side
    PAST = 2  # the first of them that is not over
    ROOMS = 3  # rooms for blocks that have been in use


class BlockRow(IntEnum):
    """What is kept of a block."""

    ROOM = 0  # where its breakpoints stand
    SIZE = 1
    LEAST = 2  # free nodes
    MOST = 3


@inlined
def first_at(profile: Profile, time: float, first: int, rows: int) -> int:
    """Return the first breakpoint from `first` on that is not before `time`, or `rows`."""
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
    """Return the first breakpoint from `first` on with so many free nodes in all, or `rows`."""
    rest = totals[first:rows]
    for i in range(rest.size):
        if rest[i] >= tasks:
            return first + i
    return rows


@inlined
def first_without(profile: Profile, first: int, rows: int, tasks: int, end: float) -> int:
    """Return the first breakpoint from `first` on, but before `end`, with fewer free nodes in all; or `rows`."""
    times, totals = profile.time[first:rows], profile.total[first:rows]
    for i in range(times.size):
        if times[i] >= end:
            return rows
        if totals[i] < tasks:
            return first + i
    return rows


@inlined
def insert_time(times: Floats, place: int, rows: int, time: float) -> None:
    """Insert a time at `place`, and move the rows from there on."""
    later, carried = times[place : rows + 1], time
    for i in range(later.size):
        here = later[i]
        later[i] = carried
        carried = here


@inlined
def repeat_before(values: Ints, place: int, rows: int) -> None:
    """Insert at `place` what stands before it, and move the rows from there on."""
    tail = values[place - 1 : rows + 1]
    carried = tail[0]
    for i in range(1, tail.size):
        here = tail[i]
        tail[i] = carried
        carried = here


@inlined
def take(values: Ints, begin: int, end: int, nodes: int) -> None:
    """Take so many off every row from `begin` on, before `end`."""
    span = values[begin:end]
    for i in range(span.size):
        span[i] -= nodes


@inlined
def least_of(values: Ints, begin: int, end: int, least: int) -> int:
    """Return the least of a number and the rows from `begin` on, before `end`."""
    span = values[begin:end]
    for i in range(span.size):
        least = min(least, span[i])
    return least
