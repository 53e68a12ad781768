"""Short days on which one line of a slurm.conf decides: of priorities, accounts, nodes or partitions."""

from __future__ import annotations

from dataclasses import replace

from slurm.cluster import ALL, ONE_JOB
from slurm.parameter_days import AROUND, BASIC, BY_SIZE, OFTEN, SELDOM, SHARED, Tried
from slurm.script import Day, Submit

BY_AGE = """\
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityMaxAge=60
PriorityWeightAge=20000
PriorityWeightJobSize=1000"""
# Two partitions of the same nodes.
QUEUES = Day(6, (
    Submit("wide", 5, 6, 4, 150), Submit("first", 20, 6, 2, 40), Submit("second", 40, 6, 2, 40, partition="q"),
))  # fmt: skip
OTHER = f"{ALL}\nPartitionName=q Nodes=ALL MaxTime=INFINITE State=UP"
BY_PARTITION = "PriorityType=priority/multifactor\nPriorityCalcPeriod=5\nPriorityWeightPartition=1000"
# The larger one of two; what else speaks for the smaller one says more where it is not the share of the highest.
MIXED = Day(6, (
    Submit("wide", 5, 6, 4, 150), Submit("large", 20, 6, 2, 40), Submit("small", 40, 3, 2, 40, partition="q"),
))  # fmt: skip
BY_SIZE_AND = "PriorityType=priority/multifactor\nPriorityCalcPeriod=5\nPriorityWeightJobSize=1000\nPriorityWeight"
FACTORS = f"{ALL} PriorityJobFactor=1\nPartitionName=q Nodes=ALL MaxTime=INFINITE State=UP PriorityJobFactor=10"
# The larger one asks for far more time.
RATES = Day(6, (Submit("wide", 5, 6, 4, 150), Submit("large", 20, 6, 20, 40), Submit("small", 40, 3, 2, 40)))
# Of two nodes the first one is fast.
FAST = Day(2, (
    Submit("plain", 5, 1, 4, 150), Submit("fast", 20, 1, 2, 40, features="fast"), Submit("other", 100, 1, 2, 20),
))  # fmt: skip
# One asks for no time: he goes around those who wait if his partition's is short.
UNTIMED = replace(AROUND, events=tuple(replace(one, minutes=0) if one.key == "brief" else one for one in AROUND.events))
# A partition whose nodes are taken.
PLACES = Day(6, (
    Submit("runs", 5, 2, 4, 150), Submit("there", 20, 1, 2, 40, partition="q"), Submit("other", 100, 1, 2, 20),
))  # fmt: skip
SOME = OTHER.replace("PartitionName=q Nodes=ALL", "PartitionName=q Nodes=n[1-2]")
# Two accounts of a user each.
TWO = (
    "add cluster referee", "add account physics fairshare=1", "add account biology fairshare=1",
    "add user daemon account=physics", "add user bin account=biology",
)  # fmt: skip
PHYSICS, BIOLOGY = {"user": "daemon", "account": "physics"}, {"user": "bin", "account": "biology"}
# Two wait for all nodes: the smaller one has waited for long, the larger one has come since.
AGES = Day(6, (
    Submit("wide", 0, 6, 9, 400, **PHYSICS), Submit("early", 20, 3, 4, 60, **PHYSICS),
    Submit("late", 210, 6, 4, 60, **PHYSICS),
))  # fmt: skip
# Of one user's two associations the first one has most of the queue.
BOTH = (*TWO, "add user daemon account=biology")
AROUND_BOTH = replace(AROUND, events=tuple(
    replace(one, user="daemon", account="biology" if one.key == "again" else "physics") for one in AROUND.events
))  # fmt: skip
# Of an account one job may run.
LIMITED = (*TWO, "modify account physics set grpjobs=1")
FULL = (*TWO, "modify account physics set grptres=cpu=1")  # the same of its CPUs
HELD = Day(6, (
    Submit("runs", 5, 1, 4, 150, **PHYSICS), Submit("over", 20, 1, 2, 40, **PHYSICS),
    Submit("other", 40, 1, 2, 40, **BIOLOGY),
))  # fmt: skip
ENFORCED = f"{BASIC}\nAccountingStorageEnforce=associations,limits"
# Whoever runs first waits with another job, too, which came before the other account's.
SPENT = Day(6, (
    Submit("runs", 0, 6, 9, 400, **PHYSICS), Submit("again", 0.5, 6, 4, 60, **PHYSICS),
    Submit("other", 60, 6, 4, 60, **BIOLOGY),
))  # fmt: skip
BY_SHARE = """\
PriorityType=priority/multifactor
PriorityCalcPeriod=1
PriorityDecayHalfLife=0
PriorityUsageResetPeriod=YEARLY
PriorityWeightFairshare=10000
AccountingStorageEnforce=associations,limits"""
# One account has used more, the other one later.
USED = Day(6, (
    Submit("much", 0, 6, 9, 300, **PHYSICS), Submit("later", 10, 6, 9, 220, **BIOLOGY),
    Submit("first", 320, 6, 4, 60, **PHYSICS), Submit("second", 320.5, 6, 4, 60, **BIOLOGY),
))  # fmt: skip
QUALITIES = (
    *TWO, "add qos low priority=1", "add qos high priority=10", "modify user where name=daemon set qos+=low,high",
)  # fmt: skip
BY_QUALITY = Day(6, (
    Submit("wide", 5, 6, 4, 150, **PHYSICS), Submit("large", 20, 6, 2, 40, **PHYSICS, qos="low"),
    Submit("small", 40, 3, 2, 40, **PHYSICS, qos="high"),
))  # fmt: skip
RANKED = (*TWO[:3], f"{TWO[3]} priority=1", f"{TWO[4]} priority=10")
BY_RANK = Day(6, (
    Submit("wide", 5, 6, 4, 150, **PHYSICS), Submit("large", 20, 6, 2, 40, **PHYSICS),
    Submit("small", 40, 3, 2, 40, **BIOLOGY),
))  # fmt: skip
ASSOCIATED = "\nAccountingStorageEnforce=associations,limits,qos"


def flagged(lines: str, *flags: str) -> str:
    """Return the lines with flags of priorities."""
    return f"{lines}\nPriorityFlags={','.join(flags)}"


# Jobs share nodes, as far as their cores or their memory go.
TOGETHER = f"{SHARED}SelectTypeParameters=CR_CPU_Memory\n"
CORES = Day(2, tuple(Submit(f"j{k}", 5.0 + k, 1, 4, 150, cores=2, memory=100) for k in range(4)))
MEMORY = Day(2, tuple(Submit(f"j{k}", 5.0 + k, 1, 4, 150, cores=1, memory=400) for k in range(4)))
GPUS = Day(2, tuple(Submit(f"j{k}", 5.0 + k, 1, 4, 150, cores=1, memory=100, gpus=1) for k in range(4)))
WIDE = "CPUs=4 RealMemory=1000"
WITH_GPUS = f"{TOGETHER}GresTypes=gpu\n"

NODES = {
    "anywhere": Tried(FAST, OFTEN, each=(f"{ONE_JOB} Feature=fast",) * 2),
    "Feature": Tried(FAST, OFTEN, plain="anywhere", each=(f"{ONE_JOB} Feature=fast", ONE_JOB)),
    "narrow": Tried(CORES, SELDOM, lines=TOGETHER, each=("CPUs=2 RealMemory=1000",) * 2),
    "CPUs": Tried(CORES, SELDOM, plain="narrow", lines=TOGETHER, each=(WIDE,) * 2),
    "spacious": Tried(MEMORY, SELDOM, lines=TOGETHER, each=(WIDE,) * 2),
    "RealMemory": Tried(MEMORY, SELDOM, plain="spacious", lines=TOGETHER, each=("CPUs=4 RealMemory=700",) * 2),
    "MemSpecLimit": Tried(MEMORY, SELDOM, plain="spacious", lines=TOGETHER, each=(f"{WIDE} MemSpecLimit=300",) * 2),
    "a_gpu_each": Tried(GPUS, SELDOM, lines=WITH_GPUS, each=(f"{WIDE} Gres=gpu:1",) * 2),
    "Gres": Tried(GPUS, SELDOM, plain="a_gpu_each", lines=WITH_GPUS, each=(f"{WIDE} Gres=gpu:2",) * 2),
    "Weight": Tried(FAST, OFTEN, plain="Feature", each=(f"{ONE_JOB} Feature=fast Weight=10", ONE_JOB)),
}
PARTITIONS = {
    "queues": Tried(QUEUES, SELDOM, partitions=OTHER),
    "PriorityTier": Tried(QUEUES, SELDOM, plain="queues", partitions=f"{OTHER} PriorityTier=5"),
    "equal": Tried(QUEUES, SELDOM, BY_PARTITION, partitions=OTHER),
    "PriorityJobFactor": Tried(QUEUES, SELDOM, BY_PARTITION, "equal", partitions=f"{OTHER} PriorityJobFactor=10"),
    "Priority": Tried(QUEUES, SELDOM, BY_PARTITION, "equal", partitions=f"{OTHER} Priority=10"),
    "PriorityWeightPartition": Tried(
        QUEUES, SELDOM, BY_PARTITION.replace("1000", "0"), "PriorityJobFactor",
        partitions=f"{OTHER} PriorityJobFactor=10",
    ),
    "untimed": Tried(UNTIMED, OFTEN, partitions=f"{ALL} DefaultTime=60"),
    "DefaultTime": Tried(UNTIMED, OFTEN, plain="untimed", partitions=f"{ALL} DefaultTime=2"),
    "everywhere": Tried(PLACES, OFTEN, partitions=OTHER),
    "Nodes": Tried(PLACES, OFTEN, plain="everywhere", partitions=SOME),
    "Default": Tried(PLACES, OFTEN, plain="Nodes", partitions=f"{SOME.replace('Default=YES ', '')} Default=YES"),
}  # fmt: skip
PRIORITIES = {
    "ages": Tried(AGES, SELDOM, BY_AGE, accounts=TWO),
    "PriorityMaxAge": Tried(AGES, SELDOM, BY_AGE.replace("MaxAge=60", "MaxAge=1"), "ages", accounts=TWO),
    "PriorityCalcPeriod": Tried(AGES, SELDOM, BY_AGE.replace("CalcPeriod=1", "CalcPeriod=60"), "ages", accounts=TWO),
    "PriorityWeightAge": Tried(AGES, SELDOM, BY_AGE.replace("=20000", "=100"), "ages", accounts=TWO),
    "PriorityWeightJobSize": Tried(AGES, SELDOM, BY_AGE.replace("=1000", "=5000"), "ages", accounts=TWO),
    "PriorityType": Tried(AGES, SELDOM, BASIC, "PriorityMaxAge", accounts=TWO),
    "parts": Tried(MIXED, SELDOM, f"{BY_SIZE_AND}Partition=100", partitions=FACTORS),
    "NO_NORMAL_PART": Tried(
        MIXED, SELDOM, flagged(f"{BY_SIZE_AND}Partition=100", "NO_NORMAL_PART"), "parts", partitions=FACTORS
    ),
    "NO_NORMAL_ALL": Tried(
        MIXED, SELDOM, flagged(f"{BY_SIZE_AND}Partition=100", "NO_NORMAL_ALL"), "parts", partitions=FACTORS
    ),
    "tres": Tried(RATES, SELDOM, f"{BY_SIZE_AND}TRES=CPU=300\nPriorityFavorSmall=YES"),
    "PriorityWeightTRES": Tried(RATES, SELDOM, f"{BY_SIZE_AND}TRES=CPU=3000\nPriorityFavorSmall=YES", "tres"),
    "NO_NORMAL_TRES": Tried(
        RATES, SELDOM, flagged(f"{BY_SIZE_AND}TRES=CPU=300\nPriorityFavorSmall=YES", "NO_NORMAL_TRES"), "tres"
    ),
    "rates": Tried(RATES, SELDOM, BY_SIZE),
    "SMALL_RELATIVE_TO_TIME": Tried(RATES, SELDOM, flagged(BY_SIZE, "SMALL_RELATIVE_TO_TIME"), "rates"),
}
ACCOUNTS = {
    "both": Tried(AROUND_BOTH, OFTEN, f"{BASIC}{ASSOCIATED}", accounts=BOTH),
    "bf_max_job_assoc": Tried(
        AROUND_BOTH, OFTEN | {"bf_max_job_assoc": 2}, f"{BASIC}{ASSOCIATED}", "both", accounts=BOTH
    ),
    "held": Tried(HELD, SELDOM, ENFORCED, accounts=LIMITED),
    "held_before": Tried(HELD, SELDOM | {"assoc_limit_stop": None}, ENFORCED, accounts=LIMITED),
    "full": Tried(HELD, SELDOM, ENFORCED, accounts=FULL),
    "assoc_limit_stop": Tried(HELD, SELDOM | {"assoc_limit_stop": None}, ENFORCED, "full", accounts=FULL),
    "AccountingStorageEnforce": Tried(HELD, SELDOM, ENFORCED.replace(",limits", ""), "held", accounts=LIMITED),
    "spent": Tried(SPENT, SELDOM, BY_SHARE, accounts=TWO),
    "INCR_ONLY": Tried(SPENT, SELDOM, flagged(BY_SHARE, "INCR_ONLY"), "spent", accounts=TWO),
    "PriorityWeightFairshare": Tried(SPENT, SELDOM, BY_SHARE.replace("=10000", "=0"), "spent", accounts=TWO),
    "used": Tried(USED, SELDOM, BY_SHARE, accounts=TWO),
    "PriorityDecayHalfLife": Tried(USED, SELDOM, BY_SHARE.replace("Life=0", "Life=1"), "used", accounts=TWO),
    "qualities": Tried(BY_QUALITY, SELDOM, f"{BY_SIZE_AND}QOS=100{ASSOCIATED}", accounts=QUALITIES),
    "PriorityWeightQOS": Tried(
        BY_QUALITY, SELDOM, f"{BY_SIZE_AND}QOS=1000{ASSOCIATED}", "qualities", accounts=QUALITIES
    ),
    "NO_NORMAL_QOS": Tried(
        BY_QUALITY, SELDOM, flagged(f"{BY_SIZE_AND}QOS=100{ASSOCIATED}", "NO_NORMAL_QOS"), "qualities",
        accounts=QUALITIES,
    ),
    "ranks": Tried(BY_RANK, SELDOM, f"{BY_SIZE_AND}Assoc=100{ASSOCIATED}", accounts=RANKED),
    "PriorityWeightAssoc": Tried(BY_RANK, SELDOM, f"{BY_SIZE_AND}Assoc=1000{ASSOCIATED}", "ranks", accounts=RANKED),
    "NO_NORMAL_ASSOC": Tried(
        BY_RANK, SELDOM, flagged(f"{BY_SIZE_AND}Assoc=100{ASSOCIATED}", "NO_NORMAL_ASSOC"), "ranks", accounts=RANKED
    ),
}  # fmt: skip
OF_CONF = NODES | PARTITIONS | PRIORITIES | ACCOUNTS
