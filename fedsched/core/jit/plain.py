"""The plain way to compile, numba's own `njit`, for versions that `lean` is not tested with: same results, slower."""

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
    """Return a function that numba's `njit` compiles at its first call; its code is cached if there is a folder."""
    # Without reference counts: no kernel allocates, and tuples by reference hold none.
    compiled: Any = numba.njit(function, nogil=True, error_model="numpy", _nrt=False)  # type: ignore[call-overload]
    with _kept(function) as kept:
        if kept:
            compiled._cache = _Kept(function)
    return compiled  # type: ignore[no-any-return]


class _Kept(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function; if it cannot be written, compiled code is used uncached."""

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write a compiled function to the cache; after a failure, write no more in this process."""
        if cache.FOLDER is not None:
            try:
                super().save_overload(sig, data)
            except OSError as error:
                cache.keep_no_more(error)


part = inlined = kernel


@contextlib.contextmanager
def _kept(function: Any) -> Iterator[bool]:
    """Set numba's cache folder within the block, and return True; return False if there is no cache.

    The folder is named by the digest of all source text that can change the function's code.
    """
    if cache.FOLDER is None:
        yield False
        return
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(cache.FOLDER / f"plain-{cache.whole_text_of(Path(function.__code__.co_filename))}")
    try:
        yield True
    finally:
        _SETTINGS.CACHE_DIR = before
