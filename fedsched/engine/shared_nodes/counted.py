"""Limits that count the nodes which jobs are on, and partitions that say how many a job may have [43, 55].

How many nodes a job takes is known when they have been chosen: it is passed over then, where these are too many or too
few. A node on which several jobs of one limit stand counts once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.engine.optional_features.downtimes import GAINED, LOST
from fedsched.engine.shared_nodes.arrays import Number

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Sharing, Work


@inlined
def any_count(sharing: Sharing) -> bool:
    """Return whether anything counts nodes."""
    return sharing.counted.first.size > 0


@part
def open_all(sharing: Sharing, work: Work) -> None:
    """Let nobody have any node."""
    for c in range(work.left.size):
        work.left[c] = sharing.counted.amount[c]
        for node in range(work.on.shape[1]):
            work.on[c, node] = 0


@inlined
def suffice(sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether a job may have the nodes that have just been found for it."""
    return not any_count(sharing) or _suffice(sharing, work, j)


@part
def _suffice(sharing: Sharing, work: Work, j: int) -> bool:
    counted, first, found = sharing.counted, work.number[Number.PIECES], work.number[Number.FOUND]
    if found < counted.least[j] or found > counted.most[j]:
        return False
    for i in range(counted.first[j], counted.first[j + 1]):
        more = 0
        for piece in range(first, first + found):
            more += 1 if work.on[counted.counter[i], work.held.node[piece]] == 0 else 0
        if more > work.left[counted.counter[i]]:
            return False
    return True


@inlined
def take(sharing: Sharing, work: Work, j: int) -> None:
    """Count the nodes of a job that has started."""
    if any_count(sharing):
        _count(sharing, work, j, GAINED)


@inlined
def give_back(sharing: Sharing, work: Work, j: int) -> None:
    """Count the nodes of a job no more."""
    if any_count(sharing):
        _count(sharing, work, j, LOST)


@part
def _count(sharing: Sharing, work: Work, j: int, by: int) -> None:
    # One job more, or less, on each of its nodes: the first on one takes it from what is left, the last gives it back.
    counted, held = sharing.counted, work.held
    for i in range(counted.first[j], counted.first[j + 1]):
        c = counted.counter[i]
        for piece in range(held.first[j], held.first[j] + held.pieces[j]):
            node = held.node[piece]
            if work.on[c, node] == 0:
                work.left[c] -= 1
            work.on[c, node] += by
            if work.on[c, node] == 0:
                work.left[c] += 1
