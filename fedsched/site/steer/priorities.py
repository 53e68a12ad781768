"""Computes the Nice values that put jobs in an order, and whether priorities are high enough: at 1, the least, all tie.

Slurm subtracts Nice from a job's priority; no values below 0 are given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError, shortened
from fedsched.core.values import digits_of
from fedsched.io.slurm_files.slurm_values import seconds_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fedsched.site.steer.queue import Queue, SlurmJob

MULTIFACTOR = "priority/multifactor"
BASIC = "priority/basic"
LEAST = 1  # the least priority, at which jobs tie
WEIGHTS = ("PriorityWeightAge", "PriorityWeightFairShare")


@dataclass(frozen=True, slots=True)
class Priorities:
    """The priorities of a queue without the changes that fedsched has made.

    Parameters
    ----------
    former
        The Nice of jobs before fedsched changed it, by job number; other jobs keep what they have.
    """

    queue: Queue
    former: Mapping[int, int]

    def nice(self, job: SlurmJob) -> int:
        """Return the Nice that a job has without fedsched's changes."""
        return self.former.get(job.number, job.nice)

    def natural(self, job: SlurmJob) -> int:
        """Return the priority that a job has without fedsched's changes."""
        return job.priority + job.nice - self.nice(job)

    def turn(self, job: SlurmJob) -> tuple[float, ...]:
        """Return a job's key by which Slurm would sort its queue without fedsched's changes; the least comes first."""
        return (-self.queue.tier(job), -self.natural(job), job.submit, job.number)

    def drift(self, jobs: Sequence[SlurmJob], seconds: float, *, shares: bool) -> dict[str, int]:
        """Return, by weight (age, fair share), by how much it can change the difference of two priorities in `seconds`.

        Fair share counts only with `shares`, and if the jobs are of several users or accounts; it may change by its
        whole weight at any time. Under priority/basic, the result is empty.
        """
        kind = self.queue.setting("PriorityType").lower()
        if kind == BASIC:
            return {}
        if kind != MULTIFACTOR:
            raise SteerError(
                f"PriorityType={kind}: how its priorities change is not known; use priority/basic or "
                "priority/multifactor."
            )
        age, share = (self._weight(name) for name in WEIGHTS)
        longest = seconds_of(self.queue.setting("PriorityMaxAge") or "7-0", "PriorityMaxAge")
        found = {WEIGHTS[0]: math.ceil(age * min(1.0, seconds / longest)) if longest > 0 else age}
        if shares and len({(job.user, job.account) for job in jobs}) > 1:
            found[WEIGHTS[1]] = share
        return found

    def _weight(self, name: str) -> int:
        text = self.queue.setting(name) or "0"
        if (found := digits_of(text)) is None:
            raise SteerError(f"{name}={shortened(text)} is not a whole number.")
        return found

    def niceties(self, order: Sequence[SlurmJob], movable: Collection[int], gap: int) -> dict[int, int]:
        """Return the least Nice of each movable job that gives this order, with at least `gap` between priorities.

        No job gets less Nice than it had. A job that is not movable keeps its priority. If that is higher than the
        priority of a job planned ahead of it, it stays ahead of that job.
        """
        found: dict[int, int] = {}
        ceiling: dict[int, float] = {}
        for job in order:
            tier, natural = self.queue.tier(job), self.natural(job)
            most = ceiling.get(tier, math.inf)
            if job.number in movable:
                wanted = min(natural, most - gap)
                found[job.number] = self.nice(job) + int(natural - wanted)
                ceiling[tier] = wanted
            elif job.priority < most:
                ceiling[tier] = job.priority
        return found

    def after(self, job: SlurmJob, niceties: Mapping[int, int]) -> int:
        """Return a job's priority under these Nice values; it may be below 1. A job without an entry keeps its own."""
        return job.priority + job.nice - niceties.get(job.number, job.nice)

    def order(self, jobs: Sequence[SlurmJob], niceties: Mapping[int, int]) -> list[SlurmJob]:
        """Return the jobs in the order that Slurm gives them under these Nice values."""
        return sorted(jobs, key=lambda job: (-self.queue.tier(job), -self.after(job, niceties), job.submit, job.number))

    def too_low(self, jobs: Sequence[SlurmJob], niceties: Mapping[int, int]) -> SlurmJob | None:
        """Return the first job that its new Nice lowers to the least priority, at which jobs tie; None if none."""
        return next((job for job in jobs if job.number in niceties and self.after(job, niceties) <= LEAST), None)
