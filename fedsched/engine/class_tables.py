"""The arrays of a grouped queue: views of two of the state's, whose every array is handed on in every call."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.compiled import constant, inlined
from fedsched.engine.arrays import ClassNumber

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, State

MOST_CLASSES = 64
MOST_SETS = 16
CELLS = 512  # of about as many nodes: eight for each power of two
BLOCK = constant(32)  # positions that the tree knows as one
NUMBERS = constant(len(ClassNumber))


class ClassColumn(IntEnum):
    """What is kept of a class."""

    SET = 0
    TASKS = 1  # the least of its jobs'


class SetColumn(IntEnum):
    """What is kept of a set of groups."""

    ROOM = 0  # nodes of the largest job that may be placed
    BESIDE = 1  # and beside the reservation
    FIRST_CLASS = 2
    PAST_SMALL = 3  # the first of its classes whose jobs all are too large for the room
    USABLE = 4  # of the first group


class ClassRow(IntEnum):
    """What is kept of a class in numbers that need not be whole."""

    LEAST_SIGMA = 0
    MOST_SIGMA = 1
    BRIEF = 2  # a key up to which a job may be done when the reservation begins
    LIMIT = 3  # a key up to which a job may start at all


COLUMNS, ROWS = constant(len(ClassColumn)), constant(len(ClassRow))


class Tables(NamedTuple):
    """What is known of the classes, of the sets of groups, and of the positions of the queue.

    A job's key is its estimate or, where no reservation counts, its tasks: of two jobs of a class that need as many
    nodes the one with the lesser key may start wherever the other may.
    """

    number: Ints  # indexed by ClassNumber
    table: Ints  # class x ClassColumn
    sets: Ints  # set of groups x SetColumn, then 1 for each group in it
    cell: Ints  # scratch
    class_at: Ints  # position -> class
    limits: Floats  # ClassRow x class
    key_at: Floats  # position -> key; infinite where nobody waits
    least: Floats  # node of a binary tree over blocks of positions x class: the least key


def room_for(jobs: int, groups: int) -> tuple[int, int]:
    """Return how many whole numbers and how many others a queue that may be grouped has room for."""
    of_classes, of_sets = MOST_CLASSES * COLUMNS, MOST_SETS * (SetColumn.USABLE + groups)
    leaves = 1 << (max(0, jobs - 1) // int(BLOCK)).bit_length()
    return NUMBERS + of_classes + of_sets + CELLS + jobs, MOST_CLASSES * (ROWS + 2 * leaves) + jobs


@inlined
def tables_of(state: State) -> Tables:
    """Return the tables of a state that has room for them."""
    whole, other, jobs = state.classes.number, state.classes.other, state.start.size
    columns = SetColumn.USABLE + state.free.size
    sets = NUMBERS + MOST_CLASSES * COLUMNS
    cell = sets + MOST_SETS * columns
    class_at = cell + CELLS
    key_at = ROWS * MOST_CLASSES
    least = key_at + jobs
    return Tables(
        whole,
        whole[NUMBERS:sets].reshape((MOST_CLASSES, COLUMNS)),
        whole[sets:cell].reshape((MOST_SETS, columns)),
        whole[cell:class_at],
        whole[class_at:],
        other[:key_at].reshape((ROWS, MOST_CLASSES)),
        other[key_at:least],
        other[least:].reshape(((other.size - least) // MOST_CLASSES, MOST_CLASSES)),
    )
