"""A crowd of jobs on a Slurm in the memory, and what the tests of steering do to it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from support.fake_slurm import NOW, FakeSlurm, Job, running

from fedsched.site.steer import Aims, Choice, JobChanger, Undo, Watch, plan, read_queue

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.steer import Plan

FEW = 60  # evaluations
LEASE = 200.0
AIMS = Aims(evaluations=FEW, seconds=1e9)


class KilledError(BaseException):
    """The process was killed: nothing of it runs any more."""


def crowd(seed: int, jobs: int = 9, **others: object) -> FakeSlurm:
    """Return a cluster of four nodes, all busy, and so many jobs that wait."""
    draw = random.Random(seed)
    waiting = [
        Job(
            k, nodes=draw.randint(1, 4), minutes=draw.choice([5, 10, 30, 60]), base=10_000 + draw.randint(0, 50),
            user=draw.choice(["ann", "bob"]), qos=draw.choice(["normal", "high"]), submit=NOW - draw.randint(0, 900),
        )
        for k in range(10, 10 + jobs)
    ]  # fmt: skip
    return FakeSlurm.of(running(1, "1-3"), running(2, "4", minutes=12), *waiting, **others)


def hand_of(fake: FakeSlurm, path: Path) -> JobChanger:
    """Return what changes the fake's jobs."""
    return JobChanger(fake, Undo.open(path, "fake"))


def planned(fake: FakeSlurm, *, leave: frozenset[int] = frozenset()) -> Plan:
    """Return a plan that changes something."""
    found = plan(read_queue(fake), Aims(choice=Choice(leave=leave), evaluations=FEW, seconds=1e9))
    assert len(found.changes) > 2
    return found


def watching(fake: FakeSlurm, path: Path, **others: object) -> Watch:
    """Return a watch of the fake."""
    return Watch(fake, Undo.open(path, "fake"), AIMS, **others)  # type: ignore[arg-type]


def left_alone(fake: FakeSlurm) -> bool:
    """Return whether nothing is left of us: no Nice, no begin time that is still to come."""
    return all(not job.nice and job.begin <= fake.time for job in fake.jobs.values())
