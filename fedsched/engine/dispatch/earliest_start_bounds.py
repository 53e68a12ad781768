"""Lower bounds on planned starts, which let searches of a kept plan begin later.

While a plan is kept, every reservation takes nodes and nothing is freed. Suppose a search has found no window before
some time. Then there is none for a job that needs at least as many nodes for at least as long. The bounds are kept in
cells of similar numbers of nodes and similar durations, in a two-dimensional tree. The bound of a cell holds for all
jobs that need at least the nodes and the duration at which the cell begins.
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
LEAST, MOST = 2.0**-40, 2.0**40  # values beyond are read as these
REPEATED = constant(256)  # exact needs that are remembered: many jobs often have the same
NEEDS = constant(3)  # numbers of each: tasks, duration, and the time
TABLE_SIZE = TASKS * DURATIONS + NEEDS * REPEATED
NO_BOUND = -np.inf


@inlined
def _cell_of(value: float) -> int:
    # Four cells in each power of two; every whole number up to 8 begins one.
    mantissa, exponent = math.frexp(min(max(value, LEAST), MOST))
    return 4 * exponent + int(8.0 * mantissa) - 4


@inlined
def _cell_from(value: float) -> int:
    # The first cell that begins at `value` or above.
    mantissa, exponent = math.frexp(min(max(value, LEAST), MOST))
    return 4 * exponent + int(np.ceil(8.0 * mantissa)) - 4


@inlined
def _place_of_repeated(tasks: int, duration: float) -> int:
    return TASKS * DURATIONS + NEEDS * ((31 * tasks + int(min(duration, 1e9))) & (REPEATED - 1))


@inlined
def clear_bounds(floor: Floats) -> None:
    """Drop all bounds, because a new plan begins."""
    floor[:] = NO_BOUND


@inlined
def raise_bound(floor: Floats, tasks: int, duration: float, time: float) -> None:
    """Record that a job of at least `tasks` nodes and `duration` seconds can start at `time` at the earliest.

    All cells of jobs at least as large get the bound, unless theirs is higher.
    """
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
def bound_of(floor: Floats, tasks: int, duration: float) -> float:
    """Return a lower bound on the planned start of a job of `tasks` nodes and `duration` seconds.

    It is the highest one recorded for a job that is no larger; −infinity if there is none.
    """
    highest = NO_BOUND
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
