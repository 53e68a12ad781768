"""The plan for a queue: an order of its waiting jobs, their starts in it, the Nice that makes it, and deadlines."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fedsched.site.steer.queue import Queue, SlurmJob

    Starts = Mapping[int, float]

DRIFT = "--drift"
TELLING = 1.0  # seconds of the mean wait that a plan must save


def gaps_in_words(drift: Mapping[str, int]) -> str:
    """Return in words how far apart consecutive priorities must be, and by how much each cause may move them meanwhile.

    `drift` has that amount for each cause; the distance must be above their sum.
    """
    moved = sum(drift.values())
    said = f"priorities {moved + 1:,} apart"
    causes = [f"{name} {amount:,}" for name, amount in drift.items() if amount]
    if not causes:
        return said
    cure = "" if DRIFT in drift else f"; {DRIFT} N counts on N instead"
    return f"{said}, since they may drift by {moved:,} meanwhile ({', '.join(causes)}){cure}"


class Start(NamedTuple):
    """A job's start as things are, its start by the plan, and its deadline, all in seconds since 1970.

    Parameters
    ----------
    job
        The job.
    before, after
        Its start as things are, and by the plan, in seconds since 1970.
    deadline
        The time by which it must start.

    Examples
    --------
    >>> from fedsched.site import outlook, steer
    >>> found = steer.plan(outlook.present("sample").queue, steer.Aims(evaluations=50))
    >>> all(start.after <= start.deadline for start in found.starts)
    True
    """

    job: SlurmJob
    before: float
    after: float
    deadline: float

    @property
    def later(self) -> float:
        """Return how much longer the job waits by the plan than as things are, in seconds; negative if shorter."""
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for a queue: an order of its waiting jobs, and the Nice values that make Slurm follow it.

    Parameters
    ----------
    starts
        The start of each waiting job, in the order of the plan.
    steered
        Numbers of the jobs that may be moved in the order.
    niceties
        The Nice of each of those jobs that makes the order; empty if nothing is to be done.
    gap
        The least difference between consecutive priorities.
    notes
        What is assumed, not modelled or left aside.
    next_due
        The job that starts next after those that start now, if it can be released as well: Slurm would reserve nodes
        for it and still start the same jobs now. None if that is not so, or if this job may not be steered.
    why
        The notes that say why nothing, or not all, is to be done.
    drift
        The most by which the difference of two priorities changes while the plan lasts: by each weight that changes it,
        or as --drift says.
    left
        How many more changes the best order that was found would take, if their number were not limited.

    Examples
    --------
    >>> from fedsched.site import outlook, steer
    >>> found = steer.plan(outlook.present("sample").queue, steer.Aims(evaluations=50))
    >>> len(found.starts), found.gain >= 0
    (15, True)
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
        """Return in words why no job is to get another Nice; "" if some job is."""
        if self.changes:
            return ""
        return "; ".join(self.why) or "the jobs have the best order that was found already"

    @property
    def order(self) -> tuple[SlurmJob, ...]:
        """Return the jobs in the order of the plan."""
        return tuple(one.job for one in self.starts)

    @property
    def changes(self) -> tuple[SlurmJob, ...]:
        """Return the jobs that get another Nice, the last in the order of the plan first.

        If changing them in this order is interrupted, the jobs lowered so far are below those that are yet to be
        lowered by less.
        """
        found = [job for job in self.order if self.niceties.get(job.number, job.nice) != job.nice]
        return tuple(reversed(found))

    @property
    def waits(self) -> tuple[float, float]:
        """Return the mean wait from submit to start, in seconds, as things are and by the plan; each task counts."""
        return self.mean([one.before for one in self.starts]), self.mean([one.after for one in self.starts])

    def mean(self, starts: Sequence[float]) -> float:
        """Return the mean wait in seconds, weighted by tasks, if the plan's jobs have these starts; 0 if none waits."""
        if not self.starts:
            return 0.0
        waits = [start - one.job.submit for start, one in zip(starts, self.starts, strict=True)]
        return float(np.average(waits, weights=[one.job.tasks for one in self.starts]))

    @property
    def soon(self) -> float:
        """Return the time up to which a start counts as a start now."""
        return self.queue.now + TELLING

    @property
    def gain(self) -> float:
        """Return how many seconds of mean wait the plan saves."""
        before, after = self.waits
        return before - after

    @property
    def ends(self) -> tuple[float, float]:
        """Return the last end of a waiting job that runs to its limit, as things are and by the plan; now if none.

        Jobs without a limit do not count.
        """
        bounded = [one for one in self.starts if one.job.limit < float("inf")]
        if not bounded:
            return self.queue.now, self.queue.now
        return max(one.before + one.job.limit for one in bounded), max(one.after + one.job.limit for one in bounded)

    @property
    def later(self) -> tuple[Start, ...]:
        """Return the jobs that the plan delays by a second or more, the longest delay first."""
        return tuple(sorted((one for one in self.starts if one.later >= 1.0), key=lambda one: -one.later))

    @property
    def late(self) -> tuple[Start, ...]:
        """Return the jobs that the plan starts more than a second after their deadline."""
        return tuple(one for one in self.starts if one.after > one.deadline + TELLING)


class Promises(NamedTuple):
    """The deadlines promised to jobs, by number, in seconds since 1970.

    A job that comes later with a higher priority moves the deadlines of the jobs that it would delay without fedsched,
    by that delay. So does a priority that overtakes another. If that is reversed later, the deadlines move back, but
    never before the first promise.

    Parameters
    ----------
    first
        Each job's first deadline: its forecast when the job was first seen, plus the slack.
    until
        Each job's deadline as of the last plan.
    turn
        The order of the jobs at the last plan, without fedsched's changes.
    """

    first: Starts
    until: Starts
    turn: Sequence[int] = ()

    def renewed(
        self, before: Starts, slack: float, starts_of: Callable[[Sequence[int]], Starts]
    ) -> dict[int, float]:
        """Return the current deadline of each job.

        Parameters
        ----------
        before
            The jobs' starts without fedsched's changes, in the order of the queue, by number.
        slack
            For a job without a promise: the seconds after its start in `before` at which its deadline lies.
        starts_of
            Returns the jobs' starts if they are scheduled in another order.
        """
        known = [number for number in before if number in self.until]
        place = {number: k for k, number in enumerate(self.turn)}
        known.sort(key=lambda number: place.get(number, len(place)))
        behind = [number for number in before if number not in self.until]
        as_it_was = [*known, *behind]
        alone = before if as_it_was == list(before) else starts_of(as_it_was)
        moved = {number: self.until[number] + before[number] - alone[number] for number in known}
        return {
            number: max(self.first.get(number, self.until[number]), moved[number]) if number in moved
            else start + slack
            for number, start in before.items()
        }  # fmt: skip
