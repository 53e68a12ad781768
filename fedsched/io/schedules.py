"""Schedules as files: CSV with one row for each job, written and read; and logs, which are only written."""

from __future__ import annotations

import csv
from dataclasses import replace
from math import isclose
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import ScheduleError, shortened, unknown_name
from fedsched.core.text import counted
from fedsched.io.atomic import atomic_text
from fedsched.io.files import read_text
from fedsched.io.swf.log import write_swf
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.constraints.feedback import submits_after
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.alternatives import may_change_gear
from fedsched.model.jobs.layout import ON_NODES, tasks_on_nodes, with_task_counts
from fedsched.model.jobs.log import LOG_COLUMNS, LogColumns
from fedsched.model.jobs.workload import Workload
from fedsched.model.power.gears import gears_of
from fedsched.model.reading import UNRECORDED
from fedsched.model.schedule.lost import LostRuns
from fedsched.model.schedule.promises import Promises
from fedsched.model.schedule.schedule import Schedule

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading

CUT, REQUEUED, KILLED = "cut", "requeued", "killed"  # for runs that lost their nodes: the column, and its values
PROMISED = ("promised", "turn")  # the time from which jobs had their nodes, if these may have had to boot
DELAY = "delay"  # seconds by which a plan put off each job, if plans may do so
GEAR, SHARE = "gear", "compute_fraction"  # of each job's shape
COMPARED = ("submit", "tasks", "runtime", "estimate", "wait")  # columns that must be those of the workload
RELATIVE, SECONDS = 1e-9, 1e-3  # by how much they may differ: other programs print fewer digits
PLAIN = ("id", "submit", "tasks", "runtime", "estimate", "start", "finish")


def group_labels(federation: Federation, *, what: str = "nodes") -> list[str]:
    """Return a column name for every node group: `nodes:cluster`, or `nodes:cluster/2` if a cluster has several groups.

    If a cluster has the name of another one's group, all groups are numbered, which makes the names distinct.
    """

    def labels(*, numbered: bool) -> list[str]:
        return [
            f"{what}:{cluster.name}{f'/{g}' if numbered or len(cluster.groups) > 1 else ''}"
            for cluster in federation.clusters
            for g in range(1, len(cluster.groups) + 1)
        ]

    short = labels(numbered=False)
    return short if len(set(short)) == len(short) else labels(numbered=True)


def columns_of(schedule: Schedule) -> dict[str, NDArray[Any]]:
    """Return the schedule's columns for a table, by name: each job's own values, times and nodes of each group.

    If jobs share nodes, their tasks on each group stand for the nodes. Gears, promised times and delays are included if
    the schedule has them.
    """
    workload = schedule.workload
    table: dict[str, NDArray[Any]] = {name: getattr(workload, name) for name in PLAIN[:5]}
    if workload.alternatives is not None and (on_nodes := tasks_on_nodes(workload)).any():
        table[ON_NODES] = on_nodes  # part of each job's shape, if its nodes are counted
    if may_change_gear(workload):
        table |= {GEAR: gears_of(workload), SHARE: workload.compute_fraction}
    table |= {"start": schedule.start, "finish": schedule.finish, "wait": schedule.wait}
    table |= {label: schedule.counts[:, g] for g, label in enumerate(_labels_of(schedule))}
    if schedule.promises is not None:
        table |= dict(zip(PROMISED, schedule.promises, strict=True))
    if schedule.delays is not None:
        table[DELAY] = schedule.delays
    return table


def write_csv(schedule: Schedule, path: str | PathLike[str]) -> None:
    """Write a schedule to a CSV file with one row for each job; `read_csv` reads numbers back to the last bit.

    If downtimes took nodes from jobs, there is one more row for each lost run, which a last column marks.

    Parameters
    ----------
    schedule, path
        The schedule, and the file to write.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io.schedules import write_csv
    >>> write_csv(fs.simulate(fs.Workload(submit=[0], tasks=[4], runtime=[600]), 4), "plan.csv")
    >>> Path("plan.csv").read_text().splitlines()[-1]
    '1,0,4,600,600,0,600,0,4'
    """
    table = columns_of(schedule)
    columns = [[_number(value) for value in column.tolist()] for column in table.values()]
    names, lost = list(table), schedule.lost
    if lost.runs:
        of_lost = columns_of_lost(schedule)
        for name, column in zip(names, columns, strict=True):
            column += [_number(value) for value in of_lost[name].tolist()]
        columns.append([""] * len(schedule) + [REQUEUED if again else KILLED for again in lost.requeued.tolist()])
        names.append(CUT)
    with atomic_text(path) as out:
        csv.writer(out, lineterminator="\n").writerow(names)
        out.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))


def columns_of_lost(schedule: Schedule) -> dict[str, NDArray[Any]]:
    """Return the columns of `columns_of` with a row for each run that lost its nodes to a downtime."""
    lost = schedule.lost
    whole = {name: column[lost.job] for name, column in columns_of(schedule).items()}
    times = {"start": lost.start, "finish": lost.end, "wait": lost.start - schedule.workload.submit[lost.job]}
    return whole | times | {label: lost.counts[:, g] for g, label in enumerate(_labels_of(schedule))}


def _labels_of(schedule: Schedule) -> list[str]:
    return group_labels(schedule.federation, what="tasks" if getattr(schedule, "shares_nodes", False) else "nodes")


def _number(value: float) -> str:
    if value != value:
        return ""
    return str(int(value)) if float(value).is_integer() else repr(value)


def read_csv(
    path: str | PathLike[str],
    workload: Workload,
    federation: Federation,
    *,
    t0: float | None = None,
    reading: Reading = UNRECORDED,
) -> Schedule:
    """Return the schedule in a CSV file: see `Schedule.read`."""
    try:
        rows = list(csv.reader(read_text(path).splitlines(keepends=True)))
    except csv.Error as error:
        raise ScheduleError(f"{path}: not valid CSV: {error}.") from None
    if not rows:
        raise ScheduleError(f"{path}: it is empty; a schedule has a line of column names and one line a job.")
    header, body = rows[0], [row for row in rows[1:] if row]
    wanted = ["id", "start", "finish", *group_labels(federation)]
    for name in wanted:
        if name not in header:
            raise ScheduleError(f"{path}: it has no column {name!r}; it has {shortened(', '.join(header), 200)}.")
    for name in header:
        if name.startswith("nodes:") and name not in wanted:
            raise ScheduleError(f"{path}: {unknown_name('node group column', name[:80], wanted[3:])}")
    place = {int(job): row for row, job in enumerate(workload.id)}
    start = np.full(len(workload), np.nan)
    finish = np.full(len(workload), np.nan)
    counts = np.zeros((len(workload), len(federation.groups)), dtype=np.int64)
    at, cut = [header.index(name) for name in wanted], header.index(CUT) if CUT in header else None
    promises, delays = _promises(header, body, place, path), _delays(header, body, place, path)
    lost: list[tuple[int, float, float, list[int], bool]] = []
    line_of: dict[int, int] = {}  # the line of each job's own row
    jobs, starts = np.empty(len(body), dtype=np.int64), np.empty(len(body))
    for line, row in enumerate(body, start=2):
        try:
            values = [float(row[k]) if row[k] else np.nan for k in at]
            job = place[_whole(values[0])]
            nodes = [_whole(value) for value in values[3:]]
            if max(nodes, default=0) >= 2**63 or min(nodes, default=0) < 0:
                raise ValueError("numbers of nodes must be from 0 to 2**63 - 1")
            how = "" if cut is None else row[cut]
        except KeyError as error:
            raise ScheduleError(f"{path}, line {line}: the workload has no job {shortened(error.args[0])}.") from None
        except (ValueError, IndexError, OverflowError) as error:
            said = shortened(str(error))
            raise ScheduleError(f"{path}, line {line}: a field is missing or no number ({said}).") from None
        if how not in ("", REQUEUED, KILLED):
            raise ScheduleError(f"{path}, line {line}: {CUT}={shortened(repr(how))} is none of {REQUEUED}, {KILLED}.")
        jobs[line - 2], starts[line - 2] = job, values[1]
        if how:
            lost.append((job, values[1], values[2], nodes, how == REQUEUED))
        elif (first := line_of.setdefault(job, line)) != line:
            raise ScheduleError(f"{path}, line {line}: job {workload.id[job]} has a row already, line {first}.")
        else:
            start[job], finish[job], counts[job] = *values[1:3], nodes
    found = LostRuns.of(lost) if lost else None
    workload = count_in_nodes(with_default_times(workload, federation), federation)
    workload = _as_submitted(_as_it_ran(workload, header, body, path), start, finish, found)
    _compare(workload, header, body, jobs, starts, path)
    away = len(workload) - len(line_of)
    return Schedule(
        workload=workload,
        federation=federation,
        start=start,
        finish=finish,
        counts=counts,
        t0=float(workload.submit.min()) if t0 is None else t0,
        reading=reading,
        policy=f"read from {path}",
        notes=(f"{len(line_of):,} of {counted(len(workload), 'job')} have a row in {path}",) * bool(away),
        lost=found,
        promises=promises,
        delays=delays,
    )


def _whole(value: float) -> int:
    if value == value and not float(value).is_integer():
        raise ValueError(f"{value:g} must be a whole number")
    return int(value)


def _compare(
    workload: Workload,
    header: list[str],
    body: list[list[str]],
    jobs: NDArray[np.int64],
    starts: NDArray[np.float64],
    path: str | PathLike[str],
) -> None:
    """Raise a ScheduleError if a row of a schedule's file has other values than the workload has for its job.

    `jobs` and `starts` have the job and the start of each row. Empty cells are not compared.
    """
    for name in COMPARED:
        if name not in header:
            continue
        ours = starts - workload.submit[jobs] if name == "wait" else getattr(workload, name)[jobs]
        at = header.index(name)
        for line, (row, mine, job) in enumerate(zip(body, ours.tolist(), jobs.tolist(), strict=True), start=2):
            try:
                said = float(row[at] or "nan")
            except (ValueError, IndexError) as error:
                why = shortened(str(error))
                raise ScheduleError(f"{path}, line {line}: a field is missing or no number ({why}).") from None
            if said == said and not isclose(said, mine, rel_tol=RELATIVE, abs_tol=SECONDS):
                now = ', with submits="now" if all jobs waited' if name in ("submit", "wait") else ""
                raise ScheduleError(
                    f"{path}, line {line}: {name}={said:.12g} of job {workload.id[job]}, but the workload makes it "
                    f"{mine:.12g}; give the workload that the schedule was made for{now}."
                )


def _promises(
    header: list[str], body: list[list[str]], place: Mapping[int, int], path: str | PathLike[str]
) -> Promises | None:
    """Return when each job was promised its nodes, and in which turn, from a schedule's file; None if it has neither.

    `place` has each job's row in the workload, by id.
    """
    if not set(PROMISED) <= set(header):
        return None
    time, turn = (_column(name, header, body, place, path) for name in PROMISED)
    return Promises(time, np.nan_to_num(turn).astype(np.int64))


def _delays(
    header: list[str], body: list[list[str]], place: Mapping[int, int], path: str | PathLike[str]
) -> NDArray[np.float64] | None:
    """Return the seconds by which a plan put off each job, 0 for an empty cell; None if the file has no such column."""
    return np.nan_to_num(_column(DELAY, header, body, place, path)) if DELAY in header else None


def _column(
    name: str, header: list[str], body: list[list[str]], place: Mapping[int, int], path: str | PathLike[str]
) -> NDArray[np.float64]:
    """Return a column's value for every job, from its last line; NaN if the cell is empty."""
    found = np.full(len(place), np.nan)
    job, at = header.index("id"), header.index(name)
    for line, row in enumerate(body, start=2):
        try:
            found[place[int(float(row[job]))]] = float(row[at] or "nan")
        except (KeyError, ValueError, IndexError, OverflowError) as error:
            said = shortened(str(error))
            raise ScheduleError(f"{path}, line {line}: a field is missing or no number ({said}).") from None
    return found


def _as_submitted(
    workload: Workload, start: NDArray[np.float64], finish: NDArray[np.float64], lost: LostRuns | None
) -> Workload:
    """Return the workload; jobs that are submitted after others end get the submits that result in this schedule."""
    if workload.feedback is None:
        return workload
    over, gone = finish.copy(), np.zeros(finish.size, dtype=np.bool_)
    if workload.cancel_at is not None:
        gone = np.isnan(start) & np.isfinite(workload.cancel_at.times)
    if lost is not None:
        over[lost.killed], gone[lost.killed] = lost.end[~lost.requeued], False
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.times[gone]
    return replace(workload, submit=submits_after(workload, over, gone), after=replace_singletons(workload))


def _as_it_ran(workload: Workload, header: list[str], body: list[list[str]], path: str | PathLike[str]) -> Workload:
    """Return the workload with each job in the shape (tasks, run time, estimate, …) in a schedule's file [49].

    Without alternative shapes, or without these columns, return the workload unchanged.
    """
    if workload.alternatives is None or not {"tasks", "runtime", "estimate"} <= set(header):
        return workload
    columns = {name: getattr(workload, name).copy() for name in ("tasks", "runtime", "estimate")}
    on_nodes = tasks_on_nodes(workload).copy()
    if ON_NODES in header and on_nodes.any():
        columns[ON_NODES] = on_nodes
    if {GEAR, SHARE} <= set(header):
        columns |= {GEAR: gears_of(workload).copy(), SHARE: workload.compute_fraction.copy()}
    place = {int(job): row for row, job in enumerate(workload.id)}
    at = {name: header.index(name) for name in ("id", *columns)}
    try:
        for row in body:
            job = place[int(float(row[at["id"]]))]
            for name, column in columns.items():
                column[job] = float(row[at[name]])
        columns.pop(ON_NODES, None)
        return replace(workload, **columns, layout=with_task_counts(workload.layout, on_nodes, workload.id))
    except (ValueError, OverflowError) as error:
        raise ScheduleError(f"{path}: {shortened(str(error), 300)}") from None


def write_swf_of(schedule: Schedule, path: str | PathLike[str]) -> None:
    """Write a schedule as a log: every job with its wait and run time as scheduled, and status 1.

    Jobs that did not finish are left out, and a note in the header counts them. Data without a field in the format
    (compute fractions, bandwidths) are lost.

    Parameters
    ----------
    schedule, path
        The schedule, and the file to write.

    Examples
    --------
    >>> from fedsched.io.schedules import write_swf_of
    >>> write_swf_of(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")), "ran.swf")
    >>> round(fs.read("ran.swf").recorded.mean_wait)
    9935
    """
    done = np.flatnonzero(~np.isnan(schedule.finish))
    if done.size == 0:
        raise ScheduleError(f"Cannot write {path}: no job of the schedule has finished.")
    kept = schedule.workload.take(done)
    columns = {} if kept.log is None else {name: getattr(kept.log, name) for name in LOG_COLUMNS}
    columns["wait"] = schedule.wait[done]
    columns["allocated"] = kept.tasks.astype(np.float64)
    columns["requested_time"] = kept.estimate
    columns["status"] = np.ones(done.size)
    away = counted(len(schedule) - done.size, "job") if done.size < len(schedule) else ""
    notes = [f"scheduled by fedsched: {schedule.policy}", *[f"left out: {away} that did not finish"] * bool(away)]
    if schedule.lost.runs:
        notes.append(f"left out: {counted(schedule.lost.runs, 'run')} that lost their nodes to downtimes")
    as_run = Workload(
        submit=kept.submit,
        tasks=kept.tasks,
        runtime=schedule.run[done],
        estimate=np.maximum(kept.estimate, schedule.run[done]),
        id=kept.id,
        origin=kept.origin,
        user=kept.user,
        sites=kept.sites,
        log=LogColumns(done.size, columns),
        name=kept.name,
        nodes=schedule.federation.nodes,
        header=(*kept.header, *(("Note", note) for note in notes)),
    )
    write_swf(as_run, path, lossy=True)
