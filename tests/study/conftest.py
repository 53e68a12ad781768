"""What the tests of studies share: a command line in this process."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from fedsched import cli

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command line in this process: exit status, output, errors."""
    monkeypatch.setattr("fedsched.cli.shared.compile_progress.report_compiling", nullcontext)

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run
