"""The compiled event loop of gangs and local jobs on sites whose every processor has its own queue."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import inlined, kernel, part

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NONE = -1
GRID = -1


class Routing(IntEnum):
    """How a local job finds its processor."""

    SHORTEST_WAITING = 0
    IDLE_FIRST = 1


class Counter(IntEnum):
    """Whole numbers of a run."""

    RUNNING = 0
    COMPLETED = 1
    ARRIVED = 2
    IDLE = 3
    BACKFILLED = 4
    EVENTS = 5


class Clock(IntEnum):
    """Times of a run."""

    NOW = 0
    LOST = 1


class Inputs(NamedTuple):
    """What a run reads: jobs in the order of arrival, the sites, and the rules."""

    submit: Floats
    size: Ints
    service: Floats
    home: Ints
    offset: Ints
    drawn: Ints
    site_first: Ints
    approach: int
    routing: int
    overhead: float
    threshold: float
    max_completions: int
    time_limit: float


class State(NamedTuple):
    """What a run fills; made by the caller."""

    start: Floats
    finish: Floats
    length: Floats
    placed: Ints
    next_task: Ints
    running: Ints
    busy_until: Floats
    head: Ints
    tail: Ints
    queued: Ints
    grid_next: Ints
    grid_ends: Ints
    heap: Ints
    waiting_of_size: Ints
    chosen: Ints
    clock: Floats
    counter: Ints


# ---- completions: a heap of running jobs by (finish, row) ---------------------------------------------------------


@inlined
def _before(state: State, a: int, b: int) -> bool:
    return state.finish[a] < state.finish[b] or (state.finish[a] == state.finish[b] and a < b)


@part
def _push(state: State, job: int) -> None:
    heap, k = state.heap, state.counter[Counter.RUNNING]
    state.counter[Counter.RUNNING] += 1
    while k > 0 and _before(state, job, heap[(k - 1) // 2]):
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    heap[k] = job


@part
def _pop(state: State) -> int:
    heap = state.heap
    first = heap[0]
    state.counter[Counter.RUNNING] -= 1
    size = state.counter[Counter.RUNNING]
    last = heap[size]
    k = 0
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and _before(state, heap[child + 1], heap[child]):
            child += 1
        if not _before(state, heap[child], last):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = last
    return first


# ---- a processor's queue: linked tasks, task = offset of its job + its number --------------------------------------


@inlined
def _enqueue(state: State, p: int, task: int) -> None:
    state.next_task[task] = NONE
    if state.head[p] == NONE:
        state.head[p] = task
    else:
        state.next_task[state.tail[p]] = task
    state.tail[p] = task
    state.queued[p] += 1


@inlined
def _unlink(state: State, p: int, before: int, task: int) -> None:
    if before == NONE:
        state.head[p] = state.next_task[task]
    else:
        state.next_task[before] = state.next_task[task]
    if state.tail[p] == task:
        state.tail[p] = before
    state.queued[p] -= 1


@part
def _start(inputs: Inputs, state: State, job: int) -> None:
    # Every task of the job is the head of an idle processor's queue, or has been taken out of it.
    now = state.clock[Clock.NOW]
    state.start[job] = now
    state.finish[job] = now + state.length[job]
    state.waiting_of_size[inputs.size[job]] -= 1
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        p = state.placed[task]
        state.running[p] = job
        state.busy_until[p] = state.finish[job]
        state.counter[Counter.IDLE] -= 1
    _push(state, job)


@part
def _gang_start_time(inputs: Inputs, state: State, job: int) -> float:
    """Return when the last of a dispatched gang's processors is free: its tasks stand first in their queues."""
    time = state.clock[Clock.NOW]
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        p = state.placed[task]
        if state.running[p] != NONE:
            time = max(time, state.busy_until[p])
    return time


@part
def _start_if_idle(inputs: Inputs, state: State, job: int) -> bool:
    """Return whether the gang has started: it does when all its processors are idle."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if state.running[state.placed[task]] != NONE:
            return False
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        _unlink(state, state.placed[task], -1, task)
    _start(inputs, state, job)
    return True


@inlined
def _may_overtake(inputs: Inputs, state: State, local: int, gang: int) -> bool:
    # Eq. 1: service time <= elapsed time + T.
    now = state.clock[Clock.NOW]
    return inputs.service[local] <= _gang_start_time(inputs, state, gang) - now + inputs.threshold


@part
def _serve(inputs: Inputs, state: State, job_of: Ints, p: int) -> None:
    """Start what an idle processor's queue allows: its first job, or the first local that may overtake a gang."""
    first = state.head[p]
    if first == NONE:
        return
    job = job_of[first]
    if inputs.home[job] != GRID:
        _unlink(state, p, -1, first)
        _start(inputs, state, job)
        return
    if _start_if_idle(inputs, state, job):
        return
    before, task = first, state.next_task[first]
    while task != NONE:
        local = job_of[task]
        if _may_overtake(inputs, state, local, job):
            _unlink(state, p, before, task)
            state.counter[Counter.BACKFILLED] += 1
            _start(inputs, state, local)
            return
        before, task = task, state.next_task[task]


# ---- grid level ---------------------------------------------------------------------------------------------------


@part
def _count(state: State, first: int, last: int, only_idle: bool) -> int:
    """Return how many processors of a range have an empty queue (and are idle)."""
    count = 0
    for p in range(first, last):
        if state.queued[p] == 0 and (not only_idle or state.running[p] == NONE):
            count += 1
    return count


@part
def _dispatch(inputs: Inputs, state: State, job: int, first: int, last: int, only_idle: bool) -> None:
    """Put a gang's tasks into the empty queues of a range, least remaining time first, and start it if it can."""
    now = state.clock[Clock.NOW]
    spans = False
    site = NONE
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        best = NONE
        least = np.inf
        for p in range(first, last):
            if state.queued[p] == 0 and (not only_idle or state.running[p] == NONE):
                remaining = state.busy_until[p] - now if state.running[p] != NONE else 0.0
                if remaining < least:
                    best, least = p, remaining
        state.placed[task] = best
        _enqueue(state, best, task)
        s = 0
        while inputs.site_first[s + 1] <= best:
            s += 1
        if site != NONE and s != site:
            spans = True
        site = s
    state.length[job] = inputs.service[job] * (1.0 + inputs.overhead) if spans else inputs.service[job]
    _start_if_idle(inputs, state, job)


@part
def _gang_arrives(inputs: Inputs, state: State, job: int) -> bool:
    """Return whether an arriving gang was dispatched: approaches 1 to 3, each extending the one before."""
    size, sites = inputs.size[job], inputs.site_first.size - 1
    for stage in range(2):  # idle processors of each site first, then empty queues of each site
        only_idle = stage == 0
        for s in range(sites):
            if _count(state, inputs.site_first[s], inputs.site_first[s + 1], only_idle) >= size:
                _dispatch(inputs, state, job, inputs.site_first[s], inputs.site_first[s + 1], only_idle)
                return True
    for stage in range(inputs.approach - 1):  # approach 2: idle processors of all; approach 3: empty queues of all
        only_idle = stage == 0
        if _count(state, inputs.site_first[0], inputs.site_first[sites], only_idle) >= size:
            _dispatch(inputs, state, job, inputs.site_first[0], inputs.site_first[sites], only_idle)
            return True
    return False


@part
def _dispatch_largest(inputs: Inputs, state: State, first: int, last: int, only_idle: bool) -> bool:
    """Return whether a waiting gang went into the range: the largest that fits, the oldest of equals."""
    if state.grid_ends[0] == NONE:
        return False
    room = _count(state, first, last, only_idle)
    best = best_before = before = NONE
    job = state.grid_ends[0]
    while job != NONE:
        if inputs.size[job] <= room and (best == NONE or inputs.size[job] > inputs.size[best]):
            best, best_before = job, before
        before, job = job, state.grid_next[job]
    if best == NONE:
        return False
    if best_before == NONE:
        state.grid_ends[0] = state.grid_next[best]
    else:
        state.grid_next[best_before] = state.grid_next[best]
    if state.grid_ends[1] == best:
        state.grid_ends[1] = best_before
    _dispatch(inputs, state, best, first, last, only_idle)
    return True


@part
def _scan_grid(inputs: Inputs, state: State) -> None:
    """Dispatch waiting gangs, steps (i) to (v), until none can be chosen."""
    sites = inputs.site_first.size - 1
    found = True
    while found:
        found = False
        for s in range(sites):  # (i), (ii)
            if _dispatch_largest(inputs, state, inputs.site_first[s], inputs.site_first[s + 1], False):
                found = True
        for stage in range(inputs.approach - 1):  # (iii), (iv)
            if not found:
                found = _dispatch_largest(inputs, state, inputs.site_first[0], inputs.site_first[sites], stage == 0)


# ---- local level --------------------------------------------------------------------------------------------------


@part
def _can_start_here(inputs: Inputs, state: State, job_of: Ints, job: int, p: int) -> bool:
    if state.running[p] != NONE:
        return False
    if state.head[p] == NONE:
        return True
    return _may_overtake(inputs, state, job, job_of[state.head[p]])


@part
def _local_arrives(inputs: Inputs, state: State, job_of: Ints, job: int) -> None:
    """Route a local job: where it starts at once (idle_first), else to the shortest queue; ties at random."""
    site = inputs.home[job]
    first, last = inputs.site_first[site], inputs.site_first[site + 1]
    ties = 0
    if inputs.routing == Routing.IDLE_FIRST:
        for p in range(first, last):
            if _can_start_here(inputs, state, job_of, job, p):
                state.chosen[ties] = p
                ties += 1
    if ties == 0:
        least = state.queued[first]
        for p in range(first, last):
            least = min(least, state.queued[p])
        for p in range(first, last):
            if state.queued[p] == least:
                state.chosen[ties] = p
                ties += 1
    p = state.chosen[inputs.drawn[job] % ties]
    task = inputs.offset[job]
    state.placed[task] = p
    if _can_start_here(inputs, state, job_of, job, p):
        if state.head[p] != NONE:
            state.counter[Counter.BACKFILLED] += 1
        _start(inputs, state, job)
    else:
        _enqueue(state, p, task)


@part
def _arrive(inputs: Inputs, state: State, job_of: Ints, job: int) -> None:
    state.length[job] = inputs.service[job]
    state.waiting_of_size[inputs.size[job]] += 1
    if inputs.home[job] != GRID:
        _local_arrives(inputs, state, job_of, job)
    elif not _gang_arrives(inputs, state, job):
        state.grid_next[job] = NONE
        if state.grid_ends[0] == NONE:
            state.grid_ends[0] = job
        else:
            state.grid_next[state.grid_ends[1]] = job
        state.grid_ends[1] = job


@part
def _complete(inputs: Inputs, state: State, job_of: Ints) -> None:
    job = _pop(state)
    state.counter[Counter.COMPLETED] += 1
    tasks = range(inputs.offset[job], inputs.offset[job + 1])
    for task in tasks:
        state.running[state.placed[task]] = NONE
        state.counter[Counter.IDLE] += 1
    for task in tasks:  # the queues of the freed processors first
        if state.running[state.placed[task]] == NONE:
            _serve(inputs, state, job_of, state.placed[task])
    for task in tasks:
        if state.queued[state.placed[task]] == 0:
            _scan_grid(inputs, state)
            return


@part
def _advance(state: State, time: float) -> None:
    # Idle processors count as lost while some waiting job is no larger than their number.
    elapsed = time - state.clock[Clock.NOW]
    idle = state.counter[Counter.IDLE]
    if elapsed > 0.0:
        for size in range(1, min(idle, state.waiting_of_size.size - 1) + 1):
            if state.waiting_of_size[size] > 0:
                state.clock[Clock.LOST] += idle * elapsed
                break
    state.clock[Clock.NOW] = time


@kernel
def run_events(inputs: Inputs, state: State, job_of: Ints) -> int:
    """Return 0 when every job is done, 1 at the completion limit, 2 at the time limit, 3 when gangs can never go."""
    counter = state.counter
    while counter[Counter.COMPLETED] < inputs.max_completions:
        time = np.inf
        completes = False
        if counter[Counter.RUNNING] > 0:
            time = state.finish[state.heap[0]]
            completes = True
        if counter[Counter.ARRIVED] < inputs.submit.size and inputs.submit[counter[Counter.ARRIVED]] < time:
            time = inputs.submit[counter[Counter.ARRIVED]]
            completes = False
        if time == np.inf:
            return 0 if counter[Counter.COMPLETED] == inputs.submit.size else 3
        if time > inputs.time_limit:
            _advance(state, inputs.time_limit)
            return 2
        _advance(state, time)
        counter[Counter.EVENTS] += 1
        if completes:
            _complete(inputs, state, job_of)
        else:
            job = counter[Counter.ARRIVED]
            counter[Counter.ARRIVED] += 1
            _arrive(inputs, state, job_of, job)
    return 0 if counter[Counter.COMPLETED] == inputs.submit.size else 1
