"""List heuristics bind each job at its submit to the cluster with the best predicted completion (or energy).

Predictions use estimates only and ignore later arrivals. Numbers in brackets are those of docs/readings.
Maheswaran, Ali, Siegel, Hensgen and Freund (1999) describe them for tasks of one node; here a machine is a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.admission import admitted_groups
from fedsched.model.jobs.uneven import are_uneven, counted_tasks, counted_tasks_per_node
from fedsched.model.power.switching import with_planned_idle_watts
from fedsched.policies.sites import Site, Table, after

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

HEURISTICS: Mapping[str, str] = MappingProxyType(
    {
        "mct": "jobs in turn, each to the cluster that completes it first",
        "min-min": "of the jobs of an instant, first the one with the least completion",
        "max-min": "of the jobs of an instant, first the one whose least completion is greatest",
        "sufferage": "of the jobs of an instant, first the one that the second best cluster would delay most",
        "least-energy": "jobs in turn, each to the cluster where it adds the least energy",
        "list-spt": "as mct, but of the jobs of an instant, first the one of the shortest estimate",
        "list-saf": "as mct, but of the jobs of an instant, first the one of the smallest area (tasks × estimate)",
        "list-laf": "as mct, but of the jobs of an instant, first the one of the largest area",
        "list-sqrt": "as mct, but of the jobs of an instant, first the one of the least √tasks × estimate",
    }
)


def list_keys(tasks: Ints, estimate: Floats) -> dict[str, Floats]:
    """Return what the heuristics with a list of their own sort jobs by, the least first, by heuristic."""
    area = tasks * estimate
    return {
        "list-spt": np.asarray(estimate),
        "list-saf": area,
        "list-laf": -area,
        "list-sqrt": np.sqrt(tasks) * estimate,
    }


class OpenShapes(NamedTuple):
    """Alternative shapes of all jobs as flat arrays, job by job; a list heuristic chooses one for each job.

    See reading 68.
    """

    first: Ints  # index of each job's first shape, and the number of shapes at the end
    which: Ints  # index of the shape among the job's alternatives
    tasks: Ints
    wanted: Ints  # the tasks that need a place: all of them if nodes hold different numbers of tasks [76]
    estimate: Floats  # planned run time in seconds

    @classmethod
    def recorded(cls, workload: Workload) -> OpenShapes:
        """Return arrays with one shape for each job: the tasks and the estimate of the workload's columns."""
        jobs, tasks = len(workload), workload.tasks
        return cls(np.arange(jobs + 1), np.zeros(jobs, np.int64), tasks, counted_tasks(workload), workload.estimate)


class Cores(NamedTuple):
    """Cores of nodes that jobs share; a list heuristic takes them as nodes, one of which each task would need."""

    of_node: Ints  # per group: of one of its nodes
    of_job: Ints  # per job: of all of its tasks
    limit: Ints  # jobs × groups: the most cores that a job may use


@dataclass(frozen=True, slots=True)
class Assignment:
    """The result of a list heuristic, a row for each job: its groups, its shape, and its predicted nodes and times."""

    order: Ints  # rows by predicted start, then by the order of binding
    caps: Ints  # jobs × groups: the nodes of the groups that a job is bound to, 0 elsewhere
    start: Floats
    finish: Floats
    counts: Ints
    which: Ints  # index of the shape taken among the job's alternatives


def assign(
    workload: Workload,
    federation: Federation,
    heuristic: str,
    *,
    shapes: OpenShapes | None = None,
    caps: Ints | None = None,
    t0: float | None = None,
    running: RunningJobs | None = None,
    look: Callable[[], None] | None = None,
    cores: Cores | None = None,
) -> Assignment:
    """Return the clusters, nodes and times to which a list heuristic assigns a workload's jobs.

    Raise `InfeasibleError` if a job needs more nodes than it may use.

    Parameters
    ----------
    workload, federation
        The jobs, and the federation that they run on.
    heuristic
        A name of `HEURISTICS`.
    shapes
        The shapes of which each job takes the one with the earliest predicted end; by default jobs are as in their
        columns.
    caps
        Jobs × groups: the most nodes of each group that a job may use.
    t0
        No job starts before this time. By default it is `running.time` or, without running jobs, the earliest submit.
    running
        Jobs of the workload that already run: they keep their nodes until their planned ends.
    look
        Called before each job is bound; an exception that it raises ends the assignment.
    cores
        If jobs share nodes: the cores that nodes have and jobs take; nodes and counts are then cores everywhere.
    """
    if heuristic not in HEURISTICS:
        raise unknown_name("list heuristic", heuristic, HEURISTICS)
    if t0 is None:
        t0 = running.time if running is not None else float(workload.submit.min())
    return _Mapper(workload, federation, heuristic, shapes, caps, t0, running, look, cores).run()


class _Mapper:
    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        heuristic: str,
        shapes: OpenShapes | None,
        caps: Ints | None,
        t0: float,
        running: RunningJobs | None,
        look: Callable[[], None] | None,
        cores: Cores | None,
    ) -> None:
        self.look = look
        groups = with_planned_idle_watts(federation).groups
        self.workload, self.heuristic, self.t0 = workload, heuristic, t0
        self.shapes = OpenShapes.recorded(workload) if shapes is None else shapes
        if cores is not None:
            self.shapes = self.shapes._replace(tasks=cores.of_job, wanted=cores.of_job)
        self.owner = np.repeat(np.arange(len(workload)), np.diff(self.shapes.first))
        self.rigid = self.owner.size == len(workload)
        of_node = np.ones(len(groups), dtype=np.int64) if cores is None else cores.of_node
        self.nodes = np.array([group.count for group in groups], dtype=np.int64) * of_node
        self.slowdown = 1.0 / np.array([group.speed for group in groups], dtype=np.float64)
        extra_watts = np.array([group.busy_watts - group.idle_watts for group in groups], dtype=np.float64)
        self.extra_watts = extra_watts / of_node
        self.idle_total = float(sum(group.count * group.idle_watts for group in groups))
        self.turns = federation.turns
        self.cluster_of = np.array(federation.group_cluster, dtype=np.int64)
        self.groups_of = [np.flatnonzero(self.cluster_of == k) for k in range(len(federation.clusters))]
        self.uneven = are_uneven(workload) & (cores is None)
        self.fits = counted_tasks_per_node(workload, federation) if self.uneven.any() else None  # tasks to a node [76]
        self.limit = self._limits(federation, caps) if cores is None else cores.limit
        shape = (len(workload), len(groups))
        self.result = Assignment(
            order=np.arange(len(workload)),
            caps=self.limit.copy(),
            start=np.zeros(len(workload)),
            finish=np.zeros(len(workload)),
            counts=np.zeros(shape, dtype=np.int64),
            which=self.shapes.which[self.shapes.first[:-1]],
        )
        self.waiting = np.ones(len(workload), dtype=np.bool_)
        self.horizon = t0  # the last predicted end
        self.tables = self._tables(running)
        self.sites = [self._site((k,)) for k in range(len(federation.clusters))]
        self.holds = self._sites_of_shapes()
        self.options = np.logical_or.reduceat(self.holds, self.shapes.first[:-1])
        for site in self.sites:
            site.refresh(self.tables, self.cluster_of)
        present = self.shapes.first[:-1]
        self.key = list_keys(self.shapes.tasks[present], self.shapes.estimate[present]).get(heuristic)
        self.turn = np.zeros(len(workload), dtype=np.int64)  # order of binding, which sorts equal starts
        self.bound = 0

    def _limits(self, federation: Federation, caps: Ints | None) -> Ints:
        # Jobs × groups: the most nodes that a job may use
        limit = np.tile(self.nodes, (len(self.workload), 1))
        if caps is not None:
            limit = np.minimum(limit, caps)
        if federation.binds_by_labels:
            limit = np.where(admitted_groups(self.workload, federation), limit, 0)
        if self.workload.allowed is not None:
            limit = np.where(federation.groups_allowed(self.workload.sites, self.workload.allowed), limit, 0)
        return limit if self.fits is None else np.where(self.fits > 0, limit, 0)

    def _tables(self, running: RunningJobs | None) -> list[Table]:
        # All nodes are available from t0 on, except those of running jobs: from their planned ends on (reading 8).
        times, counts = np.array([self.t0]), self.nodes[None]
        if running is not None and running.rows.size:
            ends = after(running.planned_end, self.t0)
            by_end = np.argsort(ends, kind="stable")
            times = np.concatenate((times, ends[by_end]))
            counts = np.concatenate((self.nodes[None] - running.counts.sum(axis=0), running.counts[by_end]))
            self.waiting[running.rows] = False
            self.horizon = float(ends.max())
            self.result.start[running.rows], self.result.finish[running.rows] = running.start, ends
            self.result.counts[running.rows] = running.counts
        return [Table(times, counts[:, groups]) for groups in self.groups_of]

    def _site(self, clusters: tuple[int, ...]) -> Site:
        return Site(clusters, np.concatenate([self.groups_of[k] for k in clusters]), self.slowdown)

    def _sites_of_shapes(self) -> NDArray[np.bool_]:
        # Shapes × sites. A shape that fits no single cluster has one site: all usable clusters together [25].
        tasks, owner, held = self.shapes.wanted, self.owner, self.limit if self.fits is None else self.limit * self.fits
        usable = np.stack([held[:, groups].sum(axis=1) for groups in self.groups_of], axis=1)[owner]
        single = usable >= tasks[:, None]
        wide = np.flatnonzero(~single.any(axis=1) & self.waiting[owner])
        together: dict[tuple[int, ...], list[int]] = {}
        for at in wide.tolist():
            if tasks[at] <= usable[at].sum():
                together.setdefault(tuple(np.flatnonzero(usable[at]).tolist()), []).append(at)
            elif at == self.shapes.first[owner[at]]:
                nodes = f"{usable[at].sum()} nodes" if not self.uneven[owner[at]] else f"{usable[at].sum()} on nodes"
                raise InfeasibleError(
                    f"Job {self.workload.id[owner[at]]}: tasks={tasks[at]} exceeds the {nodes} that it may use; drop "
                    "it, loosen its caps and allowed clusters or use a larger federation."
                )
        holds = np.zeros((len(tasks), len(self.groups_of) + len(together)), dtype=np.bool_)
        holds[:, : len(self.groups_of)] = single
        for clusters, shapes in together.items():
            holds[shapes, len(self.sites)] = True
            self.sites.append(self._site(clusters))
        return holds

    def run(self) -> Assignment:
        for now, rows in self._instants():
            if self.heuristic in ("min-min", "max-min", "sufferage") and rows.size > 1:
                self._map_together(rows, now)
                continue
            listed = rows if self.key is None else rows[np.argsort(self.key[rows], kind="stable")]
            for row in listed.tolist():
                self._bind(row, self._best_site(row, now), now)
        self.result.order[:] = np.lexsort((self.turn, self.result.start))
        return self.result

    def _instants(self) -> Iterator[tuple[float, Ints]]:
        # Times of submits and the jobs submitted then; jobs with feedback follow the predicted ends of others [45].
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

    def _predict(self, site: int, rows: Ints, now: float) -> tuple[Floats, Floats, Ints, Ints]:
        # The earliest completion of each of these jobs at a site, with start, level and shape.
        at = rows if self.rigid else self._shapes_at(site, rows)
        owner, groups = self.owner[at], self.sites[site].groups
        tasks, estimate = self.shapes.tasks[at], self.shapes.estimate[at]
        sigma = self.workload.compute_fraction[owner]
        end, start, level = self.sites[site].predict(now, tasks, estimate, sigma)
        limit = self.limit[np.ix_(owner, groups)]
        for i in np.flatnonzero((limit < self.nodes[groups]).any(axis=1) | self.uneven[owner]).tolist():
            fits = 1 if self.fits is None else self.fits[owner[i], groups]
            end[i], start[i], level[i] = self.sites[site].predict_capped(
                now, int(self.shapes.wanted[at[i]]), float(estimate[i]), float(sigma[i]), limit[i], fits
            )
        if self.rigid:
            return end, start, level, at
        # For each job the shape that ends first; ties go to the least tasks × time, then to the first listed [68].
        turn = np.repeat(np.arange(rows.size), [self.holds[self._shapes_of(row), site].sum() for row in rows.tolist()])
        by_end = np.lexsort((at, tasks * (end - start), end, turn))
        best = by_end[np.unique(turn[by_end], return_index=True)[1]]
        return end[best], start[best], level[best], at[best]

    def _shapes_of(self, row: int) -> slice:
        return slice(int(self.shapes.first[row]), int(self.shapes.first[row + 1]))

    def _shapes_at(self, site: int, rows: Ints) -> Ints:
        # The shapes of these jobs that the site can hold, job by job.
        each = [self._shapes_of(row) for row in rows.tolist()]
        return np.concatenate([one.start + np.flatnonzero(self.holds[one, site]) for one in each])

    def _best_site(self, row: int, now: float) -> int:
        options = np.flatnonzero(self.options[row]).tolist()
        if len(options) == 1:
            return int(options[0])
        ranked = []
        for site in options:
            end, start, level, at = self._predict(site, np.array([row]), now)
            energy = 0.0
            if self.heuristic == "least-energy":
                energy = self._added_energy(int(at[0]), site, float(start[0]), float(end[0]), int(level[0]))
            ranked.append((energy, float(end[0]), site))
        return min(ranked)[2]

    def _added_energy(self, at: int, site: int, start: float, end: float, level: int) -> float:
        # The increase of the predicted energy, eq. 1.8: the shape's own joules, and idling past the last end [28].
        taken = self._fill(at, site, level, start)
        sigma = float(self.workload.compute_fraction[self.owner[at]])
        slowdown = float(self.sites[site].slowdowns[level])
        seconds = float(self.shapes.estimate[at]) * (sigma * slowdown + (1.0 - sigma))
        longer = max(0.0, end - self.horizon)
        watts: float = sum((taken * self.extra_watts).tolist())
        return watts * seconds + self.idle_total * longer

    def _map_together(self, rows: Ints, now: float) -> None:
        # Min-Min, Max-Min, Sufferage: choose a job, bind it, and predict the others again at the sites that changed.
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
        # The job of greatest urgency is bound first; ties go to the one submitted first.
        best: Floats = completion.min(axis=1)
        if self.heuristic == "min-min":
            return -best
        if self.heuristic == "max-min":
            return best
        if completion.shape[1] == 1:
            return np.full(best.size, np.inf)
        second: Floats = np.partition(completion, 1, axis=1)[:, 1]
        return second - best  # Sufferage; infinite if there is no second site

    def _fill(self, at: int, site: int, level: int, start: float) -> Ints:
        # The nodes that `fastest` takes when a job of this shape starts (readings 14 and 16).
        groups = self.sites[site].levels[level]
        free = np.zeros(self.nodes.size, dtype=np.int64)
        together = np.zeros(len(self.tables), dtype=np.int64)
        for k in set(self.cluster_of[groups].tolist()):
            free[self.groups_of[k]] = self.tables[k].available(start)
            together[k] = free[self.groups_of[k]].sum()
        cluster = self.cluster_of[groups]
        in_turn = groups[np.lexsort((groups, self.turns[groups], cluster, -together[cluster], self.slowdown[groups]))]
        usable = np.minimum(free, self.limit[self.owner[at]])[in_turn]
        fits = np.ones_like(usable) if self.fits is None else np.maximum(self.fits[self.owner[at], in_turn], 1)
        before = np.cumsum(usable * fits) - usable * fits
        taken = np.zeros(self.nodes.size, dtype=np.int64)
        taken[in_turn] = np.clip(-((before - self.shapes.wanted[at]) // fits), 0, usable)
        return taken

    def _bind(self, row: int, chosen: int, now: float) -> list[int]:
        # Binds a job to its site; returns the sites with outdated predictions.
        if self.look is not None:
            self.look()
        (end,), (start,), (level,), (at,) = self._predict(chosen, np.array([row]), now)
        groups = self.sites[chosen].levels[level]
        taken = self._fill(at, chosen, level, start)
        result = self.result
        result.which[row] = self.shapes.which[at]
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
