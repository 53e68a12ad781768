"""A queue grouped into classes, so that scans skip jobs that cannot start.

Jobs of a class may use the same node groups and pools and, for backfilling, have similar numbers of nodes. A tree over
the whole queue knows the least tasks and the shortest duration of each stretch. It does not know whether the small jobs
are the short ones, or may use the free nodes, or whether these are slow. So a search may try many jobs that cannot
start. After many failed placements the queue is grouped. Each class has a tree with the least estimate of each stretch.
The free nodes determine up to which estimate a job of the class may start. A scan merges the candidates of the classes
in queue order: the same jobs start, but the jobs in between are skipped.

Other modules need to know nothing of this: a scan first adds the jobs that have arrived since the last scan, and
removes started jobs that it meets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, flag, inlined, part
from fedsched.engine.codes import Dispatch, Placement, QueueKey
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.engine.optional_features import limits, pools
from fedsched.engine.optional_features.dependencies import joined_count, joined_job
from fedsched.engine.optional_features.moldable import choose_shapes
from fedsched.engine.queue.class_limits import measure
from fedsched.engine.queue.class_tables import (
    BLOCK,
    MOST_CLASSES,
    MOST_SETS,
    NUMBERS,
    ClassColumn,
    ClassRow,
    SetColumn,
    tables_of,
)
from fedsched.engine.queue.class_tree import NO_JOB, fill, may_still_start, seek, set_key
from fedsched.engine.queue.queue_tree import ABSENT

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Plan, Problem, Queue, State
    from fedsched.engine.queue.class_tables import Tables

LONG_QUEUE = constant(2048)  # jobs; a scan of a shorter queue is cheap
FEW_CLASSES = 16  # more would cost more than they save
PATIENCE = 1  # failed placements, beyond what is cheap, for each job of the queue before it is grouped
ENDLESS = np.iinfo(np.int64).max
START = constant(0)  # the first set
THE_FIRST, ONE_MORE = flag(True), flag(False)


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
    # The set of jobs with the same usable groups and needed pools, made if it is new; if there are too many sets, the
    # last one, which takes every job.
    groups = problem.groups.nodes.size
    for s in range(sets):
        least = tables.sets[s, SetColumn.USABLE + groups :]
        same = pools.needs_same_pools(problem.extras, least, j)
        for g in range(groups):
            same = same and (tables.sets[s, SetColumn.USABLE + g] == 1) == _may_use(problem, plan, j, g)
        if same:
            pools.note_needs(problem.extras, least, j, ONE_MORE)
            return s
    s = min(sets, MOST_SETS - 1)
    shared = sets >= MOST_SETS - 1
    for g in range(groups):
        tables.sets[s, SetColumn.USABLE + g] = 1 if shared or _may_use(problem, plan, j, g) else 0
    least = tables.sets[s, SetColumn.USABLE + groups :]
    least[:] = 0
    if not shared:
        pools.note_needs(problem.extras, least, j, THE_FIRST)
    return s


@inlined
def _find_sets(problem: Problem, plan: Plan, state: State, tables: Tables, order: Ints) -> int:
    # Notes the set of every position's job as its class; returns how many sets there are.
    sets = START
    for p in range(plan.order.size):
        if np.isnan(state.start[order[p]]):
            s = _set_of(problem, plan, tables, order[p], sets)
            tables.class_at[p] = s
            sets = max(sets, s + 1)
    return sets


@inlined
def _find_buckets(problem: Problem, plan: Plan, order: Ints, most: int, bucket: Ints) -> None:
    # Joins cells of similar numbers of nodes until a bucket holds its share of the jobs.
    jobs = plan.order.size
    bucket[:] = 0
    for p in range(jobs):
        bucket[_cell(problem.tasks[order[p]])] += 1
    current, held = 0, 0
    for cell in range(bucket.size):
        held += bucket[cell]
        bucket[cell] = current
        if held * most >= jobs and current < most - 1:
            current, held = current + 1, 0


@inlined
def begin_ungrouped(plan: Plan, state: State) -> None:
    """Mark the queue as not grouped, for a new run or another plan; set after how many failed placements it is grouped.

    Scans count these down. It is never grouped if it is short, its order changes with time, jobs choose their shapes,
    or many may be parked together (parked_jobs.py).
    """
    number = state.classes.number
    number[ClassNumber.CLASSES] = 0
    number[ClassNumber.PATIENCE] = ENDLESS
    key = plan.order_key if plan.dispatch == Dispatch.GREEDY else plan.backfill_key
    stays = choose_shapes(state.extras) or limits.has_large_kind(state.extras, LONG_QUEUE)
    if number.size > NUMBERS and key == QueueKey.FIXED and not stays:
        number[ClassNumber.PATIENCE] = PATIENCE * plan.order.size


@inlined
def _begin_classes(tables: Tables, sets: int, buckets: int) -> None:
    for k in range(sets * buckets):
        tables.table[k, ClassColumn.SET] = k // buckets
        tables.table[k, ClassColumn.TASKS] = ABSENT
        tables.table[k, ClassColumn.MEMBERS] = 0
        tables.limits[ClassRow.LEAST_SIGMA, k] = np.inf
        tables.limits[ClassRow.MOST_SIGMA, k] = -np.inf
    tables.number[ClassNumber.CLASSES] = sets * buckets
    tables.number[ClassNumber.SEEN] = 0


@inlined
def _enter(problem: Problem, tables: Tables, k: int, j: int) -> None:
    # Adds a job to the class's size, least tasks and range of sigma.
    table, limits, sigma = tables.table, tables.limits, problem.sigma[j]
    table[k, ClassColumn.MEMBERS] += 1
    table[k, ClassColumn.TASKS] = min(table[k, ClassColumn.TASKS], problem.tasks[j])
    limits[ClassRow.LEAST_SIGMA, k] = min(limits[ClassRow.LEAST_SIGMA, k], sigma)
    limits[ClassRow.MOST_SIGMA, k] = max(limits[ClassRow.MOST_SIGMA, k], sigma)


@inlined
def _give_places(plan: Plan, state: State, tables: Tables, order: Ints, count: int) -> None:
    # Every job that is yet to start gets a place in its class, in queue order; every class a tree with room for all.
    table = tables.table
    place = node = 0
    for k in range(count):
        leaves = 1
        while leaves * BLOCK < table[k, ClassColumn.MEMBERS]:
            leaves *= 2
        table[k, ClassColumn.FIRST] = place
        table[k, ClassColumn.TREE], table[k, ClassColumn.LEAVES] = node, leaves
        place += table[k, ClassColumn.MEMBERS]
        node += 2 * leaves
        table[k, ClassColumn.MEMBERS] = 0
    for p in range(plan.order.size):
        if np.isnan(state.start[order[p]]):
            k = tables.class_at[p]
            place = table[k, ClassColumn.FIRST] + table[k, ClassColumn.MEMBERS]
            table[k, ClassColumn.MEMBERS] += 1
            tables.place_at[p], tables.position_of[place], tables.key[place] = place, p, NO_JOB


@inlined
def _key(problem: Problem, plan: Plan, j: int) -> float:
    return 1.0 * problem.tasks[j] if plan.dispatch == Dispatch.GREEDY else problem.estimate[j]


@part
def group(problem: Problem, plan: Plan, state: State, queue: Queue) -> None:
    """Group the queued and future jobs into classes: by usable node groups, needed pools and, for backfilling, tasks.

    Build the tables and trees, with the keys of the jobs that have joined the queue. Jobs are no longer parked.
    """
    limits.stop_parking(problem.extras, state.extras, state)
    tables, order = tables_of(state), queue.order
    sets = _find_sets(problem, plan, state, tables, order)
    buckets = 1 if plan.dispatch == Dispatch.GREEDY else max(FEW_CLASSES // sets, MOST_CLASSES // MOST_SETS)
    _find_buckets(problem, plan, order, buckets, tables.cell)
    _begin_classes(tables, sets, buckets)
    for p in range(plan.order.size):
        j = order[p]
        if np.isnan(state.start[j]):
            tables.class_at[p] = tables.class_at[p] * buckets + tables.cell[_cell(problem.tasks[j])]
            _enter(problem, tables, tables.class_at[p], j)
    _give_places(plan, state, tables, order, sets * buckets)
    joined = joined_count(state.extras, state.counter[Counter.ARRIVED])
    for i in range(joined):
        j = joined_job(state.extras, problem.arrival, i)
        if np.isnan(state.start[j]):
            tables.key[tables.place_at[queue.position[j]]] = _key(problem, plan, j)
    fill(tables, sets * buckets)
    tables.number[ClassNumber.SEEN] = joined


@inlined
def _add_new_jobs(problem: Problem, plan: Plan, state: State, queue: Queue, tables: Tables) -> None:
    # Adds the jobs that have joined the queue since the last scan.
    joined = joined_count(state.extras, state.counter[Counter.ARRIVED])
    for i in range(tables.number[ClassNumber.SEEN], joined):
        j = joined_job(state.extras, problem.arrival, i)
        if np.isnan(state.start[j]):
            p = queue.position[j]
            set_key(tables, tables.class_at[p], tables.place_at[p], _key(problem, plan, j))
    tables.number[ClassNumber.SEEN] = joined


@inlined
def _seek_in_all(tables: Tables, tasks: Ints, order: Ints, start: Floats, position: int) -> None:
    # Notes the first member of each class from a position on that may start; few come before that position.
    table = tables.table
    for k in range(tables.number[ClassNumber.CLASSES]):
        table[k, ClassColumn.AT] = ABSENT
        if tables.least[table[k, ClassColumn.TREE] + 1] <= tables.limits[ClassRow.LIMIT, k]:
            seek(tables, tasks, order, start, k, table[k, ClassColumn.FIRST])
            while table[k, ClassColumn.AT] < position:
                seek(tables, tasks, order, start, k, table[k, ClassColumn.CANDIDATE] + 1)


@part
def first_of_classes(problem: Problem, plan: Plan, state: State, queue: Queue, position: int, window: float) -> int:
    """Begin a scan of a grouped queue: return the first position from `position` on with a job that may start, or -1.

    Beside a reservation the job ends within `window` seconds, or needs few enough nodes to run on; `window` is infinite
    if no reservation counts.
    """
    tables = tables_of(state)
    _add_new_jobs(problem, plan, state, queue, tables)
    measure(problem, plan, state, tables, window)
    tasks = queue.tasks[queue.tasks.size >> 1 :]
    _seek_in_all(tables, tasks, queue.order, state.start, position)
    return _least_of_all(tables, tasks, queue.order, state.start)


@part
def next_of_classes(problem: Problem, plan: Plan, state: State, queue: Queue, window: float) -> int:
    """Continue a scan of a grouped queue: return the next position with a job that may start, or -1.

    It is after the position returned last. During a scan, free nodes only become fewer.
    """
    tables = tables_of(state)
    if tables.number[ClassNumber.ROOM_AT] != state.counter[Counter.FREE]:
        measure(problem, plan, state, tables, window)
    tasks, k = queue.tasks[queue.tasks.size >> 1 :], tables.number[ClassNumber.SCANNED]
    seek(tables, tasks, queue.order, state.start, k, tables.table[k, ClassColumn.CANDIDATE] + 1)
    return _least_of_all(tables, tasks, queue.order, state.start)


@inlined
def _least_of_all(tables: Tables, tasks: Ints, order: Ints, start: Floats) -> int:
    # The first candidate of all classes that may start on what is free by now.
    table, number = tables.table, tables.number
    while True:
        k, least = START, ABSENT
        for other in range(number[ClassNumber.CLASSES]):
            if table[other, ClassColumn.AT] < least:
                k, least = other, table[other, ClassColumn.AT]
        if least == ABSENT:
            return -1
        if may_still_start(tables, tasks, k):
            number[ClassNumber.SCANNED] = k
            return least
        seek(tables, tasks, order, start, k, table[k, ClassColumn.CANDIDATE] + 1)
