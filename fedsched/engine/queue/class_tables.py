"""The arrays of a grouped queue: views of two of the state's, whose every array is handed on in every call."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined
from fedsched.engine.numbers import ClassNumber
from fedsched.engine.optional_features import pools

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, State

MOST_CLASSES = 64
MOST_SETS = 16
CELLS = 512  # of about as many nodes: eight for each power of two
BLOCK = constant(16)  # members of a class that its tree knows as one
NUMBERS = constant(len(ClassNumber))


class ClassColumn(IntEnum):
    """What is kept of a class."""

    SET = 0
    TASKS = 1  # the least of its jobs'
    FIRST = 2  # place of its first member
    MEMBERS = 3
    TREE = 4  # where it begins
    LEAVES = 5
    CANDIDATE = 6  # place of the member that may start next
    AT = 7  # its position in the queue; ABSENT where there is none


class SetColumn(IntEnum):
    """What is kept of a set of groups."""

    ROOM = 0  # nodes of the largest job that may be placed
    BESIDE = 1  # and beside the reservation
    USABLE = 2  # of the first group; behind the last one the least needs of each pool


class ClassRow(IntEnum):
    """What is kept of a class in numbers that need not be whole."""

    LEAST_SIGMA = 0
    MOST_SIGMA = 1
    BRIEF = 2  # a key up to which a job may be done when the reservation begins
    LIMIT = 3  # a key up to which a job may start at all


COLUMNS, ROWS = constant(len(ClassColumn)), constant(len(ClassRow))


@by_reference
class Tables(NamedTuple):
    """What is known of the classes, of the sets of groups, and of the jobs, which have places class by class.

    A job's key is its estimate or, where no reservation counts, its tasks: of two jobs of a class that need as many
    nodes the one with the lesser key may start wherever the other may.
    """

    number: Ints  # indexed by ClassNumber
    table: Ints  # class x ClassColumn
    sets: Ints  # set x SetColumn, then 1 for each group in it, then the least that its jobs need of each pool
    cell: Ints  # scratch
    class_at: Ints  # position in the queue -> class
    place_at: Ints  # position -> place: in the queue's order within each class
    position_of: Ints  # place -> position
    limits: Floats  # ClassRow x class
    key: Floats  # place -> key; infinite where nobody waits
    least: Floats  # the classes' binary trees over blocks of places: the least key


def room_for(jobs: int, groups: int, pools: int) -> tuple[int, int]:
    """Return how many whole numbers and how many others a queue that may be grouped has room for."""
    of_classes, of_sets = MOST_CLASSES * COLUMNS, MOST_SETS * (SetColumn.USABLE + groups + pools)
    nodes = 4 * (jobs // int(BLOCK) + MOST_CLASSES)  # a tree has less than four for each block
    return NUMBERS + of_classes + of_sets + CELLS + 3 * jobs, MOST_CLASSES * ROWS + jobs + nodes


@inlined
def tables_of(state: State) -> Tables:
    """Return the tables of a state that has room for them."""
    whole, other, jobs = state.classes.number, state.classes.other, state.start.size
    columns = SetColumn.USABLE + state.free.size + pools.are(state.extras)
    sets = NUMBERS + MOST_CLASSES * COLUMNS
    cell = sets + MOST_SETS * columns
    class_at = cell + CELLS
    place_at = class_at + jobs
    position_of = place_at + jobs
    key = ROWS * MOST_CLASSES
    least = key + jobs
    return Tables(
        whole,
        whole[NUMBERS:sets].reshape((MOST_CLASSES, COLUMNS)),
        whole[sets:cell].reshape((MOST_SETS, columns)),
        whole[cell:class_at],
        whole[class_at:place_at],
        whole[place_at:position_of],
        whole[position_of:],
        other[:key].reshape((ROWS, MOST_CLASSES)),
        other[key:least],
        other[least:],
    )
