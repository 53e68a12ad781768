"""Recorded metrics: waits and slowdowns by the start times in a log, for comparison with simulated ones."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted
from fedsched.model.constraints.cancellations import may_be_cancelled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

BOUND_SECONDS = 10.0  # the floor of the run time in the bounded slowdown, as in `fedsched.model.schedule.metrics`


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Metrics by the starts that a log records; waits are in seconds.

    `jobs` is the number of jobs with a recorded start, and `of` the number of all jobs.
    """

    jobs: int
    of: int
    mean_wait: float
    max_wait: float
    mean_slowdown: float
    bounded_slowdown: float

    def figures(self) -> dict[str, float]:
        """Return the metrics by name, without the numbers of jobs."""
        return {name: value for name, value in asdict(self).items() if name not in ("jobs", "of")}

    @property
    def whole(self) -> bool:
        """Return whether the log records the start of every job."""
        return self.jobs == self.of

    @property
    def coverage(self) -> str:
        """Return, in words, for how many jobs the log records a start: "all jobs" or "90 of 100 jobs"."""
        return "all jobs" if self.whole else f"{self.jobs:,} of {counted(self.of, 'job')}"

    def __str__(self) -> str:
        from fedsched.core.text import duration

        return (
            f"mean wait {duration(self.mean_wait)}, mean slowdown {self.mean_slowdown:,.4g}, "
            f"bounded slowdown {self.bounded_slowdown:,.4g} ({self.coverage})"
        )


def recorded_rows(workload: Workload) -> NDArray[np.bool_]:
    """Return which jobs have a start recorded in the log; jobs with a cancellation time are left out."""
    if workload.log is None:
        return np.zeros(len(workload), dtype=np.bool_)
    return np.asarray((workload.log.wait >= 0) & ~may_be_cancelled(workload))  # cancelled jobs may end without a start


def recorded(workload: Workload) -> Recorded | None:
    """Return the metrics of the log's recorded starts; None if it records none."""
    rows = recorded_rows(workload)
    if workload.log is None or not rows.any():
        return None
    wait, run = workload.log.wait[rows], workload.runtime[rows]
    bounded = np.maximum(1.0, (wait + run) / np.maximum(run, BOUND_SECONDS))
    return Recorded(
        jobs=int(rows.sum()),
        of=len(workload),
        mean_wait=float(wait.mean()),
        max_wait=float(wait.max()),
        mean_slowdown=float(((wait + run) / run).mean()),
        bounded_slowdown=float(bounded.mean()),
    )


def simulated_metrics(schedule: Schedule) -> dict[str, float]:
    """Return the simulated metrics, by name, of the jobs with a recorded start; {} if the log records no start."""
    found = recorded(schedule.workload)
    if found is None:
        return {}
    metrics = (schedule if found.whole else schedule.take(recorded_rows(schedule.workload))).metrics(users=False)
    return {name: metrics.as_dict()[name] for name in found.figures()}


def recorded_and_simulated(schedule: Schedule) -> dict[str, object] | None:
    """Return the metrics of the jobs with a recorded start, as recorded and, under "simulated", as simulated.

    None if the log records no start.
    """
    found = recorded(schedule.workload)
    return None if found is None else {**asdict(found), "simulated": simulated_metrics(schedule)}


def partial_record_in_words(schedule: Schedule) -> str:
    """Return, in words, the simulated metrics of the jobs with a recorded start; "" if all or no jobs have one."""
    found = recorded(schedule.workload)
    if found is None or found.whole:
        return ""
    same = Recorded(jobs=found.jobs, of=found.of, **simulated_metrics(schedule))
    return f"starts are recorded for {counted(found.jobs, 'job')} only; simulated, these have {same}"
