"""`fedsched warmup`: compile ahead what calls need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import expecting, options
from fedsched.cli.shared.shared import print_json, say
from fedsched.core.errors import OutputError
from fedsched.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.cli.warming import Warmed

Kind = Literal["easy", "optimize", "calendar", "pools", "shared", "slurm", "gang", "market"]


def command(*kinds: Kind, json: options.Json = False) -> int:
    """Compile ahead what calls need, and keep it: for images, login nodes, and caches that users share.

    Each kind of calls runs on a few jobs, one after the other; what is kept from before is not compiled again. What
    these calls do not use is compiled when it is first used, as ever. FEDSCHED_CACHE names the folder that it is kept
    in; a user who may not write there reads it, and keeps what is missing in a folder of the user's own.

    Parameters
    ----------
    kinds
        easy, optimize, calendar (nodes that close), pools (and dependencies), shared, slurm, gang, market; all if none.

    Examples
    --------
    fedsched warmup easy market
    fedsched warmup optimize --json
    """
    from fedsched.cli.warming import warm_up
    from fedsched.core.jit import folder_in_use

    folder = folder_in_use()
    if folder is None:
        raise OutputError("No folder can keep compiled code; set FEDSCHED_CACHE to one that nobody else may write to.")
    done: list[Warmed] = []
    for one in warm_up(*kinds):
        done.append(one)
        expecting.note((expecting.WARMUP, one.kind), one.functions, done=True)
        if not json:
            say(f"{one.kind}: {counted(one.functions, 'function')} compiled in {one.seconds:.1f} s")
    if json:
        print_json({"kinds": [one._asdict() for one in done], "folder": str(folder), "bytes": _size(folder)})
    else:
        say(f"kept in {folder}: {_size(folder) / 2**20:.1f} MiB")
    return 0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
