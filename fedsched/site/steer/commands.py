"""Slurm's commands that change jobs, the objects that run them, and what their failures mean.

No command here holds a job: if the process died, the job would stay held for ever. No other module of this package
starts a process.
"""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Protocol

from fedsched.core.errors import SteerError, shortened

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import Queue, SlurmJob
    from fedsched.site.steer.undo import Undo

Command = tuple[str, ...]

PATIENCE = 60.0  # seconds in which a command must have answered
# Times in seconds since 1970, independent of time zones and clock changes; lists of array tasks in full.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}
# Errors of a program that cannot write JSON: it lacks the option, or the plugin for it.
NO_JSON = ("unrecognized option", "invalid option", "serializer", "json", "plugin")
# Errors for a job that has ended or started meanwhile: nothing is left to do for it.
TOO_LATE = ("already finished", "no longer pending", "already been requested")
# Error for a job that has left the queue, or for an array of which other tasks wait by now.
NO_JOB = "invalid job id"
# Errors if no controller answers, after ten seconds or more; the second is that of `scontrol update`.
NO_CONTROLLER = ("unable to contact slurm controller", "unexpected message received for job")


class CommandError(SteerError):
    """Error: a command of Slurm's failed. The message quotes the command and what it printed."""

    def __init__(self, command: Command, said: str) -> None:
        super().__init__(f"{shell_line(command)}: {shortened(' '.join(said.split()), 300)}")
        self.command, self.said = command, said

    @property
    def lacks_json(self) -> bool:
        """Return whether the command failed because this Slurm cannot write JSON."""
        return "--json" in self.command and any(mark in self.said.lower() for mark in NO_JSON)

    @property
    def is_too_late(self) -> bool:
        """Return whether the command failed because the job that it was to change has ended or started meanwhile."""
        return any(mark in self.said.lower() for mark in TOO_LATE)

    @property
    def finds_no_job(self) -> bool:
        """Return whether the command failed because there is no job of the name that it gave."""
        return NO_JOB in self.said.lower()

    @property
    def finds_no_controller(self) -> bool:
        """Return whether the command failed because no controller answers, so that others would fail as slowly."""
        return any(mark in self.said.lower() for mark in NO_CONTROLLER)


class RefusedError(CommandError):
    """Error: Slurm refuses to change a job that is still in its queue. The message says why, and what was done then."""

    def __init__(self, job: SlurmJob, error: CommandError, then: str = "") -> None:
        super().__init__(error.command, error.said)
        self.args = (f"{self}{then}",)
        self.job = job


class Runner(Protocol):
    """Protocol of an object that runs Slurm's commands, and tells the time of the machine on which they run.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> runner: steer.Runner = steer.Shell()
    >>> runner.now() > 0
    True
    """

    def run(self, command: Command) -> str:
        """Return what a command printed, or raise `CommandError`."""
        ...

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        ...

    def user(self) -> str:
        """Return the name of the user that runs the commands."""
        ...


class WrappedRunner:
    """Base class of runners that pass commands on to another runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def now(self) -> float:
        """Return the time of the wrapped runner, in seconds since 1970."""
        return self._runner.now()

    def user(self) -> str:
        """Return the name of the user that runs the commands."""
        return self._runner.user()


class Shell:
    r"""A runner that runs commands as processes on this machine.

    Parameters
    ----------
    environment
        Environment variables of the commands, in addition to this process's own.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> steer.Shell().run(("echo", "slurm"))
    'slurm\n'
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {}), **ENVIRONMENT}

    def run(self, command: Command) -> str:
        """Return what a command printed, or raise `CommandError`."""
        try:
            # The command inherits the lock of the undo file (and nothing else): nothing steers before it has ended.
            done = subprocess.run(
                command, env=self._environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                close_fds=False,
            )  # fmt: skip
        except FileNotFoundError:
            raise CommandError(command, "there is no such command; run fedsched where Slurm's commands are") from None
        except OSError as error:
            raise CommandError(command, error.strerror or str(error)) from None
        except subprocess.TimeoutExpired:
            raise CommandError(command, f"it has not answered in {PATIENCE:g} s") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise CommandError(command, said or f"it ended with {done.returncode}")
        return done.stdout.decode(errors="replace")

    def now(self) -> float:
        """Return the time of this machine, in seconds since 1970."""
        return time.time()

    def user(self) -> str:
        """Return the name of the user that runs this process."""
        return pwd.getpwuid(os.geteuid()).pw_name


def changes_a_job(command: Command) -> bool:
    """Return whether a command is `scontrol update`, which changes a job, with or without -M CLUSTER."""
    return _without_cluster(command)[:2] == ("scontrol", "update")


def is_about_a_job(command: Command) -> bool:
    """Return whether a command changes a job, or looks at one that was changed."""
    return changes_a_job(command) or _without_cluster(command)[:3] == ("squeue", "-h", "-j")


def _without_cluster(command: Command) -> Command:
    """Return a command without its option -M and the name of a cluster, if it has them."""
    return (command[0], *command[3:]) if command[1:2] == ("-M",) else command


def run_change(runner: Runner, job: SlurmJob, command: Command, told: Callable[[str], None]) -> bool:
    """Report and run a command that changes a job; return False if the job has ended, started or left the queue.

    Raise `RefusedError` if Slurm refuses it otherwise, and `CommandError` if no controller answers.
    """
    told(shell_line(command))
    try:
        runner.run(command)
    except CommandError as error:
        if error.is_too_late or (error.finds_no_job and not _is_in_queue(runner, job)):
            return False
        if error.finds_no_controller:
            raise
        raise RefusedError(job, error) from error
    return True


def _is_in_queue(runner: Runner, job: SlurmJob) -> bool:
    """Return whether squeue still shows a job."""
    try:
        said = runner.run(look_at(job.number))
    except CommandError as error:
        if error.finds_no_job:
            return False
        raise
    return any(line.partition("|")[0] == str(job.number) for line in said.split())


def shell_line(command: Command) -> str:
    """Return a command as it is typed in a shell.

    Parameters
    ----------
    command
        The words of the command.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> steer.shell_line(("scontrol", "update", "JobId=7", "Comment=two words"))
    "scontrol update JobId=7 'Comment=two words'"
    """
    return shlex.join(command)


def give_nice(target: str, nice: int) -> Command:
    """Return the command that sets a job's Nice."""
    return ("scontrol", "update", f"JobId={target}", f"Nice={nice}")


def begin_at(target: str, when: float) -> Command:
    """Return the command that sets a job's begin time, in seconds since 1970.

    Such a time does not depend on time zones, and Slurm reports it to the second, so that fedsched recognises its own
    begin times. The controller takes a time in the past as the present.
    """
    return ("scontrol", "update", f"JobId={target}", f"StartTime=uts{round(when)}")


def bind(target: str, clusters: str) -> Command:
    """Return the command that restricts a job of a federation to these of its clusters."""
    return ("scontrol", "update", f"JobId={target}", f"Clusters={clusters}")


def look_at(number: int) -> Command:
    """Return the command that prints a job's number, priority, Nice and state."""
    return ("squeue", "-h", "-j", str(number), "-o", "%A|%Q|%y|%T")


def commands_of(plan: Plan) -> list[Command]:
    """Return the commands that carry out a plan: one for each job that gets another Nice."""
    return [give_nice(job.target, plan.niceties[job.number]) for job in plan.changes]


def restoring(queue: Queue, undo: Undo) -> Iterator[tuple[SlurmJob, Command]]:
    """Give each job with a change to undo, and a command that undoes it, for waiting and for running jobs.

    Begin times are set to now, and Nice values to the former ones. Running jobs are included, since they may be
    requeued with the Nice that they have. Values that fedsched did not set stay, and so do all values of another user's
    job with the same number.
    """
    for job in queue.jobs:
        former = undo.jobs.get(job.number)
        if former is None or not (job.waits or job.holds_nodes):
            continue
        if job.waits and former.has_our_begin(job) and job.eligible > queue.now:
            yield job, begin_at(job.target, queue.now)
        if former.has_our_nice(job):
            yield job, give_nice(job.target, former.nice)
