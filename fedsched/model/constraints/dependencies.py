"""Dependencies: the conditions on other jobs that a job waits for before it may start, as in Slurm [34, 35]."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.core.text import counted, first_of, one_line
from fedsched.core.values import MOST_SECONDS
from fedsched.model.constraints.cancellations import may_be_cancelled
from fedsched.model.constraints.feedback import followers_of
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.log import CANCELLED, DONE, FAILED, LogColumns
from fedsched.model.reading import USUAL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.reading import Reading

MINUTE = 60.0


class Kind(IntEnum):
    """The kind of a condition, by Slurm's names: which event of another job it waits for."""

    AFTER = 0  # its start
    AFTERANY = 1  # its end
    AFTEROK = 2  # its end, if it ends well
    AFTERNOTOK = 3  # its end, if it ends badly
    SINGLETON = 4  # the end of every job of the same user and name before this one
    AFTERCORR = 5  # of the counterpart in another array; a workload replaces it by AFTEROK conditions at once


class End(IntEnum):
    """How a job ends: well, badly (failed or killed) or cancelled."""

    WELL = 0
    BADLY = 1
    CANCELLED = 2


STATUS = {End.WELL: DONE, End.BADLY: FAILED, End.CANCELLED: CANCELLED}  # in a log


class Condition(NamedTuple):
    """One condition of a job: it waits until `lag` seconds after the event `kind` of the job with the id `on`.

    `on` is -1 for a singleton, which waits for the ends of all earlier jobs of the same user and name.
    """

    kind: Kind
    on: int  # the other job's id; -1 for a singleton
    lag: float

    def __str__(self) -> str:
        event = self.kind.name.lower() + ("" if self.kind is Kind.SINGLETON else f":{self.on}")
        if self.lag == 0.0:
            return event
        minutes = self.lag / MINUTE
        return f"{event}+{int(minutes)}" if minutes == int(minutes) else f"{event}+{self.lag!r}s"


class Edges(NamedTuple):
    """Conditions as columns: the job in row `job` waits for the job `on`, plus a lag in seconds.

    `on` is a row, except in `Dependencies.waits`, which has ids there.
    """

    job: NDArray[np.int64]
    on: NDArray[np.int64]
    kind: NDArray[np.int64]
    lag: NDArray[np.float64]


_NO_ROWS = np.zeros(0, dtype=np.int64)
NO_EDGES = Edges(_NO_ROWS, _NO_ROWS, _NO_ROWS, np.zeros(0))
_JOB = re.compile(r"(\d{1,18})(?:\+([0-9.eE+-]+)(s?))?")
_LAG = re.compile(r"\+([0-9.eE+-]+)(s?)")


@dataclass(frozen=True, slots=True, eq=False)
class Dependencies(JobColumns):
    """The conditions on other jobs of each job, as texts in Slurm's syntax: "afterok:12:13,singleton", "after:7+10".

    A job waits until all its conditions hold. The number after a + is a lag in minutes, or in seconds with an s.
    """

    PREFIX = ""
    NAMES = ("after",)
    CELL = str
    NOTHING = ""

    texts: NDArray[Any]
    waits: Edges  # the same conditions as numbers; `on` is a job id

    @classmethod
    def of(cls, given: Dependencies | Mapping[Any, Any] | Sequence[str], ids: NDArray[np.int64]) -> Dependencies | None:
        """Return the checked dependencies of these jobs; None if no job has any; raise if a text is invalid.

        `given` has one text per job, or texts by job id.
        """
        if isinstance(given, Dependencies):
            return given
        if isinstance(given, Mapping) and set(given) != {"after"}:
            given = [given.get(int(job), "") for job in ids]
        texts = given["after"] if isinstance(given, Mapping) else given
        column = np.array(["" if text is None or text != text else str(text).strip() for text in texts], dtype=object)
        if column.shape != ids.shape:
            texts_for = f"{counted(column.size, 'text')} for {counted(ids.size, 'job')}"
            raise ValueError(f"after: {texts_for}; give one for each.")
        if not any(column):
            return None
        rows = np.flatnonzero(column != "")
        read: dict[str, tuple[str, list[Condition]]] = {}  # the tasks of an array share one text
        for row in rows.tolist():
            if (text := column[row]) not in read:
                conditions = conditions_of(text, f"Job {ids[row]}")
                read[text] = ",".join(map(str, conditions)), conditions
        found = [read[text] for text in column[rows]]
        told = np.full(column.size, "", dtype=object)
        told[rows] = [text for text, _ in found]
        told.setflags(write=False)
        each = [one for _, conditions in found for one in conditions]
        job = np.repeat(rows, [len(conditions) for _, conditions in found])
        on, kind = (np.array(part, dtype=np.int64) for part in ([one.on for one in each], [one.kind for one in each]))
        return cls(told, Edges(job, on, kind, np.array([one.lag for one in each], dtype=np.float64)))

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the dependencies as one column of texts."""
        return {"after": self.texts}

    def of_job(self, row: int) -> str | None:
        """Return the text of one job's dependencies; None if it has none."""
        return str(self.texts[row]) or None

    @classmethod
    def of_jobs(cls, said: Sequence[Any]) -> dict[str, NDArray[Any]]:
        """Return the column of texts by its name from each job's text, in order; {} if all are empty."""
        return {"after": np.array([text or "" for text in said], dtype=object)} if any(said) else {}

    def renumbered(self, new: Mapping[int, int]) -> Dependencies | None:
        """Return the dependencies for new job ids (`new` maps old ids to new ones); None if none is left.

        Conditions on jobs without a new id are dropped.
        """
        texts = []
        for text in self.texts.tolist():
            kept = (one for one in conditions_of(text) if one.kind is Kind.SINGLETON or one.on in new)
            texts.append(",".join(str(one._replace(on=new.get(one.on, one.on))) for one in kept))
        return self.of(texts, np.arange(len(texts)))

    def __str__(self) -> str:
        return f"{counted(int((self.texts != '').sum()), 'job')} after others"


def conditions_of(text: str, whose: str = "after") -> list[Condition]:
    """Return the conditions in a text; raise an error that names the job if the text is invalid."""
    found = []
    for part in filter(None, (part.strip() for part in text.split(","))):
        word, _, rest = part.partition(":")
        lag = ""
        if "+" in word:
            word, _, lag = word.partition("+")
            lag = f"+{lag}"
        if "?" in part:
            raise ValueError(f"{whose}: {one_line(text)!r}: either-or conditions ('?') are not modelled.")
        try:
            kind = Kind[word.strip().upper()]
        except KeyError:
            raise unknown_name(f"{whose}: condition", one_line(word), [one.name.lower() for one in Kind]) from None
        if kind is Kind.SINGLETON:
            found.append(Condition(kind, -1, _seconds(_LAG.fullmatch(lag), 1, whose, part) if lag else 0.0))
            continue
        for one in rest.split(":"):
            match = _JOB.fullmatch(one.strip())
            if match is None or lag:
                raise ValueError(
                    f"{whose}: {one_line(part)!r} must be like '{kind.name.lower()}:12', ':12:13' for several, "
                    "'+5' for five minutes later or '+90s' for seconds."
                )
            found.append(Condition(kind, int(match[1]), _seconds(match, 2, whose, part) if match[2] else 0.0))
    return found


def _seconds(match: re.Match[str] | None, first: int, whose: str, part: str) -> float:
    try:
        if match is None:
            raise ValueError
        seconds = float(match[first]) * (1.0 if match[first + 1] else MINUTE)
    except ValueError:
        seconds = float("nan")
    if not 0.0 <= seconds <= MOST_SECONDS:
        raise ValueError(
            f"{whose}: {one_line(part)!r}: what follows + must be minutes, or seconds with an s; at least 0, and at "
            f"most {MOST_SECONDS:g} s."
        )
    return seconds


# ---- a workload's conditions by rows


def edges_of(workload: Workload) -> Edges:
    """Return all conditions between jobs of the workload as edges between rows.

    Conditions on absent jobs count as met and are left out [35]. Edges from `feedback` come last: a job's submit waits
    for the end of its preceding job, however that job ends, plus the think time [45].
    """
    rows, on, think = followers_of(workload)
    moving = Edges(rows, on, np.full(rows.size, int(Kind.AFTERANY)), think)
    return moving if workload.after is None else _concatenated(dependency_edges(workload), moving)


def dependency_edges(workload: Workload) -> Edges:
    """Return the dependencies between jobs of the workload as edges between rows, without edges from `feedback`.

    A singleton has an edge to each job before it, of the same user and name, that it must wait for.
    """
    if workload.after is None:
        return NO_EDGES
    waits = workload.after.waits
    by_id = np.argsort(workload.id, kind="stable")
    place = np.minimum(np.searchsorted(workload.id, waits.on, sorter=by_id), max(by_id.size - 1, 0))
    here = (workload.id[by_id[place]] == waits.on) & (waits.kind != Kind.SINGLETON)
    found = Edges(waits.job[here], by_id[place[here]], waits.kind[here], waits.lag[here])
    return _concatenated(found, _columns(_singleton_waits(workload)))


def _concatenated(*edges: Edges) -> Edges:
    return Edges(*(np.concatenate(parts) for parts in zip(*edges, strict=True)))


def _columns(rows: Sequence[tuple[int, int, int, float]]) -> Edges:
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    job, on, kind = (np.array(column, dtype=np.int64) for column in columns[:3])
    return Edges(job, on, kind, np.array(columns[3], dtype=np.float64))


def _singleton_waits(workload: Workload) -> list[tuple[int, int, int, float]]:
    # A singleton waits for the jobs of its user and name since the previous singleton, and for that one. If the
    # previous one may be cancelled before the jobs that it waits for have ended, these are waited for as well.
    waits = NO_EDGES if workload.after is None else workload.after.waits
    alone: dict[int, float] = {}
    for row, lag in zip(
        *(column[waits.kind == Kind.SINGLETON].tolist() for column in (waits.job, waits.lag)), strict=True
    ):
        alone[row] = max(alone.get(row, 0.0), lag)
    names, going = workload.label("name").tolist(), may_be_cancelled(workload).tolist()
    before: dict[tuple[int, str], list[int]] = {}
    found = []
    for row in np.lexsort((workload.id, workload.submit)).tolist() if alone else ():
        alike = before.setdefault((int(workload.user[row]), names[row]), [])
        if row in alone:
            found += [(row, other, int(Kind.AFTERANY), alone[row]) for other in alike]
            if not going[row]:
                alike.clear()
        alike.append(row)
    return found


def replace_singletons(workload: Workload) -> Dependencies | None:
    """Return the workload's dependencies with singletons replaced by `afterany` on earlier jobs of same user and name.

    The order of the jobs is then fixed, so that submits may change. None if the workload has no dependencies.
    """
    if workload.after is None:
        return None
    if not (workload.after.waits.kind == Kind.SINGLETON).any():
        return workload.after
    ids = workload.id.tolist()
    texts = [
        ",".join(str(one) for one in conditions_of(text) if one.kind is not Kind.SINGLETON)
        for text in workload.after.texts.tolist()
    ]
    for row, other, kind, lag in _singleton_waits(workload):
        texts[row] += f",{Condition(Kind(kind), ids[other], lag)}"
    return Dependencies.of(texts, workload.id)


def ends_of(workload: Workload, reading: Reading) -> NDArray[np.int64]:
    """Return how each job ends if it runs, as `End` [35].

    A job ends badly if its log says that it failed, and as cancelled if its log says so. Otherwise it ends badly if it
    is killed at its estimate, else well.
    """
    ends = np.full(len(workload), int(End.WELL), dtype=np.int64)
    if reading.kill_at_estimate:
        ends[workload.estimate < workload.runtime] = End.BADLY
    if workload.log is not None:
        ends[workload.log.status == FAILED] = End.BADLY
        ends[workload.log.status == CANCELLED] = End.CANCELLED
    return ends


def ends_of_shapes(
    workload: Workload, each: Workload, owner: NDArray[np.int64], reading: Reading
) -> NDArray[np.int64]:
    """Return how each shape of each job ends, as `End`; `each` has a job per shape, `owner` the row of its job."""
    logged = ends_of(workload, USUAL)[owner]
    return np.where(logged == End.WELL, ends_of(each, reading), logged)


def open_ends(
    workload: Workload, each: Workload, owner: NDArray[np.int64], reading: Reading
) -> NDArray[np.bool_]:
    """Return for each job whether it ends well in some of its shapes and badly in others; as `ends_of_shapes`."""
    ends, begin = ends_of_shapes(workload, each, owner, reading), np.flatnonzero(np.diff(owner, prepend=-1))
    return np.asarray(np.minimum.reduceat(ends, begin) < np.maximum.reduceat(ends, begin))


def ending_as(workload: Workload, ends: NDArray[np.int64]) -> Workload:
    """Return the jobs with a log that states these ends, as other jobs may wait for a good or bad one.

    The jobs are returned unchanged if they have no conditions, or if their log states these ends already.
    """
    if workload.after is None or (ends == ends_of(workload, USUAL)).all():
        return workload
    columns = {} if workload.log is None else workload.log.columns()
    status = np.array([STATUS[End(end)] for end in ends.tolist()])
    return replace(workload, log=LogColumns(len(workload), columns | {"status": status}))


def awaited_ends(workload: Workload) -> NDArray[np.bool_]:
    """Return for each job whether another waits for its good end, or for its bad one."""
    found, edges = np.zeros(len(workload), dtype=np.bool_), edges_of(workload)
    found[edges.on[(edges.kind == Kind.AFTEROK) | (edges.kind == Kind.AFTERNOTOK)]] = True
    return found


def never_start(
    workload: Workload,
    reading: Reading,
    edges: Edges | None = None,
    *,
    killed: NDArray[np.int64] | None = None,
    missed: NDArray[np.bool_] | None = None,
    cancelled: NDArray[np.bool_] | None = None,
    begun: NDArray[np.int64] | None = None,
    any_may_be_killed: bool = False,
    either: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return which jobs never start: a condition of theirs cannot hold, or is on a job that never starts [35].

    `edges` are the conditions (None: all of the workload). Jobs in the rows `killed` ended badly. If
    `any_may_be_killed`, every job may still end badly [42]; the jobs `either` may end well or badly [52]. Jobs that
    `missed` a reservation never start [46]. The `cancelled` jobs did not run, except those in the rows `begun`, which
    lost a run. A job with a cancellation time is not among the result, because it ends in any case [44].
    """
    edges = edges_of(workload) if edges is None else edges
    hopeless = np.zeros(len(workload), dtype=np.bool_) if missed is None else missed.copy()
    if not edges.job.size:
        return hopeless
    broken = broken_edges(
        workload, reading, edges, killed=killed, cancelled=cancelled, begun=begun,
        any_may_be_killed=any_may_be_killed, either=either,
    )  # fmt: skip
    hopeless[edges.job[broken]] = True
    going = may_be_cancelled(workload)
    hopeless[going] = False
    if hopeless.any():
        for edge in topological_order(workload, edges):
            hopeless[edges.job[edge]] |= hopeless[edges.on[edge]] and not going[edges.job[edge]]
    return hopeless


def broken_edges(
    workload: Workload,
    reading: Reading,
    edges: Edges,
    *,
    killed: NDArray[np.int64] | None = None,
    cancelled: NDArray[np.bool_] | None = None,
    begun: NDArray[np.int64] | None = None,
    any_may_be_killed: bool = False,
    either: NDArray[np.bool_] | None = None,
) -> NDArray[np.bool_]:
    """Return, for each edge, whether its condition cannot hold because of how the other job ends or is cancelled.

    Parameters are as of `never_start`.
    """
    ends = ends_of(workload, reading)
    broken = np.zeros(edges.job.size, dtype=np.bool_)
    if killed is not None:
        ends[killed] = End.BADLY
    if cancelled is not None:
        ends[cancelled] = End.CANCELLED
        unseen = np.array(cancelled)
        unseen[begun] = False
        broken |= (edges.kind == Kind.AFTER) & unseen[edges.on]
    for kind, wanted in ((Kind.AFTEROK, End.WELL), (Kind.AFTERNOTOK, End.BADLY)):
        if kind != Kind.AFTERNOTOK or not any_may_be_killed:
            settled = True if either is None else ~either[edges.on]
            broken |= (edges.kind == kind) & (ends[edges.on] != wanted) & settled
    return broken


def topological_order(workload: Workload, edges: Edges) -> list[int]:
    """Return the indices of the edges in topological order.

    All conditions of a job come before the conditions of other jobs on this job. Raise if jobs wait in a cycle.
    """
    open_ = np.bincount(edges.job, minlength=len(workload))
    by_on = np.argsort(edges.on, kind="stable")
    begin = np.searchsorted(edges.on[by_on], np.arange(len(workload) + 1)).tolist()
    job_of, edge_of = edges.job[by_on].tolist(), by_on.tolist()
    ready = np.flatnonzero(open_ == 0).tolist()
    left, order = open_.tolist(), list[int]()
    for on in ready:  # the list grows during the loop
        order += edge_of[begin[on] : begin[on + 1]]
        for job in job_of[begin[on] : begin[on + 1]]:
            left[job] -= 1
            if left[job] == 0:
                ready.append(job)
    if len(ready) < len(workload):
        circle = [str(workload.id[row]) for row in _circle(edges, {row for row, count in enumerate(left) if count})]
        raise InfeasibleError(
            f"Job {circle[0]}: it waits for itself through {first_of(circle)} (after); remove one of these conditions."
        )
    return order


def _circle(edges: Edges, among: set[int]) -> list[int]:
    """Return the rows of a cycle of jobs in which each waits for the next; `among` are rows that contain one."""
    waits_for = {job: on for job, on in zip(edges.job.tolist(), edges.on.tolist(), strict=True) if {job, on} <= among}
    seen: dict[int, None] = {}
    job = min(waits_for)
    while job not in seen:
        seen[job] = None
        job = waits_for[job]
    walked = list(seen)
    return walked[walked.index(job) :]


def conditions_on_absent_jobs(workload: Workload) -> str | None:
    """Return, in words, how many jobs have conditions on jobs that are not in the workload; None if none have."""
    if workload.after is None:
        return None
    waits = workload.after.waits
    lacking = (waits.kind != Kind.SINGLETON) & ~np.isin(waits.on, workload.id)
    away = np.unique(waits.job[lacking]).size
    return f"{counted(away, 'job')} after jobs that are not here (taken to have ended before)" if away else None
