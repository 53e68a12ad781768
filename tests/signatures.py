"""Which signatures the package's compiled functions have: each costs a compilation, and users wait for it."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

MOST = 1  # signatures that a kernel, or a part of kernels, may have


def compiled_in(*names: str) -> dict[str, set[str]]:
    """Return the signatures of every compiled function of these modules, and of all modules of these packages.

    Those that the cache holds count beside those of this process: a kernel that comes from the cache brings its parts
    along unseen, and what another test or process compiled was compiled no less.
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
    assert sum(map(bool, found.values())) >= least, found
    assert not {name: sorted(signatures) for name, signatures in found.items() if len(signatures) > MOST}


def _signatures(function: Any) -> set[str]:
    index = getattr(getattr(function, "_cache", None), "_cache_file", None)  # None: nothing is cached
    kept = {key[0] for key in index._load_index()} if index is not None else set()
    return {str(signature) for signature in {*kept, *function.signatures}}
