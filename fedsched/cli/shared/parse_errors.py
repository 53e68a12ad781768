"""Messages for command lines that the parser rejects: the option, the value as given, the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from fedsched.core.errors import nearest, shortened, unknown_name
from fedsched.core.values import KINDS, kinds_in_words, members

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cyclopts import CycloptsError
    from cyclopts.argument import Argument, ArgumentCollection

EVERYWHERE = ("--config", "--debug")


def describe_parse_error(error: CycloptsError, *, table: str = "") -> str:
    """Return in one sentence what is wrong with a command line, or with a table of a settings file."""
    from cyclopts import (
        CoercionError,
        MissingArgumentError,
        RepeatArgumentError,
        UnknownCommandError,
        UnknownOptionError,
        UnusedCliTokensError,
    )

    match error:
        case UnknownCommandError() if error.unused_tokens:
            return _unknown_command(error.unused_tokens[0], error.app or ())
        case UnknownOptionError():
            return _unknown_option((error.token.keyword or error.token.value), error.argument_collection)
        case UnusedCliTokensError() if error.unused_tokens:
            return _too_many(error)
        case RepeatArgumentError() if error.token.keyword:
            return f"{error.token.keyword} is given more than once; give it once."
        case MissingArgumentError() if error.argument is not None:
            return _missing(error)
        case CoercionError() if error.token is not None and error.msg is None and error.__cause__ is None:
            return _misfit(error, table)
    error.verbose = False
    return str(error)


def _unknown_command(name: str, known: Iterable[str]) -> str:
    if name.startswith("-"):
        return str(unknown_name("option", name, (*EVERYWHERE, "--help", "--version")))
    return str(unknown_name("command", name, [one for one in known if not one.startswith("-")]))


def _unknown_option(given: str, known: ArgumentCollection) -> str:
    given = given.partition("=")[0]
    shown = [argument for argument in known if argument.parse and argument.show]
    names = {name for argument in shown for name in argument.names if name.startswith("--")}
    names = {name for name in names if given.startswith("--no-") or not name.startswith("--no-")}
    return str(unknown_name("option", given, {*names, *EVERYWHERE}))


def _too_many(error: CycloptsError) -> str:
    """Return the message for surplus values; it says which arguments the command takes."""
    command = " ".join(error.command_chain or ("fedsched",))
    arguments = () if error.app is None else error.app.assemble_argument_collection()
    places = [_called(one) for one in arguments if not one.name.startswith(("-", "*"))]
    left = ", ".join(repr(shortened(token)) for token in error.unused_tokens or ())
    takes = f"only {', '.join(places)}" if places else "only options"
    return f"{command} takes {takes}; leave out {left}."


def _missing(error: Any) -> str:
    """Return the message for a missing argument or value; it names a misspelt option that may have been meant."""
    argument, command = error.argument, " ".join(error.command_chain or ("fedsched",))
    if error.keyword is None and not any(token.keyword for token in argument.tokens):
        written = [token for token in error.unused_tokens or () if token.startswith("--")]
        near = nearest(argument.name, written)
        return f"{command}: {_called(argument)} is missing{f'; it has no option {near}' if near else ''}."
    name = error.keyword or next(token.keyword for token in argument.tokens if token.keyword)
    count, _ = argument.token_count()
    got = len(error.tokens_so_far)
    if count > 1:
        return f"{name} takes {count} values, not {got % count}."
    return f"{name} has no value; give it {_told(argument.hint)}."


def _misfit(error: Any, table: str) -> str:
    """Return the message for a value that does not have its option's type; the value may come from a file."""
    token, argument = error.token, error.argument
    file = token.source if token.source not in ("", "cli") else None
    name = token.keyword or ("" if argument is None else _called(argument))
    value = shortened(repr(token.value))
    words = f"{name.strip('[]') if file else name}={value} must be {_told(error.target_type)}."
    if get_origin(error.target_type) is Literal and (near := nearest(token.value, get_args(error.target_type))):
        words += f" Did you mean {near!r}?"
    return words if file is None else f"{file}, [{table or ' '.join(error.command_chain or ())}]: {words}"


def _told(hint: Any) -> str:
    """Return in words which values an option takes, e.g. "a whole number"; for text or a path just the word "one"."""
    kinds = members(hint)
    inner = [get_args(kind)[0] if get_origin(kind) is tuple else kind for kind in kinds]
    if all((kind in KINDS and kind is not str) or get_origin(kind) is Literal for kind in inner):
        return " or ".join(kinds_in_words(kind) for kind in inner)
    return "one"


def _called(argument: Argument) -> str:
    return argument.name if argument.name.startswith("-") else argument.name.lstrip("-").upper()
