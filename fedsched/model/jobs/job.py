"""`Job`, which is one row of a workload; `EXTRAS` and `OPTIONAL` map a workload's optional fields to their classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.model.constraints.cancellations import Cancellations
from fedsched.model.constraints.dependencies import Dependencies
from fedsched.model.constraints.feedback import Feedback
from fedsched.model.constraints.holds import Holds
from fedsched.model.constraints.slack import Slack
from fedsched.model.jobs.alternatives import Alternatives
from fedsched.model.jobs.demands import NodeDemands, PoolNeeds
from fedsched.model.jobs.labels import Labels
from fedsched.model.jobs.layout import NodeLayout
from fedsched.model.jobs.log import LogColumns
from fedsched.model.jobs.requests import EarliestStarts, Nice
from fedsched.model.power.gears import Gear
from fedsched.model.power.watts import JobWatts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.model.jobs.columns import JobColumns

NO_SITE = -1
UNKNOWN_USER = -1
# Optional requests of jobs, by the field of a Workload and of a Job; then the same with the columns of logs.
EXTRAS: dict[str, type[JobColumns]] = {
    "pools": PoolNeeds, "after": Dependencies, "begin": EarliestStarts, "held": Holds,
    "cancel_at": Cancellations, "feedback": Feedback, "labels": Labels, "demand": NodeDemands, "layout": NodeLayout,
    "alternatives": Alternatives, "watts": JobWatts, "slack": Slack, "nice": Nice,
    "gear": Gear,
}  # fmt: skip
OPTIONAL: dict[str, type[JobColumns]] = EXTRAS | {"log": LogColumns}


@dataclass(frozen=True, slots=True)
class Job:
    """One job: a row of a workload as plain values.

    Parameters
    ----------
    id, submit, tasks, runtime, estimate
        Its number, its submit time, its number of tasks, its run time and its requested time; times are in seconds.
    origin, allowed
        The site at which it was submitted, and the sites that it may use, by name; None: no origin, and all sites.
    compute_fraction, task_bandwidth
        The share of the run time that computes, and the bytes a second that each task sends.
    user
        The user's number; -1 = unknown.
    pools, after, begin, held, cancel_at, feedback, labels, demand, layout, alternatives, watts, slack, nice, gear
        As of `Workload`, for this job alone; None: nothing of the kind.

    Examples
    --------
    >>> job = fs.read("sample")[0]
    >>> job.tasks, job.runtime, job.estimate
    (1, 10171.0, 43200.0)
    >>> fs.Workload.from_jobs([fs.Job(id=1, submit=0, tasks=4, runtime=600, estimate=900)])
    <Workload 'workload': 1 job>
    """

    id: int
    submit: float
    tasks: int
    runtime: float
    estimate: float
    origin: str | None = None
    compute_fraction: float = 1.0
    task_bandwidth: float = 0.0
    user: int = UNKNOWN_USER
    allowed: tuple[str, ...] | None = None
    pools: Mapping[str, int] | None = None
    after: str | None = None
    begin: float | None = None
    held: str | None = None
    cancel_at: float | None = None
    feedback: Mapping[str, float] | None = None
    labels: Mapping[str, str] | None = None
    demand: Mapping[str, int] | None = None
    layout: Mapping[str, int] | None = None
    alternatives: str | None = None
    watts: float | None = None
    slack: float | None = None
    nice: int | None = None
    gear: int | None = None
