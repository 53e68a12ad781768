"""Two short days on which backfill tries a job again, or does not, when a node comes free that this job may not have.

`wide` wants two fast nodes, of which one is idle, one is kept for `next` for long, and on one somebody runs for longer.
That it could begin when `next` has ended, backfill only sees if it looks again from a time nearer to that. It does as a
node of the partition comes free on which `wide` cannot be, and then keeps the idle node off `last`.
"""

from __future__ import annotations

from slurm.cluster import ONE_JOB
from slurm.parameter_days import OFTEN, Tried
from slurm.script import Day, Submit

FREED = Day(4, (
    Submit("slow", 5, 1, 8, 360, partition="other"), Submit("first", 15, 1, 5, 240, features="a"),
    Submit("longest", 25, 1, 40, 600, features="b"), Submit("next", 35, 1, 10, 120, features="a"),
    Submit("behind", 45, 1, 2, 60, partition="other"), Submit("wide", 55, 2, 6, 60, features="fast"),
    Submit("last", 65, 1, 20, 60, features="c"),
))  # fmt: skip
EACH = (ONE_JOB, *(f"{ONE_JOB} Feature=fast,{name}" for name in "abc"))
PARTITIONS = """\
PartitionName=p Nodes={} Default=YES MaxTime=INFINITE State=UP
PartitionName=other Nodes=n1 MaxTime=INFINITE State=UP"""

OF_RETRIES = {
    "freed_elsewhere": Tried(FREED, OFTEN, partitions=PARTITIONS.format("n[2-4]"), each=EACH),
    "freed_there": Tried(FREED, OFTEN, plain="freed_elsewhere", partitions=PARTITIONS.format("n[1-4]"), each=EACH),
}
