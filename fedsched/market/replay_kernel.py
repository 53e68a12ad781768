"""Kernels of the replay: tasks end early, and jobs that were backfilled move to earlier windows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel
from fedsched.market.codes import Choice, Criterion, Figure, Rule
from fedsched.market.scan import scan
from fedsched.market.slot_list_kernels import cut, forget, give_back

if TYPE_CHECKING:
    from fedsched.market.arrays import Bools, Floats, Ints, Needs, Scratch, SlotList

AMP = constant(Rule.AMP)
MIN_START = constant(Criterion.MIN_START)
CHEAPEST = constant(Choice.CHEAPEST)
ZERO = constant(0)


@inlined
def _next_release(needs: Needs, figures: Floats, nodes: Ints, share: Floats, released: Bools, now: float) -> float:
    # The earliest end of a task before the end of its reservation that is still to come.
    earliest = np.inf
    for j in range(share.size):
        if np.isnan(figures[j, Figure.START]):
            continue
        for k in range(needs.nodes[j]):
            if not released[j, k]:
                end = figures[j, Figure.START] + share[j] * needs.length[j, nodes[j, k]]
                earliest = min(earliest, max(end, now))
    return earliest


@inlined
def _release(
    slots: SlotList, needs: Needs, figures: Floats, nodes: Ints, share: Floats, released: Bools, now: float
) -> None:
    # The rest of a reservation is free when its task has ended.
    for j in range(share.size):
        if np.isnan(figures[j, Figure.START]):
            continue
        for k in range(needs.nodes[j]):
            length = needs.length[j, nodes[j, k]]
            if not released[j, k] and figures[j, Figure.START] + share[j] * length <= now:
                released[j, k] = True
                give_back(slots, nodes[j, k], now, figures[j, Figure.START] + length)


@inlined
def _move(slots: SlotList, needs: Needs, j: int, figures: Floats, nodes: Ints, work: Scratch) -> None:
    # Job j takes its earliest window of what is free and what it holds itself.
    start = figures[j, Figure.START]
    for k in range(needs.nodes[j]):
        give_back(slots, nodes[j, k], start, start + needs.length[j, nodes[j, k]])
    if scan(slots, needs, j, AMP, MIN_START, CHEAPEST, ZERO, work) and work.figures[Figure.START] < start:
        for k in range(work.figures.size):
            figures[j, k] = work.figures[k]
        for k in range(needs.nodes[j]):
            nodes[j, k] = work.best[k]
    cut(slots, needs, j, figures[j, Figure.START], nodes[j])


@kernel
def run_through(
    slots: SlotList,
    needs: Needs,
    figures: Floats,
    nodes: Ints,
    share: Floats,
    movable: Bools,
    released: Bools,
    work: Scratch,
) -> int:
    """Let every task of job j end at share[j] of its reservation; return the number of moves to earlier windows.

    At each release, the movable jobs that have not started are tried once, in batch order; none takes other jobs'
    reservations. `figures` and `nodes` are updated to what really happens.
    """
    moves = 0
    now = -np.inf
    while True:
        now = _next_release(needs, figures, nodes, share, released, now)
        if now == np.inf:
            return moves
        _release(slots, needs, figures, nodes, share, released, now)
        forget(slots, now)
        for j in range(share.size):
            if movable[j] and figures[j, Figure.START] > now:
                before = figures[j, Figure.START]
                _move(slots, needs, j, figures, nodes, work)
                if figures[j, Figure.START] < before:
                    moves += 1
