"""A market cycle as a picture: every slot a bar where it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fedsched import market
from fedsched.core.errors import OutputError
from fedsched.plot import cycle

if TYPE_CHECKING:
    from pathlib import Path


def small_plan() -> market.Assignment:
    """Return three jobs on a small domain."""
    domain = market.Domain(nodes=6, interval=200.0)
    batch = market.Jobs(jobs=3, nodes=(2, 2), length=(40.0, 80.0)).batch(1, domain=domain)
    return market.schedule(batch, domain.environment(1), method="backfilling")


def test_every_slot_and_every_local_task_is_a_bar() -> None:
    """Grey bars are the owners' tasks, coloured ones the windows' slots, outlines what else is given."""
    plan = small_plan()
    windows = [window for window in plan.windows if window is not None]
    other = market.Window(0, 150.0, (0, 1), (10.0, 20.0), 1.0, 1.0)
    ax = cycle.draw(plan, outlines=[other])
    local, bars, outlines = ax.collections
    assert len(local.get_paths()) == len(plan.environment.busy)
    spans = [slot for window in windows for slot in window.slots]
    assert len(bars.get_paths()) == len(spans) == 6
    for path, (node, start, end) in zip(bars.get_paths(), spans, strict=True):
        box = path.get_extents()
        assert (box.x0, box.x1) == pytest.approx((start, end))
        assert (box.y0, box.y1) == pytest.approx((node - 0.4, node + 0.4))
    assert len(outlines.get_paths()) == 2
    assert ax.get_xlim() == (0.0, 200.0)
    assert sorted(text.get_text() for text in ax.texts) == ["1", "2", "3"]
    assert "backfilling: 3 of 3 jobs" in ax.get_title(loc="left")


def test_the_same_cycle_gives_the_same_file(tmp_path: Path) -> None:
    """Two charts of one cycle are equal byte for byte; an unknown suffix is refused."""
    for name in ("a.svg", "b.svg"):
        cycle.save(small_plan(), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    with pytest.raises(OutputError, match=r"\.svg, \.png or \.pdf"):
        cycle.save(small_plan(), tmp_path / "a.gif")
