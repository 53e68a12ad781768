"""Local and external migration of waiting gangs, and the loop that starts every job that can start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.gang.disciplines import discipline_pass
from fedsched.gang.state import NONE, Counter, add_load, drop_load, note_gone
from fedsched.gang.waiting import (
    BY_KEY,
    has_task_open,
    list_job,
    open_to_job,
    start_waiting,
    tasks_open,
    unlist_job,
    wait_at_queues,
)

if TYPE_CHECKING:
    from fedsched.gang.state import Inputs, State

NOTHING = constant(0)


@part
def _open_processors(inputs: Inputs, state: State, site: int) -> int:
    count = 0
    for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
        if open_to_job(inputs, state, p, NONE):
            count += 1
    return count


@inlined
def _first_at(inputs: Inputs, state: State, p: int) -> int:
    # The job at the head of an idle processor's queue, as the site's last pass found it, if it may move.
    job = state.claimer[p]
    if not open_to_job(inputs, state, p, NONE) or job == NONE or state.reserved[job] == 1:
        return NONE
    return job


@part
def _start_migrated(inputs: Inputs, state: State, job: int, moves: int) -> None:
    """Start a gang that has just migrated, and count it as overtaking the earlier jobs of its site.

    A job that `aging` migrated gangs have overtaken moves to the front of its lists.
    """
    state.migrated[job] = 1
    state.migrations[job] += 1
    state.counter[Counter.MOVED_TASKS] += moves
    site = state.site[job]
    start_waiting(inputs, state, job)
    if inputs.rules.aging == 0:
        return
    other = state.first_job[BY_KEY, site]
    while other != NONE:
        following = state.next_job[BY_KEY, other]
        if other < job and state.aged[other] == 0:
            state.overtaken[other] += 1
            if state.overtaken[other] >= inputs.rules.aging:
                unlist_job(inputs, state, other)
                state.aged[other] = 1
                state.aged_at[site] += 1
                list_job(inputs, state, other)
        other = following


@part
def _migrate_locally(inputs: Inputs, state: State, site: int) -> bool:
    """Start the waiting gang that needs the fewest moves of tasks to idle processors of its site (Algorithm 8).

    Return whether there was one.
    """
    idle = _open_processors(inputs, state, site)
    if idle == 0:
        return False
    first, last = inputs.site_first[site], inputs.site_first[site + 1]
    state.counter[Counter.STAMP] += 1
    stamp = state.counter[Counter.STAMP]
    best, fewest = NONE, NOTHING
    for p in range(first, last):
        job = _first_at(inputs, state, p)
        if job == NONE or state.seen[job] == stamp or inputs.size[job] > idle:
            continue
        state.seen[job] = stamp
        if state.aged_at[site] > 0 and state.aged[job] == 0:
            continue
        moves = inputs.size[job] - tasks_open(inputs, state, job)
        if best == NONE or moves < fewest or (moves == fewest and inputs.rank[job] < inputs.rank[best]):
            best, fewest = job, moves
    if best == NONE:
        return False
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        state.claimed[state.placed[task]] = stamp  # taken by another task of the gang
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        p = state.placed[task]
        if open_to_job(inputs, state, p, best):
            continue
        target = NONE
        for q in range(first, last):
            fewer = target == NONE or state.queued[q] < state.queued[target]
            if fewer and state.claimed[q] != stamp and open_to_job(inputs, state, q, NONE):
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
    """Return the other site with the fewest idle processors of those with enough for the job; NONE if there is none."""
    best, fewest = NONE, NOTHING
    for s in range(inputs.site_first.size - 1):
        if s == state.site[job] or (state.aged_at[s] > 0 and state.aged[job] == 0):
            continue
        idle = _open_processors(inputs, state, s)
        if idle >= inputs.size[job] and (best == NONE or idle < fewest):
            best, fewest = s, idle
    return best


@part
def _migrate_externally(inputs: Inputs, state: State) -> bool:
    """Move one waiting gang to another site as a whole, and start it (Algorithm 9); return whether there was one.

    It is the smallest gang with a task at an idle processor that fits the idle processors of another site.
    """
    best, target = NONE, NONE
    for home in range(inputs.site_first.size - 1):
        room = 0  # the most idle processors of any other site
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
            if smaller and may_move and may_leave and has_task_open(inputs, state, job):
                site = _target_site(inputs, state, job)
                if site != NONE:
                    best, target = job, site
            job = state.next_job[BY_KEY, job]
    if best == NONE:
        return False
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        drop_load(inputs, state, state.placed[task], best)
    note_gone(state, state.site[best], inputs.size[best])
    unlist_job(inputs, state, best)
    if state.aged[best] == 1:
        state.aged_at[state.site[best]] -= 1
        state.aged_at[target] += 1
    state.site[best] = target
    q = inputs.site_first[target]
    for task in range(inputs.offset[best], inputs.offset[best + 1]):
        while not open_to_job(inputs, state, q, NONE):
            q += 1
        state.placed[task] = q
        q += 1
    wait_at_queues(inputs, state, best)
    state.counter[Counter.EXTERNAL_MOVES] += 1
    _start_migrated(inputs, state, best, inputs.size[best])
    return True


@part
def settle(inputs: Inputs, state: State) -> None:
    """Repeat until no job starts: each site's discipline and local migration, then external migration."""
    changed = True
    while changed:
        changed = False
        for site in range(inputs.site_first.size - 1):
            if state.idle[site] == 0 or state.first_job[BY_KEY, site] == NONE:
                continue
            for p in range(inputs.site_first[site], inputs.site_first[site + 1]):
                state.claimer[p] = NONE
            if discipline_pass(inputs, state, site):
                changed = True
            if inputs.rules.local_migration == 1 and _migrate_locally(inputs, state, site):
                changed = True
        if not changed and inputs.rules.external_migration == 1:
            changed = _migrate_externally(inputs, state)
