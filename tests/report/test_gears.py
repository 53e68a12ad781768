"""What a page says of jobs that run in a gear: watts under the pointer are the metrics' own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.report.drawing import plan_of
from fedsched.report.sums import sums_of

if TYPE_CHECKING:
    from pathlib import Path

NODE = fs.NodeGroup(2, 1.0, 100.0, 50.0, gears=((0.5, 60.0),))
SLOW = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[400.0, 800.0], gear=[0, 1])


def in_gears() -> fs.Schedule:
    """Return a schedule of a job at full speed beside one in a gear."""
    return fs.simulate(SLOW, fs.Federation((fs.Cluster("a", (NODE,)),)))


def test_sums_are_those_of_the_metrics() -> None:
    """Tests joules and watts of the cluster, and that a page says gears where there are some, and only there."""
    schedule = in_gears()
    (cluster,) = sums_of(schedule)["clusters"]  # type: ignore[misc]
    assert cluster["busyEnergy"] == pytest.approx(schedule.metrics().busy_energy) == 400 * 100.0 + 800 * 60.0
    names = [name for name, *_ in plan_of(schedule, 1e-3)["columns"]]  # type: ignore[attr-defined]
    assert "gear" in names
    plain = replace(schedule, workload=replace(schedule.workload, gear=None))
    assert "gear" not in [name for name, *_ in plan_of(plain, 1e-3)["columns"]]  # type: ignore[attr-defined]


@pytest.mark.compiled
def test_the_strip_of_power_knows_gears(open_page: Any, tmp_path: Path) -> None:
    """Tests that watts under the pointer are the gear's, and the mean is that of the metrics."""
    schedule = in_gears()
    schedule.report(tmp_path / "gears.html")
    page = open_page(tmp_path / "gears.html")
    mean = schedule.metrics().energy / schedule.makespan
    assert f"mean {mean:.4g}\u00a0W" in page.inner_text("#power-said")
    page.locator("#power").hover(position={"x": 700, "y": 20})
    page.wait_for_function("document.getElementById('power-said').textContent.startsWith('at')")
    assert re.fullmatch(r"at .+: 110\u00a0W", page.inner_text("#power-said"))
