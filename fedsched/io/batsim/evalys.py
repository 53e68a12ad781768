"""Schedules as Batsim's `jobs.csv`, which evalys and related tools draw and measure."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.io.atomic import atomic_text
from fedsched.io.tables.csv import escaped
from fedsched.model.power.watts import drawn_watts, watts_of

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.model.schedule.node_numbers import Intervals
    from fedsched.model.schedule.schedule import Schedule

COLUMNS = (
    *("job_id", "workload_name", "profile", "submission_time", "requested_number_of_resources", "requested_time"),
    *("success", "final_state", "starting_time", "execution_time", "finish_time", "waiting_time", "turnaround_time"),
    *("stretch", "allocated_resources", "consumed_energy", "metadata"),
)


def write_jobs(schedule: Schedule, path: str | PathLike[str]) -> None:
    """Write a CSV file with one row for each finished job; node numbers count from 0 and are written as `0-3 5`.

    Energy, in joules, is that of the job's nodes while it runs. Jobs that were killed at their estimate did not
    succeed. The file cannot say that jobs share nodes: then a node is in the set of each of its jobs, the requested
    number is that of the job's nodes, energy is that of the job's share of them, and `metadata` has this share.

    Parameters
    ----------
    schedule, path
        The schedule, and the file to write.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io.batsim.evalys import write_jobs
    >>> write_jobs(fs.simulate(fs.Workload(submit=[0], tasks=[4], runtime=[600]), 4), "jobs.csv")
    >>> Path("jobs.csv").read_text().splitlines()[0].split(",")[:3]
    ['job_id', 'workload_name', 'profile']
    """
    w = schedule.workload
    done = np.flatnonzero(~np.isnan(schedule.finish))
    if done.size == 0:
        raise ScheduleError(f"Cannot write {path}: no job of the schedule has finished.")
    groups, use = schedule.federation.groups, getattr(schedule, "use", None)
    shares = schedule.counts if use is None else use.shares
    watts = (shares * drawn_watts(watts_of(w, groups), groups, np.arange(len(w)))).sum(axis=1)
    killed = (w.runtime > w.estimate) & schedule.kill_at_estimate
    nodes = schedule.node_numbers()
    with atomic_text(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(COLUMNS)
        for j in done.tolist():
            submit, start, finish = float(w.submit[j]), float(schedule.start[j]), float(schedule.finish[j])
            run, hosts = finish - start, sum(last - first + 1 for first, last in nodes[j])
            rows.writerow(
                (
                    int(w.id[j]),
                    escaped(w.name),
                    f"delay{float(w.runtime[j])!r}",
                    submit,
                    int(w.tasks[j]) if use is None else hosts,
                    float(w.estimate[j]),
                    int(not killed[j]),
                    "COMPLETED_WALLTIME_REACHED" if killed[j] else "COMPLETED_SUCCESSFULLY",
                    start,
                    run,
                    finish,
                    start - submit,
                    finish - submit,
                    (finish - submit) / run if run > 0 else 1.0,
                    interval_set(nodes[j]),
                    float(watts[j]) * run,
                    "" if use is None else f"share of its nodes: {float(shares[j].sum()):.6g} of {hosts}",
                )
            )


def interval_set(nodes: Intervals) -> str:
    """Return ranges of node numbers (first, last) as Batsim writes them: `0-3 5`."""
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in nodes)
