"""Off spans: times in which nodes of a schedule shut down, are off or boot [66].

They follow from the federation's power saving, and from when jobs of the schedule get their nodes and when they end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.jit import kernel
from fedsched.model.power.switching import Reserve, Timeout, is_switching, watts_off
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.matched_gaps import energy_saved, is_concave, matched_gaps
from fedsched.model.schedule.node_stack import (
    NodeStacks,
    Place,
    Saving,
    SpanRow,
    as_begun,
    close,
    fill,
    new_stacks,
    put_back,
    record,
    settle,
    take,
)  # fmt: skip
from fedsched.model.time.downtimes import closures_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation, NodeGroup
    from fedsched.model.power.switching import PowerSaving
    from fedsched.model.schedule.lost import RunTable
    from fedsched.model.schedule.node_numbers import NodeRuns
    from fedsched.model.schedule.promises import Promises
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Closures

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


JOB_ENDS, OPENS, CLOSES, JOB_STARTS = range(4)  # in this order at one instant


class GroupOffSpans(NamedTuple):
    """Off spans, one per row: nodes of a group begin to shut down at `off_at` and begin to boot at `boot_at`.

    At `until` a downtime closes the nodes, and they draw as idle ones; infinite if none does.
    """

    group: Ints
    off_at: Floats
    boot_at: Floats  # infinite: never
    nodes: Ints
    until: Floats


@kernel
def replay(
    saving: Saving, nodes: Ints, when: Floats, change: Ints, closes: Ints, t0: float, end: float, stacks: NodeStacks
) -> None:
    """Record in `stacks` the off spans from t0 to `end` under a timeout or a reserve; all nodes are idle at t0.

    `change` (times × groups) is how many nodes become free at each time `when`, or, below 0, are taken: by jobs, or by
    downtimes if `closes` is 1.
    """
    for g in range(nodes.size):
        fill(stacks, g, nodes[g], t0)
    for i in range(when.size):
        for g in range(nodes.size):
            if change[i, g] > 0:
                put_back(saving, stacks, g, change[i, g], when[i])
            elif change[i, g] < 0 and closes[i] == 1:
                close(saving, stacks, g, -change[i, g], when[i])
            elif change[i, g] < 0:
                take(saving, stacks, g, -change[i, g], when[i])
    for g in range(nodes.size):
        settle(saving, stacks, g, end)
        for i in range(stacks.place[g, Place.OFF_FIRST], stacks.place[g, Place.OFF_END]):
            record(stacks, g, stacks.off_since[g, i], np.inf, stacks.off_count[g, i], np.inf)


def saving_of(federation: Federation) -> Saving:
    """Return the arrays, by group, that compiled code uses for a federation's power saving.

    They are empty unless the power saving is a `Timeout` or a `Reserve`.
    """
    power = federation.power
    seconds, keep, groups = (power.seconds, power.keep, federation.groups) if is_switching(power) else (0.0, 0, ())
    saving = Saving(
        np.full(len(groups), seconds),
        np.full(len(groups), keep, dtype=np.int64),
        np.full(len(groups), keep if isinstance(power, Reserve) else 0, dtype=np.int64),
        np.array([group.boot_seconds for group in groups], dtype=np.float64),
        np.array([group.shutdown_seconds for group in groups], dtype=np.float64),
        np.array(federation.group_cluster if groups else (), dtype=np.int64),
        np.array(_rates_of(power), dtype=np.int64),
        np.array([[group.idle_watts - watts for watts in watts_off(group)] for group in groups]).reshape(-1, 3),
        as_begun(new_stacks(0, 0, 0, paced=False)),
    )
    for array in saving[:-1]:
        array.setflags(write=False)
    return saving


def _rates_of(power: PowerSaving | None) -> tuple[int, ...]:
    # Nodes per minute that may begin to go off, and to boot; empty if any number may, so that kernels skip the rates.
    if not isinstance(power, Timeout) or not (power.suspend_rate or power.resume_rate):
        return ()
    return power.suspend_rate or 0, power.resume_rate or 0


def spans_of(federation: Federation, runs: RunTable, promises: Promises | None, t0: float) -> GroupOffSpans:
    """Return the off spans of a schedule's runs until the last end; empty without power saving.

    With a timeout or a reserve, jobs hold their nodes from their promises on, if there are any; otherwise from their
    starts. Raise if jobs hold more nodes than a group has.
    """
    power, end = federation.power, float(runs.end.max(initial=t0))
    if power is None:
        return _spans([])
    taken = promises if is_switching(power) else None
    since, turn = (runs.start, np.arange(runs.job.size)) if taken is None else taken.of_rows(runs.job)
    ran = since < t0
    closed = _closings(federation, runs, np.where(ran, -np.inf, since), t0) if is_switching(power) else []
    when, change, closes = _changes(runs, np.maximum(since, t0), np.where(ran, -1, turn), closed)
    nodes = np.array([group.count for group in federation.groups], dtype=np.int64)
    used = -change.cumsum(axis=0)
    if used.min(initial=0) < 0 or (used.max(axis=0, initial=0) > nodes).any() or np.isnan(when).any():
        raise ScheduleError(
            "Schedule: jobs hold more nodes of a group than it has, or end before they have their nodes, so it is not "
            "known which nodes are off; verify() names the jobs."
        )
    if is_switching(power):
        return _switched_off(saving_of(federation), nodes, when, change, closes, t0, end)
    return _spans(
        [(g, *gap) for g, group in enumerate(federation.groups) for gap in _gaps(group, when, change[:, g], t0, end)]
    )


def _changes(
    runs: RunTable, since: Floats, turn: Ints, closed: list[tuple[float, int, int, int]]
) -> tuple[Floats, Ints, Ints]:
    # When nodes come free (above 0) or are taken (below 0), and whether downtimes take them (1); at one instant, ends
    # come first. `closed` are openings and closings: time, kind, group and nodes.
    shut = np.zeros((len(closed), runs.counts.shape[1]), dtype=np.int64)
    for row, (_, what, g, nodes) in enumerate(closed):
        shut[row, g] = nodes if what == OPENS else -nodes
    times, kinds = [one[0] for one in closed], [one[1] for one in closed]
    when = np.concatenate([runs.end, since, np.array(times, dtype=np.float64)])
    kind = np.concatenate([np.repeat([JOB_ENDS, JOB_STARTS], since.size), np.array(kinds, dtype=np.int64)])
    order = np.lexsort((np.concatenate([turn, turn, np.zeros(len(closed), dtype=np.int64)]), kind, when))
    change = np.concatenate([runs.counts, -runs.counts, shut])[order]
    closes = np.ascontiguousarray(kind[order] == CLOSES, dtype=np.int64)
    return np.ascontiguousarray(when[order], dtype=np.float64), np.ascontiguousarray(change, dtype=np.int64), closes


def _closings(federation: Federation, runs: RunTable, since: Floats, t0: float) -> list[tuple[float, int, int, int]]:
    # When downtimes, without reservations, really close and open how many nodes of a group, after t0.
    closures, found, end = closures_of(federation), [], float(runs.end.max(initial=t0))
    closures = closures.take((closures.reservation < 0) & (closures.end > t0))
    for g in np.unique(closures.group).tolist():
        count, here = federation.groups[g].count, closures.take(closures.group == g)
        for begin, opens, nodes in really_closed(here, count, since, runs.end, runs.counts[:, g]):
            if begin <= end and begin < opens:
                found += [(max(begin, t0), CLOSES, g, nodes)] + [(opens, OPENS, g, nodes)] * int(opens <= end)
    return found


def really_closed(
    here: Closures, count: int, start: Floats, finish: Floats, counts: Ints
) -> Iterator[tuple[float, float, int]]:
    """Yield (begin, end, nodes) for nodes that these closures of one group really close, beside jobs [40].

    The group has `count` nodes, of which jobs hold `counts` from `start` to `finish`; NaN: they run on.
    """
    rows = np.flatnonzero((counts > 0) & ~np.isnan(start))
    held = counts[rows].tolist()
    events = [(time, JOB_ENDS, i) for i, time in enumerate(finish[rows].tolist()) if time == time]
    events += [(time, JOB_STARTS, i) for i, time in enumerate(start[rows].tolist())]
    events += [(time, OPENS, c) for c, time in enumerate(here.end.tolist())]
    events += [(time, CLOSES, c) for c, time in enumerate(here.begin.tolist())]
    free = int(count)
    owed: dict[int, int] = {}  # nodes still to close, by downtime in force, the oldest first
    has = dict.fromkeys(range(here.begin.size), 0)
    for time, kind, which in sorted(events):
        if kind == JOB_STARTS:
            free -= held[which]
        elif kind == CLOSES:
            owed[which] = int(here.nodes[which])
        elif kind == OPENS:
            owed.pop(which, None)
            free += has[which]
        else:
            free += held[which]
        for c in [c for c, nodes in owed.items() if nodes > 0]:
            taken = max(0, min(free, owed[c]))
            if taken:
                free, owed[c], has[c] = free - taken, owed[c] - taken, has[c] + taken
                yield time, float(here.end[c]), taken


def _spans(found: list[tuple[int, float, float, int]]) -> GroupOffSpans:
    group, off_at, boot_at, nodes = zip(*found, strict=True) if found else ((), (), (), ())
    return GroupOffSpans(
        np.array(group, dtype=np.int64), np.array(off_at, dtype=np.float64), np.array(boot_at, dtype=np.float64),
        np.array(nodes, dtype=np.int64), np.full(len(group), np.inf),
    )  # fmt: skip


def _switched_off(
    saving: Saving, nodes: Ints, when: Floats, change: Ints, closes: Ints, t0: float, end: float
) -> GroupOffSpans:
    # Replayed twice, because the number of spans is not known in advance.
    most, paced = int(nodes.max()), saving.rate.size > 0
    counted = new_stacks(nodes.size, most, 0, paced=paced)
    replay(saving, nodes, when, change, closes, float(t0), end, counted)
    stacks = new_stacks(nodes.size, most, int(counted.place[0, Place.SPANS]), paced=paced)
    replay(saving, nodes, when, change, closes, float(t0), end, stacks)
    span = stacks.span[:, stacks.span[SpanRow.NODES] > 0]
    return GroupOffSpans(
        span[SpanRow.GROUP].astype(np.int64), span[SpanRow.OFF_AT], span[SpanRow.BOOT_AT],
        span[SpanRow.NODES].astype(np.int64), span[SpanRow.UNTIL],
    )  # fmt: skip


def _gaps(group: NodeGroup, when: Floats, change: Ints, t0: float, last: float) -> Iterator[tuple[float, float, int]]:
    # The gaps of a group in which going off saves energy. The node freed last is used first if that is optimal.
    if not is_concave(group):
        yield from matched_gaps(group, when, change, t0, last)
        return
    idle: list[tuple[float, int]] = [(t0, group.count)]
    rows = np.flatnonzero(change)
    for time, nodes in zip(when[rows].tolist(), change[rows].tolist(), strict=True):
        if nodes > 0:
            idle.append((time, nodes))
            continue
        left = -nodes
        while left > 0:
            since, count = idle.pop()
            some = min(left, count)
            if count > some:
                idle.append((since, count - some))
            if energy_saved(group, time - since, again=True) > 0.0:
                yield since, time - group.boot_seconds, some
            left -= some
    for since, count in idle:
        if energy_saved(group, last - since, again=False) > 0.0:
            yield since, math.inf, count


class OffSpans(NamedTuple):
    """Off spans, one per row, from the begin of the shutdown (`start`) until the nodes are on again (`finish`)."""

    start: NDArray[np.float64]
    finish: NDArray[np.float64]  # infinite if they stay off
    counts: NDArray[np.int64]  # span × group
    down: NDArray[np.float64]  # when the shutdown is over
    boots: NDArray[np.float64]  # when the boot begins


class Bands(NamedTuple):
    """Bands of a chart, one per row: neighbouring nodes that shut down, are off or boot from `start` to `finish`."""

    start: NDArray[np.float64]
    finish: NDArray[np.float64]  # at most the last job's finish
    first: NDArray[np.int64]
    last: NDArray[np.int64]  # included
    changes: NDArray[np.bool_]  # True: shuts down or boots; False: is off

    def only(self, which: NDArray[np.bool_]) -> Bands:
        """Return the bands for which the mask is true."""
        return Bands(self.start[which], self.finish[which], self.first[which], self.last[which], self.changes[which])


def off_spans(schedule: Schedule) -> OffSpans:
    """Return the off spans of a schedule, with the end of each shutdown; empty without power saving."""
    groups = schedule.federation.groups
    found = spans_of(schedule.federation, finished_runs(schedule), schedule.promises, schedule.t0)
    seconds = np.array([(group.shutdown_seconds, group.boot_seconds) for group in groups])[found.group]
    counts = np.zeros((found.group.size, len(groups)), dtype=np.int64)
    counts[np.arange(found.group.size), found.group] = found.nodes
    times = (found.boot_at + seconds[:, 1], found.off_at + seconds[:, 0], found.boot_at)
    finish, down, boots = (np.minimum(time, found.until) for time in times)
    return OffSpans(found.off_at, finish, counts, down, boots)


def bands(spans: OffSpans, runs: NodeRuns, last: float) -> Bands:
    """Return up to three bands for each run of nodes of each off span: shutting down, off, and booting.

    `runs` are the spans' nodes as runs of neighbouring numbers. Bands are cut at the time `last`; empty ones are left
    out.
    """
    of_run = [np.repeat(times, runs.pieces) for times in (spans.start, spans.down, spans.boots, spans.finish)]
    start, finish = (np.minimum(np.concatenate(times), last) for times in (of_run[:3], of_run[1:]))
    changes = np.repeat([True, False, True], runs.first.size)
    there = finish > start
    return Bands(start, finish, np.tile(runs.first, 3), np.tile(runs.last, 3), changes).only(there)
