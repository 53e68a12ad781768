"""The decorators of compiled functions; they return a function as it is if numba is told not to compile."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numba.core import config, event

from fedsched.core import compilation
from fedsched.core.jit import backend, cache, lean, plain

if TYPE_CHECKING:
    from pathlib import Path

F = TypeVar("F", bound=Callable[..., Any])
_SETTINGS: Any = config
CHOICE = backend.Choice("lean") if _SETTINGS.DISABLE_JIT else backend.chosen()
_WAY: Any = lean if CHOICE.name == "lean" else plain


def kernel(function: F) -> F:
    """Return a function that is compiled at its first call, for calls from Python and from compiled code.

    It releases the GIL, and divides by 0 as numpy does. If numba is told not to compile, return the function as it is.
    """
    return function if _SETTINGS.DISABLE_JIT else cast("F", _WAY.kernel(function))


def part(function: F) -> F:
    """Return a function for calls from compiled code only; it is compiled on its own, at its first call."""
    return function if _SETTINGS.DISABLE_JIT else cast("F", _WAY.part(function))


def inlined(function: F) -> F:
    """Return a function for calls from compiled code only; it is compiled into each caller, for steps of hot loops."""
    return function if _SETTINGS.DISABLE_JIT else cast("F", _WAY.inlined(function))


def constant(value: int) -> int:
    """Return a whole number as numpy's int64, which kernels pass to kernels: numba would compile anew for a literal."""
    return cast("int", np.int64(value))


def flag(value: bool) -> bool:
    """Return a truth value as numpy's bool, which kernels pass to kernels: numba would compile anew for a literal."""
    return cast("bool", np.bool_(value))


def folder_in_use() -> Path | None:
    """Return the folder to which compiled code is written; None if this process writes none."""
    return cache.FOLDER


def unused_folder() -> str:
    """Return in words that FEDSCHED_CACHE names a folder that is not used, and why; "" if it is used or not set."""
    return cache.unused()


class _Counted(event.Listener):
    # Numba reports what it compiles, not what it loads from the cache. Functions of other packages are not counted.
    def on_start(self, event: Any) -> None:
        if _is_ours(event):
            compilation.begun(what=event.data["dispatcher"].py_func.__module__.removeprefix("fedsched."))

    def on_end(self, event: Any) -> None:
        if _is_ours(event):
            compilation.ended()


def _is_ours(event: Any) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("fedsched.")


event.register("numba:compile", _Counted())  # type: ignore[no-untyped-call]
