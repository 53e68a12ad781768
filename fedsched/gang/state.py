"""The inputs and the state of a gang simulation, and its elementary steps: queues, running jobs, starts and ends."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, kernel, part
from fedsched.core.random import STEP, mixed, unit

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NONE = constant(-1)
GRID = -1
SEED_STEP = np.uint64(0xD1342543DE82EF95)  # between the counters of two seeds
S2 = np.uint64(2)


class Grid(IntEnum):
    """How a gang finds its site: over all sites (approaches 1 to 3), the least loaded site, or a random one."""

    MULTI_SITE = 0
    LOAD = 1
    RANDOM = 2


class Dispatch(IntEnum):
    """How a gang finds its processors in a site: by remaining time, idleness, or waiting tasks or time (GangSystem)."""

    LEAST_REMAINING = 0
    OLB = 1
    JSQ = 2
    ALD = 3
    JSEQ = 4


class Routing(IntEnum):
    """How a local job finds its processor: fewest waiting tasks, an idle one, the fastest idle one, or as a gang."""

    SHORTEST_WAITING = 0
    IDLE_FIRST = 1
    FASTEST = 2
    DISPATCH = 3


class LocalSite(IntEnum):
    """Where a local job without a site of its own goes: to a site chosen as for a gang, a random site, or any site."""

    GRID = 0
    RANDOM = 1
    ANY = 2


class Discipline(IntEnum):
    """The order of waiting jobs: by arrival, smallest or largest first, or by largest or smallest expansion factor."""

    FCFS = 0
    AFCFS = 1
    LJFS = 2
    LXF = 3
    SXF = 4


class Claim(IntEnum):
    """Whether a gang that cannot start holds its idle processors against later jobs."""

    HOLD = 0
    SKIP = 1


class Preempts(IntEnum):
    """Where all processors must be busy before a local job preempts a gang."""

    NEVER = 0
    SITE = 1
    SYSTEM = 2


class Counter(IntEnum):
    """The places of a run's counters in `State.counter`."""

    RUNNING = 0
    COMPLETED = 1
    ARRIVED = 2
    BACKFILLED = 3
    EVENTS = 4
    WAITING = 5
    SEGMENTS = 6
    SEGMENT_TASKS = 7
    STAMP = 8
    LOCAL_MOVES = 9
    EXTERNAL_MOVES = 10
    MOVED_TASKS = 11


class Clock(IntEnum):
    """The places in `State.clock` of the time, and of the processor seconds lost over all processors and by site."""

    NOW = 0
    LOST = 1
    LOST_BY_SITE = 2


@by_reference
class Rules(NamedTuple):
    """The rules of a GangSystem as numbers, for the kernels."""

    grid: int
    approach: int
    dispatch: int
    routing: int
    local_site: int
    discipline: int
    by_head: int
    claim: int
    local_migration: int
    external_migration: int
    preempts: int
    resume: int
    aging: int
    overhead: float
    threshold: float
    latency: float
    latency_per_task: float


@by_reference
class Inputs(NamedTuple):
    """The inputs of a run: jobs in the order of arrival, the sites, and the rules."""

    submit: Floats
    size: Ints
    service: Floats
    local: Ints
    home: Ints
    rank: Ints
    offset: Ints
    job_of: Ints
    drawn: Ints
    salt: Ints
    site_first: Ints
    site_of: Ints
    slow: Floats
    rules: Rules
    max_completions: int
    time_limit: float


@by_reference
class State(NamedTuple):
    """The arrays of a run's state (jobs, tasks, processors, sites) and of its record; the caller allocates them."""

    # jobs
    begun: Floats
    finish: Floats
    left: Floats
    site: Ints
    next_job: Ints
    previous_job: Ints
    key: Floats
    migrated: Ints
    reserved: Ints
    overtaken: Ints
    aged: Ints
    preemptions: Ints
    migrations: Ints
    seen: Ints
    # tasks
    placed: Ints
    next_task: Ints
    # processors
    running: Ints
    head: Ints
    tail: Ints
    queued: Ints
    backlog: Floats
    held_for: Ints
    claimed: Ints
    claimer: Ints
    order: Ints
    weight: Floats
    # sites, and the grid as one more
    idle: Ints
    first_job: Ints
    last_job: Ints
    aged_at: Ints
    waiting_of_size: Ints
    smallest: Ints
    grid_ends: Ints
    # the run
    heap: Ints
    clock: Floats
    counter: Ints
    # the record: every stretch of running, and every event
    segment_job: Ints
    segment_start: Floats
    segment_end: Floats
    segment_first: Ints
    segment_processor: Ints
    log_time: Floats
    log_code: Ints
    log_idle: Ints
    log_waiting: Ints
    log_lost: Floats


# ---- random numbers -----------------------------------------------------------------------------------------------


@kernel
def draw_all(out: Ints, seed: int) -> None:
    """Fill an array with nonnegative numbers that depend only on the seed and the place."""
    stream = np.uint64(seed) * SEED_STEP
    for i in range(out.size):
        out[i] = np.int64(mixed(stream + np.uint64(i + 1) * STEP) >> S2)


@inlined
def uniform_of(drawn: int, salt: int) -> float:
    """Return a number in [0, 1) that depends only on a job's draw and a processor's salt."""
    return unit(mixed((np.uint64(drawn) ^ np.uint64(salt)) + STEP))


# ---- completions: a heap of running jobs by (finish, id) ----------------------------------------------------------


@inlined
def ends_before(inputs: Inputs, state: State, a: int, b: int) -> bool:
    """Return whether job a ends before job b; at the same instant the lower id ends first."""
    if state.finish[a] != state.finish[b]:
        return state.finish[a] < state.finish[b]
    return inputs.rank[a] < inputs.rank[b]


@part
def push(inputs: Inputs, state: State, job: int) -> None:
    """Push a starting job onto the heap of running jobs."""
    heap, k = state.heap, state.counter[Counter.RUNNING]
    state.counter[Counter.RUNNING] += 1
    while k > 0 and ends_before(inputs, state, job, heap[(k - 1) // 2]):
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    heap[k] = job


@part
def remove(inputs: Inputs, state: State, place: int) -> int:
    """Remove and return the job at a place of the heap of running jobs; the job at place 0 ends next."""
    heap = state.heap
    gone = heap[place]
    state.counter[Counter.RUNNING] -= 1
    size = state.counter[Counter.RUNNING]
    if place == size:
        return gone
    moved, k = heap[size], place
    while k > 0 and ends_before(inputs, state, moved, heap[(k - 1) // 2]):
        heap[k] = heap[(k - 1) // 2]
        k = (k - 1) // 2
    while True:
        child = 2 * k + 1
        if child >= size:
            break
        if child + 1 < size and ends_before(inputs, state, heap[child + 1], heap[child]):
            child += 1
        if not ends_before(inputs, state, heap[child], moved):
            break
        heap[k] = heap[child]
        k = child
    heap[k] = moved
    return gone


# ---- waiting jobs: counts by size, for the loss of capacity -------------------------------------------------------


@inlined
def note_waiting(state: State, where: int, size: int) -> None:
    """Count a job that waits at a site, or at the grid (the last row)."""
    state.counter[Counter.WAITING] += 1
    state.waiting_of_size[where, size] += 1
    state.smallest[where] = min(state.smallest[where], size)


@inlined
def note_gone(state: State, where: int, size: int) -> None:
    """Take a job that no longer waits at a site, or at the grid (the last row), out of the counts."""
    state.counter[Counter.WAITING] -= 1
    state.waiting_of_size[where, size] -= 1
    last = state.waiting_of_size.shape[1]
    while state.smallest[where] < last and state.waiting_of_size[where, state.smallest[where]] == 0:
        state.smallest[where] += 1


# ---- a processor's queue ------------------------------------------------------------------------------------------


@inlined
def add_load(inputs: Inputs, state: State, p: int, job: int) -> None:
    """Add a waiting task to a processor's number of waiting tasks and to its waiting work."""
    state.queued[p] += 1
    state.backlog[p] += state.left[job]


@inlined
def drop_load(inputs: Inputs, state: State, p: int, job: int) -> None:
    """Subtract a task from a processor's number of waiting tasks and from its waiting work."""
    state.queued[p] -= 1
    state.backlog[p] = state.backlog[p] - state.left[job] if state.queued[p] > 0 else 0.0


@inlined
def enqueue(inputs: Inputs, state: State, p: int, task: int) -> None:
    """Append a task to a processor's queue."""
    state.next_task[task] = NONE
    if state.head[p] == NONE:
        state.head[p] = task
    else:
        state.next_task[state.tail[p]] = task
    state.tail[p] = task
    add_load(inputs, state, p, inputs.job_of[task])


@inlined
def unlink(inputs: Inputs, state: State, p: int, before: int, task: int) -> None:
    """Remove a task from a processor's queue; `before` is the task ahead of it, NONE for the head."""
    if before == NONE:
        state.head[p] = state.next_task[task]
    else:
        state.next_task[before] = state.next_task[task]
    if state.tail[p] == task:
        state.tail[p] = before
    drop_load(inputs, state, p, inputs.job_of[task])


@inlined
def remaining(state: State, p: int) -> float:
    """Return the remaining run time of a processor's running job; 0 if it is idle."""
    job = state.running[p]
    return state.finish[job] - state.clock[Clock.NOW] if job != NONE else 0.0


# ---- starts and ends ----------------------------------------------------------------------------------------------


@part
def run_time(inputs: Inputs, state: State, job: int) -> float:
    """Return a job's remaining run time where its tasks are placed: pt · reference clock/clock of its slowest one.

    A job of several tasks also pays the latency T(z) = α + z/ρ; a job on several sites, the overhead.
    """
    rules = inputs.rules
    slowest, spans = 0.0, False
    begin, end = inputs.offset[job], inputs.offset[job + 1]
    site = inputs.site_of[state.placed[begin]]
    for task in range(begin, end):
        p = state.placed[task]
        slowest = max(slowest, inputs.slow[p])
        spans = spans or inputs.site_of[p] != site
    time = state.left[job] * slowest
    if spans:
        time *= 1.0 + rules.overhead
    if inputs.size[job] > 1:
        time += rules.latency + rules.latency_per_task * inputs.size[job]
    return time


@part
def begin_run(inputs: Inputs, state: State, job: int) -> None:
    """Start a job on its processors; all of them are idle, and the job is in no queue."""
    now = state.clock[Clock.NOW]
    state.begun[job] = now
    state.finish[job] = now + run_time(inputs, state, job)
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        p = state.placed[task]
        state.running[p] = job
        state.idle[inputs.site_of[p]] -= 1
    push(inputs, state, job)


@part
def end_run(inputs: Inputs, state: State, job: int) -> None:
    """Free a job's processors and record the stretch that ends now."""
    counter = state.counter
    now = state.clock[Clock.NOW]
    k, t = counter[Counter.SEGMENTS], counter[Counter.SEGMENT_TASKS]
    state.segment_job[k] = job
    state.segment_start[k] = state.begun[job]
    state.segment_end[k] = now
    state.segment_first[k] = t
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        p = state.placed[task]
        state.running[p] = NONE
        state.idle[inputs.site_of[p]] += 1
        state.segment_processor[t] = p
        t += 1
    counter[Counter.SEGMENTS] = k + 1
    counter[Counter.SEGMENT_TASKS] = t
