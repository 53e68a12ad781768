"""Which signatures the package's compiled functions have: each costs a compilation, and users wait for it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
OF_EXTRAS = ("Extras(", "ExtraState(")  # in the signature that a kernel has for problems with extras


def check(*names: str, least: int) -> None:
    """Fail unless of these modules, and of all modules of these packages, at least so many functions were compiled.

    Each may have one signature for plain problems, and one for those with extras. Those that the cache holds count
    beside those of this process: a kernel that comes from the cache brings its parts along unseen, and what another
    test or process compiled was compiled no less. Only what the cache has from before the last change of the code or
    its tests is not held against them: that may be what the change mended.
    """
    functions = functions_of(*names)
    known = sum(bool(function.signatures or kept(function)) for function in functions)
    assert known >= least, f"{known} of {len(functions)} functions of {names} are compiled, not {least}"
    several = {}
    for function in functions:
        since = [signature for signature, written in kept(function).items() if written > last_change()]
        signatures = {*map(str, function.signatures), *since}
        full = {one for one in signatures if any(mark in one for mark in OF_EXTRAS)}
        if max(len(full), len(signatures - full)) > 1:
            several[f"{function.__module__}.{function.__name__}"] = sorted(signatures)
    assert not several, f"more than one each: {several}"


def functions_of(*names: str) -> list[Any]:
    """Return every compiled function of these modules, and of all modules of these packages."""
    modules = [importlib.import_module(name) for name in names]
    for package in [module for module in modules if hasattr(module, "__path__")]:
        inner = (f"{package.__name__}.{found.name}" for found in pkgutil.iter_modules(package.__path__))
        modules += [importlib.import_module(name) for name in inner]
    found = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    return list(found.values())


def kept(function: Any) -> dict[str, float]:
    """Return the signatures of a function that the cache holds, and when each was written."""
    index = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if index is None:
        return {}  # nothing is cached
    entries = ((str(key[0]), Path(index._data_path(name))) for key, name in index._load_index().items())
    return {signature: path.stat().st_mtime for signature, path in entries if path.exists()}


@functools.cache
def last_change() -> float:
    """Return when a module of the package or of its tests was last written."""
    return max(path.stat().st_mtime for room in ("fedsched", "tests") for path in (ROOT / room).rglob("*.py"))
