"""Runners that record what Slurm's commands print, answer from such records, rehearse, or announce each command."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.errors import OutputError, SteerError
from fedsched.io.atomic import atomic_text
from fedsched.io.examples import queue_folder
from fedsched.io.files import read_text
from fedsched.site.steer.commands import Command, CommandError, WrappedRunner, changes_a_job, is_about_a_job, shell_line
from fedsched.site.steer.machine_read import CONFIG, settings_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from fedsched.site.steer.commands import Runner

SHIPPED = ("sample", "federation")  # a queue, and those of the two clusters of a federation


def file_of(command: Command) -> str:
    """Return the name of the file in which a record keeps what a command printed."""
    return re.sub(r"\W+", "-", " ".join(command)).strip("-") + ".txt"


class RecordedRunner:
    """A runner that answers from a folder; it changes nothing, and its time is that of the record.

    Parameters
    ----------
    folder
        What `RecordingRunner` has written; or one that ships: "sample" or "federation".
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        shipped = str(folder) in SHIPPED and not Path(folder).exists()
        self._folder = queue_folder(str(folder)) if shipped else Path(folder)
        if not (self._folder / file_of(CONFIG)).is_file():
            is_dump = (self._folder / "dump.txt").is_file()
            what = "it is a dump of recorded jobs, for twin and study" if is_dump else f"it has no {file_of(CONFIG)}"
            raise SteerError(f"{folder}: {what}; give a folder that fedsched plan --keep has written.")
        self._now = settings_of(self.run(CONFIG))[1]

    def run(self, command: Command) -> str:
        """Return what a command printed when the record was made; raise `CommandError` if it was not recorded."""
        path = self._folder / file_of(command)
        if not path.is_file():
            raise CommandError(command, f"a record does not run commands, and has no {path.name}")
        return read_text(path)

    def now(self) -> float:
        """Return the time at which the record was made, in seconds since 1970."""
        return self._now

    def user(self) -> str:
        """Return the name of a user without rights."""
        return "nobody"


class RecordingRunner(WrappedRunner):
    """A runner that passes commands on, and writes what each prints to a file in a new folder."""

    def __init__(self, runner: Runner, folder: str | PathLike[str]) -> None:
        super().__init__(runner)
        self._folder = Path(folder)
        if self._folder.exists():
            raise OutputError(f"{folder} is there already; give a new folder.")
        self._folder.mkdir(parents=True)

    def run(self, command: Command) -> str:
        """Return what a command prints, and write it to the folder."""
        text = self._runner.run(command)
        with atomic_text(self._folder / file_of(command)) as out:
            out.write(text)
        return text


class RehearsalRunner(WrappedRunner):
    """A runner that runs commands that read the queue, and skips commands that change jobs."""

    def run(self, command: Command) -> str:
        """Return what a command prints; "" without running it if it changes a job or looks at a changed job."""
        return "" if is_about_a_job(command) else self._runner.run(command)

    def user(self) -> str:
        """Return "root", a user that may change all jobs."""
        return "root"


class AnnouncingRunner(WrappedRunner):
    """A runner that reports each command before it is run.

    Parameters
    ----------
    sparing
        Whether to report each command that reads a whole queue only once, and no command that changes a job, which the
        caller reports.
    """

    def __init__(self, runner: Runner, told: Callable[[str], None], *, sparing: bool = False) -> None:
        super().__init__(runner)
        self._told, self._sparing = told, sparing
        self._said: set[Command] = set()  # of those that read a whole queue: there are few

    def run(self, command: Command) -> str:
        """Report a command, unless `sparing` says otherwise, then run it and return what it prints."""
        if not self._sparing or not (changes_a_job(command) or command in self._said):
            self._told(shell_line(command))
        if not is_about_a_job(command):
            self._said.add(command)
        return self._runner.run(command)
