"""Short days on which a partition takes a job or does not, by one word of its line in a slurm.conf."""

from __future__ import annotations

from slurm.cluster import ALL
from slurm.conf_days import ASSOCIATED, BIOLOGY, PHYSICS, TWO
from slurm.parameter_days import BASIC, SELDOM, Tried
from slurm.script import Day, Submit

# One behind the other, of all sizes: a long one, a narrow one, a wide one.
TAKEN = Day(6, (
    Submit("runs", 5, 4, 4, 150), Submit("long", 20, 4, 20, 60), Submit("one", 40, 1, 2, 100),
    Submit("six", 60, 6, 2, 40), Submit("two", 80, 2, 2, 40),
))  # fmt: skip
# The second one is another account's, and asks for another QOS.
QUALITIES = (*TWO, "add qos high priority=10", "modify user where name=bin set qos+=high")
OTHERS = Day(6, (
    Submit("runs", 5, 4, 4, 150, **PHYSICS), Submit("other", 20, 4, 4, 60, **BIOLOGY, qos="high"),
    Submit("last", 40, 2, 2, 40, **PHYSICS),
))  # fmt: skip
LINKED = f"{BASIC}{ASSOCIATED}"

OF_ADMISSION = {
    "taken": Tried(TAKEN, SELDOM),
    "MaxTime": Tried(TAKEN, SELDOM, plain="taken", partitions=ALL.replace("INFINITE", "10")),
    "MinNodes": Tried(TAKEN, SELDOM, plain="taken", partitions=f"{ALL} MinNodes=2"),
    "MaxNodes": Tried(TAKEN, SELDOM, plain="taken", partitions=f"{ALL} MaxNodes=4"),
    "others": Tried(OTHERS, SELDOM, LINKED, accounts=QUALITIES),
    "AllowAccounts": Tried(
        OTHERS, SELDOM, LINKED, "others", accounts=QUALITIES, partitions=f"{ALL} AllowAccounts=physics"
    ),
    "AllowQos": Tried(OTHERS, SELDOM, LINKED, "others", accounts=QUALITIES, partitions=f"{ALL} AllowQos=normal"),
}  # fmt: skip
