"""Limits on the number of nodes that jobs are on, and partitions with bounds on the nodes of a job [43, 55].

The number of a job's nodes is known only when they have been chosen. If it is too large or too small, the job is passed
over. A node with several jobs of one limit counts once.
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
    """Return whether there are limits on numbers of nodes, or partitions with such bounds."""
    return sharing.counted.first.size > 0


@part
def open_all(sharing: Sharing, work: Work) -> None:
    """Reset the counts: no job of any limit is on a node."""
    for c in range(work.left.size):
        work.left[c] = sharing.counted.amount[c]
        for node in range(work.on.shape[1]):
            work.on[c, node] = 0


@inlined
def suffice(sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether its limits and partition allow a job the nodes that were chosen last."""
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
    """Count the nodes that a job now holds, for the limits that bind it."""
    if any_count(sharing):
        _count(sharing, work, j, GAINED)


@inlined
def give_back(sharing: Sharing, work: Work, j: int) -> None:
    """Stop counting the nodes of a job, which releases them."""
    if any_count(sharing):
        _count(sharing, work, j, LOST)


@part
def _count(sharing: Sharing, work: Work, j: int, by: int) -> None:
    # Changes the number of jobs on each of its nodes by +1 or -1. The first job on a node takes one from the nodes that
    # the limit leaves; the last job gives it back.
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
