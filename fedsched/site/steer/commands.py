"""Commands of Slurm's: what they are, who runs them, and how they fail; nothing else here starts a process."""

from __future__ import annotations

import os
import pwd
import shlex
import subprocess
import time
from typing import TYPE_CHECKING, Protocol

from fedsched.core.errors import SteerError, shortened
from fedsched.site.steer.updates import look_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fedsched.site.steer.queue import SlurmJob

Command = tuple[str, ...]

PATIENCE = 60.0  # seconds in which a command must have answered
# Times as seconds since 1970, so that no zone and no setting of the clocks comes between; lists of tasks in full.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "%s", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}
# What a program says that cannot write JSON: one without the option, or without the plugin for it.
NO_JSON = ("unrecognized option", "invalid option", "serializer", "json", "plugin")
# What is said of a job that has ended or begun meanwhile: nothing is left to do for it.
OVER = ("already finished", "no longer pending", "already been requested")
# And of one that has left the queue, or whose waiting tasks are others by now.
NO_SUCH = "invalid job id"
# And where no controller answers, which a command notices after ten seconds or more; the other is `scontrol update`.
NOBODY = ("unable to contact slurm controller", "unexpected message received for job")


class CommandError(SteerError):
    """A command of Slurm's failed; the message has its words."""

    def __init__(self, command: Command, said: str) -> None:
        super().__init__(f"{written(command)}: {shortened(' '.join(said.split()), 300)}")
        self.command, self.said = command, said

    @property
    def lacks_json(self) -> bool:
        """Return whether it failed because this Slurm writes no JSON."""
        return "--json" in self.command and any(mark in self.said.lower() for mark in NO_JSON)

    @property
    def is_too_late(self) -> bool:
        """Return whether it failed because the job that it is about has ended or begun meanwhile."""
        return any(mark in self.said.lower() for mark in OVER)

    @property
    def finds_no_job(self) -> bool:
        """Return whether it failed because there is no job of that name."""
        return NO_SUCH in self.said.lower()

    @property
    def finds_nobody(self) -> bool:
        """Return whether it failed because no controller answers, so that others will fail as slowly."""
        return any(mark in self.said.lower() for mark in NOBODY)


class RefusedError(CommandError):
    """Slurm refuses to change a job that is still in its queue; the message has its words, and what was done then."""

    def __init__(self, job: SlurmJob, error: CommandError, then: str = "") -> None:
        super().__init__(error.command, error.said)
        self.args = (f"{self}{then}",)
        self.job = job


class Runner(Protocol):
    """Whoever runs Slurm's commands, and tells the time of the machine where that is."""

    def run(self, command: Command) -> str:
        """Return what a command printed, or raise `CommandError`."""
        ...

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        ...

    def user(self) -> str:
        """Return who runs them."""
        ...


class Behind:
    """What all runners share behind which another one runs the commands."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    def now(self) -> float:
        """Return the runner's time."""
        return self._runner.now()

    def user(self) -> str:
        """Return who runs them."""
        return self._runner.user()


class Shell:
    """Runs commands on this machine.

    Parameters
    ----------
    environment
        Of the commands, beside this process's own.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        self._environment = {**os.environ, **(environment or {}), **ENVIRONMENT}

    def run(self, command: Command) -> str:
        """Return what a command printed, or raise `CommandError`."""
        try:
            # What is inherited is the lock of an undo file alone: whoever steers next waits for what this one runs.
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
        """Return the time of this machine."""
        return time.time()

    def user(self) -> str:
        """Return who runs this process."""
        return pwd.getpwuid(os.geteuid()).pw_name


def changes(command: Command) -> bool:
    """Return whether a command changes a job; on another cluster, too."""
    return _there(command)[:2] == ("scontrol", "update")


def is_of_a_job(command: Command) -> bool:
    """Return whether a command changes a job, or looks at one that was changed."""
    return changes(command) or _there(command)[:3] == ("squeue", "-h", "-j")


def _there(command: Command) -> Command:
    """Return a command without the name of the cluster that it goes to."""
    return (command[0], *command[3:]) if command[1:2] == ("-M",) else command


def changed(runner: Runner, job: SlurmJob, command: Command, told: Callable[[str], None]) -> bool:
    """Say what changes a job and run it; return whether there was a job to do it to."""
    told(written(command))
    try:
        runner.run(command)
    except CommandError as error:
        if error.is_too_late or (error.finds_no_job and not _is_there(runner, job)):
            return False
        if error.finds_nobody:
            raise
        raise RefusedError(job, error) from error
    return True


def _is_there(runner: Runner, job: SlurmJob) -> bool:
    """Return whether the queue still has a job."""
    try:
        said = runner.run(look_at(job.number))
    except CommandError as error:
        if error.finds_no_job:
            return False
        raise
    return any(line.partition("|")[0] == str(job.number) for line in said.split())


def written(command: Command) -> str:
    """Return a command as it can be typed."""
    return shlex.join(command)
