"""What a page says of power where idle nodes go off: what the metrics do."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.policies import Planned, Timeout
from fedsched.report.plan_data import plan_of, strips_of, sums_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.model.power.switching import PowerSaving
    from fedsched.model.schedule.schedule import Schedule

NODE = fs.NodeGroup(
    2, 1.0, 100.0, 50.0, off_watts=5.0, boot_seconds=30.0, boot_watts=120.0, shutdown_seconds=10.0, shutdown_watts=60.0
)


def idling(power: PowerSaving) -> Schedule:
    """Return a schedule whose nodes idle for long between two jobs; of the second one node was kept in use."""
    log = fs.Workload(submit=[0, 500, 90_000], tasks=[2, 1, 2], runtime=[50, 10, 10])
    return fs.simulate(log, fs.Federation((fs.Cluster("a", (NODE,)),), power=power))


@pytest.mark.parametrize("power", [Timeout(100.0), Planned()])
def test_sums_and_strips_are_those_of_the_metrics(power: PowerSaving) -> None:
    """Tests that joules and watts of a cluster are those of the metric row, which nodes that are off lower."""
    schedule = idling(power)
    row, sums = schedule.metrics(), sums_of(schedule)
    (cluster,) = sums["clusters"]  # type: ignore[misc]
    assert cluster["busyEnergy"] + cluster["idleEnergy"] == pytest.approx(row.energy)
    assert cluster["idleEnergy"] == pytest.approx(row.idle_energy)
    assert (sums["peak"], cluster["peak"]) == (row.peak_watts, row.peak_watts)
    watts = strips_of(schedule, 64)["power0"].astype(float)
    assert watts.mean() * schedule.makespan == pytest.approx(row.energy, rel=1e-5)
    assert watts[32] == 10.0
    assert {"offStart", "offFinish", "offWatts", "offCluster"} <= set(columns_of(schedule))


def test_pages_of_nodes_that_are_always_on_say_nothing_of_others() -> None:
    """Tests that no column is in a page for what its machine does not do."""
    schedule = idling(Planned())
    always = replace(schedule, federation=replace(schedule.federation, power=None))
    assert not any(name.startswith("off") for name in columns_of(always))


def columns_of(schedule: Schedule) -> list[str]:
    """Return the names of what a page has of each job, bar or stretch of time."""
    return [name for name, *_ in plan_of(schedule, 1e-3)["columns"]]  # type: ignore[attr-defined]


@pytest.mark.compiled
@pytest.mark.parametrize("power", [Timeout(100.0), Planned()])
def test_the_strip_of_power_shows_nodes_that_are_off(power_said: Callable[..., str], power: PowerSaving) -> None:
    """Tests that the watts under the pointer are those of nodes that are off, and the mean that of the metrics."""
    assert re.fullmatch(r"at .+: 10\u00a0W", power_said(idling(power), x=400))
