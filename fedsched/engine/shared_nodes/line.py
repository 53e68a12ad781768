"""The waiting jobs of each kind: a scan in queue order skips all jobs of a kind once one of them does not fit.

Every kind with waiting jobs has a candidate, the next of its jobs that may start. A heap has the kinds in the order of
their candidates in the queue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.core.least_tree import next_within, put
from fedsched.engine.codes import Dispatch, QueueKey
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.stock import ALL

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan
    from fedsched.engine.shared_nodes.arrays import Floats, Ints, Line, Sharing, Work

TOP = constant(0)
NO_KIND = constant(-1)


@inlined
def begin(work: Work | None) -> None:
    """Reset for a run: no job waits; do nothing if jobs do not share nodes."""
    if work is None:
        return
    work.line.shortest[:] = np.inf
    work.line.waiting[:] = 0
    work.number[Number.KINDS] = 0
    work.number[Number.BOUNDED] = NO_KIND
    work.number[Number.FREED] = 0


@inlined
def join(sharing: Sharing, work: Work, j: int, place: int, shortest: float) -> None:
    """Add a waiting job at this place of its kind; `shortest` is its shortest planned duration."""
    line, kind = work.line, sharing.kinds.of_job[j]
    line.job[place] = j
    line.place[j] = place
    put(line.shortest, place, shortest)
    if line.waiting[kind] == 0:
        at = work.number[Number.KINDS]
        line.kinds[at] = kind
        line.at[kind] = at
        work.number[Number.KINDS] += 1
        work.bound[kind] = ALL
    line.waiting[kind] += 1


@inlined
def note_joined(sharing: Sharing | None, work: Work | None, plan: Plan, j: int, shortest: float) -> None:
    """Add a job that has joined the queue to the waiting jobs of its kind.

    Do nothing under the strict rule, which looks only at the head, or if jobs do not share nodes.
    """
    if sharing is None or work is None:
        return
    if plan.dispatch == Dispatch.STRICT:
        return
    key = plan.backfill_key if plan.separate_backfill else plan.order_key
    place, kind = sharing.leaf[j], sharing.kinds.of_job[j]
    if key != QueueKey.FIXED:  # any free place of its kind: the next pass sorts them
        place = sharing.begin[kind] + work.line.waiting[kind]
    join(sharing, work, j, place, shortest)


@inlined
def note_left(sharing: Sharing | None, work: Work | None, plan: Plan, j: int) -> None:
    """Remove a job that has left the queue from the waiting jobs of its kind.

    Do nothing under the strict rule, or if jobs do not share nodes.
    """
    if sharing is None or work is None:
        return
    if plan.dispatch != Dispatch.STRICT:
        leave(sharing, work, j)


@inlined
def leave(sharing: Sharing, work: Work, j: int) -> None:
    """Remove a job from the waiting jobs of its kind."""
    line, kind = work.line, sharing.kinds.of_job[j]
    put(line.shortest, line.place[j], np.inf)
    line.waiting[kind] -= 1
    if line.waiting[kind] == 0:
        work.number[Number.KINDS] -= 1
        last = line.kinds[work.number[Number.KINDS]]
        line.kinds[line.at[kind]] = last
        line.at[last] = line.at[kind]


@part
def line_up(sharing: Sharing, work: Work, order: Ints, members: int, shortest: Floats) -> None:
    """Give all waiting jobs their places by the first `members` entries of `order`, as the queue order has changed."""
    line = work.line
    for i in range(work.number[Number.KINDS]):
        kind = line.kinds[i]
        line.next[kind] = sharing.begin[kind]
    for i in range(members):
        kind = sharing.kinds.of_job[order[i]]
        place = line.next[kind]
        line.next[kind] += 1
        line.job[place] = order[i]
        line.place[order[i]] = place
        put(line.shortest, place, shortest[order[i]])
    for i in range(work.number[Number.KINDS]):
        kind = line.kinds[i]
        place = next_within(line.shortest, line.next[kind], np.finfo(np.float64).max)
        while 0 <= place < sharing.begin[kind + 1]:
            put(line.shortest, place, np.inf)
            place = next_within(line.shortest, place + 1, np.finfo(np.float64).max)


@inlined
def _before(line: Line, position: Ints, a: int, b: int) -> bool:
    return position[line.job[line.next[a]]] < position[line.job[line.next[b]]]


@inlined
def _sink(line: Line, position: Ints, place: int, size: int) -> None:
    heap = line.heap
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _before(line, position, heap[child + 1], heap[child]):
            child += 1
        if not _before(line, position, heap[child], heap[place]):
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@inlined
def look_from(sharing: Sharing, work: Work, kind: int, place: int, most: float) -> bool:
    """Make the first job of a kind from `place` on that takes at most `most` seconds its candidate.

    Return whether there is such a job. Durations are the shortest planned ones.
    """
    found = next_within(work.line.shortest, place, most)
    work.line.next[kind] = found
    return 0 <= found < sharing.begin[kind + 1]


@inlined
def heap_up(work: Work, position: Ints) -> None:
    """Make a heap of the kinds in `heap`, by the positions of their candidates in the queue."""
    size = work.number[Number.HEAP]
    for place in range(size // 2 - 1, -1, -1):
        _sink(work.line, position, place, size)


@inlined
def advance(sharing: Sharing, work: Work, position: Ints, most: float) -> None:
    """Replace the candidate at the top of the heap by the next job of its kind that takes at most `most` seconds.

    If there is none, drop the kind from the heap.
    """
    heap = work.line.heap
    kind = heap[0]
    if look_from(sharing, work, kind, work.line.next[kind] + 1, most):
        _sink(work.line, position, TOP, work.number[Number.HEAP])
    else:
        drop(work, position)


@inlined
def drop(work: Work, position: Ints) -> None:
    """Drop the kind at the top of the heap: the pass skips its other jobs."""
    work.number[Number.HEAP] -= 1
    work.line.heap[0] = work.line.heap[work.number[Number.HEAP]]
    _sink(work.line, position, TOP, work.number[Number.HEAP])
