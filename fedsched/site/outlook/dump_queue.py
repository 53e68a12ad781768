"""Read a queue from a dump (a folder with the output of Slurm's commands).

It is the queue that squeue printed when the dump was taken, or the queue at any earlier moment, from sacct's records.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import TwinError, shortened
from fedsched.core.text import counted
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.slurm_values import seconds_of
from fedsched.io.wall_clock import wall_time_of
from fedsched.site.outlook.habits import Runs
from fedsched.site.steer import Queue, SlurmJob
from fedsched.site.steer.jobs_read import NO_RESOURCES, extra_resources_of
from fedsched.site.steer.machine_read import nodes_of_text, partitions_of, reservations_of, settings_of
from fedsched.site.twin.commands import BAR, CONFIG, NODES, PARTITIONS, QUEUE, RESERVATIONS, separator_in
from fedsched.slurm.conf.job_factors import JobRequest, Scales
from fedsched.slurm.priority.priority_parameters import PriorityParameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.site.twin import Site
    Column = NDArray[np.float64]
    Rows = NDArray[np.int64]
    from collections.abc import Iterator, Mapping


TASKS = 1_000_000_000  # factor that makes a task's number from its array's: far above every job number
PARTS = 900_000_000  # offset in the number of a part of a heterogeneous job
FEATURES = "features"
_TASK = re.compile(r"(\d{1,12})(?:_(\d{1,9})|\+(\d{1,9}))?", re.ASCII)
_SIZES = {"K": 1024, "M": 1024**2}


class Factors:
    """Computes the priorities that a dump's jobs had at any moment that it covers.

    The factors of age, size, partition, QOS and association are computed. What fair share adds is on record only in the
    priority that is noted when a job starts. For each user and account it is taken from the latest job that had started
    by the moment. For users without such a job it is the median of the others.
    """

    def __init__(self, site: Site) -> None:
        self.site = site
        self.parameters = PriorityParameters.of(site.machine.conf)
        self._scales = Scales(self.parameters, site.accounts)
        self._limits = site.limits
        self._fixed: dict[tuple[str | float, ...], float] = {}

    @property
    def are_used(self) -> bool:
        """Return whether the cluster uses priority/multifactor; else jobs are ordered by when they became eligible."""
        return self.parameters.multifactor

    def at(self, moment: float, rows: Rows) -> Column:
        """Return the priorities, at least 1, that the jobs in these rows of the records had at a wall-clock time."""
        records = self.site.records
        shares = self._shares(moment)
        unknown = float(np.median(list(shares.values()))) if shares else 0.0
        of_user = np.array([shares.get(self._whose(row), unknown) for row in rows.tolist()], dtype=np.float64)
        age = self._age(np.maximum(0.0, moment - records.eligible[rows]))
        return np.maximum(1.0, self._asked(rows) + age + of_user)

    def _shares(self, moment: float) -> dict[tuple[str, str], float]:
        """Return, by user and account, what fair share added to the priority at their latest start by a moment."""
        records = self.site.records
        begun = np.flatnonzero((records.start <= moment) & (records.priority > 0))
        begun = begun[np.argsort(records.start[begun], kind="stable")]
        latest = {self._whose(row): row for row in begun.tolist()}
        rows = np.array(list(latest.values()), dtype=np.int64)
        age = self._age(np.maximum(0.0, records.start[rows] - records.eligible[rows]))
        left = records.priority[rows] - self._asked(rows) - age
        return dict(zip(latest, left.tolist(), strict=True))

    def _whose(self, row: int) -> tuple[str, str]:
        labels = self.site.records.labels
        return labels["user"][row], labels["account"][row]

    def _age(self, seconds: Column) -> Column:
        weight, most = float(self.parameters.age), self.parameters.max_age
        return weight * np.clip(seconds / most, 0.0, 1.0) if 0.0 < most < np.inf else np.zeros(seconds.size)

    def _asked(self, rows: Rows) -> Column:
        """Return, for each row, the sum of the priority factors that do not change with time."""
        found = np.empty(rows.size)
        for k, row in enumerate(rows.tolist()):
            found[k] = self._of(row)
        return found

    def _of(self, row: int) -> float:
        records = self.site.records
        label = {name: str(values[row]) for name, values in records.labels.items()}
        known = self.parameters.partitions
        partition = label["partition"] if label["partition"] in known else next(iter(known), "")
        key = (label["user"], label["account"], partition, label["qos"], int(records.nodes[row]),
               max(1, int(records.cpus[row])), float(self._limits[row]))  # fmt: skip
        if key not in self._fixed:
            asked = JobRequest(*key, amounts={"cpu": float(key[5]), "node": float(key[4])})
            fixed = self._scales.fixed_factors(asked)
            self._fixed[key] = fixed.assoc + fixed.size + fixed.partition + fixed.qos + sum(fixed.tres.values())
        return self._fixed[key]


def runs_by(site: Site, moment: float) -> Runs:
    """Return the runs that had ended by a wall-clock time, without preempted ones, then those that still ran.

    Their run times are those known by then.
    """
    records = site.records
    over = np.flatnonzero((records.end <= moment) & ~records.preempted)
    over = over[np.argsort(records.end[over], kind="stable")]
    on = np.flatnonzero((records.start <= moment) & ~(records.end <= moment))
    on = on[np.argsort(records.start[on], kind="stable")]
    rows = np.concatenate([over, on])
    run = np.minimum(np.where(np.isnan(records.end), moment, records.end), moment) - records.start
    ended = np.arange(rows.size) < over.size
    return Runs(records.labels["user"][rows], site.limits[rows], run[rows], ended)


def queue_of(site: Site) -> tuple[Queue, list[str]]:
    """Return the queue when the dump was taken, and notes on what is assumed.

    It is read from squeue's output, or from the records if the dump has none.
    """
    if not site.dump.has(QUEUE):
        queue, notes = queue_at(site, site.dump.taken)
        turn = "by the priorities on record" if Factors(site).are_used else "as they became eligible"
        return queue, [*notes, f"assumed: jobs are ordered {turn}, since the dump has no {QUEUE}"]
    known = {int(job): row for row, job in enumerate(site.records.job.tolist()) if job == job}
    jobs = tuple(_of_squeue(site, known, line, words) for line, words in _rows(site.dump.text(QUEUE)))
    return _with_nodes(replace(frame_of(site), jobs=jobs))


def queue_at(site: Site, moment: float, frame: Queue | None = None) -> tuple[Queue, list[str]]:
    """Return the queue at a moment of the dump, rebuilt from the records, and notes on what is assumed.

    `frame` is what `frame_of` returns; callers that look at many moments read it once.

    Under priority/multifactor, jobs are ordered by their priority as far as it was known at the moment; else by when
    they became eligible. A job that was not eligible yet has the reason BEGINTIME if it asked for a begin time, else
    NOT ELIGIBLE YET.
    """
    records = site.records
    begun = records.start <= moment
    here = (records.submit <= moment) & ~(records.end <= moment)
    rows = np.flatnonzero(here & ~(records.gone & (records.end <= records.submit)))
    queue = replace(frame or frame_of(site), now=moment)
    priority = _priorities(site, moment, rows)
    last = moment >= site.dump.taken
    jobs = tuple(
        _of_record(site, row, begun=bool(begun[row]), turn=turn, moment=moment, last=last)
        for row, turn in zip(rows.tolist(), priority, strict=True)
    )
    return _with_nodes(replace(queue, jobs=jobs))


def _priorities(site: Site, moment: float, rows: NDArray[np.int64]) -> list[int]:
    """Return a priority for the job in each of these rows at a moment; greater ones come first in the queue."""
    factors = Factors(site)
    if factors.are_used:
        return factors.at(moment, rows).astype(np.int64).tolist()  # type: ignore[no-any-return]
    place = np.argsort(np.argsort(site.records.eligible[rows], kind="stable"), kind="stable")
    return (rows.size - place).tolist()  # type: ignore[no-any-return]


def frame_of(site: Site) -> Queue:
    """Return a queue without jobs: the nodes, partitions, settings and reservations when the dump was taken."""
    dump = site.dump
    settings, _ = settings_of(dump.text(CONFIG))
    return Queue(
        cluster=site.machine.conf.name,
        now=dump.taken,
        jobs=(),
        nodes=nodes_of_text(dump.text(NODES)),
        partitions=partitions_of(dump.text(PARTITIONS)),
        settings=settings,
        federation={},
        reservations=reservations_of(dump.text(RESERVATIONS)) if dump.has(RESERVATIONS) else (),
    )


def _with_nodes(queue: Queue) -> tuple[Queue, list[str]]:
    """Return the queue with nodes chosen for each running job without known ones, and a note on that.

    The chosen nodes are unused ones of the job's partition. If all are known, return the queue and no note.
    """
    there = {node.name for node in queue.nodes}
    taken = {name for job in queue.running for name in job.hosts}
    without = [job for job in queue.running if not job.hosts or not set(job.hosts) <= there]
    if not without:
        return queue, []
    of_partition = {one.name: one.nodes for one in queue.partitions}
    found: dict[int, SlurmJob] = {}
    for job in without:
        usable = [node.name for node in queue.nodes if node.is_up and node.name not in taken
                  and node.name in of_partition.get(job.partition, there)]  # fmt: skip
        given = tuple(usable[: job.nodes])
        taken |= set(given)
        found[job.number] = replace(job, hosts=given)
    jobs = tuple(found.get(job.number, job) for job in queue.jobs)
    return replace(queue, jobs=jobs), [f"assumed: the nodes of {counted(len(without), 'running job')}"]


def _of_record(site: Site, row: int, *, begun: bool, turn: int, moment: float, last: bool) -> SlurmJob:
    records = site.records
    label = {name: str(values[row]) for name, values in records.labels.items()}
    reason = str(records.reason[row]).upper() if last and not begun else ""
    eligible = float(records.eligible[row])
    if not begun and not last and eligible > moment:
        asked = records.begin[row] == records.begin[row]
        reason = "BEGINTIME" if asked else "NOT ELIGIBLE YET"
    hosts = str(records.hosts[row])
    known = begun and hosts.lower() not in (*NO_RESOURCES, "none assigned")
    after = "" if records.after is None or begun else str(records.after[row])
    number = int(records.id[row])
    return SlurmJob(
        number=number,
        target=str(number),
        user=label["user"],
        account=label["account"],
        qos=label["qos"],
        partition=label["partition"] or site.federation.partitions[0].name,
        states=frozenset({"RUNNING" if begun else "PENDING"}),
        reason=reason,
        nodes=int(records.nodes[row]),
        limit=float(site.limits[row]),
        submit=float(records.submit[row]),
        eligible=eligible,
        start=float(records.start[row]) if begun else math.nan,
        priority=0 if reason.startswith("JOBHELD") else turn,
        nice=0,
        cpus=max(1, int(records.cpus[row])),
        hosts=tuple(hosts_of(hosts, f"job {number}")) if known else (),
        dependency=after if reason.startswith("DEPENDENCY") else "",
        features=label["features"],
        reservation=label["reservation"],
        other_resources=_other_resources(site, row),
        exclusive=bool(records.exclusive[row]),
    )


def _other_resources(site: Site, row: int) -> tuple[str, ...]:
    return tuple(filter(None, site.records.other_resources[row].split(";")))


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    head: list[str] = []
    mark = separator_in(text)
    for number, line in enumerate(text.splitlines(), start=1):
        cells = [cell.strip() for cell in line.split(mark)]
        if not head:
            head = [cell.lower() for cell in cells]
            continue
        cells = _with_bars(cells, head) if mark == BAR else cells
        if len(cells) == len(head):
            yield number, dict(zip(head, cells, strict=True))
        elif line.strip():
            raise TwinError(
                f"{QUEUE}, line {number}: it has {len(cells)} cells, but the first line {len(head)}; dump again."
            )


def _with_bars(cells: list[str], head: list[str]) -> list[str]:
    """Return a line's cells with those of the column FEATURES rejoined if there are more cells than columns.

    No other column contains the separator |.
    """
    more = len(cells) - len(head)
    if more <= 0 or FEATURES not in head:
        return cells
    k = head.index(FEATURES)
    return [*cells[:k], "|".join(cells[k : k + more + 1]), *cells[k + more + 1 :]]


def _of_squeue(site: Site, known: Mapping[int, int], line: int, words: Mapping[str, str]) -> SlurmJob:
    where = f"{site.dump.path(QUEUE)}, line {line}"

    def text(name: str) -> str:
        value = words.get(name, "")
        return "" if value.lower() in NO_RESOURCES else value

    def moment(name: str) -> float:
        found = wall_time_of(value) if (value := text(name)) else None
        if found is not None and math.isnan(found.seconds):
            raise TwinError(f"{where}: {name}={shortened(value)} is not a time like 2027-01-12T08:00:00.")
        return math.nan if found is None else found.seconds

    def whole(name: str, usual: int) -> int:
        value = text(name).partition("-")[0] or str(usual)
        size = _SIZES.get(value[-1:].upper(), 1)
        try:
            return round(float(value.rstrip("KMkm")) * size)
        except ValueError:
            raise TwinError(f"{where}: {name}={shortened(value)} is not a whole number.") from None

    called = _TASK.fullmatch(text("jobid"))
    if called is None:
        raise TwinError(f"{where}: {shortened(text('jobid'))} is not a job like 17 or 17_3.")
    base, task, part = int(called[1]), int(called[2] or 0), int(called[3] or 0)
    number = base * TASKS + task if called[2] else base * TASKS + PARTS + part if part else base
    row = known.get(base)
    states = frozenset(text("state").upper().split("+"))
    waits = "PENDING" in states

    def recorded(name: str) -> str:
        return text(name) or ("" if row is None else str(site.records.labels[name][row]))

    submit = moment("submit_time")
    begin = moment("start_time") if waits else math.nan
    reason = text("reason").strip("()").upper().replace(" ", "")
    eligible = submit if row is None else max(submit, float(site.records.eligible[row]))
    nodelist = text("nodelist")
    recorded_resources = () if row is None else _other_resources(site, row)
    return SlurmJob(
        number=number,
        target=text("jobid"),
        user=text("user"),
        account=recorded("account"),
        qos=recorded("qos"),
        partition=text("partition").partition(",")[0],
        states=states,
        reason=reason,
        nodes=max(1, whole("nodes", 1)),
        limit=seconds_of(text("time_limit") or "UNLIMITED", where),
        submit=submit,
        eligible=begin if reason == "BEGINTIME" and begin == begin else eligible,
        start=math.nan if waits else moment("start_time"),
        priority=whole("priority", 0),
        nice=int(text("nice") or 0),
        cpus=max(1, whole("cpus", 1)),
        hosts=tuple(hosts_of(nodelist, where)) if nodelist and not waits else (),
        dependency=text("dependency"),
        features=text("features"),
        reservation=text("reservation"),
        part_of_several=called[3] is not None,
        named_nodes=bool(text("req_nodes") or text("exc_nodes")),
        other_partitions="," in text("partition"),
        other_resources=tuple(sorted({*extra_resources_of(words), *recorded_resources})),
        exclusive=row is not None and bool(site.records.exclusive[row]),
    )
