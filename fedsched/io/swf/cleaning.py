"""Cleaning of logs: rows become jobs of a workload, with a count of everything left out or altered.

All log formats are first read into the fields of the Standard Workload Format (a `RawLog`), so all are cleaned alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.io.files import STDIN
from fedsched.io.swf import WHOLE_JOBS
from fedsched.io.swf.swf_table import RawLog, header_number, unread_numbers
from fedsched.io.tables.frame import named, optional_in
from fedsched.model.constraints.cancellations import STAYS
from fedsched.model.constraints.dependencies import Dependencies
from fedsched.model.jobs.job import NO_SITE
from fedsched.model.jobs.labels import Labels
from fedsched.model.jobs.log import CANCELLED, LOG_COLUMNS, CleaningReport, LogColumns
from fedsched.model.jobs.requests import AT_ONCE
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Collection
    from os import PathLike

    from numpy.typing import NDArray

Clean = Literal["standard", "none"]
OverRequest = Literal["raise", "cap", "keep"]
Sites = Literal["auto", "partition"] | None
Cancelled = Literal["drop", "keep"]
Queues = Literal["auto", "partition"] | None

# Some logs write "no limit" as the largest signed 32-bit number, or one more.
UNLIMITED = 2**31 - 1
# Each log column's field in the Standard Workload Format; energy and demands have none.
BEYOND_SWF = ("energy", "demands")
LOG_FIELDS = dict(
    zip(
        (name for name in LOG_COLUMNS if name not in BEYOND_SWF),
        (3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18),
        strict=True,
    )
)
# A partition with fewer jobs is a stray entry, not a cluster of a federation.
STRAY_SHARE = 1e-3
SITES_NOTE = ("Note", "fedsched: the partitions are the sites of a federation")
QUEUES_NOTE = ("Note", "fedsched: the queues are the partitions that jobs ask for")


class MinimumNodes(int):
    """A machine's size that counts where the log's header says less, or nothing."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaning:
    """The options of turning a log into a workload: see the parameters of `fedsched.io.read_swf`."""

    clean: Clean = "standard"
    nodes: int | None = None
    over_request: OverRequest = "raise"
    statuses: Collection[int] | None = WHOLE_JOBS
    sites: Sites = "auto"
    queues: Queues = "auto"
    cancelled: Cancelled = "drop"
    rebase: bool = False
    renumber: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        if self.clean not in ("standard", "none"):
            raise ValueError(f'clean={self.clean!r} must be "standard" or "none".')
        if self.over_request not in ("raise", "cap", "keep"):
            raise ValueError(f'over_request={self.over_request!r} must be "raise", "cap" or "keep".')
        if self.sites not in ("auto", "partition", None):
            raise ValueError(f'sites={self.sites!r} must be "auto", "partition" or None.')
        if self.cancelled not in ("drop", "keep"):
            raise ValueError(f'cancelled={self.cancelled!r} must be "drop" or "keep".')
        if self.cancelled == "keep" and self.clean == "none":
            raise ValueError('cancelled="keep" gives jobs run times that they did not have: it needs clean="standard".')
        if self.queues not in ("auto", "partition", None):
            raise ValueError(f'queues={self.queues!r} must be "auto", "partition" or None.')

    def __str__(self) -> str:
        """Return a text of the options that differ from the defaults, such as "nodes=128, rebase=True"; "" if none."""
        said = [f"clean={self.clean!r}"] * (self.clean != "standard")
        said += [f"nodes={self.nodes}"] * (self.nodes is not None)
        said += [f"over_request={self.over_request!r}"] * (self.over_request != "raise")
        said += [f"statuses={self.statuses}"] * (self.statuses != WHOLE_JOBS)
        said += [f"sites={self.sites!r}"] * (self.sites != "auto")
        said += [f"queues={self.queues!r}"] * (self.queues != "auto")
        said += [f"cancelled={self.cancelled!r}"] * (self.cancelled != "drop")
        return ", ".join(said + ["rebase=True"] * self.rebase + ["renumber=True"] * self.renumber)


def workload_of_log(raw: RawLog, path: str | PathLike[str], how: Cleaning) -> Workload:
    """Return a raw log's jobs as a workload, cleaned as `how` says.

    The workload's `cleaning` counts what was left out or altered. Raise a TraceError if no job is left.
    """
    if isinstance(how.nodes, MinimumNodes) and how.nodes <= _machine(raw):
        how = replace(how, nodes=None)
    machine = _machine(raw) if how.nodes is None else int(how.nodes)
    raw, gone = (raw, 0) if how.cancelled == "drop" else with_cancellations(raw)
    kept = _clean(raw, machine, how.statuses) if how.clean == "standard" else _all_rows(raw)
    if not len(kept.rows):
        raise TraceError(f'{path}: cleaning leaves no job ({kept.report}); see clean="none" and read_table.')
    history = f"read {Path(path).name}" + (f" ({how})" if str(how) else "")
    site_names, origin = _sites(raw, kept.rows, how.sites, path)
    submit = raw.table[1, kept.rows]
    extra = {name: values[kept.rows] for name, values in raw.columns.items()}
    extra |= _partitions_asked_for(raw, kept.rows, how.queues, path)
    if gone and "cancel_at" in extra:
        report = replace(kept.report, cancelled=int((extra["cancel_at"] != STAYS).sum()))
        kept = replace(kept, report=report)
    if how.rebase and "cancel_at" in extra:
        times = extra["cancel_at"]
        extra["cancel_at"] = np.where(times == STAYS, STAYS, times - submit.min())
    if how.rebase and "begin" in extra:
        extra["begin"] = np.where(extra["begin"] > AT_ONCE, np.maximum(extra["begin"] - submit.min(), 0.0), AT_ONCE)
    if how.renumber and "after" in extra:
        extra["after"] = _after_renumbered(extra["after"], kept.ids)
    columns = _Columns(raw, kept, "keep" if how.clean == "none" else how.over_request)
    try:
        return Workload(
            submit=submit - submit.min() if how.rebase else submit,
            tasks=_tasks(raw)[kept.rows],
            runtime=columns.runtime,
            estimate=columns.estimate,
            id=None if how.renumber else kept.ids,
            compute_fraction=extra.get("compute_fraction", 1.0),
            task_bandwidth=extra.get("task_bandwidth", 0.0),
            origin=origin,
            user=np.trunc(raw.table[11, kept.rows]),
            allowed=extra.get("allowed") if site_names else None,
            sites=site_names,
            **optional_in(extra),
            log=_log_columns(raw, kept.rows) if raw.logged else None,
            name=how.name or _stem(path),
            nodes=machine,
            header=raw.header,
            cleaning=columns.report,
            history=(history,),
        )
    except ValueError as error:
        cure = "read it with renumber=True" if "same id" in str(error) else 'clean="standard" leaves such rows out'
        raise TraceError(f"{path}: {error} For a log: {cure}.") from error


def with_cancellations(raw: RawLog) -> tuple[RawLog, int]:
    """Return the log, with rows of jobs that were cancelled in the queue made into jobs, and their number.

    Such a row has status 5, no run time, a wait and a requested time. The job gets its requested time as run time, and
    its column `cancel_at` is the end of its wait.
    """
    wait, run, request = raw.table[2], raw.table[3], raw.table[8]
    gone = (raw.table[10] == CANCELLED) & (run <= 0) & (wait >= 0) & (request > 0) & (request < UNLIMITED)
    if not gone.any():
        return raw, 0
    table = raw.table.copy()
    table[3, gone] = request[gone]
    until = np.where(gone, raw.table[1] + wait, STAYS)
    return replace(raw, table=table, columns=raw.columns | {"cancel_at": until}), int(gone.sum())


@dataclass(frozen=True, slots=True)
class _CleanRows:
    rows: NDArray[np.int64]
    ids: NDArray[np.float64]
    report: CleaningReport


def _machine(raw: RawLog) -> int:
    return header_number(raw.header, "MaxProcs") or header_number(raw.header, "MaxNodes")


def _tasks(raw: RawLog) -> NDArray[np.float64]:
    """Return the number of processors in each row, truncated: those allocated if above 0, else those requested."""
    allocated, requested = raw.table[4], raw.table[7]
    tasks: NDArray[np.float64] = np.trunc(np.where(allocated > 0, allocated, requested))
    return tasks


def _report(raw: RawLog, kept: int) -> CleaningReport:
    return replace(
        raw.found,
        records=raw.rows + raw.malformed + raw.found.dropped,
        kept=kept,
        announced=header_number(raw.header, "MaxRecords"),
        unread_numbers=unread_numbers(raw.header),
        malformed=raw.malformed,
        truncated_file=raw.truncated,
    )


def _all_rows(raw: RawLog) -> _CleanRows:
    return _CleanRows(np.arange(raw.rows), np.trunc(raw.table[0]), _report(raw, raw.rows))


def _clean(raw: RawLog, machine: int, statuses: Collection[int] | None) -> _CleanRows:
    """Return the indices of rows that are jobs, sorted by (submit, id), with distinct ids and a report.

    The report counts each dropped row under its first fault: status, submit, run time, processors.
    """
    submit, run, tasks, status = raw.table[1], raw.table[3], _tasks(raw), raw.table[10]
    left = np.ones(raw.rows, dtype=np.bool_)

    def drop(fault: NDArray[np.bool_]) -> int:
        dropped = int(np.count_nonzero(left & fault))
        left[fault] = False
        return dropped

    report = replace(
        _report(raw, 0),
        partial_status=0 if statuses is None else drop(~np.isin(status, list(statuses))),
        negative_submit=drop(submit < 0),
        no_runtime=drop(run <= 0),
        no_processors=drop(tasks < 1),
        too_wide=drop(tasks > machine) if machine else 0,
    )
    rows = np.flatnonzero(left)
    out_of_order = int(np.count_nonzero(np.diff(submit[rows]) < 0))
    ids, renumbered = distinct_ids(np.trunc(raw.table[0, rows]))
    order = np.lexsort((ids, submit[rows]))
    renumbered += report.renumbered
    report = replace(report, kept=len(rows), out_of_order=out_of_order, renumbered=renumbered)
    return _CleanRows(rows[order], ids[order], report)


def distinct_ids(ids: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return the ids with repeated ones and NaN replaced by new ids, and how many were replaced.

    Requeued jobs, and jobs of several clusters, may share an id: the first keeps it, the others get new ids above all
    others, and so do jobs with NaN.
    """
    keeps = np.zeros(len(ids), dtype=np.bool_)
    keeps[np.unique(ids, return_index=True)[1]] = True
    keeps &= np.isfinite(ids)
    top = ids[keeps].max(initial=0.0)
    return np.where(keeps, ids, top + np.cumsum(~keeps)), int(np.count_nonzero(~keeps))


class _Columns:
    """Run times and estimates of the kept jobs, and the report with counts of the jobs' requested times.

    A job without a requested time, or with an unlimited one, gets its run time as estimate. For a run longer than
    requested, "raise" sets the estimate to the run time, "cap" the run time to the estimate, and "keep" keeps both.
    """

    def __init__(self, raw: RawLog, kept: _CleanRows, over_request: OverRequest) -> None:
        rows = kept.rows
        run, request = raw.table[3, rows], raw.table[8, rows]
        unlimited = request >= UNLIMITED
        missing = request <= 0
        over = ~missing & ~unlimited & (run > request)
        estimate = np.where(missing | unlimited, run, request)
        self.runtime = np.minimum(run, estimate) if over_request == "cap" else run
        self.estimate = np.maximum(run, estimate) if over_request == "raise" else estimate
        self.report = replace(
            kept.report,
            missing_request=int(missing.sum()),
            unlimited_request=int(unlimited.sum()),
            over_request=int(over.sum()),
            over_request_action=over_request,
            rounded=sum(int(np.count_nonzero(raw.table[field, rows] % 1)) for field in (0, 4, 7, 11)),
            dependencies=int(np.count_nonzero(raw.table[16, rows] > 0)),
        )


def _log_columns(raw: RawLog, rows: NDArray[np.int64]) -> LogColumns:
    columns = {name: raw.table[field - 1, rows] for name, field in LOG_FIELDS.items()}
    columns |= {name: raw.columns[name][rows] for name in BEYOND_SWF if name in raw.columns}
    return LogColumns(len(rows), columns)


def _sites(
    raw: RawLog, rows: NDArray[np.int64], sites: Sites, path: str | PathLike[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of sites, made of the log's partitions, and the index of each row's site, -1 for none.

    There are no sites for None. For "auto" there are none if fewer than two partitions have one job in a thousand,
    unless fedsched wrote the log of a federation.
    """
    if sites == "partition" and raw.partitions_are_queues:
        return _sites_of_queues(raw, rows, path)
    partition = raw.table[15, rows]
    named = partition_names(raw.header)
    used, jobs = np.unique(partition[partition >= 0], return_counts=True)
    if sites == "partition" and not len(used):
        raise TraceError(f"{path}: no job has a partition (field 16); read it with sites=None.")
    federated = SITES_NOTE in raw.header or np.count_nonzero(jobs >= len(rows) * STRAY_SHARE) > 1
    if sites is None or (sites == "auto" and not federated):
        return (), np.full(len(rows), NO_SITE)
    numbers = sorted({*used.tolist(), *named})
    texts = [named.get(number, "") for number in numbers]
    distinct = "" not in texts and len(set(texts)) == len(texts)
    names = tuple(texts) if distinct else tuple(f"{number:g}" for number in numbers)
    return names, np.where(partition >= 0, np.searchsorted(numbers, partition), NO_SITE)


def _sites_of_queues(
    raw: RawLog, rows: NDArray[np.int64], path: str | PathLike[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of sites, made of Slurm's partitions, and the index of each row's site, -1 for none.

    If there are several clusters, the cluster's name comes before: "north/batch".
    """
    queue, cluster = raw.table[14, rows], raw.table[15, rows]
    known = queue >= 0
    if not known.any():
        raise TraceError(f"{path}: no job has a partition (column Partition); read it with sites=None.")
    queues, clusters = partition_names(raw.header, "Queue"), partition_names(raw.header)
    several = len(np.unique(cluster[known])) > 1
    pairs, of_job = np.unique(np.stack([cluster[known] * several, queue[known]]), axis=1, return_inverse=True)
    sites = tuple(
        f"{clusters.get(of, f'{of:g}')}/{queues[number]}" if several else queues[number] for of, number in pairs.T
    )
    origin = np.full(len(rows), NO_SITE)
    origin[known] = of_job.reshape(-1)
    return sites, origin


def _partitions_asked_for(
    raw: RawLog, rows: NDArray[np.int64], queues: Queues, path: str | PathLike[str]
) -> dict[str, NDArray[Any]]:
    """Return the rows' queues as the label "partition", a column by its name in tables; {} if it is not wanted."""
    if raw.partitions_are_queues or queues is None or (queues == "auto" and QUEUES_NOTE not in raw.header):
        return {}
    if f"{Labels.PREFIX}partition" in raw.columns:  # a field after the eighteenth has the partition
        if queues == "partition":
            raise TraceError(f'{path}: a further field is already named "partition"; rename it, or leave queues= out.')
        return {}
    numbers, which = np.unique(raw.table[14, rows], return_inverse=True)
    if not (numbers >= 0).any():
        raise TraceError(f"{path}: no job has a queue (field 15); read it with queues=None.")
    known = partition_names(raw.header, "Queue")
    names = np.array(["" if one < 0 else known.get(one) or f"{one:g}" for one in numbers.tolist()], dtype=object)
    return named(Labels, {"partition": names[which.reshape(-1)]})


def _after_renumbered(texts: NDArray[Any], ids: NDArray[np.float64]) -> NDArray[Any]:
    """Return the texts of dependencies with the jobs' new ids 1..n; those on jobs that are not among `ids` drop out."""
    new: dict[int, int] = {}
    for number, old in enumerate(ids.tolist(), start=1):
        new.setdefault(int(old), number)
    after = Dependencies.of(texts.tolist(), ids.astype(np.int64))
    kept = None if after is None else after.renumbered(new)
    return np.full(len(texts), "") if kept is None else kept.texts


def partition_names(header: tuple[tuple[str, str], ...], label: str = "Partition") -> dict[float, str]:
    """Return the names of partitions, or of queues, by number in a header's lines; '' for a number without a name."""
    found = [re.match(r"(\d+)\s*(.*)", text) for name, text in header if name == label]
    return {float(match[1]): match[2].replace("|", "/").strip() for match in found if match}


def _stem(path: str | PathLike[str]) -> str:
    name = "stdin" if str(path) == STDIN else Path(path).name
    return re.split(r"\.(?:swf|sacct|json|csv)(?=\.|$)", name)[0] or name
