"""The compiled event loop of gangs and local jobs on sites in which every processor has its own queue."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, kernel, part
from fedsched.gang.disciplines import arrive_queued
from fedsched.gang.migration import settle
from fedsched.gang.multisite import arrive_multisite, freed_multisite
from fedsched.gang.state import Clock, Counter, Grid, end_run, remove

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

NEXT = constant(0)  # the heap place of the job that completes next


class Status(IntEnum):
    """Why the event loop returned: all done, a limit, jobs that never start, a full record, or a pause for Ctrl-C."""

    DONE = 0
    COMPLETIONS = 1
    TIME = 2
    STUCK = 3
    MORE = 4
    PAUSE = 5


PAUSE_AFTER = 50_000  # events; the loop returns so that Python can handle Ctrl-C


@part
def _advance(inputs: Inputs, state: State, time: float) -> None:
    """Advance the clock; idle time counts as lost (eq. 2) while the smallest waiting job fits the idle processors."""
    clock = state.clock
    elapsed = time - clock[Clock.NOW]
    if elapsed > 0.0:
        sites = inputs.site_first.size - 1
        at_grid = state.smallest[sites]
        total, least = 0, at_grid
        for s in range(sites):
            idle, smallest = state.idle[s], min(state.smallest[s], at_grid)
            total += idle
            least = min(least, smallest)
            if smallest <= idle:
                clock[Clock.LOST_BY_SITE] += idle * elapsed
        if least <= total:
            clock[Clock.LOST] += total * elapsed
    clock[Clock.NOW] = time


@part
def _note_event(inputs: Inputs, state: State, code: int) -> None:
    """Record an event (job: its arrival; −1 − job: its end) and the idle processors, waiting jobs and lost time."""
    k = state.counter[Counter.EVENTS]
    state.counter[Counter.EVENTS] = k + 1
    idle = 0
    for s in range(inputs.site_first.size - 1):
        idle += state.idle[s]
    state.log_time[k] = state.clock[Clock.NOW]
    state.log_code[k] = code
    state.log_idle[k] = idle
    state.log_waiting[k] = state.counter[Counter.WAITING]
    state.log_lost[k, 0] = state.clock[Clock.LOST]
    state.log_lost[k, 1] = state.clock[Clock.LOST_BY_SITE]


@kernel
def run_events(inputs: Inputs, state: State) -> int:
    """Run events and return a Status; after PAUSE, and after MORE once the record is longer, call again to continue."""
    counter = state.counter
    pause = counter[Counter.EVENTS] + PAUSE_AFTER
    multi_site = inputs.rules.grid == Grid.MULTI_SITE
    while counter[Counter.COMPLETED] < inputs.max_completions:
        if (
            counter[Counter.SEGMENTS] == state.segment_job.size
            or counter[Counter.SEGMENT_TASKS] + inputs.site_of.size > state.segment_processor.size
        ):
            return Status.MORE
        if counter[Counter.EVENTS] == pause:
            return Status.PAUSE
        time = np.inf
        completes = False
        if counter[Counter.RUNNING] > 0:
            time = state.finish[state.heap[0]]
            completes = True
        if counter[Counter.ARRIVED] < inputs.submit.size and inputs.submit[counter[Counter.ARRIVED]] < time:
            time = inputs.submit[counter[Counter.ARRIVED]]
            completes = False
        if time == np.inf:
            return Status.DONE if counter[Counter.COMPLETED] == inputs.submit.size else Status.STUCK
        if time > inputs.time_limit:
            _advance(inputs, state, inputs.time_limit)
            return Status.TIME
        _advance(inputs, state, time)
        settles = not multi_site
        if completes:
            job = remove(inputs, state, NEXT)
            end_run(inputs, state, job)
            counter[Counter.COMPLETED] += 1
            code = -1 - job
            if multi_site:
                freed_multisite(inputs, state, job)
            elif counter[Counter.RUNNING] > 0 and state.finish[state.heap[0]] == time:
                settles = False  # settle only after the last of the jobs that end at this instant
        else:
            job = counter[Counter.ARRIVED]
            counter[Counter.ARRIVED] = job + 1
            code = job
            if multi_site:
                arrive_multisite(inputs, state, job)
            else:
                arrive_queued(inputs, state, job)
        if settles:
            settle(inputs, state)
        _note_event(inputs, state, code)
    return Status.DONE if counter[Counter.COMPLETED] == inputs.submit.size else Status.COMPLETIONS
