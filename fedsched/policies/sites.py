"""Sites (one or more clusters) to which list heuristics bind jobs, with the predicted times of free nodes.

See reading 26.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def after(end: ArrayLike, begin: ArrayLike) -> Floats:
    """Return each end, or one floating-point step after its begin if that is later (readings 0 and 8)."""
    return np.asarray(np.maximum(end, np.nextafter(begin, np.inf)))


class Site:
    """A cluster, or several together, to which a job may be bound, with when its nodes are predicted to be available.

    Level k of a site has the node groups of the k + 1 fastest speeds.
    """

    __slots__ = ("clusters", "columns", "groups", "joined", "latest", "levels", "reached", "slowdowns", "times")

    def __init__(self, clusters: tuple[int, ...], groups: Ints, slowdown: Floats) -> None:
        self.clusters = clusters
        self.groups = groups  # cluster by cluster
        self.slowdowns = np.unique(slowdown[groups]).tolist()
        self.levels = [groups[slowdown[groups] <= slowest] for slowest in self.slowdowns]
        self.columns = [np.flatnonzero(slowdown[groups] <= slowest) for slowest in self.slowdowns]
        self.times: Floats = np.empty(0)  # when nodes become available
        self.joined: Ints = np.empty((0, 0), np.int64)  # nodes of each group that are available from each time on
        self.reached: list[Ints] = []  # the same, summed over the groups of each level
        self.latest: Floats = np.empty(0)  # per group: the last start in its cluster

    def refresh(self, tables: list[Table], cluster_of: Ints) -> None:
        """Compute anew, from its clusters' tables, when the site's nodes become available."""
        if len(self.clusters) == 1:
            table = tables[self.clusters[0]]
            self.times, counts = table.times, table.counts
        else:
            parts = [tables[k] for k in self.clusters]
            times = np.concatenate([part.times for part in parts])
            counts = np.zeros((times.size, self.groups.size), dtype=np.int64)
            row = column = 0
            for part in parts:
                rows, columns = part.counts.shape
                counts[row : row + rows, column : column + columns] = part.counts
                row, column = row + rows, column + columns
            by_time = np.argsort(times, kind="stable")
            self.times, counts = times[by_time], counts[by_time]
        self.joined = counts.cumsum(axis=0)
        self.reached = [self.joined[:, columns].sum(axis=1) for columns in self.columns]
        self.latest = np.array([tables[k].times[0] for k in cluster_of[self.groups].tolist()])

    def predict(self, now: float, tasks: Ints, estimate: Floats, sigma: Floats) -> tuple[Floats, Floats, Ints]:
        """Return the earliest completion of each job here, with its start and its level; the jobs have no caps.

        No job starts before `now` or before the last start in a cluster that it uses. Completion and start are infinite
        if a job never fits.
        """
        best, start = np.full(tasks.size, np.inf), np.full(tasks.size, np.inf)
        level = np.full(tasks.size, len(self.slowdowns) - 1)  # for jobs that would never end
        final = self.times.size - 1
        for i, slowdown in enumerate(self.slowdowns):
            row = np.searchsorted(self.reached[i], tasks)
            begin = np.maximum(self.times[np.minimum(row, final)], max(self.latest[self.columns[i]].max(), now))
            end = after(begin + estimate * (sigma * slowdown + (1.0 - sigma)), begin)
            better = (row <= final) & (end < best)  # a faster level wins a tie
            best[better], start[better], level[better] = end[better], begin[better], i
        return best, start, level

    def predict_capped(
        self, now: float, tasks: int, estimate: float, sigma: float, limit: Ints, fits: Ints | int
    ) -> tuple[float, float, int]:
        """Return the earliest completion, start and level of one job with at most `limit` nodes of each group.

        A node of a group holds `fits` tasks of the job. Completion and start are infinite if the job never fits.
        """
        best, start, level = np.inf, np.inf, len(self.slowdowns) - 1
        usable = np.minimum(self.joined, limit) * fits
        for i, slowdown in enumerate(self.slowdowns):
            columns = self.columns[i]
            row = int(np.searchsorted(usable[:, columns].sum(axis=1), tasks))
            if row == self.times.size:
                continue
            begin = max(float(self.times[row]), float(self.latest[columns][limit[columns] > 0].max()), now)
            end = float(after(begin + estimate * (sigma * slowdown + (1.0 - sigma)), begin))
            if end < best:
                best, start, level = end, begin, i
        return best, start, level


@dataclass(slots=True)
class Table:
    """Times at which a cluster's nodes become available, and how many nodes of each group each time adds.

    The first time is the start of the job bound last; no later job starts before it.
    """

    times: Floats
    counts: Ints

    def available(self, time: float) -> Ints:
        """Return how many nodes of each group are available at a time, in total."""
        available: Ints = self.counts[: np.searchsorted(self.times, time, side="right")].sum(axis=0)
        return available

    def occupy(self, start: float, end: float, taken: Ints) -> None:
        """Mark nodes as taken from `start` to `end`, and drop times before `start`: later jobs start no earlier."""
        past = int(np.searchsorted(self.times, start, side="right"))
        until = max(int(np.searchsorted(self.times, end)), past)
        left = self.counts[:past].sum(axis=0) - taken
        self.times = np.concatenate(([start], self.times[past:until], [end], self.times[until:]))
        self.counts = np.concatenate((left[None], self.counts[past:until], taken[None], self.counts[until:]))
