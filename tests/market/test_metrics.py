"""What users, owners and the virtual organisation have of a cycle."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched import market


def small_plan() -> market.Assignment:
    """Return two jobs on two nodes, and one that has no room."""
    environment = market.Environment(
        slots=market.Slots([0, 1], [0.0, 0.0], [20.0, 8.0]),
        performance=[1.0, 2.0],
        price=[3.0, 4.0],
        watts=[10.0, 30.0],
        interval=(0.0, 20.0),
    )
    batch = [
        market.Request(nodes=2, length=10, budget=60),
        market.Request(nodes=1, length=6, budget=20, name="second"),
        market.Request(nodes=2, length=8),
    ]
    return market.schedule(batch, environment, method="backfilling")


def test_users_see_their_windows() -> None:
    """Start, cost, saving and energy are those of the window; NaN where there is none."""
    users = small_plan().users()
    np.testing.assert_array_equal(users.start, [0.0, 5.0, np.nan])
    np.testing.assert_array_equal(users.runtime, [10.0, 3.0, np.nan])
    np.testing.assert_array_equal(users.finish, [10.0, 8.0, np.nan])
    np.testing.assert_array_equal(users.cost, [50.0, 12.0, np.nan])
    np.testing.assert_array_equal(users.saving, [10.0, 8.0, np.nan])
    np.testing.assert_array_equal(users.cpu, [15.0, 3.0, np.nan])
    np.testing.assert_array_equal(users.energy, [250.0, 90.0, np.nan])
    assert users.alternatives.tolist() == [1, 1, 0]


def test_owners_see_what_they_sold() -> None:
    """Sold time, its share of the interval, local load and profit of each node; profits are what users pay."""
    plan = small_plan()
    owners = plan.owners()
    assert owners.sold.tolist() == [10.0, 8.0]
    assert owners.utilisation.tolist() == [0.5, 0.4]
    assert owners.local.tolist() == pytest.approx([0.0, 0.6])
    assert owners.profit.tolist() == [30.0, 32.0]
    assert owners.profit.sum() == plan.totals().cost


def test_the_vo_sees_sums_and_means() -> None:
    """Sums and means are over the jobs that have a window; shares are of all nodes over the interval."""
    plan = small_plan()
    total = plan.totals()
    assert (total.jobs, total.scheduled, plan.failed) == (3, 2, True)
    assert (total.cost, total.cpu, total.energy) == (62.0, 18.0, 340.0)
    assert (total.start, total.runtime, total.finish, total.makespan) == (2.5, 6.5, 9.0, 10.0)
    assert (total.job_cost, total.job_cpu) == (31.0, 9.0)
    assert total.alternatives == pytest.approx(2 / 3)
    assert total.utilisation == pytest.approx(18 / 40)
    assert total.idle == pytest.approx(1 - 12 / 40 - 18 / 40)
    assert total.as_dict()["cost"] == 62.0
    assert "job 2: other jobs have taken" in str(plan)


def test_a_cycle_without_any_window_has_no_means() -> None:
    """Where no job has a window, sums are 0 and means unknown."""
    plan = market.schedule([market.Request(nodes=1, length=99)], small_plan().environment)
    total = plan.totals()
    assert (total.scheduled, total.cost) == (0, 0.0)
    assert np.isnan(total.start)
    assert np.isnan(total.makespan)
    assert plan.windows == [None]
