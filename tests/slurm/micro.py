"""The small cluster that UB published for its Slurm simulator, as a real Slurm plays the first hours of its jobs."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

SENT = Path(__file__).resolve().parents[3] / "shared" / "slurm" / "ub-micro" / "jobs500.events"
HOURS = 2
FOR_EVER = 10**6  # seconds: below 0 a job runs until its limit ends it
CPUS = "CPUs=12 Sockets=2 CoresPerSocket=6 ThreadsPerCore=1"
# What is called n1 to n4, m1 to m4, g1 and b1 there, in this order.
NODES = [
    *[f"{CPUS} RealMemory=48000 Feature=IB,CPU-N"] * 4,
    *[f"{CPUS} RealMemory=48000 Feature=IB,CPU-M"] * 4,
    f"{CPUS} RealMemory=48000 Feature=IB,CPU-G Gres=gpu:2",
    f"{CPUS} RealMemory=512000 Feature=IB,CPU-G,BigMem",
]
PARTITIONS = """\
PartitionName=normal Nodes=ALL Default=YES DefMemPerCPU=2800 MaxTime=INFINITE State=UP
PartitionName=debug Nodes=n[1-2] DefMemPerCPU=2800 MaxTime=INFINITE State=UP"""
# Of its slurm.conf what decides, but for the topology; where a pass takes seconds of a fast clock it does not yield.
SETTINGS = """\
GresTypes=gpu
KillWait=30
EpilogMsgTime=0
SchedulerType=sched/backfill
SchedulerParameters=bf_max_job_user=200,bf_window=1440,bf_interval=30,bf_max_time=30,sched_interval=60,bf_max_job_test=1200,\
default_queue_depth=1200,bf_continue,bf_yield_interval=10000000
FairShareDampeningFactor=5
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory,CR_CORE_DEFAULT_DIST_BLOCK
PriorityType=priority/multifactor
PriorityDecayHalfLife=0-4
PriorityFavorSmall=NO
PriorityWeightFairshare=50000
PriorityWeightAge=50000
PriorityWeightPartition=1000000
PriorityWeightJobSize=200000
PriorityWeightQOS=20000
PriorityMaxAge=0-5
EnforcePartLimits=YES
AccountingStorageEnforce=associations,limits,qos"""
# Users of every Linux play its own.
PEOPLE = {"user1": "daemon", "user2": "bin", "user3": "sys", "user4": "games", "user5": "man"}
ACCOUNTS = """\
add cluster referee
modify qos normal set priority=0
add qos supporters priority=100
add account account1 fairshare=100
add account account2 fairshare=100
add user daemon account=account1
add user bin account=account1
add user sys account=account1
add user games account=account2
add user man account=account2"""


@dataclass(frozen=True)
class Sent:
    """A job: its line in the file, when it comes, how long it runs and the options of sbatch."""

    line: int
    at: float
    runs: int
    options: tuple[str, ...]

    def command(self) -> list[str]:
        """Return how it is submitted."""
        words = ["sbatch", "--parsable", "--output=/dev/null", "--error=/dev/null", "--chdir=/"]
        return [*words, *self.options, f"--wrap=sleep {self.runs}"]


def sent() -> list[Sent]:
    """Return the jobs of the first hours."""
    found = []
    for k, line in enumerate(SENT.read_text(encoding="utf-8").splitlines(), 1):
        event, _, command = line.partition("|")
        words = shlex.split(command)
        place = words.index("-sim-walltime")
        runs = int(float(words[place + 1]))
        runs = FOR_EVER if runs < 0 else runs
        options = [*words[:place], *words[place + 2 : -1]]  # the last word is the program
        options = [f"--uid={PEOPLE[one.partition('=')[2]]}" if one.startswith("--uid=") else one for one in options]
        at = float(event.split()[1])
        if at < 3600 * HOURS:
            found.append(Sent(k, at, runs, tuple(options)))
    return found
