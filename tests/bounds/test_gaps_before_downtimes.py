"""Bounds among downtimes: no job is released before it finds room, and no schedule is below the bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched import bounds

FOUR = fs.Federation.homogeneous(4)


def least(tasks: list[int], runtime: list[float], *downtimes: fs.Downtime, **columns: Any) -> bounds.LowerBounds:
    """Return the bounds of jobs on four nodes among downtimes."""
    submit = columns.pop("submit", [0.0] * len(tasks))
    jobs = fs.Workload(submit=submit, tasks=tasks, runtime=runtime, **columns)
    return bounds.lower_bounds(jobs, replace(FOUR, calendar=downtimes), t0=0.0)


def downtime(begin: float, end: float, **words: Any) -> fs.Downtime:
    """Return a downtime of the one cluster."""
    return fs.Downtime("cluster", begin, end, **words)


def test_a_job_that_fits_into_no_gap_before_ends_after_it() -> None:
    """One job, worked out by hand: into the first gap that is long enough, where it must be known to be."""
    gaps = downtime(5.0, 10.0), downtime(12.0, 20.0)
    assert least([4], [6.0], *gaps).makespan == pytest.approx(26.0)
    assert least([4], [2.0], *gaps).makespan == pytest.approx(2.0)
    assert least([4], [2.0], *gaps, submit=[4.0]).makespan == pytest.approx(12.0)
    assert least([1], [6.0], downtime(5.0, 10.0, nodes="3 of all")).makespan == pytest.approx(6.0)
    assert least([2], [6.0], downtime(5.0, 10.0, nodes="3 of all")).makespan == pytest.approx(16.0)
    assert least([2], [6.0], downtime(5.0, 10.0, nodes="3 of all", kind="outage")).makespan == pytest.approx(6.0)
    assert least([2], [6.0], downtime(0.0, 10.0, nodes="3 of all", kind="outage")).makespan == pytest.approx(16.0)
    assert least([2], [6.0], downtime(0.0, np.inf, nodes="3 of all", kind="drain")).makespan == pytest.approx(6.0)


def test_estimates_may_let_a_job_run_into_a_downtime() -> None:
    """Who is estimated shorter than it runs may start before a downtime; the bound takes the shorter of both."""
    assert least([4], [6.0], downtime(5.0, 10.0), estimate=[5.0]).makespan == pytest.approx(6.0)
    assert least([4], [6.0], downtime(5.0, 10.0), estimate=[9.0]).makespan == pytest.approx(16.0)


def test_followers_wait_for_the_gap_too() -> None:
    """A chain: the second starts when the first is done, and then finds a gap of its own."""
    chain = least([4, 4], [4.0, 4.0], downtime(5.0, 10.0), downtime(13.0, 30.0), after={2: "afterany:1"})
    assert chain.makespan == pytest.approx(34.0)
    assert chain.of("flow") == pytest.approx(4.0 + 34.0)


def test_what_is_closed_is_no_room_for_work() -> None:
    """Eight jobs of five seconds on four nodes take 40 node-seconds beside what is closed until they end.

    Of nodes that never come back nothing is said: some jobs may never start.
    """
    eight = [1] * 8, [5.0] * 8
    assert least(*eight).makespan == pytest.approx(10.0)
    assert least(*eight, downtime(5.0, 10.0)).makespan == pytest.approx(15.0)
    assert least(*eight, downtime(0.0, 100.0, nodes="2 of all")).makespan == pytest.approx(20.0)
    assert least(*eight, downtime(0.0, np.inf, nodes="3 of all", kind="drain")).makespan == pytest.approx(10.0)
    both = downtime(0.0, 8.0, nodes="2 of all"), downtime(4.0, 12.0, nodes="1 of all")
    assert least(*eight, *both).makespan == pytest.approx((40 + 2 * 8 + 8) / 4)
    assert least(*eight, downtime(12.0, 30.0)).makespan == pytest.approx(10.0)
    later = least([4, 4], [5.0, 5.0], downtime(3.0, 9.0, nodes="1 of all"), submit=[0.0, 2.0])
    assert later.makespan == pytest.approx(19.0)  # none of them fits beside it
    energy = replace(FOUR, calendar=(downtime(5.0, 10.0),))
    jobs = fs.Workload(submit=[0.0] * 8, tasks=eight[0], runtime=eight[1])
    found = bounds.lower_bounds(jobs, energy, t0=0.0)
    extra = FOUR.groups[0].busy_watts - FOUR.groups[0].idle_watts
    assert found.energy == pytest.approx(15.0 * 4 * FOUR.groups[0].idle_watts + 40 * extra)


def test_what_may_be_in_use_while_it_is_closed_is_not_counted() -> None:
    """Where nobody knows of a downtime, or runs are longer than plans take them, jobs may run into it."""
    eight = [1] * 8, [5.0] * 8
    assert least(*eight, downtime(5.0, 10.0, kind="outage")).makespan == pytest.approx(10.0)
    assert least(*eight, downtime(5.0, 10.0), estimate=[4.0] * 8).makespan == pytest.approx(10.0)
    two = fs.Federation.of(2, 2, uplink=1e3)
    jobs = fs.Workload(
        submit=[0.0] * 8, tasks=[1] * 7 + [4], runtime=[5.0] * 8, task_bandwidth=[1e6] * 8, compute_fraction=[0.5] * 8
    )
    closed = tuple(fs.Downtime(cluster.name, 5.0, 30.0) for cluster in two.clusters)
    free = bounds.lower_bounds(jobs, two, t0=0.0).makespan
    assert bounds.lower_bounds(jobs, replace(two, calendar=closed), t0=0.0).makespan <= max(free, 35.0)


def test_no_schedule_is_below_its_bounds() -> None:
    """Random systems under all rules: every metric of the reference's schedule is at least its bound."""
    seen = 0
    for seed in range(50_000, 50_000 + tries(300, 30)):
        scenario = strategies.random_scenario(seed, max_jobs=8).for_bounds()
        if not scenario.machine.closures:
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        result = scenario.simulate()
        found = bounds.lower_bounds(workload, federation, caps=caps, kill_at_estimate=chosen.kill_at_estimate)
        measured = fs.Schedule(
            workload=workload, federation=federation, start=result.start, finish=result.finish, counts=result.counts,
            t0=result.t0,
        ).metrics()  # fmt: skip
        for name in ("makespan", "flow", "mean_wait", "max_wait", "energy", "mean_response"):
            value = measured.as_dict()[name]
            assert found.of(name) <= value * (1 + 1e-9) + 1e-6, f"seed {seed}: {name}"
        seen += 1
    assert seen > 3
