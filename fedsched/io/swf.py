"""Standard Workload Format 2.2: logs into workloads, cleaned as asked, and workloads into logs."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.errors import OutputError, TraceError
from fedsched.io import WHOLE_JOBS
from fedsched.io.atomic import atomic_text
from fedsched.io.swf_table import FIELDS, OnError, RawLog, header_number, read_table
from fedsched.log import LOG_COLUMNS, CleaningReport, LogColumns
from fedsched.workload import NO_SITE, Workload

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from os import PathLike

    from numpy.typing import NDArray

Clean = Literal["standard", "none"]
OverRequest = Literal["raise", "cap", "keep"]

# Some logs say "no limit" as the largest 32-bit number, or one more.
UNLIMITED = 2**31 - 1
_LOG_FIELDS = (3, 5, 6, 7, 8, 9, 10, 11, 13, 14, 15, 16, 17, 18)
# A partition with fewer jobs is a stray entry, not a cluster of a federation.
STRAY_SHARE = 1e-3
SITES_NOTE = ("Note", "fedsched: the partitions are the sites of a federation")
_RENEWED = ("Version", "MaxJobs", "MaxRecords")


def read_swf(
    path: str | PathLike[str],
    *,
    clean: Clean = "standard",
    nodes: int | None = None,
    over_request: OverRequest = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Literal["auto", "partition"] | None = "auto",
    rebase: bool = False,
    renumber: bool = False,
    on_error: OnError = "raise",
    name: str | None = None,
) -> Workload:
    """Return the jobs of a log and, as `cleaning`, what was left out or altered.

    Parameters
    ----------
    path
        A plain, gzip, xz or bzip2 file.
    clean
        "standard" sorts by (submit, id) and drops rows that are no job: submit below 0, no run time, no processors,
        more processors than the machine, a status not among `statuses`. "none" keeps every row in the file's order, and
        fails when one of them is no job; `read_table` gives the bare numbers of any log.
    nodes
        The machine's size; default: what the header says (MaxProcs, else MaxNodes).
    over_request
        For a job that ran past its requested time: "raise" the request, "cap" the run, or "keep" both.
        With clean="none" both are kept.
    statuses
        The statuses of jobs to keep; None = all.
    sites
        "partition" makes the log's partitions the jobs' sites, None does not; "auto" does when at least two of them
        hold a job in a thousand, or when fedsched wrote the log of a federation. A site is named as the header names
        its partition, or by the partition's number.
    rebase, renumber
        Shift submits so that the earliest is 0; number the jobs 1..n.
    on_error
        "raise" a `TraceError` at a malformed line, or "skip" and count it.
    name
        The workload's name; default: the file's.
    """
    if clean not in ("standard", "none"):
        raise ValueError(f'clean={clean!r} must be "standard" or "none".')
    if over_request not in ("raise", "cap", "keep"):
        raise ValueError(f'over_request={over_request!r} must be "raise", "cap" or "keep".')
    if sites not in ("auto", "partition", None):
        raise ValueError(f'sites={sites!r} must be "auto", "partition" or None.')
    raw = read_table(path, on_error=on_error)
    machine = _machine(raw) if nodes is None else nodes
    kept = _clean(raw, machine, statuses) if clean == "standard" else _all_rows(raw)
    if not len(kept.rows):
        raise TraceError(f'{path}: cleaning leaves no job ({kept.report}); see clean="none" and read_table.')
    options = _options(clean=clean, nodes=nodes, over_request=over_request, statuses=statuses, sites=sites)
    options += ["rebase=True"] * rebase + ["renumber=True"] * renumber
    history = f"read {Path(path).name}" + (f" ({', '.join(options)})" if options else "")
    columns = _Columns(raw, kept, "keep" if clean == "none" else over_request)
    site_names, origin = _sites(raw, kept.rows, sites, path)
    submit = raw.table[1, kept.rows]
    try:
        return Workload(
            submit=submit - submit.min() if rebase else submit,
            tasks=_tasks(raw)[kept.rows],
            runtime=columns.runtime,
            estimate=columns.estimate,
            id=None if renumber else np.trunc(raw.table[0, kept.rows]),
            origin=origin,
            user=np.trunc(raw.table[11, kept.rows]),
            sites=site_names,
            log=_log_columns(raw, kept.rows),
            name=name or _stem(path),
            nodes=machine,
            header=raw.header,
            cleaning=columns.report,
            history=(history,),
        )
    except ValueError as error:
        cure = "read it with renumber=True" if "same id" in str(error) else 'clean="standard" leaves such rows out'
        raise TraceError(f"{path}: {error} For a log: {cure}.") from error


@dataclass(frozen=True, slots=True)
class _Kept:
    rows: NDArray[np.int64]
    report: CleaningReport


def _machine(raw: RawLog) -> int:
    return header_number(raw.header, "MaxProcs") or header_number(raw.header, "MaxNodes")


def _tasks(raw: RawLog) -> NDArray[np.float64]:
    """Return the processors of every row, whole: those allocated, else those requested."""
    allocated, requested = raw.table[4], raw.table[7]
    tasks: NDArray[np.float64] = np.trunc(np.where(allocated > 0, allocated, requested))
    return tasks


def _report(raw: RawLog, kept: int) -> CleaningReport:
    return CleaningReport(
        records=raw.rows + raw.malformed,
        kept=kept,
        announced=header_number(raw.header, "MaxRecords"),
        malformed=raw.malformed,
        truncated_file=raw.truncated,
    )


def _all_rows(raw: RawLog) -> _Kept:
    return _Kept(np.arange(raw.rows), _report(raw, raw.rows))


def _clean(raw: RawLog, machine: int, statuses: Collection[int] | None) -> _Kept:
    """Return the rows that are jobs, in the order of (submit, id); each dropped row counts for its first fault."""
    ids, submit, run, tasks, status = raw.table[0], raw.table[1], raw.table[3], _tasks(raw), raw.table[10]
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
    order = np.lexsort((ids[rows], submit[rows]))
    return _Kept(rows[order], replace(report, kept=len(rows), out_of_order=out_of_order))


class _Columns:
    """Run times and estimates as the treatment of overrun requests leaves them, and the report that counts it."""

    def __init__(self, raw: RawLog, kept: _Kept, over_request: OverRequest) -> None:
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
    columns = {name: raw.table[field - 1, rows] for name, field in zip(LOG_COLUMNS, _LOG_FIELDS, strict=True)}
    return LogColumns(len(rows), columns)


def _sites(
    raw: RawLog, rows: NDArray[np.int64], sites: Literal["auto", "partition"] | None, path: str | PathLike[str]
) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the sites that the partitions stand for, and the site of each row."""
    partition = raw.table[15, rows]
    named = _partition_names(raw.header)
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


def _partition_names(header: tuple[tuple[str, str], ...]) -> dict[float, str]:
    found = [re.match(r"(\d+)\s*(.*)", text) for label, text in header if label == "Partition"]
    return {float(match[1]): match[2].replace("|", "/").strip() for match in found if match}


def _stem(path: str | PathLike[str]) -> str:
    name = Path(path).name
    return name.split(".swf")[0] or name


def _options(
    *, clean: str, nodes: int | None, over_request: str, statuses: Collection[int] | None, sites: str | None
) -> list[str]:
    """Return the options that differ from the defaults, as texts for the history."""
    said = [f"clean={clean!r}"] * (clean != "standard") + [f"nodes={nodes}"] * (nodes is not None)
    said += [f"over_request={over_request!r}"] * (over_request != "raise")
    said += [f"statuses={statuses}"] * (statuses != WHOLE_JOBS) + [f"sites={sites!r}"] * (sites != "auto")
    return said


# ---- writing --------------------------------------------------------------------------------------------------


def write_swf(workload: Workload, path: str | PathLike[str], *, lossy: bool = False) -> None:
    """Write a log that `read_swf` gives back unchanged, all columns of the archive included.

    Fields say what the workload says: a requested time that reading raised is written as raised, and capped or kept
    overruns come back as they are with over_request="keep".

    The format has no place for compute fractions, task bandwidths and allowed sites: a workload that has them is an
    error unless `lossy`.
    """
    unsaid = [
        (bool((workload.compute_fraction != 1).any()), "compute_fraction"),
        (bool(workload.task_bandwidth.any()), "task_bandwidth"),
        (workload.allowed is not None, "allowed"),
    ]
    lost = [field for present, field in unsaid if present]
    if lost and not lossy:
        raise OutputError(
            f"Cannot write {path}: the Standard Workload Format has no place for {' and '.join(lost)}; "
            "write a .csv file, which keeps them, or pass lossy=True to write_swf."
        )
    numbers = _site_numbers(workload)
    columns = _columns(workload, numbers)
    with atomic_text(path) as out:
        for line in _header_lines(workload, numbers):
            out.write(f"; {line}".rstrip() + "\n")
        for first in range(0, len(workload), 8192):
            texts = [number_texts(column[first : first + 8192]) for column in columns]
            out.writelines(" ".join(row) + "\n" for row in zip(*texts, strict=True))


def _columns(workload: Workload, numbers: list[int]) -> list[NDArray[np.float64] | NDArray[np.int64]]:
    """Return the eighteen fields; what the archive said stands wherever it still says what the workload says."""
    w = workload
    log = w.log
    if log is None:
        said: dict[str, NDArray[np.float64] | NDArray[np.int64]] = dict(LogColumns(len(w), {"status": 1.0}).items())
        said |= {"allocated": w.tasks, "requested": w.tasks, "requested_time": w.estimate}
    else:
        said = dict(log.items())
        stands = np.trunc(np.where(log.allocated > 0, log.allocated, log.requested)) == w.tasks
        said["allocated"] = np.where(stands, log.allocated, w.tasks)
        said["requested"] = np.where(stands, log.requested, w.tasks)
        unsaid = (log.requested_time <= 0) | (log.requested_time >= UNLIMITED)
        stands = np.where(unsaid, w.runtime, log.requested_time) == w.estimate
        said["requested_time"] = np.where(stands, log.requested_time, w.estimate)
    if w.sites:
        said["partition"] = np.array([*numbers, -1])[w.origin]
    by_field = dict(zip(_LOG_FIELDS, (said[name] for name in LOG_COLUMNS), strict=True))
    by_field |= {1: w.id, 2: w.submit, 4: w.runtime, 12: w.user}
    return [by_field[field] for field in range(1, len(FIELDS) + 1)]


def number_texts(values: NDArray[np.float64] | NDArray[np.int64]) -> list[str]:
    """Return numbers as text, decimals only where needed, and then as few as tell the number."""
    whole = values.astype(np.int64)
    if (whole == values).all():
        return list(map(str, whole.tolist()))
    return [str(int(value)) if value.is_integer() else repr(value) for value in values.tolist()]


def _site_numbers(workload: Workload) -> list[int]:
    """Return the partition number of each site: what its name or the log says, else its place from 1."""
    sites, log = workload.sites, workload.log
    if all(re.fullmatch(r"0|[1-9]\d*", site) for site in sites):
        return [int(site) for site in sites]
    places = list(range(1, len(sites) + 1))
    if log is None:
        return places
    logged = [np.unique(log.partition[workload.origin == k]) for k in range(len(sites))]
    numbers = [int(found[0]) if len(found) == 1 else -1 for found in logged]
    fit = min(numbers) >= 0 and len(set(numbers)) == len(numbers) and numbers == sorted(numbers)
    return numbers if fit else places


def _header_lines(workload: Workload, numbers: list[int]) -> Iterator[str]:
    w = workload
    header_nodes = header_number(w.header, "MaxProcs") or header_number(w.header, "MaxNodes")
    renewed = set(_RENEWED)
    if header_nodes != w.nodes:
        renewed |= {"MaxNodes", "MaxProcs"}
    if w.sites:
        renewed |= {"MaxPartitions", "Partition"}
    yield "Version: 2.2"
    if not any(label == "Computer" for label, _ in w.header):
        yield f"Computer: {w.name}"
    for label, text in w.header:
        if label not in renewed and (label, text) != SITES_NOTE:
            first, *others = text.split("\n")
            yield f"{label}: {first}" if label else first
            yield from (f"      {other}" for other in others)
    yield f"MaxJobs: {len(w)}"
    yield f"MaxRecords: {len(w)}"
    if header_nodes != w.nodes and w.nodes:
        yield f"MaxNodes: {w.nodes}"
        yield f"MaxProcs: {w.nodes}"
    if w.sites:
        yield f"MaxPartitions: {len(w.sites)}"
        unnamed = list(map(str, numbers)) == list(w.sites)
        for number, site in zip(numbers, w.sites, strict=True):
            yield f"Partition: {number}" + ("" if unnamed else f" {site}")
        yield ": ".join(SITES_NOTE)
    yield from (f"Note: fedsched: {line}" for line in w.history)
