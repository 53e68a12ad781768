"""The watts of each node of a job while it runs: measured, or those of its group in the job's gear [69, 77].

If jobs share nodes, the energy follows from the share of cores in use [54].
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
    """The watts of each node of a job; -1 = those of its group in the job's gear."""

    __slots__ = ()
    NAMES = ("watts",)
    NOTHING = OF_THE_GROUP
    RULE = "finite and at least 0, or -1 for those of its nodes' groups"

    def __str__(self) -> str:
        known = self.values[self.values != OF_THE_GROUP]
        return f"{known.min():,.4g} to {known.max():,.4g} W a node, of {counted(self.jobs, 'job')}"


def watts_of(workload: Workload, groups: Sequence[NodeGroup]) -> Floats:
    """Return jobs × groups: a node's watts under the job; empty if all jobs draw the groups' busy watts."""
    if not have_own_watts(workload):
        return NO_WATTS
    drawn = watts_in_gears(groups)[gears_of(workload)]
    if workload.watts is not None:
        own = workload.watts.values[:, None]
        drawn = np.where(own == OF_THE_GROUP, drawn, own)
    return drawn


def have_own_watts(workload: Workload) -> bool:
    """Return whether some jobs may draw other watts than their groups' busy watts."""
    return not (workload.watts is None and workload.gear is None)


def drawn_watts(watts: Floats, groups: Sequence[NodeGroup], job: Ints) -> Floats:
    """Return runs × groups: a node's watts under the run; `watts` is the result of `watts_of`."""
    if watts.size == 0:
        return np.broadcast_to(np.array([group.busy_watts for group in groups]), (job.size, len(groups)))
    return watts[job]


def extra_watts(watts: Floats, groups: Sequence[NodeGroup], job: Ints) -> Floats:
    """Return runs × groups: a node's watts under the run minus its idle watts."""
    return np.asarray(drawn_watts(watts, groups, job) - np.array([group.idle_watts for group in groups]))


def extra_joules(watts: Floats, groups: Sequence[NodeGroup], runs: RunTable, t0: float) -> Floats:
    """Return, by group, the energy in joules that runs take from t0 on, minus the energy at busy watts."""
    if watts.size == 0:
        return np.zeros(len(groups))
    beyond = drawn_watts(watts, groups, runs.job) - drawn_watts(NO_WATTS, groups, runs.job)
    return np.asarray((runs.end - np.maximum(runs.start, t0)) @ (runs.counts * beyond))


def wasted_by(schedule: Schedule) -> Wasted:
    """Return the node-seconds and the extra energy of a schedule's lost runs from its t0 on."""
    lost, groups = schedule.lost, schedule.federation.groups
    runs = RunTable(lost.job, lost.start, lost.end, lost.counts)
    more = extra_joules(watts_of(schedule.workload, groups), groups, runs, schedule.t0)
    return lost.wasted(schedule.t0)._replace(more=float(more.sum()))


def node_shares(federation: Federation, cores: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """Return jobs × groups: how many nodes' worth of cores jobs use, given tasks (jobs x groups) and cores per task."""
    has = np.array([dict(group.resources).get(CORES, 0) for group in federation.groups], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, counts * cores[:, None] / has, 0.0)


def node_seconds(shares: Floats, start: Floats, finish: Floats, t0: float) -> Floats:
    """Return the node-seconds of each group; jobs that have not finished, and times before t0, do not count."""
    jobs, groups = shares.shape
    seconds = np.maximum(finish - np.maximum(start, t0), 0.0)[:, None]
    taken = np.where(np.isnan(seconds), 0.0, shares * seconds)
    return np.bincount(np.tile(np.arange(groups), jobs), weights=taken.ravel(), minlength=groups).astype(np.float64)


def shared_node_measures(federation: Federation, taken: Floats, makespan: float, more: float = 0.0) -> dict[str, float]:
    """Return the metrics that depend on the used node-seconds, by name.

    `more` is the energy, in joules, above the groups' busy watts, for jobs that state their own watts.
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
