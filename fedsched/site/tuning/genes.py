"""The genes: parameters of a slurm.conf that the search may change, and their ranges."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEDULER, PRIORITY, FAIR_SHARE, PARTITIONS, QUALITIES, ACCOUNTS = range(6)  # the part of Slurm that a gene sets


@dataclass(frozen=True, slots=True)
class Gene:
    """One parameter: whole numbers from `least` to `most`, or the words of `choices`.

    `curved` numbers are on a logarithmic scale. If 0 is allowed, it means "none" or "no limit" and has a fixed share of
    the scale. A `seldom` gene is searched only if the conf sets it or the caller names it.
    """

    name: str
    least: int = 0
    most: int = 0
    usual: str = "0"
    choices: tuple[str, ...] = ()
    curved: bool = True
    of: int = SCHEDULER
    word: bool = False  # stands in SchedulerParameters
    seldom: bool = False  # few sites set it

    def said(self, place: float) -> str:
        """Return the value, as text, at a place of the scale between 0 and 1."""
        place = min(max(place, 0.0), 1.0)
        if self.choices:
            return self.choices[min(int(place * len(self.choices)), len(self.choices) - 1)]
        if self.least == 0:
            if place < NOTHING:
                return "0"
            place = (place - NOTHING) / (1.0 - NOTHING)
        least = max(self.least, 1)
        if not self.curved:
            return str(round(least + place * (self.most - least)))
        return str(_short(least * (self.most / least) ** place, least, self.most))

    def place(self, text: str) -> float:
        """Return the place of a value on the scale between 0 and 1; a value out of range gets the nearest one."""
        if self.choices:
            low = [one.lower() for one in self.choices]
            return ((low.index(text.lower()) if text.lower() in low else 0) + 0.5) / len(low)
        value, least = float(text), max(self.least, 1)
        if self.least == 0 and value < 1.0:
            return NOTHING / 2.0
        value = min(max(value, least), self.most)
        share = math.log(value / least) / math.log(self.most / least) if self.curved else (value - least) / (
            self.most - least
        )  # fmt: skip
        return NOTHING + share * (1.0 - NOTHING) if self.least == 0 else share


NOTHING = 0.15  # the share of the scale that means 0
DAY = 24 * 3600
GENES: Mapping[str, Gene] = {
    gene.name: gene
    for gene in (
        Gene("bf_interval", 10, 600, "30", word=True),
        Gene("bf_resolution", 10, 900, "60", word=True),
        Gene("bf_window", 60, 30 * 1440, "1440", word=True),
        Gene("bf_max_job_test", 10, 10_000, "500", word=True),
        Gene("bf_max_job_user", 0, 200, "0", word=True),
        Gene("bf_max_job_part", 0, 2000, "0", word=True),
        Gene("bf_max_job_start", 0, 200, "0", word=True),
        Gene("bf_min_age_reserve", 0, 2 * DAY, "0", word=True),
        Gene("default_queue_depth", 10, 10_000, "100", word=True),
        Gene("sched_interval", 10, 600, "60", word=True),
        Gene("PriorityWeightAge", 0, 1_000_000, of=PRIORITY),
        Gene("PriorityWeightJobSize", 0, 1_000_000, of=PRIORITY),
        Gene("PriorityFavorSmall", choices=("NO", "YES"), usual="NO", of=PRIORITY),
        Gene("PriorityMaxAge", 60, 30 * 1440, "10080", of=PRIORITY),
        Gene("PriorityWeightFairshare", 0, 1_000_000, of=FAIR_SHARE),
        Gene("PriorityDecayHalfLife", 60, 30 * 1440, "10080", of=FAIR_SHARE),
        Gene("PriorityWeightPartition", 0, 1_000_000, of=PARTITIONS),
        Gene("PriorityWeightQOS", 0, 1_000_000, of=QUALITIES),
        Gene("bf_max_job_assoc", 0, 200, "0", word=True, seldom=True),
        Gene("bf_max_job_user_part", 0, 200, "0", word=True, seldom=True),
        Gene("bf_max_job_array_resv", 1, 1000, "20", word=True, seldom=True),
        Gene("bf_job_part_count_reserve", 0, 1000, "0", word=True, seldom=True),
        Gene("partition_job_depth", 0, 1000, "0", word=True, seldom=True),
        Gene("sched_max_job_start", 0, 1000, "0", word=True, seldom=True),
        Gene("batch_sched_delay", 0, 60, "3", word=True, seldom=True),
        Gene("PriorityCalcPeriod", 1, 60, "5", of=PRIORITY, seldom=True),
    )
}
TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife", "PriorityCalcPeriod")  # in minutes, as bare numbers in slurm.conf


def _short(value: float, least: int, most: int) -> int:
    # Two digits suffice, and give values that an administrator would write.
    digits = max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return int(min(max(round(value / 10**digits) * 10**digits, least), most))
