"""What of a slurm.conf may be turned, between which values, and which of it matters to a given conf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.errors import unknown_name
from fedsched.values import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.slurm import Slurm

SCHEDULER, PRIORITY, FAIR_SHARE, PARTITIONS, QUALITIES = range(5)  # what a gene is of, and so when it matters


@dataclass(frozen=True, slots=True)
class Gene:
    """One parameter: whole numbers from `least` to `most`, or the words of `choices`.

    `curved` numbers are drawn by their orders of magnitude; 0, where it is allowed, means "none" or "no limit", and has
    a share of its own.
    """

    name: str
    least: int = 0
    most: int = 0
    usual: str = "0"
    choices: tuple[str, ...] = ()
    curved: bool = True
    of: int = SCHEDULER
    word: bool = False  # stands in SchedulerParameters

    def said(self, place: float) -> str:
        """Return the value at a place between 0 and 1."""
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
        """Return a place that has this value, the nearest one where it is beyond what the gene may be."""
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


NOTHING = 0.15  # the share of places that mean 0
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
    )
}
TIMES = ("PriorityMaxAge", "PriorityDecayHalfLife")  # in minutes here, as a bare number is in the file


def genes_of(policy: Slurm, asked: Iterable[str] | Mapping[str, tuple[int, int] | None] | None) -> tuple[Gene, ...]:
    """Return the genes that are asked for, with their limits where these are given; of none those that matter."""
    if asked is None:
        return tuple(gene for gene in GENES.values() if _matters(gene, policy))
    by_small = {name.lower(): gene for name, gene in GENES.items()}
    found = []
    for name in asked:
        if name.lower() not in by_small:
            raise unknown_name("gene", name, GENES)
        gene = by_small[name.lower()]
        if not _matters(gene, policy):
            raise ValueError(f"tune: {gene.name} changes nothing under {policy}: {WHY[gene.of]}.")
        bounds = asked[name] if isinstance(asked, Mapping) else None
        found.append(gene if bounds is None else _within(gene, bounds))
    if not found:
        raise ValueError("tune: genes= names none; leave it out for all that matter.")
    return tuple(found)


WHY = {
    SCHEDULER: "it is of the backfill scheduler, and SchedulerType is sched/builtin",
    PRIORITY: "it is of PriorityType=priority/multifactor",
    FAIR_SHARE: "it is of fair share, which needs PriorityType=priority/multifactor and accounts",
    PARTITIONS: "it is of PriorityType=priority/multifactor with partitions whose PriorityJobFactor differ",
    QUALITIES: "it is of PriorityType=priority/multifactor with QOS whose priorities differ",
}


def _matters(gene: Gene, policy: Slurm) -> bool:
    parameters, priority, accounts = policy.parameters, policy.priority, policy.assoc
    if gene.of == SCHEDULER:
        return parameters.backfill or not gene.name.startswith("bf_")
    if not priority.multifactor:
        return False
    if gene.of == FAIR_SHARE:
        return accounts is not None
    if gene.of == PARTITIONS:
        return len({one.job_factor for one in priority.partitions.values()}) > 1
    if gene.of == QUALITIES:
        return accounts is not None and len({one.priority for one in accounts.qos.values()}) > 1
    return True


def _within(gene: Gene, bounds: tuple[int, int]) -> Gene:
    if gene.choices:
        raise ValueError(f"tune: {gene.name} is {' or '.join(gene.choices)}; give it no limits.")
    low, high = bounds
    if not (is_number(low) and is_number(high) and gene.least <= low < high and float(low) == int(low)):
        raise ValueError(
            f"tune: {gene.name} from {low!r} to {high!r}: give two whole numbers from {gene.least} on, the lower first."
        )
    return Gene(gene.name, int(low), int(high), gene.usual, curved=gene.curved, of=gene.of, word=gene.word)


def _short(value: float, least: int, most: int) -> int:
    # Two digits say enough, and make confs that a person would write.
    digits = max(0, math.floor(math.log10(max(value, 1.0))) - 1)
    return int(min(max(round(value / 10**digits) * 10**digits, least), most))
