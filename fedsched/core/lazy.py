"""Packages whose names are imported when they are first used, so that importing the package stays fast."""

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
        return sorted({*homes, *there.get("__all__", ()), *(name for name in there if name[:1].isupper())})

    return get, names
