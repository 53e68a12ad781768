"""Waiting jobs of a site in the order of its discipline: who starts, who migrates, and who is preempted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part
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
from fedsched.gang.state import (
    NONE,
    Claim,
    Clock,
    Counter,
    Discipline,
    Grid,
    add_load,
    begin_run,
    drop_load,
    end_run,
    note_gone,
    note_waiting,
    remove,
)

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

BY_KEY, BY_ARRIVAL = constant(0), constant(1)  # the two orders in which a site's waiting jobs are listed


# ---- the lists of waiting jobs ------------------------------------------------------------------------------------


@inlined
def _precedes(inputs: Inputs, state: State, which: int, a: int, b: int) -> bool:
    # A row's number stands for (arrival, id).
    if state.aged[a] != state.aged[b]:
        return state.aged[a] > state.aged[b]
    if inputs.rules.preempts == 1 and inputs.local[a] != inputs.local[b]:
        return inputs.local[a] > inputs.local[b]
    if which == BY_KEY:
        rule = inputs.rules.discipline
        if rule == Discipline.AFCFS and inputs.size[a] != inputs.size[b]:
            return inputs.size[a] < inputs.size[b]
        if rule == Discipline.LJFS and inputs.size[a] != inputs.size[b]:
            return inputs.size[a] > inputs.size[b]
        if rule == Discipline.LXF and state.key[a] != state.key[b]:
            return state.key[a] > state.key[b]
    return a < b


@part
def _insert(inputs: Inputs, state: State, which: int, job: int, after: int) -> None:
    """Put a job behind the last one that precedes it, looking from `after` backwards."""
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
def _list(inputs: Inputs, state: State, job: int) -> None:
    site = state.site[job]
    _insert(inputs, state, BY_KEY, job, state.last_job[BY_KEY, site])
    if inputs.rules.by_head == 1:
        _insert(inputs, state, BY_ARRIVAL, job, state.last_job[BY_ARRIVAL, site])


@part
def _unlist(inputs: Inputs, state: State, job: int) -> None:
    _take_out(state, BY_KEY, job)
    if inputs.rules.by_head == 1:
        _take_out(state, BY_ARRIVAL, job)


@part
def _sort_by_expansion(inputs: Inputs, state: State, site: int) -> None:
    """Order a site's jobs by (pt + wait)/pt as it is now; they stand nearly in this order already."""
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
def _wait(inputs: Inputs, state: State, job: int) -> None:
    """Let a placed job wait at its processors."""
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        add_load(inputs, state, state.placed[task], job)
    note_waiting(state, state.site[job], inputs.size[job])
    _list(inputs, state, job)


@part
def _start(inputs: Inputs, state: State, job: int) -> None:
    """Start a waiting job where its tasks are placed."""
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
    _unlist(inputs, state, job)
    begin_run(inputs, state, job)


@inlined
def _open(inputs: Inputs, state: State, p: int, job: int) -> bool:
    """Return whether a processor is idle and open to this job: reserved ones are to their gang and to priority jobs."""
    if state.running[p] != NONE:
        return False
    if state.held_for[p] == NONE or state.held_for[p] == job:
        return True
    return inputs.rules.preempts == 1 and job != NONE and inputs.local[job] == 1


@part
def _tasks_open(inputs: Inputs, state: State, job: int) -> int:
    count = 0
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if _open(inputs, state, state.placed[task], job):
            count += 1
    return count


@part
def _has_task_open(inputs: Inputs, state: State, job: int) -> bool:
    for task in range(inputs.offset[job], inputs.offset[job + 1]):
        if _open(inputs, state, state.placed[task], job):
            return True
    return False


@part
def _pass(inputs: Inputs, state: State, site: int, which: int) -> bool:
    """Return whether a job of the site has started; every idle processor is then claimed by its queue's first job."""
    rules, size = inputs.rules, inputs.size
    state.counter[Counter.STAMP] += 1
    stamp = state.counter[Counter.STAMP]
    claimable = 0  # idle processors where something waits: when all are claimed or taken, nobody else can start
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
            if _open(inputs, state, p, job):
                opened += 1
                if state.claimed[p] != stamp:
                    claims += 1
            elif not claims_matter:
                break
        if (claims if rules.claim == Claim.HOLD else opened) == size[job]:
            _start(inputs, state, job)
            claimable -= claims if rules.claim == Claim.HOLD else size[job]
            started = True
        elif claims > 0 and claims_matter:
            for task in range(inputs.offset[job], inputs.offset[job + 1]):
                p = state.placed[task]
                if _open(inputs, state, p, job) and state.claimed[p] != stamp:
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
    """Return whether a local job has overtaken the gang that stands first in its queue."""
    started = False
    job = state.first_job[BY_KEY, site]
    while job != NONE:
        following = state.next_job[BY_KEY, job]
        if inputs.local[job] == 1:
            p = state.placed[inputs.offset[job]]
            behind_gang = state.claimed[p] == stamp and inputs.local[state.claimer[p]] == 0
            if behind_gang and _open(inputs, state, p, job) and may_overtake(inputs, state, job, p, state.claimer[p]):
                state.counter[Counter.BACKFILLED] += 1
                _start(inputs, state, job)
                started = True
        job = following
    return started


@part
def _discipline_pass(inputs: Inputs, state: State, site: int) -> bool:
    """Return whether the site's discipline has started a job."""
    if inputs.rules.discipline == Discipline.LXF:
        _sort_by_expansion(inputs, state, site)
    if inputs.rules.by_head == 1 and _pass(inputs, state, site, BY_ARRIVAL):
        return True
    return _pass(inputs, state, site, BY_KEY)


# ---- migration ----------------------------------------------------------------------------------------------------


@part
def _open_processors(inputs: Inputs, state: State, site: int) -> int:
    count = 0
    for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
        if _open(inputs, state, p, NONE):
            count += 1
    return count


@inlined
def _first_at(inputs: Inputs, state: State, p: int) -> int:
    # The waiting job that stands first at an idle processor and may move, as the site's last pass has found it.
    job = state.claimer[p]
    if not _open(inputs, state, p, NONE) or job == NONE or state.reserved[job] == 1:
        return NONE
    return job


@part
def _start_migrated(inputs: Inputs, state: State, job: int, moves: int) -> None:
    """Start a gang that has just migrated, and count whom it overtakes."""
    state.migrated[job] = 1
    state.migrations[job] += 1
    state.counter[Counter.MOVED_TASKS] += moves
    site = state.site[job]
    _start(inputs, state, job)
    if inputs.rules.aging == 0:
        return
    other = state.first_job[BY_KEY, site]
    while other != NONE:
        following = state.next_job[BY_KEY, other]
        if other < job and state.aged[other] == 0:
            state.overtaken[other] += 1
            if state.overtaken[other] >= inputs.rules.aging:
                _unlist(inputs, state, other)
                state.aged[other] = 1
                state.aged_at[site] += 1
                _list(inputs, state, other)
        other = following


@part
def _migrate_locally(inputs: Inputs, state: State, site: int) -> bool:
    """Return whether a gang has started by moving its tasks from busy processors to idle ones (Algorithm 8)."""
    idle = _open_processors(inputs, state, site)
    if idle == 0:
        return False
    first, last = inputs.site_first[site], inputs.site_first[site + 1]
    state.counter[Counter.STAMP] += 1
    stamp = state.counter[Counter.STAMP]
    best, fewest = NONE, 0
    for p in range(first, last):
        job = _first_at(inputs, state, p)
        if job == NONE or state.seen[job] == stamp or inputs.size[job] > idle:
            continue
        state.seen[job] = stamp
        if state.aged_at[site] > 0 and state.aged[job] == 0:
            continue
        moves = inputs.size[job] - _tasks_open(inputs, state, job)
        if best == NONE or moves < fewest or (moves == fewest and inputs.rank[job] < inputs.rank[best]):
            best, fewest = job, moves
    if best == NONE:
        return False
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        state.claimed[state.placed[task]] = stamp  # a sibling is there
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        p = state.placed[task]
        if _open(inputs, state, p, best):
            continue
        target = NONE
        for q in range(first, last):
            fewer = target == NONE or state.queued[q] < state.queued[target]
            if fewer and state.claimed[q] != stamp and _open(inputs, state, q, NONE):
                target = q
        drop_load(inputs, state, p, best)
        state.placed[task] = target
        add_load(inputs, state, target, best)
        state.claimed[target] = stamp
    state.counter[Counter.LOCAL_MOVES] += 1
    _start_migrated(inputs, state, best, fewest)
    return True


@part
def _target_site(inputs: Inputs, state: State, job: int) -> int:
    """Return the other site with the fewest idle processors that hold the job, or NONE."""
    best, fewest = NONE, 0
    for s in range(inputs.site_first.size - 1):
        if s == state.site[job] or (state.aged_at[s] > 0 and state.aged[job] == 0):
            continue
        idle = _open_processors(inputs, state, s)
        if idle >= inputs.size[job] and (best == NONE or idle < fewest):
            best, fewest = s, idle
    return best


@part
def _migrate_externally(inputs: Inputs, state: State) -> bool:
    """Return whether a gang has started by moving to another site as a whole (Algorithm 9).

    It is the smallest of those that have a task on an idle processor and fit the idle processors elsewhere.
    """
    best, target = NONE, NONE
    for home in range(inputs.site_first.size - 1):
        room = 0  # idle processors of the roomiest other site
        for s in range(inputs.site_first.size - 1):
            if s != home:
                room = max(room, state.idle[s])
        job = state.first_job[BY_KEY, home] if state.idle[home] > 0 and room > 0 else NONE
        while job != NONE:
            size = inputs.size[job]
            smaller = size <= room and (
                best == NONE or size < inputs.size[best] or (size == inputs.size[best] and job < best)
            )
            may_move = state.reserved[job] == 0 and (state.aged_at[home] == 0 or state.aged[job] == 1)
            may_leave = inputs.home[job] == NONE  # a job that was submitted to a site stays there
            if smaller and may_move and may_leave and _has_task_open(inputs, state, job):
                site = _target_site(inputs, state, job)
                if site != NONE:
                    best, target = job, site
            job = state.next_job[BY_KEY, job]
    if best == NONE:
        return False
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        drop_load(inputs, state, state.placed[task], best)
    note_gone(state, state.site[best], inputs.size[best])
    _unlist(inputs, state, best)
    if state.aged[best] == 1:
        state.aged_at[state.site[best]] -= 1
        state.aged_at[target] += 1
    state.site[best] = target
    q = inputs.site_first[target]
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        while not _open(inputs, state, q, NONE):
            q += 1
        state.placed[task] = q
        q += 1
    _wait(inputs, state, best)
    state.counter[Counter.EXTERNAL_MOVES] += 1
    _start_migrated(inputs, state, best, inputs.size[best])
    return True


@part
def settle(inputs: Inputs, state: State) -> None:
    """Start all that can start: at every site the discipline, then local migration; then external migration; again."""
    changed = True
    while changed:
        changed = False
        for site in range(inputs.site_first.size - 1):
            if state.idle[site] == 0 or state.first_job[BY_KEY, site] == NONE:
                continue
            for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
                state.claimer[p] = NONE
            if _discipline_pass(inputs, state, site):
                changed = True
            if inputs.rules.local_migration == 1 and _migrate_locally(inputs, state, site):
                changed = True
        if not changed and inputs.rules.external_migration == 1:
            changed = _migrate_externally(inputs, state)


# ---- arrivals and preemption --------------------------------------------------------------------------------------


@part
def _preempt(inputs: Inputs, state: State, job: int) -> None:
    """Stop all tasks of a running gang; it waits where it ran, from the start again or for the rest of its work."""
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
    _wait(inputs, state, job)


@part
def _start_over(inputs: Inputs, state: State, job: int) -> bool:
    """Return whether a local job of the priority class has started: on an idle processor, or in a gang's place."""
    first, last = local_range(inputs, state, job)
    p = choose_processor(inputs, state, job, first, last, IDLE)
    if p == NONE:
        p = choose_processor(inputs, state, job, first, last, RUNS_GANG)
        if p == NONE:
            return False
        _preempt(inputs, state, state.running[p])
    state.placed[inputs.offset[job]] = p
    state.site[job] = inputs.site_of[p]
    begin_run(inputs, state, job)
    return True


@part
def arrive_queued(inputs: Inputs, state: State, job: int) -> None:
    """Send an arriving job to the queues of a site; local jobs of the priority class start at once where they can."""
    if inputs.local[job] == 1:
        if inputs.rules.preempts == 1 and _start_over(inputs, state, job):
            return
        first, last = local_range(inputs, state, job)
        p = choose_processor(inputs, state, job, first, last, ANY)
        state.placed[inputs.offset[job]] = p
        state.site[job] = inputs.site_of[p]
    else:
        site = choose_site(inputs, state, job, inputs.rules.grid == Grid.RANDOM)
        state.site[job] = site
        place_gang(inputs, state, job, inputs.site_first[site], inputs.site_first[site + 1])
    _wait(inputs, state, job)
