"""The events that change Slurm's priorities: submits, ends of jobs, and ticks.

At a tick, usage decays, running jobs are charged for the time since the last tick, and all priorities are computed
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.slurm.priority.fair_share import classic_factor, rank_users, update_effective_usage
from fedsched.slurm.priority.priorities import Count, Factor, Moment, Switch, Weight

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Floats, Ints, Priorities

HIGHEST = 4294967295.0  # 32 bits
OF_FIRST = 4294901759.0  # the priority of the first job with nice 0 under priority/basic; each later one has one less
LEAST_LEFT = 2.2250738585072014e-308  # the least decay factor, however long ago the last tick was
NO_JOBS = constant(0)


@kernel
def first_priority(priorities: Priorities, job: int, now: float) -> float:
    """Add a submitted job to the waiting jobs, compute its first priority and return that.

    Its age counts from now on unless `accrue` is set: to another time, or to infinity if its age does not count yet.
    """
    if np.isnan(priorities.accrue[job]):
        priorities.accrue[job] = now
    if priorities.is_waiting[job] == 0:
        priorities.is_waiting[job] = 1
        priorities.waiting[priorities.counts[Count.WAITING]] = job
        priorities.counts[Count.WAITING] += 1
    priorities.value[job] = 0.0
    _value(priorities, job, now)
    return priorities.value[job]


@kernel
def next_tick(priorities: Priorities) -> float:
    """Return the time of the next tick; infinity under priority/basic."""
    if priorities.switch[Switch.MULTIFACTOR] == 0:
        return np.inf
    return priorities.moment[Moment.NEXT]


@kernel
def tick(priorities: Priorities, now: float, running: Ints, many: int, start: Floats) -> int:
    """Do a tick: let usage decay, charge running jobs, recompute the priorities of waiting jobs; return how many wait.

    The running jobs are the first `many` of `running`, without completing ones. Jobs that have a start or have left are
    dropped from the waiting ones. Under priority/basic do nothing and return 0.
    """
    if priorities.switch[Switch.MULTIFACTOR] == 0:
        return 0
    tree, last = priorities.tree, priorities.moment[Moment.LAST]
    _forget(priorities, now)
    fair_tree = priorities.switch[Switch.FAIR_TREE] == 1
    if not fair_tree:
        update_effective_usage(tree)
    if not np.isnan(last) and now > last:
        left = max(priorities.weight[Weight.DECAY] ** (now - last), LEAST_LEFT)
        for k in range(tree.usage.size):
            tree.usage[k] *= left
    for i in range(many):
        priorities.order[i] = running[i]
    _sort(priorities.order, many)
    waiting = _still_waiting(priorities, start)
    if fair_tree:
        for i in range(many):
            _charge(priorities, priorities.order[i], last, now, start)
        rank_users(priorities)
        for i in range(waiting):
            _value(priorities, priorities.waiting[i], now)
    elif not np.isnan(last):  # one loop by id: running jobs with lower ids are charged before a priority is computed
        i = 0
        for w in range(waiting):
            while i < many and priorities.order[i] < priorities.waiting[w]:
                _charge(priorities, priorities.order[i], last, now, start)
                i += 1
            _value(priorities, priorities.waiting[w], now)
        while i < many:
            _charge(priorities, priorities.order[i], last, now, start)
            i += 1
    priorities.moment[Moment.LAST] = now
    priorities.moment[Moment.NEXT] = now + priorities.weight[Weight.PERIOD]
    return waiting


@kernel
def charge_ended(priorities: Priorities, job: int, now: float, start: Floats) -> int:
    """Charge an ended job's association for its run time since the last tick.

    Return 1; if ends are not charged, by the settings, do nothing and return 0.
    """
    if priorities.switch[Switch.CHARGES_ENDS] == 0 or priorities.switch[Switch.MULTIFACTOR] == 0:
        return 0
    _charge(priorities, job, priorities.moment[Moment.LAST], now, start)
    return 1


@kernel
def remove_cancelled(priorities: Priorities, job: int) -> int:
    """Remove a job that never started from the waiting jobs; return how many jobs still wait."""
    if priorities.is_waiting[job] == 1:
        kept = 0
        for i in range(priorities.counts[Count.WAITING]):
            if priorities.waiting[i] != job:
                priorities.waiting[kept] = priorities.waiting[i]
                kept += 1
        priorities.is_waiting[job], priorities.counts[Count.WAITING] = 0, kept
    return priorities.counts[Count.WAITING]


@kernel
def add_array_task(priorities: Priorities, job: int, other: int) -> float:
    """Add an array task to the waiting jobs, with the age and priority of the task `other`; return the priority."""
    priorities.accrue[job], priorities.value[job] = priorities.accrue[other], priorities.value[other]
    if priorities.is_waiting[job] == 0:
        priorities.is_waiting[job] = 1
        priorities.waiting[priorities.counts[Count.WAITING]] = job
        priorities.counts[Count.WAITING] += 1
    return priorities.value[job]


@kernel
def factors(priorities: Priorities, job: int, now: float, row: Floats) -> float:
    """Write the summands of a job's multifactor priority at `now` into `row`, indexed by `Factor`; return their sum."""
    for k in range(row.size):
        row[k] = priorities.fixed[job, k]
    row[Factor.AGE], row[Factor.FAIRSHARE] = _age(priorities, job, now), _fairshare(priorities, job)
    return _sum(row)


@inlined
def _sum(row: Floats) -> float:
    total = 0.0
    for k in range(row.size):
        total += row[k]
    return total


@inlined
def _age(priorities: Priorities, job: int, now: float) -> float:
    waited = now - priorities.accrue[job]
    if not waited > 0.0:
        return 0.0
    oldest = priorities.weight[Weight.MAX_AGE]
    return (waited / oldest if waited < oldest else 1.0) * priorities.weight[Weight.AGE]


@inlined
def _fairshare(priorities: Priorities, job: int) -> float:
    association = priorities.association[job]
    if association < 0 or priorities.weight[Weight.FAIRSHARE] == 0.0:
        return 0.0
    if priorities.switch[Switch.FAIR_TREE] == 1:
        return priorities.tree.factor[association] * priorities.weight[Weight.FAIRSHARE]
    return classic_factor(priorities, association) * priorities.weight[Weight.FAIRSHARE]


@part
def _value(priorities: Priorities, job: int, now: float) -> None:
    # Recomputes a job's priority: a whole number from 1 to the highest of 32 bits.
    if priorities.switch[Switch.MULTIFACTOR] == 0:
        value = OF_FIRST - priorities.number[job] + priorities.fixed[job, Factor.NICE]
        priorities.value[job] = min(max(value, 1.0), HIGHEST)
        return
    total = 0.0
    for k in range(priorities.fixed.shape[1]):
        if k == Factor.AGE:
            total += _age(priorities, job, now)
        elif k == Factor.FAIRSHARE:
            total += _fairshare(priorities, job)
        else:
            total += priorities.fixed[job, k]
    value = np.floor(min(max(total, 1.0), HIGHEST))
    if priorities.switch[Switch.ONLY_UP] == 0 or value > priorities.value[job]:
        priorities.value[job] = value


@part
def _charge(priorities: Priorities, job: int, last: float, now: float, start: Floats) -> None:
    # Charges a job's usage since the last tick or its start, up to its time limit, to its association and all above.
    association = priorities.association[job]
    if association < 0:
        return
    begin = max(0.0, start[job] if np.isnan(last) or start[job] > last else last)  # what was used before is not counted
    ran = min(now, start[job] + priorities.limit[job]) - begin
    if not ran > 0.0:
        return
    used = priorities.weight[Weight.DECAY] ** ran * ran * priorities.billing[job]
    while association >= 0:
        priorities.tree.usage[association] += used
        association = priorities.tree.parent[association]


@inlined
def _forget(priorities: Priorities, now: float) -> None:
    k = priorities.counts[Count.RESETS]
    if now >= priorities.resets[k]:
        priorities.tree.usage[:] = 0.0
        while now >= priorities.resets[k]:
            k += 1
        priorities.counts[Count.RESETS] = k


@inlined
def _still_waiting(priorities: Priorities, start: Floats) -> int:
    # Keeps the jobs that still wait, in the order of their ids; returns how many they are.
    kept = NO_JOBS
    for i in range(priorities.counts[Count.WAITING]):
        job = priorities.waiting[i]
        if priorities.is_waiting[job] == 1 and np.isnan(start[job]):
            priorities.waiting[kept] = job
            kept += 1
        else:
            priorities.is_waiting[job] = 0
    priorities.counts[Count.WAITING] = kept
    _sort(priorities.waiting, kept)
    return kept


@part
def _sort(line: Ints, many: int) -> None:
    # Insertion sort: the lists are almost in order.
    for i in range(1, many):
        one, at = line[i], i
        while at > 0 and line[at - 1] > one:
            line[at] = line[at - 1]
            at -= 1
        line[at] = one
