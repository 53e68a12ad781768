"""Gangs over several sites: allocation approaches 1 to 3 at the grid, first come first served with backfilling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import flag, part
from fedsched.gang.dispatching import (
    ANY,
    choose_processor,
    gang_wait,
    local_range,
    may_start_at_once,
    sort_processors,
    weight_of,
)
from fedsched.gang.state import NONE, Counter, begin_run, enqueue, note_gone, note_waiting, unlink

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

YES, NO = flag(True), flag(False)


# ---- local level --------------------------------------------------------------------------------------------------


@part
def _start(inputs: Inputs, state: State, job: int) -> None:
    note_gone(state, state.site[job], inputs.size[job])
    begin_run(inputs, state, job)


@part
def _start_if_idle(inputs: Inputs, state: State, job: int) -> bool:
    """Start a gang if all its processors are idle; return whether it started."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if state.running[state.placed[task]] != NONE:
            return False
    for task in range(inputs.offset[job], inputs.offset[job + 1]):  # a dispatched gang is at the head of its queues
        unlink(inputs, state, state.placed[task], NONE, task)
    _start(inputs, state, job)
    return True


@part
def _serve(inputs: Inputs, state: State, p: int) -> None:
    """Start the job at the head of an idle processor's queue; if it is a gang that cannot start, backfill.

    The first local job that may overtake the gang is then started.
    """
    first = state.head[p]
    if first == NONE:
        return
    job = inputs.job_of[first]
    if inputs.local[job] == 1:
        unlink(inputs, state, p, NONE, first)
        _start(inputs, state, job)
        return
    if _start_if_idle(inputs, state, job):
        return
    longest = gang_wait(inputs, state, job) + inputs.rules.threshold  # eq. 1
    before, task = first, state.next_task[first]
    while task != NONE:
        local = inputs.job_of[task]
        if state.left[local] * inputs.slow[p] <= longest:
            unlink(inputs, state, p, before, task)
            state.counter[Counter.BACKFILLED] += 1
            _start(inputs, state, local)
            return
        before, task = task, state.next_task[task]


@part
def _local_arrives(inputs: Inputs, state: State, job: int) -> None:
    first, last = local_range(inputs, state, job)
    p = choose_processor(inputs, state, job, first, last, ANY)
    task = inputs.offset[job]
    state.placed[task] = p
    state.site[job] = inputs.site_of[p]
    note_waiting(state, state.site[job], inputs.size[job])
    if may_start_at_once(inputs, state, job, p):
        if state.head[p] != NONE:
            state.counter[Counter.BACKFILLED] += 1
        _start(inputs, state, job)
    else:
        enqueue(inputs, state, p, task)


# ---- grid level ---------------------------------------------------------------------------------------------------


@part
def _list_open(state: State, first: int, last: int, only_idle: bool) -> int:
    """Write into state.order the processors of a range with empty queues (only idle ones if asked); return how many."""
    count = 0
    for p in range(first, last):
        if state.queued[p] == 0 and (not only_idle or state.running[p] == NONE):
            state.order[count] = p
            count += 1
    return count


@part
def _dispatch(inputs: Inputs, state: State, job: int, count: int) -> None:
    """Queue a gang's tasks at some of the `count` processors in state.order, and start it if all of them are idle.

    The local dispatcher's rule chooses the processors.
    """
    for k in range(count):
        p = state.order[k]
        state.weight[p] = weight_of(inputs, state, job, p)
    sort_processors(state, count)
    begin = inputs.offset[job]
    for k in range(inputs.size[job]):
        state.placed[begin + k] = state.order[k]
        enqueue(inputs, state, state.order[k], begin + k)
    _start_if_idle(inputs, state, job)


@part
def _gang_arrives(inputs: Inputs, state: State, job: int) -> bool:
    """Dispatch an arriving gang by approach 1, 2 or 3, each of which extends the one before; return whether it was."""
    size, sites = inputs.size[job], inputs.site_first.size - 1
    for stage in range(2):  # idle processors of each site first, then empty queues of each site
        for s in range(sites):
            count = _list_open(state, inputs.site_first[s], inputs.site_first[s + 1], stage == 0)
            if count >= size:
                _dispatch(inputs, state, job, count)
                return True
    for stage in range(inputs.rules.approach - 1):  # approach 2: idle processors of all; 3: empty queues of all
        count = _list_open(state, inputs.site_first[0], inputs.site_first[sites], stage == 0)
        if count >= size:
            _dispatch(inputs, state, job, count)
            return True
    return False


@part
def _dispatch_largest(inputs: Inputs, state: State, first: int, last: int, only_idle: bool) -> bool:
    """Dispatch to a range of processors the largest gang at the grid that fits it; of equals, the oldest.

    Return whether there was one.
    """
    if state.grid_ends[0] == NONE:
        return False
    room = _list_open(state, first, last, only_idle)
    if room < state.smallest[inputs.site_first.size - 1]:  # smaller than any waiting gang, here or in queues
        return False
    best = NONE
    job = state.grid_ends[0]
    while job != NONE:
        if inputs.size[job] <= room and (best == NONE or inputs.size[job] > inputs.size[best]):
            best = job
        job = state.next_job[0, job]
    if best == NONE:
        return False
    before, after = state.previous_job[0, best], state.next_job[0, best]
    if before == NONE:
        state.grid_ends[0] = after
    else:
        state.next_job[0, before] = after
    if after == NONE:
        state.grid_ends[1] = before
    else:
        state.previous_job[0, after] = before
    _dispatch(inputs, state, best, room)
    return True


@part
def _scan_grid(inputs: Inputs, state: State) -> None:
    """Dispatch gangs that wait at the grid, by steps (i) to (v) of the paper, until none can be dispatched."""
    sites = inputs.site_first.size - 1
    found = True
    while found:
        found = False
        for s in range(sites):  # (i), (ii)
            if _dispatch_largest(inputs, state, inputs.site_first[s], inputs.site_first[s + 1], NO):
                found = True
        for stage in range(inputs.rules.approach - 1):  # (iii), (iv)
            if not found:
                only_idle = YES if stage == 0 else NO
                found = _dispatch_largest(inputs, state, inputs.site_first[0], inputs.site_first[sites], only_idle)


# ---- events -------------------------------------------------------------------------------------------------------


@part
def arrive_multisite(inputs: Inputs, state: State, job: int) -> None:
    """Send an arriving local job to its site; dispatch an arriving gang, or queue it at the grid."""
    if inputs.local[job] == 1:
        _local_arrives(inputs, state, job)
        return
    sites = inputs.site_first.size - 1
    state.site[job] = sites
    note_waiting(state, sites, inputs.size[job])
    if _gang_arrives(inputs, state, job):
        return
    last = state.grid_ends[1]
    state.next_job[0, job] = NONE
    state.previous_job[0, job] = last
    if last == NONE:
        state.grid_ends[0] = job
    else:
        state.next_job[0, last] = job
    state.grid_ends[1] = job


@part
def freed_multisite(inputs: Inputs, state: State, job: int) -> None:
    """Serve the queues of the processors that a job freed; if a queue is empty then, dispatch gangs from the grid."""
    tasks = range(inputs.offset[job], inputs.offset[job + 1])
    for task in tasks:
        if state.running[state.placed[task]] == NONE:
            _serve(inputs, state, state.placed[task])
    for task in tasks:
        if state.queued[state.placed[task]] == 0:
            _scan_grid(inputs, state)
            return
