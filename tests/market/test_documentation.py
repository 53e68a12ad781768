"""The page of the market says what is true: its code runs as printed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from fedsched import market

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.compiled
def test_the_page_s_code_runs(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests every Python block of docs/market.md, one after the other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (root / "docs" / "market.md").read_text(), flags=re.DOTALL)
    assert len(blocks) == 2
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "docs/market.md", "exec"), names)
    plan = names["plan"]
    assert isinstance(plan, market.Assignment)
    assert not plan.failed


def test_the_page_s_market_is_one(root: Path, tmp_path: Path) -> None:
    """Tests that the TOML block of docs/market.md can be read, and its job be scheduled."""
    (block,) = re.findall(r"```toml\n(.*?)```", (root / "docs" / "market.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "market.toml"
    path.write_text(block)
    assert not market.schedule(*market.read_market(path), method="backfilling").failed
