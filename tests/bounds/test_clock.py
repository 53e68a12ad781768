"""Bounds at epoch times, where the clock rounds what schedules measure: still below every one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.strategies import EPOCH
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, exact_front, lower_bounds
from fedsched.bounds.cost.buckets import Scarce, proven
from fedsched.bounds.cost.charges import CHARGES
from fedsched.bounds.cost.prices import find_prices
from fedsched.bounds.lower.time_grid import StartDelays, last_instant, start_delays_of
from fedsched.engine.pack.problem import pack
from fedsched.model.power.switching import Timeout
from fedsched.model.reading import CLAIRVOYANT


def late_scenario(seed: int) -> strategies.Scenario:
    """Return a random scenario at epoch times; every other one with times below the clock's resolution."""
    if seed % 2:
        return strategies.random_scenario(seed, epoch=True).for_bounds()
    scenario = strategies.random_scenario(seed, epoch=False).for_bounds()
    return replace(scenario, jobs=[replace(job, submit=EPOCH + job.submit) for job in scenario.jobs])


def test_no_measured_value_is_below_its_bound() -> None:
    """Every column of the metric row, the front of makespan and energy included, is at its bound or above."""
    for seed in range(80_000, 80_000 + tries(30, 4)):
        scenario = late_scenario(seed)
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        row = naive.metrics(scenario.simulate())
        for method in ("lp", "lagrangian", "closed"):
            bounds = lower_bounds(workload, federation, kill_at_estimate=killed, caps=caps, method=method)
            for name, value in row.items():
                assert not bounds.of(name) > value, (seed, name, method)
            assert max(bounds.longest_job, bounds.area) <= row["makespan"]
            bounds.front(3)
            assert bounds.energy_within(row["makespan"]) <= row["energy"], (seed, method)


def test_a_chain_of_runs_rounded_down_is_above_its_bounds() -> None:
    """Jobs in turn, each measured half a step of the clock shorter than it is, are no shorter than their bounds."""
    tick = float(np.spacing(EPOCH))
    jobs = 20_000
    workload = fs.Workload(submit=np.full(jobs, EPOCH), tasks=np.ones(jobs), runtime=np.full(jobs, 1000.49 * tick))
    federation = fs.Federation.homogeneous(1)
    measured = fs.simulate(workload, federation, "fcfs").metrics().as_dict()
    assert measured["makespan"] == pytest.approx(1000 * jobs * tick)
    for method in ("lagrangian", "closed"):
        bounds = lower_bounds(workload, federation, method=method)
        for name, value in measured.items():
            assert not bounds.of(name) > value, name


def test_the_allowance_is_no_more_than_the_clock_takes() -> None:
    """A bound moved to epoch times stays the same but for the clock's steps."""
    workload = fs.Workload(submit=np.zeros(6), tasks=[1, 2, 3, 1, 2, 3], runtime=[5, 7, 2, 9, 4, 6])
    federation = fs.Federation.of(2, 2)
    plain = lower_bounds(workload, federation)
    late = lower_bounds(replace(workload, submit=workload.submit + EPOCH), federation)
    assert late.energy < plain.energy
    assert late.energy == pytest.approx(plain.energy, rel=1e-6)
    closed, late_closed = (
        lower_bounds(replace(workload, submit=workload.submit + at), federation, method="closed") for at in (0, EPOCH)
    )
    assert late_closed.flow == pytest.approx(closed.flow, abs=2e-2)
    prover, late_prover = plain._prover, late._prover
    charge = CHARGES["flow"]
    good = find_prices(Scarce.of(prover.relaxation, prover.problem.wide), charge, np.inf)
    proofs = [proven(Scarce.of(one.relaxation, one.problem.wide), charge, good) for one in (prover, late_prover)]
    assert proofs[0] == plain.flow
    assert proofs[1] == pytest.approx(proofs[0], abs=2e-2)


@pytest.mark.needs("ortools")
@pytest.mark.slow  # CP-SAT's time, whatever is compiled
def test_exact_bounds_hold_at_epoch_times() -> None:
    """No simulated schedule of a tiny problem costs less than the solver's bound, nor does its own schedule."""
    for seed in range(80_100, 80_106):
        scenario = late_scenario(seed).for_the_exact_model()
        scenario = replace(scenario, jobs=scenario.jobs[:4])
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        jobs = range(len(workload))
        reached = fs.simulate(workload, federation, fs.Rules(dispatch="greedy", order=list(jobs)), caps=caps)
        for objective in ("makespan", "energy"):
            answer = exact(workload, federation, objective=objective, seconds=2, caps=caps)
            assert answer.bound <= answer.value <= getattr(reached, objective) * (1 + 1e-9)
            answer.schedule.verify(caps=caps)
        exact_front(workload, federation, points=2, seconds=2, caps=caps)

LATE = 1.7e9
LONE = fs.Federation.homogeneous(1)
SHUT = fs.Federation((fs.Cluster("a", (fs.NodeGroup(1),)),), calendar=(fs.Downtime("a", 0.0, LATE),))
CAPPED = replace(LONE, signals=(fs.Signal((0.0, LATE), (0.1, 1.0), "kW", beyond="last"),))
SLOW = fs.NodeGroup(1, boot_seconds=LATE, off_watts=1.0, boot_watts=1.0, shutdown_watts=1.0)
SLOW_BOOT = fs.Federation((fs.Cluster("a", (SLOW,)),), power=Timeout(0.0))


def test_a_run_may_be_three_steps_of_the_clock_shorter() -> None:
    """At 1.7e9 s doubles are 2^-22 s apart; a job of 0.75 * 2^30 s ends, were it slowed twice, where they are, too."""
    for submit, runtime in ([0.0, 1.7e9], [1.0, 1.0]), ([0.0], [0.75 * 2**30]), ([1.7e9], [1.0]):
        workload = fs.Workload(submit=submit, tasks=[1] * len(submit), runtime=runtime)
        assert lower_bounds(workload, LONE, method="closed")._prover.relaxation.tick == 3 * 2.0**-22


def test_how_far_the_clock_counts() -> None:
    """Behind the last of all times at which something opens come the runs, lags, and what each start may wait for."""
    workload = fs.Workload(
        submit=[0.0, 10.0], tasks=[1, 1], runtime=[5.0, 7.0], after=["", "after:1+2"], begin=[30.0, 0.0],
        held={2: [(1.0, 40.0)]},
    )  # fmt: skip
    closed = replace(LONE, calendar=(fs.Downtime("cluster", 60.0, 70.0),))
    runs = np.array([5.0, 7.0])

    def farthest(jobs: fs.Workload, machine: fs.Federation, **options: Any) -> float:
        return last_instant(pack(jobs, machine, reading=CLAIRVOYANT), runs, **options)

    assert farthest(replace(workload, after=None, begin=None, held=None), LONE) == 10.0 + 12.0
    assert farthest(workload, LONE) == 40.0 + 120.0 + 12.0
    assert farthest(workload, closed) == 70.0 + 120.0 + 12.0
    assert farthest(workload, closed, delays=StartDelays(100.0, 3.0)) == 100.0 + 120.0 + 2 * 3.0 + 12.0
    early = pack(workload, LONE, reading=CLAIRVOYANT, t0=-1000.0)
    assert last_instant(early, runs) == 1000.0 + 120.0 + 12.0


def test_what_nodes_plans_and_caps_put_off() -> None:
    """A boot behind a shutdown, four nodes by two a minute, the longest slack, and the steps or the turns of a cap."""
    group = fs.NodeGroup(
        4, boot_seconds=50.0, shutdown_seconds=7.0, off_watts=1.0, boot_watts=1.0, shutdown_watts=1.0
    )
    machine = fs.Federation((fs.Cluster("a", (group,)),), power=Timeout(0.0, resume_rate=2))
    workload = fs.Workload(submit=[0.0, 5.0], tasks=[1, 1], runtime=[1.0, 1.0], slack=[20.0, 10.0])
    assert start_delays_of(workload, machine, 0.0) == (20.0, 57.0 + 4 * 30.0)
    assert start_delays_of(workload, LONE, 8.0) == (28.0, 0.0)
    last = fs.Signal((0.0, 90.0), (0.1, 1.0), "kW", beyond="last")
    again = fs.Signal((0.0, 90.0), (0.1, 1.0), "kW", until=100.0, beyond="repeat")
    price = fs.Signal((0.0, 500.0), (1.0, 2.0), "EUR/MWh", beyond="last")
    assert start_delays_of(workload, replace(LONE, signals=(last, price)), 0.0) == (90.0, 0.0)
    assert start_delays_of(workload, replace(LONE, signals=(again,)), 0.0) == (20.0, 100.0)


@pytest.mark.parametrize("runtime", [3.3, 1e-9])
@pytest.mark.parametrize(
    ("jobs", "machine"),
    [
        ({"begin": [LATE]}, LONE),
        ({"held": {1: [(0.0, LATE)]}}, LONE),
        ({"submit": [0.0, 0.0], "after": ["", "after:1+28333334"]}, LONE),
        ({"submit": [0.0, 0.0], "begin": [LATE, 0.0], "after": ["", "after:1"]}, LONE),
        ({}, SHUT),
        ({}, CAPPED),
        ({"submit": [0.0, 100.0]}, SLOW_BOOT),
    ],
    ids=["begin", "hold", "lag", "behind one that begins late", "downtime", "power cap", "boot"],
)
def test_a_job_that_starts_long_after_its_submit_is_above_its_bounds(
    jobs: dict[str, Any], machine: fs.Federation, runtime: float
) -> None:
    """A job of 3.3 s that starts in 2023 is measured 5e-8 s shorter, wherever it was kept until then."""
    columns: dict[str, Any] = {"submit": [0.0], **jobs}
    number = len(columns["submit"])
    workload = fs.Workload(tasks=[1] * number, runtime=[runtime] * number, **columns)
    schedule = fs.simulate(workload, machine, "fcfs")
    assert schedule.finish.max() >= LATE
    schedule.verify()
    row = schedule.metrics().as_dict()
    for method in ("closed", "lp"):
        bounds = lower_bounds(workload, machine, method=method)
        assert [(name, bounds.of(name), value) for name, value in row.items() if bounds.of(name) > value] == []


def test_a_job_that_a_plan_puts_off_for_long_is_above_its_bounds() -> None:
    """A job of 3.3 s that its user lets a plan put off until 2023 is measured 5e-8 s shorter."""
    workload = fs.Workload(submit=[0.0], tasks=[1], runtime=[3.3], slack=[LATE])
    late = fs.Schedule(
        workload=workload, federation=LONE, start=[LATE], finish=[LATE + 3.3], counts=[[1]], t0=0.0, delays=[LATE]
    )
    late.verify()
    assert lower_bounds(workload, LONE).busy_energy <= late.metrics().busy_energy
