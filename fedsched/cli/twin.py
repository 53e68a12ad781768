"""`fedsched twin`: what Slurm tells of a cluster, simulated anew, and why the two differ."""

from __future__ import annotations

from pathlib import Path  # noqa: TC003 the command line reads the types
from typing import TYPE_CHECKING, Any, Literal

from fedsched.cli import options  # noqa: TC001 the command line reads the types
from fedsched.cli.shared import print_json, refuse, say
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

# The options of each action.
TAKES = {
    "dump": ("since", "anonymise", "without", "print_commands"),
}


def command(
    action: Literal["dump"],
    folder: Path | None = None,
    /,
    *,
    since: str | None = None,
    anonymise: str | None = None,
    without: tuple[str, ...] = (),
    print_commands: bool = False,
    json: options.Json = False,
) -> int:
    """Read what Slurm tells of a cluster, simulate it, and explain where the two differ.

    `dump` runs commands that only read (sacct, scontrol show, sacctmgr show, sshare, squeue, sinfo), prints each before
    it runs, and writes what they print into a new folder.

    Parameters
    ----------
    action
        What is done.
    folder
        The folder of the dump.
    since
        dump: from when on jobs are read, as Slurm reads times. Default: now-28days.
    anonymise
        dump: a salt; users, accounts and jobs get other names, and paths are left out.
    without
        dump: a part to leave out, for a cluster that has none: shares, accounts, qos, events, …; may be given again.
    print_commands
        dump: print a shell script that makes the dump elsewhere, and read nothing.

    Examples
    --------
    fedsched twin dump --print-commands
    """
    given = {"since": since, "anonymise": anonymise, "without": without or None,
             "print_commands": print_commands or None}  # fmt: skip
    refuse(f"twin {action}", given, TAKES[action])
    return {"dump": _dump}[action](folder, given, json)


def _dump(folder: Path | None, given: Mapping[str, Any], json: bool) -> int:
    from fedsched.twin import commands_of, dump, script
    from fedsched.twin.commands import SINCE

    since, without = given["since"] or SINCE, given["without"] or ()
    if given["print_commands"]:
        text = script(since, without=without)
        if json:
            print_json({"commands": [str(one) for one in commands_of(since, without=without)], "script": text})
        else:
            say(text.rstrip("\n"))
        return 0
    files = dump(
        _named(folder),
        since=since,
        anonymise=given["anonymise"],
        without=without,
        told=lambda one: say(f"fedsched: {one}", err=True),
    )
    if json:
        print_json({"folder": str(folder), "written": [str(path) for path in files]})
    else:
        size = sum(path.stat().st_size for path in files)
        say(f"Dump: {folder} ({counted(len(files), 'file')}, {size / 1e6:.1f} MB)")
    return 0


def _named(folder: Path | None) -> Path:
    if folder is None:
        raise ValueError("twin needs a folder: fedsched twin dump FOLDER.")
    return folder
