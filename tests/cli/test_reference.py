"""The reference in docs/reference/cli/ is what the commands say."""

from __future__ import annotations

import runpy
from pathlib import Path

from fedsched.cli.app import arguments_of, build_app
from fedsched.cli.commands import COMMANDS, GROUPS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "reference" / "cli"
PAGES = {path: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.md"))}


def test_the_reference_is_up_to_date() -> None:
    """Tests that writing the reference anew changes nothing; else: python docs/make_cli.py."""
    assert runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["pages"]() == PAGES


def test_every_command_and_option_is_there() -> None:
    """Tests that a group has a page, and a command a section on it with a row for each option, and an example."""
    app = build_app()
    assert len(PAGES) == 1 + len(GROUPS)
    for group, commands in GROUPS.items():
        (page,) = (text for text in PAGES.values() if text.startswith(f"# {group}: "))
        for name in commands:
            section = page.partition(f"\n## fedsched {name}\n")[2].partition("\n## ")[0]
            assert f"fedsched {name}" in section
            for argument in arguments_of(app, name):
                assert f"| `{argument.name}" in section, (name, argument.name)
    assert all(f"| [{name}](" in PAGES[FOLDER / "index.md"] for name in COMMANDS)


def test_the_exit_statuses_are_those_of_the_code() -> None:
    """Tests that the table of exit statuses has the four that commands end with."""
    from fedsched.cli.shared.input_output import CHECK_FAILED, FAILED, INTERRUPTED

    for status in (0, CHECK_FAILED, FAILED, INTERRUPTED):
        assert f"\n| {status} | " in PAGES[FOLDER / "index.md"]
