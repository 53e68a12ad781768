"""The waiting jobs of each site, in lists ordered by its discipline, and insertion and removal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.gang.state import (
    NONE,
    Clock,
    Discipline,
    Preempts,
    add_load,
    begin_run,
    drop_load,
    note_gone,
    note_waiting,
)

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

BY_KEY, BY_ARRIVAL = constant(0), constant(1)  # the two orders in which a site's waiting jobs are listed


# ---- the lists of waiting jobs ------------------------------------------------------------------------------------


@inlined
def _precedes(inputs: Inputs, state: State, which: int, a: int, b: int) -> bool:
    # Rows are in order of (arrival, id).
    if inputs.rules.preempts != Preempts.NEVER and inputs.local[a] != inputs.local[b]:
        return inputs.local[a] > inputs.local[b]
    if state.aged[a] != state.aged[b]:
        return state.aged[a] > state.aged[b]
    if which == BY_KEY:
        rule = inputs.rules.discipline
        if rule == Discipline.AFCFS and inputs.size[a] != inputs.size[b]:
            return inputs.size[a] < inputs.size[b]
        if rule == Discipline.LJFS and inputs.size[a] != inputs.size[b]:
            return inputs.size[a] > inputs.size[b]
        if rule == Discipline.LXF and state.key[a] != state.key[b]:
            return state.key[a] > state.key[b]
        if rule == Discipline.SXF and state.key[a] != state.key[b]:
            return state.key[a] < state.key[b]
    return a < b


@part
def _insert(inputs: Inputs, state: State, which: int, job: int, after: int) -> None:
    """Insert a job into its site's list `which`, behind the last job that precedes it, searching back from `after`."""
    site = state.site[job]
    while after != NONE and _precedes(inputs, state, which, job, after):
        after = state.previous_job[which, after]
    before = state.first_job[which, site] if after == NONE else state.next_job[which, after]
    state.previous_job[which, job] = after
    state.next_job[which, job] = before
    if after == NONE:
        state.first_job[which, site] = job
    else:
        state.next_job[which, after] = job
    if before == NONE:
        state.last_job[which, site] = job
    else:
        state.previous_job[which, before] = job


@part
def _take_out(state: State, which: int, job: int) -> None:
    site = state.site[job]
    after, before = state.previous_job[which, job], state.next_job[which, job]
    if after == NONE:
        state.first_job[which, site] = before
    else:
        state.next_job[which, after] = before
    if before == NONE:
        state.last_job[which, site] = after
    else:
        state.previous_job[which, before] = after


@part
def list_job(inputs: Inputs, state: State, job: int) -> None:
    """Insert a waiting job into its site's lists, each at its place in the list's order."""
    site = state.site[job]
    _insert(inputs, state, BY_KEY, job, state.last_job[BY_KEY, site])
    if inputs.rules.by_head == 1:
        _insert(inputs, state, BY_ARRIVAL, job, state.last_job[BY_ARRIVAL, site])


@part
def unlist_job(inputs: Inputs, state: State, job: int) -> None:
    """Remove a job from its site's lists."""
    _take_out(state, BY_KEY, job)
    if inputs.rules.by_head == 1:
        _take_out(state, BY_ARRIVAL, job)


@part
def sort_by_expansion(inputs: Inputs, state: State, site: int) -> None:
    """Compute the present (pt + wait)/pt of a site's waiting jobs, and sort its list by it (LXF or SXF)."""
    now = state.clock[Clock.NOW]
    job = state.first_job[BY_KEY, site]
    while job != NONE:
        pt = inputs.service[job]
        state.key[job] = (pt + now - inputs.submit[job]) / pt if pt > 0.0 else np.inf
        following, after = state.next_job[BY_KEY, job], state.previous_job[BY_KEY, job]
        if after != NONE and _precedes(inputs, state, BY_KEY, job, after):
            _take_out(state, BY_KEY, job)
            _insert(inputs, state, BY_KEY, job, after)
        job = following


# ---- waiting, starting ---------------------------------------------------------------------------------------------


@part
def wait_at_queues(inputs: Inputs, state: State, job: int) -> None:
    """Queue a placed job at its processors, and enter it in its site's counts and lists of waiting jobs."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        add_load(inputs, state, state.placed[task], job)
    note_waiting(state, state.site[job], inputs.size[job])
    list_job(inputs, state, job)


@part
def start_waiting(inputs: Inputs, state: State, job: int) -> None:
    """Start a waiting job where its tasks are placed, and remove it from queues, lists and reservations."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        p = state.placed[task]
        drop_load(inputs, state, p, job)
        if state.held_for[p] == job:
            state.held_for[p] = NONE
    state.reserved[job] = 0
    if state.aged[job] == 1:
        state.aged[job] = 0
        state.aged_at[state.site[job]] -= 1
    note_gone(state, state.site[job], inputs.size[job])
    unlist_job(inputs, state, job)
    begin_run(inputs, state, job)


@inlined
def open_to_job(inputs: Inputs, state: State, p: int, job: int) -> bool:
    """Return whether a processor is idle and open to a job.

    A processor that is reserved for a gang is open only to that gang, and to local jobs with priority.
    """
    if state.running[p] != NONE:
        return False
    if state.held_for[p] == NONE or state.held_for[p] == job:
        return True
    return inputs.rules.preempts != Preempts.NEVER and job != NONE and inputs.local[job] == 1


@part
def tasks_open(inputs: Inputs, state: State, job: int) -> int:
    """Return how many of a job's tasks are placed at processors that are open to it."""
    count = 0
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if open_to_job(inputs, state, state.placed[task], job):
            count += 1
    return count


@part
def has_task_open(inputs: Inputs, state: State, job: int) -> bool:
    """Return whether any of a job's tasks is placed at a processor that is open to it."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if open_to_job(inputs, state, state.placed[task], job):
            return True
    return False
