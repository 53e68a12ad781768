"""Reading and writing of logs in the Standard Workload Format 2.2, as cleaned workloads."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import OutputError
from fedsched.io.atomic import atomic_text
from fedsched.io.examples import workload_path
from fedsched.io.swf import WHOLE_JOBS
from fedsched.io.swf.cleaning import (
    LOG_FIELDS,
    QUEUES_NOTE,
    SITES_NOTE,
    UNLIMITED,
    Cancelled,
    Clean,
    Cleaning,
    OverRequest,
    Queues,
    Sites,
    partition_names,
    workload_of_log,
)
from fedsched.io.swf.swf_fields import columns_of as further_columns
from fedsched.io.swf.swf_fields import further_of, labels_in_words, labels_read_again, with_further_fields
from fedsched.io.swf.swf_table import FIELDS, OnError, header_number, read_table
from fedsched.io.tables.frame import named
from fedsched.model.jobs.labels import Labels, distinct
from fedsched.model.jobs.log import UNKNOWN, LogColumns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.io.swf.swf_table import RawLog
    from fedsched.model.jobs.workload import Workload

_RENEWED = ("Version", "MaxJobs", "MaxRecords")
_NAMED = re.compile(r"fedsched: (user|account) (\d{1,15}) is (.+)")
_PLACES = {"user": 11, "account": 12}  # index in a row of the label's number
_NONE = -1.0


class Queued(NamedTuple):
    """The names of queues by number, and each job's queue number (-1: none), for a log that is written."""

    names: dict[int, str]
    of_jobs: NDArray[np.float64]


def queues_of(workload: Workload) -> Queued | None:
    """Return the partitions that jobs request as queues of a log.

    Return None if no job requests one, or if a header cannot contain the names.

    The log's queue numbers are kept if its header gives them the names of the jobs' partitions.
    """
    asked = workload.label("partition")
    names, which = distinct(asked)
    if names in ([], [""]) or any(name != name.strip() or set("|\r\n") & set(name) for name in names):
        return None
    known = partition_names(workload.header, "Queue")
    if workload.log is not None:
        numbers = np.unique(workload.log.queue).tolist()
        told = {number: (known.get(number) or f"{number:g}") if number >= 0 else "" for number in numbers}
        if [told[number] for number in workload.log.queue.tolist()] == asked.tolist():
            return Queued({int(number): name for number, name in told.items() if name}, workload.log.queue)
    number = {name: k for k, name in enumerate(filter(None, names), start=1)}
    places = np.array([number.get(name, _NONE) for name in names])
    return Queued({k: name for name, k in number.items()}, places[which])


def with_names(raw: RawLog) -> RawLog:
    """Return a log in which notes in the header that name users and accounts are removed and become labels of jobs."""
    known: dict[str, dict[float, str]] = {}
    for label, text in raw.header:
        if label == "Note" and (match := _NAMED.fullmatch(text)):
            known.setdefault(match[1], {})[float(match[2])] = match[3]
    labels = {
        name: np.array([names.get(number, "") for number in raw.table[_PLACES[name]].tolist()], dtype=object)
        for name, names in known.items()
        if Labels.PREFIX + name not in raw.columns  # a further field has the name
    }
    header = tuple(line for line in raw.header if not is_name(*line))
    return replace(raw, header=header, columns=raw.columns | named(Labels, labels)) if known else raw


def is_name(label: str, text: str) -> bool:
    """Return whether a header's line, a label and its text, is a note of fedsched that names a user or an account."""
    return label == "Note" and _NAMED.fullmatch(text) is not None


def names_in(workload: Workload) -> dict[str, dict[int, str]]:
    """Return, for the labels "user" and "account", the name by number in the log.

    A label is left out if numbers and names do not correspond one to one, or a name has several lines.
    """
    groups = None if workload.log is None else workload.log.group
    found: dict[str, dict[int, str]] = {}
    for label, numbers in {"user": workload.user, "account": groups}.items():
        texts = workload.label(label)
        if numbers is None or not (texts != "").any():
            continue
        pairs = set(zip(numbers.tolist(), texts.tolist(), strict=True))
        names = {int(number): text for number, text in pairs if text}
        told = all(number >= 0 and number == int(number) for number, text in pairs if text)
        once = len({number for number, _ in pairs}) == len(pairs)
        if told and once and not any("\n" in name for name in names.values()):
            found[label] = dict(sorted(names.items()))
    return found


def read_swf(
    path: str | PathLike[str],
    *,
    clean: Clean = "standard",
    nodes: int | None = None,
    over_request: OverRequest = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Sites = "auto",
    queues: Queues = "auto",
    cancelled: Cancelled = "drop",
    rebase: bool = False,
    renumber: bool = False,
    on_error: OnError = "raise",
    name: str | None = None,
    descriptor: str | None = None,
) -> Workload:
    """Return the jobs of a log; the workload's `cleaning` counts what was left out or altered.

    Parameters
    ----------
    path
        A plain, gzip, xz or bzip2 file, or the name of a shipped log.
    clean
        "standard" sorts by (submit, id) and drops rows that are no job: submit below 0, no run time, no processors,
        more processors than the machine, a status not among `statuses`; of rows with equal ids all but the first get
        new ids. "none" keeps every row in the file's order, and fails if a row is no job; `read_table` returns the
        plain numbers of any log.
    nodes
        The machine's size; default: the header's (MaxProcs, else MaxNodes).
    over_request
        For a job that ran longer than its requested time: "raise" the request, "cap" the run, or "keep" both.
        With clean="none" both are kept.
    statuses
        The statuses of jobs to keep; None = all.
    sites
        "partition" makes the log's partitions the jobs' sites, None does not; "auto" does so if at least two of them
        have one job in a thousand, or if fedsched wrote the log of a federation. A site has its partition's name in
        the header, or the partition's number.
    queues
        "partition" makes the log's queues the partitions that jobs request (their label "partition"), by their names
        in the header, or by their numbers; None does not; "auto" does so if fedsched wrote the log in this way.
    cancelled
        Jobs that were cancelled in the queue (status 5, a wait and no run): "drop" them as rows without a run time, or
        "keep" them: they leave the queue after the same wait unless they start before (`cancel_at`), and if they
        start, they run for their requested time. Those without a requested time are dropped.
    rebase, renumber
        Shift submits so that the earliest is 0; number the jobs 1..n.
    on_error
        "raise" a `TraceError` at a malformed line, or "skip" and count it.
    name
        The workload's name; default: the file's.
    descriptor
        The names of the fields after the eighteenth, which become labels: "host,queue", with nothing between commas
        for a field without a name; or "metacentrum" if they are the node of every processor, the queue and the
        request. Default: the names that fedsched wrote in the header, else "field 19" and so on.

    Examples
    --------
    >>> from fedsched.io import read_swf
    >>> read_swf("sample").cleaning.kept
    1000
    """
    options = Cleaning(
        clean=clean,
        nodes=nodes,
        over_request=over_request,
        statuses=statuses,
        sites=sites,
        queues=queues,
        cancelled=cancelled,
        rebase=rebase,
        renumber=renumber,
        name=name,
    )
    path = workload_path(path)
    return workload_of_log(read_log(path, on_error=on_error, descriptor=descriptor), path, options)


def read_log(path: str | PathLike[str], *, on_error: OnError = "raise", descriptor: str | None = None) -> RawLog:
    """Return all job lines of a log, unaltered, and its header; fields after the eighteenth become labels."""
    return with_names(with_further_fields(read_table(path, on_error=on_error), path, descriptor))


# ---- writing --------------------------------------------------------------------------------------------------


def write_swf(workload: Workload, path: str | PathLike[str], *, lossy: bool = False) -> None:
    """Write a log that `read_swf` reads back unchanged, including all columns of the archive's logs.

    Fields have the workload's values: a requested time that reading has raised is written as raised, and capped or kept
    overruns are read back unchanged with over_request="keep". The partitions that jobs request are written as queues.

    The format has no field for compute fractions, task bandwidths, allowed sites, joules, demands beyond the plain
    model, such as pools, and labels that were no further fields of a log: a workload with these is an error unless
    `lossy`. Names of users and accounts with numbers in the log are written as notes in the header. Demands that the
    model does not use (`log.demands`) are left out.

    Parameters
    ----------
    workload, path
        The jobs, and the file to write.
    lossy
        Write jobs with data for which the format has no field, without these data.

    Examples
    --------
    >>> from fedsched.io import read_swf, write_swf
    >>> write_swf(fs.read("sample").head(50), "first.swf")
    >>> read_swf("first.swf") == fs.read("sample").head(50)
    True
    """
    _, lost = without_what_logs_lack(workload)
    if lost and not lossy:
        raise OutputError(
            f"Cannot write {path}: the Standard Workload Format has no place for {' and '.join(lost)}; "
            "write a .csv file, which keeps them, or pass lossy=True to write_swf."
        )
    numbers = _site_numbers(workload)
    queues = queues_of(workload)
    columns, further = _columns(workload, numbers, queues), further_columns(workload)
    with atomic_text(path) as out:
        for line in _header_lines(workload, numbers, queues):
            out.write("; " + " ".join(re.split(r"[\r\n]+", line)).rstrip() + "\n")  # a name may hold a line's end
        for first in range(0, len(workload), 8192):
            texts = [number_texts(column[first : first + 8192]) for column in columns]
            texts += [column[first : first + 8192].tolist() for column in further]
            out.writelines(" ".join(row) + "\n" for row in zip(*texts, strict=True))


def without_what_logs_lack(workload: Workload) -> tuple[Workload, list[str]]:
    """Return the workload without data that have no field in the Standard Workload Format, and these data's names."""
    w, plain = workload, dict[str, Any]()
    if (w.compute_fraction != 1).any():
        plain["compute_fraction"] = 1.0
    if w.task_bandwidth.any():
        plain["task_bandwidth"] = 0.0
    if w.allowed is not None:
        plain["allowed"] = None
    plain |= dict.fromkeys(field for field in w.extras if field != "feedback")
    away: list[str] = []
    if w.labels is not None:
        partition = ["partition"] * (queues_of(w) is not None)
        placed = {*further_of(w).values(), *labels_read_again(w), *partition, *names_in(w)}
        plain["labels"] = {name: texts for name, texts in w.labels.texts.items() if name in placed}
        away = [name for name in w.labels.texts if name not in placed]
        if not away:
            del plain["labels"]
    lost = [labels_in_words(away) if name == "labels" else name for name in plain]
    if w.log is not None and (w.log.energy != UNKNOWN).any():
        plain["log"] = {name: values for name, values in w.log.items() if name != "energy"}
        lost.append("log.energy")
    return replace(w, **plain) if plain else w, lost


def _columns(
    workload: Workload, numbers: list[int], queues: Queued | None
) -> list[NDArray[np.float64] | NDArray[np.int64]]:
    """Return the eighteen fields of the workload's jobs as columns to write.

    `numbers` are the partition numbers of its sites. The log's own values are kept if they agree with the workload.
    """
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
    if w.feedback is not None:
        said |= w.feedback.columns()
    if w.sites:
        said["partition"] = np.array([*numbers, -1])[w.origin]
    if queues is not None:
        said["queue"] = queues.of_jobs
    by_field = {field: said[name] for name, field in LOG_FIELDS.items()}
    by_field |= {1: w.id, 2: w.submit, 4: w.runtime, 12: w.user}
    return [by_field[field] for field in range(1, len(FIELDS) + 1)]


def number_texts(values: NDArray[np.float64] | NDArray[np.int64]) -> list[str]:
    """Return numbers as texts: whole numbers without a point, others with as few decimals as determine the float."""
    whole = values.astype(np.int64)
    if (whole == values).all():
        return list(map(str, whole.tolist()))
    return [str(int(value)) if value.is_integer() else repr(value) for value in values.tolist()]


def _site_numbers(workload: Workload) -> list[int]:
    """Return the partition number of each site: from its name, from the log, or, without a job, from the header.

    If these give no distinct, rising numbers, the sites are numbered from 1.
    """
    sites, log = workload.sites, workload.log
    if all(re.fullmatch(r"0|[1-9]\d*", site) for site in sites):
        return [int(site) for site in sites]
    places = list(range(1, len(sites) + 1))
    if log is None:
        return places
    announced = {name: number for number, name in partition_names(workload.header).items()}
    logged = [np.unique(log.partition[workload.origin == k]) for k in range(len(sites))]
    said = [found if len(found) else [announced.get(site, -1)] for site, found in zip(sites, logged, strict=True)]
    numbers = [int(found[0]) if len(found) == 1 else -1 for found in said]
    fit = min(numbers) >= 0 and len(set(numbers)) == len(numbers) and numbers == sorted(numbers)
    return numbers if fit else places


def _header_lines(workload: Workload, numbers: list[int], queues: Queued | None) -> Iterator[str]:
    w = workload
    header_nodes = header_number(w.header, "MaxProcs") or header_number(w.header, "MaxNodes")
    renewed = set(_RENEWED)
    if header_nodes != w.nodes:
        renewed |= {"MaxNodes", "MaxProcs"}
    if w.sites:
        renewed |= {"MaxPartitions", "Partition"}
    if queues is not None:
        renewed |= {"MaxQueues", "Queue"}
    yield "Version: 2.2"
    if not any(label == "Computer" for label, _ in w.header):
        yield f"Computer: {w.name}"
    for label, text in w.header:
        if label not in renewed and (label, text) not in (SITES_NOTE, QUEUES_NOTE) and not is_name(label, text):
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
    if queues is not None:
        yield f"MaxQueues: {len(queues.names)}"
        yield from (f"Queue: {number} {name}" for number, name in queues.names.items())
        yield ": ".join(QUEUES_NOTE)
    for called, names in names_in(w).items():
        yield from (f"Note: fedsched: {called} {number} is {name}" for number, name in names.items())
    yield from (f"Note: fedsched: {line}" for line in w.history)
