"""Logs of small jobs on nodes that a real Slurm shares, cores and memory, and in which memory decides."""

from __future__ import annotations

import random
from dataclasses import dataclass

MINUTE = 60.0
NODES, CORES, MEMORY = 8, 8, 16_000  # MB
NODE = f"CPUs={CORES} Sockets=1 CoresPerSocket={CORES} ThreadsPerCore=1 RealMemory={MEMORY}"
USUAL = 500  # MB of a core, where a job asks for none
PARTITION = "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
COMMON = f"""\
PriorityType=priority/basic
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU={USUAL}
KillWait=30
OverTimeLimit=0
EpilogMsgTime=0"""
PER_CORE = (0, 0, 500, 1000, 2000, 4000, 4000, 8000)
PER_NODE = (2000, 4000, 8000, 12_000, 15_000)


@dataclass(frozen=True)
class Job:
    """A job as it is submitted; memory is in MB, of a core or, where it has `per_node`, of a node."""

    at: float
    tasks: int
    cores: int
    memory: int
    per_node: int
    exclusive: bool
    minutes: int
    runs: int
    nodes: int = 0  # as many as it says; 0: it does not

    def command(self) -> list[str]:
        """Return how it is submitted."""
        words = ["sbatch", "--parsable", "--output=/dev/null", "--error=/dev/null", "--chdir=/"]
        words += [f"-n{self.tasks}", f"-c{self.cores}", f"--time={self.minutes}"]
        words += [f"--nodes={self.nodes}"] if self.nodes else []
        if self.per_node:
            words += [f"--ntasks-per-node={self.per_node}", f"--mem={self.memory}"]
        elif self.memory:
            words.append(f"--mem-per-cpu={self.memory}")
        return [*words, *(["--exclusive"] if self.exclusive else []), f"--wrap=sleep {self.runs}"]


@dataclass(frozen=True)
class Log:
    """What a slurm.conf says, and how many jobs come."""

    settings: str
    seed: int = 0
    many: int = 0
    given: tuple[Job, ...] = ()

    def jobs(self) -> list[Job]:
        """Return the jobs, one submitted after the other."""
        if self.given:
            return list(self.given)
        rng = random.Random(self.seed)
        return [self._job(rng, 16.0 * k) for k in range(self.many)]

    @staticmethod
    def _job(rng: random.Random, at: float) -> Job:
        minutes = rng.choice((2, 3, 5, 8, 12))
        runs = round(rng.uniform(0.3, 0.95) * minutes * MINUTE)
        if rng.random() < 0.2:
            per_node = rng.choice((1, 2, 4))
            tasks, cores = per_node * rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2))
            return Job(at, tasks, cores, rng.choice(PER_NODE), per_node, False, minutes, runs)
        if rng.random() < 0.05:
            return Job(at, rng.choice((1, 4, 12)), 1, 500, 0, True, minutes, runs)
        cores = rng.choice((1, 1, 1, 2, 3))
        memory = rng.choice([size for size in PER_CORE if size * cores <= MEMORY])
        each = min(CORES // cores, MEMORY // (cores * (memory or USUAL)))
        most = NODES * each
        return Job(at, min(most, rng.choice((1, 1, 2, 2, 3, 4, 6, 10))), cores, memory, 0, False, minutes, runs)


# Passes that take long yield their locks, and break off where something has changed meanwhile; most: ten seconds.
WHOLE = "SchedulerParameters=bf_yield_interval=10000000"
LOGS = {
    "memory_backfill": Log(f"SchedulerType=sched/backfill\n{WHOLE}\n{COMMON}", 1, 500),
    "memory_yields": Log(f"SchedulerType=sched/backfill\n{COMMON}", 1, 500),
    "memory_builtin": Log(f"SchedulerType=sched/builtin\n{COMMON}", 2, 500),
}
AGAIN = "_again"  # a log that was recorded a second time, for how far two recordings are from one another
LOGS |= {f"{name}{AGAIN}": log for name, log in LOGS.items()}
# Three jobs, no two of which find room beside one another, wait for one that has all nodes: who has the largest size?
BY_SIZE = """\
PriorityType=priority/multifactor
PriorityWeightJobSize=10000
PriorityCalcPeriod=5"""
SIZES = (
    Job(0.0, 64, 1, 0, 0, False, 5, 180), Job(30.0, 16, 3, 2000, 2, False, 2, 60),
    Job(60.0, 56, 1, 0, 0, False, 2, 60), Job(90.0, 6, 8, 2000, 1, False, 2, 60, nodes=6),
)  # fmt: skip
SMALL = {
    "memory_sizes": Log(
        f"SchedulerType=sched/backfill\n{WHOLE}\n{COMMON.replace('PriorityType=priority/basic', BY_SIZE)}", given=SIZES
    ),
}
