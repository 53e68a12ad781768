"""Lazy packages: a name is imported at its first use, so that the import of the package stays fast."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's `__getattr__`, which imports a name at its first use, and its `__dir__`.

    `homes` has, for each name, the path within `fedsched` of the module that defines it. If that path is the
    package's own submodule with this name, the name means the submodule itself.
    """

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"fedsched.{homes[name]}")
        return module if f"fedsched.{homes[name]}" == f"{package}.{name}" else getattr(module, name)

    def names() -> list[str]:
        there = vars(sys.modules[package])
        classes = {name for name in there if name[:1].isupper() and name != "TYPE_CHECKING"}
        return sorted({*homes, *there.get("__all__", ()), *classes})

    return get, names
