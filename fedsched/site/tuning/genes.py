"""Genes: parameters of a slurm.conf, and limits of QOS, that the search may change, each with its range.

A limit of a QOS says how many jobs may run at a time in all, per user or per account.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name
from fedsched.slurm.passes.limits_of_accounts import are_enforced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.slurm import Slurm
    from fedsched.slurm.priority.associations import Associations

SCHEDULER, PRIORITY, FAIR_SHARE, PARTITIONS, QUALITIES, ACCOUNTS = range(6)  # the part of Slurm that a gene sets


@dataclass(frozen=True, slots=True)
class Gene:
    """One parameter that the search may change: whole numbers from `least` to `most`, or the words of `choices`.

    Parameters
    ----------
    name
        The parameter's name.
    least, most, usual
        The least and the greatest value, and Slurm's default.
    choices
        Words of which one is taken, in place of numbers.
    curved
        Whether numbers are on a logarithmic scale. If 0 is allowed, it means "none" or "no limit" and has a fixed share
        of the scale.
    of
        The number of the part of Slurm that it sets, such as `SCHEDULER` or `PRIORITY`.
    word
        Whether it is a part of SchedulerParameters rather than a parameter of its own.
    seldom
        Whether it is searched only if the conf sets it or the caller names it.

    Examples
    --------
    >>> from fedsched.site.tuning import GENES
    >>> gene = GENES["bf_interval"]
    >>> gene.least, gene.most
    (10, 600)
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
        """Return, as text, the gene's value at a place on its scale from 0 to 1; `place` does the reverse."""
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
        """Return the place of a value, given as text, on the gene's scale from 0 to 1.

        A number out of range gets the nearest place, and an unknown word the first one.
        """
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


# The limits as sacctmgr names them. Limits on nodes or CPUs are excluded: a job that asks for more would never start.
OF_JOBS: Mapping[str, str] = {"GrpJobs": "grpjobs", "MaxJobsPerUser": "maxjobspu", "MaxJobsPerAccount": "maxjobspa"}
MOST_JOBS = 10_000  # jobs
NO_LIMIT = "0"


def limits_that_stand(policy: Slurm) -> Iterator[Gene]:
    """Yield a gene for each limit on numbers of jobs that a QOS sets; none if the conf does not enforce limits."""
    if policy.assoc is not None and are_enforced(policy):
        for quality in policy.assoc.qos.values():
            yield from (_gene(quality.name, name) for name, small in OF_JOBS.items() if quality.limits.get(small))


def limit_asked(policy: Slurm, name: str) -> Gene | None:
    """Return the gene of a limit named like QOS/GrpJobs, set today or not; None if the name has no slash.

    Raise if there is no such limit or QOS, or if the policy does not enforce limits.
    """
    whose, mark, limit = name.rpartition("/")
    if not mark:
        return None
    by_small = {one.lower(): one for one in OF_JOBS}
    if limit.lower() not in by_small:
        raise unknown_name("limit", limit, OF_JOBS)
    if policy.assoc is None or not are_enforced(policy):
        raise ValueError(
            f"tune: {name} changes nothing under {policy}: it is of accounts and AccountingStorageEnforce=limits."
        )
    if whose.lower() not in policy.assoc.qos:
        raise unknown_name("QOS", whose, [one.name for one in policy.assoc.qos.values()])
    return _gene(policy.assoc.qos[whose.lower()].name, by_small[limit.lower()])


def is_limit(name: str) -> bool:
    """Return whether the gene of this name is a limit of a QOS rather than a parameter of the conf."""
    return "/" in name


def limit_in(accounts: Associations, name: str) -> str:
    """Return, as text, the value that a limit named like QOS/GrpJobs has in the accounts; "0" if it is not set."""
    whose, _, limit = name.rpartition("/")
    return f"{accounts.qos[whose.lower()].limits.get(OF_JOBS[limit], 0.0):.0f}"


def with_limits(accounts: Associations, values: Mapping[str, str]) -> Associations:
    """Return the accounts with the limits among these values set; "0" removes a limit."""
    qos = dict(accounts.qos)
    for whose, limit, value in _limits_in(values):
        one = qos[whose.lower()]
        limits = {key: given for key, given in one.limits.items() if key != OF_JOBS[limit]}
        if value != NO_LIMIT:
            limits[OF_JOBS[limit]] = float(value)
        qos[whose.lower()] = replace(one, limits=limits)
    return replace(accounts, qos=qos)


def commands_of(values: Mapping[str, str]) -> Iterator[str]:
    """Yield a sacctmgr command for each limit among these values, which sets it; "0" removes the limit."""
    for whose, limit, value in _limits_in(values):
        yield f"sacctmgr -i modify qos where name={whose} set {limit}={-1 if value == NO_LIMIT else value}"


def _limits_in(values: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name, value in values.items():
        if is_limit(name):
            whose, _, limit = name.rpartition("/")
            yield whose, limit, value


def _gene(quality: str, limit: str) -> Gene:
    return Gene(f"{quality}/{limit}", 0, MOST_JOBS, of=ACCOUNTS)
