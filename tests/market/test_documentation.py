"""The page of the market shows a market that can be read (its Python is run with that of all pages)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fedsched import market

if TYPE_CHECKING:
    from pathlib import Path


def test_the_page_s_market_is_one(root: Path, tmp_path: Path) -> None:
    """Tests that the TOML block of docs/explanation/market.md can be read, and its job be scheduled."""
    (block,) = re.findall(r"```toml\n(.*?)```", (root / "docs/explanation/market.md").read_text(), flags=re.DOTALL)
    path = tmp_path / "market.toml"
    path.write_text(block)
    assert not market.schedule(*market.read_market(path), method="backfilling").failed
