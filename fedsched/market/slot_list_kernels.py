"""Kernels that change a slot list: cut a window from it, return time to it, drop the past."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, kernel, part

if TYPE_CHECKING:
    from fedsched.market.arrays import Ints, Needs, SlotList


@inlined
def _before(start: float, node: int, other_start: float, other_node: int) -> bool:
    return start < other_start or (start == other_start and node < other_node)


@part
def insert(slots: SlotList, start: float, end: float, node: int) -> None:
    """Insert a slot into the list at its place by (start, node); the list must have an unused row."""
    i = slots.used[0]
    while i > 0 and _before(start, node, slots.start[i - 1], slots.node[i - 1]):
        slots.start[i] = slots.start[i - 1]
        slots.end[i] = slots.end[i - 1]
        slots.node[i] = slots.node[i - 1]
        i -= 1
    slots.start[i] = start
    slots.end[i] = end
    slots.node[i] = node
    slots.used[0] += 1


@part
def remove(slots: SlotList, i: int) -> None:
    """Remove slot i from the list."""
    slots.used[0] -= 1
    for k in range(i, slots.used[0]):
        slots.start[k] = slots.start[k + 1]
        slots.end[k] = slots.end[k + 1]
        slots.node[k] = slots.node[k + 1]


@part
def take(slots: SlotList, node: int, begin: float, end: float) -> bool:
    """Cut [begin, end) from the node's slot that contains it; the rest on both sides stays free.

    Return False if no slot of the node is free at `begin`.
    """
    for i in range(slots.used[0]):
        if slots.start[i] > begin:
            return False
        if slots.node[i] == node and slots.end[i] > begin:
            last = slots.end[i]
            if slots.start[i] < begin:
                slots.end[i] = begin
            else:
                remove(slots, i)
            if last > end:
                insert(slots, end, last, node)
            return True
    return False


@kernel
def cut(slots: SlotList, needs: Needs, j: int, start: float, nodes: Ints) -> bool:
    """Cut job j's window on these nodes from the slots; return False if a node is not free at `start`."""
    whole = True
    for k in range(needs.nodes[j]):
        whole = take(slots, nodes[k], start, start + needs.length[j, nodes[k]]) and whole
    return whole


@part
def give_back(slots: SlotList, node: int, begin: float, end: float) -> None:
    """Add [begin, end) of the node to its free slots, merged with those that touch it; nothing if it is empty."""
    if end <= begin:
        return
    kept = 0
    for i in range(slots.used[0]):
        if slots.node[i] == node and slots.end[i] >= begin and slots.start[i] <= end:
            begin = min(begin, slots.start[i])
            end = max(end, slots.end[i])
            continue
        slots.start[kept] = slots.start[i]
        slots.end[kept] = slots.end[i]
        slots.node[kept] = slots.node[i]
        kept += 1
    slots.used[0] = kept
    insert(slots, begin, end, node)


@part
def forget(slots: SlotList, now: float) -> None:
    """Remove all free time before `now`: drop slots that have ended, and let the others begin at `now` or later."""
    count, slots.used[0] = slots.used[0], 0
    for i in range(count):
        if slots.end[i] > now:  # slots that now begin together are sorted by node
            insert(slots, max(slots.start[i], now), slots.end[i], slots.node[i])
