"""`fedsched warmup`: compile kernels ahead of their first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from fedsched.cli.shared import compile_progress, options
from fedsched.cli.shared.input_output import print_json, say
from fedsched.core.errors import OutputError
from fedsched.core.text import counted

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.cli.data.warmup_calls import Warmed

Kind = Literal["easy", "optimize", "calendar", "pools", "shared", "slurm", "gang", "market"]


FIRST = ("--json",)  # in the short help


def command(*kinds: Kind, json: options.Json = False) -> int:
    """Compile kernels ahead of their first use, and cache them: for images, login nodes and shared caches.

    Calls of each kind run on a few jobs, one kind after the other. Cached code is not compiled again. Code that these
    calls do not use is still compiled on its first use. FEDSCHED_CACHE names the cache folder. Users without write
    access to it read from it, and keep what is missing in a folder of their own.

    Parameters
    ----------
    kinds
        What to compile: easy, optimize, slurm, market, …. Also calendar (downtimes), pools, shared, gang. Default: all.

    Examples
    --------
    fedsched warmup easy market
    fedsched warmup optimize --json
    """
    from fedsched.cli.data.warmup_calls import warm_up
    from fedsched.core.jit import folder_in_use

    folder = folder_in_use()
    if folder is None:
        raise OutputError("No folder can keep compiled code; set FEDSCHED_CACHE to a folder that only you can write.")
    done: list[Warmed] = []
    for one in warm_up(*kinds):
        done.append(one)
        compile_progress.record_compiled((compile_progress.WARMUP, one.kind), one.functions, done=True)
        if not json:
            say(f"{one.kind}: {counted(one.functions, 'function')} compiled in {one.seconds:.1f} s")
    if json:
        print_json({"kinds": [one._asdict() for one in done], "folder": str(folder), "bytes": _size(folder)})
    else:
        say(f"kept in {folder}: {_size(folder) / 2**20:.1f} MiB")
    return 0


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
