"""What the tests of the command line share."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def nothing_to_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no command announce that it compiles, whichever test comes first; the test of that word says otherwise."""
    monkeypatch.setattr("fedsched.compiled.compiled_before", lambda: True)
