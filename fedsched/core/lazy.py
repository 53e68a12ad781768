"""Lazy packages: a name is imported at its first use, so that the import of the package stays fast."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def lazily(package: str, homes: Mapping[str, str]) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return a package's `__getattr__` and `__dir__`.

    `homes` has, by name, the module within `fedsched` that holds it; a name with its own module's path is that module.
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
