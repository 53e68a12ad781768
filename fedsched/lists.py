"""List heuristics: each job, when it is submitted, goes to the cluster of its best predicted completion (or energy).

The prediction knows estimates only, and no later arrival. Numbers in brackets are those of docs/readings.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import InfeasibleError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from fedsched.federation import Federation
    from fedsched.workload import Workload

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

    order: Ints  # rows by predicted start
    caps: Ints  # jobs × groups: the nodes of the groups that a job is bound to, 0 elsewhere
    start: Floats
    finish: Floats
    counts: Ints


def assign(workload: Workload, federation: Federation, heuristic: str) -> Assignment:
    """Return the assignment that a heuristic (a name of `HEURISTICS`) makes of a workload."""
    if heuristic not in HEURISTICS:
        raise unknown_name("list heuristic", heuristic, HEURISTICS)
    return _Mapper(workload, federation, heuristic).run()


class _Site:
    """Where one job may run: a cluster, or several taken together, as nested sets of its fastest groups."""

    __slots__ = ("bases", "clusters", "columns", "groups", "levels", "reached", "slowdowns", "times")

    def __init__(self, clusters: tuple[int, ...], groups: Ints, slowdown: Floats) -> None:
        self.clusters = clusters
        self.groups = groups  # cluster by cluster
        self.slowdowns = np.unique(slowdown[groups]).tolist()
        self.levels = [groups[slowdown[groups] <= slowest] for slowest in self.slowdowns]
        self.columns = [np.flatnonzero(slowdown[groups] <= slowest) for slowest in self.slowdowns]
        self.times: Floats = np.empty(0)  # when nodes become available
        self.reached: list[Ints] = []  # per level: how many of its nodes are available from each time on
        self.bases: list[float] = []  # per level: no start before

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
        self.reached = [counts[:, columns].sum(axis=1).cumsum() for columns in self.columns]
        self.bases = [max(tables[k].times[0] for k in set(cluster_of[groups].tolist())) for groups in self.levels]

    def predict(self, now: float, tasks: Ints, estimate: Floats, sigma: Floats) -> tuple[Floats, Floats, Ints]:
        """Return the earliest completions of jobs, with the starts and levels that give them [26].

        A level waits until so many of its nodes are available. A faster level wins a tie.
        """
        best, start, level = np.full(tasks.size, np.inf), np.full(tasks.size, np.inf), np.zeros(tasks.size, np.int64)
        final = self.times.size - 1
        for i, slowdown in enumerate(self.slowdowns):
            row = np.searchsorted(self.reached[i], tasks)
            begin = np.maximum(self.times[np.minimum(row, final)], max(self.bases[i], now))
            end = begin + estimate * (sigma * slowdown + (1.0 - sigma))
            better = (row <= final) & (end < best)
            best[better], start[better], level[better] = end[better], begin[better], i
        return best, start, level


@dataclass(slots=True)
class _Table:
    """When the nodes of a cluster become available: rows of (time, nodes of each group), the last start first."""

    times: Floats
    counts: Ints

    def available(self, time: float) -> Ints:
        return self.counts[: np.searchsorted(self.times, time, side="right")].sum(axis=0)

    def occupy(self, start: float, end: float, taken: Ints) -> None:
        """Take nodes from `start` to `end`; whatever comes later here starts no earlier [25]."""
        past = int(np.searchsorted(self.times, start, side="right"))
        until = max(int(np.searchsorted(self.times, end)), past)
        left = self.counts[:past].sum(axis=0) - taken
        self.times = np.concatenate(([start], self.times[past:until], [end], self.times[until:]))
        self.counts = np.concatenate((left[None], self.counts[past:until], taken[None], self.counts[until:]))


class _Mapper:
    def __init__(self, workload: Workload, federation: Federation, heuristic: str) -> None:
        groups = federation.groups
        self.workload, self.federation, self.heuristic = workload, federation, heuristic
        self.nodes = np.array([group.count for group in groups], dtype=np.int64)
        self.slowdown = 1.0 / np.array([group.speed for group in groups], dtype=np.float64)
        self.extra_watts = np.array([group.busy_watts - group.idle_watts for group in groups], dtype=np.float64)
        self.cluster_of = np.array(federation.group_cluster, dtype=np.int64)
        clusters = range(len(federation.clusters))
        self.groups_of = [np.flatnonzero(self.cluster_of == k) for k in clusters]
        self.sites = [self._site((k,)) for k in clusters]
        self.allowed = self._allowed_clusters()
        self.options = self._options()
        began = float(workload.submit.min()) if len(workload) else 0.0
        self.tables = [_Table(np.array([began]), self.nodes[self.groups_of[k]][None]) for k in clusters]
        for site in self.sites:
            site.refresh(self.tables, self.cluster_of)
        shape = (len(workload), len(groups))
        self.result = Assignment(
            order=np.arange(len(workload)),
            caps=np.zeros(shape, dtype=np.int64),
            start=np.zeros(len(workload)),
            finish=np.zeros(len(workload)),
            counts=np.zeros(shape, dtype=np.int64),
        )
        self.turn = np.zeros(len(workload), dtype=np.int64)  # when each job was bound, for equal starts
        self.bound = 0

    def _site(self, clusters: tuple[int, ...]) -> _Site:
        return _Site(clusters, np.concatenate([self.groups_of[k] for k in clusters]), self.slowdown)

    def _allowed_clusters(self) -> NDArray[np.bool_]:
        allowed = np.ones((len(self.workload), len(self.federation.clusters)), dtype=np.bool_)
        if self.workload.allowed is not None:
            allowed[:] = False
            allowed[:, self.federation.clusters_of_sites(self.workload.sites)] = self.workload.allowed
        return allowed

    def _options(self) -> NDArray[np.bool_]:
        # Jobs × sites. A job that no allowed cluster can hold has one site, all of them together.
        tasks = self.workload.tasks
        size = np.array([self.nodes[groups].sum() for groups in self.groups_of], dtype=np.int64)
        single = self.allowed & (size >= tasks[:, None])
        wide = np.flatnonzero(~single.any(axis=1))
        together: dict[tuple[int, ...], list[int]] = {}
        for row in wide.tolist():
            clusters = tuple(np.flatnonzero(self.allowed[row]).tolist())
            usable = int(size[list(clusters)].sum())
            if tasks[row] > usable:
                raise InfeasibleError(
                    f"Job {self.workload.id[row]}: tasks={tasks[row]} exceeds the {usable} nodes of the clusters that "
                    "it may use; drop it, allow more clusters or use a larger federation."
                )
            together.setdefault(clusters, []).append(row)
        options = np.zeros((len(tasks), len(size) + len(together)), dtype=np.bool_)
        options[:, : len(size)] = single
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
        order = np.lexsort((self.turn, self.result.start))
        self.result.order[:] = order
        return self.result

    def _instants(self) -> Iterator[tuple[float, Ints]]:
        submit = self.workload.submit
        rows = np.lexsort((self.workload.id, submit))
        edges = np.flatnonzero(np.diff(submit[rows])) + 1
        for part in np.split(rows, edges):
            if part.size:
                yield float(submit[part[0]]), part

    def _predict(self, site: int, rows: Ints, now: float) -> tuple[Floats, Floats, Ints]:
        jobs = self.workload
        return self.sites[site].predict(now, jobs.tasks[rows], jobs.estimate[rows], jobs.compute_fraction[rows])

    def _best_site(self, row: int, now: float) -> int:
        options = np.flatnonzero(self.options[row]).tolist()
        if len(options) == 1:
            return int(options[0])
        ranked = []
        for site in options:
            end, start, level = self._predict(site, np.array([row]), now)
            energy = 0.0
            if self.heuristic == "least-energy":
                energy = self._added_energy(row, site, float(start[0]), int(level[0]))
            ranked.append((energy, float(end[0]), site))
        return min(ranked)[2]

    def _added_energy(self, row: int, site: int, start: float, level: int) -> float:
        # Σ x_g (busy_g − idle_g) · d: what the job adds to eq. 1.8 while the machine would be on anyway
        taken = self._fill(site, level, start, int(self.workload.tasks[row]))
        return float((taken * self.extra_watts).sum()) * self._duration(row, self.sites[site].slowdowns[level])

    def _duration(self, row: int, slowdown: float) -> float:
        sigma = float(self.workload.compute_fraction[row])
        return float(self.workload.estimate[row]) * (sigma * slowdown + (1.0 - sigma))

    def _map_together(self, rows: Ints, now: float) -> None:
        # Min-Min, Max-Min, Sufferage: choose a job, bind it, predict the others anew where that changes anything.
        completion = np.full((rows.size, len(self.sites)), np.inf)
        stale = range(len(self.sites))
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
        best = completion.min(axis=1)
        if self.heuristic == "min-min":
            return -best
        if self.heuristic == "max-min":
            return best
        if completion.shape[1] == 1:
            return np.full(best.size, np.inf)
        return np.partition(completion, 1, axis=1)[:, 1] - best  # Sufferage; infinite where there is no second

    def _fill(self, site: int, level: int, start: float, tasks: int) -> Ints:
        # The nodes that `fastest` takes when the job starts (readings 14 and 16).
        groups = self.sites[site].levels[level]
        free = np.zeros(self.nodes.size, dtype=np.int64)
        together = np.zeros(len(self.tables), dtype=np.int64)
        for k in set(self.cluster_of[groups].tolist()):
            free[self.groups_of[k]] = self.tables[k].available(start)
            together[k] = free[self.groups_of[k]].sum()
        cluster = self.cluster_of[groups]
        in_turn = groups[np.lexsort((groups, cluster, -together[cluster], self.slowdown[groups]))]
        before = np.cumsum(free[in_turn]) - free[in_turn]
        taken = np.zeros(self.nodes.size, dtype=np.int64)
        taken[in_turn] = np.clip(tasks - before, 0, free[in_turn])
        return taken

    def _bind(self, row: int, chosen: int, now: float) -> list[int]:
        # Gives the job its place in the plan; returns the sites whose predictions are no longer right.
        end, start, level = (float(value[0]) for value in self._predict(chosen, np.array([row]), now))
        groups = self.sites[chosen].levels[int(level)]
        taken = self._fill(chosen, int(level), start, int(self.workload.tasks[row]))
        result = self.result
        result.caps[row, groups] = self.nodes[groups]
        result.counts[row] = taken
        result.start[row], result.finish[row] = start, end
        self.turn[row] = self.bound
        self.bound += 1
        touched = set(self.cluster_of[groups].tolist())
        for k in touched:
            self.tables[k].occupy(start, end, taken[self.groups_of[k]])
        stale = [site for site, one in enumerate(self.sites) if not touched.isdisjoint(one.clusters)]
        for site in stale:
            self.sites[site].refresh(self.tables, self.cluster_of)
        return stale
