"""The queue as a binary tree over queue positions: it finds the next job that may fit in logarithmic time.

Each leaf has a queued job's tasks, in a second tree its shortest planned duration; inner nodes have the least below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, flag, inlined, kernel, part
from fedsched.core.least_tree import next_within, put
from fedsched.engine.codes import QueueKey
from fedsched.engine.loop.feature_flags import more_is
from fedsched.engine.optional_features.dependencies import eligible_since, submitted_at
from fedsched.engine.optional_features.moldable import first_shape_estimate, first_shape_tasks
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.shared_nodes import line

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Plan, Problem, Queue, State

FIRST = constant(0)
ABSENT = constant(np.iinfo(np.int64).max)  # tasks of a position without a queued job
NEVER = np.inf
ANY = constant(ABSENT - 1)  # fits every queued job
AT_ONCE = flag(True)


@inlined
def clear(queue: Queue) -> None:
    """Empty the queue: no position has a queued job."""
    queue.tasks[:] = ABSENT
    queue.shortest[:] = NEVER
    queue.members[:] = 0


@inlined
def set_leaf(queue: Queue, position: int, tasks: int, shortest: float) -> None:
    """Set the tasks and shortest duration (in seconds) at a queue position, and update the inner nodes above.

    The duration is ignored if the queue keeps none.
    """
    set_path(queue.tasks, queue.shortest, position, tasks, shortest)


@inlined
def set_path(tree: Ints, times: Floats, position: int, tasks: int, shortest: float) -> None:
    """Set a leaf's tasks in `tree` and its shortest duration in `times`, and update the inner nodes above.

    `times` may be empty: then there is nothing to set.
    """
    put(tree, position, tasks)
    if times.size > 0:
        put(times, position, shortest)


@inlined
def rebuild_prefix(queue: Queue, positions: int) -> None:
    """Recompute the inner nodes of a queue's trees above the first `positions` leaves."""
    rebuild_trees(queue.tasks, queue.shortest, positions)


@part
def rebuild_trees(tree: Ints, times: Floats, positions: int) -> None:
    """Recompute the inner nodes of two trees above their first `positions` leaves; `times` may be empty."""
    level = tree.size >> 1
    last = level + max(positions - 1, 0)
    while level > 1:
        level >>= 1
        last >>= 1
        for node in range(level, last + 1):
            tree[node] = min(tree[2 * node], tree[2 * node + 1])
        if times.size > 0:
            for node in range(level, last + 1):
                times[node] = min(times[2 * node], times[2 * node + 1])


@inlined
def next_small(queue: Queue, position: int, free: int) -> int:
    """Return the first position from `position` on with a job that needs at most `free` nodes, or -1."""
    return next_small_leaf(queue.tasks, position, free)


@inlined
def next_small_leaf(tasks: Ints, position: int, free: int) -> int:
    """Return the first leaf of a tree from `position` on with a job that needs at most `free` nodes, or -1."""
    return next_within(tasks, position, free)


@inlined
def next_candidate(queue: Queue, position: int, free: int, window: float, extra: int) -> int:
    """Return the first position from `position` on with a job that may fit beside EASY's reservation, or -1.

    The job needs at most `free` nodes; and it lasts at most `window` seconds, or needs at most `extra` nodes.
    """
    return next_leaf(queue.tasks, queue.shortest, position, free, window, extra)


@inlined
def next_leaf(tasks: Ints, shortest: Floats, position: int, free: int, window: float, extra: int) -> int:
    """Return the first leaf from `position` on with a job that may fit beside EASY's reservation, or -1.

    The job needs at most `free` nodes; and it lasts at most `window` seconds, or needs at most `extra` nodes.
    """
    size = tasks.size >> 1
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
def shown_tasks(extras: ExtraState | None, tasks: int, j: int) -> int:
    """Return the tasks that the queue's trees show for a queued job [43, 46].

    They are ABSENT (so large that no scan finds the job) while it is over a limit or in another queue.
    """
    if extras is None:
        return tasks
    if is_in_other_queue(extras, j):
        return ABSENT
    limited = extras.limited
    if limited.left.size > 0 and limited.kind[j] >= 0 and limited.over[limited.kind[j]] > 0:
        return ABSENT
    return tasks


@inlined
def key_of(problem: Problem, order_key: int, j: int, wait: float) -> float:
    """Return a job's XFACTOR, WFP3 or UNICEF sort key after a wait of `wait` seconds; the greatest key comes first."""
    estimate = first_shape_estimate(problem.extras, problem.estimate, j)
    if order_key == QueueKey.XFACTOR:
        return (wait + estimate) / estimate
    tasks = first_shape_tasks(problem.extras, problem.tasks, j)
    if order_key == QueueKey.WFP3:
        ratio = wait / estimate
        return ratio * ratio * ratio * tasks
    return wait / (np.log2(max(tasks, 2)) * estimate)


@kernel
def fill_keys(problem: Problem, order_key: int, now: float, key: Floats) -> None:
    """Fill `key` with every job's sort key at `now`, as if each had waited since its submit."""
    for j in range(key.size):
        key[j] = key_of(problem, order_key, j, now - problem.submit[j])


@inlined
def _by_submit(problem: Problem, order_key: int, j: int, submit: float) -> float:
    # The least key comes first [45].
    if order_key == QueueKey.SUBMITTED:
        return submit
    age = max(submit - problem.t0, 1.0)
    estimate = first_shape_estimate(problem.extras, problem.estimate, j)
    return np.log10(max(estimate, 1.0)) * first_shape_tasks(problem.extras, problem.tasks, j) + 870.0 * np.log10(age)


@inlined
def _above(extras: Extras | None, a: int, b: int) -> int:
    # By how many tiers job a is above job b.
    if extras is None:
        return 0
    return extras.tier[a] - extras.tier[b] if extras.tier.size > 0 else 0


@inlined
def _comes_before(extras: Extras | None, rank: Ints, key: Floats, a: int, b: int) -> bool:
    above = _above(extras, a, b)
    if above != 0:
        return above > 0
    if key[a] != key[b]:
        return key[a] > key[b]
    return rank[a] < rank[b]


@inlined
def _sift(extras: Extras | None, rank: Ints, key: Floats, order: Ints, root: int, size: int) -> None:
    while True:
        child = 2 * root + 1
        if child >= size:
            return
        if child + 1 < size and _comes_before(extras, rank, key, order[child], order[child + 1]):
            child += 1
        if not _comes_before(extras, rank, key, order[root], order[child]):
            return
        order[root], order[child] = order[child], order[root]
        root = child


@part
def _sort(extras: Extras | None, rank: Ints, key: Floats, order: Ints, size: int) -> None:
    # The order of the last pass is nearly right: insertion sort first, heap sort if that moves too much.
    budget = 16 * size + 64
    for i in range(1, size):
        job = order[i]
        hole = i
        while hole > 0 and _comes_before(extras, rank, key, job, order[hole - 1]):
            order[hole] = order[hole - 1]
            hole -= 1
        order[hole] = job
        budget -= i - hole
        if budget < 0:
            break
    if budget >= 0:
        return
    for root in range(size // 2 - 1, -1, -1):
        _sift(extras, rank, key, order, root, size)
    for end in range(size - 1, 0, -1):
        order[0], order[end] = order[end], order[0]
        _sift(extras, rank, key, order, FIRST, end)


@inlined
def sort(problem: Problem, state: State, queue: Queue, order_key: int, now: float) -> None:
    """Sort a queue as of `now` if its order changes with time and it may be out of order.

    An order by submits is seldom out of order, as jobs join in that order.
    """
    if order_key == QueueKey.FIXED or (order_key >= QueueKey.SUBMITTED and queue.members[1] == 0):
        return
    reorder(problem, state, queue, order_key, now)


@part
def reorder(problem: Problem, state: State, queue: Queue, order_key: int, now: float) -> None:
    """Sort a queue with an order that changes with time, as of `now`.

    Jobs that have started are dropped from it, and its trees are rebuilt.
    """
    before = queue.members[0]
    queue.members[1] = 0
    kept = FIRST
    for i in range(before):
        j = queue.order[i]
        if np.isnan(state.start[j]):
            queue.order[kept] = j
            kept += 1
            if order_key < QueueKey.SUBMITTED:
                queue.key[j] = key_of(problem, order_key, j, now - eligible_since(state.extras, problem.submit, j))
    _sort(problem.extras, problem.arrival_rank, queue.key, queue.order, kept)
    for i in range(kept):
        j = queue.order[i]
        queue.position[j] = i
        _write_leaf(queue, i, shown_tasks(state.extras, problem.tasks[j], j), state.shortest[j])
    for i in range(kept, before):
        _write_leaf(queue, i, ABSENT, NEVER)
    queue.members[0] = kept
    rebuild_prefix(queue, before)


@inlined
def _write_leaf(queue: Queue, position: int, tasks: int, shortest: float) -> None:
    queue.tasks[(queue.tasks.size >> 1) + position] = tasks
    if queue.shortest.size > 0:
        queue.shortest[(queue.shortest.size >> 1) + position] = shortest


@inlined
def begin(queue: Queue, order: Ints, order_key: int) -> None:
    """Empty the queue; if its order is fixed, give each job its position in `order`."""
    clear(queue)
    if order_key == QueueKey.FIXED:
        for i in range(order.size):
            queue.order[i] = order[i]
            queue.position[order[i]] = i


@inlined
def append(problem: Problem, state: State, queue: Queue, order_key: int, j: int, mend: bool) -> None:
    """Add a job to one queue; if the order changes with time, at its end, until the next pass sorts the queue.

    Without `mend` only the leaf is set, and the caller has to rebuild the tree above it.
    """
    if order_key != QueueKey.FIXED:  # sorted in by the next pass
        position = queue.members[0]
        queue.order[position] = j
        queue.position[j] = position
        queue.members[0] += 1
        if order_key >= QueueKey.SUBMITTED:
            queue.key[j] = -_by_submit(problem, order_key, j, submitted_at(state.extras, problem.submit, j))
            if position > 0 and _comes_before(
                problem.extras, problem.arrival_rank, queue.key, j, queue.order[position - 1]
            ):
                queue.members[1] = 1
    position, tasks = queue.position[j], problem.tasks[j]
    if more_is(problem.extras):
        tasks = shown_tasks(state.extras, tasks, j)
    if mend:
        set_leaf(queue, position, tasks, state.shortest[j])
    else:
        _write_leaf(queue, position, tasks, state.shortest[j])


@part
def enqueue(problem: Problem, plan: Plan, state: State, j: int, mend: bool) -> None:
    """Add a job to the queue and, if that has an order of its own, to the backfill queue; `mend` as in `append`."""
    append(problem, state, state.queue, plan.order_key, j, mend)
    if plan.separate_backfill:
        append(problem, state, state.backfill, plan.backfill_key, j, mend)
    line.note_joined(problem.sharing, state.work, plan, j, state.shortest[j])


@inlined
def rejoin(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Add a job again that left the queue before, to the queue and to the backfill queue if that is separate."""
    _append_again(problem, state, state.queue, plan.order_key, j)
    if plan.separate_backfill:
        _append_again(problem, state, state.backfill, plan.backfill_key, j)
    line.note_joined(problem.sharing, state.work, plan, j, state.shortest[j])


@inlined
def _append_again(problem: Problem, state: State, queue: Queue, order_key: int, j: int) -> None:
    # An order that changes with time drops started jobs only at its next pass; until then the job has its old place.
    position = queue.position[j]
    if order_key != QueueKey.FIXED and position < queue.members[0] and queue.order[position] == j:
        set_leaf(queue, position, shown_tasks(state.extras, problem.tasks[j], j), state.shortest[j])
    else:
        append(problem, state, queue, order_key, j, AT_ONCE)


@inlined
def dequeue(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Remove a job from the trees of the queue and, if that is separate, of the backfill queue.

    The job keeps its position in the order.
    """
    set_leaf(state.queue, state.queue.position[j], ABSENT, NEVER)
    if plan.separate_backfill:
        set_leaf(state.backfill, state.backfill.position[j], ABSENT, NEVER)
    line.note_left(problem.sharing, state.work, plan, j)
