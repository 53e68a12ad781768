"""Plan: in which order jobs would best have their turn, when they start then, and who waits longer for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.site.steer.queue import Queue, SlurmJob

DRIFT = "--drift"
TELLING = 1.0  # seconds of the mean wait that a plan must save


def gaps_in_words(drift: Mapping[str, int]) -> str:
    """Return by how much priorities that follow one another are to differ, and why: they may move by so much."""
    moved = sum(drift.values())
    said = f"priorities {moved + 1:,} apart"
    causes = [f"{name} {amount:,}" for name, amount in drift.items() if amount]
    if not causes:
        return said
    cure = "" if DRIFT in drift else f"; {DRIFT} N counts on N instead"
    return f"{said}, for they may move by {moved:,} against each other meanwhile ({', '.join(causes)}){cure}"


class Start(NamedTuple):
    """When a job starts, in seconds since 1970: as things are, and by the plan; and by when it must have."""

    job: SlurmJob
    before: float
    after: float
    deadline: float

    @property
    def later(self) -> float:
        """Return how much longer it waits by the plan, in seconds."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a queue.

    Parameters
    ----------
    starts
        Of each job that waits, in the order of the plan.
    steered
        The jobs that may be given another place.
    niceties
        The Nice that makes the order, of those jobs; none where nothing is to be done.
    gap
        By how much priorities that follow one another differ at least.
    notes
        What is assumed, not modelled or left aside.
    next_due
        The first to start of those that do not start now, where Slurm would keep nodes for it, were it let go, and
        would start the same jobs now; None where it would not, or where somebody may not be steered.
    why
        The notes that say why nothing, or not all, is to be done.
    drift
        By how much priorities may move apart while the plan lasts, by the weight that moves them, or as --drift says.
    left
        How many changes more the best order would take that was found, were it not for the most that may be made.
    """

    queue: Queue
    starts: tuple[Start, ...]
    steered: frozenset[int]
    niceties: Mapping[int, int]
    gap: int
    slack: float
    notes: tuple[str, ...]
    next_due: int | None = None
    left: int = 0
    why: tuple[str, ...] = ()
    drift: Mapping[str, int] = field(default_factory=dict)

    @property
    def idle(self) -> str:
        """Return why no job is to be changed, in words; "" if some are."""
        if self.changes:
            return ""
        return "; ".join(self.why) or "the jobs have the best order that was found already"

    @property
    def order(self) -> tuple[SlurmJob, ...]:
        """Return the jobs in the order of the plan."""
        return tuple(one.job for one in self.starts)

    @property
    def changes(self) -> tuple[SlurmJob, ...]:
        """Return the jobs whose Nice is to be another than they have, those that keep the most priority last.

        So whenever that is broken off, whoever was lowered stands below those who are still to be lowered less.
        """
        found = [job for job in self.order if self.niceties.get(job.number, job.nice) != job.nice]
        return tuple(reversed(found))

    @property
    def waits(self) -> tuple[float, float]:
        """Return the mean wait from submit to start, as things are and by the plan; tasks count one by one."""
        return self.mean([one.before for one in self.starts]), self.mean([one.after for one in self.starts])

    def mean(self, starts: Sequence[float]) -> float:
        """Return the mean wait of the jobs, of such starts."""
        if not self.starts:
            return 0.0
        waits = [start - one.job.submit for start, one in zip(starts, self.starts, strict=True)]
        return float(np.average(waits, weights=[one.job.tasks for one in self.starts]))

    @property
    def soon(self) -> float:
        """Return by when who starts now has started."""
        return self.queue.now + TELLING

    @property
    def gain(self) -> float:
        """Return how many seconds of mean wait the plan saves."""
        before, after = self.waits
        return before - after

    @property
    def ends(self) -> tuple[float, float]:
        """Return by when all that wait have ended, by their limits: as things are and by the plan."""
        bounded = [one for one in self.starts if one.job.limit < float("inf")]
        if not bounded:
            return self.queue.now, self.queue.now
        return max(one.before + one.job.limit for one in bounded), max(one.after + one.job.limit for one in bounded)

    @property
    def later(self) -> tuple[Start, ...]:
        """Return who waits longer by the plan, by a second or more, the longest first."""
        return tuple(sorted((one for one in self.starts if one.later >= 1.0), key=lambda one: -one.later))

    @property
    def late(self) -> tuple[Start, ...]:
        """Return who starts after what was promised even so."""
        return tuple(one for one in self.starts if one.after > one.deadline + TELLING)
