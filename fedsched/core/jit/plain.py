"""Compiling by numba's own `njit`, for a numba that `lean` was not tried with: the same results, slower to compile."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numba
from numba.core import caching, config

from fedsched.core.jit import cache

if TYPE_CHECKING:
    from collections.abc import Iterator

F = TypeVar("F", bound=Callable[..., Any])
_SETTINGS: Any = config


def kernel(function: F) -> F:
    """Return the function compiled."""
    # Without reference counts: no kernel allocates, and tuples by reference hold none.
    compiled: Any = numba.njit(function, nogil=True, error_model="numpy", _nrt=False)  # type: ignore[call-overload]
    with _kept(function) as kept:
        if kept:
            compiled._cache = _Kept(function)
    return compiled  # type: ignore[no-any-return]


class _Kept(caching.FunctionCache):  # type: ignore[misc]
    """What numba keeps of a function: where no more can be kept, compiled code is used without."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function, unless the cache is full."""
        if cache.FOLDER is not None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                cache.keep_no_more(error)


part = inlined = kernel


@contextlib.contextmanager
def _kept(function: Any) -> Iterator[bool]:
    """Let numba keep what it compiles of this function in a folder named after all text that can change it."""
    if cache.FOLDER is None:
        yield False
        return
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(cache.FOLDER / f"plain-{cache.whole_text_of(Path(function.__code__.co_filename))}")
    try:
        yield True
    finally:
        _SETTINGS.CACHE_DIR = before
