"""A heap of the waiting jobs that have a start in the kept conservative plan [12].

It is ordered by planned start, then by place in the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined
from fedsched.engine.numbers import Clock
from fedsched.engine.profile.breakpoints import BlockNumber

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import State

NO_JOB = constant(-1)


@inlined
def clear_planned(state: State) -> None:
    """Empty the heap of planned starts, because a new plan begins."""
    state.profile.blocks.number[BlockNumber.DUE] = 0
    state.clock[Clock.NEXT_DUE] = np.inf


@inlined
def _sooner(state: State, a: int, b: int) -> bool:
    reserved, position = state.profile.reserved, state.queue.position
    return reserved[a] < reserved[b] or (reserved[a] == reserved[b] and position[a] < position[b])


@inlined
def add_planned(state: State, j: int) -> None:
    """Add a job with a planned start to the heap, and update the time of the next planned start."""
    number, heap = state.profile.blocks.number, state.profile.blocks.due
    place = number[BlockNumber.DUE]
    number[BlockNumber.DUE] += 1
    while place > 0:
        parent = (place - 1) >> 1
        if not _sooner(state, j, heap[parent]):
            break
        heap[place] = heap[parent]
        place = parent
    heap[place] = j
    state.clock[Clock.NEXT_DUE] = state.profile.reserved[heap[0]]


@inlined
def pop_due(state: State) -> int:
    """Remove and return the first job of the heap if its planned start is not after now; else return -1."""
    if state.clock[Clock.NEXT_DUE] > state.clock[Clock.NOW]:
        return NO_JOB
    number, heap = state.profile.blocks.number, state.profile.blocks.due
    number[BlockNumber.DUE] -= 1
    size, first = number[BlockNumber.DUE], heap[0]
    last, place = heap[size], 0
    while True:
        child = 2 * place + 1
        if child + 1 < size and _sooner(state, heap[child + 1], heap[child]):
            child += 1
        if child >= size or not _sooner(state, heap[child], last):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = last
    state.clock[Clock.NEXT_DUE] = state.profile.reserved[heap[0]] if size > 0 else np.inf
    return first
