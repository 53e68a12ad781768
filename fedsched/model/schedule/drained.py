"""Drain loss: node-seconds that idle before known downtimes because these keep waiting jobs from starting [47].

A finished schedule is replayed. From each time, the free nodes are followed into the future until they are too few for
a waiting job. If a downtime takes them at that time, the downtime keeps the job from starting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, kernel, part
from fedsched.core.least_tree import NO_PLACE, next_within, places_for, put
from fedsched.model.jobs.admission import usable_groups
from fedsched.model.jobs.demands import pool_needs
from fedsched.model.jobs.uneven import counted_tasks, counted_tasks_per_node, least_stretch
from fedsched.model.machine.counters import counters_of
from fedsched.model.schedule.eligible import ready_since
from fedsched.model.schedule.promises import held_from
from fedsched.model.time.downtimes import closures_of
from fedsched.model.time.reservations import in_reservations

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.constraints.holds import Holds
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Closures

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Waits = tuple[Ints, Floats, Floats]  # job, begin and end of each wait

ENDS, OPENS, CLOSES, WAITS = constant(0), constant(1), constant(2), constant(3)  # in this order at one instant
STARTS, LEAVES, NOTHING = constant(4), constant(5), constant(6)
NONE, FIRST = constant(-1), constant(0)
ABSENT = constant(np.iinfo(np.int64).max)  # tasks in a slot of the queue without a waiting job
BLOCK = constant(256)  # events per block of the index of future events


@by_reference
class Events(NamedTuple):
    """The events of a replay in the order of time; `which` is the index of a run, a downtime's row or a wait."""

    time: Floats
    kind: Ints
    which: Ints


@by_reference
class ReplayInput(NamedTuple):
    """The input of the replay, as arrays that a finished schedule and its downtimes give."""

    events: Events
    nodes: Ints  # of each group
    job: Ints  # of each wait; the first waits belong to the runs, in their order
    start: Floats  # of each run
    counts: Ints  # run × group
    closing: Ints  # of each closure: its group
    closed: Ints  # of each closure: its number of nodes
    begin: Floats
    known_from: Floats
    tasks: Ints  # of each job
    duration: Floats  # lower bound on its planned run time
    longest: Ints  # the waits outside reservations by `duration`, the longest first
    rank: Ints  # each wait's index in `longest`, or -1
    wanted: Ints  # places that the job needs: nodes, or tasks if nodes hold different numbers of its tasks [76]
    places: Ints  # job × group: places per node, 1 or the tasks that it holds; 0 = the job may not use the group
    needs: Ints  # job × pool
    first: Ints  # index of a job's first entry in `limit`, `weight` and `row`
    limit: Ints
    weight: Ints  # a lower bound if `row` is not -1
    row: Ints  # row of `of_node` if the amount depends on the placement, else -1
    of_node: Ints  # row × group: the amount per node
    begins: Ints  # closures by their begins
    started: Ints  # of each run: the index of its start among the events
    ended: Ints  # the index of its end, or -1


@by_reference
class ReplayState(NamedTuple):
    """The state of the replay at one time, which is changed in place, and workspace for looking into the future."""

    held: Ints  # of each group
    closed: Ints
    pools: Ints  # what is left of them
    limits: Ints
    waiting: Ints  # a tree over `rank`: the least number of tasks of the waiting jobs
    fits: Ints  # the waiting jobs that fit now and are followed
    least: Ints  # the least number of free nodes of each group so far
    ahead: Ints  # nodes held at the future instant
    shut: Ints  # nodes closed at the future instant
    before: Ints  # `least` just before the future instant
    lost: Ints  # nodes of each group that idle because of downtimes
    first: Ints  # [0]: the first future event: of a closure, or of a run that runs or waits now; -1 = none
    after: Ints  # of each event: the next one of these
    to_come: Ints  # 1 = the event is one of these
    block: Ints  # the number of these events in each block


OF_GROUPS = ("held", "closed", "least", "ahead", "shut", "before", "lost")  # one entry per group


def drain_loss(schedule: Schedule) -> float:
    """Return a schedule's drain loss: node-seconds that idle because known downtimes keep waiting jobs from starting.

    0 without downtimes or runs; NaN if jobs share nodes and there are downtimes.
    """
    closures = closures_of(schedule.federation)
    ended = np.flatnonzero(~np.isnan(schedule.start))
    if not closures.begin.size or not (ended.size + schedule.lost.runs):
        return 0.0
    if getattr(schedule, "shares_nodes", False):
        return np.nan  # counts of tasks do not say which nodes idle
    told, last = _replay_input(schedule, closures, ended)
    groups, waits = told.nodes.size, told.job.size
    of_groups = {name: np.zeros(groups, dtype=np.int64) for name in OF_GROUPS}
    now = ReplayState(
        pools=np.array([pool.amount for pool in schedule.federation.pools], dtype=np.int64),
        limits=np.array(counters_of(schedule.workload, schedule.federation).amount, dtype=np.int64),
        waiting=np.full(2 * places_for(told.longest.size), ABSENT),
        fits=np.zeros(waits, dtype=np.int64),
        first=np.full(1, NONE, dtype=np.int64),
        after=np.full(told.events.time.size, NONE, dtype=np.int64),
        to_come=np.zeros(told.events.time.size, dtype=np.int64),
        block=np.zeros(told.events.time.size // BLOCK + 1, dtype=np.int64),
        **of_groups,
    )
    return float(lost_until(told, now, schedule.t0, last))


def _replay_input(schedule: Schedule, closures: Closures, begun: Ints) -> tuple[ReplayInput, float]:
    workload, federation, lost = schedule.workload, schedule.federation, schedule.lost
    job = np.concatenate([begun, lost.job])
    start = np.concatenate([held_from(schedule)[begun], lost.start])
    end = np.concatenate([schedule.finish[begun], lost.end])
    latest = ready_since(schedule)
    since = latest[job]
    for run in np.lexsort((start, job)).tolist() if lost.runs else ():
        since[run], latest[job[run]] = latest[job[run]], end[run]
    since = np.fmin(since, start)  # a run from before t0 may have an unknown begin of its wait
    last = max(float(np.nanmax(end, initial=schedule.t0)), schedule.t0)
    gone = np.flatnonzero(schedule.cancelled)
    left = np.zeros(0) if workload.cancel_at is None else workload.cancel_at.times[gone]
    waited = latest[gone] < left if gone.size else np.zeros(0, dtype=np.bool_)
    gone, left = gone[waited], left[waited] if gone.size else left[:0]
    waited_since = latest[gone]
    if workload.held is not None:
        waits = (gone, waited_since, left)
        since, gone, waited_since, left = _waits_without_holds(workload.held, (job, since, start), waits)
    runs, known = np.arange(job.size), np.isfinite(closures.known_from)
    shut, open_ = np.arange(closures.begin.size), np.flatnonzero(np.isfinite(closures.end))
    parts = [
        (end, ENDS, runs), (start, STARTS, runs), (np.concatenate([since, waited_since]), WAITS, None),
        (left, LEAVES, job.size + np.arange(gone.size)), (closures.begin, CLOSES, shut),
        (closures.end[open_], OPENS, open_), (closures.known_from[known], NOTHING, shut[known]),
        (np.array([schedule.t0]), NOTHING, np.zeros(1)),
    ]  # fmt: skip
    times = np.concatenate([time for time, _, _ in parts])
    kinds = np.concatenate([np.full(time.size, kind) for time, kind, _ in parts])
    which = np.concatenate([np.arange(time.size) if rows is None else rows for time, _, rows in parts])
    order = np.lexsort((kinds, times))
    order = order[~np.isnan(times[order])]
    events = Events(times[order], kinds[order].astype(np.int64), which[order].astype(np.int64))
    started, ended = (_places(events, kind, job.size) for kind in (STARTS, ENDS))
    jobs = np.concatenate([job, gone])
    usable = usable_groups(workload, federation)
    counters = counters_of(workload, federation)
    by_job = np.argsort(counters.job, kind="stable")
    planned = np.asarray(schedule.reading.planned(workload) * least_stretch(workload, federation, usable))
    asked = np.flatnonzero(~in_reservations(workload, federation)[jobs])
    longest, rank = asked[np.argsort(-planned[jobs[asked]], kind="stable")], np.full(jobs.size, NONE, dtype=np.int64)
    rank[longest] = np.arange(longest.size)
    told = ReplayInput(
        events=events,
        nodes=np.array([group.count for group in federation.groups], dtype=np.int64),
        job=jobs,
        start=start,
        counts=np.ascontiguousarray(np.vstack([schedule.counts[begun], lost.counts])),
        closing=closures.group,
        closed=closures.nodes,
        begin=closures.begin,
        known_from=closures.known_from,
        tasks=np.array(workload.tasks, dtype=np.int64),
        duration=planned.astype(np.float64),
        longest=longest,
        rank=rank,
        wanted=np.array(counted_tasks(workload), dtype=np.int64),
        places=np.ascontiguousarray(usable * counted_tasks_per_node(workload, federation), dtype=np.int64),
        needs=np.ascontiguousarray(pool_needs(workload, federation), dtype=np.int64),
        first=np.searchsorted(counters.job[by_job], np.arange(len(workload) + 1)),
        limit=np.array(counters.counter[by_job], dtype=np.int64),
        weight=np.array(counters.weight[by_job], dtype=np.int64),
        row=np.array(counters.row[by_job], dtype=np.int64),
        of_node=np.ascontiguousarray(counters.of_node, dtype=np.int64),
        begins=np.argsort(closures.begin, kind="stable"),
        started=started,
        ended=ended,
    )
    return told, last


def _waits_without_holds(held: Holds, runs: Waits, waits: Waits) -> tuple[Floats, Ints, Floats, Floats]:
    """Return waits with holds cut out, because a held job does not wait [73].

    `runs` and `waits` ignore holds: waits that end with a run's start, and waits that end without one. The result is
    the begin of each run's last wait, and the jobs, begins and ends of all waits that end without a start.
    """
    since, vain = runs[1].copy(), []
    for k, (row, begin, start) in enumerate(zip(*(column.tolist() for column in runs), strict=True)):
        *before, (since[k], _) = held.unheld_intervals(row, begin, start)
        vain += [(row, *one) for one in before]
    for row, begin, end in zip(*(column.tolist() for column in waits), strict=True):
        vain += [(row, *one) for one in held.unheld_intervals(row, begin, end)]
    vain = [one for one in vain if one[1] < one[2]]
    rows, begins, ends = (np.array([one[k] for one in vain]) for k in range(3))
    return since, rows.astype(np.int64), begins, ends


def _places(events: Events, kind: int, runs: int) -> Ints:
    # The index of each run's event of this kind.
    found = np.full(runs, NONE, dtype=np.int64)
    at = np.flatnonzero(events.kind == kind)
    found[events.which[at]] = at
    return found


@kernel
def lost_until(told: ReplayInput, now: ReplayState, t0: float, last: float) -> float:
    """Replay the events and return the drain loss, in node-seconds, from t0 until the time `last`.

    `now` is the state, which is changed in place.
    """
    time, size = told.events.time, told.events.time.size
    total, waiting, coming, i = 0.0, 0, 0, 0
    for e in range(size - 1, -1, -1):
        if told.events.kind[e] in (CLOSES, OPENS):
            now.after[e], now.first[0] = now.first[0], e
            _note_event(now, e)
    while i < size and time[i] < last:
        instant = time[i]
        while coming < told.begins.size and told.begin[told.begins[coming]] <= instant:
            coming += 1
        while i < size and time[i] == instant:
            if now.first[0] == i:
                now.first[0] = now.after[i]
            waiting = _apply_event(told, now, i, waiting)
            i += 1
        if waiting > 0 and i < size and instant >= t0:
            begin = _next_known_closure(told, instant, coming)
            if begin < np.inf:
                total += _lost_now(told, now, instant, begin) * (min(time[i], last) - instant)
    return total


@inlined
def _amount_used(told: ReplayInput, k: int, run: int) -> int:
    # The amount of a limit that a run uses.
    if told.row[k] < 0:
        return told.weight[k]
    taken = 0
    for g in range(told.nodes.size):
        taken += told.counts[run, g] * told.of_node[told.row[k], g]
    return taken


@inlined
def _apply_event(told: ReplayInput, now: ReplayState, i: int, waiting: int) -> int:
    # Apply an event; return the number of jobs that wait after it.
    kind, which = told.events.kind[i], told.events.which[i]
    if kind == WAITS:
        if told.rank[which] != NONE:
            put(now.waiting, told.rank[which], told.tasks[told.job[which]])
        if which < told.start.size:
            for event in (told.started[which], told.ended[which]):
                if event > i:  # a job of no length: its end may have passed
                    _is_future_event(now, event)
        return waiting + 1
    if kind in (STARTS, LEAVES):
        if told.rank[which] != NONE:
            put(now.waiting, told.rank[which], ABSENT)
        waiting -= 1
    if kind in (STARTS, ENDS):
        sign = 1 if kind == STARTS else -1
        j = told.job[which]
        for g in range(told.nodes.size):
            now.held[g] += sign * told.counts[which, g]
        for p in range(now.pools.size):
            now.pools[p] -= sign * told.needs[j, p]
        for k in range(told.first[j], told.first[j + 1]):
            now.limits[told.limit[k]] -= sign * _amount_used(told, k, which)
    if kind in (CLOSES, OPENS):
        now.closed[told.closing[which]] += told.closed[which] if kind == CLOSES else -told.closed[which]
    return waiting


@inlined
def _next_known_closure(told: ReplayInput, instant: float, coming: int) -> float:
    # The begin of the next downtime that is known by now; infinite if there is none.
    while coming < told.begins.size and told.known_from[told.begins[coming]] > instant:
        coming += 1
    return told.begin[told.begins[coming]] if coming < told.begins.size else np.inf


@inlined
def _is_future_event(now: ReplayState, event: int) -> None:
    # Insert an event into the list of future events.
    before = _last_before(now, event)
    if before < now.first[0] or now.first[0] == NONE:  # all events of the list lie after this one
        now.after[event], now.first[0] = now.first[0], event
    else:
        now.after[event], now.after[before] = now.after[before], event
    _note_event(now, event)


@inlined
def _note_event(now: ReplayState, event: int) -> None:
    now.to_come[event] = 1
    now.block[event // BLOCK] += 1


@inlined
def _last_before(now: ReplayState, event: int) -> int:
    # The last earlier event that was ever in the list of future events; NONE if there is none.
    e = event - 1
    while e >= 0 and now.to_come[e] == 0:
        e -= BLOCK if e % BLOCK == BLOCK - 1 and now.block[e // BLOCK] == 0 else 1
    return e


@part
def _lost_now(told: ReplayInput, now: ReplayState, instant: float, begin: float) -> int:
    # The number of nodes lost from now to the next event; `begin` is the begin of the next known downtime.
    most = 0
    for g in range(told.nodes.size):
        now.ahead[g], now.shut[g], now.lost[g] = now.held[g], now.closed[g], 0
        now.least[g] = max(0, told.nodes[g] - now.held[g] - now.closed[g])
        most += now.least[g]
    fits, until, at = 0, instant, next_within(now.waiting, FIRST, most)
    while at != NO_PLACE:
        w = told.longest[at]
        j = told.job[w]
        end = instant + told.duration[j]
        if end <= begin:
            break  # and so do all shorter jobs
        if _room(told, now.least, j) and not _kept_from_starting(told, now, j):
            now.fits[fits] = w
            fits += 1
            until = max(until, end)
        at = next_within(now.waiting, at + 1, most)
    tasks, e = 0, now.first[0]
    while fits > 0 and e != NONE and told.events.time[e] < until:
        time, less, closes = told.events.time[e], False, False
        for g in range(told.nodes.size):
            now.before[g] = now.least[g]
        while e != NONE and told.events.time[e] == time and told.events.kind[e] < STARTS:
            closes = _ahead(told, now, instant, e) or closes
            e = now.after[e]
        if closes:
            less = _lower_least(told, now)
        if less:
            left = 0
            for k in range(fits):
                w = now.fits[k]
                j = told.job[w]
                if _room(told, now.least, j):
                    now.fits[left] = w
                    left += 1
                elif time < instant + told.duration[j]:
                    tasks += told.tasks[j]
                    for g in range(told.nodes.size):
                        if told.places[j, g] > 0:
                            now.lost[g] = max(now.lost[g], now.before[g])
            fits = left
        less = False
        while e != NONE and told.events.time[e] == time:
            less = _ahead(told, now, instant, e) or less
            e = now.after[e]
        if less and _lower_least(told, now):
            left = 0
            for k in range(fits):
                if _room(told, now.least, told.job[now.fits[k]]):
                    now.fits[left] = now.fits[k]
                    left += 1
            fits = left
    return min(tasks, now.lost.sum())


@inlined
def _ahead(told: ReplayInput, now: ReplayState, instant: float, e: int) -> bool:
    # Apply a future event to the state ahead; return whether it takes nodes.
    kind, which = told.events.kind[e], told.events.which[e]
    if kind in (STARTS, ENDS):
        for g in range(told.nodes.size):
            now.ahead[g] += told.counts[which, g] if kind == STARTS else -told.counts[which, g]
        return kind == STARTS
    if told.known_from[which] > instant:
        return False
    now.shut[told.closing[which]] += told.closed[which] if kind == CLOSES else -told.closed[which]
    return kind == CLOSES


@inlined
def _lower_least(told: ReplayInput, now: ReplayState) -> bool:
    # Update the least number of free nodes of each group; return whether it fell for some group.
    less = False
    for g in range(told.nodes.size):
        free = max(0, told.nodes[g] - now.ahead[g] - now.shut[g])
        if free < now.least[g]:
            now.least[g], less = free, True
    return less


@inlined
def _room(told: ReplayInput, free: Ints, j: int) -> bool:
    room = 0
    for g in range(free.size):
        room += free[g] * told.places[j, g]
    return room >= told.wanted[j]


@inlined
def _kept_from_starting(told: ReplayInput, now: ReplayState, j: int) -> bool:
    # By a limit that is full, or a pool with too little left.
    held_up = False
    for p in range(now.pools.size):
        held_up = held_up or told.needs[j, p] > now.pools[p]
    for k in range(told.first[j], told.first[j + 1]):
        held_up = held_up or told.weight[k] > now.limits[told.limit[k]]
    return held_up
