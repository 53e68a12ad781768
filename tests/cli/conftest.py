"""What the tests of the command line share."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from fedsched import cli

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(autouse=True)
def nothing_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command announce that it compiles, whichever test comes first; the tests of that word are their own."""
    monkeypatch.setattr("fedsched.cli.shared.compile_progress.report_compiling", nullcontext)


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command line in this process: exit status, output, errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
