"""Floors: a time before which a job's nodes are nowhere free for long enough, known from searches for smaller jobs.

While a plan stands every reservation takes nodes and nothing is freed. So where a search has found no window before
some time, none is there for a job that needs as many nodes or more for as long or longer. The times are kept by cells
of about as many nodes and about as long durations, in a tree over both: what stands in a cell holds for whoever needs
at least what the cell begins with, both ways.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats

TASKS, DURATIONS = constant(64), constant(128)  # cells: four in each power of two
ONE_TASK, SHORTEST = 4, -16  # the first cells: one node, a thirty-second of a second
LEAST, MOST = 2.0**-40, 2.0**40  # beyond which all is as one
REPEATED = constant(256)  # needs that are remembered as they are, for there are often many with the same
NEEDS = constant(3)  # tasks, duration, and the time
ROOM = TASKS * DURATIONS + NEEDS * REPEATED
NO_FLOOR = -np.inf


@inlined
def _cell_of(value: float) -> int:
    # Four cells in each power of two; up to 8 every whole number begins one.
    mantissa, exponent = math.frexp(min(max(value, LEAST), MOST))
    return 4 * exponent + int(8.0 * mantissa) - 4


@inlined
def _cell_from(value: float) -> int:
    # The first cell that begins with no less.
    mantissa, exponent = math.frexp(min(max(value, LEAST), MOST))
    return 4 * exponent + int(np.ceil(8.0 * mantissa)) - 4


@inlined
def _place_of_repeated(tasks: int, duration: float) -> int:
    return TASKS * DURATIONS + NEEDS * ((31 * tasks + int(min(duration, 1e9))) & (REPEATED - 1))


@inlined
def clear(floor: Floats) -> None:
    """Forget all, as a plan is made anew."""
    floor[:] = NO_FLOOR


@inlined
def raise_floor(floor: Floats, tasks: int, duration: float, time: float) -> None:
    """Note that no window before `time` is wide and long enough for a job that needs this."""
    place = _place_of_repeated(tasks, duration)
    floor[place], floor[place + 1], floor[place + 2] = tasks, duration, time
    row, first = _cell_from(1.0 * tasks) - ONE_TASK, max(0, _cell_from(duration) - SHORTEST)
    while row < TASKS:
        column = first
        while column < DURATIONS:
            floor[row * DURATIONS + column] = max(floor[row * DURATIONS + column], time)
            column |= column + 1
        row |= row + 1


@inlined
def floor_of(floor: Floats, tasks: int, duration: float) -> float:
    """Return a time before which no window is wide and long enough for a job that needs this."""
    highest = NO_FLOOR
    place = _place_of_repeated(tasks, duration)
    if floor[place] <= tasks and floor[place + 1] <= duration:
        highest = floor[place + 2]
    row = min(_cell_of(1.0 * tasks) - ONE_TASK, TASKS - 1)
    last = min(_cell_of(duration) - SHORTEST, DURATIONS - 1)
    while row >= 0:
        column = last
        while column >= 0:
            highest = max(highest, floor[row * DURATIONS + column])
            column = (column & (column + 1)) - 1
        row = (row & (row + 1)) - 1
    return highest
