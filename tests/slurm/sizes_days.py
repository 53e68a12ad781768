"""Jobs alone on nodes of several sizes, which come and leave one by one, and which nodes a real Slurm gave them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

RECORDED = Path(__file__).parent / "recorded" / "sizes"
CORES = (4, 4, 2, 8, 8, 2, 2, 4, 8, 4, 4, 2, 8, 8, 4, 2)  # of n1, n2, ...
WEIGHTS = (1, 1, 1, 1, 1, 5, 5, 5, 5, 1, 1, 5, 5, 1, 1, 1)  # where they are weighed
MAIN = """\
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
SelectType=select/{}"""
BACKFILL = """\
SchedulerType=sched/backfill
SchedulerParameters=defer,sched_interval=-1,bf_interval=1,bf_resolution=1
SelectType=select/{}"""
LINEAR, CONS = "linear", "cons_tres\nSelectTypeParameters=CR_Core"


@dataclass(frozen=True)
class Step:
    """A job that came, or one that ended: `ends` is its number, and one more."""

    job: int
    ends: int = 0
    tasks: int = 0
    cores: int = 1  # of a task
    slurm: int = 0
    where: str = ""


@dataclass(frozen=True)
class Day:
    """So many jobs on nodes that a configuration gives whole."""

    jobs: int
    settings: str
    cores: tuple[int, ...] = (1,)  # of a task, one of these
    weighed: bool = False
    together: bool = False  # those alike that are neighbours stand in one line of the conf

    @property
    def nodes(self) -> list[str]:
        """Return what slurm.conf says of each node."""
        each = zip(CORES, WEIGHTS if self.weighed else [1] * len(CORES), strict=True)
        return [
            f"CPUs={cores} Sockets=1 CoresPerSocket={cores} ThreadsPerCore=1 RealMemory=1000 Weight={weight}"
            for cores, weight in each
        ]

    @property
    def lines(self) -> list[str]:
        """Return the lines of the nodes."""
        found: list[tuple[int, int, str]] = []
        for k, node in enumerate(self.nodes, start=1):
            if self.together and found and found[-1][2] == node:
                found[-1] = found[-1][0], k, node
            else:
                found.append((k, k, node))
        return [f"NodeName=n[{first}-{last}] {node}" for first, last, node in found]

    def drawn(self, random: np.random.Generator, number: int, free: int) -> Step | None:
        """Return the next job; on empty nodes it finds room, and where backfill alone starts jobs, on those free cores.

        Backfill says of nobody that there is no room; None: not of this one.
        """
        while True:
            step = Step(job=number, tasks=int(random.choice(TASKS)), cores=int(random.choice(self.cores)))
            if step.tasks <= sum(cores // step.cores for cores in CORES):
                return None if "sched/backfill" in self.settings and step.tasks > free else step


TASKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 20, 24, 32, 48)
DAYS = {
    "linear": Day(300, MAIN.format(LINEAR)),
    "linear_weighed": Day(300, MAIN.format(LINEAR), weighed=True),
    "linear_lines": Day(200, MAIN.format(LINEAR), together=True),
    "linear_wide": Day(300, MAIN.format(LINEAR), cores=(1, 2, 3)),
    "linear_backfill": Day(200, BACKFILL.format(LINEAR), weighed=True),
    "cons": Day(300, MAIN.format(CONS)),
    "cons_weighed": Day(300, MAIN.format(CONS), weighed=True),
    "cons_wide": Day(300, MAIN.format(CONS), cores=(1, 2, 3)),
    "cons_backfill": Day(200, BACKFILL.format(CONS), weighed=True),
}


def recorded(name: str) -> list[Step]:
    """Return the recorded steps of a day."""
    with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Step(**{key: int(row[key]) for key in ("job", "ends", "tasks", "cores", "slurm")}, where=row["where"])
            for row in csv.DictReader(file)
        ]
