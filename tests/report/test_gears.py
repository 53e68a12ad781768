"""What a page says of jobs that run in a gear: watts under the pointer are the metrics' own."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.report.plan_data import plan_of, sums_of

if TYPE_CHECKING:
    from collections.abc import Callable

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
def test_the_strip_of_power_knows_gears(power_said: Callable[..., str]) -> None:
    """Tests that watts under the pointer are the gear's, and the mean is that of the metrics."""
    assert re.fullmatch(r"at .+: 110\u00a0W", power_said(in_gears(), x=700))
