"""Node lanes: which cores of which nodes a chart gives to jobs that share nodes.

A job takes as many cores of a node as its tasks there demand; an exclusive job takes all cores. The record does not say
which cores these are. A chart gives each job the lowest free cores that are neighbours, and keeps them until it ends.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect, insort
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.model.jobs.demands import CORES
from fedsched.model.schedule.node_numbers import OFTEN, NodeRuns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.node_use import NodeUse

    Ints = NDArray[np.int64]


class Lanes(NamedTuple):
    """The cores that a job takes of each node of a run of nodes, one row per run, and its number of tasks there.

    If free cores are not neighbours, a job has several rows for the same nodes; each has all its tasks there.
    """

    low: Ints  # the first core
    high: Ints  # the core after the last
    tasks: Ints


class Rectangles(NamedTuple):
    """Rectangles of a chart, one per row, from `top` to `bottom` on an axis on which each node is 1 high."""

    run: Ints  # the index of its run of nodes
    top: NDArray[Any]
    bottom: NDArray[Any]

    def only(self, which: NDArray[np.bool_]) -> Rectangles:
        """Return the rectangles for which the mask `which` is true."""
        return Rectangles(self.run[which], self.top[which], self.bottom[which])


def rectangles(federation: Federation, runs: NodeRuns, lanes: Lanes | None = None) -> Rectangles:
    """Return the rectangles of runs of nodes: one for each run of whole nodes, else one for each node.

    Without `lanes` all nodes are whole.
    """
    run, each = np.arange(runs.first.size), np.ones(runs.first.size, dtype=np.int64)
    top, bottom = runs.first.astype(np.float64), runs.last + 1.0
    if lanes is not None:
        cores = cores_of_nodes(federation)[runs.first]
        part = lanes.high - lanes.low < cores
        each[part] += (runs.last - runs.first)[part]
        run = np.repeat(run, each)
        node = runs.first[run] + np.arange(run.size) - np.repeat(np.cumsum(each) - each, each)
        top = node + lanes.low[run] / cores[run]
        bottom = np.where(part[run], node + lanes.high[run] / cores[run], bottom[run])
    return Rectangles(run, top, bottom)


def cores_of_nodes(federation: Federation) -> Ints:
    """Return the number of cores of each node, by node number; 0 if they are not known."""
    cores = np.array([dict(group.resources).get(CORES, 0) for group in federation.groups], dtype=np.int64)
    return cores[federation.group_of_node]


OF_JOBS = ("start", "finish", "alone")  # columns of a NodeUse with one entry per job


def node_lanes(
    federation: Federation, uses: Sequence[NodeUse], progress: Callable[[int, int], None] | None = None
) -> list[tuple[NodeRuns, Lanes]]:
    """Return, for each of the `uses`, the nodes of its jobs by their own numbers, and the jobs' cores on these nodes.

    Jobs take cores in order of start (then use and row): the lowest free cores that are neighbours, or else the lowest
    free ones. They keep them until they end. A core that becomes free at a job's start can be taken. If jobs demand
    more cores than a node has, the last get fewer. `progress` is called regularly with the number of jobs that are
    done, and the number of all jobs.
    """
    behind = np.cumsum([0, *(len(use.workload) for use in uses)]).tolist()
    job = np.concatenate([use.job + before for use, before in zip(uses, behind, strict=False)])
    start, finish, alone = (np.concatenate([getattr(use, name) for use in uses])[job] for name in OF_JOBS)
    node, tasks = (np.concatenate([getattr(use, name) for use in uses]) for name in ("node", "tasks"))
    cores = cores_of_nodes(federation)
    wanted = np.where(alone, cores[node], np.concatenate([use.amounts(CORES) for use in uses]))
    rows = np.flatnonzero(~np.isnan(start))
    rows = rows[np.lexsort((job[rows], start[rows], node[rows]))]
    ends = np.where(np.isnan(finish), np.inf, finish)
    columns = [column[rows].tolist() for column in (node, wanted, start, ends)]
    taken = array("q")
    for done, part in enumerate(_taken(cores.tolist(), *columns)):
        taken.extend(part)
        if progress is not None and done % OFTEN == 0:
            progress(part[0] * behind[-1] // rows.size, behind[-1])
    place, low, high = np.array(taken, dtype=np.int64).reshape(-1, 3).T
    place = rows[place]
    keys = np.stack([node[place], tasks[place], high, low, cores[node[place]], job[place]])
    keys = keys[:, np.lexsort(keys)]
    begins = np.flatnonzero((np.diff(keys[1:], prepend=-1) != 0).any(axis=0) | (np.diff(keys[0], prepend=-2) != 1))
    last = keys[0][np.append(begins[1:], keys.shape[1])[: begins.size] - 1]
    first, tasks, high, low, _, job = keys[:, begins]
    by_job = np.lexsort((low, first, job))
    job, first, last, low, high, tasks = (column[by_job] for column in (job, first, last, low, high, tasks))
    found = []
    for begin, end in pairwise(behind):
        here = (job >= begin) & (job < end)
        runs = NodeRuns(np.bincount(job[here] - begin, minlength=end - begin), first[here], last[here])
        found.append((runs, Lanes(low[here], high[here], tasks[here])))
    return found


def _taken(
    cores: list[int], node: list[int], wanted: list[int], start: list[float], end: list[float]
) -> Iterator[tuple[int, int, int]]:
    # The cores that each piece takes, as (index of the piece, first core, core after the last). Pieces are sorted by
    # node and start.
    here, free, running = -1, _FreeCores(0), list[tuple[float, int, list[tuple[int, int]]]]()
    for k, (on, count, begin, until) in enumerate(zip(node, wanted, start, end, strict=True)):
        if on != here:
            here, free, running = on, _FreeCores(cores[on]), []
        while running and running[0][0] <= begin:
            for first, after in heapq.heappop(running)[2]:
                free.give(first, after)
        parts = free.take(count)
        heapq.heappush(running, (until, k, parts))
        for first, after in parts:
            yield k, first, after


class _FreeCores:
    """The free cores of a node, as sorted ranges (first core, core after the last) that do not touch."""

    __slots__ = ("ranges",)

    def __init__(self, cores: int) -> None:
        self.ranges = [(0, cores)] if cores else []

    def take(self, count: int) -> list[tuple[int, int]]:
        """Remove the lowest `count` free cores that are neighbours, or else the lowest ones; return them as ranges."""
        for k, (first, after) in enumerate(self.ranges):
            if after - first >= count:
                self.ranges[k : k + 1] = [(first + count, after)] if after - first > count else []
                return [(first, first + count)]
        taken = []
        while self.ranges and count > 0:
            first, after = self.ranges.pop(0)
            if after - first > count:
                self.ranges.insert(0, (first + count, after))
                after = first + count
            taken.append((first, after))
            count -= after - first
        return taken

    def give(self, first: int, after: int) -> None:
        """Add a range to the free cores, and merge it with free neighbours."""
        k = bisect(self.ranges, (first, after))
        if k < len(self.ranges) and self.ranges[k][0] == after:
            after = self.ranges.pop(k)[1]
        if k and self.ranges[k - 1][1] == first:
            first = self.ranges.pop(k - 1)[0]
        insort(self.ranges, (first, after))
