"""Options of several names, as people write them: `--method easy,ga` and `--method easy ga` for one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


def _metrics() -> Collection[str]:
    from fedsched.model.schedule.metrics import NAMES

    return NAMES


def _policies() -> Collection[str]:
    from fedsched.policies import POLICIES

    return POLICIES


def _methods() -> Collection[str]:
    from fedsched.comparison.naming import every_name

    return every_name()


# Of each command the options that take several names, and what these may be.
LISTED: dict[str, dict[str, Callable[[], Collection[str]]]] = {
    "compare": {"--method": _methods, "--baseline": _policies, "--objective": _metrics},
    "optimize": {"--objective": _metrics},
    "report": {"--policy": _policies},
    "tune": {"--objective": _metrics},
}


def one_by_one(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return a command line in which such an option stands before each of its names.

    Names go on behind the first one as long as they are known; what else stands there is the command's own.
    """
    listed = LISTED.get(tokens[0], {}) if tokens else {}
    found: list[str] = []
    option, first = "", False  # which one the names belong to, and whether its first one comes next
    for k, token in enumerate(tokens):
        named, sign, value = token.partition("=")
        if token == "--":
            return (*found, *tokens[k:])
        if named in listed:
            option, first = named, not sign
            found += _each(option, value) if sign else () if _is_value(tokens, k + 1) else (token,)
        elif option and not token.startswith("-") and (first or _all_known(token, listed[option]())):
            found += _each(option, token)
            first = False
        else:
            option, first = "", False
            found.append(token)
    return tuple(found)


def _is_value(tokens: Sequence[str], k: int) -> bool:
    return k < len(tokens) and not tokens[k].startswith("-")


def _names_in(text: str) -> list[str]:
    return [name for part in text.split(",") if (name := part.strip())]


def _all_known(text: str, known: Collection[str]) -> bool:
    names = _names_in(text)
    return bool(names) and all(name.lower() in known for name in names)


def _each(option: str, text: str) -> Iterable[str]:
    for name in _names_in(text) or [text]:
        yield from (option, name)
