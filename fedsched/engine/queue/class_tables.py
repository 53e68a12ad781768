"""The arrays of a grouped queue, as views of only two arrays: every array of the state is passed in every call."""

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
CELLS = 512  # cells of similar numbers of nodes: eight for each power of two
BLOCK = constant(16)  # members of a class that share a leaf of its tree
NUMBERS = constant(len(ClassNumber))


class ClassColumn(IntEnum):
    """Columns of the table of classes."""

    SET = 0
    TASKS = 1  # the least of its jobs
    FIRST = 2  # place of its first member
    MEMBERS = 3
    TREE = 4  # where it begins
    LEAVES = 5
    CANDIDATE = 6  # place of the member that may start next
    AT = 7  # its position in the queue; ABSENT if there is none


class SetColumn(IntEnum):
    """Columns of the table of sets of groups."""

    ROOM = 0  # nodes of the largest job that may be placed
    BESIDE = 1  # the same beside the reservation
    USABLE = 2  # 1 if the first group is in the set; the other groups and the least needs of each pool follow


class ClassRow(IntEnum):
    """Floating-point numbers of each class."""

    LEAST_SIGMA = 0
    MOST_SIGMA = 1
    BRIEF = 2  # greatest key of a job that may end before the reservation begins
    LIMIT = 3  # greatest key of a job that may start at all


COLUMNS, ROWS = constant(len(ClassColumn)), constant(len(ClassRow))


@by_reference
class Tables(NamedTuple):
    """Tables of the classes, of the sets of groups, and of the jobs, which have places class by class.

    A job's key is its estimate, or its tasks if no reservation counts. Of two jobs of a class with equal nodes, the one
    with the smaller key may start whenever the other may.
    """

    number: Ints  # indexed by ClassNumber
    table: Ints  # class x ClassColumn
    sets: Ints  # set x SetColumn, then 1 for each group in it, then the least that its jobs need of each pool
    cell: Ints  # scratch
    class_at: Ints  # position in the queue -> class
    place_at: Ints  # position -> place: in the queue's order within each class
    position_of: Ints  # place -> position
    limits: Floats  # ClassRow x class
    key: Floats  # place -> key; infinite if no job waits there
    least: Floats  # the classes' binary trees over blocks of places: the least key


def tables_size(jobs: int, groups: int, pools: int) -> tuple[int, int]:
    """Return how many integers and how many floats the tables of a queue take."""
    of_classes, of_sets = MOST_CLASSES * COLUMNS, MOST_SETS * (SetColumn.USABLE + groups + pools)
    nodes = 4 * (jobs // int(BLOCK) + MOST_CLASSES)  # a tree has less than four for each block
    return NUMBERS + of_classes + of_sets + CELLS + 3 * jobs, MOST_CLASSES * ROWS + jobs + nodes


@inlined
def tables_of(state: State) -> Tables:
    """Return the tables of a state that has room for them."""
    whole, other, jobs = state.classes.number, state.classes.other, state.start.size
    columns = SetColumn.USABLE + state.free.size + pools.pool_count(state.extras)
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
