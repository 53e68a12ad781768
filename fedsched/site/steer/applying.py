"""Applying: a plan's commands one by one, each read back, and all of them undone where one does not do what it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.core.text import counted, first_of
from fedsched.site.steer.commands import CommandError, RefusedError, changed
from fedsched.site.steer.priorities import LEAST, Priorities
from fedsched.site.steer.reading import CLOCKS, read_queue
from fedsched.site.steer.rights import check_federation, check_rights
from fedsched.site.steer.updates import give_nice, look_at, restoring

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.site.steer.commands import Command, Runner
    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import SlurmJob
    from fedsched.site.steer.undo import Undo


class SetByHandError(SteerError):
    """Somebody else has set a job's priority, which does not follow its Nice then, or its Nice."""

    def __init__(self, job: SlurmJob, what: str) -> None:
        super().__init__(f"Job {job.target}: {what}; it is left alone from here on (--leave {job.number}).")
        self.number = job.number


@dataclass(frozen=True, slots=True)
class Hand:
    """Whoever changes jobs.

    Parameters
    ----------
    runner
        Runs the commands.
    undo
        What there is to undo.
    told
        Called with each command before it is run.
    """

    runner: Runner
    undo: Undo
    told: Callable[[str], None] = lambda _: None

    def run(self, job: SlurmJob, command: Command) -> bool:
        """Run a command that changes a job, and return whether there was a job to do it to."""
        return changed(self.runner, job, command, self.told)

    def apply(self, plan: Plan) -> int:
        """Give jobs the Nice of a plan, and return how many; where one fails, all that was given is taken back."""
        queue = plan.queue
        check_federation(queue)
        check_rights(self.runner, queue, plan.changes)
        priorities = Priorities(queue, self.undo.former)
        self.undo.promise({one.job.number: one.deadline for one in plan.starts})
        done: list[SlurmJob] = []
        try:
            for job in plan.changes:
                nice = plan.niceties[job.number]
                self.undo.remember(job, nice=nice)
                done.append(job)
                if self.run(job, give_nice(job.target, nice)):
                    self._read_back(job, nice, priorities.after(job, plan.niceties))
        except SteerError as error:
            raise self._taken_back(error, done) from error
        return len(done)

    def _read_back(self, job: SlurmJob, nice: int, expected: int) -> None:
        """Raise where a job's Nice or priority is not what it was told; gone ones are nobody's business."""
        try:
            said = self.runner.run(look_at(job.number))
        except CommandError as error:
            if error.finds_no_job:
                return
            raise
        rows = [line.split("|") for line in said.split()]
        for number, priority, now, state in (row for row in rows if len(row) == 4):
            if int(number) != job.number or state != "PENDING":
                continue
            if int(now) not in (nice, job.nice):
                raise SetByHandError(job, f"its Nice is {now} after Nice={nice}, so somebody else has changed it")
            # A priority that is set stays as it is. One that moved the other way has been computed anew in between.
            if int(now) != nice or (nice > job.nice and int(priority) == job.priority):
                raise SetByHandError(job, "its priority does not follow its Nice, so somebody has set it")
            if int(priority) <= LEAST < expected:
                raise SteerError(
                    f"Job {job.target}: its priority is {priority} after Nice={nice}, not about {expected}: priorities "
                    "end there, and tie; it has fallen since it was read."
                )

    def _taken_back(self, error: SteerError, done: list[SlurmJob]) -> SteerError:
        """Return the error, having given each job back what it had before this plan."""
        refused = error.job if isinstance(error, RefusedError) else None
        left = [job for job in self._not_given_back(done[::-1]) if job is not refused]
        if isinstance(error, SetByHandError) and not left:
            return error
        if left:
            which = first_of([job.target for job in left])
            return SteerError(
                f"{error} Of what was given before, {counted(len(left), 'job')} could not be given back what they had "
                f"({which}); the undo file {self.undo.path} has it: fedsched apply --undo."
            )
        then = " What was given before is taken back."
        return RefusedError(error.job, error, then) if isinstance(error, RefusedError) else SteerError(f"{error}{then}")

    def _not_given_back(self, jobs: list[SlurmJob]) -> list[SlurmJob]:
        """Give jobs the Nice that they had before this plan, and return those of whom that failed."""
        left: list[SlurmJob] = []
        for k, job in enumerate(jobs):
            try:
                self.run(job, give_nice(job.target, job.nice))
            except CommandError as error:
                if error.finds_nobody:
                    return left + jobs[k:]
                left.append(job)
        return left

    def restore(self) -> tuple[int, list[SlurmJob]]:
        """Undo all that there is to undo; return of how many jobs, and those that somebody else has changed since.

        Where a command fails, the others are run unless no controller answers, the file stays, and the failure is the
        error. Who has a begin time that is over by the controller's clock alone stays in the file, for that may be set
        back; so does what was another user's than the queue says, and what is of a job that cannot be read.
        """
        queue = read_queue(self.runner, clocks=False)
        others = self.undo.follow(queue.jobs, self.told, unread=queue.unread)
        failed: CommandError | None = None
        undone = set()
        for job, command in restoring(queue, self.undo):
            try:
                self.run(job, command)
                undone.add(job.number)
            except CommandError as error:
                failed = error
                if error.finds_nobody:
                    break
        if failed is not None:
            raise SteerError(f"{failed} What it is about is still to be undone; the undo file has it.")
        here = self.runner.now()
        later = {
            job.number: former for job in queue.jobs
            if (former := self.undo.jobs.get(job.number)) is not None and former.began(job)
            and here + CLOCKS < job.eligible <= queue.now
        }  # fmt: skip
        if later:
            self.told(
                f"{counted(len(later), 'job')} may begin by the controller's clock, {queue.now - here:.0f} s ahead of "
                "this machine's, and not by this one: the undo file has them until they may by both"
            )
        stays = self.undo.strangers | self.undo.unread
        kept = {number: one for number, one in self.undo.jobs.items() if number in stays}
        self.undo.jobs, self.undo.deadlines, self.undo.promised = later | kept, {}, {}
        self.undo.save()
        return len(undone), others
