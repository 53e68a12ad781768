"""What a log in the Standard Workload Format has and the model does not use, and the report of how it was cleaned.

Unused columns of the format are kept as numbers. Fields after the format's eighteenth are kept as labels, which the
log's header names; a field without a name is called by its number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from enum import IntFlag
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted
from fedsched.model.jobs.columns import JobColumns

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload

    Header = tuple[tuple[str, str], ...]

UNKNOWN = -1.0
DONE, FAILED, CANCELLED = 1.0, 0.0, 5.0  # in the status column
FROM_SLURM = ("Note", "from Slurm's sacct")  # in the header of such a log: its queues are Slurm's partitions
UNREAD = "Unread"  # in a log's header, before the names of values in job fields that no reader understands
OPTIONS = "options"  # label: the names of options of Slurm that a job asks for and the model lacks
SEPARATOR = ", "  # between such names
IN_CPUS = ("Note", "tasks are CPUs")  # in the header of a log with CPUs as job sizes, although a node has several


class Demand(IntFlag):
    """Flags that say what a job asks for beyond nodes and time; `LogColumns.demands` stores their sum."""

    GPU = 1
    OTHER = 2
    MEMORY = 4
    ARRAY = 8
    HETEROGENEOUS = 16
    QOS = 32
    RESERVATION = 64
    FEATURES = 128
    SUSPENDED = 256
    DEPENDENCY = 512
    UNREAD = 1024
    EITHER_OR = 2048
    BURST_BUFFER = 4096
    EXPANSION = 8192
    SINGLETON = 16384
    UNLISTED = 32768
    BEGIN = 65536
    PARTITIONS = 131072
    PER_NODE = 262144
    ALONE = 524288
    KINDS = 1048576


@dataclass(frozen=True, slots=True, eq=False, init=False)
class LogColumns(JobColumns):
    """The columns of a log that the model does not use; -1 = unknown.

    They are those of the Standard Workload Format and two more: the measured joules, and what else a job asks for
    (`Demand`). All are float64 (whole numbers below 2^53 are exact). A column with the same value for every job takes
    no memory.

    Parameters
    ----------
    jobs
        The number of jobs.
    columns
        Arrays of one number a job, by the name of the column; columns that are left out are unknown.

    Examples
    --------
    >>> fs.read("sample").log.wait[:4]
    array([-1., -1., -1., -1.])
    """

    PREFIX = "log."
    CELL = float
    NOTHING = UNKNOWN

    wait: NDArray[np.float64]
    allocated: NDArray[np.float64]
    cpu: NDArray[np.float64]
    used_memory: NDArray[np.float64]
    requested: NDArray[np.float64]
    requested_time: NDArray[np.float64]
    requested_memory: NDArray[np.float64]
    status: NDArray[np.float64]
    group: NDArray[np.float64]
    executable: NDArray[np.float64]
    queue: NDArray[np.float64]
    partition: NDArray[np.float64]
    preceding: NDArray[np.float64]
    think_time: NDArray[np.float64]
    energy: NDArray[np.float64]
    demands: NDArray[np.float64]

    def __init__(self, jobs: int, columns: Mapping[str, ArrayLike] | None = None) -> None:
        given = dict(columns or {})
        for name in LOG_COLUMNS:
            values = np.asarray(given.pop(name, UNKNOWN), dtype=np.float64)
            if values.ndim and values.shape != (jobs,):
                raise ValueError(f"LogColumns: {name} has shape {values.shape}, but there are {jobs} jobs.")
            object.__setattr__(self, name, _compact(values, jobs))
        if given:
            raise ValueError(f"LogColumns: unknown column {min(given)!r}. Known: {', '.join(LOG_COLUMNS)}.")

    def __len__(self) -> int:
        return len(self.wait)

    def __reduce__(self) -> tuple[type[LogColumns], tuple[int, dict[str, NDArray[np.float64]]]]:
        return LogColumns, (len(self), dict(self.items()))

    def items(self) -> Iterator[tuple[str, NDArray[np.float64]]]:
        """Return the columns' names and values, in the order of the format."""
        return ((name, getattr(self, name)) for name in LOG_COLUMNS)

    @classmethod
    def of(cls, given: LogColumns | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> LogColumns:
        """Return the columns of these jobs, from columns by name; columns that are left out are unknown."""
        return given if isinstance(given, LogColumns) else LogColumns(len(ids), given)

    def without_waits(self) -> LogColumns:
        """Return the columns with all recorded waits unknown, as waits are invalid if submit times change."""
        return LogColumns(len(self), {**self.columns(), "wait": UNKNOWN})

    def columns(self) -> dict[str, NDArray[np.float64]]:
        """Return all columns by name, unknown ones included."""
        return dict(self.items())

    def data(self) -> dict[str, Any]:
        """Return the columns with known values as lists by name; one number if all jobs have the same value."""
        said = {name: values for name, values in self.items() if len(values) and (values != UNKNOWN).any()}
        return {
            name: float(values[0]) if (values == values[0]).all() else values.tolist() for name, values in said.items()
        }


LOG_COLUMNS: tuple[str, ...] = tuple(column.name for column in fields(LogColumns))
LogColumns.NAMES = LOG_COLUMNS


def _compact(values: NDArray[np.float64], jobs: int) -> NDArray[np.float64]:
    """Return one value per job as a read-only array, which stores a single value if all are equal."""
    if values.ndim == 0 or jobs == 0:
        return np.broadcast_to(values if values.ndim == 0 else np.float64(UNKNOWN), (jobs,))
    if (values == values[0]).all():
        return np.broadcast_to(np.float64(values[0]), (jobs,))
    kept = np.array(values, dtype=np.float64)
    kept.flags.writeable = False
    return kept


@dataclass(frozen=True, slots=True, kw_only=True)
class CleaningReport:
    """What reading a log dropped or altered: one count of rows per reason.

    A dropped row is counted under its first reason only.

    Examples
    --------
    >>> report = fs.read("sample").cleaning
    >>> report.records, report.kept
    (1000, 1000)
    >>> print(report)
    1,000 of 1,000 records kept
    """

    records: int
    kept: int
    announced: int = 0
    malformed: int = 0
    truncated_file: bool = False
    partial_status: int = 0
    negative_submit: int = 0
    no_runtime: int = 0
    no_processors: int = 0
    too_wide: int = 0
    out_of_order: int = 0
    missing_request: int = 0
    unlimited_request: int = 0
    over_request: int = 0
    over_request_action: str = "raise"
    rounded: int = 0
    cancelled: int = 0
    dependencies: int = 0
    steps: int = 0
    unfinished: int = 0
    unmapped: int = 0
    held: int = 0
    renumbered: int = 0
    repeated: int = 0
    headers: int = 0
    unread_numbers: int = 0

    @property
    def dropped(self) -> int:
        """Return how many rows were dropped, malformed lines not counted."""
        of_jobs = self.partial_status + self.negative_submit + self.no_runtime + self.no_processors + self.too_wide
        return of_jobs + self.steps + self.unfinished + self.unmapped + self.repeated

    @property
    def altered(self) -> bool:
        """Return whether anything was dropped or altered, or the file was cut short."""
        as_it_is = CleaningReport(
            records=self.kept,
            kept=self.kept,
            announced=self.announced,
            over_request_action=self.over_request_action,
            dependencies=self.dependencies,  # those are not modelled: see `unmodelled`
        )
        return self != as_it_is

    def __str__(self) -> str:
        acts = {"raise": "request raised to the run", "cap": "run cut to the request", "keep": "kept"}
        said = [
            (self.malformed, "malformed lines skipped"),
            (self.truncated_file, "file cut short: the end is missing"),
            (self.headers, "repeated lines of column names skipped"),
            (self.unread_numbers, "lines of the header (MaxProcs, MaxNodes, MaxRecords) without a number to read"),
            (self.repeated, "dropped: rows that repeat another, sign by sign"),
            (self.steps, "dropped: steps of jobs"),
            (self.unfinished, "dropped: not at an end when the log was taken"),
            (self.unmapped, "dropped: profiles that say no run time"),
            (self.partial_status, "dropped: status left out"),
            (self.negative_submit, "dropped: submit below 0"),
            (self.no_runtime, "dropped: no run time"),
            (self.no_processors, "dropped: no processors"),
            (self.too_wide, "dropped: wider than the machine"),
            (self.out_of_order, "out of order: sorted by submit"),
            (self.missing_request, "without a requested time: the run time taken"),
            (self.unlimited_request, "with an unlimited request: the run time taken"),
            (self.over_request, f"ran past the request: {acts[self.over_request_action]}"),
            (self.rounded, "decimals cut from whole-number fields"),
            (self.cancelled, "cancelled in the queue: kept (cancel_at), the request taken as run time"),
            (self.held, "held before they might start: taken as submitted"),
            (self.renumbered, "without a number of their own: numbered anew"),
        ]
        lines = [f"{self.kept:,} of {counted(self.records, 'record')} kept"]
        if self.announced and self.announced != self.records:
            lines.append(f"the header announces {counted(self.announced, 'record')}")
        lines += [text if count is True else f"{count:,} {text}" for count, text in said if count]
        return "; ".join(lines)


FIRST_FURTHER_FIELD = 19
METACENTRUM = "metacentrum"
NODES, REQUEST = "nodes", "request"  # the names of two of MetaCentrum's three fields
AS_METACENTRUM = ("Note", "fedsched: the further fields are as MetaCentrum writes them")
_NAMED = re.compile(r"fedsched: field (\d{1,4}) is (.+)")
_BY_PLACE = re.compile(r"field (19|[2-9]\d|[1-9]\d{2,3})")


def further_field_names(header: Header) -> dict[int, str]:
    """Return the names that a log's header gives to fields after the eighteenth, by field number."""
    found = (_NAMED.fullmatch(text) for label, text in header if label == "Note")
    return {int(match[1]): match[2] for match in found if match}


def name_further_fields(header: Header, names: Iterable[str]) -> Header:
    """Return the header with these names for the fields from the 19th on ('' = no name); earlier names are dropped."""
    others = [(label, text) for label, text in header if not (label == "Note" and _NAMED.fullmatch(text))]
    notes = [("Note", f"fedsched: field {k} is {name}") for k, name in enumerate(names, FIRST_FURTHER_FIELD) if name]
    return (*others, *notes)


def unnamed_field(number: int) -> str:
    """Return the label of a field after the eighteenth that has no name: "field 19"."""
    return f"field {number}"


def further_labels(workload: Workload) -> dict[int, str]:
    """Return, by field number, the names of the jobs' labels that are fields after the eighteenth of their log."""
    labels = {} if workload.labels is None else workload.labels.texts
    found = {number: name for number, name in further_field_names(workload.header).items() if name in labels}
    for name in labels:
        if (match := _BY_PLACE.fullmatch(name)) and name not in found.values():
            found.setdefault(int(match[1]), name)
    return dict(sorted(found.items()))


def further_fields_in_words(workload: Workload) -> list[str]:
    """Return one text that names the fields after the eighteenth that have no effect in the model; [] if none."""
    read = {NODES, REQUEST} if AS_METACENTRUM in workload.header else {"partition", "account", "features"}
    names = [name for name in further_labels(workload).values() if name not in read]
    return [f"further fields kept as labels: {', '.join(names)}"] if names else []
