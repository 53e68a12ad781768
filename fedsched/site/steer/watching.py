"""Watch a Slurm queue: plan again whenever its jobs change, carry out each plan, and undo all changes at the end."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FedschedError, SteerError
from fedsched.core.text import counted
from fedsched.site.steer.applying import JobChanger, SetByHandError
from fedsched.site.steer.commands import RefusedError, begin_at
from fedsched.site.steer.planning import Aims, plan
from fedsched.site.steer.priorities import Priorities
from fedsched.site.steer.reading import read_queue
from fedsched.site.steer.rights import check_federation, check_lease, check_rights
from fedsched.site.steer.state_files import exclusive_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedsched.site.steer.commands import Runner
    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import Queue, SlurmJob
    from fedsched.site.steer.undo import Undo

INTERVAL = 30.0  # seconds between two looks
PATIENCE = 5  # looks in a row that may fail before it gives up
STUBBORN = 20  # jobs, at most, that one look gives up: with a priority set by hand, or refused by Slurm


@dataclass(frozen=True, slots=True)
class Lease:
    """Steers by begin times that fedsched gives jobs: they hold jobs back although nodes may be free for them.

    A `Lease` knows those begin times that were found when the queue was last read.

    Parameters
    ----------
    seconds
        How many seconds ahead a begin time is set; it expires by itself.
    now
        The controller's time.
    ours
        The begin time of each job that has one from fedsched.
    """

    hand: JobChanger
    seconds: float
    now: float
    ours: Mapping[int, float]

    @classmethod
    def found(cls, hand: JobChanger, seconds: float, queue: Queue) -> Lease:
        """Return a lease with the begin times of a queue that fedsched gave.

        They are those that Slurm reports: a job may not have got the last one that was sent, or not kept it.
        """
        former = hand.undo.jobs
        ours = {
            job.number: job.eligible for job in queue.jobs
            if job.number in former and former[job.number].has_our_begin(job)
        }  # fmt: skip
        return cls(hand, seconds, queue.now, ours)

    def without_begins(self, queue: Queue) -> Queue:
        """Return the queue as if the jobs that fedsched's begin times hold back were eligible and waited in turn."""
        return replace(
            queue,
            jobs=tuple(
                replace(job, eligible=job.submit, reason="PRIORITY") if job.number in self.ours else job
                for job in queue.jobs
            ),
        )

    def apply(self, plan: Plan) -> None:
        """Release the steered jobs that the plan starts now, then the next one, and hold back the other steered jobs.

        If the plan saves no mean wait, all steered jobs are released.
        """
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
        # Slurm then reserves nodes for the next job, against newcomers. Released last, after the jobs that start now.
        for one in plan.starts:
            if one.job.number == plan.next_due:
                self.release(one.job)

    def renew(self, queue: Queue) -> None:
        """Set a new begin time for jobs that fedsched holds back, if theirs is at most half of `seconds` ahead."""
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
        """Set a job's begin time to now if a begin time of fedsched's holds it back; else do nothing."""
        if self.ours.get(job.number, 0.0) > self.now:
            self.hand.run(job, begin_at(job.target, self.now))


@dataclass(slots=True)
class Watch:
    """Looks at a Slurm queue again and again, plans it if it has changed, and carries out the plan.

    Parameters
    ----------
    aims
        What plans aim at.
    interval
        Seconds between two looks.
    lease
        None: steer by Nice. Else: the seconds that begin times lie ahead; they are renewed as long as the watch runs.
    told
        Called with what is done, a line each.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> watch = steer.Watch(steer.Shell(), steer.Undo(None, "north"), interval=60)
    >>> watch.interval, watch.plans
    (60, 0)
    """

    runner: Runner
    undo: Undo
    aims: Aims = field(default_factory=Aims)
    interval: float = INTERVAL
    lease: float | None = None
    told: Callable[[str], None] = lambda _: None
    plans: int = 0
    slowest: float = 0.0  # seconds that reading, planning and changing took, at most
    _failures: int = 0
    _seen: object = None
    _order: tuple[int, ...] = ()
    _turn: tuple[int, ...] = ()  # the jobs' order at the last plan, without fedsched's changes
    _leave: frozenset[int] = frozenset()
    _unread: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not self.interval > 0.0:
            raise SteerError(f"interval={self.interval!r} must be above 0 seconds.")
        if self.lease is not None and self.aims.most is not None:
            raise SteerError(
                f"most={self.aims.most} cannot be combined with a lease: begin times make an order only if all jobs "
                "that are to wait have one; leave one of the two out."
            )
        if self.lease is not None and self.lease < 4.0 * self.interval:
            raise SteerError(
                f"lease={self.lease:g} must be at least four times the interval, {self.interval:g} s: begin times are "
                "renewed once per interval, and a look may take longer."
            )

    @property
    def hand(self) -> JobChanger:
        """Return a `JobChanger` with the runner, the undo file and the reports of this watch."""
        return JobChanger(self.runner, self.undo, self.told)

    def look(self) -> Plan | None:
        """Read the queue once, and plan and change it if needed; return the plan carried out, or None if there is none.

        A look that fails is reported, changes nothing more and returns None; the last of `PATIENCE` failures in a row
        raises.
        """
        looked = time.monotonic()
        try:
            queue = read_queue(self.runner)
            check_federation(queue)
            done = self._steer(queue)
        except FedschedError as error:
            self._failures += 1
            self._seen = None
            self.told(f"this look changes nothing more: {error}")
            if self._failures >= PATIENCE:
                raise SteerError(f"{PATIENCE} looks in a row have failed, the last with: {error}") from error
            return None
        self._failures = 0
        self.slowest = max(self.slowest, time.monotonic() - looked)
        return done

    def _steer(self, queue: Queue) -> Plan | None:
        """Plan and change a queue, and return the plan; None if there is none.

        A job that cannot be changed is left alone from then on, and the others are steered.
        """
        for _ in range(STUBBORN):
            try:
                return self._steer_once(queue)
            except (SetByHandError, RefusedError) as error:
                self._seen = None
                queue = read_queue(self.runner)  # raises if no controller answers: a refusal then says nothing
                self._leave_alone(error, queue)
                if self.aims.most is not None:  # that many were changed, if in vain: the next look goes on
                    return None
        return None

    def _leave_alone(self, error: SetByHandError | RefusedError, queue: Queue) -> None:
        """Leave the job of an error alone from here on, unless it was refused because other array tasks wait by now."""
        if isinstance(error, SetByHandError):
            self.told(str(error))
            self._leave |= {error.number}
        elif any((job.number, job.target) == (error.job.number, error.job.target) for job in queue.jobs):
            number = error.job.number
            self.told(f"{error} Job {error.job.target} is left alone from now on (--leave {number}).")
            self._leave |= {number}

    def _steer_once(self, queue: Queue) -> Plan | None:
        others = self.undo.follow(queue.jobs, self.told, unread=queue.unread)
        for number in queue.unread.keys() - self._unread:
            self.told(f"job {number}: it cannot be read, so it is left out: {queue.unread[number].why}")
        self._unread = frozenset(queue.unread)
        leases = None
        if self.lease is not None:
            leases = Lease.found(self.hand, max(self.lease, 4.0 * self.slowest), queue)
            for job in others:
                leases.release(job)
            queue = leases.without_begins(queue)
        for job in others:
            self.told(f"job {job.target}: its Nice was changed outside fedsched, so it is left alone from now on")
            self._leave |= {job.number}
            self._seen = None
        if not queue.waiting:
            self._seen = None
            return None
        if self._is_unchanged(queue):
            if leases is not None:
                leases.renew(queue)
            return None
        found = self._planned(queue)
        if leases is None:
            self.hand.apply(found)
        else:
            leases.apply(found)
        self._seen = None if found.left and found.changes else queue.identity()
        self._order = tuple(job.number for job in found.order)
        self.plans += 1
        if found.changes:
            left = f"; {counted(found.left, 'change')} left for the next look" if found.left else ""
            self.told(f"planned {counted(len(found.starts), 'job')}: mean wait {found.gain:.0f} s shorter{left}")
        return found

    def _planned(self, queue: Queue) -> Plan:
        choice = self.aims.choice
        aims = replace(
            self.aims,
            choice=replace(choice, leave=choice.leave | self._leave | self.undo.strangers),
            lasting=2.0 * self.interval,
            shares=False,
            by_nice=self.lease is None,
        )
        found = plan(queue, aims, former=self.undo.former, promises=self.undo.promises(self._turn))
        self.undo.promise({one.job.number: one.deadline for one in found.starts})
        priorities = Priorities(queue, self.undo.former)
        self._turn = tuple(job.number for job in sorted(found.order, key=priorities.turn))
        return found

    def _is_unchanged(self, queue: Queue) -> bool:
        """Return whether the jobs, the nodes that are up, and the order of priorities are as at the last plan."""
        if queue.identity() != self._seen:
            return False
        if self.lease is not None:
            return True
        priorities = Priorities(queue, {})
        waiting = {job.number: job for job in queue.waiting}
        order = [job.number for job in priorities.order(list(waiting.values()), {})]
        return order == [number for number in self._order if number in waiting]

    def run(self, sleep: Callable[[float], None], *, looks: int | None = None) -> None:
        """Lock the undo file and look again and again, `interval` seconds apart; however that ends, undo all changes.

        Parameters
        ----------
        sleep
            Called with the seconds until the next look.
        looks
            The number of looks; None: without end.
        """
        with exclusive_lock(self.undo.path):
            try:
                done = 0
                while looks is None or done < looks:
                    if done:
                        sleep(self.interval)
                    self.look()
                    done += 1
            finally:
                self.close()

    def close(self) -> None:
        """Undo all changes: give all jobs back what they had before, and report how many."""
        undone, others = self.hand.restore()
        self.told(f"undone: {counted(undone, 'job')}")
        for job in others:
            self.told(f"job {job.target}: its Nice was changed outside fedsched, and stays")
