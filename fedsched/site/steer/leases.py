"""Leases: a job may not begin before a time that is moved on while we live; nobody waits for who has died."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.site.steer.rights import check_federation, check_lease, check_rights
from fedsched.site.steer.updates import begin_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.site.steer.applying import Hand
    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import Queue, SlurmJob


@dataclass(frozen=True, slots=True)
class Lease:
    """Begin times of jobs that are to wait although there may be nodes for them, as one look finds them.

    Parameters
    ----------
    seconds
        How far ahead a begin time is; it runs out by itself.
    now
        The controller's time.
    ours
        The begin time of each job that has one from us.
    """

    hand: Hand
    seconds: float
    now: float
    ours: Mapping[int, float]

    @classmethod
    def found(cls, hand: Hand, seconds: float, queue: Queue) -> Lease:
        """Return those that Slurm tells of: what a job was given last it may not have got, or not kept."""
        former = hand.undo.jobs
        ours = {
            job.number: job.eligible for job in queue.jobs if job.number in former and former[job.number].began(job)
        }
        return cls(hand, seconds, queue.now, ours)

    def lifted(self, queue: Queue) -> Queue:
        """Return the queue with the jobs that only our begin times keep as those that wait their turn."""
        return replace(
            queue,
            jobs=tuple(
                replace(job, eligible=job.submit, reason="PRIORITY") if job.number in self.ours else job
                for job in queue.jobs
            ),
        )

    def apply(self, plan: Plan) -> None:
        """Let jobs begin that the plan starts now, and who is next; keep the other ones of those that it steers."""
        queue = plan.queue
        check_federation(queue)
        check_lease(queue)
        check_rights(self.hand.runner, queue, [job for job in plan.order if job.number in plan.steered])
        better = plan.gain > 0.0
        for one in plan.starts:
            if one.job.number not in plan.steered or one.job.number == plan.next_due:
                continue
            if one.after <= plan.soon or not better:
                self.release(one.job)
            else:
                self._hold_back(one.job)
        # Slurm keeps nodes for who is next, so that nobody who comes takes them; last, when the others may begin.
        for one in plan.starts:
            if one.job.number == plan.next_due:
                self.release(one.job)

    def renew(self, queue: Queue) -> None:
        """Move begin times on that would be over before the look after the next."""
        for job in queue.waiting:
            if job.number in self.ours:
                self._hold_back(job)

    def _hold_back(self, job: SlurmJob) -> None:
        if self.ours.get(job.number, 0.0) > self.now + self.seconds / 2.0:
            return  # there is time until it runs out
        begin = round(self.hand.runner.now() + self.seconds)
        self.hand.undo.remember_begin(job, begin, self.now)
        self.hand.run(job, begin_at(job.target, begin))

    def release(self, job: SlurmJob) -> None:
        """Let a job begin that we keep from it."""
        if self.ours.get(job.number, 0.0) > self.now:
            self.hand.run(job, begin_at(job.target, self.now))
