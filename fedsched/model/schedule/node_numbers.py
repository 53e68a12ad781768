"""Node numbers: which numbered nodes each job gets, always the lowest free numbers of a group first."""

from __future__ import annotations

import heapq
from array import array
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation

OFTEN = 4096  # jobs between two calls of progress
Intervals = tuple[tuple[int, int], ...]  # (first, last) node numbers, both included


class NodeRuns(NamedTuple):
    """The nodes of all jobs as runs of neighbouring node numbers, one job after the other in the order of rows."""

    pieces: NDArray[np.int64]  # how many runs each job has
    first: NDArray[np.int64]
    last: NDArray[np.int64]  # included

    def intervals(self) -> list[Intervals]:
        """Return each job's runs as (first, last) node numbers, both included."""
        runs = zip(self.first.tolist(), self.last.tolist(), strict=True)
        return [tuple(next(runs) for _ in range(count)) for count in self.pieces.tolist()]


class _Free:
    """The free nodes of a group, stored as runs of neighbouring numbers, because runs are few and nodes many."""

    __slots__ = ("begins", "ends", "lowest")

    def __init__(self, first: int, count: int) -> None:
        self.ends = {first: first + count}  # a run's first node -> the node after it
        self.begins = {first + count: first}  # and the inverse
        self.lowest = [first]  # a heap of first nodes; some may be out of date

    def take(self, count: int) -> list[tuple[int, int]]:
        """Remove the lowest `count` free nodes, or all if there are fewer; return them as runs (first, last + 1)."""
        taken = []
        while count > 0 and self.lowest:
            first = self.lowest[0]
            end = self.ends.pop(first, None)
            if end is None:
                heapq.heappop(self.lowest)
                continue
            count -= end - first
            if count < 0:
                heapq.heapreplace(self.lowest, end + count)
                self.ends[end + count] = end
                self.begins[end] = end + count
                end += count
            else:
                heapq.heappop(self.lowest)
                del self.begins[end]
            taken.append((first, end))
        return taken

    def give(self, first: int, end: int) -> None:
        """Add the nodes from `first` to before `end` to the free nodes, and merge them with free neighbours."""
        end = self.ends.pop(end, end)
        before = self.begins.pop(first, None)
        if before is None:
            heapq.heappush(self.lowest, first)
        else:
            first = before
        self.ends[first] = end
        self.begins[end] = first


def node_runs(
    federation: Federation,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> NodeRuns:
    """Return the node numbers of every job; numbers run through the federation group by group.

    Jobs take nodes in order of start (then row), always the lowest free numbers of each group. A job can take a node
    that becomes free at its start. A job without a start has no nodes. The simulation itself does not use these
    numbers, because nodes of a group are interchangeable. `progress` is called regularly with the number of jobs that
    have their nodes, and the number of all jobs.
    """
    offsets = np.concatenate([[0], np.cumsum([group.count for group in federation.groups])]).tolist()
    free = [_Free(first, group.count) for first, group in zip(offsets, federation.groups, strict=False)]
    held: dict[int, list[tuple[_Free, list[tuple[int, int]]]]] = {}  # the nodes of running jobs
    running: list[tuple[float, int]] = []
    rows, firsts, lasts = array("q"), array("q"), array("q")
    started = np.flatnonzero(~np.isnan(start))
    order = started[np.argsort(start[started], kind="stable")]
    ends = np.where(np.isnan(finish), np.inf, finish)[order].tolist()
    columns = order.tolist(), start[order].tolist(), ends, counts[order]
    for done, (j, begin, end, wanted) in enumerate(zip(*columns, strict=True)):
        if progress is not None and done % OFTEN == 0:
            progress(done, order.size)
        while running and running[0][0] <= begin:
            for group, runs in held.pop(heapq.heappop(running)[1]):
                for run in runs:
                    group.give(*run)
        taken = held[j] = [(free[g], free[g].take(count)) for g, count in enumerate(wanted.tolist()) if count]
        heapq.heappush(running, (end, j))
        before = -1
        for _, runs in taken:
            for first, after in runs:
                if first == before:  # merge a run that crosses the border of two groups
                    lasts[-1] = after - 1
                else:
                    rows.append(j)
                    firsts.append(first)
                    lasts.append(after - 1)
                before = after
    job = np.array(rows, dtype=np.int64)
    by_row = np.argsort(job, kind="stable")
    pieces = np.bincount(job, minlength=start.size)
    return NodeRuns(pieces, np.array(firsts, dtype=np.int64)[by_row], np.array(lasts, dtype=np.int64)[by_row])


def by_their_numbers(runs: NodeRuns, order: NDArray[np.int64] | None) -> NodeRuns:
    """Return the same nodes by their own numbers, which run through the clusters in order, whatever the nodes' groups.

    `order` maps group-by-group numbers to own numbers (`Federation.node_order`); None: both are the same.
    """
    if order is None:
        return runs
    length = runs.last - runs.first + 1
    job = np.repeat(np.repeat(np.arange(runs.pieces.size), runs.pieces), length)
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    return runs_of_nodes(job, order[np.repeat(runs.first, length) + within], runs.pieces.size)


def runs_of_nodes(job: NDArray[np.int64], node: NDArray[np.int64], jobs: int) -> NodeRuns:
    """Return the nodes of `jobs` jobs, given as pairs of a job's row and a node, as runs of neighbouring numbers."""
    by_node = np.lexsort((node, job))
    job, node = job[by_node], node[by_node]
    begins = np.flatnonzero((np.diff(job, prepend=-1) != 0) | (np.diff(node, prepend=-2) != 1))
    ends = np.append(begins[1:], node.size)[: begins.size] - 1
    return NodeRuns(np.bincount(job[begins], minlength=jobs), node[begins], node[ends])


def number_nodes(
    federation: Federation,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> list[Intervals]:
    """Return the nodes of every job as (first, last) intervals of group-by-group numbers: see `node_runs`."""
    return node_runs(federation, start, finish, counts).intervals()
