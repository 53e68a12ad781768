"""List heuristics: each job, when it is submitted, goes to the cluster of its best predicted completion (or energy).

The prediction knows estimates only, and no later arrival. Numbers in brackets are those of docs/readings.md.
Maheswaran, Ali, Siegel, Hensgen and Freund (1999) describe them for tasks of one node; here a machine is a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import InfeasibleError, unknown_name
from fedsched.model.admission import open_groups
from fedsched.model.feedback import followers_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from fedsched.engine.arrays import RunningJobs
    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

HEURISTICS: Mapping[str, str] = MappingProxyType(
    {
        "mct": "jobs in turn, each to the cluster that completes it first",
        "min-min": "of the jobs of an instant, first the one with the least completion",
        "max-min": "of the jobs of an instant, first the one whose least completion is greatest",
        "sufferage": "of the jobs of an instant, first the one that the second best cluster would delay most",
        "least-energy": "jobs in turn, each to the cluster where it adds the least energy",
    }
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where and when a list heuristic expects each job, a row a job."""

    order: Ints  # rows by predicted start, then in the order in which they were bound
    caps: Ints  # jobs × groups: the nodes of the groups that a job is bound to, 0 elsewhere
    start: Floats
    finish: Floats
    counts: Ints


def assign(
    workload: Workload,
    federation: Federation,
    heuristic: str,
    *,
    caps: Ints | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
    look: Callable[[], None] | None = None,
) -> Assignment:
    """Return the assignment that a heuristic makes of a workload.

    Parameters
    ----------
    workload, federation
        The jobs, and what they run on.
    heuristic
        A name of `HEURISTICS`.
    caps
        Jobs × groups: how many nodes of each group a job may use.
    t0
        No job starts before; the time of the running jobs, or the earliest submit, when not given.
    running
        Jobs of the workload that run already: they keep their nodes until their planned ends.
    look
        Called before each job is bound; what it raises ends the assignment.
    """
    if heuristic not in HEURISTICS:
        raise unknown_name("list heuristic", heuristic, HEURISTICS)
    if t0 is None:
        t0 = running.time if running is not None else float(workload.submit.min())
    with np.errstate(over="ignore", invalid="ignore"):  # what never ends is refused as it runs
        return _Mapper(workload, federation, heuristic, caps, t0, running, look).run()


def _after(end: ArrayLike, begin: ArrayLike) -> Floats:
    # Ends as the clock tells them apart from what they are the ends of (readings 0 and 8)
    return np.asarray(np.maximum(end, np.nextafter(begin, np.inf)))


class _Site:
    """Where one job may run: a cluster, or several taken together, as nested sets of its fastest groups."""

    __slots__ = ("clusters", "columns", "groups", "joined", "latest", "levels", "reached", "slowdowns", "times")

    def __init__(self, clusters: tuple[int, ...], groups: Ints, slowdown: Floats) -> None:
        self.clusters = clusters
        self.groups = groups  # cluster by cluster
        self.slowdowns = np.unique(slowdown[groups]).tolist()
        self.levels = [groups[slowdown[groups] <= slowest] for slowest in self.slowdowns]
        self.columns = [np.flatnonzero(slowdown[groups] <= slowest) for slowest in self.slowdowns]
        self.times: Floats = np.empty(0)  # when nodes become available
        self.joined: Ints = np.empty((0, 0), np.int64)  # how many of each group are available from each time on
        self.reached: list[Ints] = []  # the same, summed over the groups of each level
        self.latest: Floats = np.empty(0)  # per group: the last start in its cluster

    def refresh(self, tables: list[_Table], cluster_of: Ints) -> None:
        """Bring the availability of the site up to date with its clusters' tables."""
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
        """Return the earliest completions of jobs without caps, with the starts and levels that give them [26]."""
        best, start = np.full(tasks.size, np.inf), np.full(tasks.size, np.inf)
        level = np.full(tasks.size, len(self.slowdowns) - 1)  # of a job that would never end
        final = self.times.size - 1
        for i, slowdown in enumerate(self.slowdowns):
            row = np.searchsorted(self.reached[i], tasks)
            begin = np.maximum(self.times[np.minimum(row, final)], max(self.latest[self.columns[i]].max(), now))
            end = _after(begin + estimate * (sigma * slowdown + (1.0 - sigma)), begin)
            better = (row <= final) & (end < best)  # a faster level wins a tie
            best[better], start[better], level[better] = end[better], begin[better], i
        return best, start, level

    def predict_capped(
        self, now: float, tasks: int, estimate: float, sigma: float, limit: Ints
    ) -> tuple[float, float, int]:
        """Return the same for one job that may use at most `limit` nodes of each group of the site."""
        best, start, level = np.inf, np.inf, len(self.slowdowns) - 1
        usable = np.minimum(self.joined, limit)
        for i, slowdown in enumerate(self.slowdowns):
            columns = self.columns[i]
            row = int(np.searchsorted(usable[:, columns].sum(axis=1), tasks))
            if row == self.times.size:
                continue
            begin = max(float(self.times[row]), float(self.latest[columns][limit[columns] > 0].max()), now)
            end = float(_after(begin + estimate * (sigma * slowdown + (1.0 - sigma)), begin))
            if end < best:
                best, start, level = end, begin, i
        return best, start, level


@dataclass(slots=True)
class _Table:
    """When the nodes of a cluster become available: rows of (time, nodes of each group), the last start first."""

    times: Floats
    counts: Ints

    def available(self, time: float) -> Ints:
        """Return how many nodes of each group are available at a time."""
        available: Ints = self.counts[: np.searchsorted(self.times, time, side="right")].sum(axis=0)
        return available

    def occupy(self, start: float, end: float, taken: Ints) -> None:
        """Take nodes from `start` to `end`; whatever comes later here starts no earlier [26]."""
        past = int(np.searchsorted(self.times, start, side="right"))
        until = max(int(np.searchsorted(self.times, end)), past)
        left = self.counts[:past].sum(axis=0) - taken
        self.times = np.concatenate(([start], self.times[past:until], [end], self.times[until:]))
        self.counts = np.concatenate((left[None], self.counts[past:until], taken[None], self.counts[until:]))


class _Mapper:
    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        heuristic: str,
        caps: Ints | None,
        t0: float,
        running: RunningJobs | None,
        look: Callable[[], None] | None,
    ) -> None:
        self.look = look
        groups = federation.groups
        self.workload, self.heuristic, self.t0 = workload, heuristic, t0
        self.nodes = np.array([group.count for group in groups], dtype=np.int64)
        self.slowdown = 1.0 / np.array([group.speed for group in groups], dtype=np.float64)
        self.extra_watts = np.array([group.busy_watts - group.idle_watts for group in groups], dtype=np.float64)
        self.idle_total = float(sum(group.count * group.idle_watts for group in groups))
        self.turns = federation.turns
        self.cluster_of = np.array(federation.group_cluster, dtype=np.int64)
        self.groups_of = [np.flatnonzero(self.cluster_of == k) for k in range(len(federation.clusters))]
        self.limit = self._limits(federation, caps)
        shape = (len(workload), len(groups))
        self.result = Assignment(
            order=np.arange(len(workload)),
            caps=self.limit.copy(),
            start=np.zeros(len(workload)),
            finish=np.zeros(len(workload)),
            counts=np.zeros(shape, dtype=np.int64),
        )
        self.waiting = np.ones(len(workload), dtype=np.bool_)
        self.horizon = t0  # the last predicted end
        self.tables = self._tables(running)
        self.sites = [self._site((k,)) for k in range(len(federation.clusters))]
        self.options = self._options()
        for site in self.sites:
            site.refresh(self.tables, self.cluster_of)
        self.turn = np.zeros(len(workload), dtype=np.int64)  # when each job was bound, for equal starts
        self.bound = 0

    def _limits(self, federation: Federation, caps: Ints | None) -> Ints:
        # Jobs × groups: the nodes that a job may use at all
        limit = np.tile(self.nodes, (len(self.workload), 1))
        if caps is not None:
            limit = np.minimum(limit, caps)
        if federation.binds_by_labels:
            limit = np.where(open_groups(self.workload, federation), limit, 0)
        if self.workload.allowed is not None:
            limit = np.where(federation.groups_allowed(self.workload.sites, self.workload.allowed), limit, 0)
        return limit

    def _tables(self, running: RunningJobs | None) -> list[_Table]:
        # All nodes from t0 on, but for those of running jobs, which come at their planned ends (reading 8).
        times, counts = np.array([self.t0]), self.nodes[None]
        if running is not None and running.rows.size:
            ends = _after(running.planned_end, self.t0)
            by_end = np.argsort(ends, kind="stable")
            times = np.concatenate((times, ends[by_end]))
            counts = np.concatenate((self.nodes[None] - running.counts.sum(axis=0), running.counts[by_end]))
            self.waiting[running.rows] = False
            self.horizon = float(ends.max())
            self.result.start[running.rows], self.result.finish[running.rows] = running.start, ends
            self.result.counts[running.rows] = running.counts
        return [_Table(times, counts[:, groups]) for groups in self.groups_of]

    def _site(self, clusters: tuple[int, ...]) -> _Site:
        return _Site(clusters, np.concatenate([self.groups_of[k] for k in clusters]), self.slowdown)

    def _options(self) -> NDArray[np.bool_]:
        # Jobs × sites. A job that no cluster alone can hold has one site: all that it may use, together [25].
        tasks = self.workload.tasks
        usable = np.stack([self.limit[:, groups].sum(axis=1) for groups in self.groups_of], axis=1)
        single = usable >= tasks[:, None]
        wide = np.flatnonzero(~single.any(axis=1) & self.waiting)
        together: dict[tuple[int, ...], list[int]] = {}
        for row in wide.tolist():
            if tasks[row] > usable[row].sum():
                raise InfeasibleError(
                    f"Job {self.workload.id[row]}: tasks={tasks[row]} exceeds the {usable[row].sum()} nodes that it "
                    "may use; drop it, loosen its caps and allowed clusters or use a larger federation."
                )
            together.setdefault(tuple(np.flatnonzero(usable[row]).tolist()), []).append(row)
        options = np.zeros((len(tasks), len(self.groups_of) + len(together)), dtype=np.bool_)
        options[:, : len(self.groups_of)] = single
        for clusters, rows in together.items():
            options[rows, len(self.sites)] = True
            self.sites.append(self._site(clusters))
        return options

    def run(self) -> Assignment:
        for now, rows in self._instants():
            if self.heuristic in ("mct", "least-energy") or rows.size == 1:
                for row in rows.tolist():
                    self._bind(row, self._best_site(row, now), now)
            else:
                self._map_together(rows, now)
        self.result.order[:] = np.lexsort((self.turn, self.result.start))
        return self.result

    def _instants(self) -> Iterator[tuple[float, Ints]]:
        # When jobs are submitted, and which are: those that follow others when these have ended, as predicted [45].
        ids, coming = self.workload.id.tolist(), self.workload.submit.tolist()
        followers: dict[int, list[tuple[int, float]]] = {}
        waits = self.waiting.copy()
        for row, on, think in zip(*(column.tolist() for column in followers_of(self.workload)), strict=True):
            if self.waiting[on]:
                followers.setdefault(on, []).append((row, think))
                waits[row] = False
            else:
                coming[row] = float(self.result.finish[on]) + think
        queue = [(coming[row], ids[row], row) for row in np.flatnonzero(waits).tolist()]
        heapify(queue)
        while queue:
            now, rows = max(queue[0][0], self.t0), []
            while queue and max(queue[0][0], self.t0) == now:
                rows.append(heappop(queue)[2])
            yield now, np.array(rows)
            for on in rows:
                for row, think in followers.get(on, ()):
                    heappush(queue, (float(self.result.finish[on]) + think, ids[row], row))

    def _predict(self, site: int, rows: Ints, now: float) -> tuple[Floats, Floats, Ints]:
        jobs, groups = self.workload, self.sites[site].groups
        tasks, estimate, sigma = jobs.tasks[rows], jobs.estimate[rows], jobs.compute_fraction[rows]
        end, start, level = self.sites[site].predict(now, tasks, estimate, sigma)
        limit = self.limit[np.ix_(rows, groups)]
        for i in np.flatnonzero((limit < self.nodes[groups]).any(axis=1)).tolist():
            end[i], start[i], level[i] = self.sites[site].predict_capped(
                now, int(tasks[i]), float(estimate[i]), float(sigma[i]), limit[i]
            )
        return end, start, level

    def _best_site(self, row: int, now: float) -> int:
        options = np.flatnonzero(self.options[row]).tolist()
        if len(options) == 1:
            return int(options[0])
        ranked = []
        for site in options:
            end, start, level = self._predict(site, np.array([row]), now)
            energy = 0.0
            if self.heuristic == "least-energy":
                energy = self._added_energy(row, site, float(start[0]), float(end[0]), int(level[0]))
            ranked.append((energy, float(end[0]), site))
        return min(ranked)[2]

    def _added_energy(self, row: int, site: int, start: float, end: float, level: int) -> float:
        # By how much the job raises the predicted eq. 1.8: by its own joules, and by idling past the last end [28].
        taken = self._fill(row, site, level, start)
        sigma, slowdown = float(self.workload.compute_fraction[row]), float(self.sites[site].slowdowns[level])
        seconds = float(self.workload.estimate[row]) * (sigma * slowdown + (1.0 - sigma))
        longer = max(0.0, end - self.horizon)
        watts: float = sum((taken * self.extra_watts).tolist())
        return watts * seconds + self.idle_total * longer

    def _map_together(self, rows: Ints, now: float) -> None:
        # Min-Min, Max-Min, Sufferage: choose a job, bind it, predict the others anew where that changes anything.
        completion = np.full((rows.size, len(self.sites)), np.inf)
        stale = list(range(len(self.sites)))
        while rows.size:
            for site in stale:
                may = self.options[rows, site]
                if may.any():
                    completion[may, site] = self._predict(site, rows[may], now)[0]
            chosen = int(self._urgency(completion).argmax())
            site = int(completion[chosen].argmin())
            stale = self._bind(int(rows[chosen]), site, now)
            rows, completion = np.delete(rows, chosen), np.delete(completion, chosen, axis=0)

    def _urgency(self, completion: Floats) -> Floats:
        # The job of greatest urgency is bound first; of equals the one submitted first.
        best: Floats = completion.min(axis=1)
        if self.heuristic == "min-min":
            return -best
        if self.heuristic == "max-min":
            return best
        if completion.shape[1] == 1:
            return np.full(best.size, np.inf)
        second: Floats = np.partition(completion, 1, axis=1)[:, 1]
        return second - best  # Sufferage; infinite where there is no second

    def _fill(self, row: int, site: int, level: int, start: float) -> Ints:
        # The nodes that `fastest` takes when the job starts (readings 14 and 16).
        groups = self.sites[site].levels[level]
        free = np.zeros(self.nodes.size, dtype=np.int64)
        together = np.zeros(len(self.tables), dtype=np.int64)
        for k in set(self.cluster_of[groups].tolist()):
            free[self.groups_of[k]] = self.tables[k].available(start)
            together[k] = free[self.groups_of[k]].sum()
        cluster = self.cluster_of[groups]
        in_turn = groups[np.lexsort((groups, self.turns[groups], cluster, -together[cluster], self.slowdown[groups]))]
        usable = np.minimum(free, self.limit[row])[in_turn]
        before = np.cumsum(usable) - usable
        taken = np.zeros(self.nodes.size, dtype=np.int64)
        taken[in_turn] = np.clip(self.workload.tasks[row] - before, 0, usable)
        return taken

    def _bind(self, row: int, chosen: int, now: float) -> list[int]:
        # Gives the job its place in the plan; returns the sites whose predictions are no longer right.
        if self.look is not None:
            self.look()
        end, start, level = (float(value[0]) for value in self._predict(chosen, np.array([row]), now))
        groups = self.sites[chosen].levels[int(level)]
        taken = self._fill(row, chosen, int(level), start)
        result = self.result
        result.caps[row] = 0
        result.caps[row, groups] = self.limit[row, groups]
        result.counts[row] = taken
        result.start[row], result.finish[row] = start, end
        self.horizon = max(self.horizon, end)
        self.bound += 1
        self.turn[row] = self.bound
        touched = set(self.cluster_of[groups[self.limit[row, groups] > 0]].tolist())
        for k in touched:
            self.tables[k].occupy(start, end, taken[self.groups_of[k]])
        stale = [site for site, one in enumerate(self.sites) if not touched.isdisjoint(one.clusters)]
        for site in stale:
            self.sites[site].refresh(self.tables, self.cluster_of)
        return stale
