"""Makes a dump: a new folder with what Slurm's commands print about a cluster; the commands change nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.errors import OutputError, TwinError
from fedsched.site.twin.commands import FIELDS, JOBS, KNOWN_FIELDS, MANIFEST, NEEDED, SINCE, commands_of
from fedsched.site.twin.disguise import Disguise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from os import PathLike

    from fedsched.site.twin.commands import Command

# Times as Slurm's tools read and write them by default, and messages in English.
ENVIRONMENT = {"SLURM_TIME_FORMAT": "standard", "LC_ALL": "C", "SLURM_BITSTR_LEN": "0"}


def dump(
    folder: str | PathLike[str],
    *,
    since: str = SINCE,
    anonymise: str | None = None,
    without: Collection[str] = (),
    told: Callable[[Command], None] | None = None,
) -> tuple[Path, ...]:
    """Write what Slurm's commands print about the cluster into a new folder, and return its files.

    The commands change nothing. If one is missing or fails, an error is raised and no folder is left: half a dump would
    be taken for a whole one.

    Parameters
    ----------
    folder
        The path of the folder, which must not exist yet or be empty.
    since
        The earliest time of jobs and events, as Slurm reads times: 2027-01-12, or now-28days.
    anonymise
        A salt: users, accounts, groups and jobs get other names, the same ones for the same salt. Paths and comments
        are left out. Of command lines, only the options that make a job wait are kept.
    without
        Names of the parts to leave out, for a cluster that has none: "shares", "accounts", "events", …
    told
        Called with each command before it runs.
    """
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise OutputError(f"Cannot write {target}: it is there already; give a new folder.")
    if not target.absolute().parent.is_dir():
        raise OutputError(f"Cannot write {target}: its folder does not exist; make it first.")
    disguise = None if anonymise is None else Disguise(anonymise)
    plan = commands_of(since, without=without)
    for one in plan:
        if shutil.which(one.words[0]) is None:
            raise TwinError(
                f"{one.words[0]}: there is no such command here; run this where Slurm's commands are, or run the "
                "script of print_commands (fedsched twin dump --print-commands) there."
            )
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.absolute().parent) as beside:
        part = Path(beside) / "dump"
        part.mkdir()
        if told is not None:
            told(KNOWN_FIELDS)
        for one in commands_of(since, fields=_known_fields(), without=without):
            if told is not None:
                told(one)
            _read(one, part / one.file, disguise)
        disguised = "anonymised\n" if disguise is not None else ""
        left = "".join(f"without {name}\n" for name in without)
        (part / MANIFEST).write_text(f"fedsched dump 1\nsince {since}\n{disguised}{left}", encoding="utf-8")
        if target.is_dir():
            target.rmdir()
        part.rename(target)
    return tuple(sorted(target.iterdir()))


def _known_fields() -> tuple[str, ...]:
    """Return the wanted fields that this Slurm's sacct knows; raise if it lacks one that a replay needs."""
    done = subprocess.run(KNOWN_FIELDS.words, env=os.environ | ENVIRONMENT, capture_output=True, text=True)
    if done.returncode:
        raise _failed(str(KNOWN_FIELDS), done.returncode, done.stderr)
    there = {name.lower() for name in done.stdout.split()}
    missing = [name for name in NEEDED if name.lower() not in there]
    if missing:
        raise TwinError(f"{KNOWN_FIELDS}: this Slurm knows no {missing[0]}, which a replay needs; use a newer one.")
    return tuple(name for name in FIELDS if name.lower() in there)


def _read(command: Command, path: Path, disguise: Disguise | None) -> None:
    """Run a command and write its output to a file, with names replaced if there is a `disguise`.

    Raise if the command fails, or if sacct lists no job.
    """
    with (
        path.open("w", encoding="utf-8", newline="") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as said,
        subprocess.Popen(
            command.words, env=os.environ | ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said,
            text=True, encoding="utf-8", errors="replace",
        ) as running,
    ):  # fmt: skip
        assert running.stdout is not None
        lines = 0
        for line in running.stdout if disguise is None else disguise.lines(command.file, running.stdout):
            out.write(line)
            lines += 1
        status = running.wait()
        said.seek(0)
        complaint = said.read()
    if status:
        raise _failed(str(command), status, complaint, command.name)
    if command.file == JOBS and lines < 2:
        raise TwinError(f"{command}: it lists no job; give an earlier since= (fedsched: --since).")


def _failed(command: str, status: int, complaint: str, name: str = "") -> TwinError:
    why = " ".join(complaint.split())[-300:] or f"it ended with {status}"
    needed = name in ("", "jobs", "config", "partitions", "nodes")
    cure = "" if needed else f"; if the cluster has none, without={name!r} (fedsched: --without {name}) leaves it out"
    return TwinError(f"{command}: {why}{cure}. Nothing was written.")
