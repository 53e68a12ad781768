"""Build the parser of the command line: commands with their modules, options of several names, examples in the help."""

from __future__ import annotations

import inspect
import re
import textwrap
from importlib import import_module
from typing import TYPE_CHECKING

from cyclopts import App, Parameter

from fedsched import __version__
from fedsched.cli.commands import ALL_HELP, COMMANDS, HELP, SUMMARY, module_of
from fedsched.cli.shared import config as settings
from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import NotTakenError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from cyclopts.argument import Argument

def build_app(named: str | None = None) -> App:
    """Return the parser; only the module of the command `named` is imported now, other modules when they are run."""
    app = App(
        name="fedsched",
        help=SUMMARY,
        help_flags=(*HELP, ALL_HELP),
        help_format="plaintext",
        version=__version__,
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # `run` reports what Ctrl-C left behind
        config=(settings.check_whole_numbers,),
        default_parameter=Parameter(negative_iterable=(), show_default=shown_default),
    )
    for name, summary in COMMANDS.items():
        if name == named:
            function = import_module(module_of(name)).command
            app.command(function, name=name, help_epilogue=epilogue_of(function), group_parameters=options.OWN)
        else:
            app.command(f"{module_of(name)}:command", name=name, help=summary)

    app.meta.suppress_keyboard_interrupt = False

    @app.meta.default
    def fedsched(*tokens: options.Rest, config: options.Config = None, debug: options.Debug = False) -> object:
        # Installed completion scripts know the program by this function's name. `run` handles --debug.
        tokens = one_by_one(tokens)
        path = config or settings.found_here()
        if path is not None:
            return _with_settings(app, tokens, settings.read(path, app, named=config is not None))
        return app(tokens, exit_on_error=False, print_error=False)

    return app


def _with_settings(app: App, tokens: tuple[str, ...], found: settings.Settings) -> object:
    """Run the command with the settings file's options and return its result.

    If some of them do not fit the call, run it again without them.
    """
    app.config = (found, settings.check_whole_numbers)
    try:
        return app(tokens, exit_on_error=False, print_error=False)
    except NotTakenError as error:  # raised before any work, like all errors of options
        fewer = found.without(error.options)
        if fewer == found:
            raise
    return _with_settings(app, tokens, fewer)


def arguments_of(app: App, command: str) -> list[Argument]:
    """Return a command's arguments and options that its help shows, with groups of options expanded."""
    every = app[command].assemble_argument_collection(parse_docstring=True)
    return [one for one in every if one.name != "*" and one.parameter.show is not False]


def group_of(argument: Argument) -> tuple[int, str]:
    """Return the sort key and the title of the group that an argument or option belongs to; -1 without a sort key."""
    group = argument.parameter.group[0]  # type: ignore[index]
    return (group.sort_key, group.name) if isinstance(group.sort_key, int) else (-1, group.name)


def examples_of(function: Callable[..., object]) -> list[str]:
    """Return the example command lines of a command's docstring, each joined into one line."""
    text = inspect.getdoc(function) or ""
    found = re.findall(r"^(?:Example: )?(fedsched .*(?:\n.+)*)", text, flags=re.MULTILINE)
    lines = [line for block in found for line in re.split(r"\n(?=fedsched )", block)]
    return [" ".join(line.split()) for line in lines]


def epilogue_of(function: Callable[..., object]) -> str:
    """Return the text below a command's help: its examples, wrapped so that they can be typed as they are."""
    lines = "\n".join(typed(example) for example in examples_of(function))
    return "For example:\n\n" + textwrap.indent(lines, "  ")


def typed(line: str) -> str:
    """Return a command line wrapped at 74 columns with backslashes; an option and its value stay on one line."""
    glued = re.sub(r" (--[\w-]+) (?!-)", r" \1\0", line)
    wrap = textwrap.TextWrapper(74, break_on_hyphens=False, break_long_words=False, subsequent_indent="    ")
    return " \\\n".join(wrap.wrap(glued)).replace("\0", " ")


def shown_default(value: object) -> str | None:
    """Return an option's default as the help shows it; None if the help shows none."""
    if value is None or value is False or value == ():
        return None
    return " ".join(str(item) for item in value) if isinstance(value, tuple) else str(value)


def default_of(argument: Argument) -> str:
    """Return an option's default as its help shows it; "" if it shows none."""
    info, show = argument.field_info, argument.parameter.show_default
    if info.default is info.empty or show is False:
        return ""
    return (show if callable(show) else shown_default)(info.default) or ""


def _metrics() -> Collection[str]:
    from fedsched.model.schedule.metrics import NAMES

    return NAMES


def _policies() -> Collection[str]:
    from fedsched.policies import POLICIES

    return POLICIES


def _methods() -> Collection[str]:
    from fedsched.comparison.method_names import every_name

    return every_name()


# For each command, the options that take several names, and the names they know.
LISTED: dict[str, dict[str, Callable[[], Collection[str]]]] = {
    "compare": {"--method": _methods, "--baseline": _policies, "--objective": _metrics},
    "optimize": {"--objective": _metrics},
    "report": {"--policy": _policies},
    "tune": {"--objective": _metrics},
}


def one_by_one(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the command line with each option of `LISTED` repeated before each of its names.

    `--method ga sa` and `--method ga,sa` become `--method ga --method sa`. The words after the first name belong to the
    option as long as they are known names; other words are arguments.
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
