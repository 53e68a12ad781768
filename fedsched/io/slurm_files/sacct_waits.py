"""Conversion of the conditions on the start of Slurm's jobs: dependencies (--dependency), earliest begins (--begin).

A dependency names jobs by their numbers in Slurm; a workload's dependency names them by the workload's ids.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.io.slurm_files.sacct_lines import BAR
from fedsched.io.slurm_files.sacct_texts import PREFIX
from fedsched.io.slurm_files.sacct_values import WORDS
from fedsched.model.constraints.corresponding import MOST, counterparts
from fedsched.model.jobs.log import FAILED, Demand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.io.slurm_files.sacct_texts import Texts

    Column = NDArray[np.float64]

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_CLOCKS = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_NOW = re.compile(r"now\s*(?:([+-])\s*(\d{1,9})\s*(?:(second|minute|hour|day|week)s?)?)?", re.IGNORECASE)
_UTS = re.compile(r"uts(\d{7,11})", re.IGNORECASE)
_TIME = (
    r"(?:(?P<clock>midnight|elevenses|noon|fika|teatime)|"
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[ap]m)?)"
)
_DAY = (
    r"(?:(?P<word>today|tomorrow)|(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)|"
    r"(?P<month_>\d\d?)[/.](?P<day_>\d\d?)(?:[/.](?P<year_>\d\d))?|"
    r"(?P<month__>\d\d)(?P<day__>\d\d)(?P<year__>\d\d)?)"
)
_BETWEEN = r"(?:\s*[T-]\s*|\s+)"
_TIMES = [
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (f"{_DAY}(?:{_BETWEEN}{_TIME})?", f"{_TIME}(?:{_BETWEEN}{_DAY})?")
]


def begin_of(text: str, submit: float, *, local: bool) -> float:
    """Return the earliest start of a job in seconds since 1970; NaN if the text cannot be read as a time.

    Parameters
    ----------
    text
        The value of --begin.
    submit
        When the job was submitted, in seconds since 1970.
    local
        Whether `submit` is in local time; else it is UTC, and local times are unknown.
    """
    text = text.strip()
    if match := _NOW.fullmatch(text):
        sign, count, unit = match.groups()
        return submit + int(f"{sign or '+'}{count or 0}") * _SECONDS[(unit or "second").lower()]
    if match := _UTS.fullmatch(text):
        return math.nan if local else float(match[1])
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _TIMES)), None)
    if match is None or not local:
        return math.nan
    try:
        return _time(match, datetime.fromtimestamp(submit, UTC)).timestamp()
    except (ValueError, OverflowError):  # the 30th of February, 13:00 pm
        return math.nan


def _time(match: re.Match[str], now: datetime) -> datetime:
    """Return the time in a match of `_TIMES`; if the day or its year is missing, the next such time after `now`."""
    part = match.groupdict()
    hour, minute, second = _clock(part)
    month, day = (int(part[name] or part[f"{name}_"] or part[f"{name}__"] or 0) for name in ("month", "day"))
    year = int(part["year"] or 0) or (2000 + short if (short := int(part["year_"] or part["year__"] or 0)) else 0)
    if month and not year:
        year = now.year + ((month, day, hour, minute) <= (now.month, now.day, now.hour, now.minute))
    if not month:
        today = part["word"] and part["word"].lower() == "today"
        today = today or (not part["word"] and (hour, minute) > (now.hour, now.minute))
        date = now if today else now + timedelta(days=1)
        year, month, day = date.year, date.month, date.day
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _clock(part: dict[str, str | None]) -> tuple[int, int, int]:
    if part["clock"]:
        return _CLOCKS[part["clock"].lower()], 0, 0
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if part["half"]:
        if hour > 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (part["half"].lower() == "pm")
    return hour, minute, second


# Slurm's kinds of dependency, and those of a workload.
_WORDS = {word: word for word in ("after", "afterany", "afterok", "afternotok")} | {"aftercorr": "afterok"}
_NOT_MODELLED = {"afterburstbuffer": Demand.BURST_BUFFER, "expand": Demand.EXPANSION}
_STATE = re.compile(r"\((?:un)?fulfilled\)|\(failed\)", re.IGNORECASE)  # as squeue shows them
_PARTS = re.compile(r",(?![^\[]*\])")
_JOBS = re.compile(r":(?![^\[]*\])")
_JOB = re.compile(r"(\d{1,15})(?:_(\*|\d{1,9}|\[[\d,%:-]+\]))?(?:\+(\d{1,9}))?", re.ASCII)
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)
# From this number on an id is that of a job in a federation of Slurm clusters, and contains its cluster.
_OF_A_FEDERATION = 1 << 26
_MOST_TASKS = 100_000


class Wanted(NamedTuple):
    """A dependency as Slurm writes it: a word such as afterok, and a job; `task` is one task of an array, None for all.

    `lag` is "" or the delay, as "+10", in minutes.
    """

    word: str
    job: int
    task: int | None
    lag: str
    corresponding: bool  # each task of an array waits for the task with the same number


SINGLETON = Wanted("singleton", -1, None, "", False)


def wanted_in(text: str) -> tuple[list[Wanted], Demand]:
    """Return the dependencies in a text of Slurm, all of which must hold, and the `Demand` bits of those not modelled.

    A choice of dependencies (with ?) is not modelled.
    """
    text = _STATE.sub("", text).strip()
    if text.lower() in WORDS or text in ("0", "(null)"):
        return [], Demand(0)
    if "?" in text:
        return [], Demand.EITHER_OR
    found: list[Wanted] = []
    lacking = Demand(0)
    for part in _PARTS.split(text):
        word, colon, jobs = part.strip().partition(":")
        word = word.lower()
        if word == "singleton" and not colon:
            found.append(SINGLETON)
        elif not colon and (match := _JOB.fullmatch(word)) and not match[3]:  # an old form: only a number
            found += _dependencies_on("afterany", match, corresponding=False)
        elif word in _WORDS and all(matches := [_JOB.fullmatch(one) for one in _JOBS.split(jobs)]):
            corresponding = word == "aftercorr"
            each = [_dependencies_on(_WORDS[word], match, corresponding=corresponding) for match in matches if match]
            found += [one for ones in each for one in ones]
            lacking |= Demand(0) if all(each) else Demand.DEPENDENCY
        else:
            lacking |= _NOT_MODELLED.get(word, Demand.DEPENDENCY)
    return found, lacking


def _dependencies_on(word: str, match: re.Match[str], *, corresponding: bool) -> list[Wanted]:
    job, task, minutes = int(match[1]), match[2], int(match[3] or 0)
    tasks = [None] if task is None or task == "*" else _tasks(task)
    return [Wanted(word, job, one, f"+{minutes}" if minutes else "", corresponding) for one in tasks]


def _tasks(text: str) -> list[int | None]:
    """Return the task numbers in a text like 3, [1-5,8] or [0-9:2] (every second one), without unreadable parts."""
    found: list[int | None] = []
    for part in text.strip("[]").split("%")[0].split(","):
        if (match := _TASKS.fullmatch(part)) and len(found) < _MOST_TASKS:
            first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1) or 1
            found += range(first, min(last, first + _MOST_TASKS - 1) + 1, step)
    return found


@dataclass(frozen=True, slots=True)
class Jobs:
    """Columns of a dump's records, one row for each; a requeued job has several records."""

    id: NDArray[np.float64]  # the id in the workload
    raw: NDArray[np.float64]  # JobIDRaw: each task of an array has its own
    master: NDArray[np.float64]  # for an array the number before the _, else that of the job
    task: NDArray[np.float64]  # the number after the _, else -1
    cluster: NDArray[np.float64]
    submit: NDArray[np.float64]
    status: NDArray[np.float64]

    def first_submits(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the first submit of each of these rows' jobs, over all records of the job: a requeue has its own."""
        same = np.flatnonzero(np.isin(self.raw, self.raw[rows]))
        first: dict[tuple[float, float], float] = {}
        for key, submit in zip(_pairs(self.cluster, self.raw, same), self.submit[same].tolist(), strict=True):
            first[key] = min(submit, first.get(key, submit))
        own = zip(_pairs(self.cluster, self.raw, rows), self.submit[rows].tolist(), strict=True)
        return np.array([first.get(key, submit) for key, submit in own])  # a job without a number has one record


def conditions_on(
    jobs: Jobs, rows: NDArray[np.int64], texts: Sequence[str], *, names_known: bool
) -> tuple[dict[int, str], dict[int, Demand]]:
    """Return, by row, the dependencies of jobs as a workload writes them, and `Demand` bits of what is not modelled.

    Rows without one are missing from the dictionary.

    Parameters
    ----------
    jobs
        All records.
    rows, texts
        The rows of jobs with dependencies, and the dependencies as Slurm writes them.
    names_known
        Whether users and names of jobs are known, which a singleton needs.
    """
    read = {text: wanted_in(text) for text in dict.fromkeys(texts)}
    known = _Known(jobs, {one.job for wanted, _ in read.values() for one in wanted})
    after: dict[int, str] = {}
    lacking: dict[int, Demand] = {}
    listed = 0
    alike: dict[tuple[object, ...], tuple[str, int]] = {}  # the tasks of an array have the same dependencies
    columns = (jobs.cluster[rows], jobs.master[rows], jobs.task[rows], jobs.first_submits(rows))
    own = zip(rows.tolist(), *(column.tolist() for column in columns), texts, strict=True)
    for row, cluster, master, task, first, text in own:
        wanted, missing = read[text]
        if not names_known and SINGLETON in wanted:
            wanted, missing = [one for one in wanted if one is not SINGLETON], missing | Demand.SINGLETON
        key = (text, cluster, master, first, task if any(one.corresponding for one in wanted) else None)
        if key not in alike:
            waiting = _Waiting(cluster, master, int(task), first)
            found = dict.fromkeys(one for each in wanted for one in known.conditions(each, waiting))
            alike[key] = ",".join(found), len(found)
        said, count = alike[key]
        if listed + count > MOST:
            said, missing = "", missing | Demand.UNLISTED
        if said:
            listed += count
            after[row] = said
        if missing:
            lacking[row] = missing
    return after, lacking


class _Waiting(NamedTuple):
    """A job with dependencies: its cluster, its number (that of the array for a task), task and first submit."""

    cluster: float
    master: float
    task: int
    first: float


class _Known:
    """The jobs that dependencies name, by cluster and number: the row of a job's last record, and its first submit."""

    def __init__(self, jobs: Jobs, numbers: set[int]) -> None:
        self.id = jobs.id
        self.status = jobs.status
        self.single: dict[tuple[float, float], tuple[int, float]] = {}
        self.arrays: dict[tuple[float, float], dict[int, tuple[int, float]]] = {}
        wanted = np.array(sorted(numbers), dtype=np.float64)
        rows = np.flatnonzero(np.isin(jobs.raw, wanted) | np.isin(jobs.master, wanted))
        order = rows[np.argsort(jobs.submit[rows], kind="stable")]
        for row, key, array, task, submit in zip(
            order.tolist(),
            _pairs(jobs.cluster, jobs.raw, order),
            _pairs(jobs.cluster, jobs.master, order),
            jobs.task[order].tolist(),
            jobs.submit[order].tolist(),
            strict=True,
        ):
            self.single[key] = (row, self.single.get(key, (row, submit))[1])
            if task >= 0:
                tasks = self.arrays.setdefault(array, {})
                tasks[int(task)] = (row, tasks.get(int(task), (row, submit))[1])
        self.unused_id = int(max([jobs.id.max(initial=0.0), *numbers])) + 1  # an id that no job has
        self.used_ids = set(wanted[np.isin(wanted, jobs.id)].tolist())
        self.cluster_of = {number: cluster for cluster, number in (*self.single, *self.arrays)}

    def conditions(self, wanted: Wanted, waiting: _Waiting) -> list[str]:
        """Return one dependency of a job as a workload's conditions on single jobs, such as "afterok:17".

        A job that is not in the dump keeps its number, or gets an unused id if another job has that one.
        """
        if wanted is SINGLETON:
            return [wanted.word]
        key = self._key(wanted.job, waiting.cluster)
        tasks = self.arrays.get(key, {})
        named = tasks if wanted.task is None else {k: task for k, task in tasks.items() if k == wanted.task}
        targets = counterparts(waiting.task, tasks, named) if wanted.corresponding else list(named.values())
        if not targets and wanted.task is None and key in self.single:
            targets = [self.single[key]]
        # A job that was submitted later is not meant: the number was used again.
        before = (waiting.first, waiting.master)
        there = [row for row, first in targets if (first, wanted.job) < before]
        if not there:
            # The job is not in the dump: keep its number if no job of the workload has that id, else use a free id.
            return [f"{wanted.word}:{self.unused_id if wanted.job in self.used_ids else wanted.job}{wanted.lag}"]
        words = [wanted.word] * len(there)
        if wanted.word == "afternotok" and len(there) > 1:  # for an array: all tasks have ended, and one of them failed
            bad = next((k for k, row in enumerate(there) if self.status[row] == FAILED), 0)
            words = ["afternotok" if k == bad else "afterany" for k in range(len(there))]
        return [f"{word}:{int(self.id[row])}{wanted.lag}" for word, row in zip(words, there, strict=True)]

    def _key(self, job: int, cluster: float) -> tuple[float, float]:
        number = float(job)
        if job >= _OF_A_FEDERATION and (cluster, number) not in self.single and (cluster, number) not in self.arrays:
            cluster = self.cluster_of.get(number, cluster)
        return (cluster, number)


def _pairs(
    cluster: NDArray[np.float64], number: NDArray[np.float64], rows: NDArray[np.int64]
) -> zip[tuple[float, float]]:
    return zip(cluster[rows].tolist(), number[rows].tolist(), strict=True)


_OF_AN_ARRAY = re.compile(r"(\d{1,15})_(\d{1,9})", re.ASCII)


class Waits(NamedTuple):
    """Columns of what the jobs of a dump wait for besides nodes; `after` or `begin` is None if no job has one."""

    after: NDArray[Any] | None  # dependencies, written as in a workload
    begin: Column | None  # seconds since 1970
    lacking: NDArray[np.int64]  # `Demand` bits of what is not modelled
    why: NDArray[np.bool_]  # jobs that these conditions may hold beyond their submit


def arrays_of(texts: list[str] | None, jobs: int) -> dict[str, Column]:
    """Return two columns, "array" and "task": the array's number and the task's, from a JobID like 17_3.

    Both are -1 for a job in no array.
    """
    array, task = np.full(jobs, -1.0), np.full(jobs, -1.0)
    if texts is not None and "_" in "".join(texts):
        for k, text in enumerate(texts):
            if "_" in text and (match := _OF_AN_ARRAY.fullmatch(text)):
                array[k], task[k] = float(match[1]), float(match[2])
    return {"array": array, "task": task}


def waits_of(read: Mapping[str, Column], texts: Texts, *, ids: Column, names_known: bool, local: bool) -> Waits:
    """Return the dependencies and earliest begins of a dump's jobs.

    Parameters
    ----------
    read, texts
        The numeric columns of the dump, and the texts that their codes stand for.
    ids
        The jobs' ids in the workload.
    names_known
        Whether the dump has job names; a singleton dependency needs them, and users.
    local
        Whether times are local times.
    """
    jobs = len(ids)
    lacking, why = np.zeros(jobs, dtype=np.int64), np.zeros(jobs, dtype=np.bool_)
    if PREFIX + "dependency" not in read:
        return Waits(None, None, lacking, why)
    dependency, begin = (read[PREFIX + name].astype(np.int64) for name in ("dependency", "begin"))
    known = Jobs(
        id=ids,
        raw=read["id"],
        master=np.where(read["task"] >= 0, read["array"], read["id"]),
        task=read["task"],
        cluster=read.get("cluster", np.zeros(jobs)),
        submit=read["submit"],
        status=read.get("state", np.full(jobs, -1.0)),
    )
    after, told = None, np.flatnonzero(dependency)
    if told.size:
        words = texts.texts("dependency")
        said, missing = conditions_on(
            known,
            told,
            [words[code].replace(BAR, "|") for code in dependency[told].tolist()],
            names_known=names_known and "user" in read,
        )
        for row, bits in missing.items():
            lacking[row] |= bits
        if said:
            after = np.full(jobs, "", dtype=object)
            after[list(said)] = list(said.values())
            why[list(said)] = True
    starts, told = None, np.flatnonzero(begin)
    if told.size:
        words = texts.texts("begin")
        first = known.first_submits(told).tolist()
        times = [begin_of(words[code], at, local=local) for code, at in zip(begin[told].tolist(), first, strict=True)]
        starts = np.zeros(jobs)
        starts[told] = np.nan_to_num(times, nan=0.0)
        lacking[told[np.isnan(times)]] |= Demand.BEGIN
        why |= starts > read["submit"]
    return Waits(after, starts, lacking, why)
