"""Conversion of an sacct dump to lines with bars between the fields: from JSON, and from other separators.

A bar inside a text, such as a job's name, is replaced by the character `BAR`.
"""

from __future__ import annotations

import csv
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import TraceError, shortened
from fedsched.io.files import parse_json
from fedsched.io.slurm_files.slurm_json import NONE, count, number, table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BAR = "\x1f"  # stands for a bar inside a text
LONGEST = 1 << 16  # characters of a text; a command line may be long
HEADER = (
    "JobIDRaw|Cluster|Partition|User|Account|Submit|Eligible|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|ReqCPUS|"
    "NNodes|ConsumedEnergyRaw|JobID|AllocTRES|ReqTRES|QOS|Reservation|Constraints|Licenses|Suspended|JobName|"
    "Reason|Flags|Restarts|Priority|NodeList|SubmitLine"
)


def lines_of(data: Any, path: str) -> Iterator[str]:
    """Give a line of column names, and a line for each job of the parsed JSON of `sacct --json`.

    The older layouts (openapi/dbv0.0.36 to 38) have plain numbers and one state; from data_parser v0.0.39 on a number
    may be `{"set": true, "infinite": false, "number": 60}`, and from v0.0.40 on a job has a list of states. Times that
    are not yet known are 0.
    """
    jobs = data.get("jobs") if isinstance(data, dict) else None
    if not isinstance(jobs, list):
        raise TraceError(f"{path}: it has no list of jobs; give what `sacct --json` prints.")
    yield HEADER
    for k, job in enumerate(jobs, 1):
        if not isinstance(job, dict) or not isinstance(job.get("time"), dict):
            what = "it has no times under 'time', as jobs of squeue" if isinstance(job, dict) else "it is not an object"
            raise TraceError(f"{path}, job {k}: {what}; dump with sacct --json.")
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
    """Return the amounts, as texts, in a JSON list of resources, by name such as "cpu" or "gres/gpu"."""
    found = {}
    for one in resources if isinstance(resources, list) else []:
        if isinstance(one, dict):
            name = "/".join(str(part) for part in (one.get("type"), one.get("name")) if part)
            found[name] = _number(one.get("count"))
    return found


def _kind(job: dict[str, Any]) -> str:
    """Return a JSON job's JobID as sacct -P prints it: 17, 17_3 for a task of an array, 17+1 for a part of a job."""
    for kind, key, mark in (("array", "task_id", "_"), ("het", "job_offset", "+")):
        group = table(job.get(kind))
        if (several := count(group.get("job_id"))) and (part := _number(group.get(key))):
            return f"{several}{mark}{part}"
    return _number(job.get("job_id"))


def _name(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _number(value: Any, infinite: str = "") -> str:
    """Return the number in a value of JSON as text; "" if it is not set, and `infinite` for infinity.

    A value that is no number is returned as text, so that a later check refuses it.
    """
    found = number(value)
    if found is None:
        return "" if value is None or value in NONE or isinstance(value, dict) else str(value)
    return infinite if found == math.inf else str(found)


COMMAND = (
    "sacct -a -X -D -P --noconvert --format="
    "JobIDRaw,Cluster,Partition,User,Account,Submit,Eligible,JobName,Start,End,Constraints,ElapsedRaw,TimelimitRaw,"
    "State,AllocCPUS,NNodes,JobID,ReqTRES,QOS,Reservation,Suspended,SubmitLine"
)
SEPARATORS = "|;\t,"
MOST_WAYS = 100
_PROGRAMS = re.compile(r"\S*\b(?:sbatch|srun|salloc)\b")
# Columns of texts in which Slurm does not escape bars, the likeliest first, and a test for such a text.
_WITH_BARS: dict[str, Callable[[str], object]] = {
    "constraints": re.compile(r"[^\s,]*|\(null\)").fullmatch,
    "submitline": lambda text: not text or _PROGRAMS.match(text),
    "licenses": re.compile(r"[\w.@:,;|/-]*|\(null\)").fullmatch,
    "jobname": lambda text: True,
    "comment": lambda text: True,
    "workdir": re.compile(r"(?:/.*)?").fullmatch,
}


def barred(text: str, path: str) -> list[str]:
    """Return the lines of a dump, with bars between fields; JSON, and tables with ; , or tabs, are converted."""
    if text.lstrip().startswith("{"):
        return list(lines_of(parse_json(text, path), path))
    lines = text.replace("\r\n", "\n").split("\n")
    header = next((line for line in lines if line.strip()), "")
    mark = next((mark for mark in SEPARATORS if mark in header), "|")
    if mark == "|":
        return lines
    try:
        rows = csv.reader((line.replace("|", BAR) for line in lines), delimiter=mark)
        return ["|".join(" ".join(cell.split("\n")) for cell in row) for row in rows]
    except csv.Error as error:
        raise TraceError(f"{path}: {error}; dump with: {COMMAND}") from None


def is_dump(header: str) -> bool:
    """Return whether a line names sacct's columns: a submit, a run time and a size at least; any separator will do."""
    mark = next((mark for mark in SEPARATORS if mark in header), "|")
    named = {name.strip().strip('"').lower() for name in header.split(mark)}
    return (
        "submit" in named
        and bool(named & {"elapsedraw", "elapsed", "end"})
        and bool(named & {"alloccpus", "ncpus", "reqcpus", "allocnodes", "nnodes"})
    )


def with_bars_in_texts(line: str, names: list[str], bars: int, sound: Callable[[dict[str, str]], bool]) -> str | None:
    """Return a line that has more than `bars` bars, with those inside texts replaced by `BAR`; None if that fails.

    Slurm does not escape bars in texts, as in `--constraint="a|b"` or a pipe in a command. Bars are assigned to texts
    such that all other fields can be read, which `sound` tests for fields by their columns. If there are several ways,
    the likeliest is taken.
    """
    fields = line.split("|")
    more = len(fields) - 1 - bars
    ways: list[list[str]] = list(islice(_ways(fields, names, more, sound), MOST_WAYS)) if more > 0 else []
    if not ways:
        return None
    unlikely = [names.index(name) for name in reversed(_WITH_BARS) if name in names]
    likeliest = min(ways, key=lambda way: [way[k].count(BAR) for k in unlikely])
    return "|".join(likeliest)


def _ways(
    fields: list[str], names: list[str], more: int, sound: Callable[[dict[str, str]], bool]
) -> Iterator[list[str]]:
    """Give each way to join fields to the cells of these columns; there are `more` fields too many.

    Only columns that may have bars in their texts take several fields, and the cells must pass `sound`.
    """
    k = next((k for k, name in enumerate(names) if name in _WITH_BARS), len(names))
    if not sound(dict(zip(names[:k], fields[:k], strict=False))):
        return
    if k == len(names):
        if not more:
            yield fields
        return
    for inside in range(more + 1):
        text = "|".join(fields[k : k + inside + 1])
        if _WITH_BARS[names[k]](text):
            for rest in _ways(fields[k + inside + 1 :], names[k + 1 :], more - inside, sound):
                yield [*fields[:k], text.replace("|", BAR), *rest]
