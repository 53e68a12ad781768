"""Node numbers: which nodes of its groups each job gets, lowest free first."""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.federation import Federation

Intervals = tuple[tuple[int, int], ...]  # (first, last) node numbers, both included


class NodeRuns(NamedTuple):
    """Runs of neighbouring node numbers, one job's after another's in the order of rows."""

    pieces: NDArray[np.int64]  # how many runs each job has
    first: NDArray[np.int64]
    last: NDArray[np.int64]  # included

    def intervals(self) -> list[Intervals]:
        """Return each job's runs."""
        runs = zip(self.first.tolist(), self.last.tolist(), strict=True)
        return [tuple(next(runs) for _ in range(count)) for count in self.pieces.tolist()]


class _Free:
    """The free nodes of a group, as runs in order: a machine has many nodes, but few runs of them."""

    __slots__ = ("firsts", "lasts")

    def __init__(self, first: int, count: int) -> None:
        self.firsts, self.lasts = [first] * (count > 0), [first + count - 1] * (count > 0)

    def take(self, count: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of the lowest `count` nodes, which are no longer free; fewer where fewer are."""
        used = 0
        for first, last in zip(self.firsts, self.lasts, strict=True):
            if count <= last - first:
                break
            count -= last - first + 1
            used += 1
        whole = list(zip(self.firsts[:used], self.lasts[:used], strict=True))
        del self.firsts[:used], self.lasts[:used]
        if count > 0 and self.firsts:
            whole.append((self.firsts[0], self.firsts[0] + count - 1))
            self.firsts[0] += count
        yield from whole

    def give(self, first: int, last: int) -> None:
        """Make a run free, one with its free neighbours."""
        at = bisect_left(self.firsts, first)
        below = at > 0 and self.lasts[at - 1] == first - 1
        above = at < len(self.firsts) and self.firsts[at] == last + 1
        if below and above:
            self.lasts[at - 1] = self.lasts.pop(at)
            del self.firsts[at]
        elif below:
            self.lasts[at - 1] = last
        elif above:
            self.firsts[at] = first
        else:
            self.firsts.insert(at, first)
            self.lasts.insert(at, last)


def node_runs(
    federation: Federation,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> NodeRuns:
    """Return the nodes of every job, numbered through the federation group by group, as arrays.

    Jobs take nodes in order of start (then row), each the lowest numbers that are free in each group; a node
    that becomes free at a job's start can be taken by it. Kernels never see these numbers: nodes of a group are
    interchangeable.
    """
    offsets = np.concatenate([[0], np.cumsum([group.count for group in federation.groups])]).tolist()
    free = [_Free(first, group.count) for first, group in zip(offsets, federation.groups, strict=False)]
    held: dict[int, list[tuple[_Free, int, int]]] = {}  # of the jobs that run
    running: list[tuple[float, int]] = []
    rows, firsts, lasts = array("q"), array("q"), array("q")
    started = np.flatnonzero(~np.isnan(start))
    order = started[np.argsort(start[started], kind="stable")]
    ends = np.where(np.isnan(finish), np.inf, finish)[order].tolist()
    for j, begin, end, wanted in zip(order.tolist(), start[order].tolist(), ends, counts[order], strict=True):
        while running and running[0][0] <= begin:
            for group, first, last in held.pop(heapq.heappop(running)[1]):
                group.give(first, last)
        taken = held[j] = [(free[g], *run) for g in wanted.nonzero()[0].tolist() for run in free[g].take(wanted[g])]
        heapq.heappush(running, (end, j))
        before = -2
        for _, first, last in taken:
            if first == before + 1:  # a run across the end of a group is one
                lasts[-1] = last
            else:
                rows.append(j)
                firsts.append(first)
                lasts.append(last)
            before = last
    job = np.array(rows, dtype=np.int64)
    by_row = np.argsort(job, kind="stable")
    pieces = np.bincount(job, minlength=start.size)
    return NodeRuns(pieces, np.array(firsts, dtype=np.int64)[by_row], np.array(lasts, dtype=np.int64)[by_row])


def number_nodes(
    federation: Federation,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> list[Intervals]:
    """Return the nodes of every job as intervals: `node_runs`."""
    return node_runs(federation, start, finish, counts).intervals()
