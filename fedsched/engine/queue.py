"""The queue: a binary tree over queue positions that finds the next job that may fit in logarithmic time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined, part
from fedsched.engine.codes import QueueKey

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Plan, Problem, Queue, State

ABSENT = np.iinfo(np.int64).max  # tasks of a position where no job is queued
NEVER = np.inf
ANY = ABSENT - 1  # fits every queued job


@inlined
def clear(queue: Queue) -> None:
    """Empty the queue."""
    queue.tasks[:] = ABSENT
    queue.shortest[:] = NEVER
    queue.members[0] = 0


@inlined
def set_leaf(queue: Queue, position: int, tasks: int, shortest: float) -> None:
    """Put a job's numbers at a position and mend the path above it."""
    node = queue.tasks.size // 2 + position
    queue.tasks[node] = tasks
    queue.shortest[node] = shortest
    node >>= 1
    while node >= 1:
        least = min(queue.tasks[2 * node], queue.tasks[2 * node + 1])
        soonest = min(queue.shortest[2 * node], queue.shortest[2 * node + 1])
        if queue.tasks[node] == least and queue.shortest[node] == soonest:
            break
        queue.tasks[node] = least
        queue.shortest[node] = soonest
        node >>= 1


@inlined
def mend_prefix(queue: Queue, positions: int) -> None:
    """Rebuild the tree above the first `positions` leaves."""
    size = queue.tasks.size // 2
    level = size
    last = size + max(positions - 1, 0)
    while level > 1:
        level >>= 1
        last >>= 1
        for node in range(level, last + 1):
            queue.tasks[node] = min(queue.tasks[2 * node], queue.tasks[2 * node + 1])
            queue.shortest[node] = min(queue.shortest[2 * node], queue.shortest[2 * node + 1])


@inlined
def next_small(queue: Queue, position: int, free: int) -> int:
    """Return the first position from `position` on whose job needs at most `free` nodes, or -1."""
    tasks = queue.tasks
    size = tasks.size // 2
    if position >= size:
        return -1
    node = size + position
    while True:
        if tasks[node] <= free:
            if node >= size:
                return node - size
            node *= 2
        else:
            while node & 1:
                node >>= 1
            if node == 0:
                return -1
            node += 1


@inlined
def next_candidate(queue: Queue, position: int, free: int, window: float, extra: int) -> int:
    """Return the first position from `position` on whose job may fit: small, and either short or small enough."""
    tasks = queue.tasks
    shortest = queue.shortest
    size = tasks.size // 2
    if position >= size:
        return -1
    node = size + position
    while True:
        if tasks[node] <= free and (shortest[node] <= window or tasks[node] <= extra):
            if node >= size:
                return node - size
            node *= 2
        else:
            while node & 1:
                node >>= 1
            if node == 0:
                return -1
            node += 1


@inlined
def key_of(problem: Problem, order_key: int, j: int, now: float) -> float:
    """Return the job's sort key at `now`; greater comes first."""
    wait = now - problem.submit[j]
    if order_key == QueueKey.XFACTOR:
        return (wait + problem.estimate[j]) / problem.estimate[j]
    if order_key == QueueKey.WFP3:
        ratio = wait / problem.estimate[j]
        return ratio * ratio * ratio * problem.tasks[j]
    return wait / (np.log2(max(problem.tasks[j], 2)) * problem.estimate[j])


@inlined
def _comes_before(problem: Problem, key: Floats, a: int, b: int) -> bool:
    if key[a] != key[b]:
        return key[a] > key[b]
    return problem.arrival_rank[a] < problem.arrival_rank[b]


@inlined
def _sift(problem: Problem, queue: Queue, root: int, size: int) -> None:
    order = queue.order
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _comes_before(problem, queue.key, order[child], order[child + 1]):
            child += 1
        if not _comes_before(problem, queue.key, order[root], order[child]):
            return
        order[root], order[child] = order[child], order[root]
        root = child


@part
def _sort(problem: Problem, queue: Queue, size: int) -> None:
    # The order of the last pass is nearly right: insertion first, a heap sort where that moves too much.
    order = queue.order
    budget = 16 * size + 64
    for i in range(1, size):
        job = order[i]
        hole = i
        while hole > 0 and _comes_before(problem, queue.key, job, order[hole - 1]):
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = job
        budget -= i - hole
        if budget < 0:
            break
    if budget >= 0:
        return
    for root in range(size // 2 - 1, -1, -1):
        _sift(problem, queue, root, size)
    for end in range(size - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(problem, queue, 0, end)


@part
def reorder(problem: Problem, state: State, queue: Queue, order_key: int, now: float) -> None:
    """Sort a queue whose order changes with time, as of `now`."""
    before = queue.members[0]
    kept = 0
    for i in range(before):
        j = queue.order[i]
        if np.isnan(state.start[j]):
            queue.order[kept] = j
            kept += 1
            queue.key[j] = key_of(problem, order_key, j, now)
    _sort(problem, queue, kept)
    size = queue.tasks.size // 2
    for i in range(kept):
        j = queue.order[i]
        queue.position[j] = i
        queue.tasks[size + i] = problem.tasks[j]
        queue.shortest[size + i] = state.shortest[j]
    for i in range(kept, before):
        queue.tasks[size + i] = ABSENT
        queue.shortest[size + i] = NEVER
    queue.members[0] = kept
    mend_prefix(queue, before)


@inlined
def begin(queue: Queue, order: Ints, order_key: int) -> None:
    """Empty the queue and give it its order."""
    clear(queue)
    if order_key == QueueKey.FIXED:
        for i in range(order.size):
            queue.order[i] = order[i]
            queue.position[order[i]] = i


@inlined
def append(problem: Problem, state: State, queue: Queue, order_key: int, j: int, mend: bool) -> None:
    """Let a job join the queue; without `mend` the tree above is left for `mend_prefix`."""
    if order_key != QueueKey.FIXED:  # sorted in by the next pass
        position = queue.members[0]
        queue.order[position] = j
        queue.position[j] = position
        queue.members[0] += 1
    position = queue.position[j]
    if mend:
        set_leaf(queue, position, problem.tasks[j], state.shortest[j])
    else:
        node = queue.tasks.size // 2 + position
        queue.tasks[node] = problem.tasks[j]
        queue.shortest[node] = state.shortest[j]


@inlined
def enqueue(problem: Problem, plan: Plan, state: State, j: int, mend: bool) -> None:
    """Let a job join the queue and, where there is one, the backfill queue."""
    append(problem, state, state.queue, plan.order_key, j, mend)
    if plan.separate_backfill:
        append(problem, state, state.backfill, plan.backfill_key, j, mend)


@inlined
def dequeue(plan: Plan, state: State, j: int) -> None:
    """Let a job leave the queues."""
    set_leaf(state.queue, state.queue.position[j], ABSENT, NEVER)
    if plan.separate_backfill:
        set_leaf(state.backfill, state.backfill.position[j], ABSENT, NEVER)
