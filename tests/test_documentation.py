"""The documentation's code runs as printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.compiled
def test_the_searches_page_runs(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests every Python block of docs/searches.md, one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "searches.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 3
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/searches.md", "exec"), names)
