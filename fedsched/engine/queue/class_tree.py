"""The trees of a queue that is grouped into classes: one a class, with the least key of each stretch of jobs.

A key is a job's estimate, or its tasks if no reservation counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.engine.queue.class_tables import BLOCK, ClassColumn, ClassRow, SetColumn
from fedsched.engine.queue.queue_tree import ABSENT

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.engine.queue.class_tables import Tables

NO_JOB = np.inf  # key of a place without a waiting job


@inlined
def _least_of_block(tables: Tables, k: int, block: int) -> float:
    first, least = tables.table[k, ClassColumn.FIRST], NO_JOB
    end = first + min((block + 1) * BLOCK, tables.table[k, ClassColumn.MEMBERS])
    for place in range(first + block * BLOCK, end):
        least = min(least, tables.key[place])
    return least


@inlined
def fill(tables: Tables, classes: int) -> None:
    """Compute the trees of the first `classes` classes from the keys of their jobs."""
    for k in range(classes):
        least, leaves = tables.least[tables.table[k, ClassColumn.TREE] :], tables.table[k, ClassColumn.LEAVES]
        for block in range(leaves):
            least[leaves + block] = _least_of_block(tables, k, block)
        for node in range(leaves - 1, 0, -1):
            least[node] = min(least[2 * node], least[2 * node + 1])


@inlined
def set_key(tables: Tables, k: int, place: int, key: float) -> None:
    """Set the key of the job at `place` in class `k`, and update the tree above it."""
    least, leaves = tables.least[tables.table[k, ClassColumn.TREE] :], tables.table[k, ClassColumn.LEAVES]
    block = (place - tables.table[k, ClassColumn.FIRST]) // BLOCK
    tables.key[place] = key
    node, soonest = leaves + block, _least_of_block(tables, k, block)
    while least[node] != soonest:
        least[node] = soonest
        if node == 1:
            return
        soonest = min(soonest, least[node ^ 1])
        node >>= 1


@inlined
def _fits(tables: Tables, k: int, place: int, needed: int) -> bool:
    s = tables.table[k, ClassColumn.SET]
    if needed > tables.sets[s, SetColumn.ROOM]:
        return False
    return tables.key[place] <= tables.limits[ClassRow.BRIEF, k] or needed <= tables.sets[s, SetColumn.BESIDE]


@inlined
def may_still_start(tables: Tables, tasks: Ints, k: int) -> bool:
    """Return whether the candidate of class `k` may still start on the nodes that are free by now.

    `tasks` is the number of tasks at each queue position.
    """
    place = tables.table[k, ClassColumn.CANDIDATE]
    within = tables.key[place] <= tables.limits[ClassRow.LIMIT, k]
    return within and _fits(tables, k, place, tasks[tables.position_of[place]])


@inlined
def _found_in_block(tables: Tables, tasks: Ints, order: Ints, start: Floats, k: int, place: int) -> bool:
    # Notes the first member from this place to the end of its block that may start; removes members that have started.
    first = tables.table[k, ClassColumn.FIRST]
    end = first + min(((place - first) // BLOCK + 1) * BLOCK, tables.table[k, ClassColumn.MEMBERS])
    for one in range(place, end):
        if tables.key[one] > tables.limits[ClassRow.LIMIT, k]:
            continue
        position = tables.position_of[one]
        if not np.isnan(start[order[position]]):
            set_key(tables, k, one, NO_JOB)
        elif _fits(tables, k, one, tasks[position]):
            tables.table[k, ClassColumn.CANDIDATE], tables.table[k, ClassColumn.AT] = one, position
            return True
    return False


@part
def seek(tables: Tables, tasks: Ints, order: Ints, start: Floats, k: int, place: int) -> None:
    """Find the first job of class `k` from `place` on that may start, and note it as the class's candidate.

    If there is none, the class has no candidate (ABSENT). Started jobs met on the way are removed. `tasks` is the
    number of tasks at each queue position.
    """
    first, leaves = tables.table[k, ClassColumn.FIRST], tables.table[k, ClassColumn.LEAVES]
    least, limit = tables.least[tables.table[k, ClassColumn.TREE] :], tables.limits[ClassRow.LIMIT, k]
    tables.table[k, ClassColumn.AT] = ABSENT
    if least[1] > limit or place - first >= tables.table[k, ClassColumn.MEMBERS]:
        return
    node = leaves + (place - first) // BLOCK
    while True:
        if least[node] <= limit:
            if node < leaves:
                node *= 2
                continue
            if _found_in_block(tables, tasks, order, start, k, max(place, first + (node - leaves) * BLOCK)):
                return
        while node & 1:
            node >>= 1
        if node == 0:
            return
        node += 1
