"""Short days on which one line of a slurm.conf decides what use costs, how soon it counts, or when it is forgotten."""

from __future__ import annotations

import calendar
from dataclasses import replace

from slurm.conf_days import BIOLOGY, BY_SHARE, OTHER, PHYSICS, TWO, flagged
from slurm.parameter_days import SELDOM, Tried
from slurm.script import Day, Submit

# One account has used more seconds; the other one has been where a second may cost more.
BILLED = Day(6, (
    Submit("much", 0, 6, 9, 320, **PHYSICS), Submit("later", 10, 6, 9, 240, **BIOLOGY, partition="q"),
    Submit("first", 320, 6, 4, 60, **PHYSICS), Submit("second", 320.5, 6, 4, 60, **BIOLOGY),
))  # fmt: skip
DEAR = f'{OTHER} TRESBillingWeights="CPU=1,Node=1"'
# The account that has used more has two users, of whom one has used nothing; the other account has one.
THREE = (*TWO, "add user sys account=physics")
TREES = Day(6, (
    Submit("much", 0, 6, 9, 320, **BIOLOGY), Submit("later", 10, 6, 9, 240, **PHYSICS),
    Submit("first", 320, 6, 4, 60, **BIOLOGY), Submit("second", 320.5, 6, 4, 60, **PHYSICS),
))  # fmt: skip
# Ticks come 20 s sooner in it.
TREES_LATER = replace(TREES, events=tuple(replace(one, at=one.at + 20.0) for one in TREES.events))
# Whoever has used all of it wants more than who has used nothing.
DAMPED = Day(6, (
    Submit("much", 0, 6, 9, 320, **PHYSICS), Submit("large", 20, 6, 4, 60, **PHYSICS),
    Submit("small", 40, 3, 4, 60, **BIOLOGY),
))  # fmt: skip
CLASSIC = flagged(BY_SHARE, "NO_FAIR_TREE")
BY_BOTH = f"{CLASSIC.replace('Fairshare=10000', 'Fairshare=1000')}\nPriorityWeightJobSize=1000"
# Three minutes before a midnight within a year, UTC.
EVENING = calendar.timegm((2026, 3, 3, 23, 57, 0))

OF_SHARES = {
    "billed": Tried(BILLED, SELDOM, BY_SHARE, accounts=TWO, partitions=OTHER),
    "TRESBillingWeights": Tried(
        BILLED, SELDOM, BY_SHARE, "billed", accounts=TWO, partitions=f"{OTHER} TRESBillingWeights=CPU=2"
    ),
    "summed": Tried(BILLED, SELDOM, BY_SHARE, accounts=TWO, partitions=DEAR),
    "MAX_TRES": Tried(BILLED, SELDOM, flagged(BY_SHARE, "MAX_TRES"), "summed", accounts=TWO, partitions=DEAR),
    "trees": Tried(TREES, SELDOM, BY_SHARE, accounts=THREE),
    "NO_FAIR_TREE": Tried(TREES, SELDOM, CLASSIC, "trees", accounts=THREE),
    "ticks_sooner": Tried(TREES_LATER, SELDOM, CLASSIC, accounts=THREE),
    "FAIR_TREE": Tried(TREES, SELDOM, flagged(BY_SHARE, "FAIR_TREE"), "NO_FAIR_TREE", accounts=THREE),
    "undamped": Tried(DAMPED, SELDOM, BY_BOTH, accounts=TWO),
    "FairShareDampeningFactor": Tried(
        DAMPED, SELDOM, f"{BY_BOTH}\nFairShareDampeningFactor=5", "undamped", accounts=TWO
    ),
    "kept": Tried(BILLED, SELDOM, BY_SHARE, accounts=TWO, partitions=OTHER, begins=EVENING),
    "PriorityUsageResetPeriod": Tried(
        BILLED, SELDOM, BY_SHARE.replace("YEARLY", "DAILY"), "kept", accounts=TWO, partitions=OTHER, begins=EVENING
    ),
}  # fmt: skip
