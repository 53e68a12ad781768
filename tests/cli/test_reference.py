"""The reference in docs/reference/cli.md is what the commands say."""

from __future__ import annotations

import runpy
from pathlib import Path

from fedsched.cli.app import COMMANDS, arguments_of, build_app

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "reference" / "cli.md").read_text(encoding="utf-8")


def test_the_reference_is_up_to_date() -> None:
    """Tests that writing the reference anew changes nothing; else: python docs/make_cli.py."""
    assert runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"](PAGE) == PAGE


def test_every_command_and_option_is_there() -> None:
    """Tests that each command has a section with a row for each of its options, and an example."""
    app = build_app()
    for name in COMMANDS:
        section = PAGE.partition(f"\n## fedsched {name}\n")[2].partition("\n## ")[0]
        assert f"fedsched {name}" in section
        for argument in arguments_of(app, name):
            assert f"| `{argument.name}" in section, (name, argument.name)


def test_the_exit_statuses_are_those_of_the_code() -> None:
    """Tests that the table of exit statuses has the four that commands end with."""
    from fedsched.cli.shared.input_output import CHECK_FAILED, FAILED, INTERRUPTED

    for status in (0, CHECK_FAILED, FAILED, INTERRUPTED):
        assert f"\n| {status} | " in PAGE
