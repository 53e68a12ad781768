"""The errors that users may meet; each says what is wrong, where, by which rule, and the cure."""

from __future__ import annotations

import difflib
import re
from string import Formatter
from typing import TYPE_CHECKING, TypeVar

from fedsched.core.text import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

Value = TypeVar("Value")


class FedschedError(Exception):
    """Base class of all errors that fedsched raises on purpose; each prints on one line, whatever it quotes."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class FieldError(FedschedError, ValueError):
    """The error for a value that a field of a class does not accept, or for fields that do not go together.

    The words name fields in braces and have an empty pair of braces for each value: `"{nodes}={!r} must be at least
    1."`. So Python's message names `nodes`, and the command line's names its option `--nodes`.
    """

    def __init__(self, words: str, *values: object) -> None:
        super().__init__(words, *values)
        self.words, self.values = words, values

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of the fields in the message."""
        return tuple(name for _, name, _, _ in Formatter().parse(self.words) if name)

    def told(self, called: Callable[[str], str] = str) -> str:
        """Return the message on one line; `called` returns the name to show for a field, such as its option's."""
        return one_line(self.words.format(*self.values, **{name: called(name) for name in self.fields}))

    def __str__(self) -> str:
        return self.told()


class TraceError(FedschedError):
    """The error for a workload file that cannot be read; the message names file, line and field."""


class FederationError(FedschedError):
    """The error for an invalid federation or file of one; the message names the key and the value."""


class InfeasibleError(FedschedError):
    """The error for a job that can never be placed; the message names the job and the nodes that it may use."""


class IncompatibleError(InfeasibleError, ValueError):
    """The error for features that do not go together; the message names both, the reason and the cure."""


class ScheduleError(FedschedError):
    """The error for a schedule that breaks a rule of the model, or that cannot be made, read or written.

    It is raised too if a schedule lacks what is asked of it. Of several faults, the message names the first.
    """


class UnknownNameError(FedschedError, ValueError):
    """The error for a name that no registry has, such as a policy's; the message offers the nearest known name."""


class SteerError(FedschedError):
    """The error for a real cluster that cannot be read, planned for or steered; the message says why, and the cure."""


class PluginError(FedschedError):
    """The error for a search method or policy of another package that does not work; the message names the package."""


class OutputError(FedschedError):
    """The error for a result that cannot be written to a file; nothing is left half-written."""


class ConfigError(FedschedError):
    """The error for an invalid file of options; the message names file, table and key."""


class FetchError(FedschedError):
    """The error for a file that cannot be downloaded, or is not the wanted one; the message says what to do."""


class CompilationError(FedschedError):
    """The error for a kernel, a function for the just-in-time compiler, that cannot be compiled."""


class TwinError(FedschedError):
    """The error for a query that Slurm does not answer, or an answer that cannot be replayed.

    The message names the command or file, and the cure.
    """


class TooFewRunsError(FedschedError, ValueError):
    """The error for too few runs for a statistical test to show anything; the message says how many it needs."""


class MissingExtraError(FedschedError, ImportError):
    """The error for an optional dependency that is missing; the message names the extra to install."""


def shortened(value: object, most: int = 80) -> str:
    """Return a printable text as it is, any other value as its repr; cut to `most` characters with "…" at the end."""
    text = value if isinstance(value, str) and value.isprintable() else repr(value)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def shown(value: object) -> str:
    """Return a user's value for an error message: as Python writes it, on one line, at most 80 characters."""
    return shortened(one_line(repr(value)))


NEAR = 0.65  # share of the letters of two names that agree in order: one wrong of three, two of six


def near_names(name: object, known: Iterable[str]) -> list[str]:
    """Return at most six known names: those that resemble this one, the nearest first, then those that it abbreviates.

    It abbreviates names that begin with it, or that contain all of its words.

    "eazy" and "roling" are typing errors; "wait" is a word of "mean_wait"; "powr" resembles "flow" only by chance.
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
    """Return the known name that is nearest by its letters; None if none is near."""
    return next(iter(near_names(name, known)), None)


class Named(dict[str, Value]):
    """A dictionary of values by name; a missing name raises an UnknownNameError that offers the nearest known one.

    `kind` is the noun for the names in that error, such as "metric".
    """

    def __init__(self, kind: str, values: Mapping[str, Value]) -> None:
        super().__init__(values)
        self.kind = kind

    def __missing__(self, name: object) -> Value:
        raise unknown_name(self.kind, name, self)

    def __reduce__(self) -> tuple[type[Named[Value]], tuple[str, dict[str, Value]]]:
        return type(self), (self.kind, dict(self))


SHORT_LIST = 20  # most names that an error message lists in full
LONG_NAME = 80


def unknown_name(
    kind: str,
    name: object,
    known: Iterable[str],
    *,
    meant: str | None = None,
    usual: Sequence[str] = (),
    listed: str = "",
    otherwise: str = "",
) -> UnknownNameError:
    """Return the error for an unknown name, not raised; it offers the nearest known name and lists all or some.

    Parameters
    ----------
    kind, name, known
        What the name is of, the name, and the names that there are.
    meant
        The known name for which the given one is another word.
    usual
        The names that are shown if there are many and none is near.
    listed
        Where all names are listed, if there are many.
    otherwise
        A sentence at the end if no known name is near.
    """
    names = sorted(known)
    if isinstance(name, str) and len(name) > LONG_NAME:  # from a damaged file, not a typing error
        name = shortened(name, LONG_NAME)
    near = near_names(name, names)
    if meant is not None:
        near = [meant, *(one for one in near if one != meant)]
    hint = f" Did you mean {near[0]!r}?" if near else ""
    last = f" {otherwise}" if otherwise and not near else ""
    if len(names) <= SHORT_LIST:
        return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {shortened(', '.join(names), 1000)}.{last}")
    shown = near or list(usual or names[:6])
    rest = len(names) - len(shown)
    where = f" ({listed})" if listed else ""
    return UnknownNameError(
        f"Unknown {kind} {name!r}.{hint} Known: {shortened(', '.join(shown), 1000)} and {rest} more{where}.{last}"
    )
