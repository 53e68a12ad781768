"""Plugins: search methods and policies that other installed packages offer, as entry points of their distributions.

Packages are looked at only if fedsched itself does not know a name.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

from fedsched.core.errors import PluginError, UnknownNameError, shortened, unknown_name

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator
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
        raise unknown_or_missing(kind, name, [*known, *there])
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


def release_of(one: EntryPoint) -> str:
    """Return the name and version of the distribution that offers an entry point, as "mypackage 1.2"."""
    return "unknown ?" if one.dist is None else f"{one.dist.name} {one.dist.version}"


def release_with(group: str, name: str, known: Container[str]) -> str:
    """Return the name and version of the package that offers a name; "" if fedsched itself knows it, or no package.

    `known` are fedsched's own names, in lower case.
    """
    there = [] if name.lower() in known else offered(group).get(name.lower(), [])
    return ", ".join(release_of(one) for one in there)


MISSING = "If another package offers it, install that package."


def unknown_or_missing(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that neither fedsched nor an installed package knows, not raised."""
    return unknown_name(kind, name, known, otherwise=MISSING)


def refuse(kind: str, one: EntryPoint, why: str, cause: Exception | None = None) -> NoReturn:
    """Raise a PluginError: this plugin does not work, for the reason `why`; the message names the package."""
    raise broken(f"{kind} {one.name!r} of package {package_of(one)}", why) from cause


@contextmanager
def noted(part: str, offer: str) -> Iterator[None]:
    """A context that adds a note to an error raised in it: in which part of what another package offers it was."""
    try:
        yield
    except Exception as error:
        error.add_note(f"in {part} of {offer}")
        raise


def broken(offer: str, why: str) -> PluginError:
    """Return the error, not raised, for what another package offers and does not work; `offer` names it."""
    return PluginError(f"{offer} {why}; update or uninstall that package.")
