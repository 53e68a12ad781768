"""Kernels of a site's queueing discipline: passes over its waiting jobs, arrivals at its queues, and preemption."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import part
from fedsched.gang.dispatching import (
    ANY,
    IDLE,
    RUNS_GANG,
    choose_processor,
    choose_site,
    local_range,
    may_overtake,
    place_gang,
)
from fedsched.gang.state import NONE, Claim, Clock, Counter, Discipline, Grid, Preempts, begin_run, end_run, remove
from fedsched.gang.waiting import (
    BY_ARRIVAL,
    BY_KEY,
    open_to_job,
    sort_by_expansion,
    start_waiting,
    wait_at_queues,
)

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State


# ---- passes -------------------------------------------------------------------------------------------------------


@part
def _pass(inputs: Inputs, state: State, site: int, which: int) -> bool:
    """Start the site's waiting jobs that can start, in the order of list `which`; return whether any did.

    A job that cannot start claims its idle processors. Under `hold`, later jobs do not get claimed processors; local
    migration looks for the claims too.
    """
    rules, size = inputs.rules, inputs.size
    state.counter[Counter.STAMP] += 1
    stamp = state.counter[Counter.STAMP]
    claimable = 0  # idle processors with waiting tasks: once all are claimed or taken, no other job can start
    for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
        if state.running[p] == NONE and state.queued[p] > 0:
            claimable += 1
    claims_matter = rules.claim == Claim.HOLD or rules.local_migration == 1
    started = False
    job = state.first_job[which, site]
    while job != NONE and claimable > 0:
        following = state.next_job[which, job]
        opened = claims = 0
        for task in range(inputs.offset[job], inputs.offset[job + 1]):
            p = state.placed[task]
            if open_to_job(inputs, state, p, job):
                opened += 1
                if state.claimed[p] != stamp:
                    claims += 1
            elif not claims_matter:
                break
        if (claims if rules.claim == Claim.HOLD else opened) == size[job]:
            start_waiting(inputs, state, job)
            claimable -= claims if rules.claim == Claim.HOLD else size[job]
            started = True
        elif claims > 0 and claims_matter:
            for task in range(inputs.offset[job], inputs.offset[job + 1]):
                p = state.placed[task]
                if open_to_job(inputs, state, p, job) and state.claimed[p] != stamp:
                    state.claimed[p] = stamp
                    state.claimer[p] = job
            if rules.claim == Claim.HOLD:
                claimable -= claims
        job = following
    if rules.discipline == Discipline.FCFS and rules.claim == Claim.HOLD:
        started = _backfill(inputs, state, site, stamp) or started
    return started


@part
def _backfill(inputs: Inputs, state: State, site: int, stamp: int) -> bool:
    """Start local jobs that may overtake the gang that has claimed their processor; return whether any started."""
    started = False
    job = state.first_job[BY_KEY, site]
    while job != NONE:
        following = state.next_job[BY_KEY, job]
        if inputs.local[job] == 1:
            p = state.placed[inputs.offset[job]]
            behind_gang = state.claimed[p] == stamp and inputs.local[state.claimer[p]] == 0
            if (
                behind_gang
                and open_to_job(inputs, state, p, job)
                and may_overtake(inputs, state, job, p, state.claimer[p])
            ):
                state.counter[Counter.BACKFILLED] += 1
                start_waiting(inputs, state, job)
                started = True
        job = following
    return started


@part
def discipline_pass(inputs: Inputs, state: State, site: int) -> bool:
    """Start the waiting jobs that the site's discipline lets start now; return whether there was one."""
    if inputs.rules.discipline in (Discipline.LXF, Discipline.SXF):
        sort_by_expansion(inputs, state, site)
    if inputs.rules.by_head == 1 and _pass(inputs, state, site, BY_ARRIVAL):
        return True
    return _pass(inputs, state, site, BY_KEY)


# ---- arrivals and preemption --------------------------------------------------------------------------------------


@part
def _preempt(inputs: Inputs, state: State, job: int) -> None:
    """Stop a running gang, and queue it at its processors again, to restart or to resume.

    The processors of a gang that had migrated are kept for it.
    """
    now = state.clock[Clock.NOW]
    if inputs.rules.resume == 1:
        ran = now - state.begun[job] - inputs.rules.latency - inputs.rules.latency_per_task * inputs.size[job]
        slowest = 0.0
        for task in range(inputs.offset[job], inputs.offset[job + 1]):
            slowest = max(slowest, inputs.slow[state.placed[task]])
        state.left[job] = max(state.left[job] - max(ran, 0.0) / slowest, 0.0)
    place = 0
    while state.heap[place] != job:
        place += 1
    remove(inputs, state, place)
    end_run(inputs, state, job)
    state.preemptions[job] += 1
    if state.migrated[job] == 1:
        state.reserved[job] = 1
        for task in range(inputs.offset[job], inputs.offset[job + 1]):
            state.held_for[state.placed[task]] = job
    wait_at_queues(inputs, state, job)


@part
def _start_over(inputs: Inputs, state: State, job: int) -> bool:
    """Start an arriving local job with priority, on an idle processor or on one of a gang that it preempts.

    Return whether it started.
    """
    first, last = local_range(inputs, state, job)
    whole = inputs.rules.preempts == Preempts.SYSTEM
    begin, end = inputs.site_first[0], inputs.site_first[-1]
    p = choose_processor(inputs, state, job, first, last, IDLE)
    if p == NONE and whole:
        p = choose_processor(inputs, state, job, begin, end, IDLE)
        if p != NONE and inputs.home[job] != NONE:  # not open to the job; but while it is idle, no gang is preempted
            return False
    if p == NONE:
        p = choose_processor(inputs, state, job, first, last, RUNS_GANG)
        if p == NONE and whole and inputs.home[job] == NONE:
            p = choose_processor(inputs, state, job, begin, end, RUNS_GANG)
        if p == NONE:
            return False
        _preempt(inputs, state, state.running[p])
    state.placed[inputs.offset[job]] = p
    state.site[job] = inputs.site_of[p]
    begin_run(inputs, state, job)
    return True


@part
def arrive_queued(inputs: Inputs, state: State, job: int) -> None:
    """Send an arriving job to the queues of a site; a local job with priority starts at once if it can."""
    if inputs.local[job] == 1:
        if inputs.rules.preempts != Preempts.NEVER and _start_over(inputs, state, job):
            return
        first, last = local_range(inputs, state, job)
        p = choose_processor(inputs, state, job, first, last, ANY)
        state.placed[inputs.offset[job]] = p
        state.site[job] = inputs.site_of[p]
    else:
        site = choose_site(inputs, state, job, inputs.rules.grid == Grid.RANDOM)
        state.site[job] = site
        place_gang(inputs, state, job, inputs.site_first[site], inputs.site_first[site + 1])
    wait_at_queues(inputs, state, job)
