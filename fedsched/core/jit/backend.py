"""The choice between two ways to compile kernels: "lean", or "plain" (numba's own `njit`) on an unknown numba.

The lean way compiles in a quarter of the time, but uses internals of numba's compiler. So it is used only with tested
versions, and after a small kernel has given the same result both ways on this machine.
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
    """A way to compile, "lean" or "plain", and the reason if it is "plain"."""

    name: str
    why: str = ""


def chosen() -> Choice:
    """Return the way to compile: the one that FEDSCHED_JIT names, else lean if numba is known and the self-test passes.

    If it is plain although the user has not asked for it, or FEDSCHED_JIT is invalid, write the reason to stderr.
    """
    asked = os.environ.get("FEDSCHED_JIT", "")
    if asked in CHOICES:
        return Choice(asked, "FEDSCHED_JIT asks for it" if asked == "plain" else "")
    if asked:
        compilation.say(f"FEDSCHED_JIT={asked} is unknown and ignored; known: {', '.join(CHOICES)}")
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
    """Return why the lean way fails its self-test on this machine; "" if it passes, now or in an earlier process."""
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
    """Compile a small kernel in the lean way and in numba's own; return how its results differ, "" if they agree."""
    from fedsched.core.jit import probe

    return probe.difference()
