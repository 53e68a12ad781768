"""Converts the output of `sacct --json`, in older and newer layouts, to the lines that `sacct -P` would print."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import TraceError, shortened
from fedsched.io.slurm_files.slurm_json import NONE, count, number, table

if TYPE_CHECKING:
    from collections.abc import Iterator

BAR = "\x1f"  # stands for a bar inside a text
LONGEST = 1 << 16  # characters of a text; a command line may be long
HEADER = (
    "JobIDRaw|Cluster|Partition|User|Account|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|ReqCPUS|"
    "NNodes|ConsumedEnergyRaw|JobID|AllocTRES|ReqTRES|QOS|Reservation|Constraints|Licenses|Suspended|JobName|"
    "Reason|Flags|Restarts|Priority|NodeList|SubmitLine"
)


def lines_of(data: Any, path: str) -> Iterator[str]:
    """Give a line of column names, and a line for each job of a parsed document.

    The older layouts (openapi/dbv0.0.36 to 38) have plain numbers and one state; from data_parser v0.0.39 on a number
    may be `{"set": true, "infinite": false, "number": 60}`, and from v0.0.40 on a job has a list of states. Times that
    are not yet known are 0.
    """
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(f"{path}: it has no list of jobs, as sacct --json prints it.")
    yield HEADER
    for k, job in enumerate(jobs, 1):
        if not isinstance(job, dict) or not isinstance(job.get("time"), dict):
            what = "it is of squeue --json; dump with sacct --json" if isinstance(job, dict) else "it is no object"
            raise TraceError(f"{path}, job {k}: {what}: no job of sacct's, which has its times under 'time'.")
        yield "|".join(" ".join(_printed(text).split()).replace("|", BAR) for text in _texts(job))


def _texts(job: dict[str, Any]) -> Iterator[str]:
    times, state = table(job.get("time")), table(job.get("state")).get("current")
    if isinstance(state, list):
        state = state[0] if state else ""
    used, asked = (_counts(table(job.get("tres")).get(kind)) for kind in ("allocated", "requested"))
    required = table(job.get("required"))
    start, suspended = times.get("start"), count(times.get("suspended"))
    elapsed, end, began, eligible = (number(times.get(key)) for key in ("elapsed", "end", "start", "eligible"))
    if elapsed is not None and end and began is not None and began == eligible:
        start = max(began, end - elapsed - suspended)  # older layouts give the eligible time as the start
    yield _number(job.get("job_id"))
    yield _name(job.get("cluster"))
    yield _name(job.get("partition"))
    yield _name(job.get("user") or table(job.get("association")).get("user"))
    yield _name(job.get("account"))
    for time in (times.get("submission"), times.get("eligible"), start, times.get("end")):
        yield (_number(time) if number(time) != 0 else "") or "Unknown"
    yield _number(times.get("elapsed"))
    yield _number(times.get("limit"), "UNLIMITED")
    yield _name(state)
    yield _number(used.get("cpu", "0"))
    yield _number(asked.get("cpu", required.get("CPUs")))
    yield _number(used.get("node", job.get("allocation_nodes")))
    yield _number(used.get("energy"))
    yield _kind(job)
    for counts in (used, asked):
        yield ",".join(f"{name}={count}" for name, count in counts.items())
    yield _name(job.get("qos"))
    yield _name(table(job.get("reservation")).get("name") or "")
    yield _name(job.get("constraints"))
    yield _name(job.get("licenses"))
    yield f"00:{min(suspended, 5999) // 60:02d}:{suspended % 60:02d}"
    yield _name(job.get("name"))
    yield _name(table(job.get("state")).get("reason"))
    flags = job.get("flags")
    yield ",".join(map(_name, flags)) if isinstance(flags, list) else ""
    yield _number(job.get("restart_cnt"))
    yield _number(job.get("priority"))
    yield _name(job.get("nodes"))
    yield _name(job.get("submit_line"))


def _printed(text: str) -> str:
    return text if text.isprintable() and len(text) < LONGEST else shortened(text, LONGEST)


def _counts(resources: Any) -> dict[str, str]:
    """Return the amounts in a list of resources, by name: "cpu", "gres/gpu"."""
    found = {}
    for one in resources if isinstance(resources, list) else []:
        if isinstance(one, dict):
            name = "/".join(str(part) for part in (one.get("type"), one.get("name")) if part)
            found[name] = _number(one.get("count"))
    return found


def _kind(job: dict[str, Any]) -> str:
    """Return the JobID as sacct -P prints it: 17_3 for a task of an array, 17+1 for a part of a heterogeneous job."""
    for kind, key, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        group = table(job.get(kind))
        if (several := count(group.get("job_id"))) and (part := _number(group.get(key))):
            return f"{several}{mark}{part}"
    return _number(job.get("job_id"))


def _name(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _number(value: Any, infinite: str = "") -> str:
    """Return a number as text, wrapped or not; "" if it is not set. Other values stay as they are, to be refused."""
    found = number(value)
    if found is None:
        return "" if value is None or value in NONE or isinstance(value, dict) else str(value)
    return infinite if found == math.inf else str(found)
