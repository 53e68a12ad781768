"""The errors a user may meet; every one says what, where, which rule, and the cure."""

from __future__ import annotations

import difflib
import re
from string import Formatter
from typing import TYPE_CHECKING, Any, TypeVar

from fedsched.core.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

Value = TypeVar("Value")


class FedschedError(Exception):
    """Base of every error that fedsched raises on purpose; it prints on one line, whatever it quotes."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class FieldError(FedschedError, ValueError):
    """A value that a noun's field does not take, or fields that do not go together.

    The words name fields in braces, and leave an empty pair for each value: `"{nodes}={!r} must be at least 1."`. So a
    program reads of `nodes`, and the command line, where the same is an option, of `--nodes`.
    """

    def __init__(self, words: str, *values: object) -> None:
        super().__init__(words, *values)
        self.words, self.values = words, values

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the fields that it is about."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.words) if name)

    def told(self, called: Callable[[str], str] = str) -> str:
        """Return the message, each field called as it is where the message is read."""
        return one_line(self.words.format(*self.values, **{name: called(name) for name in self.fields}))

    def __str__(self) -> str:
        return self.told()


class TraceError(FedschedError):
    """A workload file cannot be read; the message names file, line and field."""


class FederationError(FedschedError):
    """A federation or its file is wrong; the message names the key and the value."""


class InfeasibleError(FedschedError):
    """A job can never be placed; the message names the job and what is left for it."""


class IncompatibleError(InfeasibleError, ValueError):
    """Features that do not go together; the message names both, the reason and the cure."""


class ScheduleError(FedschedError):
    """A schedule breaks the model; the message names the first job that does."""


class UnknownNameError(FedschedError, ValueError):
    """A name is not in a registry; the message offers the nearest one."""


class SteerError(FedschedError):
    """A cluster is not read, planned for or steered; the message says why, and what would have to be otherwise."""


class OutputError(FedschedError):
    """A result cannot be written; nothing is left half-written."""


class ConfigError(FedschedError):
    """A file of options is wrong; the message names file, table and key."""


class FetchError(FedschedError):
    """A file cannot be downloaded, or is not the one wanted; the message says what to do."""


class CompilationError(FedschedError):
    """A kernel that could not be compiled."""


class TwinError(FedschedError):
    """Slurm could not be asked, or what it told cannot be replayed; the message names command or file, and the cure."""


class TooFewRunsError(FedschedError, ValueError):
    """A statistical test can show nothing with so few runs; the message says how many it needs."""


class MissingExtraError(FedschedError, ImportError):
    """What was asked for needs an optional dependency; the message names the extra to install."""


def pandas_for(what: str) -> Any:
    """Return pandas, which not every installation has, or raise the error that says how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError(
            f"{what} needs pandas, which is not installed; install the extra: pip install 'fedsched[notebook]'."
        ) from error
    return pandas


def shortened(value: object, most: int = 80) -> str:
    """Return a value as an error message shows it: on one line, and not longer than a line."""
    text = value if isinstance(value, str) and value.isprintable() else repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(value: object) -> str:
    """Return what somebody handed over as an error message shows it: as typed, on one line, not longer than a line."""
    return shortened(one_line(repr(value)))


NEAR = 0.65  # share of the letters of two names that agree in order: one wrong of three, two of six


def near_names(name: object, known: Iterable[str]) -> list[str]:
    """Return the known names that a slip of the pen makes this one, or that it shortens, the nearest first.

    "eazy" and "roling" are slips; "wait" is a word of "mean_wait"; "powr" is no more like "flow" than by chance.
    """
    by_lower = {one.lower(): one for one in known}
    given = str(name).lower()[:LONG_NAME]
    words = set(re.findall(r"[^\W_]+", given))
    near = difflib.get_close_matches(given, by_lower, n=6, cutoff=NEAR)
    near += [
        one for one in by_lower
        if one not in near
        and ((words and words <= set(re.findall(r"[^\W_]+", one))) or (len(given) > 2 and one.startswith(given)))
    ]  # fmt: skip
    return [by_lower[one] for one in near[:6]]


def nearest(name: object, known: Iterable[str]) -> str | None:
    """Return the known name that is meant, going by its letters; None if none is like it."""
    return next(iter(near_names(name, known)), None)


class Named(dict[str, Value]):
    """Values by name, of which a name that is not there is an error that offers the nearest one."""

    def __init__(self, kind: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self.kind = kind

    def __missing__(self, name: object) -> Value:
        raise unknown_name(self.kind, name, self)

    def __reduce__(self) -> tuple[type[Named[Value]], tuple[str, dict[str, Value]]]:
        return type(self), (self.kind, dict(self))


SHORT_LIST = 20  # names that an error message still lists whole
LONG_NAME = 80


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownNameError:
    """Return the error for a name that no registry holds, with the nearest one offered."""
    names = sorted(known)
    if isinstance(name, str) and len(name) > LONG_NAME:  # a damaged file's, no slip of the pen
        name = shortened(name, LONG_NAME)
    near = near_names(name, names)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    if len(names) <= SHORT_LIST:
        return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {shortened(', '.join(names), 1000)}.")
    shown = near or names[:6]
    rest = len(names) - len(shown)
    return UnknownNameError(
        f"Unknown {kind} {name!r}.{hint} Known: {shortened(', '.join(shown), 1000)} and {rest} more."
    )
