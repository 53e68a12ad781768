"""Estimate how many functions a command will compile: as many as in a table of similar commands, less those cached.

The table, `data/compiled.json`, is made by `python tools/expected.py`. How many functions commands have compiled so
far is recorded beside the compiled code, and shipped with it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The second part of a name in the table, and the words that give it to a call: they change what is compiled.
OTHERWISE = {"slurm": ("--conf", "slurm"), "sharing": ("--sharing",), "calendar": ("--calendar",)}
WARMUP = "warmup"
APART = ("gang", "market")  # they share no functions with the other commands


def functions_of(arguments: Sequence[str]) -> int:
    """Return about how many functions a command line will compile; 0 if that is not known."""
    from fedsched.core.jit import decorators

    if decorators.CHOICE.name != "lean":
        return 0  # the table is made for lean compilation
    table, total = _table(), 0
    begun = any(_noted(name)[1] for name in table if not name.endswith(APART))
    for name in calls_of(arguments):
        before, done = _noted(name)
        counts = table[name]
        total += 0 if done else max(0, counts["after" if begun and not before else "alone"] - before)
        begun = begun or not name.endswith(APART)
    return total


def note(arguments: Sequence[str], functions: int, *, done: bool) -> None:
    """Record how many functions a command line has compiled, and whether it ran to its end."""
    from fedsched.core.jit import cache

    calls = calls_of(arguments)
    if len(calls) == 1:
        before, _ = _noted(*calls)
        cache.write(_name(*calls), cache.this_machine(), (before + functions, done))


def calls_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the name of a command line in the table; several names for `warmup` of several kinds."""
    table = _table()
    command = next((word for word in arguments if not word.startswith("-")), "")
    if command == WARMUP:
        known = [name for name in table if name.startswith(f"{WARMUP} ")]
        asked = [name for name in known if name.partition(" ")[2] in arguments]
        return tuple(asked or known)
    words = {word.partition("=")[0] for word in arguments}
    kinds = [kind for kind, among in OTHERWISE.items() if words.intersection(among)]
    name = " ".join([command, *kinds[:1]])
    return (name,) if name in table else ()


def _noted(call: str) -> tuple[int, bool]:
    from fedsched.core.jit import cache

    found: tuple[int, bool] = cache.read(_name(call), cache.this_machine()) or (0, False)
    return found


def _name(call: str) -> str:
    return f"noted.{call.replace(' ', '-')}"


def _table() -> Mapping[str, Mapping[str, int]]:
    from importlib.resources import files

    table: dict[str, dict[str, int]] = json.loads((files("fedsched") / "data" / "compiled.json").read_text("utf-8"))
    return table
