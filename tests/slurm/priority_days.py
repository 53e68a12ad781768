"""Days on which priorities differ in every factor: accounts in accounts, QOS, partitions, devices, nice values."""

from __future__ import annotations

import random
from dataclasses import dataclass

MINUTE = 60.0
NODES = 6
NODE = "CPUs=4 RealMemory=4000 Gres=gpu:2"
PARTITIONS = """\
PartitionName=short Nodes=ALL Default=YES MaxTime=60 PriorityJobFactor=3 PriorityTier=2 State=UP
PartitionName=long Nodes=n[1-4] MaxTime=INFINITE PriorityJobFactor=10 State=UP \
TRESBillingWeights=CPU=1.0,Mem=0.25G,GRES/gpu=2.5"""
# Who stands where: an account beside the user's own is that of another association of his.
ACCOUNTS = """\
add cluster referee
add qos high priority=100 usagefactor=2
add qos low priority=15 usagefactor=0.5 maxjobsperuser=50
add account physics fairshare=10
add account theory parent=physics fairshare=3
add account lab parent=physics fairshare=1
add account biology fairshare=5
add account chemistry fairshare=5
add account common fairshare=parent
add account empty fairshare=7
add user daemon account=theory fairshare=1 qos=normal,high,low
add user bin account=theory fairshare=2 qos=normal,high,low priority=10
add user sys account=lab fairshare=parent qos=normal,low
add user games account=lab fairshare=1 qos=normal,high,low
add user man account=biology fairshare=1 qos=normal,high maxjobs=40
add user lp account=biology fairshare=4 qos=normal,low priority=4
add user lp account=common fairshare=2
add user mail account=common fairshare=2 qos=normal,high
add user news account=common fairshare=1
add user uucp account=chemistry fairshare=1
add user proxy account=chemistry fairshare=0"""
WHO = (
    ("daemon", "theory"), ("bin", "theory"), ("sys", "lab"), ("games", "lab"), ("man", "biology"), ("lp", "biology"),
    ("lp", "common"), ("mail", "common"), ("news", "common"), ("uucp", "chemistry"), ("proxy", "chemistry"),
)  # fmt: skip
QOS = {"daemon": "high low", "bin": "high low", "sys": "low", "games": "high low", "man": "high", "mail": "high"}
COMMON = """\
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=3,bf_interval=30
PriorityType=priority/multifactor
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
AccountingStorageTRES=gres/gpu
DefMemPerCPU=500
KillWait=5
OverTimeLimit=0
EpilogMsgTime=0
PriorityCalcPeriod=5
PriorityMaxAge=0-2
PriorityWeightAge=1000
PriorityWeightAssoc=300
PriorityWeightFairshare=20000
PriorityWeightJobSize=777
PriorityWeightPartition=1500
PriorityWeightQOS=2500
"""
SETTINGS = {
    "fair-tree": """\
PriorityDecayHalfLife=0-2
PriorityFavorSmall=NO
PriorityWeightTRES=CPU=1000,Mem=2000,GRES/gpu=3000
AccountingStorageEnforce=associations""",
    "classic": """\
PriorityDecayHalfLife=0-6
PriorityFavorSmall=YES
PriorityFlags=NO_FAIR_TREE,MAX_TRES
FairShareDampeningFactor=3
PriorityWeightTRES=CPU=-200,Mem=2000
AccountingStorageEnforce=associations,limits,qos""",
    "relative": """\
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=MONTHLY
PriorityFavorSmall=YES
PriorityFlags=SMALL_RELATIVE_TO_TIME,NO_NORMAL_ALL
PriorityWeightTRES=CPU=10,Mem=.03,GRES/gpu=300
AccountingStorageEnforce=associations,limits,qos""",
}


@dataclass(frozen=True)
class Submit:
    """A job of somebody's."""

    at: float
    user: str
    account: str
    options: tuple[str, ...]
    runs: float

    def command(self) -> list[str]:
        """Return how it is submitted."""
        words = ["sbatch", "--parsable", "--output=/dev/null", "--chdir=/", f"--uid={self.user}"]
        return [*words, f"--account={self.account}", *self.options, f"--wrap=sleep {self.runs:g}"]


def jobs(seed: int, how_many: int = 60, *, every: float = 40.0) -> list[Submit]:
    """Return jobs of everybody's, more than the machine can run; some that nothing is said of before later."""
    rng = random.Random(seed)
    found = []
    for k in range(how_many):
        user, account = rng.choice(WHO)
        long = rng.random() < 0.4
        minutes = rng.choice((5, 10, 15, 30, 60))
        options = [f"--partition={'long' if long else 'short'}", f"--time={minutes}"]
        options.append(f"--nodes={rng.choice((1, 1, 2, 3))}")
        options.append(f"--ntasks-per-node={rng.choice((1, 2, 3, 4))}")
        if rng.random() < 0.4:
            options.append(f"--mem={rng.choice((300, 1000, 2500))}")
        if rng.random() < 0.3:
            options.append(f"--gres=gpu:{rng.choice((1, 2))}")
        if rng.random() < 0.3:
            options.append(f"--nice={rng.choice((-100, 7, 50, 5000, 40000))}")
        others = QOS.get(user, "").split() if account != "common" or user != "lp" else []
        if others and rng.random() < 0.6:
            options.append(f"--qos={rng.choice(others)}")
        if k % 15 == 9:
            options.append("--begin=now+7minutes")
        if k % 20 == 13:
            options.append("--hold")
        found.append(Submit(k * every, user, account, tuple(options), round(rng.uniform(0.3, 1.0) * minutes * MINUTE)))
    return found
