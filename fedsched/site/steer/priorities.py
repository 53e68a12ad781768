"""What an order costs in positive Nice, and whether priorities carry it: they end at 1, where all are equal."""

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
LEAST = 1  # priorities end here, and tie
WEIGHTS = ("PriorityWeightAge", "PriorityWeightFairShare")


@dataclass(frozen=True, slots=True)
class Priorities:
    """The priorities of a queue as they would be without what we have added to them.

    Parameters
    ----------
    former
        The Nice of jobs before we changed it, by number; of the others it is what they have.
    """

    queue: Queue
    former: Mapping[int, int]

    def nice(self, job: SlurmJob) -> int:
        """Return the Nice that a job has without us."""
        return self.former.get(job.number, job.nice)

    def natural(self, job: SlurmJob) -> int:
        """Return the priority that a job has without us."""
        return job.priority + job.nice - self.nice(job)

    def turn(self, job: SlurmJob) -> tuple[float, ...]:
        """Return by what Slurm would order its queue without us."""
        return (-self.queue.tier(job), -self.natural(job), job.submit, job.number)

    def drift(self, jobs: Sequence[SlurmJob], seconds: float, *, shares: bool) -> dict[str, int]:
        """Return, for each weight, the most that it can change the difference of two priorities in this time.

        `shares`: whether what users have used counts, too, which may change by all of its weight at any tick.
        """
        kind = self.queue.setting("PriorityType").lower()
        if kind == BASIC:
            return {}
        if kind != MULTIFACTOR:
            raise SteerError(f"PriorityType={kind}: how its priorities move is not known; basic and multifactor are.")
        age, share = (self._weight(name) for name in WEIGHTS)
        longest = seconds_of(self.queue.setting("PriorityMaxAge") or "7-0", "PriorityMaxAge")
        found = {WEIGHTS[0]: math.ceil(age * min(1.0, seconds / longest)) if longest > 0 else age}
        if shares and len({(job.user, job.account) for job in jobs}) > 1:
            found[WEIGHTS[1]] = share
        return found

    def _weight(self, name: str) -> int:
        text = self.queue.setting(name) or "0"
        if (found := digits_of(text)) is None:
            raise SteerError(f"{name}={shortened(text)} is no whole number.")
        return found

    def niceties(self, order: Sequence[SlurmJob], movable: Collection[int], gap: int) -> dict[int, int]:
        """Return the least Nice of each movable job that gives this order, with such gaps between priorities.

        Nobody gets less than he had. A job that is not movable keeps the priority that it has: where that is more than
        one's that is to be before it, it stays before it.
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
        """Return a job's priority under such Nice, if there were none below 1; of whom it is silent the one he has."""
        return job.priority + job.nice - niceties.get(job.number, job.nice)

    def order(self, jobs: Sequence[SlurmJob], niceties: Mapping[int, int]) -> list[SlurmJob]:
        """Return in which order jobs have their turn under such Nice."""
        return sorted(jobs, key=lambda job: (-self.queue.tier(job), -self.after(job, niceties), job.submit, job.number))

    def too_low(self, jobs: Sequence[SlurmJob], niceties: Mapping[int, int]) -> SlurmJob | None:
        """Return a job that such Nice leaves no priority of its own, if there is one."""
        return next((job for job in jobs if job.number in niceties and self.after(job, niceties) <= LEAST), None)
