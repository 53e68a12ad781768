"""Short days on which one parameter of a slurm.conf decides, each beside the same day without it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from slurm.cluster import ALL
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
SHARED = LINES.replace("select/linear", "select/cons_tres")
OVER = SHARED.replace("OverTimeLimit=0", "OverTimeLimit=2")
BASIC = "PriorityType=priority/basic"
BY_SIZE = "PriorityType=priority/multifactor\nPriorityWeightJobSize=10000\nPriorityCalcPeriod=5"
OFTEN = {"batch_sched_delay": 1, "sched_interval": 20, "bf_interval": 10, "bf_resolution": 1}
SELDOM = OFTEN | {"sched_interval": 30, "bf_interval": 600}  # no backfill on a day so short
# Six narrow jobs behind a wide one: who starts with whom once it has ended.
TURNS = Day(6, (Submit("wide", 5, 6, 4, 150), *(Submit(f"j{k}", 20.0 * k, 1, 6, 230) for k in range(1, 7))))
# The first of them is gone before the others.
STEPS = replace(TURNS, events=tuple(replace(one, runs=60) if one.key == "j1" else one for one in TURNS.events))
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
# An array whose second task would have the nodes that are free.
ARRAY = Day(6, (
    Submit("runs", 0, 4, 5, 240), Submit("tasks", 15, 3, 4, 100, array="0-1"), Submit("long", 40, 1, 20, 100),
))  # fmt: skip
# Who is second in the queue would have all nodes.
SECOND = Day(6, (
    Submit("runs", 0, 4, 5, 240), Submit("head", 15, 4, 4, 200), Submit("second", 30, 6, 2, 40),
    Submit("long", 60, 2, 20, 100),
))  # fmt: skip
# Ends are expected at 5, 10 and 11 minutes: by the first two enough nodes are free.
ENDS = Day(6, (
    Submit("first", 0, 2, 5, 240), Submit("second", 5, 2, 10, 300), Submit("third", 10, 1, 11, 420),
    Submit("head", 25, 5, 4, 60), Submit("brief", 80, 1, 9, 60),
))  # fmt: skip
# Who runs is over his limit when another comes who could be done before he has to be.
OVERDUE = Day(6, (Submit("runs", 0, 4, 2, 230), Submit("head", 15, 6, 2, 40), Submit("brief", 150, 1, 4, 60)))
# Behind an array for which a pass needs seconds comes one who would have the nodes that are free.
LENGTHY = Day(6, (
    Submit("runs", 0, 4, 30, 900), Submit("tasks", 15, 6, 4, 2, array="0-149"), Submit("brief", 60, 1, 4, 60),
))  # fmt: skip
SLOWLY = LINES + "DebugFlags=Backfill\nSlurmctldDebug=debug2\n"  # each test is told
WHOLE = {"batch_sched_delay": 1, "sched_interval": 60, "bf_interval": 300, "bf_resolution": 1,
         "bf_max_job_array_resv": 1000, "bf_yield_interval": 10000000}  # fmt: skip
CALM = {"sched_interval": 600, "bf_interval": 600, "bf_resolution": 1}
ALONE = OFTEN | {"sched_interval": -1}  # backfill


class Tried(NamedTuple):
    """A day, and what the conf says: the words of SchedulerParameters, lines around them and beside them."""

    day: Day
    words: dict[str, int | None]  # None: the word alone
    beside: str = BASIC
    plain: str = ""  # the same day without the parameter
    lines: str = LINES
    partitions: str = ALL
    each: tuple[str, ...] = ()  # what each node has
    accounts: tuple[str, ...] = ()  # the commands of sacctmgr
    begins: int = 0  # when, in seconds since 1970, if that decides anything

    @property
    def said(self) -> dict[str, object]:
        """Return what the conf and its accounts say, as it is recorded."""
        there = "" if self.partitions == ALL else self.partitions
        return {"settings": self.settings, "partitions": there, "each": self.each, "accounts": self.accounts}

    @property
    def settings(self) -> str:
        """Return the lines of the conf that decisions depend on."""
        words = (name if value is None else f"{name}={value}" for name, value in self.words.items())
        return self.lines.format(",".join(words)) + self.beside


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
    "bf_resolution": Tried(AROUND, OFTEN | {"bf_resolution": 3600}, plain="around"),
    "array": Tried(ARRAY, OFTEN),
    "bf_max_job_array_resv": Tried(ARRAY, OFTEN | {"bf_max_job_array_resv": 1}, plain="array"),
    "second": Tried(SECOND, OFTEN),
    "bf_job_part_count_reserve": Tried(SECOND, OFTEN | {"bf_job_part_count_reserve": 1}, plain="second"),
    "ends": Tried(ENDS, OFTEN, lines=SHARED),
    "bf_window_linear": Tried(ENDS, OFTEN | {"bf_window_linear": 30}, plain="ends", lines=SHARED),
    "SelectType": Tried(ENDS, OFTEN, plain="ends"),
    "reached": Tried(LENGTHY, WHOLE, lines=SLOWLY),
    "bf_max_time": Tried(LENGTHY, WHOLE | {"bf_max_time": 1}, plain="reached", lines=SLOWLY),
    "SchedulerType": Tried(AROUND, OFTEN, plain="around", lines=LINES.replace("sched/backfill", "sched/builtin")),
    "steps": Tried(STEPS, SELDOM | {"default_queue_depth": 1}),
    "sched_interval": Tried(STEPS, SELDOM | {"default_queue_depth": 1, "sched_interval": 3600}, plain="steps"),
    "overdue": Tried(OVERDUE, OFTEN, lines=OVER),
    "KillWait": Tried(OVERDUE, OFTEN, plain="overdue", lines=OVER.replace("KillWait=5", "KillWait=300")),
    "OverTimeLimit": Tried(OVERDUE, OFTEN, plain="overdue", lines=OVER.replace("Limit=2", "Limit=10")),
}  # fmt: skip
