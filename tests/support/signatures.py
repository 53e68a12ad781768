"""Which signatures the package's compiled functions have: each costs a compilation, and users wait for it."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numba import types

from fedsched.core.jit.structs import Reference
from fedsched.engine.arrays.structs import Extras, ExtraState
from fedsched.engine.pack.shape_arrays import Shapes
from fedsched.engine.shared_nodes.arrays import Sharing, Work
from fedsched.slurm.nodes.node_sizes import Sizes
from fedsched.slurm.nodes.shared_nodes import Shared

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
# What a signature may have or not: kernels are compiled without it for those that do not use it.
OPTIONAL = {Extras: "extras", ExtraState: "extras", Sharing: "nodes", Work: "nodes"}
OPTIONAL |= {Shapes: "shapes", Shared: "shared", Sizes: "sizes"}


def check(*names: str, least: int) -> None:
    """Fail unless of these modules, and of all modules of these packages, at least so many functions were compiled.

    Each may have one signature for plain problems, and one for each kind of extras; on shared nodes as many again.
    Those that the cache holds count beside those of this process: a kernel that comes from the cache brings its parts
    along unseen, and what another test or process compiled was compiled no less. Only what the cache has from before
    the last change of the code or its tests is not held against them: that may be what the change mended.
    """
    functions = functions_of(*names)
    known = sum(bool(function.signatures or kept(function)) for function in functions)
    assert known >= least, f"{known} of {len(functions)} functions of {names} are compiled, not {least}"
    several = {}
    for function in functions:
        since = [signature for signature, written in kept(function).items() if written > last_change()]
        signatures = {*function.signatures, *since}
        if len({frozenset(options_of(*one)) for one in signatures}) < len(signatures):
            several[f"{function.__module__}.{function.__name__}"] = sorted(map(str, signatures))
    assert not several, f"more than one each: {several}"


def options_of(*kinds: Any) -> Iterator[str]:
    """Return the names of the optional tuples that some types are, or have within."""
    for kind in kinds:
        if isinstance(kind, Reference):
            if kind.of in OPTIONAL:
                yield OPTIONAL[kind.of]
            if kind.of is Extras and kind.members[Extras._fields.index("more")] != types.none:
                yield "more"  # than nodes that close
            yield from options_of(*kind.members)


def functions_of(*names: str) -> list[Any]:
    """Return every compiled function that these modules, and all modules of these packages, have of their own."""
    modules = [importlib.import_module(name) for name in names]
    for package in [module for module in modules if hasattr(module, "__path__")]:
        inner = (found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
        modules += [importlib.import_module(name) for name in inner]
    values = ((module.__name__, value) for module in modules for value in vars(module).values())
    return [value for home, value in values if hasattr(value, "signatures") and value.__module__ == home]


def kept(function: Any) -> dict[tuple[Any, ...], float]:
    """Return the signatures of a function that the cache holds, and when each was written."""
    index = getattr(getattr(function, "_cache", None), "_cache_file", None)
    if index is None:
        return {}  # nothing is cached
    entries = ((key[0], Path(index._data_path(name))) for key, name in index._load_index().items())
    return {signature: path.stat().st_mtime for signature, path in entries if path.exists()}


@functools.cache
def last_change() -> float:
    """Return when a module of the package or of its tests was last written."""
    return max(path.stat().st_mtime for room in ("fedsched", "tests") for path in (ROOT / room).rglob("*.py"))
