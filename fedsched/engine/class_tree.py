"""A tree over blocks of a grouped queue's positions: the least key of each class in every stretch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine.arrays import ClassNumber
from fedsched.engine.class_tables import BLOCK, ClassColumn, ClassRow, SetColumn

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.engine.class_tables import Tables

NOBODY = np.inf  # key of a position where nobody waits
NOWHERE = constant(-1)


@inlined
def fill(tables: Tables, positions: int, classes: int) -> None:
    """Build the tree from the keys of the positions."""
    least, leaves = tables.least, tables.least.shape[0] >> 1
    least[leaves:, :classes] = NOBODY
    for p in range(positions):
        k, block = tables.class_at[p], leaves + p // BLOCK
        least[block, k] = min(least[block, k], tables.key_at[p])
    for node in range(leaves - 1, 0, -1):
        for k in range(classes):
            least[node, k] = min(least[2 * node, k], least[2 * node + 1, k])


@inlined
def set_key(tables: Tables, position: int, key: float) -> None:
    """Give a position another key, and mend the path above it."""
    least, leaves = tables.least, tables.least.shape[0] >> 1
    k, block = tables.class_at[position], position // BLOCK
    tables.key_at[position] = key
    soonest = NOBODY
    for p in range(block * BLOCK, min((block + 1) * BLOCK, tables.key_at.size)):
        if tables.class_at[p] == k:
            soonest = min(soonest, tables.key_at[p])
    node = leaves + block
    while node > 0 and least[node, k] != soonest:
        least[node, k] = soonest
        soonest = min(soonest, least[node ^ 1, k])
        node >>= 1


@inlined
def _any_within(tables: Tables, node: int, sets: int) -> bool:
    # Whether some job of this stretch has a key within the limit of its class.
    for s in range(sets):
        for k in range(tables.sets[s, SetColumn.FIRST_CLASS], tables.sets[s, SetColumn.PAST_SMALL]):
            if tables.least[node, k] <= tables.limits[ClassRow.LIMIT, k]:
                return True
    return False


@inlined
def _in_block(tables: Tables, tasks: Ints, order: Ints, start: Floats, position: int) -> int:
    # The first position from this one to the end of its block whose job may start, or -1; forgets who has started.
    end = min((position // BLOCK + 1) * BLOCK, tables.key_at.size)
    for p in range(position, end):
        k = tables.class_at[p]
        if tables.key_at[p] > tables.limits[ClassRow.LIMIT, k]:
            continue
        if not np.isnan(start[order[p]]):
            set_key(tables, p, NOBODY)
            continue
        s = tables.table[k, ClassColumn.SET]
        if tasks[p] > tables.sets[s, SetColumn.ROOM]:
            continue
        if tables.key_at[p] <= tables.limits[ClassRow.BRIEF, k] or tasks[p] <= tables.sets[s, SetColumn.BESIDE]:
            return p
    return NOWHERE


@part
def next_within(tables: Tables, tasks: Ints, order: Ints, start: Floats, position: int) -> int:
    """Return the first position from `position` on whose job may start, or -1; `tasks` are by position."""
    leaves, sets = tables.least.shape[0] >> 1, tables.number[ClassNumber.SETS]
    if position >= tables.key_at.size:
        return NOWHERE
    node = leaves + position // BLOCK
    while True:
        if _any_within(tables, node, sets):
            if node >= leaves:
                found = _in_block(tables, tasks, order, start, max(position, (node - leaves) * BLOCK))
                if found >= 0:
                    return found
            else:
                node *= 2
                continue
        while node & 1:
            node >>= 1
        if node == 0:
            return NOWHERE
        node += 1
