"""Lists of jobs, each job put where it ends soonest after what its nodes cost: a plan of a list, compiled.

What is free stands in blocks, soonest first: so many units of one resource, from an instant until another one. A job
takes units that are free all the time that it runs, those that became free last; what is left before its start is
lost, so that a list in the order of starts has the plan that it was read from. Watts under a cap are one resource
more, and so are the kilobytes a second of each uplink: no job of such a plan finds one full.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

EVENLY = 1e-2  # of the mean end of jobs, what counts beside what is asked


class Blocks(NamedTuple):
    """What is free: `many` units of resource `of` from `since` until `until`."""

    since: np.ndarray
    until: np.ndarray
    many: np.ndarray
    of: np.ndarray


class Lists(NamedTuple):
    """What a list is evaluated on: groups, rooms (groups that are taken together), jobs × rooms."""

    slow: np.ndarray  # group: 1 / speed
    watts: np.ndarray  # group: of a busy node more than of an idle one, by all idle watts
    price: np.ndarray  # job × group: of a node-second
    second: np.ndarray  # job × room: of a second, whatever its nodes
    takes: np.ndarray  # job × room: how long it runs on the slowest nodes
    least: np.ndarray  # job: what it pays at least
    tasks: np.ndarray
    run: np.ndarray
    share: np.ndarray
    release: np.ndarray
    before: np.ndarray  # job × some: jobs that it waits for, or -1
    room: np.ndarray  # room × resource: groups; none has the watts and uplinks that come after them
    fits: np.ndarray  # job × room
    only: np.ndarray  # resource × resource: each by itself
    cluster: np.ndarray  # group
    sends: np.ndarray  # job: kilobytes a second of a task
    narrow: np.ndarray  # cluster: whether its uplink may be full
    draw: np.ndarray  # group: of a busy node more than of an idle one, in milliwatts; 0 where nothing caps it
    free: Blocks  # what is there before the first job
    of_energy: float  # 1, or 0 where only the end counts


class Way(NamedTuple):
    """Where and when a job may run, and what that is worth: less is better."""

    score: float
    start: float
    finish: float
    drawn: float


class Lines(NamedTuple):
    """The plan of a list."""

    start: np.ndarray
    finish: np.ndarray
    counts: np.ndarray  # job × group


@numba.njit(cache=True)
def units_over(blocks, size, mine, start, finish):
    """Return how many units of some resources are free from a start to a finish."""
    found = 0
    for k in range(size):
        if blocks.since[k] > start:
            break
        if mine[blocks.of[k]] and blocks.until[k] >= finish:
            found += blocks.many[k]
    return found


@numba.njit(cache=True)
def soonest(blocks, size, mine, need, ready, takes):
    """Return the first instant from which so many units are free for so long; infinite where there is none."""
    gone_by = 0
    for k in range(size):
        if not mine[blocks.of[k]]:
            continue
        gone_by += blocks.many[k]
        if gone_by >= need:
            start = max(ready, blocks.since[k])
            if units_over(blocks, size, mine, start, start + takes) >= need:
                return start
    return np.inf


@numba.njit(cache=True)
def chosen(blocks, size, mine, need, start, finish, taken):
    """Count in `taken` what of each resource a job has: what became free last."""
    taken[:] = 0
    last = 0
    while last < size and blocks.since[last] <= start:
        last += 1
    for k in range(last - 1, -1, -1):
        if need > 0 and mine[blocks.of[k]] and blocks.until[k] >= finish:
            here = min(need, blocks.many[k])
            taken[blocks.of[k]] += here
            need -= here


@numba.njit(cache=True)
def beside(of, j, taken):
    """Count what a job needs beside its nodes: watts under a cap, and of uplinks where it is on several clusters."""
    groups, tasks = of.slow.size, of.tasks[j]
    taken[groups:] = 0
    for g in range(groups):
        taken[groups] += taken[g] * of.draw[g]
    if of.sends[j] == 0.0 or tasks == 1:
        return
    for c in range(of.narrow.size):
        here = 0
        for g in range(groups):
            if of.cluster[g] == c:
                here += taken[g]
        if of.narrow[c]:
            taken[groups + 1 + c] = np.ceil(of.sends[j] * here * (tasks - here) / (tasks - 1))


@numba.njit(cache=True)
def way(of, blocks, size, j, r, ready, weight, taken):
    """Return how a job may run in a room; its score is infinite where it cannot."""
    groups, takes, start = of.slow.size, of.takes[j, r], ready
    while True:  # until nodes, watts and uplinks are free at once
        start = soonest(blocks, size, of.room[r], of.tasks[j], start, takes)
        if start == np.inf:
            return Way(np.inf, np.inf, np.inf, 0.0)
        chosen(blocks, size, of.room[r], of.tasks[j], start, start + takes, taken)
        beside(of, j, taken)
        there = start
        for k in range(groups, taken.size):
            if taken[k] > 0:
                there = max(there, soonest(blocks, size, of.only[k], taken[k], start, takes))
        if there == start:
            break
        start = there
    slowest, paid, drawn = 0.0, of.second[j, r], 0.0
    for g in range(groups):
        if taken[g] > 0:
            slowest = max(slowest, of.slow[g])
            paid += taken[g] * of.price[j, g]
            drawn += taken[g] * of.watts[g]
    takes = of.run[j] * (of.share[j] * slowest + 1.0 - of.share[j])
    return Way(start + takes + weight * (paid * takes - of.least[j]), start, start + takes, drawn * takes)


@numba.njit(cache=True)
def best_way(of, blocks, size, j, forced, ready, weight, taken, best_taken):
    """Return the best way for a job to run, and fill in its nodes."""
    best = Way(np.inf, np.inf, np.inf, 0.0)
    for r in range(of.room.shape[0]):
        if of.fits[j, r] and (forced < 0 or forced == r):
            one = way(of, blocks, size, j, r, ready, weight, taken)
            if one.score < best.score:
                best = one
                best_taken[:] = taken
    return best


@numba.njit(cache=True)
def without(blocks, size, need, start, finish):
    """Take what each resource needs, what became free last first; return how many blocks are left."""
    last = 0
    while last < size and blocks.since[last] <= start:
        last += 1
    for k in range(last - 1, -1, -1):
        g = blocks.of[k]
        if need[g] > 0 and blocks.until[k] >= finish:
            here = min(need[g], blocks.many[k])
            need[g] -= here
            blocks.many[k] -= here
            size = inserted(blocks, size, finish, blocks.until[k], here, g)
    kept = 0
    for k in range(size):
        if blocks.many[k] > 0:
            moved(blocks, k, kept)
            kept += 1
    return kept


@numba.njit(cache=True)
def inserted(blocks, size, since, until, many, g):
    """Put a block in its place among others; return how many there are then."""
    if since >= until:
        return size
    place = size
    while place > 0 and blocks.since[place - 1] > since:
        place -= 1
    before = place - 1
    if before >= 0 and blocks.since[before] == since and blocks.until[before] == until and blocks.of[before] == g:
        blocks.many[before] += many
        return size
    for k in range(size, place, -1):
        moved(blocks, k - 1, k)
    blocks.since[place], blocks.until[place], blocks.many[place], blocks.of[place] = since, until, many, g
    return size + 1


@numba.njit(cache=True)
def moved(blocks, k, to):
    """Copy a block to another place."""
    blocks.since[to], blocks.until[to] = blocks.since[k], blocks.until[k]
    blocks.many[to], blocks.of[to] = blocks.many[k], blocks.of[k]


@numba.njit(cache=True)
def ready_at(of, j, finish):
    """Return when a job may start; below 0 where one that it waits for has no place yet."""
    ready = of.release[j]
    for i in of.before[j]:
        if i >= 0:
            if finish[i] < 0.0:
                return -1.0
            ready = max(ready, finish[i])
    return ready


@numba.njit(cache=True)
def planned(of, order, forced, weight, blocks, into, limit):
    """Fill in the plan of a list; return its value, which is less where it is better, or infinity from a limit on."""
    jobs, groups = of.tasks.size, of.slow.size
    size = of.free.since.size
    blocks.since[:size], blocks.until[:size] = of.free.since, of.free.until
    blocks.many[:size], blocks.of[:size] = of.free.many, of.free.of
    taken = np.zeros(of.room.shape[1], dtype=np.int64)
    best_taken = taken.copy()
    into.finish[:] = -1.0
    end, drawn, left = 0.0, 0.0, jobs
    while left > 0:
        for j in order:
            ready = ready_at(of, j, into.finish)
            if into.finish[j] >= 0.0 or ready < 0.0:
                continue
            best = best_way(of, blocks, size, j, forced[j], ready, weight, taken, best_taken)
            if max(end, best.finish) + drawn >= limit:
                return np.inf
            into.start[j], into.finish[j] = best.start, best.finish
            into.counts[j] = best_taken[:groups]
            size = without(blocks, size, best_taken, best.start, best.finish)
            end, drawn, left = max(end, best.finish), drawn + best.drawn * of.of_energy, left - 1
    return end + drawn + EVENLY * into.finish.mean()
