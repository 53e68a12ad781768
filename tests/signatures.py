"""Which signatures the package's compiled functions have: each costs a compilation, and users wait for it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MOST = 1  # signatures that a kernel, or a part of kernels, may have


def compiled_in(*names: str) -> dict[str, set[str]]:
    """Return the signatures of every compiled function of these modules, and of all modules of these packages.

    Those that the cache holds count beside those of this process: a kernel that comes from the cache brings its parts
    along unseen, and what another test or process compiled was compiled no less. What the cache has from before the
    last change of the code or its tests does not count: that may be what the change mended.
    """
    modules = [importlib.import_module(name) for name in names]
    for package in [module for module in modules if hasattr(module, "__path__")]:
        inner = (f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__))
        modules += [importlib.import_module(name) for name in inner]
    functions = [value for module in modules for value in vars(module).values() if hasattr(value, "signatures")]
    return {f"{function.__module__}.{function.__name__}": _signatures(function) for function in functions}


def check(*names: str, least: int) -> None:
    """Fail unless at least so many functions were compiled, none of them for more kinds of arguments than it may."""
    found = compiled_in(*names)
    known = sum(map(bool, found.values()))
    assert known >= least, f"{known} of the functions of {names} are compiled, not {least}"
    several = {name: sorted(signatures) for name, signatures in found.items() if len(signatures) > MOST}
    assert not several, f"more than {MOST} each: {several}"


def _signatures(function: Any) -> set[str]:
    found = set(function.signatures)
    index = getattr(getattr(function, "_cache", None), "_cache_file", None)  # None: nothing is cached
    if index is not None:
        for (signature, *_), name in index._load_index().items():
            path = Path(index._data_path(name))
            if path.exists() and path.stat().st_mtime > _last_change():
                found.add(signature)
    return {str(signature) for signature in found}


@functools.cache
def _last_change() -> float:
    return max(path.stat().st_mtime for room in ("fedsched", "tests") for path in (ROOT / room).rglob("*.py"))
