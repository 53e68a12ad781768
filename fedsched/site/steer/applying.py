"""Apply a plan: run its commands one by one, check the effect of each, and undo all of them if one fails."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.core.text import counted, first_of
from fedsched.site.steer.commands import CommandError, RefusedError, give_nice, look_at, restoring, run_change
from fedsched.site.steer.priorities import LEAST, Priorities
from fedsched.site.steer.reading import CLOCKS, read_queue
from fedsched.site.steer.rights import check_federation, check_rights

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.site.steer.commands import Command, Runner
    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import SlurmJob
    from fedsched.site.steer.undo import Undo


class SetByHandError(SteerError):
    """Error: a job's Nice was changed outside fedsched, or its priority was set by hand and ignores its Nice."""

    def __init__(self, job: SlurmJob, what: str) -> None:
        super().__init__(f"Job {job.target}: {what}; it is left alone from now on (--leave {job.number}).")
        self.number = job.number


@dataclass(frozen=True, slots=True)
class JobChanger:
    """Changes waiting jobs in Slurm, and records in an undo file what each job had before.

    Parameters
    ----------
    runner
        Runs the commands.
    undo
        The undo file: what each job had before.
    told
        Called with each command before it is run.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> changer = steer.JobChanger(steer.Shell(), steer.Undo(None, "north"))
    >>> dict(changer.undo.former)
    {}
    """

    runner: Runner
    undo: Undo
    told: Callable[[str], None] = lambda _: None

    def run(self, job: SlurmJob, command: Command) -> bool:
        """Run a command that changes a job; return False if the job has ended, started or left the queue.

        Parameters
        ----------
        job
            The job.
        command
            The words of the command.
        """
        return run_change(self.runner, job, command, self.told)

    def apply(self, plan: Plan) -> int:
        """Set the Nice values of a plan, record its deadlines, and return the number of jobs to change.

        If one change fails, undo all changes of this plan and raise. Raise first if the user may not change the jobs.
        """
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
            raise self._revert(error, done) from error
        return len(done)

    def _read_back(self, job: SlurmJob, nice: int, expected: int) -> None:
        """Read a job's Nice and priority again; raise if they are not as the command `Nice=nice` should make them.

        Jobs that no longer wait are ignored.
        """
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
                raise SetByHandError(job, f"its Nice is {now} after Nice={nice}, so it was changed outside fedsched")
            # A priority set by hand does not follow Nice. One that moved the other way was recomputed in between.
            if int(now) != nice or (nice > job.nice and int(priority) == job.priority):
                raise SetByHandError(job, "its priority does not follow its Nice, so it was set by hand")
            if int(priority) <= LEAST < expected:
                raise SteerError(
                    f"Job {job.target}: its priority is {priority} after Nice={nice}, not about {expected}: priorities "
                    "end there, and tie; it has fallen since it was read."
                )

    def _revert(self, error: SteerError, done: list[SlurmJob]) -> SteerError:
        """Give each job the Nice that it had before this plan; return the error to raise, which says if that worked."""
        refused = error.job if isinstance(error, RefusedError) else None
        left = [job for job in self._give_back(done[::-1]) if job is not refused]
        if isinstance(error, SetByHandError) and not left:
            return error
        if left:
            which = first_of([job.target for job in left])
            return SteerError(
                f"{error} The earlier changes of this plan are undone, but not of {counted(len(left), 'job')} "
                f"({which}); the undo file {self.undo.path} has them: fedsched apply --undo."
            )
        then = " The earlier changes of this plan are undone."
        return RefusedError(error.job, error, then) if isinstance(error, RefusedError) else SteerError(f"{error}{then}")

    def _give_back(self, jobs: list[SlurmJob]) -> list[SlurmJob]:
        """Give jobs the Nice that they had before this plan, and return the jobs for which that failed.

        Stop at the first command that finds no controller.
        """
        left: list[SlurmJob] = []
        for k, job in enumerate(jobs):
            try:
                self.run(job, give_nice(job.target, job.nice))
            except CommandError as error:
                if error.finds_no_controller:
                    return left + jobs[k:]
                left.append(job)
        return left

    def restore(self) -> tuple[int, list[SlurmJob]]:
        """Undo all recorded changes; return how many jobs were restored, and the jobs changed outside fedsched since.

        If a command fails, the others still run (unless no controller answers), the undo file stays, and the failure is
        raised. Else the undo file is emptied, but for these entries: jobs with a begin time that has passed by the
        controller's clock only, since that clock may be set back; job numbers that now belong to another user; jobs
        that cannot be read.
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
                if error.finds_no_controller:
                    break
        if failed is not None:
            raise SteerError(f"{failed} This change is still to be undone, and stays in the undo file.")
        here = self.runner.now()
        later = {
            job.number: former for job in queue.jobs
            if (former := self.undo.jobs.get(job.number)) is not None and former.has_our_begin(job)
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
