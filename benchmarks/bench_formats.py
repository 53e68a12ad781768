"""Reading and writing formats: processor seconds for 200,000 jobs, and how many times as long as SWF they take."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from measuring import Report, arguments

from fedsched.io import read, write
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable

HEADER = "JobIDRaw|Cluster|Partition|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|NNodes|AllocCPUS|ReqCPUS"


def made(jobs: int) -> Workload:
    """Return a workload of so many jobs."""
    random = np.random.default_rng(1)
    runtime = np.ceil(random.exponential(3600, jobs))
    return Workload(
        submit=np.cumsum(random.integers(1, 120, jobs)), tasks=2 ** random.integers(0, 8, jobs), runtime=runtime,
        estimate=np.ceil(runtime / 60 + 5) * 60, user=random.integers(1, 100, jobs), nodes=512,
    )  # fmt: skip


def write_sacct(workload: Workload, path: Path) -> None:
    """Write the workload as Slurm would have logged it."""

    def clock(seconds: float) -> str:
        return f"{datetime.fromtimestamp(1_704_067_200 + seconds, UTC):%Y-%m-%dT%H:%M:%S}"

    with path.open("w") as out:
        out.write(HEADER + "\n")
        for job in workload:
            start, end = clock(job.submit + 60), clock(job.submit + 60 + job.runtime)
            out.write(
                f"{job.id}|c{job.id % 2}|batch|u{job.user}|{clock(job.submit)}|{start}|{end}|{job.runtime:.0f}"
                f"|{job.estimate // 60:.0f}|COMPLETED|{-(-job.tasks // 32)}|{job.tasks}|{job.tasks}\n"
            )


def seconds_of(rounds: int, act: Callable[[], object]) -> float:
    """Return the least processor seconds: the machine may be shared."""
    least = float("inf")
    for _ in range(rounds):
        begun = time.process_time()
        act()
        least = min(least, time.process_time() - begun)
    return least


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    jobs, rounds = (2_000, 1) if smoke else (200_000, 3)
    workload = made(jobs)
    report = Report(f"{jobs:,} jobs, processor seconds of one core")
    with tempfile.TemporaryDirectory() as folder:
        base = 0.0
        for name, aim in (("a.swf", 1.0), ("a.sacct", 2.0), ("a.csv", None), ("a.json", None)):
            path = Path(folder) / name
            if name == "a.sacct":
                write_sacct(workload, path)
            else:
                took = seconds_of(rounds, lambda path=path: write(workload, path))  # type: ignore[misc]
                report.row(f"{name}: writing", took, "s")
            took = seconds_of(rounds, lambda path=path: read(path))  # type: ignore[misc]
            base = base or took
            report.row(f"{name}: reading", took, "s", aim, at_most=True)
            report.row(f"{name}: reading, times SWF", took / base, "x")


if __name__ == "__main__":
    main()
