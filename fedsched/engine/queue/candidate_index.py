"""An index of queued jobs by usable nodes and pools: scans skip jobs that may not use enough of what is free.

The tree over a queue knows the least tasks of each stretch, but not which jobs may use the free nodes. If partitions
bind jobs to nodes, or some jobs need licences, a scan would try many that cannot start. Here each row of caps has trees
of its own over the same positions, one for each set of pools that jobs may need. The room of a tree is the number of
free nodes that its jobs may use, now and beside the reservation; it is 0 if one of the pools is empty. A scan skips all
jobs that need more than the room of their tree. The trees are interleaved node by node, so that a scan descends all of
them at once.

Other modules need to know little of the index: before a scan they call `add_new_jobs`, which adds the jobs that have
joined the queue since the last scan. The scan itself removes jobs that it meets and that are no longer queued.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, flag, inlined, part
from fedsched.engine.codes import Dispatch, QueueKey
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.engine.optional_features import limits, pools
from fedsched.engine.optional_features.dependencies import joined_count, joined_job
from fedsched.engine.optional_features.moldable import choose_shapes
from fedsched.engine.queue import scan
from fedsched.engine.queue.queue_tree import ABSENT, NEVER

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Plan, Problem, Queue, State

MOST_ROWS = 8  # trees; more would cost more than they save
BESIDE_RESERVATION = MOST_ROWS  # where the rooms beside the reservation begin, behind those of now
TREES = 2 * MOST_ROWS  # where the trees begin
ROOT, NO_ROOM = constant(1), constant(0)
SHORT = flag(True)


def index_size(leaves: int) -> int:
    """Return the length of the array that holds the index of a queue with `leaves` leaves."""
    return TREES + MOST_ROWS * 2 * leaves


@inlined
def _has_reservation_queues(extras: Extras | None) -> bool:
    if extras is None:
        return False
    return extras.reserved.of_job.size > 0


@inlined
def _scanned(plan: Plan, state: State) -> Queue:
    # The queue that the index is of.
    around_head = plan.separate_backfill and plan.dispatch != Dispatch.GREEDY
    return state.backfill if around_head else state.queue


@inlined
def begin(problem: Problem, plan: Plan, state: State) -> None:
    """Empty the index, for a new run or another plan, and decide whether it is in use.

    It is if jobs differ in the nodes or pools that they may use, in few enough ways, and the queue's order is fixed.
    """
    number, leaves = state.classes.number, state.queue.tasks.size >> 1
    rows = plan.caps.shape[0] << min(pools.bits(problem.extras), MOST_ROWS)
    number[ClassNumber.ROWS] = number[ClassNumber.ROOMED] = 0
    key = plan.order_key if plan.dispatch == Dispatch.GREEDY else plan.backfill_key
    around_head = plan.dispatch == Dispatch.EASY or plan.dispatch == Dispatch.LOOKAHEAD
    scanned = around_head or plan.dispatch == Dispatch.GREEDY
    told_apart = 1 < rows <= MOST_ROWS and state.classes.rooms.size >= TREES + rows * 2 * leaves
    if not (scanned and told_apart and key == QueueKey.FIXED):
        return
    if limits.has_limits(state.extras) or choose_shapes(state.extras) or _has_reservation_queues(problem.extras):
        return
    number[ClassNumber.ROWS] = rows
    for i in range(rows * 2 * leaves):
        state.classes.rooms[TREES + i] = ABSENT


@inlined
def _row_of(problem: Problem, plan: Plan, j: int) -> int:
    return (plan.cap_row[j] << pools.bits(problem.extras)) + pools.needed(problem.extras, j)


@inlined
def _set_path(rooms: Ints, rows: int, row: int, node: int, tasks: int) -> None:
    # Sets a job's tasks at a leaf of its row's tree, and updates the path above.
    rooms[TREES + node * rows + row] = tasks
    while node > 1:
        node >>= 1
        least = min(rooms[TREES + 2 * node * rows + row], rooms[TREES + (2 * node + 1) * rows + row])
        if rooms[TREES + node * rows + row] == least:
            break
        rooms[TREES + node * rows + row] = least


@inlined
def note_joined(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Add a queued job to the index, if the index is in use."""
    rows, queue = state.classes.number[ClassNumber.ROWS], _scanned(plan, state)
    if rows > 0:
        leaf = (queue.tasks.size >> 1) + queue.position[j]
        _set_path(state.classes.rooms, rows, _row_of(problem, plan, j), leaf, queue.tasks[leaf])


@inlined
def note_left(problem: Problem, plan: Plan, state: State, j: int) -> None:
    """Remove a job that leaves the queue from the index, if it is there."""
    rows, queue, rooms = state.classes.number[ClassNumber.ROWS], _scanned(plan, state), state.classes.rooms
    if rows > 0:
        leaf, row = (queue.tasks.size >> 1) + queue.position[j], _row_of(problem, plan, j)
        if rooms[TREES + leaf * rows + row] != ABSENT:  # else it has not joined yet
            _set_path(rooms, rows, row, leaf, ABSENT)


@inlined
def add_new_jobs(problem: Problem, plan: Plan, state: State) -> None:
    """Add the jobs that have joined the queue since the last scan to the index, if the index is in use."""
    number, queue = state.classes.number, _scanned(plan, state)
    rows, first = number[ClassNumber.ROWS], number[ClassNumber.ROOMED]
    if rows == 0:
        return
    joined = joined_count(state.extras, state.counter[Counter.ARRIVED])
    for i in range(first, joined):
        j = joined_job(state.extras, problem.arrival, i)
        leaf = (queue.tasks.size >> 1) + queue.position[j]
        if queue.tasks[leaf] != ABSENT:
            _set_path(state.classes.rooms, rows, _row_of(problem, plan, j), leaf, queue.tasks[leaf])
    number[ClassNumber.ROOMED] = joined


@inlined
def only_new_jobs_may_fit(problem: Problem, plan: Plan, state: State) -> bool:
    """Return whether a scan may look only at the jobs that have joined the queue since the last scan.

    It may if no job in the index fits into the free nodes that it may use, and the new jobs joined in queue order.
    """
    number, rooms, position = state.classes.number, state.classes.rooms, _scanned(plan, state).position
    rows, last = number[ClassNumber.ROWS], -1
    for i in range(number[ClassNumber.ROOMED], joined_count(state.extras, state.counter[Counter.ARRIVED])):
        j = joined_job(state.extras, problem.arrival, i)
        if position[j] < last:
            return False
        last = position[j]
    _measure(state.extras, plan.caps, state.free, state.scratch.extra, rows, rooms)
    return not _some_may(rooms, rows, ROOT, SHORT)


@inlined
def next_new_job(problem: Problem, state: State) -> int:
    """Return the next job that has joined the queue since the last scan, in order of joining; -1 if there is no other.

    Each call returns another job.
    """
    number = state.classes.number
    if number[ClassNumber.ROOMED] == joined_count(state.extras, state.counter[Counter.ARRIVED]):
        return -1
    number[ClassNumber.ROOMED] += 1
    return joined_job(state.extras, problem.arrival, number[ClassNumber.ROOMED] - 1)


@inlined
def next_small(problem: Problem, plan: Plan, state: State, queue: Queue, position: int, free: int) -> int:
    """Return the first position from `position` on with a job that may fit on the free nodes it may use, or -1.

    If the index is not in use, the job needs at most `free` nodes.
    """
    if state.classes.number[ClassNumber.ROWS] > 0:
        return _next_with_room(state.extras, plan.caps, state.free, state.scratch.extra, state.classes.number,
                               state.classes.rooms, queue.tasks, queue.shortest, position, NEVER)  # fmt: skip
    return scan.next_small(problem, state, queue, position, free)


@inlined
def next_candidate(
    problem: Problem, plan: Plan, state: State, queue: Queue, position: int, free: int, window: float, beside: int
) -> int:
    """Return the first position from `position` on with a job that may fit beside EASY's reservation, or -1.

    The job may fit on the nodes free now; and it lasts at most `window` seconds, or may fit on those that stay free.
    """
    if state.classes.number[ClassNumber.ROWS] > 0:
        return _next_with_room(state.extras, plan.caps, state.free, state.scratch.extra, state.classes.number,
                               state.classes.rooms, queue.tasks, queue.shortest, position, window)  # fmt: skip
    return scan.next_candidate(problem, state, queue, position, free, window, beside)


@inlined
def _measure(extras: ExtraState | None, caps: Ints, free: Ints, extra: Ints, rows: int, rooms: Ints) -> None:
    sets = rows // caps.shape[0]  # of pools
    for of_caps in range(caps.shape[0]):
        room = beside = 0
        for g in range(free.size):
            usable = min(free[g], caps[of_caps, g])
            room += usable
            beside += min(usable, extra[g])
        for which in range(sets):
            row = of_caps * sets + which
            rooms[row] = room if pools.have_some(extras, which) else NO_ROOM
            rooms[BESIDE_RESERVATION + row] = beside if pools.have_some_then(extras, which) else NO_ROOM


@inlined
def _some_may(rooms: Ints, rows: int, node: int, short: bool) -> bool:
    for row in range(rows):
        least = rooms[TREES + node * rows + row]
        if least <= rooms[row] and (short or least <= rooms[BESIDE_RESERVATION + row]):
            return True
    return False


@inlined
def _is_short(shortest: Floats, node: int, window: float) -> bool:
    # Durations are not kept if no reservation counts.
    return window == NEVER or shortest[node] <= window


@inlined
def _forget(rooms: Ints, rows: int, leaf: int) -> None:
    for row in range(rows):
        if rooms[TREES + leaf * rows + row] != ABSENT:
            _set_path(rooms, rows, row, leaf, ABSENT)


@part
def _next_with_room(
    extras: ExtraState | None, caps: Ints, free: Ints, extra: Ints, number: Ints, rooms: Ints, tasks: Ints,
    shortest: Floats, position: int, window: float,
) -> int:  # fmt: skip
    rows, size = number[ClassNumber.ROWS], tasks.size >> 1
    if position >= size:
        return -1
    _measure(extras, caps, free, extra, rows, rooms)
    if not _some_may(rooms, rows, ROOT, _is_short(shortest, ROOT, window)):
        return -1
    node = size + position if position > 0 else ROOT
    while True:
        if _some_may(rooms, rows, node, _is_short(shortest, node, window)):
            if node < size:
                node *= 2
                continue
            if tasks[node] != ABSENT:
                return node - size
            _forget(rooms, rows, node)
        while node & 1:
            node >>= 1
        if node == 0:
            return -1
        node += 1
