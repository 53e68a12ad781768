"""The tables of a queue that is grouped into classes, as views of only two arrays.

Every array of the state costs time in every call, so they are few.
"""

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
    """Column numbers of the table of classes: where a class's jobs and its tree are, and its next candidate."""

    SET = 0
    TASKS = 1  # the least of its jobs
    FIRST = 2  # place of its first member
    MEMBERS = 3
    TREE = 4  # where it begins
    LEAVES = 5
    CANDIDATE = 6  # place of the member that may start next
    AT = 7  # its position in the queue; ABSENT if there is none


class SetColumn(IntEnum):
    """Column numbers of the table of sets: jobs that may use the same node groups and need the same pools."""

    ROOM = 0  # nodes of the largest job that may be placed
    BESIDE = 1  # the same beside the reservation
    USABLE = 2  # 1 if the first group is in the set; the other groups and the least needs of each pool follow


class ClassRow(IntEnum):
    """Row numbers of the floating-point numbers of each class: the range of σ, and the greatest keys that may start."""

    LEAST_SIGMA = 0
    MOST_SIGMA = 1
    BRIEF = 2  # greatest key of a job that may end before the reservation begins
    LIMIT = 3  # greatest key of a job that may start at all


COLUMNS, ROWS = constant(len(ClassColumn)), constant(len(ClassRow))


@by_reference
class Tables(NamedTuple):
    """The tables of a grouped queue: its classes, the sets of node groups, and the jobs, with places class by class.

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
    """Return the lengths of the two arrays, of integers and of floats, that hold the tables of a queue."""
    of_classes, of_sets = MOST_CLASSES * COLUMNS, MOST_SETS * (SetColumn.USABLE + groups + pools)
    nodes = 4 * (jobs // int(BLOCK) + MOST_CLASSES)  # a tree has less than four for each block
    return NUMBERS + of_classes + of_sets + CELLS + 3 * jobs, MOST_CLASSES * ROWS + jobs + nodes


@inlined
def tables_of(state: State) -> Tables:
    """Return the tables of a state's queue, as views of its arrays, which have to be long enough for them."""
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
