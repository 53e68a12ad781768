"""Workflows: sets of jobs that wait for each other by their dependencies, with makespan and critical path [51]."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.text import counted, first_of
from fedsched.model.constraints.dependencies import Kind, dependency_edges, topological_order
from fedsched.model.jobs.admission import usable_groups
from fedsched.model.jobs.uneven import least_stretch
from fedsched.model.time.reservations import earliest_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.constraints.dependencies import Edges
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule


class Workflow(NamedTuple):
    """A set of jobs tied by dependencies, directly or not; makespan and critical path are NaN if a job has no end.

    Parameters
    ----------
    first
        The id of the workflow's first job, in (submit, id) order.
    jobs, unfinished
        The number of jobs, and the number of jobs that did not run to their end.
    submit
        The submit time of the first job, in seconds.
    makespan
        The seconds from that submit to the last end of a job.
    critical_path
        A lower bound on the makespan, in seconds: as if all nodes that each job may use were free.

    Examples
    --------
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[60, 30], after=["", "afterok:1"])
    >>> workflow, = fs.simulate(jobs, 4).workflows()
    >>> workflow.jobs, workflow.makespan, workflow.critical_path
    (2, 90.0, 90.0)
    """

    first: int  # the id of its first job, in (submit, id) order
    jobs: int
    unfinished: int  # jobs that did not run to their end
    submit: float  # of its first job
    makespan: float  # from then to the last end, in seconds
    critical_path: float  # a lower bound on the makespan, on any machine of these nodes

    @property
    def stretch(self) -> float:
        """Return the makespan divided by the critical path."""
        return self.makespan / self.critical_path


def workflows_of(schedule: Schedule) -> tuple[Workflow, ...]:
    """Return the workflows of a schedule, sets of at least two jobs, by the submit and id of their first jobs."""
    workload = schedule.workload
    edges = dependency_edges(workload)
    if not edges.job.size:
        return ()
    which = _components(len(workload), edges)
    order = np.lexsort((workload.id, workload.submit, which))
    begins = np.flatnonzero(np.diff(which[order], prepend=-1))
    sizes = np.diff(begins, append=order.size)
    earliest = _earliest_ends(schedule, edges)[order]
    submit, over = workload.submit[order][begins], np.isnan(schedule.finish[order])
    unfinished = np.add.reduceat(over.astype(np.int64), begins)
    columns = (
        workload.id[order][begins],
        sizes,
        unfinished,
        submit,
        np.maximum.reduceat(schedule.finish[order], begins) - submit,
        np.where(unfinished > 0, np.nan, np.maximum.reduceat(earliest, begins) - submit),
    )
    found = [Workflow(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]
    tied = [one for one in found if one.jobs > 1]
    return tuple(sorted(tied, key=lambda one: (one.submit, one.first)))


def measures_of(workflows: tuple[Workflow, ...]) -> dict[str, float]:
    """Return the mean makespan, mean stretch and greatest stretch of the finished workflows, by metric name.

    Empty if no workflow has finished.
    """
    done = [one for one in workflows if not one.unfinished]
    if not done:
        return {}
    stretches = [one.stretch for one in done]
    return {
        "workflow_makespan": float(np.mean([one.makespan for one in done])),
        "mean_stretch": float(np.mean(stretches)),
        "max_stretch": max(stretches),
    }


def in_words(schedule: Schedule) -> list[str]:
    """Return one text that says how many workflows there are, and which are unfinished; [] if there are none."""
    found = schedule.workflows()
    if not found:
        return []
    said = f"{counted(len(found), 'workflow')} of {counted(sum(one.jobs for one in found), 'job')}"
    if left := [one.first for one in found if one.unfinished]:
        said += f"; {len(left)} unfinished, which no mean counts (first jobs: {first_of(left)})"
    return [said]


def _components(jobs: int, edges: Edges) -> NDArray[np.int64]:
    # The least row that each job is connected to, directly or not.
    which = np.arange(jobs)
    while True:
        least = which.copy()
        np.minimum.at(least, edges.job, which[edges.on])
        np.minimum.at(least, edges.on, which[edges.job])
        least = least[least]
        if (least == which).all():
            return which
        which = least


def _earliest_ends(schedule: Schedule, edges: Edges) -> NDArray[np.float64]:
    # The earliest end of each job if all nodes that it may use were free: a lower bound for these submits.
    workload = schedule.workload
    begin = _earliest_begins(schedule)
    if workload.held is not None:  # also for followers: their submits are known by now
        begin = workload.held.after_holds(begin)
    run = _least_runs(schedule)
    begins, ends = begin.tolist(), np.maximum(begin + run, np.nextafter(begin, np.inf)).tolist()
    runs, after, held = run.tolist(), int(Kind.AFTER), workload.held
    jobs, ons, kinds, lags = (column.tolist() for column in edges)
    for edge in topological_order(workload, edges):
        job, on = jobs[edge], ons[edge]
        since = max(begins[job], (begins if kinds[edge] == after else ends)[on] + lags[edge])
        if held is not None:
            since = held.eligible_from(job, since, since)
        begins[job] = since
        ends[job] = max(since + runs[job], math.nextafter(since, math.inf))
    return np.array(ends)


def _earliest_begins(schedule: Schedule) -> NDArray[np.float64]:
    submit, earliest = schedule.workload.submit, earliest_starts(schedule.workload, schedule.federation)
    return np.array(submit if earliest is None else np.maximum(submit, earliest), dtype=np.float64)


def _least_runs(schedule: Schedule) -> NDArray[np.float64]:
    # The least run time of each job; a job that ran before t0 has at most its actual run time.
    workload: Workload = schedule.workload
    work = np.minimum(workload.runtime, workload.estimate) if schedule.kill_at_estimate else workload.runtime
    least = work * least_stretch(workload, schedule.federation, usable_groups(workload, schedule.federation))
    return np.where(schedule.start < schedule.t0, np.fmin(least, schedule.run), least)
