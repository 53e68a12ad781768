"""The `@kernel` decorator: how every compiled function of the package is compiled and cached."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import config

F = TypeVar("F", bound=Callable[..., Any])
_SETTINGS: Any = config  # numba sets its attributes at import, where no checker sees them
_KERNELS = re.compile(r"^@(kernel|part|inlined)$", re.MULTILINE)


def kernel_files(package: Path) -> list[Path]:
    """Return the files of the package that hold kernels, in a fixed order."""
    return sorted(path for path in package.rglob("*.py") if _KERNELS.search(path.read_text(encoding="utf-8")))


def fingerprint(files: list[Path]) -> str:
    """Return a name for the exact text of these files, the compiler and its settings.

    Numba looks only at the file that a function stands in; a change in a helper of another file would
    leave a stale cache. So the cache's folder is named after everything that can change the answer.
    """
    digest = hashlib.sha256(f"{numba.__version__} boundscheck={_SETTINGS.BOUNDSCHECK}".encode())
    for path in files:
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_folder(name: str) -> Path | None:
    """Return a writable folder for compiled code, or None where there is no such place."""
    user_cache = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    for base in (os.environ.get("NUMBA_CACHE_DIR"), user_cache):
        if not base:
            continue
        folder = Path(base) / "fedsched" / name
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return folder
    return None


_FOLDER = cache_folder(fingerprint(kernel_files(Path(__file__).parent)))


@contextlib.contextmanager
def _caching_in(folder: Path) -> Iterator[None]:
    # Numba chooses the cache's place while it decorates, and by nothing but this setting.
    before = _SETTINGS.CACHE_DIR
    _SETTINGS.CACHE_DIR = str(folder)
    try:
        yield
    finally:
        _SETTINGS.CACHE_DIR = before


def _compiled(function: F, *, inner: bool, inlined: bool) -> F:
    def compiled(cache: bool) -> F:
        return numba.njit(  # type: ignore[call-overload, no-any-return]
            function,
            cache=cache,
            nogil=True,
            error_model="numpy",
            # No kernel allocates, so none needs reference counts; counting made each call twenty times dearer.
            _nrt=False,
            no_cfunc_wrapper=True,
            no_cpython_wrapper=inner,
            forceinline=inlined,
        )

    if _FOLDER is None:
        return compiled(cache=False)
    with _caching_in(_FOLDER):
        return compiled(cache=True)


def kernel(function: F) -> F:
    """Return the function compiled, callable from Python: no GIL, numpy's division, cached where possible."""
    return _compiled(function, inner=False, inlined=False)


def part(function: F) -> F:
    """Return the function compiled as a part of kernels, called by them only."""
    return _compiled(function, inner=True, inlined=False)


def inlined(function: F) -> F:
    """Return the function compiled into each of its callers: for the small steps of hot loops."""
    return _compiled(function, inner=True, inlined=True)


def constant(value: int) -> int:
    """Return a whole number that kernels may hand to kernels: numba compiles once more for each Python literal."""
    return cast("int", np.int64(value))


def flag(value: bool) -> bool:
    """Return a truth value that kernels may hand to kernels, for the same reason."""
    return cast("bool", np.bool_(value))


def folder_in_use() -> Path | None:
    """Return where compiled code is kept, or None where every process compiles for itself."""
    return _FOLDER


def compiled_before() -> bool:
    """Return whether nothing is left to compile; else the first call takes half a minute."""
    if _SETTINGS.DISABLE_JIT:
        return True
    return _FOLDER is not None and any(_FOLDER.rglob("*.nbi"))
