"""Which of two ways compiles the kernels: the lean one, or numba's plain `njit` on a numba that is not known.

The lean one compiles in a quarter of the time, and builds on numba's compiler from inside. So it is used only with
versions that it was tried with, and after a small kernel gave the same result both ways on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import llvmlite  # type: ignore[import-untyped]
import numba

from fedsched.core import compilation
from fedsched.core.jit import cache

TRIED = {"numba": ("0.68",), "llvmlite": ("0.50",)}
CHOICES = ("lean", "plain")


class Choice(NamedTuple):
    """A way to compile, and why it is not the lean one."""

    name: str
    why: str = ""


def chosen() -> Choice:
    """Return the way to compile; say on stderr why it is the plain one, unless the user asked for that."""
    asked = os.environ.get("FEDSCHED_JIT", "")
    if asked in CHOICES:
        return Choice(asked, "FEDSCHED_JIT asks for it" if asked == "plain" else "")
    if asked:
        compilation.say(f"FEDSCHED_JIT={asked} is neither of {', '.join(CHOICES)}; it is not looked at")
    why = _unknown_version() or _failed_test()
    if why:
        compilation.say(f"{why}; numba's plain compiler is used, which takes minutes once")
    return Choice("plain" if why else "lean", why)


def _unknown_version() -> str:
    for name, module in (("numba", numba), ("llvmlite", llvmlite)):
        version = module.__version__
        if not any(version == one or version.startswith(f"{one}.") for one in TRIED[name]):
            return f"{name} {version} has not been tried with fedsched (tried: {', '.join(TRIED[name])})"
    return ""


def _failed_test() -> str:
    """Return what is wrong with the lean way here; nothing if it passed, now or before."""
    target, mark = cache.this_machine(), f"self-test {cache.text_of(Path(__file__))}"
    if cache.read(mark, target):
        return ""
    try:
        found = self_test()
    except Exception as error:
        return f"a first kernel failed ({type(error).__name__}: {error})"
    if found:
        return found
    cache.write(mark, target, True)
    return ""


def self_test() -> str:
    """Return how a kernel's results differ between the lean way and numba's own; nothing if they are equal."""
    from fedsched.core.jit import probe

    return probe.difference()
