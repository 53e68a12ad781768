"""Classes of queued jobs: who may use the same groups and, beside a reservation, needs about as many nodes.

A tree over the whole queue knows the least tasks and the shortest duration of a stretch, but not that the small jobs
are not the short ones, nor that all free nodes are forbidden to them: a search may look at many that cannot start.
Where many were placed in vain the queue is grouped. Each class has a tree of its own, and a scan merges the
candidates of the classes in queue order: the same jobs start, those in between are not looked at.

The rest of the engine knows nothing of it: a scan first lets join who has arrived since the last one, and whom it meets
that has started leaves.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import constant, inlined, part
from fedsched.engine.arrays import ClassNumber, Counter
from fedsched.engine.codes import Dispatch, Placement, QueueKey
from fedsched.engine.precedence import joined_as, joined_until
from fedsched.engine.queue import ABSENT, FIRST, NEVER, mend_trees, next_leaf, next_small_leaf, set_path

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Plan, Problem, State

LONG_QUEUE = 2048  # jobs; in a shorter queue no look is dear
MOST_CLASSES = 64
MOST_SETS = 16
CELLS = 512  # of about as many nodes: eight for each power of two
PATIENCE = 12  # jobs that are placed in vain for each in the queue before it is grouped: some six a pass
ENDLESS = np.iinfo(np.int64).max
START, ROOT = constant(0), constant(1)  # the first set, class or place; the node that says the least of its tree
NUMBERS = constant(len(ClassNumber))


class ClassColumn(IntEnum):
    """What is kept of a class."""

    SET = 0
    MEMBERS = 1
    FIRST_MEMBER = 2
    TREE = 3  # where it begins
    LEAVES = 4
    CANDIDATE = 5  # place of the member that may start next
    AT = 6  # its position in the queue; ABSENT where there is none


class SetColumn(IntEnum):
    """What is kept of a set of groups."""

    ROOM = 0  # nodes of the largest job that may be placed
    BESIDE = 1  # and beside the reservation
    USABLE = 2  # of the first group


class JobColumn(IntEnum):
    """What is kept of a job."""

    CLASS = 0
    PLACE = 1  # in its class


COLUMNS, OF_JOB = constant(len(ClassColumn)), constant(len(JobColumn))


class Tables(NamedTuple):
    """The arrays of a grouped queue: views of two of the state's, whose every array is passed on in every call."""

    number: Ints  # indexed by ClassNumber
    table: Ints  # class x ClassColumn
    sets: Ints  # set of groups x SetColumn, then 1 for each group in it
    of_job: Ints  # job x JobColumn
    member: Ints  # the jobs, class by class, in queue order
    tasks: Ints  # the classes' trees, as in Queue
    shortest: Floats


def room_for(jobs: int, groups: int) -> tuple[int, int]:
    """Return how many whole numbers and how many durations a queue that may be grouped has room for."""
    nodes = 4 * jobs + 2 * MOST_CLASSES  # a class has room for less than twice its jobs
    of_classes, of_sets = MOST_CLASSES * COLUMNS, MOST_SETS * (SetColumn.USABLE + groups)
    return NUMBERS + of_classes + of_sets + (OF_JOB + 1) * jobs + nodes, nodes


@inlined
def _tables(state: State) -> Tables:
    room, jobs = state.classes.number, state.start.size
    columns = SetColumn.USABLE + state.free.size
    sets = NUMBERS + MOST_CLASSES * COLUMNS
    of_job = sets + MOST_SETS * columns
    member = of_job + OF_JOB * jobs
    return Tables(
        room,
        room[NUMBERS:sets].reshape((MOST_CLASSES, COLUMNS)),
        room[sets:of_job].reshape((MOST_SETS, columns)),
        room[of_job:member].reshape((jobs, OF_JOB)),
        room[member : member + jobs],
        room[member + jobs :],
        state.classes.shortest,
    )


@inlined
def _cell(tasks: int) -> int:
    # Exact up to 16 nodes, within an eighth beyond.
    octave = 0
    while (tasks >> octave) > 15:
        octave += 1
    return 8 * octave + (tasks >> octave)


@inlined
def _may_use(problem: Problem, plan: Plan, j: int, g: int) -> bool:
    at_home = plan.placement != Placement.HOME or problem.groups.cluster[g] == problem.origin[j]
    return at_home and plan.caps[plan.cap_row[j], g] > 0


@inlined
def _set_of(problem: Problem, plan: Plan, tables: Tables, j: int, sets: int) -> int:
    # The set of groups that a job may use, entered if it is new; the last one where there are too many.
    groups = problem.groups.nodes.size
    for s in range(sets):
        same = True
        for g in range(groups):
            same = same and (tables.sets[s, SetColumn.USABLE + g] == 1) == _may_use(problem, plan, j, g)
        if same:
            return s
    s = min(sets, MOST_SETS - 1)
    for g in range(groups):
        shared = sets >= MOST_SETS - 1
        tables.sets[s, SetColumn.USABLE + g] = 1 if shared or _may_use(problem, plan, j, g) else 0
    return s


@inlined
def _find_sets(problem: Problem, plan: Plan, state: State, tables: Tables, order: Ints) -> int:
    # Notes every job's set as its class; returns how many sets there are.
    sets = START
    for i in range(plan.order.size):
        j = order[i]
        if np.isnan(state.start[j]):
            s = _set_of(problem, plan, tables, j, sets)
            tables.of_job[j, JobColumn.CLASS] = s
            sets = max(sets, s + 1)
    return sets


@inlined
def _find_buckets(problem: Problem, plan: Plan, order: Ints, most: int, bucket: Ints) -> None:
    # Cells of about as many nodes, put together until a bucket holds its share of the jobs.
    jobs = plan.order.size
    bucket[:] = 0
    for i in range(jobs):
        bucket[_cell(problem.tasks[order[i]])] += 1
    current, held = 0, 0
    for cell in range(bucket.size):
        held += bucket[cell]
        bucket[cell] = current
        if held * most >= jobs and current < most - 1:
            current, held = current + 1, 0


@inlined
def _tree(tables: Tables, k: int) -> tuple[int, int]:
    # Where the trees of a class begin and end.
    begin = tables.table[k, ClassColumn.TREE]
    return begin, begin + 2 * tables.table[k, ClassColumn.LEAVES]


@inlined
def _give_places(plan: Plan, state: State, tables: Tables, order: Ints, count: int) -> None:
    # Every job that is yet to start gets a place in its class, in queue order; every class a tree with room for all.
    table = tables.table
    for i in range(plan.order.size):
        j = order[i]
        if np.isnan(state.start[j]):
            k = tables.of_job[j, JobColumn.CLASS]
            tables.of_job[j, JobColumn.PLACE] = table[k, ClassColumn.MEMBERS]
            table[k, ClassColumn.MEMBERS] += 1
    member, node = 0, 0
    for k in range(count):
        leaves = 1
        while leaves < table[k, ClassColumn.MEMBERS]:
            leaves *= 2
        table[k, ClassColumn.FIRST_MEMBER] = member
        table[k, ClassColumn.TREE] = node
        table[k, ClassColumn.LEAVES] = leaves
        member += table[k, ClassColumn.MEMBERS]
        node += 2 * leaves
    for i in range(plan.order.size):
        j = order[i]
        if np.isnan(state.start[j]):
            first = table[tables.of_job[j, JobColumn.CLASS], ClassColumn.FIRST_MEMBER]
            tables.member[first + tables.of_job[j, JobColumn.PLACE]] = j
    tables.tasks[:node] = ABSENT
    tables.shortest[:node] = NEVER


@inlined
def _fill_trees(problem: Problem, state: State, tables: Tables, count: int) -> None:
    # Whoever has joined the queue and is yet to start waits in its class.
    joined = joined_until(state.extras, state.counter[Counter.ARRIVED])
    for i in range(joined):
        j = joined_as(state.extras, problem.arrival, i)
        if np.isnan(state.start[j]):
            k = tables.of_job[j, JobColumn.CLASS]
            leaf = tables.table[k, ClassColumn.LEAVES] + tables.of_job[j, JobColumn.PLACE]
            node = tables.table[k, ClassColumn.TREE] + leaf
            tables.tasks[node] = problem.tasks[j]
            if tables.shortest.size > 0:
                tables.shortest[node] = state.shortest[j]
    for k in range(count):
        begin, end = _tree(tables, k)
        mend_trees(tables.tasks[begin:end], tables.shortest[begin:end], tables.table[k, ClassColumn.LEAVES])
    tables.number[ClassNumber.SEEN] = joined


@inlined
def begin_ungrouped(plan: Plan, state: State) -> None:
    """Let the queue of a run, or of another plan, be one that is not grouped; only a long one of a fixed order may be.

    Whoever scans it takes one off its patience for each job that was placed in vain.
    """
    number = state.classes.number
    number[ClassNumber.CLASSES] = 0
    number[ClassNumber.PATIENCE] = ENDLESS
    key = plan.order_key if plan.dispatch == Dispatch.GREEDY else plan.backfill_key
    if number.size > NUMBERS and key == QueueKey.FIXED:
        number[ClassNumber.PATIENCE] = PATIENCE * plan.order.size


@part
def group(problem: Problem, plan: Plan, state: State, order: Ints) -> None:
    """Group the queue of this order into classes: by the groups that a job may use and, for backfilling, by tasks."""
    tables = _tables(state)
    sets = _find_sets(problem, plan, state, tables, order)
    buckets = MOST_CLASSES // sets if tables.shortest.size > 0 else 1
    bucket = tables.tasks[:CELLS]  # not yet in use
    _find_buckets(problem, plan, order, buckets, bucket)
    for k in range(sets * buckets):
        tables.table[k, ClassColumn.SET] = k // buckets
        tables.table[k, ClassColumn.MEMBERS] = 0
    for i in range(plan.order.size):
        j = order[i]
        if np.isnan(state.start[j]):
            s = tables.of_job[j, JobColumn.CLASS]
            tables.of_job[j, JobColumn.CLASS] = s * buckets + bucket[_cell(problem.tasks[j])]
    _give_places(plan, state, tables, order, sets * buckets)
    _fill_trees(problem, state, tables, sets * buckets)
    tables.number[ClassNumber.CLASSES] = sets * buckets


@inlined
def _room(problem: Problem, plan: Plan, usable: Ints, free: Ints) -> int:
    # No job that may use these groups and needs more nodes could be placed.
    groups = problem.groups
    total = most = 0
    for k in range(groups.uplink.size):
        here = 0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            here += usable[g] * free[g]
        total += here
        most = max(most, here)
    if plan.placement == Placement.SINGLE:
        return most
    if plan.placement == Placement.BIG_SMALL:  # [21] three quarters in one cluster
        return min(total, 4 * most // 3)
    return total


@inlined
def _measure_rooms(problem: Problem, plan: Plan, state: State, tables: Tables) -> None:
    limited = state.scratch.limited
    for g in range(limited.size):
        limited[g] = min(state.free[g], state.scratch.extra[g])
    sets = tables.table[tables.number[ClassNumber.CLASSES] - 1, ClassColumn.SET] + 1
    for s in range(sets):
        usable = tables.sets[s, SetColumn.USABLE :]
        tables.sets[s, SetColumn.ROOM] = _room(problem, plan, usable, state.free)
        tables.sets[s, SetColumn.BESIDE] = _room(problem, plan, usable, limited)
    tables.number[ClassNumber.ROOM_AT] = state.counter[Counter.FREE]


@inlined
def _let_join(problem: Problem, state: State, tables: Tables) -> None:
    # Whoever has joined the queue since the last scan.
    joined = joined_until(state.extras, state.counter[Counter.ARRIVED])
    for i in range(tables.number[ClassNumber.SEEN], joined):
        j = joined_as(state.extras, problem.arrival, i)
        if np.isnan(state.start[j]):
            k = tables.of_job[j, JobColumn.CLASS]
            begin, end = _tree(tables, k)
            tasks, times = tables.tasks[begin:end], tables.shortest[begin:end]
            set_path(tasks, times, tables.of_job[j, JobColumn.PLACE], problem.tasks[j], state.shortest[j])
    tables.number[ClassNumber.SEEN] = joined


@inlined
def _may_start(tables: Tables, k: int, node: int, window: float) -> bool:
    node += tables.table[k, ClassColumn.TREE]
    tasks, s = tables.tasks[node], tables.table[k, ClassColumn.SET]
    if tasks > tables.sets[s, SetColumn.ROOM]:
        return False
    return tables.shortest.size == 0 or tables.shortest[node] <= window or tasks <= tables.sets[s, SetColumn.BESIDE]


@part
def _seek(tables: Tables, start: Floats, position_of: Ints, k: int, place: int, window: float) -> None:
    # Notes the first member of class k from `place` on that may start, and drops whom it meets that has started.
    table = tables.table
    table[k, ClassColumn.AT] = ABSENT
    if not _may_start(tables, k, ROOT, window):
        return
    s = table[k, ClassColumn.SET]
    room, beside = tables.sets[s, SetColumn.ROOM], tables.sets[s, SetColumn.BESIDE]
    begin, end = _tree(tables, k)
    tasks, times = tables.tasks[begin:end], tables.shortest[begin:end]
    while True:
        if times.size == 0:
            place = next_small_leaf(tasks, place, room)
        else:
            place = next_leaf(tasks, times, place, room, window, beside)
        if place < 0:
            return
        j = tables.member[table[k, ClassColumn.FIRST_MEMBER] + place]
        if np.isnan(start[j]):
            table[k, ClassColumn.CANDIDATE] = place
            table[k, ClassColumn.AT] = position_of[j]
            return
        set_path(tasks, times, place, ABSENT, NEVER)


@part
def next_of_classes(problem: Problem, plan: Plan, state: State, position_of: Ints, position: int, window: float) -> int:
    """Return the first position of a grouped queue from `position` on whose job may start, or -1.

    A scan begins at `FIRST` and goes on right after what was returned; nodes only become fewer in it. Beside a
    reservation the job is done within `window` or small enough to run on; where none counts `window` is infinite.
    """
    tables, start = _tables(state), state.start
    table, number = tables.table, tables.number
    count = number[ClassNumber.CLASSES]
    if position == FIRST:
        _let_join(problem, state, tables)
    if position == FIRST or number[ClassNumber.ROOM_AT] != state.counter[Counter.FREE]:
        _measure_rooms(problem, plan, state, tables)
    if position == FIRST:
        for k in range(count):
            _seek(tables, start, position_of, k, START, window)
    else:
        k = number[ClassNumber.SCANNED]
        _seek(tables, start, position_of, k, table[k, ClassColumn.CANDIDATE] + 1, window)
    while True:
        k, least = START, ABSENT
        for other in range(count):
            if table[other, ClassColumn.AT] < least:
                k, least = other, table[other, ClassColumn.AT]
        if least == ABSENT:
            return -1
        place = table[k, ClassColumn.CANDIDATE]
        if _may_start(tables, k, table[k, ClassColumn.LEAVES] + place, window):
            number[ClassNumber.SCANNED] = k
            return least
        _seek(tables, start, position_of, k, place + 1, window)
