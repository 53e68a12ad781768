"""Node numbers: which nodes of its groups each job gets, lowest free first."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.federation import Federation

Intervals = tuple[tuple[int, int], ...]  # (first, last) node numbers, both included


def number_nodes(
    federation: Federation,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
    counts: NDArray[np.int64],
) -> list[Intervals]:
    """Return the nodes of every job, numbered through the federation group by group.

    Jobs take nodes in order of start (then row), each the lowest numbers that are free in each group; a node
    that becomes free at a job's start can be taken by it. Kernels never see these numbers: nodes of a group are
    interchangeable.
    """
    offsets = np.concatenate([[0], np.cumsum([group.count for group in federation.groups])]).tolist()
    free = [list(range(offsets[g], offsets[g + 1])) for g in range(len(federation.groups))]
    nodes_of: list[list[int]] = [[] for _ in range(start.size)]
    group_of = np.repeat(np.arange(len(free)), [len(nodes) for nodes in free]).tolist()
    running: list[tuple[float, int]] = []
    started = np.flatnonzero(~np.isnan(start))
    ends = np.where(np.isnan(finish), np.inf, finish).tolist()
    for j in started[np.argsort(start[started], kind="stable")].tolist():
        while running and running[0][0] <= start[j]:
            for node in nodes_of[heapq.heappop(running)[1]]:
                heapq.heappush(free[group_of[node]], node)
        for g in np.flatnonzero(counts[j]).tolist():
            nodes_of[j].extend(heapq.heappop(free[g]) for _ in range(min(int(counts[j, g]), len(free[g]))))
        heapq.heappush(running, (ends[j], j))
    return [_intervals(nodes) for nodes in nodes_of]


def _intervals(nodes: list[int]) -> Intervals:
    found: list[tuple[int, int]] = []
    for node in sorted(nodes):
        if found and found[-1][1] == node - 1:
            found[-1] = (found[-1][0], node)
        else:
            found.append((node, node))
    return tuple(found)
