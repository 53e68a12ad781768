"""The watts of each node of a job while it runs: measured, or those of its group in the job's gear [69, 77]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.job_numbers import JobNumbers
from fedsched.model.power.gears import gears_of, watts_in_gears
from fedsched.model.schedule.lost import Held

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import NodeGroup
    from fedsched.model.schedule.integrals import Wasted
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

OF_THE_GROUP = -1.0
NOBODY_SAYS = np.zeros((0, 0))


class JobWatts(JobNumbers):
    """The watts of each node of a job; -1 = those of its group in the job's gear."""

    __slots__ = ()
    NAMES = ("watts",)
    NOTHING = OF_THE_GROUP
    RULE = "finite and at least 0, or -1 for those of its nodes' groups"

    def __str__(self) -> str:
        known = self.given[self.given != OF_THE_GROUP]
        return f"{known.min():,.4g} to {known.max():,.4g} W a node, of {counted(self.jobs, 'job')}"


def watts_of(workload: Workload, groups: Sequence[NodeGroup]) -> Floats:
    """Return jobs × groups: a node's watts under the job; empty if all jobs draw the groups' busy watts."""
    if not draw_their_own(workload):
        return NOBODY_SAYS
    drawn = watts_in_gears(groups)[gears_of(workload)]
    if workload.watts is not None:
        own = workload.watts.given[:, None]
        drawn = np.where(own == OF_THE_GROUP, drawn, own)
    return drawn


def draw_their_own(workload: Workload) -> bool:
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


def joules_beyond(watts: Floats, groups: Sequence[NodeGroup], runs: Held, t0: float) -> Floats:
    """Return, by group, the energy in joules that runs take from t0 on, minus the energy at busy watts."""
    if watts.size == 0:
        return np.zeros(len(groups))
    beyond = drawn_watts(watts, groups, runs.job) - drawn_watts(NOBODY_SAYS, groups, runs.job)
    return np.asarray((runs.end - np.maximum(runs.start, t0)) @ (runs.counts * beyond))


def wasted_by(schedule: Schedule) -> Wasted:
    """Return the node-seconds and the extra energy of a schedule's lost runs from its t0 on."""
    lost, groups = schedule.lost, schedule.federation.groups
    runs = Held(lost.job, lost.start, lost.end, lost.counts)
    more = joules_beyond(watts_of(schedule.workload, groups), groups, runs, schedule.t0)
    return lost.wasted(schedule.t0)._replace(more=float(more.sum()))
