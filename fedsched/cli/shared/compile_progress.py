"""Report on stderr what a command compiles, so that the first use of a part of fedsched does not look hung.

The number of functions that it will compile is estimated from a table of similar commands, `data/compiled.json`, less
those cached. `python tools/expected.py` makes the table. The functions that commands have compiled so far are recorded
beside the compiled code, and shipped with it.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import time
from typing import TYPE_CHECKING

from fedsched.core.compilation import Compilation, compiling

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

EVERY = 10.0  # seconds between two lines, if stderr is no terminal


@contextlib.contextmanager
def report_compiling(arguments: Sequence[str] = ()) -> Iterator[None]:
    """While the `with` block compiles, report on stderr what, how much and how long still; at the end, the total.

    Also record the number of compiled functions for this command line.
    """
    said: float | None = None  # when the last report was made

    def say(watch: Compilation) -> None:
        nonlocal said
        if sys.stderr is None:
            return
        now = time.monotonic()
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            line = f"fedsched: {watch.status}"[:width] if watch.active else ""
            print(f"\r{' ' * width}\r{line}", end="", file=sys.stderr, flush=True)
        elif said is None:
            print("fedsched: compiling, once for this version …", file=sys.stderr, flush=True)
        elif now - said >= EVERY and watch.active:
            print(f"fedsched: {watch.status}", file=sys.stderr, flush=True)
        else:
            return
        said = now

    done = False
    with compiling(say, expects=lambda: expected_functions(arguments)) as watch:
        try:
            yield
            done = True
        finally:
            if watch and sys.stderr is not None:
                print(f"fedsched: compiled {watch}; {_cache_state()}.", file=sys.stderr)
            if watch.functions:
                record_compiled(arguments, watch.functions, done=done)


def _cache_state() -> str:
    from fedsched.core.jit import folder_in_use

    return "kept for the next time" if folder_in_use() else "not kept, as no folder is writable: see fedsched doctor"


# The second part of a name in the table, and the words that give it to a call: they change what is compiled.
VARIANTS = {"slurm": ("--conf", "slurm"), "sharing": ("--sharing",), "calendar": ("--calendar",)}
WARMUP = "warmup"
SEPARATE = ("gang", "market")  # they share no functions with the other commands


def expected_functions(arguments: Sequence[str]) -> int:
    """Return about how many functions a command line will compile; 0 if none, or if that is not known."""
    from fedsched.core.jit import decorators

    if decorators.CHOICE.name != "lean":
        return 0  # the table is made for lean compilation
    table, total = _table(), 0
    begun = any(_recorded(name)[1] for name in table if not name.endswith(SEPARATE))
    for name in calls_of(arguments):
        before, done = _recorded(name)
        counts = table[name]
        total += 0 if done else max(0, counts["after" if begun and not before else "alone"] - before)
        begun = begun or not name.endswith(SEPARATE)
    return total


def record_compiled(arguments: Sequence[str], functions: int, *, done: bool) -> None:
    """Add to the recorded number of functions that a command line has compiled, and record whether it ran to its end.

    Nothing is recorded if the command line has no name in the table, or several.
    """
    from fedsched.core.jit import cache

    calls = calls_of(arguments)
    if len(calls) == 1:
        before, _ = _recorded(*calls)
        cache.write(_name(*calls), cache.this_machine(), (before + functions, done))


def calls_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the name of a command line in the table, as a tuple of one; `warmup` has a name for each of its kinds.

    The tuple is empty if the table lacks the command line.
    """
    table = _table()
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command == WARMUP:
        known = [name for name in table if name.startswith(f"{WARMUP} ")]
        asked = [name for name in known if name.partition(" ")[2] in arguments]
        return tuple(asked or known)
    words = {word.partition("=")[0] for word in arguments}
    kinds = [kind for kind, among in VARIANTS.items() if words.intersection(among)]
    name = " ".join([command, *kinds[:1]])
    return (name,) if name in table else ()


def _recorded(call: str) -> tuple[int, bool]:
    from fedsched.core.jit import cache

    found: tuple[int, bool] = cache.read(_name(call), cache.this_machine()) or (0, False)
    return found


def _name(call: str) -> str:
    return f"noted.{call.replace(' ', '-')}"


def _table() -> Mapping[str, Mapping[str, int]]:
    from importlib.resources import files

    table: dict[str, dict[str, int]] = json.loads((files("fedsched") / "data" / "compiled.json").read_text("utf-8"))
    return table
