"""Small jobs that come to a few shared nodes and leave them one by one, and where a real Slurm put them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

RECORDED = Path(__file__).parent / "recorded" / "packing"
NODES, CORES, MEMORY = 16, 8, 16_000  # MB
NODE = f"CPUs={CORES} Sockets=1 CoresPerSocket={CORES} ThreadsPerCore=1 RealMemory={MEMORY}"
SHARED = """\
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1
SelectType=select/cons_tres
SelectTypeParameters={}"""


@dataclass(frozen=True)
class Step:
    """A job that came, or one that ended: `ends` is its number, and one more."""

    job: int
    ends: int = 0
    tasks: int = 0
    cores: int = 0
    memory: int = 0  # MB of a core
    per_node: int = 0
    exclusive: bool = False
    slurm: int = 0
    where: str = ""

    def room(self, cores: int, memory: int) -> int:
        """Return how many of its tasks fit where so much is free."""
        if self.exclusive and self.memory * cores > memory:
            return 0  # all cores of the node are the job's, each with so much
        fit = cores // self.cores
        if self.memory:
            fit = min(fit, memory // (self.memory * self.cores))
        if not self.per_node:
            return fit
        return self.per_node if fit >= self.per_node else 0


@dataclass(frozen=True)
class Day:
    """So many jobs on nodes that a configuration shares."""

    jobs: int
    settings: str
    cores: tuple[int, ...] = (1,)  # of a task, one of these
    memory: tuple[int, ...] = (0,)
    laid_out: bool = False

    def drawn(self, random: np.random.Generator, number: int) -> Step:
        """Return the next job; on empty nodes it finds room."""
        while True:
            cores, memory = int(random.choice(self.cores)), int(random.choice(self.memory))
            tasks = int(random.choice(TASKS))
            layout = random.random() if self.laid_out else 1.0
            together = [k for k in range(1, CORES // cores + 1) if tasks % k == 0]  # Slurm's last node holds no fewer
            step = Step(
                job=number,
                tasks=tasks,
                cores=cores,
                memory=memory,
                per_node=int(random.choice(together)) if layout < 0.4 else 0,
                exclusive=0.4 <= layout < 0.5,
            )
            if step.tasks <= NODES * step.room(CORES, MEMORY):
                return step


TASKS = (1, 1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24)
SIZES = (100, 500, 1000, 2000, 3000, 5000)
WITH_MEMORY = SHARED.format("CR_Core_Memory") + "\nDefMemPerCPU=100"
DAYS = {
    "cores": Day(500, SHARED.format("CR_Core")),
    "wide_cores": Day(500, SHARED.format("CR_Core"), cores=(1, 2, 3)),
    "memory": Day(500, WITH_MEMORY, memory=SIZES),
    "wide_tasks": Day(500, WITH_MEMORY, cores=(1, 2, 3), memory=SIZES),
    "laid_out": Day(500, WITH_MEMORY, memory=SIZES, laid_out=True),
}


def recorded(name: str) -> list[Step]:
    """Return the recorded steps of a day."""
    with (RECORDED / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return [
            Step(
                **{key: int(row[key]) for key in ("job", "ends", "tasks", "cores", "memory", "per_node", "slurm")},
                exclusive=row["exclusive"] == "True",
                where=row["where"],
            )
            for row in csv.DictReader(file)
        ]
