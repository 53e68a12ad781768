"""Plugins: search methods and policies that other installed packages offer, as entry points of their distributions.

Packages are looked at only if fedsched itself does not know a name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from fedsched.core.errors import PluginError, shortened, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable
    from importlib.metadata import EntryPoint

METHODS = "fedsched.methods"
POLICIES = "fedsched.policies"


def offered(group: str) -> dict[str, list[EntryPoint]]:
    """Return the entry points of a group by their names in lower case: a list each, as packages may share a name."""
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for one in entry_points(group=group):
        found.setdefault(one.name.lower(), []).append(one)
    return found


def plugin(kind: str, group: str, name: str, known: Iterable[str]) -> tuple[EntryPoint, object]:
    """Return the entry point of a name, and the object that it loads.

    Raise an UnknownNameError if no package offers the name; `known` are fedsched's own names, for its hint. Raise a
    PluginError if several packages offer the name, or if the object cannot be loaded.
    """
    there = offered(group)
    if name.lower() not in there:
        raise unknown_name(kind, name, [*known, *there])
    one, *others = there[name.lower()]
    if others:
        packages = " and ".join(sorted(package_of(each) for each in (one, *others)))
        raise PluginError(f"{kind} {name!r} is offered by packages {packages}; uninstall all but one.")
    try:
        return one, one.load()
    except Exception as error:  # whatever the other package does when it is imported
        refuse(kind, one, f"cannot be loaded ({type(error).__name__}: {shortened(str(error))})", error)


def package_of(one: EntryPoint) -> str:
    """Return the name of the distribution that offers an entry point, or "of an unknown name"."""
    return one.dist.name if one.dist is not None else "of an unknown name"


def refuse(kind: str, one: EntryPoint, why: str, cause: Exception | None = None) -> NoReturn:
    """Raise a PluginError: this plugin does not work, for the reason `why`; the message names the package."""
    raise PluginError(
        f"{kind} {one.name!r} of package {package_of(one)} {why}; update or uninstall that package."
    ) from cause
