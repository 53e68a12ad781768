"""Days on a Slurm that switches idle nodes off, beside a `Timeout` of ours: starts, and when nodes go off and boot."""

from __future__ import annotations

import csv
import math
import random
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from slurm.recorder import settings_of
from slurm.recording import Recording
from slurm.replay import Comparison, Start, clocks_of, workload_of
from slurm.script import MINUTE, Day, Submit
from slurm.sleeping import Switch, named

import fedsched as fs
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.off_spans import spans_of
from fedsched.policies import Timeout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from slurm.recording import Job

RECORDED = Path(__file__).parent / "recorded" / "sleeping"
NODES, SUSPEND_TIME, SUSPEND_TIMEOUT, BOOT = 6, 120.0, 20.0, 40.0
LOOK = 30.0  # seconds after which Slurm looks again whether the nodes of a job are on
SAVING = f"""{settings_of("builtin")}
SuspendTime={SUSPEND_TIME:.0f}
SuspendTimeout={SUSPEND_TIMEOUT:.0f}
ResumeTimeout=600
SlurmctldParameters=power_save_interval=1"""


class Sleeping(NamedTuple):
    """A day, and how many nodes may go off and boot in a minute."""

    day: Day
    suspend_rate: int = 0
    resume_rate: int = 0

    @property
    def settings(self) -> str:
        """Return the lines of slurm.conf."""
        return f"{SAVING}\nSuspendRate={self.suspend_rate}\nResumeRate={self.resume_rate}"


def bursts(seed: int) -> Day:
    """Return a few jobs at a time, of which nodes have gone off before some, and not before others.

    The seeds are some under which nothing hangs on which idle node is taken, or on some seconds: with nodes taken by
    name, and runs up to 8 s longer, drawn four times, as many go off and boot within seconds. With rates, where Slurm's
    third switch is sooner than ours, runs were up to 30 s longer, drawn eight times. That was asked for after 117 had
    been played with rates: a node went off 7 s sooner than here, before a job came that it was there for here.
    """
    rng = random.Random(seed)
    jobs: list[Submit] = []
    begin = 0.0
    for _ in range(9):
        for k in range(rng.choice((2, 3, 3, 4))):
            nodes, runs = rng.choice((1, 1, 1, 2, 2, 3, 4)), rng.choice(range(30, 130, 10))
            jobs.append(Submit(f"j{len(jobs)}", begin + 2 * k, nodes, 4, runs))
        begin += rng.choice((70, 90, 240, 300, 340))
    return Day(NODES, (*jobs, Submit("last", begin + 420, NODES, 4, 30)))


# Of two idle nodes Slurm takes the first by name: the one that was freed first, where we take the other.
TWO = Day(NODES, (
    Submit("all", 0, 6, 2, 30), Submit("first", 40, 1, 2, 20), Submit("second", 42, 1, 4, 80),
    Submit("third", 140, 1, 4, 60), Submit("last", 500, 6, 2, 30),
))  # fmt: skip
DAYS = {
    "bursts": Sleeping(bursts(117)),
    "bursts_paced": Sleeping(bursts(170), suspend_rate=2, resume_rate=2),
    "by_name": Sleeping(TWO),
}


def write_switches(name: str, switches: list[Switch]) -> None:
    """Keep the switches of a day."""
    with (RECORDED / f"{name}.switched.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Switch._fields)
        rows.writerows((f"{one.time:.0f}", one.what, one.node) for one in switches)


def read_switches(name: str) -> list[Switch]:
    """Return them."""
    with (RECORDED / f"{name}.switched.csv").open(encoding="utf-8", newline="") as file:
        return [Switch(float(row["time"]), row["what"], row["node"]) for row in csv.DictReader(file)]


def ready(job: Job, recording: Recording, switches: list[Switch]) -> float:
    """Return when the last node of a job was on: its start, but for nodes that booted since who had them before."""
    assert job.start is not None
    times = []
    for node in named(job.on):
        before = [one.end for one in recording.jobs if node in named(one.on) and one.end and one.end <= job.start]
        since = max(before, default=0.0)
        on = [one.time for one in switches if one.what == "on" and one.node == node]
        times += [time for time in on if since < time <= job.start]
    return max(times, default=job.start)


class Played(NamedTuple):
    """A day on Slurm and here."""

    starts: Comparison
    looks: list[float]  # how long each job that waited for boots was not begun although its nodes were on
    slurm: dict[str, list[float]]  # when nodes went off and booted until the last end, by what
    ours: dict[str, list[float]]


def played(recording: Recording, switches: list[Switch], day: Sleeping) -> Played:
    """Return both, where what Slurm adds to a boot before it looks again counts as part of the run."""
    on = [ready(job, recording, switches) for job in recording.jobs]
    looks = [job.start - at for job, at in zip(recording.jobs, on, strict=True) if job.start is not None]
    jobs = tuple(replace(job, start=at) for job, at in zip(recording.jobs, on, strict=True))
    seen = replace(recording, jobs=jobs)
    group = fs.NodeGroup(recording.nodes, off_watts=0.0, boot_seconds=BOOT, shutdown_seconds=SUSPEND_TIMEOUT)
    power = Timeout(SUSPEND_TIME, suspend_rate=day.suspend_rate, resume_rate=day.resume_rate)
    there = fs.Federation((fs.Cluster("main", (group,)),), power=power)
    schedule = fs.simulate(workload_of(seen), there, "fcfs", t0=0.0)
    schedule.verify()
    starts = (
        Start(job.key, at, job.end or math.nan, start, finish)
        for job, at, start, finish in zip(jobs, on, schedule.start.tolist(), schedule.finish.tolist(), strict=True)
    )
    spans = spans_of(there, finished_runs(schedule), schedule.promises, 0.0)
    ours = {"off": np.repeat(spans.off_at, spans.nodes), "boot": np.repeat(spans.boot_at, spans.nodes)}
    last = max(job.end or 0.0 for job in jobs)
    its = {what: [one.time for one in switches if one.what == what and one.time < last] for what in ours}
    return Played(
        Comparison(tuple(starts), clocks_of(recording)),
        looks,
        its,
        {what: np.sort(times[np.isfinite(times)]).tolist() for what, times in ours.items()},
    )


def played_day(name: str) -> Played:
    """Return a recorded day on Slurm and here."""
    return played(Recording.read(RECORDED / name), read_switches(name), DAYS[name])


def apart(found: Played, what: str) -> list[float]:
    """Return how much later Slurm's first, second, … node went off, or booted; both have as many."""
    return [its - ours for its, ours in zip(found.slurm[what], found.ours[what], strict=True)]


def table() -> Iterator[str]:
    """Give the lines of the page's table."""
    yield "| day | jobs | nodes go off | boot | jobs have nodes later by | nodes go off later by | boot later by |"
    yield "|---|---|---|---|---|---|---|"
    for name in DAYS:
        found = played_day(name)
        starts = [one.apart for one in found.starts.starts]
        cells = (name, len(starts), len(found.slurm["off"]), len(found.slurm["boot"]))
        later = (f"{min(one):.0f} to {max(one):.0f} s" for one in (starts, apart(found, "off"), apart(found, "boot")))
        yield f"| {' | '.join(map(str, (*cells, *later)))} |"


if __name__ == "__main__":
    assert MINUTE == 60.0
    print("\n".join(table()))
