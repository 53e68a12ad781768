"""Reader of the jobs of a Slurm queue from the output of `scontrol -o show job`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import TraceError, shortened
from fedsched.io.files import read_text
from fedsched.io.slurm_files.slurm_records import records_of
from fedsched.io.slurm_files.slurm_values import seconds_of
from fedsched.io.wall_clock import wall_time_of
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.priority.associations import amounts_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

COMMAND = "scontrol -o show job"
NEEDED = ("JobId", "JobState", "UserId", "Partition", "NumNodes", "NumCPUs", "SubmitTime")
MISSING = ("n/a", "(null)", "unknown", "none", "")


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A job in the output of `scontrol -o show job`; times are seconds since 1970 in local time, NaN if not set yet."""

    number: int
    name: str  # the id, with the task of an array: 17_3
    state: str
    reason: str
    asked: JobRequest
    partitions: tuple[str, ...]
    priority: int
    submit: float
    eligible: float
    accrue: float
    start: float
    end: float


def read_queue(path: str | PathLike[str]) -> list[QueuedJob]:
    """Return the jobs in the output of `scontrol -o show job`, in the order of their ids.

    Raise TraceError if it lists none, or a field is missing or invalid.
    """
    records = [record for record in records_of(read_text(path)) if record.words]
    if not records:
        raise TraceError(f"{path}: it lists no job; give the output of `{COMMAND}`.")
    return sorted((_job(words, f"{path}, line {line}") for line, words in records), key=lambda job: job.number)


def _job(words: Mapping[str, str], where: str) -> QueuedJob:
    if missing := [name for name in NEEDED if name.lower() not in words]:
        raise TraceError(f"{where}: {missing[0]} is missing; give the output of `{COMMAND}`.")
    partitions = tuple(words["partition"].split(","))
    amounts = amounts_of(_said(words, "tres") or _said(words, "reqtres"), where)
    allocated = _said(words, "alloctres")
    task = _said(words, "arraytaskid")
    return QueuedJob(
        number=_whole(words["jobid"], where, "JobId"),
        name=f"{words['arrayjobid']}_{task}" if task and "arrayjobid" in words else words["jobid"],
        state=words["jobstate"],
        reason=words.get("reason", ""),
        asked=JobRequest(
            user=words["userid"].partition("(")[0],
            account=_said(words, "account"),
            partition=partitions[0],
            qos=_said(words, "qos"),
            nodes=_whole(words["numnodes"].partition("-")[0], where, "NumNodes"),
            cpus=_whole(words["numcpus"].partition("-")[0], where, "NumCPUs"),
            limit=_limit(words, where),
            amounts=amounts,
            given=amounts_of(allocated, where) if allocated else None,
            nice=_whole(words.get("nice", "0"), where, "Nice"),
            site=_whole(words.get("sitefactor", "0"), where, "SiteFactor"),
        ),
        partitions=partitions,
        priority=_whole(words.get("priority", "0"), where, "Priority"),
        submit=_moment(words, "SubmitTime", where),
        eligible=_moment(words, "EligibleTime", where),
        accrue=_moment(words, "AccrueTime", where),
        start=_moment(words, "StartTime", where),
        end=_moment(words, "EndTime", where),
    )


def _said(words: Mapping[str, str], name: str) -> str:
    text = words.get(name, "")
    return "" if text.lower() in MISSING else text


def _limit(words: Mapping[str, str], where: str) -> float:
    text = words.get("timelimit", "")
    return math.inf if text.lower() in (*MISSING, "partition_limit") else seconds_of(text, f"{where}: TimeLimit")


def _moment(words: Mapping[str, str], name: str, where: str) -> float:
    text = words.get(name.lower(), "")
    if text.lower() in MISSING or (moment := wall_time_of(text)) is None:
        return math.nan
    if math.isnan(moment.seconds):
        raise TraceError(f"{where}: {name}={shortened(text)} is no time like 2027-01-12T08:00:00.")
    return moment.seconds


def _whole(text: str, where: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise TraceError(f"{where}: {name}={shortened(text)} is no whole number.") from None
