"""Running jobs: the heap of finishes, the list of planned ends, and the rates of jobs that share uplinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined, part
from fedsched.engine.arrays import Clock, Counter
from fedsched.engine.codes import Saturation
from fedsched.engine.placement import demands

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Problem, State


@inlined
def _earlier(state: State, time_a: float, job_a: int, time_b: float, job_b: int) -> bool:
    return time_a < time_b or (time_a == time_b and state.sequence[job_a] < state.sequence[job_b])


@inlined
def _put(state: State, place: int, time: float, j: int) -> None:
    state.heap_time[place] = time
    state.heap_job[place] = j
    state.heap_place[j] = place


@inlined
def _rise(state: State, place: int, time: float, j: int) -> None:
    while place > 0:
        parent = (place - 1) // 2
        if not _earlier(state, time, j, state.heap_time[parent], state.heap_job[parent]):
            break
        _put(state, place, state.heap_time[parent], state.heap_job[parent])
        place = parent
    _put(state, place, time, j)


@inlined
def _sink(state: State, place: int, size: int, time: float, j: int) -> None:
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size and _earlier(
            state,
            state.heap_time[child + 1],
            state.heap_job[child + 1],
            state.heap_time[child],
            state.heap_job[child],
        ):
            child += 1
        if not _earlier(state, state.heap_time[child], state.heap_job[child], time, j):
            break
        _put(state, place, state.heap_time[child], state.heap_job[child])
        place = child
    _put(state, place, time, j)


@inlined
def push_finish(state: State, j: int) -> None:
    """Add a running job to the heap of finishes."""
    size = state.counter[Counter.RUNNING]
    state.counter[Counter.RUNNING] = size + 1
    _rise(state, size, state.finish[j], j)


@inlined
def pop_finish(state: State) -> int:
    """Take the job with the earliest finish (then the earliest start) off the heap."""
    j = state.heap_job[0]
    size = state.counter[Counter.RUNNING] - 1
    state.counter[Counter.RUNNING] = size
    if size > 0:
        _sink(state, 0, size, state.heap_time[size], state.heap_job[size])
    return j


@inlined
def _move_finish(state: State, j: int) -> None:
    place = state.heap_place[j]
    time = state.finish[j]
    if time < state.heap_time[place]:
        _rise(state, place, time, j)
    else:
        _sink(state, place, state.counter[Counter.RUNNING], time, j)


@part
def add_end(state: State, j: int) -> None:
    """Add a running job to the planned ends."""
    time = state.planned_end[j]
    ends = state.counter[Counter.ENDS]
    place = _ends_below(state.ends_time, ends, time)
    for i in range(ends, place, -1):
        state.ends_time[i] = state.ends_time[i - 1]
        state.ends_job[i] = state.ends_job[i - 1]
    state.ends_time[place] = time
    state.ends_job[place] = j
    state.counter[Counter.ENDS] = ends + 1


@inlined
def _ends_below(ends_time: Floats, ends: int, time: float) -> int:
    # The first place whose planned end is earlier than `time`; the list runs from the latest to the earliest.
    low, high = 0, ends
    while low < high:
        middle = (low + high) // 2
        if ends_time[middle] < time:
            high = middle
        else:
            low = middle + 1
    return low


@part
def remove_end(state: State, j: int) -> None:
    """Take a running job off the planned ends."""
    ends = state.counter[Counter.ENDS]
    place = _ends_below(state.ends_time, ends, state.planned_end[j]) - 1
    while state.ends_job[place] != j:
        place -= 1
    for i in range(place, ends - 1):
        state.ends_time[i] = state.ends_time[i + 1]
        state.ends_job[i] = state.ends_job[i + 1]
    state.counter[Counter.ENDS] = ends - 1


@inlined
def planned_end_after(time: float, now: float) -> float:
    """Return a planned end as plans made at `now` see it: a job past its estimate ends right after now."""
    return time if time > now else np.nextafter(now, np.inf)


@inlined
def sum_loads(problem: Problem, state: State) -> None:
    """Sum the load of every uplink anew over the co-allocated running jobs, in start order (eq. 1.3)."""
    state.load[:] = 0.0
    for i in range(state.counter[Counter.SPANNING]):
        j = state.spanning[i]
        demands(problem, j, state.counts[j], state.demand)
        for k in range(state.load.size):
            state.load[k] += state.demand[k]
    saturated = 0
    for k in range(state.load.size):
        if state.load[k] > problem.uplink[k]:
            saturated += 1
    state.counter[Counter.SATURATED_LINKS] = saturated


@inlined
def _time_cost(problem: Problem, state: State, j: int) -> float:
    # eqs. 1.1, 1.4, 1.5, 1.7
    counts = state.counts[j]
    demands(problem, j, counts, state.demand)
    communication = 1.0
    for k in range(state.load.size):
        if state.demand[k] > 0.0:
            communication = max(communication, state.load[k] / problem.uplink[k])
    processing = 0.0
    for g in range(counts.size):
        if counts[g] > 0:
            processing = max(processing, problem.slowdown[g])
    return problem.sigma[j] * processing + (1.0 - problem.sigma[j]) * communication


@part
def update_rates(problem: Problem, state: State) -> None:
    """Bring loads, rates and finishes up to date after starts or ends of co-allocated jobs."""
    if state.counter[Counter.LOADS_STALE] == 0:
        return
    state.counter[Counter.LOADS_STALE] = 0
    sum_loads(problem, state)
    now = state.clock[Clock.NOW]
    spanning = state.counter[Counter.SPANNING]
    first = 0
    if problem.saturation == Saturation.STATIC:
        first = state.counter[Counter.SPANNING_FIXED]
    for i in range(first, spanning):
        j = state.spanning[i]
        if state.finish[j] <= now:
            continue
        cost = _time_cost(problem, state, j)
        if cost == state.tc[j]:
            continue
        done = (now - state.since[j]) / state.tc[j]
        state.work_left[j] = max(0.0, state.work_left[j] - done)
        state.estimate_left[j] -= done
        state.since[j] = now
        state.tc[j] = cost
        tracked = state.counter[Counter.TRACK_ENDS] == 1 and state.released[j] == 0
        if tracked:
            remove_end(state, j)
        state.finish[j] = now + state.work_left[j] * cost
        state.planned_end[j] = now + state.estimate_left[j] * cost
        if tracked:
            add_end(state, j)
        _move_finish(state, j)
    state.counter[Counter.SPANNING_FIXED] = spanning


@inlined
def take_nodes(state: State, counts: Ints) -> None:
    """Occupy the nodes of a job."""
    for g in range(counts.size):
        state.free[g] -= counts[g]
        state.counter[Counter.FREE] -= counts[g]


@inlined
def free_nodes(state: State, j: int) -> None:
    """Free the nodes of a job."""
    for g in range(state.free.size):
        used = state.counts[j, g]
        state.free[g] += used
        state.counter[Counter.FREE] += used


@inlined
def enter(problem: Problem, state: State, j: int) -> None:
    """Enter a job whose counts and times are set among the running ones."""
    take_nodes(state, state.counts[j])
    state.sequence[j] = state.counter[Counter.STARTED]
    state.counter[Counter.STARTED] += 1
    state.released[j] = 0
    push_finish(state, j)
    if state.counter[Counter.TRACK_ENDS] == 1:
        add_end(state, j)
    if state.load.size > 1 and problem.bandwidth[j] > 0.0 and demands(problem, j, state.counts[j], state.demand):
        spanning = state.counter[Counter.SPANNING]
        state.spanning[spanning] = j
        state.counter[Counter.SPANNING] = spanning + 1
        state.counter[Counter.LOADS_STALE] = 1


@inlined
def leave(problem: Problem, state: State, j: int) -> None:
    """Let a job that has just been taken off the heap end."""
    if state.released[j] == 0:
        free_nodes(state, j)
        if state.counter[Counter.TRACK_ENDS] == 1:
            remove_end(state, j)
    state.counter[Counter.FINISHED] += 1
    spanning = state.counter[Counter.SPANNING]
    for i in range(spanning):
        if state.spanning[i] == j:
            for later in range(i, spanning - 1):
                state.spanning[later] = state.spanning[later + 1]
            state.counter[Counter.SPANNING] = spanning - 1
            if i < state.counter[Counter.SPANNING_FIXED]:
                state.counter[Counter.SPANNING_FIXED] -= 1
            state.counter[Counter.LOADS_STALE] = 1
            break


@inlined
def release_pending(state: State) -> None:
    """Count the nodes of jobs that end now, as planned or later, as free although their event is pending [3]."""
    now = state.clock[Clock.NOW]
    place = state.counter[Counter.ENDS] - 1
    while place >= 0 and state.ends_time[place] <= now:
        j = state.ends_job[place]
        place -= 1
        if state.finish[j] == now:
            free_nodes(state, j)
            remove_end(state, j)
            state.released[j] = 1
