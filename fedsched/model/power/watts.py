"""The watts that a node draws while it runs a job, and energy [69, 77].

A job may state the watts of its nodes; otherwise they are the watts of the node's group in the job's gear. If jobs
share nodes, energy follows from the share of cores in use [54].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.columns import JobNumbers
from fedsched.model.jobs.demands import CORES
from fedsched.model.power.gears import gears_of, watts_in_gears
from fedsched.model.schedule.lost import RunTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation, NodeGroup
    from fedsched.model.schedule.integrals import Wasted
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

OF_THE_GROUP = -1.0
NO_WATTS = np.zeros((0, 0))


class JobWatts(JobNumbers):
    """The watts that each node of a job draws while it runs the job; -1 = those of its group in the job's gear."""

    __slots__ = ()
    NAMES = ("watts",)
    NOTHING = OF_THE_GROUP
    RULE = "finite and at least 0, or -1 for those of its nodes' groups"

    def __str__(self) -> str:
        known = self.values[self.values != OF_THE_GROUP]
        return f"{known.min():,.4g} to {known.max():,.4g} W a node, of {counted(self.jobs, 'job')}"


def watts_of(workload: Workload, groups: Sequence[NodeGroup]) -> Floats:
    """Return jobs × groups: the watts of a node of the group while it runs the job.

    The table is empty if the workload states neither watts nor gears: all jobs draw the groups' busy watts.
    """
    if not have_own_watts(workload):
        return NO_WATTS
    drawn = watts_in_gears(groups)[gears_of(workload)]
    if workload.watts is not None:
        own = workload.watts.values[:, None]
        drawn = np.where(own == OF_THE_GROUP, drawn, own)
    return drawn


def have_own_watts(workload: Workload) -> bool:
    """Return whether the workload states watts or gears, so that jobs may draw other than the groups' busy watts."""
    return not (workload.watts is None and workload.gear is None)


def drawn_watts(watts: Floats, groups: Sequence[NodeGroup], job: Ints) -> Floats:
    """Return runs × groups: the watts of a node of the group during the run.

    `watts` is the result of `watts_of`, and `job` is the row of each run's job.
    """
    if watts.size == 0:
        return np.broadcast_to(np.array([group.busy_watts for group in groups]), (job.size, len(groups)))
    return watts[job]


def extra_watts(watts: Floats, groups: Sequence[NodeGroup], job: Ints) -> Floats:
    """Return runs × groups: the watts of a node of the group during the run, minus its idle watts."""
    return np.asarray(drawn_watts(watts, groups, job) - np.array([group.idle_watts for group in groups]))


def extra_joules(watts: Floats, groups: Sequence[NodeGroup], runs: RunTable, t0: float) -> Floats:
    """Return, by group, the joules that runs take from t0 on, minus what they would take at the groups' busy watts."""
    if watts.size == 0:
        return np.zeros(len(groups))
    beyond = drawn_watts(watts, groups, runs.job) - drawn_watts(NO_WATTS, groups, runs.job)
    return np.asarray((runs.end - np.maximum(runs.start, t0)) @ (runs.counts * beyond))


def wasted_by(schedule: Schedule) -> Wasted:
    """Return what a schedule's lost runs used from its t0 on: node-seconds by group, the last end, and extra energy.

    The extra energy, in joules, is what they took above the groups' busy watts.
    """
    lost, groups = schedule.lost, schedule.federation.groups
    runs = RunTable(lost.job, lost.start, lost.end, lost.counts)
    more = extra_joules(watts_of(schedule.workload, groups), groups, runs, schedule.t0)
    return lost.wasted(schedule.t0)._replace(more=float(more.sum()))


def node_shares(federation: Federation, cores: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """Return jobs × groups: the cores that a job uses, divided by the cores of a node of the group.

    `cores` is the number of cores per task of each job, and `counts` (jobs × groups) its number of tasks.
    """
    has = np.array([dict(group.resources).get(CORES, 0) for group in federation.groups], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, counts * cores[:, None] / has, 0.0)


def node_seconds(shares: Floats, start: Floats, finish: Floats, t0: float) -> Floats:
    """Return the node-seconds that jobs used in each group; `shares` (jobs × groups) is how many nodes a job uses.

    Jobs that have not finished, and times before t0, do not count.
    """
    jobs, groups = shares.shape
    seconds = np.maximum(finish - np.maximum(start, t0), 0.0)[:, None]
    taken = np.where(np.isnan(seconds), 0.0, shares * seconds)
    return np.bincount(np.tile(np.arange(groups), jobs), weights=taken.ravel(), minlength=groups).astype(np.float64)


def shared_node_measures(federation: Federation, taken: Floats, makespan: float, more: float = 0.0) -> dict[str, float]:
    """Return utilisation, energy, busy energy and idle energy by name, for `taken` node-seconds in each group.

    Energies are in joules, over the makespan in seconds. `more` is the energy above the groups' busy watts, of jobs
    that state their own watts.
    """
    sizes = np.array([group.count for group in federation.groups])
    busy, idle = (np.array([getattr(one, name) for one in federation.groups]) for name in ("busy_watts", "idle_watts"))
    busy_energy, idle_energy = float(busy @ taken) + more, float(idle @ (sizes * makespan - taken))
    with np.errstate(divide="ignore", invalid="ignore"):
        utilisation = float(np.divide(taken.sum(), sizes.sum() * makespan))
    return {
        "utilisation": utilisation,
        "energy": busy_energy + idle_energy,
        "busy_energy": busy_energy,
        "idle_energy": idle_energy,
    }
