"""Days of six kinds, each played by a real Slurm that is left alone, and by one that `fedsched watch` steers."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from slurm.recorder import SETTINGS
from slurm.script import MINUTE, Day, Submit

RECORDED = Path(__file__).parent / "recorded" / "watched"
NODES = 8
SLACK = 1800.0  # seconds after its forecast by which a job must have started
INTERVAL = 30.0  # seconds between two looks
LEASE = 600.0  # how far ahead begin times are, where the order is made by them
MEANS = ("alone", "nice", "lease")
BASIC = SETTINGS.format("backfill", "sched_interval=15,bf_interval=15,bf_resolution=1,bf_window=2880")
MULTIFACTOR = BASIC.replace("priority/basic", "priority/multifactor") + """
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityWeightJobSize=1000
PriorityWeightPartition=100000"""
SHORT_TOO = """
PartitionName=short Nodes=n[5-8] MaxTime=30 State=UP"""


class Watched(NamedTuple):
    """A day, what slurm.conf says, and of what kind its jobs are."""

    title: str
    day: Day
    settings: str = BASIC


def jobs(
    seed: int, many: int, every: float, minutes: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[Submit, ...]:
    """Return jobs that need a fifth of their limit to nearly all of it, one submitted after the other."""
    draw = random.Random(seed)
    found = []
    for k in range(many):
        limit = draw.choice(minutes)
        runs = round(draw.uniform(0.2, 0.95) * limit * MINUTE)
        found.append(Submit(f"j{k}", round(k * every), draw.choice(sizes), limit, runs))
    return tuple(found)


def two_partitions(seed: int) -> tuple[Submit, ...]:
    """Return jobs of which the short ones may ask for a partition of half the nodes, and some do."""
    draw = random.Random(seed)
    found = jobs(seed, 44, 45.0, (5, 10, 20, 40, 60), (1, 1, 2, 2, 3, 4))
    return tuple(
        replace(job, partition="short") if job.minutes <= 30 and draw.random() < 0.5 else job for job in found
    )


MIXED = (1, 1, 2, 2, 3, 4, 6, 8)
LONG = (5, 10, 15, 30, 45)
DAYS = {
    "at_once": Watched("40 at once", Day(NODES, jobs(1, 40, 2.0, LONG, MIXED))),
    "arriving": Watched("50 arriving", Day(NODES, jobs(2, 50, 75.0, LONG, MIXED))),
    "wide": Watched("wide among narrow", Day(NODES, jobs(3, 36, 60.0, LONG, (1, 1, 1, 2, 8, 8)))),
    "short": Watched("short limits", Day(NODES, jobs(4, 80, 30.0, (2, 3, 5, 8, 12), MIXED))),
    "partitions": Watched("two partitions", Day(NODES, two_partitions(5)), BASIC + SHORT_TOO),
    "factors": Watched("50 arriving, factors", Day(NODES, jobs(2, 50, 75.0, LONG, MIXED)), MULTIFACTOR),
}
