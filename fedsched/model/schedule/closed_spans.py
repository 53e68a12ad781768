"""Closed spans: when how many nodes of a group are really closed by downtimes in a schedule.

Nodes on which jobs still run as a downtime begins close only when these jobs end [40].
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.text import counted
from fedsched.model.schedule.node_lanes import node_lanes
from fedsched.model.schedule.node_numbers import NodeRuns, by_their_numbers, node_runs, runs_of_nodes
from fedsched.model.schedule.off_spans import off_spans, really_closed
from fedsched.model.schedule.promises import held_from
from fedsched.model.time.downtimes import RESERVATION, closures_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.node_lanes import Lanes
    from fedsched.model.schedule.node_numbers import Intervals
    from fedsched.model.schedule.node_use import NodeUse
    from fedsched.model.schedule.off_spans import OffSpans
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Closures


class ClosedSpans(NamedTuple):
    """Spans of time in which nodes are closed, one per row: start and finish in seconds, and nodes of each group."""

    start: NDArray[np.float64]
    finish: NDArray[np.float64]  # infinite if they never come back
    counts: NDArray[np.int64]  # span × group


class Numbered(NamedTuple):
    """The node numbers of a schedule's jobs, lost runs, closed nodes and nodes that are off.

    At any time, these have different numbers, or different cores if jobs share nodes. Numbers run through the
    federation group by group, as charts draw them: see `node_numbers.by_their_numbers`. If jobs share nodes, they are
    the nodes' own numbers, which run through the clusters in order.
    """

    jobs: NodeRuns
    lost: NodeRuns
    spans: ClosedSpans
    closed: NodeRuns
    off: OffSpans
    dark: NodeRuns  # nodes that are off, shut down or boot
    job_lanes: Lanes | None = None  # the cores that jobs take of their nodes; None: all
    lost_lanes: Lanes | None = None


def numbered(schedule: Schedule, progress: Callable[[int, int], None] | None = None) -> Numbered:
    """Return the node numbers of all jobs, lost runs, closed nodes and nodes that are off.

    `progress` is called regularly with the number of rows that have their nodes, and the number of all rows.
    """
    if (uses := _uses_of(schedule)) is not None:
        return _numbered_by_use(schedule, uses, progress)
    groups = schedule.counts.shape[1]
    spans = ClosedSpans(np.zeros(0), np.zeros(0), np.zeros((0, groups), dtype=np.int64))
    if schedule.federation.calendar:
        spans = closed_spans(schedule)
    lost, off = schedule.lost, off_spans(schedule)
    parts = ((schedule.start, schedule.finish, schedule.counts), (lost.start, lost.end, lost.counts), spans, off[:3])
    columns = (np.concatenate(column) for column in zip(*parts, strict=True))
    pieces, first, last = node_runs(schedule.federation, *columns, progress=progress)
    of_part, begin, place, found = [len(part[0]) for part in parts], 0, 0, []
    for rows in of_part:
        runs = int(pieces[begin : begin + rows].sum())
        found.append(NodeRuns(pieces[begin : begin + rows], first[place : place + runs], last[place : place + runs]))
        begin, place = begin + rows, place + runs
    return Numbered(found[0], found[1], spans, found[2], off, found[3])


def _uses_of(schedule: Schedule) -> list[NodeUse] | None:
    # The node use of the jobs and of the lost runs, if there are any; None if jobs do not share nodes.
    if not getattr(schedule, "shares_nodes", False):
        return None
    uses = (getattr(schedule, name) for name in ("use", "lost_use"))
    return [use for use in uses if use is not None]


def _numbered_by_use(schedule: Schedule, uses: list[NodeUse], progress: Callable[[int, int], None] | None) -> Numbered:
    none = np.zeros(0, dtype=np.int64)
    (jobs, job_lanes), *lost = node_lanes(schedule.federation, uses, progress)
    lost_runs, lost_lanes = lost[0] if lost else (NodeRuns(none, none, none), None)
    spans, closed = _closed_by_use(schedule.federation, uses)
    off, dark = off_spans(schedule), NodeRuns(none, none, none)  # power saving is refused if jobs share nodes
    return Numbered(jobs, lost_runs, spans, closed, off, dark, job_lanes, lost_lanes)


def own_numbers(schedule: Schedule) -> list[Intervals]:
    """Return each job's nodes as intervals of the nodes' own numbers, which run through the clusters in order."""
    if (uses := _uses_of(schedule)) is not None:
        return runs_of_nodes(uses[0].job, uses[0].node, len(schedule)).intervals()
    return by_their_numbers(numbered(schedule).jobs, schedule.federation.node_order).intervals()


def in_words(schedule: Schedule) -> list[str]:
    """Return one text with the share of the nodes' time that downtimes closed until the last end; [] without downtimes.

    Reservations do not count.
    """
    downtimes = sum(one.kind != RESERVATION for one in schedule.federation.calendar)
    makespan = schedule.makespan
    if not downtimes or not makespan > 0:
        return []
    spans = closed_spans(schedule)
    seconds = np.minimum(spans.finish - schedule.t0, makespan) - np.maximum(spans.start - schedule.t0, 0.0)
    share = float(np.maximum(seconds, 0.0) @ spans.counts.sum(axis=1)) / (makespan * schedule.federation.nodes)
    return [f"closed by {counted(downtimes, 'downtime')}: {share:.2%} of the nodes' time until the last job ends"]


def closed_spans(schedule: Schedule) -> ClosedSpans:
    """Return the spans in which a schedule's downtimes, without reservations, really close nodes.

    Nodes on which jobs run as a downtime begins close at the jobs' ends [40].
    """
    if (uses := _uses_of(schedule)) is not None:
        return _closed_by_use(schedule.federation, uses)[0]
    closures = closures_of(schedule.federation)
    closures = closures.take(closures.reservation < 0)
    groups = len(schedule.federation.groups)
    found = [
        (begin, end, g, nodes)
        for g in np.unique(closures.group).tolist()
        for begin, end, nodes in _spans_of(schedule, closures.take(closures.group == g), g)
    ]
    counts = np.zeros((len(found), groups), dtype=np.int64)
    for span, (_, _, g, nodes) in enumerate(found):
        counts[span, g] = nodes
    times = np.array([(begin, end) for begin, end, _, _ in found], dtype=np.float64).reshape(-1, 2)
    return ClosedSpans(times[:, 0], times[:, 1], counts)


def _spans_of(schedule: Schedule, here: Closures, g: int) -> Iterator[tuple[float, float, int]]:
    lost = schedule.lost
    start, finish = np.concatenate([held_from(schedule), lost.start]), np.concatenate([schedule.finish, lost.end])
    counts = np.concatenate([schedule.counts[:, g], lost.counts[:, g]])
    yield from really_closed(here, schedule.federation.groups[g].count, start, finish, counts)


def _closed_by_use(federation: Federation, uses: list[NodeUse]) -> tuple[ClosedSpans, NodeRuns]:
    # If jobs share nodes: the spans of neighbouring nodes that close and open together, and these nodes' numbers.
    closures = closures_of(federation)
    closures = closures.take(closures.reservation < 0)
    node = np.concatenate([use.node for use in uses])
    start, end = (np.concatenate([getattr(use, name)[use.job] for use in uses]) for name in ("start", "finish"))
    end, of_node = np.where(np.isnan(end), np.inf, end), federation.group_of_node
    found: list[tuple[float, float, int, int, int]] = []
    for g in np.unique(closures.group).tolist():
        members, there = np.flatnonzero(of_node == g), of_node[node] == g
        use = np.searchsorted(members, node[there]), start[there], end[there]
        spans = _spans_by_use(closures.take(closures.group == g), members, *use)
        found += [(since, opens, g, *nodes) for since, opens, nodes in spans]
    counts = np.zeros((len(found), len(federation.groups)), dtype=np.int64)
    for span, (*_, g, first, last) in enumerate(found):
        counts[span, g] = last - first + 1
    times = np.array([one[:2] for one in found], dtype=np.float64).reshape(-1, 2)
    nodes = np.array([one[3:] for one in found], dtype=np.int64).reshape(-1, 2)
    return ClosedSpans(times[:, 0], times[:, 1], counts), NodeRuns(np.ones(len(found), dtype=np.int64), *nodes.T)


def _spans_by_use(
    here: Closures,
    members: NDArray[np.int64],
    place: NDArray[np.int64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
) -> Iterator[tuple[float, float, tuple[int, int]]]:
    # Yields when neighbouring nodes of a group close and open, and the first and the last of them. `place` is each
    # run's node, as an index of `members`. A node on which jobs run as a downtime begins closes with the last of these
    # jobs. Downtimes close whole groups, as they name nodes. A node that another downtime closes already is closed
    # once.
    until = np.full(members.size, -np.inf)  # the end of the last downtime that closed the node
    for c in np.argsort(here.begin, kind="stable").tolist():
        begin, opens = float(here.begin[c]), float(here.end[c])
        since = np.maximum(until, begin)
        runs = (start < begin) & (end > begin)
        np.maximum.at(since, place[runs], end[runs])
        cuts = np.flatnonzero((np.diff(since) != 0) | (np.diff(members) != 1)) + 1
        for low, high in pairwise([0, *cuts.tolist(), members.size]):
            if since[low] < opens:
                yield float(since[low]), opens, (int(members[low]), int(members[high - 1]))
        until = np.maximum(until, opens)
