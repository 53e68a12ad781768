"""Leases: a job may not begin before a time that is moved on while we live; nobody waits for who has died."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.steer.rights import check_federation, check_lease, check_rights
from fedsched.steer.updates import begin_later, begin_now

if TYPE_CHECKING:
    from fedsched.steer.applying import Hand
    from fedsched.steer.plan import Plan
    from fedsched.steer.queue import Queue, SlurmJob


@dataclass(frozen=True, slots=True)
class Lease:
    """Begin times of jobs that are to wait although there may be nodes for them.

    Parameters
    ----------
    seconds
        How far ahead a begin time is; it runs out by itself.
    interval
        How many seconds it is until the next look.
    """

    hand: Hand
    seconds: float
    interval: float

    def lifted(self, queue: Queue) -> Queue:
        """Return the queue with the jobs that only our begin times keep as those that wait their turn."""
        return replace(queue, jobs=tuple(self._lifted(job) for job in queue.jobs))

    def _lifted(self, job: SlurmJob) -> SlurmJob:
        former = self.hand.undo.jobs.get(job.number)
        if former is None or not former.began(job):
            return job
        return replace(job, eligible=job.submit, reason="PRIORITY")

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
                self._hold_back(one.job, queue.now)
        # Slurm keeps nodes for who is next, so that nobody who comes takes them; last, when the others may begin.
        for one in plan.starts:
            if one.job.number == plan.next_due:
                self.release(one.job)

    def renew(self, queue: Queue) -> None:
        """Move begin times on that would be over before the look after the next."""
        for job in queue.waiting:
            former = self.hand.undo.jobs.get(job.number)
            if former is not None and former.begin > 0.0 and former.begin < queue.now + self.seconds / 2.0:
                self._hold_back(job, queue.now)

    def _hold_back(self, job: SlurmJob, now: float) -> None:
        former = self.hand.undo.jobs.get(job.number)
        if former is not None and former.begin > now + self.seconds / 2.0:
            return  # there is time until it runs out
        self.hand.undo.remember(job, begin=self.hand.runner.now() + self.seconds)
        self.hand.run(begin_later(job.target, self.seconds))

    def release(self, job: SlurmJob) -> None:
        """Let a job begin that we keep from it."""
        former = self.hand.undo.jobs.get(job.number)
        if former is None or not former.begin:
            return
        self.hand.run(begin_now(job.target))
        self.hand.undo.remember(job, begin=0.0)
