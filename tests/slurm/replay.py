"""The same day on our machine: what Slurm recorded as a workload and a federation, and how far the starts are apart."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.model.jobs.log import CANCELLED, FAILED

if TYPE_CHECKING:
    from slurm.recording import Job, Recording

COMPLETED = 1
LABELS = ("user", "account", "qos", "partition", "features")
ASKED = {"cpu": "cores", "memory": "memory", "gpu": "gpus"}
TASKS = 1000  # no array has more
STATUS = {"COMPLETED": COMPLETED, "FAILED": FAILED, "TIMEOUT": FAILED, "CANCELLED": CANCELLED}


def workload_of(recording: Recording) -> fs.Workload:
    """Return the jobs as Slurm had them, with the run times that it measured: so only decisions are compared.

    Jobs that were cancelled before they started are left out, as they are when a log of Slurm's is read.
    """
    jobs = compared(recording)
    shared = shares_nodes(recording)
    runs = [max(job.end - job.start, 1.0) if job.start is not None else job.limit for job in jobs]  # type: ignore[operator]
    return fs.Workload(
        id=[number(job) for job in jobs],
        submit=[job.submit for job in jobs],
        tasks=[job.nodes for job in jobs],
        runtime=runs,
        estimate=[job.limit or ran for job, ran in zip(jobs, runs, strict=True)],
        user=np.unique([job.user for job in jobs], return_inverse=True)[1],
        after=[_in_our_numbers(job.after, jobs) for job in jobs],
        begin=[job.begin or 0.0 for job in jobs],
        demand=_demand(jobs) if shared else None,
        layout={"tasks_per_node": [1] * len(jobs)} if shared else None,
        labels={
            "name": [job.name for job in jobs],
            "array": [array_of(job) for job in jobs],
            "reservation": [job.reservation for job in jobs],
            **{name: [getattr(job, name) for job in jobs] for name in LABELS},
        },
        log={
            "status": [STATUS.get(job.state, COMPLETED) for job in jobs],
            "requested_time": [job.limit or -1 for job in jobs],
        },
    )


def _demand(jobs: list[Job]) -> dict[str, list[int]]:
    """Return what jobs ask for of each of their nodes."""
    asked = {name: [getattr(job, field) or 0 for job in jobs] for name, field in ASKED.items()}
    return {name: each for name, each in asked.items() if any(each)}


def shares_nodes(recording: Recording) -> bool:
    """Return whether jobs ask for cores and memory, and not for whole nodes."""
    return any(job.cores for job in recording.jobs)


def federation_of(recording: Recording) -> fs.Federation:
    """Return the machine, its maintenance known since it was told."""
    downtimes = [
        fs.Downtime(
            "main",
            one.begin,
            one.end,
            nodes=_from_nought(one.on),
            kind="reservation" if one.user else "maintenance",
            known_from=one.known_from,
            name=one.key,
            users=(one.user,) if one.user else (),
        )
        for one in recording.maintenance
    ]
    cluster = fs.Cluster("main", (fs.NodeGroup(recording.nodes),), math.inf)
    return fs.Federation((cluster,), calendar=tuple(downtimes))


def compared(recording: Recording) -> list[Job]:
    """Return the jobs that are replayed."""
    return [job for job in recording.jobs if job.start is not None or job.state != "CANCELLED"]


def array_of(job: Job) -> str:
    """Return the array that a job is a task of, with how many of its tasks may run at once."""
    return "" if job.task is None else f"{job.job}%{job.at_once}" if job.at_once else f"{job.job}"


def number(job: Job) -> int:
    """Return our number of a job, or of a task of an array."""
    return job.job * TASKS + (job.task or 0)


def _in_our_numbers(after: str, jobs: list[Job]) -> str:
    def ours(match: re.Match[str]) -> str:
        tasks = [number(job) for job in jobs if job.job == int(match[1])] or [int(match[1]) * TASKS]
        return "".join(f":{task}{match[2]}" for task in tasks)

    return re.sub(r":(\d+)((?:\+\d+)?)", ours, after)


def _from_nought(on: str) -> str:
    """Return "5-7" for "n[6-8]"."""
    return re.sub(r"\d+", lambda match: str(int(match[0]) - 1), on.lstrip("n").strip("[]"))


@dataclass(frozen=True)
class Start:
    """When a job started and ended on Slurm and in the replay; nan: never."""

    key: str
    slurm: float
    slurm_end: float
    ours: float
    our_end: float

    @property
    def apart(self) -> float:
        """Return how much later Slurm started it, infinite where only one of them did."""
        if math.isnan(self.slurm) and math.isnan(self.ours):
            return 0.0
        return self.slurm - self.ours if math.isfinite(self.slurm - self.ours) else math.inf


@dataclass(frozen=True)
class Comparison:
    """Both worlds' starts, and how far they may be apart by Slurm's clocks."""

    starts: tuple[Start, ...]
    clocks: float

    @property
    def largest(self) -> float:
        """Return the largest deviation in seconds."""
        return max(abs(start.apart) for start in self.starts)

    @property
    def within(self) -> float:
        """Return the share of the starts that are apart by no more than the clocks, however late their day was."""
        return float(np.mean([abs(start.apart) <= self.clocks for start in self.starts]))

    def unexplained(self) -> dict[str, float]:
        """Return the jobs that one world starts later than its clocks explain, with how far the starts are apart.

        A start may be late by what it waited for and by the clocks: when a world starts a job, all that had ended by
        then in the other one has ended in both, no longer ago than the clocks allow.
        """
        found = {}
        for one in self.starts:
            if math.isnan(one.slurm) and math.isnan(one.ours):
                continue
            ended = [other.slurm_end for other in self.starts if other.our_end <= one.ours]
            ended_ours = [other.our_end for other in self.starts if other.slurm_end <= one.slurm]
            late = one.slurm - max([one.ours, *ended])
            early = one.ours - max([one.slurm, *ended_ours])
            if not max(late, early) <= self.clocks:
                found[one.key] = one.apart
        return found

    def swapped(self) -> list[tuple[str, str]]:
        """Return the pairs of jobs that start in another order, each by more than the clocks explain."""
        return [
            (one.key, other.key)
            for one in self.starts
            for other in self.starts
            if one.slurm + self.clocks < other.slurm and other.ours + self.clocks < one.ours
        ]


def clocks_of(recording: Recording) -> float:
    """Return by how much Slurm may be late with what it could do at once, in seconds.

    What becomes possible between two passes waits for the next one: of the main scheduler up to `sched_interval`, of
    backfilling `bf_interval` after the one before has ended, and `batch_sched_delay` after a submission. Its times are
    whole seconds, and what daemons tell each other takes what the slowest command took.
    """
    settings = {name: float(text) for name, text in re.findall(r"(\w+)=(-?[0-9]+)\b", recording.settings)}
    passes = max(settings["sched_interval"], settings.get("bf_interval", 0.0)) + settings["batch_sched_delay"]
    return passes + 1.0 + 2.0 * recording.slowest_command


def compare(recording: Recording, policy: str) -> Comparison:
    """Replay a recorded day under a policy of ours."""
    schedule = fs.simulate(workload_of(recording), federation_of(recording), policy, t0=0.0)
    schedule.verify()
    nan = math.nan
    starts = [
        Start(
            key=job.called,
            slurm=nan if job.start is None else job.start,
            slurm_end=nan if job.end is None else job.end,
            ours=start,
            our_end=finish,
        )
        for job, start, finish in zip(
            compared(recording), schedule.start.tolist(), schedule.finish.tolist(), strict=True
        )
    ]
    return Comparison(tuple(starts), clocks_of(recording))
