"""Options of several names: `--method easy,ga` and `--method easy ga` mean `--method easy --method ga`."""

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


# For each command, the options that take several names, and the names they know.
LISTED: dict[str, dict[str, Callable[[], Collection[str]]]] = {
    "compare": {"--method": _methods, "--baseline": _policies, "--objective": _metrics},
    "optimize": {"--objective": _metrics},
    "report": {"--policy": _policies},
    "tune": {"--objective": _metrics},
}


def one_by_one(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the command line with such an option repeated before each of its names.

    The words after the first name belong to the option as long as they are known names; others are arguments.
    """
    listed = LISTED.get(tokens[0], {}) if tokens else {}
    found: list[str] = []
    option, first = "", False  # the option that names belong to; whether its first name comes next
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
