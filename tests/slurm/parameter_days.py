"""Short days on which one parameter of a slurm.conf decides, each beside the same day without it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from slurm.script import Day, Submit

RECORDED = Path(__file__).parent / "recorded" / "parameters"
LINES = """\
SchedulerType=sched/backfill
SchedulerParameters={}
SelectType=select/linear
KillWait=5
OverTimeLimit=0
EpilogMsgTime=0
"""
BASIC = "PriorityType=priority/basic"
BY_SIZE = "PriorityType=priority/multifactor\nPriorityWeightJobSize=10000\nPriorityCalcPeriod=5"
OFTEN = {"batch_sched_delay": 1, "sched_interval": 20, "bf_interval": 10, "bf_resolution": 1}
SELDOM = OFTEN | {"sched_interval": 30, "bf_interval": 600}  # no backfill on a day so short
# Six narrow jobs behind a wide one: who starts with whom once it has ended.
TURNS = Day(6, (Submit("wide", 5, 6, 4, 150), *(Submit(f"j{k}", 20.0 * k, 1, 6, 230) for k in range(1, 7))))
# As they stand in the queue, of all sizes, behind a wide one.
SIZES = Day(6, (
    Submit("wide", 5, 6, 4, 150), Submit("one", 20, 1, 2, 40), Submit("four", 40, 4, 2, 40),
    Submit("six", 60, 6, 2, 40), Submit("two", 80, 2, 2, 40), Submit("three", 100, 3, 2, 40),
))  # fmt: skip
# Two of six nodes are free, and two jobs want all: who goes around them.
AROUND = Day(6, (
    Submit("runs", 0, 4, 5, 240), Submit("head", 15, 6, 2, 40), Submit("second", 30, 6, 2, 40),
    Submit("brief", 45, 1, 2, 40), Submit("again", 48, 1, 2, 40), Submit("long", 75, 2, 20, 100),
))  # fmt: skip
# Nobody has to wait for nodes.
ROOM = Day(6, tuple(Submit(f"j{k}", 5.0 + 15 * k, 1, 4, 150) for k in range(6)))
CALM = {"sched_interval": 600, "bf_interval": 600, "bf_resolution": 1}
ALONE = OFTEN | {"sched_interval": -1}  # backfill


class Tried(NamedTuple):
    """A day, and what the conf says: the words of SchedulerParameters, and lines beside them."""

    day: Day
    words: dict[str, int]
    beside: str = BASIC
    plain: str = ""  # the same day without the parameter

    @property
    def settings(self) -> str:
        """Return the lines of the conf that decisions depend on."""
        return LINES.format(",".join(f"{name}={value}" for name, value in self.words.items())) + self.beside


TRIED = {
    "turns": Tried(TURNS, SELDOM),
    "default_queue_depth": Tried(TURNS, SELDOM | {"default_queue_depth": 1}, plain="turns"),
    "partition_job_depth": Tried(TURNS, SELDOM | {"partition_job_depth": 1}, plain="turns"),
    "sched_max_job_start": Tried(TURNS, SELDOM | {"sched_max_job_start": 2}, plain="turns"),
    "room": Tried(ROOM, CALM | {"batch_sched_delay": 1}),
    "batch_sched_delay": Tried(ROOM, CALM | {"batch_sched_delay": 60}, plain="room"),
    "alone": Tried(ROOM, ALONE),
    "bf_interval": Tried(ROOM, ALONE | {"bf_interval": 60}, plain="alone"),
    "sizes": Tried(SIZES, SELDOM, BY_SIZE),
    "PriorityFavorSmall": Tried(SIZES, SELDOM, f"{BY_SIZE}\nPriorityFavorSmall=YES", plain="sizes"),
    "around": Tried(AROUND, OFTEN),
    "bf_max_job_test": Tried(AROUND, OFTEN | {"bf_max_job_test": 2}, plain="around"),
    "bf_max_job_user": Tried(AROUND, OFTEN | {"bf_max_job_user": 2}, plain="around"),
    "bf_max_job_part": Tried(AROUND, OFTEN | {"bf_max_job_part": 2}, plain="around"),
    "bf_max_job_user_part": Tried(AROUND, OFTEN | {"bf_max_job_user_part": 2}, plain="around"),
    "bf_max_job_start": Tried(AROUND, OFTEN | {"bf_interval": 60, "bf_max_job_start": 1}, plain="around"),
    "bf_min_age_reserve": Tried(AROUND, OFTEN | {"bf_min_age_reserve": 900}, plain="around"),
    "bf_min_prio_reserve": Tried(AROUND, OFTEN | {"bf_min_prio_reserve": 4294967295}, plain="around"),
    "bf_window": Tried(AROUND, OFTEN | {"bf_window": 1}, plain="around"),
}
