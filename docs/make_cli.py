"""Write the part of docs/reference/cli.md that the commands themselves say: python docs/make_cli.py."""

from __future__ import annotations

import typing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.app import COMMANDS, arguments_of, build_app, examples_of, module_of, shown_default, typed

if TYPE_CHECKING:
    from cyclopts import App
    from cyclopts.argument import Argument

PAGE = Path(__file__).resolve().parent / "reference" / "cli.md"
MARK = "<!-- From here on written by docs/make_cli.py: change the commands instead. -->\n"
WORDS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH", bool: ""}


def page(text: str) -> str:
    """Return the page with its reference written anew."""
    app = build_app()
    return text.partition(MARK)[0] + MARK + "".join(section(app, name) for name in sorted(COMMANDS))


def section(app: App, name: str) -> str:
    """Return what there is to say about a command: what it does, examples, arguments and options."""
    function = import_module(module_of(name)).command
    paragraphs = (function.__doc__ or "").partition("Parameters\n")[0].partition("Examples\n")[0].strip().split("\n\n")
    told = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    examples = "\n".join(typed(example) for example in examples_of(function))
    lines = ["| | | default |", "|---|---|---|"]
    for argument in arguments_of(app, name):
        info = argument.field_info
        default = "required" if argument.required else "" if info.default is info.empty else shown_default(info.default)
        told_of = " ".join((argument.parameter.help or "").split()).replace("|", "\\|")
        lines.append(f"| {cell(argument)} | {told_of} | {default or ''} |")
    return f"\n## fedsched {name}\n\n{told}\n\n```text\n{examples}\n```\n\n" + "\n".join(lines) + "\n"


def cell(argument: Argument) -> str:
    """Return the name of an argument or option, and what it takes."""
    if not argument.name.startswith("-"):
        return f"`{argument.name}`"
    choices = argument.get_choices()
    return (
        f"`{argument.name} {'|'.join(choices) if choices else kind_of(argument.hint)}".rstrip().replace("|", "\\|")
        + "`"
    )


def kind_of(hint: object) -> str:
    """Return what an option of this type takes."""
    parts = [part for part in typing.get_args(hint) if part is not type(None)]
    if typing.get_origin(hint) is tuple:
        return f"{kind_of(parts[0])} …" if parts[1:] == [...] else " ".join(kind_of(part) for part in parts)
    return kind_of(parts[0]) if parts else WORDS[hint]  # type: ignore[index]


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
