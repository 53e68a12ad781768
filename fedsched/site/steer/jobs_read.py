"""Read jobs from `squeue --json` (data parsers from v0.0.38 on) or from `scontrol -o show job`."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fedsched.core.errors import FedschedError, SteerError, shortened
from fedsched.core.values import digits_of
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.slurm_json import NOTHING, count, number, signed, text, texts, words
from fedsched.io.slurm_files.slurm_records import records_of
from fedsched.io.slurm_files.slurm_values import seconds_of
from fedsched.site.steer.queue import HOLDING, SlurmJob, Unread, wait

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

SQUEUE = ("squeue", "--json")
SCONTROL = ("scontrol", "-o", "show", "job")
NO_LIMIT = ("", "unlimited", "partition_limit")
NO_JOBS = "no jobs in the system"
REVOKED = "REVOKED"  # a job that another cluster of the federation has; it may have no number here any more
LATEST = 1e12  # seconds since 1970; later times are refused
_LATER = re.compile(r"%\d+$")
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


class Jobs(NamedTuple):
    """The jobs of a queue that can be read and, by number, why each of the others cannot be read."""

    read: tuple[SlurmJob, ...]
    unread: dict[int, Unread]


def document_of(text: str, command: str) -> dict[str, Any]:
    """Return the JSON document that a command printed; raise if it is no JSON table or reports errors."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise SteerError(f"{command}: its output is not JSON: {shortened(text[:200])}") from None
    if not isinstance(document, dict):
        raise SteerError(f"{command}: its output is not a table: {shortened(text[:200])}")
    if errors := document.get("errors"):
        raise SteerError(f"{command}: it reports errors: {shortened(errors, 300)}")
    return document


def rows_of(document: dict[str, Any], key: str, command: str) -> list[dict[str, Any]]:
    """Return the list of tables under a key of a document; raise if there is none."""
    found = document.get(key)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise SteerError(f"{command}: its output has no list of {key}; is it Slurm's command?")
    return found


def jobs_of_json(printed: str) -> Jobs:
    """Return the jobs that `squeue --json` lists."""
    command = " ".join(SQUEUE)
    rows = rows_of(document_of(printed, command), "jobs", command)
    return _jobs((row.get("job_id"), words(row.get("job_state")), partial(_of_json, row, command)) for row in rows)


def _jobs(rows: Iterable[tuple[Any, frozenset[str], Callable[[], SlurmJob]]]) -> Jobs:
    """Return the jobs that can be read, and those that cannot, by number; raise the first failure if all reads fail.

    Each row is a job's number, its states, and the function that reads it. Jobs in state REVOKED are skipped. A job
    that cannot be read and has no readable number raises at once.
    """
    jobs: list[SlurmJob] = []
    unread: dict[int, Unread] = {}
    failed: FedschedError | None = None
    for own, states, read in rows:
        if REVOKED in states:
            continue
        try:
            jobs.append(read())
        except FedschedError as error:
            named = number(own)
            if named is None or math.isinf(named):  # it may be any job
                raise
            unread[int(named)] = Unread(str(error), wait(states))
            failed = failed or error
    if failed is not None and not jobs:
        raise failed
    return Jobs(tuple(jobs), unread)


def _of_json(job: dict[str, Any], command: str) -> SlurmJob:
    own = number(job.get("job_id"))
    where = f"{command}, job {'?' if own is None else f'{own:.0f}'}"

    def said(name: str, usual: float | None = None) -> float:
        value = number(job.get(name))
        if value is None or (usual is not None and math.isinf(value)):
            value = usual
        if value is None or math.isinf(value):
            raise SteerError(f"{where}: {name} is missing or not a number: {shortened(job.get(name))}.")
        return value

    states = words(job.get("job_state"))
    several = count(job.get("array_job_id"))
    tasks = text(job.get("array_task_string"))
    partitions = texts(job.get("partition"))
    hosts = text(job.get("nodes"))
    user = number(job.get("user_id"))
    number_of_it = int(said("job_id"))
    if not states:
        raise SteerError(f"{where}: it has no job_state.")
    waits = wait(states)
    times = {name: _moment(job.get(f"{name}_time"), name, where) for name in ("submit", "eligible", "start")}
    return SlurmJob(
        number=number_of_it,
        target=_target(number_of_it, several, tasks if waits else "", number(job.get("array_task_id"))),
        user=text(job.get("user_name")) or ("" if user is None else f"{user:.0f}"),
        account=text(job.get("account")),
        qos=text(job.get("qos")),
        partition=partitions[0] if partitions else "",
        states=states,
        reason=text(job.get("state_reason")).upper(),
        nodes=max(1, int(said("node_count", 1.0))),
        limit=_limit(number(job.get("time_limit")), where),
        submit=times["submit"],
        eligible=times["eligible"],
        start=_start(times, states, where),
        priority=int(said("priority")),
        nice=signed(job.get("nice")) or 0,  # v0.0.38 writes null for 0
        cpus=max(1, count(job.get("cpus"), 1)),
        hosts=tuple(hosts_of(hosts, where)) if not waits and hosts else (),
        tasks=_count_tasks(tasks, where) if waits else 1,
        dependency=text(job.get("dependency")),
        features=text(job.get("features")),
        reservation=text(job.get("resv_name")),
        part_of_several=bool(number(job.get("het_job_id"))),
        named_nodes=bool(text(job.get("required_nodes")) or text(job.get("excluded_nodes"))),
        other_partitions=len(partitions) > 1,
        name=text(job.get("name")),
        comment=text(job.get("comment")),
        siblings=texts(job.get("federation_siblings_viable")),
        other_resources=extra_resources_of(job),
        exclusive=bool(words(job.get("shared")) & ALONE),
    )


def _start(times: Mapping[str, float], states: frozenset[str], where: str) -> float:
    """Return when a job started, in seconds since 1970; NaN if it waits.

    For a requeued job that still completes and has no start time, it is the submit time. Raise if a job that has nodes
    has no start time.
    """
    if wait(states):
        return math.nan
    start = times["submit"] if math.isnan(times["start"]) and "COMPLETING" in states else times["start"]
    if math.isnan(start) and states & HOLDING:
        raise SteerError(f"{where}: it has nodes but no start time.")
    return start


def _limit(minutes: float | None, where: str) -> float:
    """Return in seconds a time limit given in minutes; infinite if it is None or 0, which sbatch takes as no limit.

    Raise if it is negative.
    """
    if minutes is not None and minutes < 0:
        raise SteerError(f"{where}: time_limit={minutes:g} must be 0 minutes or more.")
    return 60.0 * minutes if minutes else math.inf


def jobs_of_text(printed: str) -> Jobs:
    """Return the jobs that `scontrol -o show job` lists; its times must be in seconds since 1970.

    A job with other times counts as one that cannot be read; if none can be read, raise SteerError.
    """
    if printed.strip().lower() in (NO_JOBS, ""):
        return Jobs((), {})
    command = " ".join(SCONTROL)
    return _jobs(
        (_job_number(said), words(said.get("jobstate")), partial(_of_text, said, f"{command}, line {line}"))
        for line, said in records_of(printed)
        if said
    )


def _job_number(said: Mapping[str, str]) -> int | None:
    own = said.get("jobid", "")
    return digits_of(own)


def _of_text(job: Mapping[str, str], where: str) -> SlurmJob:
    def text(name: str, *, needed: bool = False) -> str:
        value = job.get(name.lower(), "")
        if needed and not value:
            raise SteerError(f"{where}: {name} is missing.")
        return "" if value.lower() in NOTHING else value

    def whole(name: str, *, signed: bool = False) -> int:
        said = text(name, needed=True)
        below = signed and said.startswith("-")
        found = digits_of(said[1:] if below else said.partition("-")[0])
        if found is None:
            raise SteerError(f"{where}: {name}={shortened(job[name.lower()])} is not a whole number.")
        return -found if below else found

    def moment(name: str) -> float:
        value = text(name)
        if (found := digits_of(value or "0")) is None:
            raise SteerError(f"{where}: {name}={shortened(value)} is not a time in seconds since 1970.")
        return _moment(found, name, where)

    states = words(text("JobState", needed=True))
    waits = wait(states)
    times = {name: moment(f"{name.title()}Time") for name in ("submit", "eligible", "start")}
    several = whole("ArrayJobId") if "arrayjobid" in job else 0
    tasks = text("ArrayTaskId")
    limit = text("TimeLimit")
    return SlurmJob(
        number=whole("JobId"),
        target=_target(whole("JobId"), several, tasks if waits or tasks.isdecimal() else "", None),
        user=text("UserId").partition("(")[0],
        account=text("Account"),
        qos=text("QOS"),
        partition=text("Partition", needed=True).partition(",")[0],
        states=states,
        reason=text("Reason").upper(),
        nodes=max(1, whole("NumNodes")),
        limit=(0.0 if limit.lower() in NO_LIMIT else seconds_of(limit, where)) or math.inf,
        submit=times["submit"],
        eligible=times["eligible"],
        start=_start(times, states, where),
        priority=whole("Priority"),
        nice=whole("Nice", signed=True),
        cpus=max(1, whole("NumCPUs")),
        hosts=tuple(hosts_of(text("NodeList"), where)) if text("NodeList") and not waits else (),
        tasks=_count_tasks(tasks, where) if waits else 1,
        dependency=text("Dependency"),
        features=text("Features"),
        reservation=text("Reservation"),
        part_of_several="hetjobid" in job,
        named_nodes=bool(text("ReqNodeList") or text("ExcNodeList")),
        other_partitions="," in text("Partition"),
        name=text("JobName"),
        comment=text("Comment"),
        siblings=texts(job.get("fedviablesiblings")),
        other_resources=extra_resources_of(job),
        exclusive=text("OverSubscribe").upper() in ALONE,
    )


def _target(own: int, several: int, tasks: str, task: float | None) -> str:
    """Return the name by which `scontrol update` knows a job: 7, the task 7_3, or tasks that wait as one, 7_[0-2]."""
    if not several:
        return str(own)
    if task is not None:
        return f"{several}_{task:.0f}"
    tasks = _LATER.sub("", tasks)
    if not tasks:
        return str(own)
    return f"{several}_{tasks}" if tasks.isdecimal() else f"{several}_[{tasks}]"


def _count_tasks(tasks: str, where: str) -> int:
    """Return how many tasks of an array a text like 0-3,7%2 or 0-9:3 lists, at least 1; raise if it is no such list."""
    count = 0
    for part in filter(None, _LATER.sub("", tasks).split(",")):
        found = _TASKS.fullmatch(part)
        if found is None:
            if part.endswith("..."):  # Slurm cuts long lists
                continue
            raise SteerError(f"{where}: {shortened(tasks)} are not tasks of an array like 0-3,7%2.")
        first, last, step = int(found[1]), int(found[2] or found[1]), int(found[3] or 1)
        count += (last - first) // max(1, step) + 1
    return max(1, count)


def _moment(value: Any, name: str, where: str) -> float:
    """Return a time in seconds since 1970; NaN if it is 0, by which Slurm means that there is none.

    Raise if it is negative or too late to be a time in seconds.
    """
    found = number(value)
    if not found or math.isinf(found):
        return math.nan
    if not 0.0 < found < LATEST:
        raise SteerError(f"{where}: the time {name}={shortened(value)} must be in seconds since 1970.")
    return float(found)


LICENCES = "licenses"
ALONE = frozenset({"NO", "NONE"})  # Slurm's words for a job that shares its nodes with no other
# Columns of squeue and scontrol, in lower case and without underscores.
DEVICES = ("trespernode", "tresperjob", "trespertask", "trespersocket", "tresreqstr", "reqtres", "tres", "gres")
NO_RESOURCES = ("", "n/a", "(null)", "none", "unknown", "null")
COUNTED = ("cpu", "mem", "node", "billing", "energy", "fs", "ic", "pages", "vmem")  # modelled, or only measured
_PARTS = re.compile(r"[/:=@*()]")


def extra_resources_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the devices and licences that a job asks for, such as "gres/gpu" or "licence matlab".

    `record` is the job's row in the output of one of Slurm's commands.
    """
    told = {name.lower().replace("_", ""): str(value) for name, value in record.items() if isinstance(value, str)}
    found: dict[str, None] = {}
    for column in DEVICES:
        for one in _items(told.get(column, "")):
            kind, *names = filter(None, _PARTS.split(one.strip().lower()))
            if kind in ("gres", "license") and names:
                found[f"gres/{names[0]}" if kind == "gres" else f"licence {names[0]}"] = None
            elif kind not in COUNTED:
                found[f"gres/{kind}"] = None
    for one in _items(told.get(LICENCES, "")):
        found[f"licence {_PARTS.split(one.strip())[0].lower()}"] = None
    return tuple(sorted(found))


def _items(text: str) -> list[str]:
    """Return the entries of a list of Slurm's, separated by commas, semicolons or "|"; none if it says "none".

    "|" separates licences of which one is enough; all are returned.
    """
    if text.strip().lower() in NO_RESOURCES:
        return []
    return [one for one in re.split(r"[,;|]", text) if _PARTS.sub("", one)]
