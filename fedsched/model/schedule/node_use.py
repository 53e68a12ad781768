"""Node use: how many tasks each job had on each node if jobs may share nodes, and whether that is feasible [54, 55].

The checks share no code with the simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.text import counted, one_line
from fedsched.model.jobs.demands import CORES, GPU, SHARE, NodeDemands, gpus_per_task, stated_resources
from fedsched.model.jobs.log import UNKNOWN, Demand, LogColumns
from fedsched.model.power.watts import node_seconds, node_shares
from fedsched.model.schedule.schedule import Schedule
from fedsched.model.verify.lost_nodes_check import JOB, one_job_per_run

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

HERE_KNOWN = Demand.PER_NODE | Demand.ALONE
# The optional fields of jobs that are checked here, or that restrict neither nodes nor times. A job with alternatives
# has one of them.
CHECKED = ("labels", "demand", "layout", "pools", "alternatives", "watts", "slack", "nice", "gear")
MOST_TOGETHER = 2**62  # sums up to this stay exact


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeUse:
    """How many tasks each job had on each node from its start to its finish: one row per job and node.

    Parameters
    ----------
    workload, federation
        The jobs, and the machine.
    start, finish, alone
        When each job started and ended, and whether it had its nodes to itself: one entry per job of the workload.
    job, node, tasks
        One row per job and node: the job's row in the workload, the node's number, and the number of the job's tasks
        on this node. Node numbers run through the federation cluster by cluster.
    devices
        One row per known part of a GPU: job, node, device, thousandths; None if nothing is known.

    Examples
    --------
    >>> node = fs.NodeGroup(2, resources=(("cpu", 4),))
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[2, 1], runtime=[60, 60], demand={"cpu": [4, 2]})
    >>> use = fs.simulate(jobs, node, sharing="first").use
    >>> use.job, use.node, use.start
    (array([0, 0, 1]), array([0, 1, 0]), array([ 0., 60.]))
    """

    workload: Workload
    federation: Federation
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    alone: NDArray[np.bool_]
    job: NDArray[np.int64]
    node: NDArray[np.int64]
    tasks: NDArray[np.int64]
    devices: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        jobs, rows = (len(self.workload),), np.shape(self.job)
        of_jobs = {"start": np.float64, "finish": np.float64, "alone": np.bool_}
        for name, kind in (of_jobs | dict.fromkeys(("job", "node", "tasks"), np.int64)).items():
            column = _frozen(getattr(self, name), kind)
            wanted = jobs if name in of_jobs else rows
            if column.shape != wanted or len(wanted) != 1:
                raise ScheduleError(f"NodeUse: {name} has shape {column.shape}, but it must be {wanted}.")
            object.__setattr__(self, name, column)
        for name, most in (("job", len(self.workload)), ("node", self.federation.nodes)):
            if ((wrong := getattr(self, name)) < 0).any() or (wrong >= most).any():
                first = wrong[(wrong < 0) | (wrong >= most)][0]
                raise ScheduleError(f"NodeUse: {name}={first} must be at least 0 and below {most}.")
        if self.devices is not None:
            object.__setattr__(self, "devices", _frozen(np.reshape(self.devices, (-1, 4)), np.int64))

    def __len__(self) -> int:
        return len(self.job)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return jobs × groups: how many tasks each job had on the nodes of each group."""
        table = np.zeros((len(self.workload), len(self.federation.groups)), dtype=np.int64)
        np.add.at(table, (self.job, self.federation.group_of_node[self.node]), self.tasks)
        return table

    def amounts(self, resource: str) -> NDArray[np.int64]:
        """Return, for each row, how much of a resource the job's tasks on this node held together."""
        of_task = self._of_task(resource)
        if int(of_task.max(initial=0)) * int(np.abs(self.tasks).sum()) > MOST_TOGETHER:
            raise ScheduleError(f"NodeUse: the sum of {resource!r} is too large; count it in larger units.")
        return np.asarray(self.tasks * of_task[self.job])

    def _of_task(self, resource: str) -> NDArray[np.int64]:
        demand = self.workload.demand
        known = {} if demand is None else demand.columns()
        if resource == GPU:
            return gpus_per_task(self.workload)[0]
        of_task = known.get(resource, np.zeros(len(self.workload), dtype=np.int64))
        return np.maximum(of_task, 1) if resource == CORES else of_task

    @property
    def shares(self) -> NDArray[np.float64]:
        """Return jobs × groups, in nodes: the cores that a job used, divided by the cores of a node.

        For an exclusive job it is the number of its nodes.
        """
        whole = np.zeros((len(self.workload), len(self.federation.groups)), dtype=np.float64)
        np.add.at(whole, (self.job, self.federation.group_of_node[self.node]), 1.0)
        shares = node_shares(self.federation, self._of_task(CORES), self.counts)
        return np.where(self.alone[:, None], whole, shares)

    def taken_seconds(self, t0: float) -> NDArray[np.float64]:
        """Return the node-seconds that jobs used in each group, in proportion to the cores in use: see `shares`.

        Jobs that have not finished, and times before t0, do not count.
        """
        return node_seconds(self.shares, self.start, self.finish, t0)

    def take(self, rows: NDArray[np.int64], workload: Workload) -> NodeUse:
        """Return the node use of some of the jobs, with these jobs renumbered from row 0.

        Parameters
        ----------
        rows
            The rows of the jobs.
        workload
            The workload of these jobs alone.
        """
        new = np.full(len(self.workload), -1)
        new[rows] = np.arange(len(rows))
        kept, devices = new[self.job] >= 0, self.devices
        if devices is not None:
            devices = devices[new[devices[:, 0]] >= 0]
            devices = np.column_stack([new[devices[:, 0]], devices[:, 1:]])
        return NodeUse(
            workload=workload,
            federation=self.federation,
            start=self.start[rows],
            finish=self.finish[rows],
            alone=self.alone[rows],
            job=new[self.job[kept]],
            node=self.node[kept],
            tasks=self.tasks[kept],
            devices=devices,
        )

    def peaks(self, resource: str = CORES) -> NDArray[np.int64]:
        """Return, for each node, the largest amount of a resource that was in use on it at any time."""
        event, _, used = self._sweep(self.amounts(resource))
        most = np.zeros(self.federation.nodes, dtype=np.int64)
        np.maximum.at(most, self.node[event], used)
        return most

    def utilisation(self, resource: str = CORES) -> float:
        """Return the share of a resource that was in use, over all nodes, from the first submit to the last finish.

        NaN if no node has the resource.
        """
        has = sum(dict(group.resources).get(resource, 0) * group.count for group in self.federation.groups)
        t0 = self.workload.submit.min(initial=np.inf)
        held = self.amounts(resource) @ (self.finish - self.start)[self.job]
        there = has * (np.fmax.reduce(self.finish, initial=-np.inf) - t0)
        return float(held / there) if has and there > 0 else np.nan

    def stranded(self, resource: str = CORES) -> float:
        """Return the stranded share of a resource: the share that was free on nodes with another resource used up.

        It is of the whole machine, from the first submit to the last finish. On nodes of exclusive jobs nothing is
        free. NaN if no node has the resource, or a job has no finish.
        """
        names, groups = sorted(stated_resources(self.federation)), self.federation.groups
        of_node = self.federation.group_of_node
        has = {name: np.array([dict(group.resources).get(name, 0) for group in groups])[of_node] for name in names}
        t0 = self.workload.submit.min(initial=np.inf)
        last = np.fmax.reduce(self.finish, initial=-np.inf)
        there = has[resource].sum() * (last - t0) if resource in has else 0
        if not there > 0 or np.isnan(self.finish[self.job]).any():
            return np.nan
        alone = self.alone[self.job]
        free, short = np.zeros(2 * len(self), dtype=np.int64), np.zeros(2 * len(self), dtype=np.bool_)
        for name in names:
            amounts = np.where(alone, has[name][self.node], self.amounts(name))
            event, time, used = self._sweep(amounts)
            left = has[name][self.node[event]] - used
            if name == resource:
                free = left
            else:
                short |= (left == 0) & (has[name][self.node[event]] > 0)
        node = self.node[event]
        until = np.append(time[1:], np.inf)
        until[np.append(node[1:] != node[:-1], True)] = 0.0  # after a node's last job all of it is free
        seconds = np.where(until > time, until - time, 0.0)
        return float((free * seconds)[short].sum() / there)

    def fragmentation(self, resource: str = CORES) -> float:
        """Return the share of a resource's free amount that was on nodes with jobs, over time.

        It runs from 0, if all that was free was on empty nodes, to 1. The period is from the first submit to the last
        finish. NaN if nothing was free, no node has the resource, or a job has no finish.
        """
        has = np.array([dict(group.resources).get(resource, 0) for group in self.federation.groups], dtype=np.int64)
        here = has[self.federation.group_of_node]
        if not here.any() or np.isnan(self.finish[self.job]).any():
            return np.nan
        lasted = np.fmax.reduce(self.finish, initial=-np.inf) - self.workload.submit.min(initial=np.inf)
        held = np.where(self.alone[self.job], here[self.node], self.amounts(resource))
        free = here.sum() * lasted - held @ (self.finish - self.start)[self.job]
        if not free > 0:
            return np.nan
        event, time, used = self._sweep(held)
        _, _, there = self._sweep(np.ones(len(self), dtype=np.int64))
        node = self.node[event]
        on = (there[:-1] > 0) & (node[1:] == node[:-1])
        return float(((here[node] - used)[:-1] * np.diff(time))[on].sum() / free)

    def in_words(self) -> list[str]:
        """Return a text for each resource in use: the share that was in use, and the share that was stranded."""
        said = []
        for name in sorted(stated_resources(self.federation)):
            if (used := self.utilisation(name)) == used and used > 0:
                stranded = self.stranded(name)
                beside = f", {stranded:.1%} free on nodes with nothing left of another resource" if stranded > 0 else ""
                said.append(f"{one_line(name)}: {used:.1%} in use{beside}")
        return said

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return, in words, what the jobs' log has and a model with shared nodes ignores."""
        return unmodelled_when_shared(self.workload, self.federation)

    def violations(self) -> list[str]:
        """Return all errors of the node use, one line each.

        Raise if the federation or the jobs have something that is not checked here, such as downtimes or dependencies.
        """
        self._refuse_what_is_not_checked()
        return self.broken()

    def broken(self) -> list[str]:
        """Return the errors of tasks, times, nodes, pools and limits, one line each; [] if there are none.

        Whether jobs waited for other jobs and for downtimes is not checked.
        """
        found = [*self._jobs()]
        return found or [*self._capacity(), *self._company(), *self._beside_nodes()]

    def verify(self) -> None:
        """Raise a ScheduleError that names the first error, if there is one."""
        found = self.violations()
        if found:
            more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
            raise ScheduleError(f"{found[0]}{more}")

    def __str__(self) -> str:
        jobs, rows = counted(len(self.workload), "job"), counted(len(self), "row")
        nodes, machine = counted(np.unique(self.node).size, "node"), one_line(self.federation.name)
        return f"{jobs} on {nodes} of {machine}: {rows}"

    def where(self, node: int) -> str:
        """Return a node's name for errors, "node 3 of 'north'": the number is within the cluster."""
        for cluster in self.federation.clusters:
            if node < cluster.nodes:
                return f"node {node} of {one_line(cluster.name)!r}"
            node -= cluster.nodes
        raise IndexError(node)

    def whose(self, job: int | np.integer[Any]) -> str:
        """Return the name of the job in this row for errors: "Job 12". A row that is one run of a job names the job."""
        return f"Job {self.workload.label(JOB)[job] or self.workload.id[job]}"

    def _name(self, row: int | np.integer[Any]) -> str:
        return self.whose(self.job[row])

    def _refuse_what_is_not_checked(self) -> None:
        federation = self.federation
        if CORES not in stated_resources(federation):
            raise ScheduleError(
                f"Federation {one_line(federation.name)!r}: no node group states how many {CORES!r} its nodes have; "
                "give its groups resources={'cpu': 40}."
            )
        of_machine = ["calendar"] if federation.calendar else []
        of_jobs = [name for name in self.workload.extras if name not in CHECKED]
        for noun, names in (("federation", of_machine), ("workload", of_jobs)):
            if names:
                raise ScheduleError(
                    f"NodeUse: {names[0]} is not checked if jobs share nodes; leave it out of the {noun}: "
                    f"dataclasses.replace({noun}, {names[0]}={'()' if noun == 'federation' else None})."
                )

    def _jobs(self) -> Iterator[str]:
        # Each job by itself: its tasks, its times, and whether it may use these nodes.
        from fedsched.model.verify.placement_check import broken_places

        counts = self.counts
        for row in np.flatnonzero(self.tasks < 1):
            yield f"{self._name(row)}: {self.tasks[row]} tasks on {self.where(int(self.node[row]))}; at least 1."
        order = np.lexsort((self.node, self.job))
        same = (np.diff(self.job[order]) == 0) & (np.diff(self.node[order]) == 0)
        for row in order[1:][same]:
            yield f"{self._name(row)}: {self.where(int(self.node[row]))} occurs in two of its rows."
        for job in np.flatnonzero(counts.sum(axis=1) != self.workload.tasks):
            has, tasks = int(counts[job].sum()), counted(int(self.workload.tasks[job]), "task")
            yield f"{self.whose(job)}: it has nodes for {has} of its {tasks}."
        for job in np.flatnonzero(~(self.start >= self.workload.submit)):
            submit = self.workload.submit[job]
            yield f"{self.whose(job)}: it starts at {self.start[job]:.15g}, before its submit at {submit:.15g}."
        for job in np.flatnonzero(~(self.finish > self.start)):
            finish, start = self.finish[job], self.start[job]
            yield f"{self.whose(job)}: it finishes at {finish:.15g}, no later than its start at {start:.15g}."
        if len(self.workload):
            yield from broken_places(
                self._as_schedule(), None, np.bincount(self.job, minlength=len(self.workload))
            )

    def _as_schedule(self) -> Schedule:
        # The same jobs as a schedule with counts of tasks.
    
        return Schedule(
            workload=self.workload,
            federation=self.federation,
            start=self.start,
            finish=self.finish,
            counts=self.counts,
            t0=float(self.workload.submit.min()),
        )

    def _beside_nodes(self) -> Iterator[str]:
        # Pools and limits. Limits that count nodes count each node once, however many jobs share it.
        from fedsched.model.machine.counters import counters_of
        from fedsched.model.machine.limits import without_node_limits
        from fedsched.model.verify.limits_check import broken_limits, broken_node_limits
        from fedsched.model.verify.lost_nodes_check import runs_of
        from fedsched.model.verify.starts_check import broken_pools

        if len(self.workload):
            schedule, rows = self._as_schedule(), np.arange(len(self.workload))
            counters = counters_of(self.workload, without_node_limits(self.federation))
            yield from broken_pools(schedule)
            yield from broken_limits(schedule, counters, runs_of(schedule, rows, rows[:0]))
            yield from broken_node_limits(self)

    def _capacity(self) -> Iterator[str]:
        # The total use of each resource on a node, for resources that nodes state.
        for resource in sorted(stated_resources(self.federation)):
            has = [dict(group.resources).get(resource, 0) for group in self.federation.groups]
            there = np.array(has)[self.federation.group_of_node]
            event, time, used = self._sweep(self.amounts(resource))
            for at in _first_of_each(np.flatnonzero(used > there[self.node[event]]), self.node[event]):
                row = event[at]
                node = int(self.node[row])
                yield (
                    f"{self._name(row)}: at {time[at]:.15g} {self.where(node)} has {used[at]} of {resource!r} in use, "
                    f"but only {there[node]}."
                )

    def _company(self) -> Iterator[str]:
        # Exclusive jobs share their nodes with no other job.
        if not self.alone.any():
            return
        event, time, jobs = self._sweep(np.ones(len(self), dtype=np.int64))
        _, _, hermits = self._sweep(self.alone[self.job].astype(np.int64))
        for at in _first_of_each(np.flatnonzero((hermits > 0) & (jobs > 1)), self.node[event]):
            when, where = f"{time[at]:.15g}", self.where(int(self.node[event[at]]))
            together = counted(int(jobs[at]), "job")
            yield f"{self._name(event[at])}: at {when} {where} has {together}, one of which is exclusive."

    def _sweep(self, amounts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        # Starts and ends of rows, sorted by node and time: the rows, the times, and the amount then in use on the node.
        # At one instant, ends come before starts; a node's jobs release all that they take.
        rows = np.arange(len(self))
        row, begins = np.tile(rows, 2), np.repeat([False, True], rows.size)
        time = np.concatenate([self.finish[self.job], self.start[self.job]])
        order = np.lexsort((begins, time, np.tile(self.node, 2)))
        used = np.cumsum(np.concatenate([-amounts, amounts])[order])
        return row[order], time[order], used


def _frozen(values: ArrayLike, kind: type[np.generic]) -> NDArray[Any]:
    column = np.array(values, dtype=kind)
    column.setflags(write=False)
    return column


def _first_of_each(places: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, in ascending order, the first of the indices `places` for each value of `of` at these indices."""
    return places[np.sort(np.unique(of[places], return_index=True)[1])]


def unmodelled_when_shared(workload: Workload, federation: Federation) -> tuple[str, ...]:
    """Return, in words, what the jobs' log has and a model with shared nodes ignores.

    Tasks per node, exclusive nodes and shares of GPUs are not among it, because this model covers them.
    """
    from fedsched.model.jobs.unmodelled import unmodelled

    workload = replace(workload, layout=None)
    if workload.demand is not None and GPU in stated_resources(federation):
        shown = {name: column for name, column in workload.demand.columns().items() if name != SHARE}
        workload = replace(workload, demand=NodeDemands.of(shown, workload.id))
    if (log := workload.log) is not None:
        bits = np.where(log.demands == UNKNOWN, 0, log.demands).astype(np.int64) & ~int(HERE_KNOWN)
        workload = replace(workload, log=LogColumns(len(log), log.columns() | {"demands": bits.astype(np.float64)}))
    return unmodelled(workload, federation, shared=True)


def use_in_parts(
    schedule: Schedule, parts: Sequence[tuple[NodeUse, NDArray[np.int64]]], alone: NDArray[np.bool_]
) -> NodeUse:
    """Return the node use of a schedule from those of parts of its jobs, each with the rows of the part's jobs.

    A row below 0 leaves a job out. `alone` says which jobs are exclusive.
    """
    job = np.concatenate([rows[use.job] for use, rows in parts])
    kept = job >= 0
    devices = [use.devices for use, _ in parts if use.devices is not None]
    owner = np.concatenate([rows[use.devices[:, 0]] for use, rows in parts if use.devices is not None])
    grants = np.column_stack([owner, np.concatenate(devices)[:, 1:]])[owner >= 0]
    order = np.lexsort((np.concatenate([use.node for use, _ in parts])[kept], job[kept]))
    return NodeUse(
        workload=schedule.workload,
        federation=schedule.federation,
        start=schedule.start,
        finish=schedule.finish,
        alone=alone,
        job=job[kept][order],
        node=np.concatenate([use.node for use, _ in parts])[kept][order],
        tasks=np.concatenate([use.tasks for use, _ in parts])[kept][order],
        devices=grants[np.lexsort((grants[:, 2], grants[:, 1], grants[:, 0]))],
    )


def every_run(
    schedule: Schedule, use: NodeUse, lost: NodeUse, ended: NDArray[np.int64]
) -> tuple[Schedule, NodeUse]:
    """Return a schedule with shared nodes that has one job per run, lost runs included, and its node use [42, 55].

    The runs of the jobs in the rows `ended`, which ran to their end, come first. The lost runs, with the node use
    `lost`, follow.
    """
    rows = np.concatenate([ended, schedule.lost.job])
    workload, first = one_job_per_run(schedule.workload, rows), ended.size
    mine = use.take(ended, one_job_per_run(schedule.workload, ended))
    devices = None
    if mine.devices is not None and lost.devices is not None:
        devices = np.concatenate([mine.devices, lost.devices + np.array([first, 0, 0, 0])])
    of_all = NodeUse(
        workload=workload,
        federation=schedule.federation,
        start=np.concatenate([mine.start, lost.start]),
        finish=np.concatenate([mine.finish, lost.finish]),
        alone=np.concatenate([mine.alone, lost.alone]),
        job=np.concatenate([mine.job, lost.job + first]),
        node=np.concatenate([mine.node, lost.node]),
        tasks=np.concatenate([mine.tasks, lost.tasks]),
        devices=devices,
    )
    every = Schedule(
        workload=workload,
        federation=schedule.federation,
        start=of_all.start,
        finish=of_all.finish,
        counts=np.concatenate([schedule.counts[ended], schedule.lost.counts]),
        t0=schedule.t0,
        reading=schedule.reading,
    )
    return every, of_all
