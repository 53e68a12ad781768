"""Running jobs: their finishes, planned ends and rates, and what changes as a job starts or ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.codes import Saturation
from fedsched.engine.loop.fair_uplinks import share_fairly
from fedsched.engine.loop.feature_flags import more_is, more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import downtimes, limits, pools, power_caps, power_states
from fedsched.engine.placement.node_choice import fill_demand
from fedsched.engine.shared_nodes.allocations import give_back

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ends, Extras, Floats, Heap, Ints, Problem, State

TOP = constant(0)


@inlined
def _earlier(heap: Heap, time_a: float, job_a: int, time_b: float, job_b: int) -> bool:
    return time_a < time_b or (time_a == time_b and heap.sequence[job_a] < heap.sequence[job_b])


@inlined
def _put(heap: Heap, place: int, time: float, j: int) -> None:
    heap.time[place] = time
    heap.job[place] = j
    heap.place[j] = place


@inlined
def _rise(heap: Heap, place: int, time: float, j: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if not _earlier(heap, time, j, heap.time[parent], heap.job[parent]):
            break
        _put(heap, place, heap.time[parent], heap.job[parent])
        place = parent
    _put(heap, place, time, j)


@inlined
def _sink(heap: Heap, place: int, size: int, time: float, j: int) -> None:
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        other = child + 1
        if other < size and _earlier(heap, heap.time[other], heap.job[other], heap.time[child], heap.job[child]):
            child = other
        if not _earlier(heap, heap.time[child], heap.job[child], time, j):
            break
        _put(heap, place, heap.time[child], heap.job[child])
        place = child
    _put(heap, place, time, j)


@inlined
def pop_finish(state: State) -> int:
    """Remove the job with the earliest finish from the heap and return it; of equal ones, the first to start."""
    heap = state.heap
    j = heap.job[0]
    size = state.counter[Counter.RUNNING] - 1
    state.counter[Counter.RUNNING] = size
    if size > 0:
        _sink(heap, TOP, size, heap.time[size], heap.job[size])
    return j


@inlined
def take_off(state: State, j: int) -> None:
    """Remove a running job from the heap, at any place in it."""
    heap, place = state.heap, state.heap.place[j]
    size = state.counter[Counter.RUNNING] - 1
    state.counter[Counter.RUNNING] = size
    if place == size:
        return
    time, last = heap.time[size], heap.job[size]
    if _earlier(heap, time, last, heap.time[place], j):
        _rise(heap, place, time, last)
    else:
        _sink(heap, place, size, time, last)


@inlined
def _first_before(ends: Ends, size: int, time: float) -> int:
    # Returns the first place with a planned end before `time`; the list is sorted from the latest to the earliest.
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if ends.time[middle] < time:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def _add_end(ends: Ends, size: int, time: float, j: int) -> None:
    place = _first_before(ends, size, time)
    for i in range(size, place, -1):
        ends.time[i] = ends.time[i - 1]
        ends.job[i] = ends.job[i - 1]
    ends.time[place] = time
    ends.job[place] = j


@inlined
def _remove_end(ends: Ends, size: int, time: float, j: int) -> None:
    place = _first_before(ends, size, time) - 1
    while ends.job[place] != j:
        place -= 1
    for i in range(place, size - 1):
        ends.time[i] = ends.time[i + 1]
        ends.job[i] = ends.job[i + 1]


@inlined
def sum_loads(uplink: Floats, spanning: Ints, count: int, demand: Floats, load: Floats) -> int:
    """Sum the load of every uplink over the spanning jobs, in start order (eq. 1.3); return how many are saturated."""
    clusters = load.size
    for k in range(clusters):
        load[k] = 0.0
    for i in range(count):
        j = spanning[i]
        for k in range(clusters):
            load[k] += demand[j, k]
    saturated = 0
    for k in range(clusters):
        if load[k] > uplink[k]:
            saturated += 1
    return saturated


@inlined
def _communication_slowdown(uplink: Floats, load: Floats, demand: Floats, j: int) -> float:
    # eqs. 1.4, 1.5
    slowdown = 1.0
    for k in range(load.size):
        if demand[j, k] > 0.0:
            slowdown = max(slowdown, load[k] / uplink[k])
    return slowdown


@inlined
def update_rates(problem: Problem, state: State) -> None:
    """Update loads, rates and finishes if jobs that communicate between clusters have started or ended."""
    if state.counter[Counter.LOADS_STALE] == 1:
        _update_stale_rates(problem, state)


@part
def _update_stale_rates(problem: Problem, state: State) -> None:
    counter, rates = state.counter, state.rates
    counter[Counter.LOADS_STALE] = 0
    _settle_rates(problem, state)
    first = counter[Counter.SPANNING]
    for i in range(first, first + counter[Counter.BOOTING]):  # decisions count those that wait for boots, too
        for k in range(state.load.size):
            state.load[k] += rates.demand[rates.spanning[i], k]


@inlined
def _settle_rates(problem: Problem, state: State) -> None:
    counter, rates = state.counter, state.rates
    spanning = counter[Counter.SPANNING]
    uplink = problem.groups.uplink
    before = counter[Counter.SATURATED_LINKS]
    after = sum_loads(uplink, rates.spanning, spanning, rates.demand, state.load)
    counter[Counter.SATURATED_LINKS] = after
    first = 0
    if problem.saturation == Saturation.STATIC:
        first = counter[Counter.SPANNING_FIXED]
    counter[Counter.SPANNING_FIXED] = spanning
    if before == 0 and after == 0:
        return  # no uplink was or is saturated: all rates stay the same
    fair = problem.saturation == Saturation.FAIR and after > 0
    if fair:
        share_fairly(uplink, rates.spanning, spanning, rates.demand, state.scratch.demand, rates.share)
    now = state.clock[Clock.NOW]
    for i in range(first, spanning):
        j = rates.spanning[i]
        if state.finish[j] <= now or (problem.saturation == Saturation.STATIC and state.start[j] < now):
            continue
        communication = 1.0 / rates.share[j] if fair else _communication_slowdown(uplink, state.load, rates.demand, j)
        cost = problem.sigma[j] * rates.processing[j] + (1.0 - problem.sigma[j]) * communication
        if cost == rates.tc[j]:
            continue
        done = (now - rates.since[j]) / rates.tc[j]
        rates.work_left[j] = max(0.0, rates.work_left[j] - done)
        rates.estimate_left[j] -= done
        rates.since[j] = now
        rates.tc[j] = cost
        state.finish[j] = end_after(now + rates.work_left[j] * cost, now)
        planned_end = end_after(now + rates.estimate_left[j] * cost, now)
        if counter[Counter.TRACK_ENDS] == 1 and state.ends.released[j] == 0:
            _remove_end(state.ends, counter[Counter.ENDS], state.planned_end[j], j)
            _add_end(state.ends, counter[Counter.ENDS] - 1, planned_end, j)
        downtimes.move_end(problem.extras, state.extras, state.counts[j], state.planned_end[j], planned_end)
        state.planned_end[j] = planned_end
        counter[Counter.PLAN_HOLDS] = 0
        place = state.heap.place[j]
        if state.finish[j] < state.heap.time[place]:
            _rise(state.heap, place, state.finish[j], j)
        else:
            _sink(state.heap, place, counter[Counter.RUNNING], state.finish[j], j)


@inlined
def release(problem: Problem, state: State, j: int) -> None:
    """Release all that a job holds: nodes, and its part of pools, limits and power caps."""
    extras = problem.extras
    for g in range(state.free.size):
        used = state.counts[j, g]
        state.free[g] += used
        state.counter[Counter.FREE] += used
    if more_is(extras):
        _release_extras(extras, state, j)
    downtimes.release_nodes(extras, state.extras, state, j)
    give_back(problem.sharing, state.work, j)


@part
def _release_extras(extras: Extras | None, state: State, j: int) -> None:
    more = more_than_closing(extras)
    pools.give_back(more, state.extras, j)
    power_caps.give_back(more, state.extras, j, state.counts[j])
    power_states.give_back(more, state.extras, state.counts[j], state.clock[Clock.NOW])
    limits.give_back(more, state.extras, state, j)


@inlined
def enter(problem: Problem, state: State, j: int) -> None:
    """Add a job to the running jobs: it takes its nodes, and its part of pools, limits and power caps.

    Its nodes (`counts`) and times must be set.
    """
    counter = state.counter
    for g in range(state.free.size):
        used = state.counts[j, g]
        state.free[g] -= used
        counter[Counter.FREE] -= used
    if more_is(problem.extras):
        _take_extras(problem.extras, state, j)
    downtimes.hold_nodes(problem.extras, state.extras, state.counts[j], state.planned_end[j])
    state.heap.sequence[j] = counter[Counter.STARTED]
    counter[Counter.STARTED] += 1
    _rise(state.heap, counter[Counter.RUNNING], state.finish[j], j)
    counter[Counter.RUNNING] += 1
    if counter[Counter.TRACK_ENDS] == 1:
        state.ends.released[j] = 0
        _add_end(state.ends, counter[Counter.ENDS], state.planned_end[j], j)
        counter[Counter.ENDS] += 1
    if (
        state.load.size > 1
        and problem.bandwidth[j] > 0.0
        and fill_demand(
            problem.extras,
            problem.groups,
            j,
            problem.tasks[j],
            problem.bandwidth[j],
            state.counts[j],
            state.rates.demand[j],
        )
    ):
        if more_is(problem.extras) and _waits_to_send(problem, state, j):
            state.rates.spanning[counter[Counter.SPANNING] + counter[Counter.BOOTING]] = j
            counter[Counter.BOOTING] += 1
            for k in range(state.load.size):
                state.load[k] += state.rates.demand[j, k]
        else:
            _span(state, counter[Counter.SPANNING] + counter[Counter.BOOTING], j)


@inlined
def _waits_to_send(problem: Problem, state: State, j: int) -> bool:
    # Whether the job will use finite uplinks when its nodes have booted.
    found = False
    for k in range(state.load.size):
        found = found or (state.rates.demand[j, k] > 0.0 and problem.groups.uplink[k] < np.inf)
    return found and state.start[j] > state.clock[Clock.NOW]


@inlined
def _span(state: State, place: int, j: int) -> None:
    # Add a job to the end of the spanning ones; those that wait for boots, up to `place`, move up.
    spanning, first = state.rates.spanning, state.counter[Counter.SPANNING]
    for i in range(place, first, -1):
        spanning[i] = spanning[i - 1]
    spanning[first] = j
    state.counter[Counter.SPANNING] += 1
    state.counter[Counter.LOADS_STALE] = 1


@inlined
def next_boot_over(state: State) -> float:
    """Return when a job next uses finite uplinks, as its nodes have booted; infinite if none waits for that."""
    first, time = state.counter[Counter.SPANNING], np.inf
    for i in range(first, first + state.counter[Counter.BOOTING]):
        time = min(time, state.start[state.rates.spanning[i]])
    return time


@inlined
def begin_to_send(state: State, now: float) -> None:
    """Let jobs use uplinks if their nodes have booted by `now`."""
    if state.counter[Counter.BOOTING] == 0:
        return
    i = state.counter[Counter.SPANNING]
    for _ in range(state.counter[Counter.BOOTING]):
        j = state.rates.spanning[i]
        if state.start[j] <= now:
            state.counter[Counter.BOOTING] -= 1
            _span(state, i, j)
        i += 1


@part
def _take_extras(extras: Extras | None, state: State, j: int) -> None:
    more = more_than_closing(extras)
    pools.take(more, state.extras, j)
    power_caps.take(more, state.extras, j, state.counts[j])
    limits.take(more, state.extras, state, j)


@inlined
def vacate(problem: Problem, state: State, j: int) -> None:
    """Release all that a job holds, and remove it from the planned ends and from the jobs that load uplinks.

    The job has just been removed from the heap of finishes.
    """
    counter = state.counter
    downtimes.note_end(state.extras, state.clock)
    if counter[Counter.TRACK_ENDS] == 0:
        release(problem, state, j)
    elif state.ends.released[j] == 0:
        release(problem, state, j)
        _remove_end(state.ends, counter[Counter.ENDS], state.planned_end[j], j)
        counter[Counter.ENDS] -= 1
    if state.load.size > 1 and problem.bandwidth[j] > 0.0:
        spanning = state.rates.spanning
        last = counter[Counter.SPANNING] - 1
        for i in range(last + 1):
            if spanning[i] == j:
                for later in range(i, last + counter[Counter.BOOTING]):
                    spanning[later] = spanning[later + 1]
                counter[Counter.SPANNING] = last
                if i < counter[Counter.SPANNING_FIXED]:
                    counter[Counter.SPANNING_FIXED] -= 1
                counter[Counter.LOADS_STALE] = 1
                break


@inlined
def ends_as_planned(state: State, j: int) -> None:
    """Note that a job ends now; the kept conservative plan becomes invalid if another end was planned."""
    if state.planned_end[j] != state.clock[Clock.NOW]:
        state.counter[Counter.PLAN_HOLDS] = 0


@part
def release_pending(problem: Problem, state: State) -> None:
    """Release what jobs hold if they end now, not before their planned ends, but their events are pending [3].

    Only in the sequential reading can the finish of a job be pending during a pass.
    """
    now = state.clock[Clock.NOW]
    place = state.counter[Counter.ENDS] - 1
    while place >= 0 and state.ends.time[place] <= now:
        j = state.ends.job[place]
        place -= 1
        if state.finish[j] == now:
            ends_as_planned(state, j)
            release(problem, state, j)
            _remove_end(state.ends, state.counter[Counter.ENDS], state.planned_end[j], j)
            state.counter[Counter.ENDS] -= 1
            state.ends.released[j] = 1
