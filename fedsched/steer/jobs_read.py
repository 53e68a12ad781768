"""Jobs out of `squeue --json`, by data parsers from v0.0.38 on, or out of `scontrol -o show job`."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

from fedsched.errors import SteerError, shortened
from fedsched.io.host_lists import hosts_of
from fedsched.io.hosts import records_of
from fedsched.io.slurm_values import seconds_of
from fedsched.steer.queue import SlurmJob, limit_of
from fedsched.values import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

SQUEUE = ("squeue", "--json")
SCONTROL = ("scontrol", "-o", "show", "job")
NOTHING = ("", "n/a", "(null)", "none", "unknown")
NO_JOBS = "no jobs in the system"
REVOKED = "REVOKED"  # a job of a federation that another cluster has; here it may have no number any more
_LATER = re.compile(r"%\d+$")


def table_of(text: str, key: str, command: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return a document of Slurm's and the list in it; one that tells of errors is refused."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SteerError(f"{command}: what it printed is no JSON: {shortened(text[:200])}") from None
    if not isinstance(document, dict):
        raise SteerError(f"{command}: what it printed is no table: {shortened(text[:200])}")
    if errors := document.get("errors"):
        raise SteerError(f"{command}: it tells of errors: {shortened(errors, 300)}")
    found = document.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SteerError(f"{command}: there is no list of {key} in what it printed; is it Slurm's?")
    return document, found


def number(value: Any) -> float | None:
    """Return a number as parsers write it: bare, or with whether it is set or infinite; None where it is neither."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return math.inf
        return number(value.get("number")) if value.get("set", True) else None
    return float(value) if is_number(value) else None


def count(value: Any, usual: int = 0) -> int:
    """Return a whole number as parsers write it; the usual one where it is none, infinite, or 0."""
    found = number(value)
    return usual if found is None or not math.isfinite(found) else int(found) or usual


def words(value: Any) -> frozenset[str]:
    """Return the words of a state, be it one text or a list of them."""
    given = value if isinstance(value, list) else re.split(r"[+,]", str(value or ""))
    return frozenset(str(one).strip().upper() for one in given if str(one).strip())


def jobs_of_json(text: str) -> tuple[SlurmJob, ...]:
    """Return the jobs that `squeue --json` tells of."""
    command = " ".join(SQUEUE)
    _, table = table_of(text, "jobs", command)
    return tuple(
        _of_json(job, f"{command}, job {job.get('job_id', '?')}")
        for job in table
        if REVOKED not in words(job.get("job_state"))
    )


def _of_json(job: dict[str, Any], where: str) -> SlurmJob:
    def said(name: str, usual: float | None = None) -> float:
        value = number(job.get(name))
        if value is None:
            value = usual
        if value is None or not math.isfinite(value):
            raise SteerError(f"{where}: it says nothing of {name}, or no number: {shortened(job.get(name))}.")
        return value

    def text(name: str) -> str:
        value = str(job.get(name) or "")
        return "" if value.lower() in NOTHING else value

    minutes = number(job.get("time_limit"))
    task = number(job.get("array_task_id"))
    several = count(job.get("array_job_id"))
    tasks = text("array_task_string")
    own = int(said("job_id"))
    states = words(job.get("job_state"))
    if not states:
        raise SteerError(f"{where}: it has no job_state.")
    holds_none = "PENDING" in states
    return SlurmJob(
        number=own,
        target=_target(own, several, tasks if holds_none else "", task),
        user=text("user_name") or str(job.get("user_id", "")),
        account=text("account"),
        qos=text("qos"),
        partition=text("partition").partition(",")[0],
        states=states,
        reason=text("state_reason").upper(),
        nodes=max(1, int(said("node_count", 1.0))),
        limit=limit_of(None if minutes is None else minutes),
        submit=_moment(job.get("submit_time")),
        eligible=_moment(job.get("eligible_time")),
        start=math.nan if holds_none else _moment(job.get("start_time")),
        priority=int(said("priority")),
        nice=count(job.get("nice")),  # v0.0.38 writes null for 0
        cpus=max(1, count(job.get("cpus"), 1)),
        hosts=tuple(hosts_of(text("nodes"), where)) if not holds_none and text("nodes") else (),
        tasks=_how_many(tasks, where) if holds_none else 1,
        dependency=text("dependency"),
        features=text("features"),
        reservation=text("resv_name"),
        part_of_several=bool(number(job.get("het_job_id"))),
        named_nodes=bool(text("required_nodes") or text("excluded_nodes")),
        other_partitions="," in text("partition"),
        name=text("name"),
        comment=text("comment"),
        siblings=_names(text("federation_siblings_viable")),
    )


def jobs_of_text(text: str) -> tuple[SlurmJob, ...]:
    """Return the jobs that `scontrol -o show job` tells of, its times in seconds."""
    if text.strip().lower() in (NO_JOBS, ""):
        return ()
    records = [record for record in records_of(text) if record.words]
    return tuple(
        _of_text(said, f"{' '.join(SCONTROL)}, line {line}")
        for line, said in records
        if REVOKED not in words(said.get("jobstate"))
    )


def _of_text(job: Mapping[str, str], where: str) -> SlurmJob:
    def text(name: str, *, needed: bool = False) -> str:
        value = job.get(name.lower(), "")
        if needed and not value:
            raise SteerError(f"{where}: it says nothing of {name}.")
        return "" if value.lower() in NOTHING else value

    def whole(name: str, *, signed: bool = False) -> int:
        said = text(name, needed=True)
        try:
            return int(said if signed else said.partition("-")[0])
        except ValueError:
            raise SteerError(f"{where}: {name}={shortened(job[name.lower()])} is no whole number.") from None

    def moment(name: str) -> float:
        value = text(name)
        if value and not value.isdecimal():
            raise SteerError(f"{where}: {name}={shortened(value)} is no time in seconds, though asked for.")
        return _moment(float(value or 0))

    states = words(text("JobState", needed=True))
    waits = "PENDING" in states
    several = whole("ArrayJobId") if "arrayjobid" in job else 0
    tasks = text("ArrayTaskId")
    limit = text("TimeLimit")
    return SlurmJob(
        number=whole("JobId"),
        target=_target(whole("JobId"), several, tasks, None),
        user=text("UserId").partition("(")[0],
        account=text("Account"),
        qos=text("QOS"),
        partition=text("Partition", needed=True).partition(",")[0],
        states=states,
        reason=text("Reason").upper(),
        nodes=max(1, whole("NumNodes")),
        limit=math.inf if limit.lower() in ("", "unlimited", "partition_limit") else seconds_of(limit, where),
        submit=moment("SubmitTime"),
        eligible=moment("EligibleTime"),
        start=math.nan if waits else moment("StartTime"),
        priority=whole("Priority"),
        nice=whole("Nice", signed=True),
        cpus=max(1, whole("NumCPUs")),
        hosts=tuple(hosts_of(text("NodeList"), where)) if text("NodeList") and not waits else (),
        tasks=_how_many(tasks, where) if waits else 1,
        dependency=text("Dependency"),
        features=text("Features"),
        reservation=text("Reservation"),
        part_of_several="hetjobid" in job,
        named_nodes=bool(text("ReqNodeList") or text("ExcNodeList")),
        other_partitions="," in text("Partition"),
        name=text("JobName"),
        comment=text("Comment"),
        siblings=_names(text("FedViableSiblings")),
    )


def _target(own: int, several: int, tasks: str, task: float | None) -> str:
    """Return what an update calls a job: those of an array that wait as one are named one by one."""
    if not several:
        return str(own)
    if task is not None:
        return f"{several}_{task:.0f}"
    tasks = _LATER.sub("", tasks)
    if not tasks:
        return str(own)
    return f"{several}_{tasks}" if tasks.isdecimal() else f"{several}_[{tasks}]"


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(",")))


def _how_many(tasks: str, where: str) -> int:
    """Return how many tasks a text like 0-3,7%2 or 0-9:3 is."""
    count = 0
    for part in filter(None, _LATER.sub("", tasks).split(",")):
        found = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part)
        if found is None:
            if part.endswith("..."):  # the list is cut where it is long
                continue
            raise SteerError(f"{where}: {shortened(tasks)} are no tasks of an array like 0-3,7%2.")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        count += (last - first) // max(1, step) + 1
    return max(1, count)


def _moment(value: Any) -> float:
    """Return a time in seconds since 1970; Slurm writes 0 where there is none."""
    found = number(value)
    return math.nan if not found or math.isinf(found) else found
