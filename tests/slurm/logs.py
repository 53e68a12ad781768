"""Small logs that a real Slurm plays: what decides in each of them, and jobs of which most wait."""

from __future__ import annotations

import random
from dataclasses import dataclass

MINUTE = 60.0
NODES = 12
COMMON = """\
SelectType=select/linear
KillWait=30
OverTimeLimit=0
EpilogMsgTime=0"""
BASIC = "PriorityType=priority/basic"
MULTIFACTOR = """\
PriorityType=priority/multifactor
PriorityCalcPeriod=5
PriorityDecayHalfLife=0-6
PriorityMaxAge=0-12
PriorityWeightAge=2000
PriorityWeightJobSize=500
PriorityWeightFairshare=4000
PriorityWeightQOS=300
AccountingStorageEnforce=associations,limits,qos"""
ONE = "PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
TWO = """\
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=fast Nodes=n[9-12] PriorityTier=3 MaxTime=INFINITE State=UP"""
PEOPLE = (("daemon", "physics"), ("bin", "physics"), ("sys", "biology"), ("games", "biology"), ("man", "chemistry"))
ACCOUNTS = """\
add cluster referee
add account physics fairshare=4
add account biology fairshare=2
add account chemistry fairshare=1
add user daemon account=physics
add user bin account=physics
add user sys account=biology
add user games account=biology
add user man account=chemistry"""
LIMITS = """\
add qos few priority=10 maxjobsperuser=1
add qos narrow priority=20 grptres=node=4
add qos wide priority=5 maxtresperuser=node=6
modify account biology set grpjobs=3
modify user where name=daemon set qos+=few,narrow,wide
modify user where name=bin set qos+=few,narrow,wide
modify user where name=sys set qos+=few,narrow,wide
modify user where name=games set qos+=few,narrow,wide
modify user where name=man set qos+=few,narrow,wide
modify user where name=man set maxjobs=2"""


@dataclass(frozen=True)
class Job:
    """A job as it is submitted."""

    at: float
    nodes: int
    minutes: int
    runs: int
    user: str = ""
    account: str = ""
    partition: str = ""
    qos: str = ""

    def command(self) -> list[str]:
        """Return how it is submitted."""
        words = ["sbatch", "--parsable", "--output=/dev/null", "--chdir=/", f"--nodes={self.nodes}"]
        words.append(f"--time={self.minutes}")
        told = {"uid": self.user, "account": self.account, "partition": self.partition, "qos": self.qos}
        return [*words, *(f"--{name}={text}" for name, text in told.items() if text), f"--wrap=sleep {self.runs}"]


@dataclass(frozen=True)
class Log:
    """What a slurm.conf says, who may what, and who submits."""

    settings: str
    seed: int
    partitions: str = ONE
    accounts: str = ""
    qos: tuple[str, ...] = ()
    many: int = 80
    every: float = 20.0  # seconds
    minutes: tuple[int, ...] = (2, 3, 5, 8, 12)
    watched: bool = False  # what slurmctld tells of its passes is kept

    def jobs(self) -> list[Job]:
        """Return the jobs, one submitted after the other."""
        rng = random.Random(self.seed)
        found = []
        for k in range(self.many):
            minutes = rng.choice(self.minutes)
            runs = round(rng.uniform(0.3, 0.95) * minutes * MINUTE)
            user, account = rng.choice(PEOPLE) if self.accounts else ("", "")
            fast = "fast" in self.partitions and rng.random() < 0.3
            widest = 4 if fast else NODES
            nodes = min(widest, rng.choice((1, 1, 2, 2, 3, 4, 6, 9)))
            qos = rng.choice(("", *self.qos)) if self.qos else ""
            nodes = min(nodes, {"narrow": 4, "wide": 6}.get(qos, nodes))
            found.append(Job(k * self.every, nodes, minutes, runs, user, account, "fast" if fast else "", qos))
        return found


WHOLE = "SchedulerParameters=bf_yield_interval=10000000"
LONG = {"many": 500, "every": 28.0, "minutes": (1, 2, 3, 5), "watched": True}
LOGS = {
    "builtin": Log(f"SchedulerType=sched/builtin\n{BASIC}\n{COMMON}", 1),
    "backfill": Log(f"SchedulerType=sched/backfill\n{BASIC}\n{COMMON}", 2),
    "multifactor": Log(f"SchedulerType=sched/backfill\n{MULTIFACTOR}\n{COMMON}", 3, accounts=ACCOUNTS),
    "limits": Log(
        f"SchedulerType=sched/backfill\n{MULTIFACTOR}\n{COMMON}", 4, TWO, f"{ACCOUNTS}\n{LIMITS}",
        ("few", "narrow", "wide"),
    ),
}  # fmt: skip
LONG_LOGS = {
    "multifactor_500": Log(
        f"SchedulerType=sched/backfill\n{WHOLE}\n{MULTIFACTOR}\n{COMMON}", 5, accounts=ACCOUNTS, **LONG
    ),
    "limits_500": Log(
        f"SchedulerType=sched/backfill\n{WHOLE}\n{MULTIFACTOR}\n{COMMON}", 6, TWO, f"{ACCOUNTS}\n{LIMITS}",
        ("few", "narrow", "wide"), **LONG,
    ),
}  # fmt: skip
AGAIN = "_again"  # a log that was recorded a second time
LONG_LOGS |= {f"{name}{AGAIN}": log for name, log in LONG_LOGS.items()}
