"""The table of a backfill pass (Slurm's node_space): intervals of time, each with the nodes not reserved in it.

An interval is called a record; records follow each other without gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, part
from fedsched.slurm.loop.structs import Counter, Setting
from fedsched.slurm.nodes.shared_nodes import (
    blocked_nodes,
    fits_now,
    forget_refused,
    may_fit,
    may_have_room,
    note_refused,
)

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State, Words

NONE = np.uint64(0)
ALL = np.uint64(2**64 - 1)
NONE_LATER = -1  # no second of a run is below 0
SOME_ROOM = constant(-1)


@part
def rounded(problem: Problem, time: int) -> int:
    """Return a time rounded down to a multiple of bf_resolution, counted in seconds since 1970."""
    resolution, epoch = problem.settings[Setting.BF_RESOLUTION], problem.settings[Setting.EPOCH]
    return time - (time + epoch) % resolution


@part
def begin_table(problem: Problem, state: State, now: int) -> None:
    """Reset the table to one record with all nodes, from now to the end of the backfill window.

    What earlier passes have found out about jobs without room is dropped.
    """
    table = state.table
    table.begin[0] = rounded(problem, now)
    table.end[0] = rounded(problem, now + problem.settings[Setting.BF_WINDOW])
    table.left[0, :] = ALL
    state.counter[Counter.RECORDS] = 1
    state.scratch.idle[:] = -1
    forget_refused(state.shared)


@part
def limit_to_records(state: State, after: int, until: int) -> int:
    """Keep in `state.scratch.usable` only nodes that are left in every record between two times.

    Return when the first later record begins that has open nodes which the records before it lack; NONE_LATER if there
    is none.
    """
    table, usable, many = state.table, state.scratch.usable, state.counter[Counter.RECORDS]
    within, left, later = state.scratch.within, state.scratch.line, NONE_LATER
    for k in range(usable.size):
        left[k] = within[k]
    for record in range(many):
        if table.end[record] <= after:
            continue
        if record + 1 < many and later == NONE_LATER:
            for k in range(usable.size):
                if within[k] & table.left[record + 1, k] & ~(left[k] & table.left[record, k]) != NONE:
                    later = table.end[record]
                    break
        if table.begin[record] > until:
            break
        for k in range(usable.size):
            left[k] &= table.left[record, k]
            usable[k] &= table.left[record, k]
    return later


@part
def has_room(problem: Problem, state: State, job: int, now: int) -> bool:
    """Return whether a job fits on nodes that are free now and left in all records within its time limit.

    On shared nodes, store it if the job does not fit.
    """
    if not may_have_room(state.shared, problem, state, job):
        return False
    limit = _limit_without_room(problem, state, job, now)
    if limit == SOME_ROOM:
        return True
    note_refused(state.shared, job, limit)
    return False


@part
def _limit_without_room(problem: Problem, state: State, job: int, now: int) -> int:
    """Return SOME_ROOM if a job fits now for its own time limit; else the shortest limit known not to fit.

    That is 0 if it fits for no limit.
    """
    jobs, table, free = problem.jobs, state.table, state.scratch.free
    mine, limit = problem.machine.sets[jobs.nodes[job]], jobs.limit[job]
    for k in range(free.size):
        free[k] = mine[k] & ~blocked_nodes(state.shared, state, k)
    if not fits_now(state.shared, problem, free, job):
        return 0
    for record in range(state.counter[Counter.RECORDS]):
        if table.begin[record] > now + limit:
            break
        if table.end[record] > now:
            for k in range(free.size):
                free[k] &= table.left[record, k]
            if not may_fit(state.shared, problem, free, job):
                return max(0, table.begin[record] - now)
    return SOME_ROOM if fits_now(state.shared, problem, free, job) else limit


@part
def is_reserved(state: State, nodes: Words, begin: int, end: int) -> bool:
    """Return whether any of the nodes is reserved at some time from `begin` to before `end`."""
    table = state.table
    for record in range(state.counter[Counter.RECORDS]):
        if table.end[record] > begin and table.begin[record] < end:
            for k in range(nodes.size):
                if nodes[k] & ~table.left[record, k] != NONE:
                    return True
    return False


@part
def reserve(problem: Problem, state: State, nodes: Words, begin: int, end: int) -> None:
    """Remove the nodes from all records from `begin` to `end`, or for bf_resolution seconds if that is longer.

    Records are split at these times, and equal neighbours joined.
    """
    table, counter = state.table, state.counter
    begin = max(begin, table.begin[0])
    end = max(end, begin + problem.settings[Setting.BF_RESOLUTION])
    _split(state, begin)
    _split(state, end)
    for record in range(counter[Counter.RECORDS]):
        if table.begin[record] >= begin and table.end[record] <= end:
            for k in range(nodes.size):
                table.left[record, k] &= ~nodes[k]
    _join_equals(state)


@part
def _split(state: State, time: int) -> None:
    table, many = state.table, state.counter[Counter.RECORDS]
    for record in range(many):
        if table.begin[record] < time < table.end[record]:
            for place in range(many, record + 1, -1):
                _copy(state, place - 1, place)
            _copy(state, record, record + 1)
            table.end[record] = time
            table.begin[record + 1] = time
            state.counter[Counter.RECORDS] = many + 1
            return


@part
def _copy(state: State, source: int, target: int) -> None:
    table = state.table
    table.begin[target], table.end[target] = table.begin[source], table.end[source]
    for k in range(table.left.shape[1]):
        table.left[target, k] = table.left[source, k]


@part
def _join_equals(state: State) -> None:
    table, kept = state.table, 0
    for record in range(1, state.counter[Counter.RECORDS]):
        same = True
        for k in range(table.left.shape[1]):
            if table.left[record, k] != table.left[kept, k]:
                same = False
                break
        if same:
            table.end[kept] = table.end[record]
        else:
            kept += 1
            if kept != record:
                _copy(state, record, kept)
    state.counter[Counter.RECORDS] = kept + 1
