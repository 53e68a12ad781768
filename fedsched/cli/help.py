"""The short help of a command: what people need first, at most 40 lines; `--help-all` shows every option."""

from __future__ import annotations

import re
import textwrap
import typing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.app import arguments_of, build_app, default_of, examples_of, typed
from fedsched.cli.commands import ALL_HELP, module_of

if TYPE_CHECKING:
    from cyclopts.argument import Argument

WIDTH, LINES = 80, 40  # of a short help
LONGEST = 22  # an option with its choices that is longer is shown without them
WORDS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH", bool: ""}
OF_EVERY_COMMAND = 2  # --config and --debug


def short_help(command: str) -> str:
    """Return a command's short help: usage, summary, arguments, the options in its module's FIRST, and examples."""
    module = import_module(module_of(command))
    every = arguments_of(build_app(command), command)
    places = [one for one in every if not one.name.startswith("-")]
    by_name = {one.name: one for one in every if one.name.startswith("-")}
    first = [by_name[name] for name in module.FIRST]
    rest = len(by_name) - len(first) + OF_EVERY_COMMAND
    # A required option is in the usage line, as people need it to start.
    usage = [*map(_usage, places), *(shown(one) for one in by_name.values() if one.required), "[OPTIONS]"]
    lines = [f"Usage: fedsched {command} {' '.join(usage)}", "", *textwrap.wrap(about(module.command)[0], WIDTH)]
    width = max(len(_short(one)) for one in (*places, *first)) + 4
    for title, found in (("Arguments", places), ("Options [default]", first)):
        if found:
            lines += ["", f"{title}:"]
            lines += [_with_default(f"  {_short(one):<{width - 2}}{clause(one)}", one) for one in found]
    lines += [f"  {rest} more options: fedsched {command} {ALL_HELP}", "", "For example:"]
    for example in examples_of(module.command):
        shell = [f"  {line}" for line in typed(example).splitlines()]
        if len(lines) + len(shell) <= LINES:
            lines += shell
    return "\n".join(lines)


def about(function: typing.Callable[..., object]) -> list[str]:
    """Return the paragraphs of a command's docstring before its parameters and examples, each as one line."""
    text = (function.__doc__ or "").partition("Parameters\n")[0].partition("Examples\n")[0].strip()
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


def clause(argument: Argument) -> str:
    """Return the first sentence of an option's help, without its full stop."""
    text = " ".join((argument.parameter.help or "").split())
    return re.split(r"(?<!e\.g)\.(?:\s|$)", text, maxsplit=1)[0]


def _with_default(line: str, argument: Argument) -> str:
    """Return an option's line, followed by its default if there is one and room for it."""
    default = default_of(argument)
    longer = f"{line} [{default}]"
    return longer if default and len(longer) <= WIDTH else line


def shown(argument: Argument) -> str:
    """Return the text that shows an argument or option: its name; for an option also its choices or its type's word."""
    if not argument.name.startswith("-"):
        return argument.name
    choices = argument.get_choices()
    return f"{argument.name} {'|'.join(choices) if choices else kind_of(argument.hint)}".rstrip()


def _short(argument: Argument) -> str:
    text = shown(argument)
    return text if len(text) <= LONGEST else f"{argument.name} CHOICE"


def kind_of(hint: object) -> str:
    """Return the word for an option's type in the help, e.g. INT; empty for a flag, with … for several values."""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is tuple:
        return f"{kind_of(parts[0])} …" if parts[1:] == [...] else " ".join(kind_of(part) for part in parts)
    return kind_of(parts[0]) if parts else WORDS[hint]  # type: ignore[index]


def _usage(place: Argument) -> str:
    name = f"{place.name} …" if typing.get_origin(place.hint) is tuple or place.is_var_positional() else place.name
    return name if place.required else f"[{name}]"
