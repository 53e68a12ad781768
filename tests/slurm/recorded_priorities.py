"""Priorities that were recorded on a real Slurm, and the same days once more in the library's kernels."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.io.slurm_files.accounts import Usage, read_usage
from fedsched.io.slurm_files.slurm_conf import read_slurm_conf
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.priority.associations import Association, Associations, Qos
from fedsched.slurm.priority.priorities import Factor, Priorities, pack
from fedsched.slurm.priority.priority_parameters import PriorityParameters
from fedsched.slurm.priority.ticks import charge_ended, factors, first_priority, next_tick, tick
from fedsched.slurm.result.queue_dump import QueuedJob, read_queue

if TYPE_CHECKING:
    from collections.abc import Iterator

RECORDED = Path(__file__).parent / "recorded" / "priorities"
KTH = Path(__file__).parent / "recorded" / "kth"
DAYS = ("fair-tree", "classic", "relative")
OVER = ("COMPLETED", "TIMEOUT", "FAILED", "CANCELLED")


class Seen(NamedTuple):
    """What sprio printed of a job, in full: %i|%r|%u|%Y|%S|%A|%B|%F|%J|%P|%Q|%N|%T, and factors without weights."""

    words: list[str]
    bare: list[str]


@dataclass
class Recorded:
    """A day: its configuration, its accounts, and what was told after some ticks."""

    name: str
    said: dict[str, list[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.said = json.loads((self.folder / "recording.json").read_text(encoding="utf-8"))

    @property
    def folder(self) -> Path:
        """Return where its files are."""
        return RECORDED / self.name

    @property
    def parameters(self) -> PriorityParameters:
        """Return what its slurm.conf says."""
        return PriorityParameters.of(read_slurm_conf(self.folder / "slurm.conf"))

    @property
    def associations(self) -> Associations:
        """Return its accounts."""
        return Associations.read(self.folder / "accounts.cfg", self.folder / "qos.txt")

    def queue(self, kept: int) -> list[QueuedJob]:
        """Return the jobs, as they were told of after a tick."""
        return read_queue(self.folder / f"{kept}.jobs")

    def usage(self, kept: int) -> dict[tuple[str, str], Usage]:
        """Return who had used how much by then."""
        return read_usage(self.folder / f"{kept}.shares")

    def seen(self, kept: int) -> list[Seen]:
        """Return what sprio printed by then."""
        lines = (self.folder / f"{kept}.exact").read_text(encoding="utf-8").splitlines()[1:]
        return [Seen(line.split("|")[:13], line.split("|")[13:]) for line in lines]

    def fair_shares(self, kept: int) -> dict[tuple[str, str], str]:
        """Return the column FairShare of users."""
        lines = (self.folder / f"{kept}.shares").read_text(encoding="utf-8").splitlines()
        rows = csv.DictReader(lines, delimiter="|")
        return {(row["Account"].strip(), row["User"]): row["FairShare"] for row in rows if row["User"]}


def events(queue: list[QueuedJob], ticks: list[int]) -> Iterator[tuple[float, int, int]]:
    """Give what happened, in order: a submission (0), a start (1), a tick (2), an end (3), with the job or tick."""
    found = [(float(at), 2, k) for k, at in enumerate(ticks)]
    for k, job in enumerate(queue):
        found.append((job.submit, 0, k))
        if job.state != "PENDING" and not math.isnan(job.start):
            found.append((job.start, 1, k))
            if job.state in OVER:
                found.append((job.end, 3, k))
    yield from sorted(found)


def replay(day: Recorded) -> Iterator[tuple[int, Priorities, list[QueuedJob]]]:
    """Give a day's ticks one after the other, with the priorities as they are then; at the end of what was recorded."""
    last = day.said["kept"][-1]
    queue = day.queue(last)
    zero = float(day.said["ticks"][0])
    packed = pack(day.parameters, day.associations, [job.asked for job in queue], origin=zero)
    start, running = np.full(len(queue), math.nan), []
    for at, what, k in events(queue, day.said["ticks"][: last + 1]):
        now = at - zero
        if what == 0:
            accrue = queue[k].accrue
            packed.accrue[k] = math.inf if math.isnan(accrue) else accrue - zero
            first_priority(packed, k, now)
        elif what == 1:
            start[k] = now
            running.append(k)
        elif what == 3:
            running.remove(k)
            charge_ended(packed, k, now, start)
        else:
            assert next_tick(packed) == now
            line = np.array([*running, *[0] * (len(queue) - len(running))], np.int64)
            tick(packed, now, line, len(running), start)
            yield k, packed, queue


def rows_of(packed: Priorities, queue: list[QueuedJob], now: float) -> dict[str, np.ndarray]:
    """Return the factors of all jobs by their ids."""
    found = {}
    for k, job in enumerate(queue):
        found[str(job.number)] = row = np.zeros(len(Factor))
        factors(packed, k, now, row)
    return found


def kth(phase: float = 0.0) -> list[tuple[int, float, float]]:
    """Return the jobs of the recorded log, and the priorities that they start with: here, and on the real Slurm.

    The log's starts are taken as they were, and the ticks as the controller's clock had them, or so much later.
    """
    conf = PriorityParameters.of(read_slurm_conf(KTH / "kth-multifactor.conf"))
    rows = list(csv.DictReader((KTH / "kth-multifactor.csv").read_text(encoding="utf-8").splitlines()))
    clock = json.loads((KTH / "kth-multifactor.clock.json").read_text(encoding="utf-8"))
    members = [Association("root"), Association("root", "root", parent=0)]
    for account in sorted({f"u{row['user']}" for row in rows}):
        members += [Association(account, parent=0), Association(account, "root", parent=len(members))]
    accounts = Associations(tuple(members), {"normal": Qos("normal")})
    asked = [
        JobRequest("root", f"u{row['user']}", "p", "", int(row["tasks"]), int(row["tasks"]), float(row["limit"]))
        for row in rows
    ]
    packed = pack(conf, accounts, asked, phase=clock["decay_thread_started"] + phase)
    start, running, found = np.full(len(rows), math.nan), set(), []
    times = [(float(row[what]), order, k) for k, row in enumerate(rows)
             for order, what in ((0, "submit"), (1, "end"), (2, "start"))]  # fmt: skip
    for at, what, k in sorted(times):
        while (now := next_tick(packed)) < at or (now == at and what == 2):
            line = np.array([*running, *[0] * (len(rows) - len(running))], np.int64)
            tick(packed, now, line, len(running), start)
        if what == 0:
            first_priority(packed, k, at)
        elif what == 1:
            running.discard(k)
        else:
            running.add(k)
            start[k] = at
            found.append((int(rows[k]["job"]), float(packed.value[k]), float(rows[k]["priority"])))
    return found
