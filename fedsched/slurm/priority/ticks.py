"""What happens to priorities: jobs are submitted, use decays and grows at ticks, all priorities are taken anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.slurm.priority.classic import look, share
from fedsched.slurm.priority.fair_tree import rank
from fedsched.slurm.priority.priorities import Count, Factor, Moment, Switch, Weight

if TYPE_CHECKING:
    from fedsched.slurm.priority.priorities import Floats, Ints, Priorities

HIGHEST = 4294967295.0  # of 32 bits
OF_FIRST = 4294901759.0  # what priority/basic gives the first job that is not nice; each later one has one less
LEAST_LEFT = 2.2250738585072014e-308  # of a use, whatever its age
NOBODY = constant(0)


@kernel
def first_priority(priorities: Priorities, job: int, now: float) -> float:
    """Let a job wait that is submitted, and return its priority.

    Its age counts from now on, unless `accrue` says since when, or that it does not yet: infinite.
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
    """Return when the next tick is due; never, where priorities are the order of ids."""
    if priorities.switch[Switch.MULTIFACTOR] == 0:
        return np.inf
    return priorities.moment[Moment.NEXT]


@kernel
def tick(priorities: Priorities, now: float, running: Ints, many: int, start: Floats) -> int:
    """Let use decay, add that of the first `many` jobs of `running`, and compute the priorities of all who wait.

    Whoever has a start, or has left, waits no more. Completing jobs are not among those that run.
    """
    if priorities.switch[Switch.MULTIFACTOR] == 0:
        return 0
    tree, last = priorities.tree, priorities.moment[Moment.LAST]
    _forget(priorities, now)
    fair_tree = priorities.switch[Switch.FAIR_TREE] == 1
    if not fair_tree:
        look(tree)
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
        rank(priorities)
        for i in range(waiting):
            _value(priorities, priorities.waiting[i], now)
    elif not np.isnan(last):  # in one turn: who stands before somebody has been charged when that one is looked at
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
def ended(priorities: Priorities, job: int, now: float, start: Floats) -> int:
    """Charge what a job ran after the last tick, where ends are charged; return whether they are."""
    if priorities.switch[Switch.CHARGES_ENDS] == 0 or priorities.switch[Switch.MULTIFACTOR] == 0:
        return 0
    _charge(priorities, job, priorities.moment[Moment.LAST], now, start)
    return 1


@kernel
def left(priorities: Priorities, job: int) -> int:
    """Let a job wait no more that is cancelled before it starts; return how many still do."""
    if priorities.is_waiting[job] == 1:
        kept = 0
        for i in range(priorities.counts[Count.WAITING]):
            if priorities.waiting[i] != job:
                priorities.waiting[kept] = priorities.waiting[i]
                kept += 1
        priorities.is_waiting[job], priorities.counts[Count.WAITING] = 0, kept
    return priorities.counts[Count.WAITING]


@kernel
def follows(priorities: Priorities, job: int, other: int) -> float:
    """Let a task wait in the place of another one of its array, and return its priority."""
    priorities.accrue[job], priorities.value[job] = priorities.accrue[other], priorities.value[other]
    if priorities.is_waiting[job] == 0:
        priorities.is_waiting[job] = 1
        priorities.waiting[priorities.counts[Count.WAITING]] = job
        priorities.counts[Count.WAITING] += 1
    return priorities.value[job]


@kernel
def factors(priorities: Priorities, job: int, now: float, row: Floats) -> float:
    """Write what a job's priority is the sum of, by `Factor`; return the sum."""
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
    return share(priorities, association) * priorities.weight[Weight.FAIRSHARE]


@part
def _value(priorities: Priorities, job: int, now: float) -> None:
    # Takes a job's priority anew: a whole number from 1 to the highest of 32 bits.
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
    # Adds what a job used since the last tick, or its start, to its association and all above; no more than its limit.
    association = priorities.association[job]
    if association < 0:
        return
    begin = start[job] if np.isnan(last) or start[job] > last else last
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
    # Keeps those who wait, in the order of their ids; returns how many they are.
    kept = NOBODY
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
    # By insertion: who waits or runs stands almost in order.
    for i in range(1, many):
        one, at = line[i], i
        while at > 0 and line[at - 1] > one:
            line[at] = line[at - 1]
            at -= 1
        line[at] = one
