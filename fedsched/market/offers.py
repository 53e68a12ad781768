"""Kernels for prices that change over the interval: the cost of a slot by its start, and the starts to try.

With constant prices a window is tried only when a slot begins: later starts have the same slots at the same costs.
With changing prices the cost of a job's slot on a node is piecewise linear in its start. It bends where the slot begins
or ends at a price change. Windows are tried at these starts and at the first and the last start that the slot allows,
so that the least cost of all starts is among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part

if TYPE_CHECKING:
    from fedsched.market.arrays import Needs, Scratch, SlotList

ZERO = constant(0)


@part
def cost_from(needs: Needs, j: int, node: int, start: float) -> float:
    """Return the cost of job j's slot on the node from `start` on, each time unit at the price that holds then."""
    length = needs.length[j, node]
    end = start + length
    total = 0.0
    for k in range(needs.since.shape[1]):
        since = needs.since[node, k]
        until = needs.since[node, k + 1] if k + 1 < needs.since.shape[1] else np.inf
        if since <= start and end <= until:
            return length * needs.price[node, k]
        total += max(min(end, until) - max(start, since), 0.0) * needs.price[node, k]
    return total


@part
def find_offers(slots: SlotList, needs: Needs, j: int, work: Scratch) -> int:
    """Write into `work` job j's offers (a slot with a start to try), sorted by (start, node); return their number."""
    count = ZERO
    for i in range(slots.used[0]):
        node = slots.node[i]
        limit = min(slots.end[i], needs.deadline[j])
        last = limit - needs.length[j, node]
        while limit - last < needs.length[j, node]:
            last = np.nextafter(last, -np.inf)  # the difference was rounded up: the slot would be too short
        if not needs.suitable[j, node] or last < slots.start[i]:
            continue
        count = _offer(slots, i, slots.start[i], count, work)
        for k in range(1, needs.since.shape[1]):
            change = needs.since[node, k]
            if slots.start[i] < change < last:
                count = _offer(slots, i, change, count, work)
            if slots.start[i] < change - needs.length[j, node] < last:
                count = _offer(slots, i, change - needs.length[j, node], count, work)
        if last > slots.start[i]:
            count = _offer(slots, i, last, count, work)
    _sort(count, work)
    return count


@inlined
def _offer(slots: SlotList, i: int, start: float, count: int, work: Scratch) -> int:
    work.offer_start[count] = start
    work.offer_end[count] = slots.end[i]
    work.offer_node[count] = slots.node[i]
    work.offer_order[count] = count
    return count + 1


@inlined
def _behind(a: int, b: int, work: Scratch) -> bool:
    # Whether offer a comes after offer b.
    if work.offer_start[a] != work.offer_start[b]:
        return work.offer_start[a] > work.offer_start[b]
    if work.offer_node[a] != work.offer_node[b]:
        return work.offer_node[a] > work.offer_node[b]
    return a > b


@part
def _sift(root: int, count: int, work: Scratch) -> None:
    order = work.offer_order
    while 2 * root + 1 < count:
        child = 2 * root + 1
        if child + 1 < count and _behind(order[child + 1], order[child], work):
            child += 1
        if not _behind(order[child], order[root], work):
            return
        order[root], order[child] = order[child], order[root]
        root = child


@part
def _sort(count: int, work: Scratch) -> None:
    # Heap sort: there may be thousands of offers.
    order = work.offer_order
    for back in range(count // 2):
        _sift(count // 2 - 1 - back, count, work)
    for back in range(count - 1):
        last = count - 1 - back
        order[0], order[last] = order[last], order[0]
        _sift(ZERO, last, work)


@part
def hold(needs: Needs, j: int, start: float, node: int, end: float, held: int, work: Scratch) -> int:
    """Add a node to the `held` nodes in `work` if it is missing; sort them by their slots' cost from `start` on.

    Return the new number of nodes.
    """
    there = False
    for k in range(held):
        if work.node[k] == node:
            there = True
    if not there:
        work.node[held] = node
        work.end[held] = end
        held += 1
    for k in range(held):
        other, until = work.node[k], work.end[k]
        cost = cost_from(needs, j, other, start)
        work.cost[other] = cost
        i = k
        while i > 0 and (
            work.cost[work.node[i - 1]] > cost or (work.cost[work.node[i - 1]] == cost and work.node[i - 1] > other)
        ):
            work.node[i] = work.node[i - 1]
            work.end[i] = work.end[i - 1]
            i -= 1
        work.node[i] = other
        work.end[i] = until
    return held
