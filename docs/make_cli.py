"""Write the reference of the command line, a page for each group of commands: python docs/make_cli.py."""

from __future__ import annotations

from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.cli.app import arguments_of, build_app, default_of, examples_of, group_of, typed
from fedsched.cli.commands import COMMANDS, GROUPS, module_of
from fedsched.cli.help import about, shown

if TYPE_CHECKING:
    from cyclopts.argument import Argument

FOLDER = Path(__file__).resolve().parent / "reference" / "cli"
INDEX = FOLDER / "index.md"
MARK = "<!-- From here on written by docs/make_cli.py: change the commands instead. -->\n"
PAGES = dict(zip(GROUPS, ("look", "simulate", "plan", "compare", "slurm", "data", "papers", "help"), strict=True))


def pages() -> dict[Path, str]:
    """Return the text of every page, by its path: the index, whose first part is written by hand, and the groups."""
    index = INDEX.read_text(encoding="utf-8").partition(MARK)[0] + MARK + contents()
    return {INDEX: index} | {FOLDER / f"{PAGES[group]}.md": page(group) for group in GROUPS}


def contents() -> str:
    """Return the list of commands, in groups."""
    lines = ["\n## Commands\n"]
    for group, commands in GROUPS.items():
        lines += [f"**[{group}]({PAGES[group]}.md)**\n", "| command | what it does |", "|---|---|"]
        lines += [f"| [{name}]({PAGES[group]}.md#fedsched-{name}) | {COMMANDS[name]} |" for name in commands]
        lines += [""]
    toctree = "\n".join(PAGES.values())
    return "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{toctree}\n```\n"


def page(group: str) -> str:
    """Return the page of a group of commands."""
    named = ", ".join(f"`{name}`" for name in GROUPS[group])
    head = f"# {group}: commands\n\n{MARK}\nCommands: {named}. What holds for each: [the command line](index.md).\n"
    return head + "".join(section(name) for name in GROUPS[group])


def section(name: str) -> str:
    """Return what there is to say about a command: what it does, examples, arguments and options in their groups."""
    app, function = build_app(name), import_module(module_of(name)).command
    told = "\n\n".join(about(function))
    examples = "\n".join(typed(example) for example in examples_of(function))
    text = f"\n## fedsched {name}\n\n{told}\n\n```text\n{examples}\n```\n"
    every = sorted(arguments_of(app, name), key=lambda one: group_of(one)[0])
    for (_, title), found in groupby(every, key=group_of):
        text += f"\n**{title}**\n\n| | | default |\n|---|---|---|\n" + "".join(map(row, found))
    return text


def row(argument: Argument) -> str:
    """Return the row of an argument or option: what it takes, what it means, its default."""
    default = "required" if argument.required else default_of(argument)
    told = " ".join((argument.parameter.help or "").split())
    cells = (f"`{shown(argument)}`", told, default)
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
