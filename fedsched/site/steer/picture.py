"""Translate a Slurm queue into a problem to simulate: waiting and running jobs on the nodes that are up."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import SteerError
from fedsched.core.text import counted
from fedsched.engine.arrays.structs import RunningJobs
from fedsched.engine.run.simulation import Simulation
from fedsched.model.jobs.admission import refusals
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
from fedsched.model.machine.partition import Partition
from fedsched.policies import Rules
from fedsched.simulate import prepare, simulate
from fedsched.site.steer.queue import YEAR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.core.names import DispatchName
    from fedsched.site.steer.queue import Queue, SlurmJob, SlurmNode

MOST_TASKS = 200  # tasks of one array that are planned one by one, at most
BUILTIN = "sched/builtin"  # it never backfills, and schedules each partition by itself
SHARED = ("select/cons_tres", "select/cons_res")
_FEATURES = re.compile(r"[\w&|.-]+", re.ASCII)
_ALL_OF = re.compile(r"[\w.-]+(?:&[\w.-]+)*", re.ASCII)
_ONE_OF = re.compile(r"[\w.-]+(?:\|[\w.-]+)+", re.ASCII)


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A Slurm queue as a problem to simulate: a workload, a federation of one cluster, and the state of running jobs.

    Parameters
    ----------
    jobs
        The job of each row of the workload; each task of an array has a row.
    waiting
        The number of rows that wait. They come first; the others run.
    zero
        The zero of the workload's clock, in seconds since 1970.
    notes
        What is assumed or not modelled, a few words each.
    alone
        If jobs share nodes: the waiting rows of exclusive jobs, which do not start before enough nodes are empty.
    """

    queue: Queue
    jobs: tuple[SlurmJob, ...]
    waiting: int
    workload: Workload
    federation: Federation
    running: RunningJobs
    zero: float
    notes: tuple[str, ...]
    alone: tuple[WholeNodes, ...] = ()

    @property
    def now(self) -> float:
        """Return the queue's time on the workload's clock, in seconds."""
        return self.queue.now - self.zero

    def starts(self, order: Sequence[int]) -> dict[int, float]:
        """Return, by job number, when each waiting job would start if the rows were scheduled in this order.

        Starts are in seconds since 1970. `order` lists the waiting rows.

        For a job with several tasks, this is the start of the last one. As in Slurm's backfill, each row in turn gets
        the earliest reservation that delays no row before it, by requested times. Without backfilling, no row starts
        before the rows ahead of it.
        """
        return self.by_job(self.simulated(self.workload, self.running, order))

    def simulated(self, workload: Workload, running: RunningJobs, order: Sequence[int]) -> NDArray[np.float64]:
        """Return the waiting rows' starts, in seconds on the workload's clock, from a simulation in this order.

        `workload` and `running` may differ from the picture's own in their run times.
        """
        start = simulate(workload, self.federation, self.rules(order), running=running).start[: self.waiting]
        return self.once_empty(start, running.finish)

    def once_empty(self, starts: NDArray[np.float64], finish: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the waiting rows' starts, those of exclusive jobs not before enough nodes are empty of running jobs.

        All times are seconds on the workload's clock; `finish` is when the running jobs end.
        """
        starts = starts.copy()
        for row, nodes, there in self.alone:
            empty = sorted(max((float(finish[k]) for k in jobs), default=self.now) for jobs in there)
            if nodes <= len(empty):
                starts[row] = max(starts[row], empty[nodes - 1])
        return starts

    def rules(self, order: Sequence[int]) -> Rules:
        """Return the rules that schedule rows in this order: conservative with backfilling, else strict."""
        dispatch: DispatchName = "conservative" if self.backfills else "strict"
        return Rules(order=self.whole(order), dispatch=dispatch, name="in turn")

    def whole(self, order: Sequence[int]) -> NDArray[np.int64]:
        """Return an order of the waiting rows with the running rows appended."""
        return np.concatenate([np.asarray(order, dtype=np.int64), np.arange(self.waiting, len(self.jobs))])

    @property
    def backfills(self) -> bool:
        """Return whether a job may start before jobs ahead of it, if it does not delay them."""
        return self.queue.setting("SchedulerType").lower() != BUILTIN or len(self.queue.partitions) > 1

    def by_job(
        self, starts: NDArray[np.float64], of_several: Callable[[float, float], float] = max
    ) -> dict[int, float]:
        """Return each waiting job's start in seconds since 1970, by number, from the rows' `starts`.

        Those are on the workload's clock. For a job with several tasks, `of_several` chooses between their starts; by
        default it is the last one.
        """
        found: dict[int, float] = {}
        for job, start in zip(self.jobs, (starts + self.zero).tolist(), strict=False):
            found[job.number] = of_several(found.get(job.number, start), start)
        return found

    def rows_of(self, numbers: Sequence[int]) -> list[int]:
        """Return the waiting rows of the jobs with these numbers, in this order, the tasks of a job together."""
        rows: dict[int, list[int]] = {}
        for row, job in enumerate(self.jobs[: self.waiting]):
            rows.setdefault(job.number, []).append(row)
        return [row for number in numbers for row in rows[number]]


def picture_of(queue: Queue) -> Picture:
    """Return a queue as a problem to simulate; raise `SteerError` if no node is up, or if no job waits or runs.

    It leaves out jobs that wait for something that comes at an unknown time, and jobs that need more nodes than are up.
    """
    unit = Unit.of(queue)
    notes = [*queue.unread_in_words(), *unit.notes]
    groups, places = _machine(queue, unit)
    if not groups:
        raise SteerError(f"{queue.cluster}: none of its nodes is up; there is nothing to plan for.")
    partitions = _partitions(queue, places)
    federation = Federation((Cluster(queue.cluster, tuple(groups)),), name=queue.cluster, partitions=tuple(partitions))
    room = {one.name: sum(unit.size(queue, name) for name in _up_of(queue, one.name)) for one in queue.partitions}
    waiting: list[SlurmJob] = []
    fitting: list[SlurmJob] = []
    too_large: list[SlurmJob] = []
    for job in queue.waiting:
        (fitting if unit.needs(job) <= room.get(job.partition, 0) else too_large).append(job)
    for job in fitting:
        waiting += [job] * min(job.tasks, MOST_TASKS)
    if too_large:
        notes.append(f"{counted(len(too_large), 'job')} that need more nodes than are up are left aside")
    if cut := sum(job.tasks > MOST_TASKS for job in fitting):
        notes.append(f"of {counted(cut, 'array')} the first {MOST_TASKS} tasks are planned")
    if queue.reservations:
        notes.append(f"not modelled: {counted(len(queue.reservations), 'reservation')} of nodes")
    running, counts = _running(queue, unit, federation, places)
    found = _picture_from(queue, unit, federation, waiting, running, counts, notes)
    refused = {found.jobs[row].number for row in refusals(found.workload, federation)}
    if not refused:
        return found
    few = f"{counted(len(refused), 'job')} that need features of which too few nodes are up are left aside"
    left = [job for job in waiting if job.number not in refused]
    return _picture_from(queue, unit, federation, left, running, counts, [*notes, few])


def can_be_modelled(features: str) -> bool:
    """Return whether the model can express this request for node features: names joined by & and |, and no more."""
    return _FEATURES.fullmatch(features) is not None


def has_features(asked: str, there: frozenset[str]) -> bool:
    """Return whether a node has the features asked for, like a&b (all) or a|b (one); True for other requests."""
    if _ONE_OF.fullmatch(asked):
        return bool(there & set(asked.split("|")))
    return not _ALL_OF.fullmatch(asked) or set(asked.split("&")) <= there


class WholeNodes(NamedTuple):
    """An exclusive job that waits: its row, its number of nodes, and the running jobs on each node that it may use.

    Running jobs are indices in the picture's list of them.
    """

    row: int
    nodes: int
    there: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class Unit:
    """What one node of the model stands for: a whole node or, if jobs share nodes, a CPU.

    `sizes` are the CPUs of the nodes that are up in each partition, the smallest first.
    """

    cpus: bool
    notes: tuple[str, ...]
    sizes: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, queue: Queue) -> Unit:
        """Return the unit for a queue: a node if nodes are not shared or all jobs take whole ones, else a CPU."""
        whole = queue.setting("SelectType").lower() not in SHARED or all(node.cpus == 1 for node in queue.nodes)
        size = {node.name: node.cpus for node in queue.nodes}
        least = min(size.values())
        if whole or all(_has_whole_nodes(job, size, least) for job in queue.jobs if job.holds_nodes or job.waits):
            return cls(False, (), {})
        there = {one.name: [node.cpus for node in queue.nodes if node.is_up and node.name in one.nodes]
                 for one in queue.partitions}  # fmt: skip
        sizes = {name: tuple(sorted(cpus)) for name, cpus in there.items()}
        told = "nodes are shared: planned by CPUs, without memory, devices and which node has how many"
        return cls(True, (told,), sizes)

    def size(self, queue: Queue, host: str) -> int:
        """Return how many nodes of the model stand for a real node: its CPUs if nodes are shared, else 1."""
        return next(node.cpus for node in queue.nodes if node.name == host) if self.cpus else 1

    def needs(self, job: SlurmJob) -> int:
        """Return how many nodes of the model a job needs: its CPUs if nodes are shared, else its nodes.

        An exclusive job needs all CPUs of as many nodes as it asks for, the smallest of its partition.
        """
        if not self.cpus:
            return job.nodes
        whole = sum(self.sizes.get(job.partition, ())[: job.nodes]) if job.exclusive and job.waits else 0
        return max(job.cpus, whole)


def _has_whole_nodes(job: SlurmJob, size: dict[str, int], least: int) -> bool:
    if job.exclusive:
        return True
    there = sum(size.get(host, 0) for host in job.hosts) if job.hosts else job.nodes * least
    return job.cpus >= there


def _up_of(queue: Queue, partition: str) -> list[str]:
    there = next(one.nodes for one in queue.partitions if one.name == partition)
    return [node.name for node in queue.nodes if node.is_up and node.name in there]


def _machine(queue: Queue, unit: Unit) -> tuple[list[NodeGroup], dict[str, tuple[int, int, int]]]:
    """Return groups of equal nodes that are up and, by node name, its group, its first model node and their number."""

    def alike(node: SlurmNode) -> tuple[object, ...]:
        member = tuple(one.name for one in queue.partitions if node.name in one.nodes)
        return (member, tuple(sorted(node.features)))

    there = sorted((node for node in queue.nodes if node.is_up), key=lambda node: repr(alike(node)))
    groups, places, first = [], {}, 0
    for g, (kind, nodes) in enumerate(groupby(there, key=alike)):
        begin = first
        for node in nodes:
            size = node.cpus if unit.cpus else 1
            places[node.name] = (g, first, size)
            first += size
        groups.append(NodeGroup(first - begin, features=kind[1]))  # type: ignore[arg-type]
    return groups, places


def _partitions(queue: Queue, places: dict[str, tuple[int, int, int]]) -> Iterator[Partition]:
    for one in queue.partitions:
        spans = sorted(places[name][1:] for name in one.nodes if name in places)
        if spans:
            text = ",".join(f"{first}-{first + size - 1}" for first, size in spans)
            yield Partition(one.name, ((queue.cluster, text),))  # the orders take care of the tiers


def _running(
    queue: Queue, unit: Unit, federation: Federation, places: dict[str, tuple[int, int, int]]
) -> tuple[list[SlurmJob], NDArray[np.int64]]:
    """Return the jobs that run on nodes that are up, and how many model nodes of each group each job has."""
    free = {name: size for name, (_, _, size) in places.items()}
    jobs, rows = [], []
    for job in queue.running:
        here = [name for name in job.hosts if name in places]
        row = np.zeros(len(federation.groups), dtype=np.int64)
        share = -(-job.cpus // max(1, len(job.hosts))) if unit.cpus else 1
        for name in here:
            taken = min(share, free[name])
            free[name] -= taken
            row[places[name][0]] += taken
        if row.any():
            jobs.append(job)
            rows.append(row)
    return jobs, np.array(rows, dtype=np.int64).reshape(len(rows), len(federation.groups))


def _picture_from(
    queue: Queue,
    unit: Unit,
    federation: Federation,
    waiting: list[SlurmJob],
    running: list[SlurmJob],
    counts: NDArray[np.int64],
    notes: list[str],
) -> Picture:
    jobs = (*waiting, *running)
    now = queue.now
    zero = math.floor(min((job.submit for job in jobs if job.submit == job.submit), default=now))
    zero = min(zero, math.floor(now), *(math.floor(job.start) for job in running), math.floor(now))
    limits = np.array([job.limit if job.limit < YEAR else YEAR for job in jobs])
    if endless := sum(job.limit > YEAR for job in jobs):
        notes.append(f"assumed: a year for {counted(endless, 'job')} without a limit")
    n = len(waiting)
    asked = [job.features if can_be_modelled(job.features) else "" for job in waiting]
    if strange := sum(bool(job.features) and not text for job, text in zip(waiting, asked, strict=True)):
        notes.append(f"not modelled: the features that {counted(strange, 'job')} asked for")
    if named := sum(job.named_nodes for job in waiting):
        notes.append(f"not modelled: nodes that {counted(named, 'job')} named")
    if several := sum(job.other_partitions for job in waiting):
        notes.append(f"not modelled: {counted(several, 'job')} for one of several partitions (the first is taken)")
    ends = np.array([job.expected_end(now) for job in running]) - zero
    starts = np.array([job.start for job in running]) - zero
    tasks = [unit.needs(job) for job in waiting]
    # A job that waits for its begin time joins the queue then, as in Slurm.
    submit = np.array([
        job.eligible if job.comes_later(now) else min(job.submit if job.submit == job.submit else now, now)
        for job in jobs
    ]) - zero  # fmt: skip
    if not jobs:
        raise SteerError(f"{queue.cluster}: no job waits or runs; there is nothing to plan.")
    labels: dict[str, list[str]] = {"partition": [job.partition for job in jobs]}
    if any(asked):
        labels["features"] = [*asked, *([""] * len(running))]
    workload = Workload(
        submit=np.minimum(submit, np.concatenate([np.full(n, np.inf), starts])),
        tasks=np.concatenate([np.array(tasks, dtype=np.int64), counts.sum(axis=1)]),
        runtime=limits,
        estimate=limits,
        labels=labels,
        name=f"the queue of {queue.cluster}",
    )
    left = ends - (now - zero)
    state = RunningJobs(
        time=now - zero,
        rows=np.arange(n, len(jobs)),
        start=starts,
        finish=ends,
        planned_end=ends,
        tc=np.ones(len(running)),
        work_left=left,
        estimate_left=left.copy(),
        since=np.full(len(running), now - zero),
        counts=counts,
    )
    alone = tuple(_alone_in(queue, waiting, running)) if unit.cpus else ()
    if alone:
        notes.append(f"{counted(len({waiting[row].number for row, _, _ in alone}), 'exclusive job')} planned on "
                     "the smallest nodes that may run it, from when enough of these are empty")  # fmt: skip
    return Picture(queue, jobs, n, workload, federation, state, float(zero), tuple(notes), alone)


def _alone_in(queue: Queue, waiting: list[SlurmJob], running: list[SlurmJob]) -> Iterator[WholeNodes]:
    """Give, for each waiting row of an exclusive job, its nodes and the running jobs on each node that it may use."""
    on: dict[str, list[int]] = {}
    for k, one in enumerate(running):
        for name in one.hosts:
            on.setdefault(name, []).append(k)
    for row, job in enumerate(waiting):
        if job.exclusive:
            up = frozenset(_up_of(queue, job.partition))
            there = [one.name for one in queue.nodes if one.name in up and has_features(job.features, one.features)]
            yield WholeNodes(row, job.nodes, tuple(tuple(on.get(name, ())) for name in there))


class OrderSimulator:
    """Simulates a picture's jobs in many orders; gives the same results as `Picture.starts`, several times as fast."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        as_it_is = range(picture.waiting)
        self._first = prepare(picture.workload, picture.federation, picture.rules(as_it_is), running=picture.running)

    def starts(
        self, order: Sequence[int], of_several: Callable[[float, float], float] = max
    ) -> dict[int, float]:
        """Return, by job number, each waiting job's start in seconds since 1970 if rows are scheduled in this order.

        For a job with several tasks, `of_several` chooses between their starts; by default it is the last one.
        """
        first, picture = self._first, self.picture
        rows = picture.whole(order)
        plan = first.plan._replace(order=rows, backfill_order=rows)
        run = Simulation(
            first.workload, first.federation, first.problem, plan, reading=first.reading, running=picture.running
        )
        run.advance()
        starts = picture.once_empty(run.state.start[: picture.waiting], picture.running.finish)
        return picture.by_job(starts, of_several)
