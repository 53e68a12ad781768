"""Readers of Slurm's `sacct` output as workloads: a line of column names in any order, then one line per job.

The clusters of a dump, which it does not describe, are estimated from the jobs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedsched.core.errors import FederationError, TraceError, unknown_name
from fedsched.io.files import SKIP, read_text
from fedsched.io.slurm_files.sacct_demands import (
    DEMANDS,
    column_of_part,
    demands_of,
    known_demands,
    licences_of,
    memory_of_cpus,
    nodes_of_trace,
    requested_nodes,
    resources_of,
)
from fedsched.io.slurm_files.sacct_lines import BAR, COMMAND, barred, is_dump, with_bars_in_texts
from fedsched.io.slurm_files.sacct_texts import ALONE, COLUMNS, RECORDED, REQUEST_FIELDS, TOLD, Texts
from fedsched.io.slurm_files.sacct_values import (
    STATES,
    UNKNOWN,
    UNLIMITED,
    WORDS,
    duration_of,
    known_or_none,
    minutes_of,
    nodes_differ,
    number_of,
    own_ids,
    state_of,
    times_of,
    values_of,
)
from fedsched.io.slurm_files.sacct_waits import arrays_of, waits_of
from fedsched.io.swf import WHOLE_JOBS
from fedsched.io.swf.cleaning import (
    SITES_NOTE,
    Cancelled,
    Clean,
    Cleaning,
    OverRequest,
    Sites,
    distinct_ids,
    workload_of_log,
)
from fedsched.io.swf.swf_table import FIELDS, OnError, RawLog
from fedsched.io.tables.frame import field_of, named
from fedsched.model.jobs.demands import NodeDemands, PoolNeeds
from fedsched.model.jobs.layout import EXCLUSIVE, PER_NODE, NodeLayout
from fedsched.model.jobs.log import CANCELLED, FROM_SLURM, IN_CPUS, CleaningReport, Demand
from fedsched.model.jobs.requests import AT_ONCE
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
from fedsched.model.power.watts import OF_THE_GROUP

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.io.slurm_files.sacct_waits import Waits
    from fedsched.model.jobs.workload import Workload

    Floats = NDArray[np.float64]
    Column = NDArray[np.float64]

Unit = Literal["cpus", "nodes"]
_CHUNK = 20_000


def watts_of(read: Mapping[str, Floats], table: Floats) -> dict[str, Floats]:
    """Return the column "watts": the mean power of a task of each job, from its energy, run time and tasks.

    `table` has the fields of the Standard Workload Format. Jobs without known energy get the value that stands for the
    watts of their node group. Return {} if no job's energy was measured.
    """
    joules = read.get("energy", np.zeros(0))
    if not joules.size:
        return {}
    seconds, tasks = table[3], table[4]
    known = (joules > 0.0) & (seconds > 0.0) & (tasks > 0.0)  # 0 J: the site has no energy plugin
    if not known.any():
        return {}
    taken = np.where(known, seconds * tasks, 1.0)
    return {"watts": np.where(known, joules / taken, OF_THE_GROUP)}


def read_sacct(
    path: str | PathLike[str],
    *,
    clean: Clean = "standard",
    nodes: int | None = None,
    over_request: OverRequest = "raise",
    statuses: Collection[int] | None = WHOLE_JOBS,
    sites: Sites = "auto",
    cancelled: Cancelled = "drop",
    rebase: bool = False,
    renumber: bool = False,
    on_error: OnError = "raise",
    name: str | None = None,
    unit: Unit = "cpus",
) -> Workload:
    r"""Return the jobs of an `sacct` dump; its `cleaning` says what was left out or altered.

    Times are read as written: local times (a change of the clock shifts submits by an hour, but not run times, which
    come from `ElapsedRaw`) or seconds since 1970 (`SLURM_TIME_FORMAT=%s`). Submits count from the first in the dump.

    Parameters
    ----------
    path
        A file of `sacct --parsable2` (or `--parsable`), with its line of column names. Needed are `Submit`, one of
        `ElapsedRaw`, `Elapsed`, `Start` with `End`, and one of `AllocCPUS`, `NCPUS`, `ReqCPUS`, `NNodes`; used are also
        `JobIDRaw`, `JobID`, `Cluster`, `Partition`, `User`, `UID`, `Account`, `GID`, `Eligible`, `TimelimitRaw`,
        `Timelimit`, `State`, `AllocNodes`, `ConsumedEnergyRaw`. `ReqNodes` or `ReqTRES` give the requested number of
        nodes (in the layout). Licences, from `Licenses`, `AllocTRES` or `ReqTRES`, are needs of pools. `Partition`,
        `User`, `Account`, `QOS`, `JobName`, `Constraints` ("features"), `Reservation`, `Reason`, `Restarts`,
        `Priority`, `NodeList` ("nodes") and the scheduler that started a job, in `Flags` ("started_by"), become
        labels. `SubmitLine`, or `Dependency`, gives dependencies and earliest begins, and `SubmitLine` with `JobID`
        how many tasks of an array may run together (label "array"). Energy over elapsed time and tasks is the power of
        a task (`watts`). What else `ReqTRES`, `AllocTRES`, `ReqGRES`, `AllocGRES`, `ReqMem`, `QOS`, `Reservation` and
        `Suspended` request is counted, not modelled. Other columns may be there.
    clean, nodes, over_request, statuses, cancelled, rebase, renumber, on_error, name
        As in `fedsched.io.read_swf`. Timeouts, lost nodes and lack of memory are failures (status 0); preempted
        and requeued runs are cancelled (status 5).
    sites
        "auto": if there are several clusters, they are the jobs' sites; "partition": Slurm's partitions are the sites,
        named with their cluster if there are several clusters ("north/batch"); None: no sites. The label "partition"
        does not change.
    unit
        Whether a job's tasks are its "cpus" or its "nodes"; the latter for a machine that allocates nodes whole.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import read_sacct
    >>> row = "7|2026-01-05T08:00:00|600|4|COMPLETED"
    >>> written = Path("jobs.sacct").write_text(f"JobID|Submit|ElapsedRaw|AllocCPUS|State\n{row}\n")
    >>> read_sacct("jobs.sacct").runtime
    array([600.])
    """
    how = Cleaning(
        clean=clean,
        nodes=nodes,
        over_request=over_request,
        statuses=statuses,
        sites=sites,
        cancelled=cancelled,
        rebase=rebase,
        renumber=renumber,
        name=name,
    )
    return workload_of_log(read_log(path, on_error=on_error, unit=unit), path, how)


def read_log(path: str | PathLike[str], *, on_error: OnError = "raise", unit: Unit = "cpus") -> RawLog:
    """Return the finished jobs of a dump as a log with the fields of the Standard Workload Format, not cleaned.

    A job's tasks are its `unit`, "cpus" or "nodes". A malformed line raises a TraceError, or is counted with "skip".
    """
    if unit not in ("cpus", "nodes"):
        raise ValueError(f'unit={unit!r} must be "cpus" or "nodes".')
    if on_error not in ("raise", "skip"):
        raise ValueError(f'on_error={on_error!r} must be "raise" or "skip".')
    return parse_dump(path, unit=unit, skip=on_error == "skip").log()


def parse_dump(
    path: str | PathLike[str], *, unit: Unit = "cpus", skip: bool = False, texts: Texts | None = None
) -> Parser:
    """Return a parser that has read all lines of a dump.

    With `skip` malformed lines are counted; else the first one raises a TraceError. `texts` says which text columns are
    kept besides those that become labels.
    """
    lines = barred(read_text(path), str(path))
    first = next((k for k, line in enumerate(lines) if line.strip()), None)
    if first is None:
        raise TraceError(f"{path}: it is empty; an sacct dump has a line of column names and one line a job.")
    parser = Parser(str(path), lines[first], first + 1, unit, skip=skip, texts=texts or Texts())
    for begin in range(first + 1, len(lines), _CHUNK):
        parser.feed(lines[begin : begin + _CHUNK], begin + 1)
    return parser


@dataclass(frozen=True, slots=True)
class _Field:
    """Columns from which one quantity can be read, the best first, and the function from their texts to numbers."""

    columns: tuple[str, ...]
    value: Callable[[str], float]


FIELDS_READ = {
    "elapsed": (_Field(("elapsedraw",), number_of), _Field(("elapsed",), duration_of)),
    "limit": (_Field(("timelimitraw",), minutes_of), _Field(("timelimit",), duration_of)),
    "state": (_Field(("state",), state_of),),
    "cpus": (_Field(("alloccpus", "ncpus"), number_of),),
    "requested_cpus": (_Field(("reqcpus",), number_of),),
    "nodes": (_Field(("allocnodes", "nnodes"), number_of),),
    "requested_nodes": (_Field(("reqnodes",), number_of),),
    "asked_nodes": (_Field(("reqnodes",), number_of), _Field(("reqtres",), nodes_of_trace)),
    "energy": (_Field(("consumedenergyraw",), number_of),),
}
TIMES = ("submit", "eligible", "start", "end")
NAMES = {"cluster": ("cluster",), "partition": ("partition",), "user": ("uid", "user"), "group": ("gid", "account")}
KNOWN = {"jobidraw", "jobid", *TIMES, *(name for names in NAMES.values() for name in names)}
MAY_DEMAND = {*DEMANDS, *COLUMNS} - {"account", "user", "jobname", *RECORDED}
KNOWN |= MAY_DEMAND | COLUMNS
KNOWN |= {name for fields in FIELDS_READ.values() for field in fields for name in field.columns}


class Parser:
    """A parser of an sacct dump: it is fed lines, and collects numeric columns and the codes of texts.

    It counts lines that are no jobs: malformed ones, steps, repeated ones and repeated lines of column names.
    """

    def __init__(self, path: str, header: str, line: int, unit: Unit, *, skip: bool, texts: Texts) -> None:
        self.path = path
        self.skip = skip
        self.unit = unit
        self.parts: list[dict[str, Column]] = []
        self.numbers: dict[str, dict[str, float]] = {name: {} for name in NAMES}
        self.texts = texts
        self.local = True
        self.malformed = self.steps = self.headers = self.repeated = 0
        self.seen: set[str] = set()
        self.header = header.strip()
        named = [name.strip().lower() for name in header.split("|")]
        self.trailing = named[-1] == ""  # --parsable ends every line with a bar
        self.named = named[:-1] if self.trailing else named
        self._check(line)

    def _check(self, line: int) -> None:
        here = set(self.named) & KNOWN
        sizes = ("alloccpus", "ncpus", "reqcpus", "allocnodes", "nnodes")
        for way in (("submit",), ("elapsedraw", "elapsed", "end"), sizes):
            if not here & set(way):
                raise TraceError(
                    f"{self.path}, line {line}: no column {' or '.join(way)}; the first line must name the columns, "
                    f"as from: {COMMAND}"
                )
        if not here & {"elapsedraw", "elapsed"} and "start" not in here:
            raise TraceError(f"{self.path}, line {line}: End alone gives no run time; add Start or ElapsedRaw.")
        for name in here:
            if self.named.count(name) > 1:
                raise TraceError(f"{self.path}, line {line}: column {name} occurs twice; leave one.")

    def feed(self, lines: list[str], first: int) -> None:
        """Parse some lines and add their jobs; `first` is the number in the file of the first of them.

        A malformed line raises a TraceError, or is counted if such lines are skipped.
        """
        lines = self._without_headers(lines, first)
        bars = len(self.named) - 1 + self.trailing
        at = [k for k, line in enumerate(lines) if line.count("|") == bars and (bars or line.strip())]
        if len(at) < len(lines):
            lines, at = self._mended(lines, at, bars, first)
        if not at:
            return
        flat = "|".join([lines[k] for k in at]).split("|")
        texts = {name: flat[k :: bars + 1] for k, name in enumerate(self.named) if name in KNOWN | self.texts.kept}
        ids = texts.get("jobidraw") or texts.get("jobid") or [""] * len(at)
        if any("." in job for job in ids):  # 17.batch, 17.extern, 17.0: steps of job 17
            kept = [k for k, job in enumerate(ids) if "." not in job]
            self.steps += len(at) - len(kept)
            texts = {name: [column[k] for k in kept] for name, column in texts.items()}
            ids, at = [ids[k] for k in kept], [at[k] for k in kept]
        if again := self._repeated([lines[k] for k in at], ids):
            kept = [k for k in range(len(at)) if k not in again]
            self.repeated += len(again)
            texts = {name: [column[k] for k in kept] for name, column in texts.items()}
            ids, at = [ids[k] for k in kept], [at[k] for k in kept]
        table = {"id": values_of(ids, number_of)}
        for name, fields in FIELDS_READ.items():
            for way in reversed(fields):
                for column in reversed(way.columns):
                    if column in texts:
                        table[name] = self._checked(column, texts, values_of(texts[column], way.value), at, first)
        for name in TIMES:
            if name in texts:
                table[name] = self._checked(name, texts, times_of(texts[name]), at, first)
        for name, columns in NAMES.items():
            for column in columns[::-1]:
                if column in texts:
                    number = number_of if column in ("uid", "gid") else partial(_numbered, self.numbers[name])
                    table[name] = values_of(texts[column], number)
        table["demands"] = demands_of(texts, len(at))
        table |= self.texts.read(texts, nodes=self.unit == "nodes")
        told = {name: texts[name] for name in ("licenses", "alloctres", "reqtres") if name in texts}
        table |= named(PoolNeeds, licences_of((told | self.texts.licences(table)).values()))
        nodes = table.get("nodes", table.get("requested_nodes"))
        cpus = table.get("cpus", table.get("requested_cpus"))
        if self.unit == "cpus":
            table |= {} if cpus is None else named(NodeDemands, memory_of_cpus(texts, nodes, cpus))
        elif nodes is not None:
            table |= named(NodeDemands, resources_of(texts, nodes, cpus))
        if not texts.keys().isdisjoint(REQUEST_FIELDS):
            table |= arrays_of(texts.get("jobid"), len(at))
        self.local &= not any(text.isdigit() for text in texts["submit"][:1])
        sound = ~np.logical_or.reduce([np.isnan(column) for name, column in table.items() if name != "id"])
        self.malformed += int(np.count_nonzero(~sound))
        self.parts.append({name: column[sound] for name, column in table.items()})

    def _mended(self, lines: list[str], at: list[int], bars: int, first: int) -> tuple[list[str], list[int]]:
        """Return the lines, with bars inside texts replaced, and the sorted indices of the well-formed ones.

        `at` has those of lines with the right number of bars. Other lines are reported or counted as malformed.
        """
        good, mended = set(at), lines.copy()
        for k, line in enumerate(lines):
            if k in good or not line.strip():
                continue
            if (whole := with_bars_in_texts(line, self.named, bars, self._means_something)) is not None:
                mended[k] = whole
                good.add(k)
                continue
            found = line.count("|") + 1 - self.trailing
            self._malformed(first + k, f": {found} fields, but {len(self.named)} columns")
        return mended, sorted(good)

    def _means_something(self, row: Mapping[str, str]) -> bool:
        """Return whether all numbers, times and states of a row can be read."""
        read = [way for ways in FIELDS_READ.values() for way in ways]
        values = [way.value(row[column]) for way in read for column in way.columns if column in row]
        values += [times_of([row[name]])[0] for name in TIMES if name in row]
        return not np.isnan(values).any()

    def _without_headers(self, lines: list[str], first: int) -> list[str]:
        """Return the lines, with "" in place of repeated lines of column names, which joined dumps have.

        Raise a TraceError if such a line differs from the first one.
        """
        marks = [k for k, line in enumerate(lines) if "ubmit" in line.lower() and is_dump(line)]
        if not marks:
            return lines
        kept = lines.copy()
        for k in marks:
            if lines[k].strip() != self.header:  # the next lines would be read under the wrong names
                raise TraceError(
                    f"{self.path}, line {first + k}: its columns differ from those of the first line; join only dumps "
                    "with the same --format."
                )
            kept[k] = ""
        self.headers += len(marks)
        return kept

    def _repeated(self, lines: list[str], ids: list[str]) -> set[int]:
        """Return the indices of lines that equal an earlier line, of this call or one before: a job in joined dumps.

        Lines without an id do not count.
        """
        again = set()
        for k, line in enumerate(lines):
            if not ids[k].strip():
                continue  # without ids, equal lines may be different jobs
            if line in self.seen:
                again.add(k)
            self.seen.add(line)
        return again

    def _checked(
        self, column: str, texts: Mapping[str, list[str]], values: Column, at: list[int], first: int
    ) -> Column:
        """Return the values unchanged; raise a TraceError for the first unreadable text, except with `skip`."""
        wrong = np.isnan(values)
        if wrong.any() and not self.skip:
            k = int(np.argmax(wrong))
            text = texts[column][k][:40]
            cure = "; dump with --noconvert" if re.fullmatch(r"[\d.]+[KMGTP]", text) else ""
            if column == "state":
                cure = f"; {unknown_name('state', text, STATES)}".rstrip(".")
            what = "no time" if column in TIMES else "no state of Slurm" if column == "state" else "no number"
            self._malformed(first + at[k], f", field {column}: {text!r} is {what}{cure}")
        return values

    def _malformed(self, line: int, problem: str) -> None:
        if not self.skip:
            raise TraceError(f"{self.path}, line {line}{problem}. {SKIP} counts such lines and goes on.")
        self.malformed += 1

    def columns(self) -> dict[str, Column]:
        """Return all columns that were read, by name: a number for each job; texts are codes of `self.texts`."""
        names = dict.fromkeys(name for part in self.parts for name in part)
        return {name: np.concatenate([column_of_part(part, name) for part in self.parts]) for name in names}

    def demands(self, read: Mapping[str, Column], waits: Waits) -> NDArray[np.int64]:
        """Return for each job the `Demand` bits of requests that are not modelled; `read` has all columns."""
        partitions = list(self.numbers["partition"])
        bits = read["demands"].astype(np.int64) | self.texts.demands(read, partitions) | waits.lacking
        if TOLD in read:
            bits[read[TOLD] == 1] &= ~int(Demand.ARRAY)  # the command line tells the array's limit
        return bits & ~known_demands(read, NodeDemands.PREFIX)

    def log(self) -> RawLog:
        """Return all finished jobs that were read, as a log with the fields of the Standard Workload Format.

        Submits count from the first of them. Raise a TraceError if there is no finished job.
        """
        read = self.columns()
        rows = len(read["submit"]) if read else 0
        unfinished = np.zeros(rows, dtype=np.bool_)
        for name in ("state", "submit"):
            unfinished |= read.get(name, np.zeros(rows)) == UNKNOWN
        if "elapsed" not in read and read:
            with np.errstate(invalid="ignore"):
                elapsed = read["end"] - read["start"]
            # Cancelled in the queue: an end without a start is no run time, but it is the end.
            read["elapsed"] = np.where(np.isfinite(read["end"]), np.where(np.isfinite(elapsed), elapsed, 0.0), UNKNOWN)
        if read:
            unfinished |= read["elapsed"] == UNKNOWN
        kept = {name: column[~unfinished] for name, column in read.items()}
        if not kept or not len(kept["submit"]):
            said = f"{self.malformed} lines malformed, {self.steps} steps, {int(unfinished.sum())} unfinished"
            raise TraceError(f"{self.path}: it has no finished job ({said}).")
        table = np.full((len(FIELDS), len(kept["submit"])), -1.0)
        origin = float(kept["submit"].min())
        renumbered = self._fill(table, kept, origin)
        beside = [name for name in kept if name == "energy" or field_of(name)]
        extra: dict[str, NDArray[Any]] = {name: known_or_none(kept[name]) for name in beside}
        partitions = list(self.numbers["partition"])
        waits = waits_of(kept, self.texts, ids=table[0], names_known="jobname" in self.named, local=self.local)
        demands = self.demands(kept, waits)
        extra |= self.texts.labels(kept, partitions) | watts_of(kept, table) | requested_nodes(kept, table[4])
        if ALONE in kept and kept[ALONE].any():
            alone = kept[ALONE].astype(np.float64)
            # With unit="nodes" a task is all that a job has on a node, so each has a node of its own.
            extra |= named(NodeLayout, {EXCLUSIVE: alone} | ({PER_NODE: alone} if self.unit == "nodes" else {}))
        if not MAY_DEMAND.isdisjoint(self.named):
            extra["demands"] = demands.astype(np.float64)
        if waits.after is not None:
            extra["after"] = waits.after
        if waits.begin is not None:
            extra["begin"] = np.where(waits.begin > kept["submit"], waits.begin - origin, AT_ONCE)
        held = 0
        if "eligible" in kept:
            later = np.isfinite(kept["eligible"]) & (kept["eligible"] > kept["submit"])
            held = int(np.count_nonzero(later & ~waits.why))
        return RawLog(
            table,
            self._header(origin, in_cpus=self.unit == "cpus" and nodes_differ(kept)),
            self.malformed,
            columns=extra,
            found=CleaningReport(
                records=0,
                kept=0,
                steps=self.steps,
                unfinished=int(unfinished.sum()),
                repeated=self.repeated,
                headers=self.headers,
                held=held,
                renumbered=renumbered,
            ),
            partitions_are_queues=True,
        )

    def _fill(self, table: NDArray[np.float64], read: Mapping[str, Column], origin: float) -> int:
        """Fill the table of the Standard Workload Format's fields with the columns read; submits count from `origin`.

        Return how many jobs got a new id, because they had none or shared one.
        """
        used, asked = ("cpus", "nodes") if self.unit == "cpus" else ("nodes", "cpus")
        counts = [read[name] for name in (used, f"requested_{used}", asked, f"requested_{asked}") if name in read]
        table[0], renumbered = distinct_ids(own_ids(read["id"]))
        table[1] = read["submit"] - origin
        if "start" in read:
            wait = read["start"] - read["submit"]
            table[2] = np.where(np.isfinite(wait) & (wait >= 0), wait, -1.0)
        if "end" in read:  # a job that was cancelled in the queue has a wait, but no start
            wait = read["end"] - read["submit"]
            unseen = (table[2] < 0) & (read["elapsed"] <= 0) & np.isfinite(wait) & (wait >= 0)
            table[2] = np.where(unseen & (read.get("state", table[10]) == CANCELLED), wait, table[2])
        table[3] = read["elapsed"]
        if counts:
            table[4] = known_or_none(counts[0])
            table[7] = known_or_none(read.get(f"requested_{used}", counts[0]))
            if used not in read and f"requested_{used}" not in read:
                cure = f'unit="{asked}" (fedsched: --unit {asked}) needs none'
                raise TraceError(f"{self.path}: no column says how many {used} a job had; {cure}.")
        if "limit" in read:
            table[8] = np.where(read["limit"] == UNLIMITED, 2.0**31 - 1, known_or_none(read["limit"]))
        table[10] = read.get("state", table[10])
        for field, name in ((11, "user"), (12, "group"), (14, "partition"), (15, "cluster")):
            if name in read:
                table[field] = known_or_none(read[name])
        return renumbered

    def _header(self, origin: float, *, in_cpus: bool) -> tuple[tuple[str, str], ...]:
        begin = datetime.fromtimestamp(origin, UTC) if abs(origin) < 1e11 else datetime.fromtimestamp(0, UTC)
        header = [FROM_SLURM, ("StartTime", f"{begin:%Y-%m-%d %H:%M:%S} (as the dump says it)")]
        header += [IN_CPUS] if in_cpus else []
        header += [("Queue", f"{number:g} {name}") for name, number in self.numbers["partition"].items() if number > 0]
        clusters = {name: number for name, number in self.numbers["cluster"].items() if number > 0}
        header += [("Partition", f"{number:g} {name}") for name, number in clusters.items()]
        return (*header, SITES_NOTE) if len(clusters) > 1 else tuple(header)


def _numbered(numbers: dict[str, float], text: str) -> float:
    """Return the number of a name, from 1 in order of appearance; a new one is added to `numbers`. No name gives -1."""
    name = text.replace(BAR, " ").strip()
    return -1.0 if not name or name.lower() in WORDS else numbers.setdefault(name, float(len(numbers) + 1))


def read_federation(path: str | PathLike[str], *, unit: Unit = "cpus") -> Federation:
    r"""Return the clusters of a dump, each as large as its peak use by jobs: a lower bound of the real size.

    Parameters
    ----------
    path
        The dump.
    unit
        Whether a node of the federation is one of Slurm's "cpus" or "nodes".

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io.slurm_files.sacct import read_federation
    >>> head = "JobID|Submit|Start|ElapsedRaw|AllocCPUS|State|Cluster"
    >>> row = "7|2026-01-05T08:00:00|2026-01-05T08:00:00|600|4|COMPLETED|north"
    >>> written = Path("jobs.sacct").write_text(f"{head}\n{row}\n")
    >>> print(read_federation("jobs.sacct"))
    jobs: 1 cluster, 4 nodes (north 4)
    """
    jobs = read_sacct(path, sites="auto", unit=unit)
    wait = np.full(len(jobs), -1.0) if jobs.log is None else jobs.log.wait
    if (wait < 0).all():
        raise FederationError(f"{path}: it has no column Start, so start times are unknown; dump with: {COMMAND}")
    start, site = jobs.submit + wait, jobs.origin if jobs.sites else np.zeros(len(jobs), dtype=np.int64)
    clusters = []
    named = [text.partition(" ")[2] for label, text in jobs.header if label == "Partition"]  # the column's clusters
    for k, name in enumerate(jobs.sites or named or (jobs.name,)):
        here = (site == k) & (wait >= 0)
        if here.any():
            peak = _most_at_once(start[here], (start + jobs.runtime)[here], jobs.tasks[here])
            clusters.append(Cluster(name, (NodeGroup(peak),)))
    return Federation(
        tuple(clusters),
        name=jobs.name,
        description=f"From an sacct dump: the most {unit} of a cluster in use at once, which it has at least.\n"
        "Speeds, watts and uplinks are not in such a dump: nodes are alike, watts assumed, and uplinks unlimited, "
        "so that a job on several clusters pays nothing for it.",
    )


def _most_at_once(start: NDArray[np.float64], end: NDArray[np.float64], tasks: NDArray[np.int64]) -> int:
    times = np.concatenate([end, start])
    change = np.concatenate([-tasks, tasks])
    # Ends come before starts at the same time: the tasks of ended jobs are free for jobs that start then.
    return int(np.cumsum(change[np.argsort(times, kind="stable")]).max())
