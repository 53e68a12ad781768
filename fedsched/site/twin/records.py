"""Reads the jobs of a dump as sacct printed them: what they asked for, and when they started and ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import TwinError
from fedsched.core.text import counted, first_of
from fedsched.core.values import digits_of
from fedsched.io.slurm_files.sacct import parse_dump
from fedsched.io.slurm_files.sacct_lines import BAR
from fedsched.io.slurm_files.sacct_texts import ALONE, PREFIX, Texts
from fedsched.io.slurm_files.sacct_values import UNKNOWN, UNLIMITED, known_or_none, own_ids, whole_state
from fedsched.io.slurm_files.sacct_waits import waits_of
from fedsched.io.swf.cleaning import distinct_ids
from fedsched.io.tables.frame import field_of
from fedsched.model.jobs.demands import PoolNeeds
from fedsched.model.jobs.labels import Labels, as_objects, distinct
from fedsched.model.jobs.log import CANCELLED, OPTIONS, Demand
from fedsched.model.jobs.unmodelled import unmodelled_requests
from fedsched.site.twin.commands import ACCOUNTS, JOBS, RESERVATIONS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.io.slurm_files.sacct import Parser
    from fedsched.io.slurm_files.sacct_waits import Waits
    from fedsched.site.twin.folder import Dump

    Column = NDArray[np.float64]
    Mask = NDArray[np.bool_]

KEPT_COLUMNS = ("state", "reason", "user", "cluster", "account", "qos", "nodelist", "flags", "priority")
LABELS = {"account": "account", "qos": "qos", "user": "user", "jobname": "name", "constraints": "features",
          "reservation": "reservation"}  # fmt: skip
RUNS = ("RUNNING", "COMPLETING", "SUSPENDED", "RESIZING", "STAGE_OUT", "SIGNALING", "CONFIGURING", "STOPPED")
EMPTY_WORDS = ("", "unknown", "none", "(null)", "n/a")
YEAR = 365.0 * 86_400  # the limit that Slurm plans with for a job without one, in seconds


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Runs of jobs, one a row: a requeued job has several. Times are wall-clock times in seconds from 1970 on.

    `start` is NaN if a run has not started by the dump's end, `end` is NaN if it has not ended. `again` marks runs of a
    job after its first, `gone` marks runs that were cancelled before they started.
    """

    id: NDArray[np.int64]
    job: NDArray[np.float64]  # JobIDRaw
    array: NDArray[np.float64]  # the number of its job array; -1: none
    status: Column  # as in the Standard Workload Format
    submit: Column
    eligible: Column
    start: Column
    end: Column
    limit: Column  # seconds; NaN: that of the partition
    nodes: NDArray[np.int64]
    asked: NDArray[np.int64]  # requested nodes; 0: unknown
    cpus: NDArray[np.int64]
    priority: Column  # as Slurm last recorded it, at the start of the run; 0: unknown
    again: Mask
    gone: Mask
    preempted: Mask
    reason: NDArray[Any]
    flags: NDArray[Any]
    hosts: NDArray[Any]  # the nodes' names, as Slurm lists them; "": unknown
    labels: dict[str, NDArray[Any]]
    user: NDArray[np.int64]
    after: NDArray[Any] | None  # conditions in the words of a workload
    begin: Column  # earliest start by --begin; NaN: none
    exclusive: Mask  # whether it shares its nodes with no other job
    nice: NDArray[np.int64]  # what --nice subtracts from the priority
    demand: dict[str, NDArray[Any]]
    other_resources: NDArray[Any]  # requests beside nodes, CPUs and memory, in words, separated by ";"
    notes: tuple[str, ...]  # what was left out
    beyond: tuple[str, ...]  # requests that a replay does not model

    def __len__(self) -> int:
        return len(self.id)

    def take(self, rows: NDArray[np.int64]) -> Records:
        """Return the records of the runs in these rows."""

        def of(value: Any) -> Any:
            if isinstance(value, dict):
                return {name: values[rows] for name, values in value.items()}
            return value[rows] if isinstance(value, np.ndarray) else value

        return Records(**{one.name: of(getattr(self, one.name)) for one in fields(self)})


def records_of(dump: Dump, cluster: str) -> Records:
    """Return a cluster's runs in a dump, in order of submission, without runs with no submit time or no node.

    If no run names the cluster, all runs are taken as its own.
    """
    parser = parse_dump(dump.path(JOBS), unit="nodes", texts=Texts(KEPT_COLUMNS))
    read = parser.columns()
    if not read or not len(read["submit"]):
        raise TwinError(f"{dump.path(JOBS)}: it has no job; dump with an earlier --since.")
    for name in ("start", "end", "eligible", "state"):
        if name not in read:
            raise TwinError(f"{dump.path(JOBS)}: it has no column {name.title()}; dump again with fedsched twin dump.")
    wanted = (*KEPT_COLUMNS, "jobname", "constraints", "reservation")
    texts = {name: _texts(parser.texts, read, name) for name in wanted}
    notes = [f"{counted(parser.steps, 'step')} of jobs"] * bool(parser.steps)
    here = (texts["cluster"] == cluster) | (texts["cluster"] == "")
    if not here.any():
        here[:] = True
    elif not here.all():
        notes.append(f"{counted(int((~here).sum()), 'run')} of other clusters")
    nodes = _first(read, "nodes", "requested_nodes")
    sound = here & (read["submit"] > 0) & np.isfinite(read["submit"]) & (nodes >= 1)
    if lost := int((here & ~sound).sum()):
        notes.append(f"{counted(lost, 'run')} that tell of no submit or of no node")
    ids, _ = distinct_ids(own_ids(read["id"]))
    waits = waits_of(read, parser.texts, ids=ids, names_known="jobname" in parser.named, local=parser.local)
    order = np.flatnonzero(sound)
    order = order[np.lexsort((ids[order], read["submit"][order]))]
    return _records_from(
        read, texts, parser.numbers["partition"], ids, nodes, waits.after, waits.begin, order, notes,
        beyond=_beyond(dump, parser, read, waits, order),
    )  # fmt: skip


def _beyond(dump: Dump, parser: Parser, read: dict[str, Column], waits: Waits, rows: NDArray[np.int64]) -> list[str]:
    """Return in words which requests of runs a replay does not model.

    QOS and reservations are modelled if the dump has their files.
    """
    bits = parser.demands(read, waits)[rows]
    bits &= ~(int(Demand.QOS) * dump.has(ACCOUNTS) | int(Demand.RESERVATION) * dump.has(RESERVATIONS))
    options = parser.texts.labels(read, []).get(Labels.PREFIX + OPTIONS)
    facts = unmodelled_requests(bits, np.full(rows.size, "") if options is None else options[rows], noun="run")
    pools = {name.removeprefix(PoolNeeds.PREFIX): read[name][rows] > 0 for name in read if field_of(name) == "pools"}
    if kinds := [name for name, needing in sorted(pools.items()) if needing.any()]:
        needing = int(np.logical_or.reduce(list(pools.values())).sum())
        facts.append(f"{counted(needing, 'run')} with licences ({first_of(kinds)})")
    return facts


def _records_from(
    read: dict[str, Column],
    texts: dict[str, NDArray[Any]],
    partitions: dict[str, float],
    ids: Column,
    nodes: Column,
    after: NDArray[Any] | None,
    begin: Column | None,
    order: NDArray[np.int64],
    notes: list[str],
    *,
    beyond: list[str],
) -> Records:
    def column(name: str) -> Column:
        values = read[name][order]
        return np.where(np.isfinite(values) & (values > 0), values, np.nan)

    state = texts["state"][order]
    submit, start, end = read["submit"][order], column("start"), column("end")
    elapsed = known_or_none(read["elapsed"][order]) if "elapsed" in read else np.where(np.isnan(end), 0, end - start)
    running = np.isin(state, RUNS)
    gone = (read["state"][order] == CANCELLED) & (elapsed <= 0) & ~running
    waiting = np.isin(state, ["PENDING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT"]) & (elapsed <= 0)
    start = np.where(gone | waiting, np.nan, start)
    end = np.where(running | waiting, np.nan, end)
    # A run without a start never held nodes, whatever its state.
    gone |= np.isnan(start) & ~waiting & ~running
    end = np.where(np.isnan(start) | np.isnan(end), end, np.maximum(end, start))
    limit = read["limit"][order] if "limit" in read else np.full(len(order), UNKNOWN)
    eligible = column("eligible")
    names = as_objects(["", *(name.split(",")[0] for name in partitions)])
    labels = {label: texts[name][order] for name, label in LABELS.items()}
    labels["partition"] = names[np.maximum(_first(read, "partition")[order], 0).astype(np.int64)]
    job = read["id"][order]
    cpus = _first(read, "cpus", "requested_cpus")[order]
    return Records(
        id=ids[order].astype(np.int64),
        job=job,
        array=read["array"][order] if "array" in read else np.full(len(order), -1.0),
        status=known_or_none(read["state"][order]),
        submit=submit,
        eligible=np.where(np.isnan(eligible), submit, np.maximum(eligible, submit)),
        start=start,
        end=end,
        limit=np.where(limit == UNLIMITED, YEAR, np.where(np.isfinite(limit) & (limit > 0), limit, np.nan)),
        nodes=nodes[order].astype(np.int64),
        asked=_first(read, "asked_nodes")[order].astype(np.int64),
        cpus=np.maximum(np.where(np.isfinite(cpus), cpus, 0), 0).astype(np.int64),
        priority=_numbers(texts["priority"][order]),
        again=_later_runs(job, submit),
        gone=gone,
        preempted=state == "PREEMPTED",
        reason=texts["reason"][order],
        flags=texts["flags"][order],
        hosts=texts["nodelist"][order],
        labels=labels,
        user=distinct(labels["user"])[1],
        after=None if after is None else after[order],
        begin=np.full(len(order), np.nan) if begin is None else np.where(begin[order] > submit, begin[order], np.nan),
        exclusive=read.get(ALONE, np.zeros(len(read["submit"])))[order] > 0,
        nice=_nice(read)[order],
        demand={name: read[name][order] for name in read if field_of(name) == "demand"},
        other_resources=_other_resources(read)[order],
        notes=tuple(notes),
        beyond=tuple(beyond),
    )


def _first(read: dict[str, Column], *names: str) -> Column:
    """Return for each run the value of the first of these columns that has a positive one; 0 if none has."""
    found = np.full(len(read["submit"]), np.nan)
    for name in names:
        if name in read:
            values = np.where(np.isfinite(read[name]) & (read[name] > 0), read[name], np.nan)
            found = np.where(np.isnan(found), values, found)
    return np.where(np.isnan(found), 0.0, found)


def _texts(texts: Texts, read: dict[str, Column], name: str) -> NDArray[Any]:
    """Return each run's text in a column, "" if it is missing or says "none"; a state is reduced to its full name."""
    codes = read.get(PREFIX + name)
    if codes is None:
        return np.full(len(read["submit"]), "", dtype=object)
    said = [text.replace(BAR, "|").strip() for text in texts.texts(name)]
    said = ["" if text.lower() in EMPTY_WORDS else text for text in said]
    if name == "state":
        said = [whole_state(text) for text in said]
    return as_objects(said)[codes.astype(np.int64)]


def _other_resources(read: dict[str, Column]) -> NDArray[Any]:
    """Return each run's requests beside nodes, CPUs and memory (GPUs, licences, devices), joined by ";", or ""."""
    asked = {f"licence {name.partition('.')[2].lower()}": read[name] > 0 for name in read if field_of(name) == "pools"}
    demands = np.nan_to_num(read["demands"]).astype(np.int64)
    asked["gres/gpu"] = demands & Demand.GPU != 0
    asked["other resources"] = demands & Demand.OTHER != 0
    found = np.full(len(demands), "", dtype=object)
    for name, whose in sorted(asked.items()):
        found[whose] += f";{name}"
    return np.array([text.lstrip(";") for text in found.tolist()], dtype=object)


def _nice(read: dict[str, Column]) -> NDArray[np.int64]:
    return read.get(PREFIX + "nice", np.zeros(len(read["submit"]))).astype(np.int64)


def _numbers(texts: NDArray[Any]) -> Column:
    """Return the whole number that each text says; 0 for a text that says none."""
    said = {text: float(digits_of(text) or 0) for text in dict.fromkeys(texts.tolist())}
    return np.array([said[text] for text in texts.tolist()], dtype=np.float64)


def _later_runs(job: Column, submit: Column) -> Mask:
    """Return which rows are runs of a job after its first."""
    order = np.lexsort((submit, job))
    again = np.zeros(len(job), dtype=np.bool_)
    again[order[1:]] = (job[order[1:]] == job[order[:-1]]) & np.isfinite(job[order[1:]])
    return again
