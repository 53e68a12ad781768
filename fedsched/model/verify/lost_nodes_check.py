"""Check that downtimes took nodes from running jobs by the rules [42, 67]; and a table of all runs of a schedule.

It shares no code with the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.model.jobs.labels import Labels
from fedsched.model.schedule.eligible import ready_since
from fedsched.model.schedule.lost import no_runs
from fedsched.model.time.downtimes import ON_RUNNING, RECORDED, VICTIMS, closures_of
from fedsched.model.time.reservations import in_reservations
from fedsched.model.verify.tasks_per_node_check import uneven_rows, what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

JOB = "job of this run"  # the label that names the job of a run
# Columns that each run takes from its job; and columns about when a job may start, which runs lack.
COLUMNS = ("submit", "tasks", "runtime", "estimate", "compute_fraction", "task_bandwidth", "origin", "user")
WAITS = ("after", "begin", "held", "cancel_at", "feedback", "alternatives", "slack", "log")
REQUEUE, KILL = ON_RUNNING.index("requeue"), ON_RUNNING.index("kill")


class Runs(NamedTuple):
    """All runs of a schedule, as two schedules.

    `ended` has the jobs that ran to their end. `all` has one row per run, lost runs included.
    """

    ended: Schedule
    all: Schedule  # one row per run
    job: NDArray[np.int64]  # of each run: its job's row in the whole schedule
    since: NDArray[np.float64]  # of each run: since when its job waited for it
    cut: NDArray[np.float64]  # when it lost its nodes; infinite if it did not
    requeues: int
    in_vain: Waits
    given: NDArray[np.float64]  # since when each run had its nodes, which is before its start if they had to boot


class Waits(NamedTuple):
    """Waits that ended by a cancellation or a hold, without a start [44]: the job's row, begin, end and tasks."""

    job: NDArray[np.int64]
    since: NDArray[np.float64]
    until: NDArray[np.float64]
    tasks: NDArray[np.int64]


def runs_of(schedule: Schedule, ended: NDArray[np.int64], left: NDArray[np.int64]) -> Runs:
    """Return the runs of a schedule, lost runs included.

    Jobs in the rows `ended` ran to their end; jobs in the rows `left` were cancelled in the queue.
    """
    lost, groups = schedule.lost, schedule.counts.shape[1]
    columns = {name: getattr(schedule, name)[ended] for name in ("start", "finish", "counts")}
    whole = replace(schedule, workload=schedule.workload.take(ended), lost=no_runs(groups), delays=None, **columns)
    job = np.concatenate([ended, lost.job])
    start, end = np.concatenate([whole.start, lost.start]), np.concatenate([whole.finish, lost.end])
    latest = np.array(ready_since(schedule))
    since = latest[job]
    for run in np.lexsort((start, job)).tolist() if lost.runs else ():
        since[run], latest[job[run]] = latest[job[run]], end[run]
    given = start if schedule.promises is None else schedule.promises.time[job]  # then the job has its nodes
    since, held_up = _waits_outside_holds(schedule, job, since, given)
    cut = np.concatenate([np.full(ended.size, np.inf), lost.end])
    every = whole
    if lost.runs:
        counts = np.vstack([whole.counts, lost.counts])
        workload = one_job_per_run(schedule.workload, job)
        every = replace(whole, workload=workload, start=start, finish=end, counts=counts)
    in_vain = _joined(schedule.workload, [*held_up, *_waits_without_start(schedule, left, latest[left])])
    return Runs(whole, every, job, since, cut, int(lost.requeued.sum()), in_vain, given)


def _waits_outside_holds(
    schedule: Schedule, job: NDArray[np.int64], since: NDArray[np.float64], given: NDArray[np.float64]
) -> tuple[NDArray[np.float64], list[tuple[int, float, float]]]:
    # A held job leaves the queue, and waits anew after its hold (reading 73). Jobs in reservations are not counted.
    held = schedule.workload.held
    if held is None:
        return since, []
    latest, left = since.copy(), []
    inside = in_reservations(schedule.workload, schedule.federation)
    for run, row in enumerate(job.tolist()):
        for hold in held.holds(row):
            if latest[run] < hold.end <= given[run]:
                if not inside[row]:
                    left.append((row, float(latest[run]), hold.begin))
                latest[run] = hold.end
    return latest, left


def _waits_without_start(
    schedule: Schedule, rows: NDArray[np.int64], since: NDArray[np.float64]
) -> Iterator[tuple[int, float, float]]:
    if schedule.workload.cancel_at is None:
        return
    held = schedule.workload.held
    for row, begin, end in zip(rows, since, schedule.workload.cancel_at.cancel_at[rows], strict=True):
        for hold in () if held is None else held.holds(row):
            if hold.end > begin and hold.begin < end:
                yield int(row), float(begin), hold.begin
                begin = hold.end
        yield int(row), float(begin), float(end)


def _joined(workload: Workload, waits: list[tuple[int, float, float]]) -> Waits:
    rows, since, until = (np.array([one[k] for one in waits if one[1] < one[2]]) for k in range(3))
    rows = rows.astype(np.int64)
    return Waits(rows, since, until, workload.tasks[rows])


def one_job_per_run(workload: Workload, rows: NDArray[np.int64]) -> Workload:
    """Return a workload with one job for each of these rows, which may repeat; a label names the original job.

    Ids are new, and fields about when a job may start are dropped.
    """
    nothing: dict[str, Any] = dict.fromkeys(WAITS)
    without = replace(workload, **nothing)
    columns = {name: getattr(workload, name)[rows] for name in COLUMNS}
    parts: dict[str, Any] = {name: part.take(rows) for name, part in without.optional.items()}
    known = {} if workload.labels is None else {name: of[rows] for name, of in workload.labels.columns().items()}
    parts["labels"] = Labels(known | {JOB: workload.id[rows].astype(np.str_)})
    allowed = None if workload.allowed is None else workload.allowed[rows]
    return replace(without, id=np.arange(rows.size), allowed=allowed, **columns, **parts)


def job_name(schedule: Schedule, run: int | np.integer[Any]) -> str:
    """Return the name, for errors, of the job in a row: "Job 12". A row that is one run of a job names the job."""
    workload = schedule.workload
    return f"Job {workload.label(JOB)[run] or workload.id[run]}"


def broken_losses(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each lost run that cannot be, and for each downtime that took too few or too many nodes."""
    lost, workload, closures = schedule.lost, schedule.workload, closures_of(schedule.federation)
    if not lost.runs and not (closures.on_running != 0).any():
        return
    last = {row: float(start) for row, start in enumerate(schedule.start.tolist()) if start == start}
    uneven = {*uneven_rows(workload).tolist()}
    for run in np.lexsort((-lost.start, lost.job)).tolist():
        row, name = int(lost.job[run]), f"Job {workload.id[lost.job[run]]}: its run from {lost.start[run]:g}"
        becomes = REQUEUE if lost.requeued[run] else KILL
        taking = (closures.begin == lost.end[run]) & (closures.on_running == becomes)
        if not (taking & (lost.counts[run][closures.group] > 0)).any():
            yield f"{name} is cut at {lost.end[run]:g}, when no downtime takes its nodes in that way."
        if row in uneven:
            if reason := what_is_wrong(workload, schedule.federation, row, lost.counts[run]):
                yield f"{name}: {reason}."
        elif lost.counts[run].sum() != workload.tasks[row]:
            yield f"{name} has {lost.counts[run].sum()} nodes for {workload.tasks[row]} tasks."
        if not workload.submit[row] <= lost.start[run] < lost.end[run] <= last.get(row, np.inf):
            yield f"{name} to {lost.end[run]:g} is not between its submit and its next start."
        if not lost.requeued[run] and row in last:
            yield f"{name} is cut for good at {lost.end[run]:g}, but it starts at {last[row]:g} again."
        last[row] = float(lost.start[run])
    start, end = np.concatenate([schedule.start, lost.start]), np.concatenate([schedule.finish, lost.end])
    counts = np.vstack([schedule.counts, lost.counts])
    whose_run = np.concatenate([np.arange(len(schedule)), lost.job])
    for c in np.flatnonzero((closures.on_running != 0) & (closures.begin > schedule.t0)).tolist():
        begin, g, size = closures.begin[c], closures.group[c], schedule.federation.groups[closures.group[c]].count
        running = (start < begin) & (end >= begin)
        cut = np.concatenate([np.zeros(len(schedule), dtype=bool), lost.end == begin])
        # A job that ends just then is no victim, and its nodes are free.
        stays = running & (end > begin) & (counts[:, g] > 0)
        used, kept = counts[running & (cut | (end > begin)), g].sum(), counts[stays, g].sum()
        if closures.victims[c] == VICTIMS.index(RECORDED):
            for row in whose_run[stays]:
                yield f"Job {workload.id[row]}: it goes on at {begin:g} on nodes of group {g} that a downtime names."
        elif kept > size - closures.nodes[c]:
            yield (
                f"Downtime at {begin:g}: it takes {closures.nodes[c]} of the {size} nodes of group {g}, but jobs keep "
                f"{kept}."
            )
        here = (closures.group == g) & (closures.begin <= begin) & (begin < closures.end)
        here &= (closures.reservation < 0) | (np.arange(here.size) == c)
        at_random = (closures.victims[here & (closures.begin == begin)] == VICTIMS.index("random")).any()
        others = ((closures.on_running != 0) & (closures.begin == begin) & ~here).any()
        if used > kept and used + closures.nodes[here].sum() <= size and not at_random and not others:
            yield f"Downtime at {begin:g}: jobs lose {used - kept} nodes of group {g}, although enough are free."
