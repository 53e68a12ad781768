"""Lower bounds: never above a schedule, tight where the optimum is planted, and proven by any multipliers."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import brute, naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import LowerBounds, lower_bounds
from fedsched.bounds.cost.dual import Multipliers, dual_value
from fedsched.bounds.lower.relaxation import rounded_down
from fedsched.generate import lublin, planted
from fedsched.model.schedule.metrics import NAMES

if TYPE_CHECKING:
    from pathlib import Path

METHODS = ("lp", "lagrangian", "closed")


def hungry() -> fs.Federation:
    """Return a federation whose fast nodes need disproportionate power."""
    kinds = ((6, 1.0, 100.0), (4, 2.0, 420.0), (5, 0.5, 30.0))
    return fs.Federation(
        tuple(
            fs.Cluster(f"C{k}", (fs.NodeGroup(count, speed, busy, 0.1 * busy),))
            for k, (count, speed, busy) in enumerate(kinds)
        )
    )


def crowd(jobs: int, nodes: int, *, seed: int = 1, package: bool = True) -> fs.Workload:
    """Return a made workload; a package has all its jobs waiting at 0."""
    made = lublin(jobs, nodes, seed=seed)
    return replace(made, submit=np.zeros(jobs)) if package else made


def assert_below(bounds: LowerBounds, values: dict[str, float], what: object) -> None:
    """Fail where a bound lies above the metric that it bounds."""
    for name, value in values.items():
        bound = bounds.of(name)
        assert not bound > value, f"{what}: {name} is {value}, its bound {bound}"


@pytest.mark.slow  # the reference and the bounds, on neither of which the compiler has a say
def test_no_schedule_beats_a_bound() -> None:
    """Over random systems with contention, caps, allowed clusters and kills, every metric is at its bound or above."""
    for seed in range(tries(60, 5)):
        found: dict[str, LowerBounds] = {}
        bounded: list[naive.Job] = []
        for saturation in ("dynamic", "static"):
            scenario = strategies.random_scenario(seed, saturation=saturation).for_bounds()
            measured = naive.metrics(scenario.simulate())
            if scenario.jobs != bounded:  # the readings differ in the times of some jobs, or in none: bounds know none
                workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
                killed = scenario.settings.kill_at_estimate
                bounded = scenario.jobs
                for method in METHODS:
                    found[method] = lower_bounds(
                        workload, federation, kill_at_estimate=killed, caps=caps, method=method
                    )
                    rows = found[method].front(4)
                    assert (np.diff(rows[:, 1]) <= 1e-9 * rows[:-1, 1]).all()
            for method, bounds in found.items():
                assert_below(bounds, measured, (seed, method, saturation))
                assert measured["energy"] >= bounds.energy_within(measured["makespan"])


@pytest.mark.slow
def test_the_best_schedules_of_tiny_problems_are_above_the_bounds() -> None:
    """Every order and every choice of groups, by brute force: the best of each column is no less than its bound."""
    checked = 0
    for seed in range(tries(400, 30)):
        scenario = strategies.random_scenario(seed, max_jobs=3).for_bounds()
        if len(scenario.machine.groups) > 3 or len(scenario.jobs) > 3:
            continue
        jobs = [replace(job, caps=None) for job in scenario.jobs]
        workload, federation, _ = strategies.to_package(jobs, scenario.machine)
        bounds = lower_bounds(workload, federation)
        every = [naive.metrics(result) for result in brute_schedules(jobs, scenario.machine)]
        assert_below(bounds, {name: min(row[name] for row in every) for name in every[0]}, seed)
        for row in every[:: max(1, len(every) // 5)]:
            assert row["energy"] >= bounds._prover.energy_within(row["makespan"], solve=False) * (1 - 1e-12)
        checked += 1
    assert checked > tries(400, 30) // 4


def brute_schedules(jobs: list[naive.Job], machine: naive.Machine) -> itertools.chain[naive.Result]:
    """Return the schedules of all orders, and up to 600 of those of all orders and group choices."""
    some = itertools.islice(brute.schedules(jobs, machine), 600)
    return itertools.chain(some, brute.schedules(jobs, machine, caps=False))


@pytest.mark.parametrize("federation", [fs.Federation.homogeneous(24), fs.Federation.of(8, 5, 3), hungry()])
def test_a_planted_optimum_is_met(federation: fs.Federation) -> None:
    """Where the optimum is known because the machine is full, the LP's bound is that optimum but for rounding."""
    for seed in range(4):
        workload, optimum = planted(federation, jobs=12 + 10 * seed, seed=seed)
        for method in METHODS:
            bound = lower_bounds(workload, federation, method=method).makespan
            assert optimum * (1 - 1e-9) <= bound <= optimum


def test_origin_before_and_after_the_submits() -> None:
    """An origin before the submits adds to the makespan what nobody could use; one after them makes all jobs wait."""
    workload, federation = fs.Workload(submit=[10, 30], tasks=[2, 2], runtime=[5, 5]), fs.Federation.homogeneous(3)
    assert lower_bounds(workload, federation).makespan == pytest.approx(25)
    assert lower_bounds(workload, federation, t0=0).makespan == pytest.approx(35)
    late = lower_bounds(workload, federation, t0=40)
    assert late.makespan == pytest.approx(10)
    assert late.flow == pytest.approx((30 + 5) + (10 + 5), rel=0.1)
    assert late.flow >= (30 + 5) + (10 + 5) - 1e-9
    assert late.of("max_wait") == pytest.approx(30)


def test_knowledge_and_kills_choose_the_run_times() -> None:
    """Bounds follow the true run times, the estimates, or what is left when jobs are killed."""
    workload = fs.Workload(submit=[0], tasks=[1], runtime=[8.0], estimate=[5.0])
    federation = fs.Federation.homogeneous(1)
    assert lower_bounds(workload, federation).makespan == pytest.approx(8)
    assert lower_bounds(workload, federation, kill_at_estimate=True).makespan == pytest.approx(5)
    assert lower_bounds(workload, federation, knowledge="estimate").makespan == pytest.approx(5)


def test_wide_jobs_are_seen() -> None:
    """Three jobs of which no two fit together need three times as long, which plain areas do not show."""
    workload = fs.Workload(submit=[0, 0, 0], tasks=[6, 6, 6], runtime=[10, 10, 10])
    bounds = lower_bounds(workload, fs.Federation.homogeneous(10), method="closed")
    assert bounds.makespan == pytest.approx(30)


def test_caps_and_allowed_clusters_tighten() -> None:
    """A job kept to the slow cluster takes that cluster's time, and two that share it need its area."""
    federation = fs.Federation(
        (fs.Cluster("fast", (fs.NodeGroup(4, 2.0),)), fs.Cluster("slow", (fs.NodeGroup(4, 1.0),)))
    )
    workload = fs.Workload(submit=[0, 0], tasks=[3, 3], runtime=[10, 10])
    free = lower_bounds(workload, federation, method="lp").makespan
    capped = lower_bounds(workload, federation, caps=np.array([[0, 4], [0, 4]]), method="lp").makespan
    allowed = workload.with_sites(("fast", "slow"), origin=[0, 0], allowed=[[False, True]] * 2)
    assert free == pytest.approx(7.5, rel=0.4)
    assert capped == pytest.approx(15) == lower_bounds(allowed, federation, method="lp").makespan


def test_any_multipliers_prove_a_bound() -> None:
    """Multipliers moved at random, below 0 or far too large, prove less, never too much."""
    workload, federation = crowd(40, 15, package=False), hungry()
    bounds = lower_bounds(workload, federation)
    reached = [fs.simulate(workload, federation, policy, knowledge="runtime") for policy in ("fcfs", "easy", "sjf")]
    best = min(schedule.makespan for schedule in reached)
    thrifty = min(schedule.energy for schedule in reached)
    prover, rng = bounds._prover, np.random.default_rng(3)
    good = prover.makespan().multipliers
    energy = replace(prover.problem, time_price=prover.relaxation.idle_total, price=prover.relaxation.extra_watts)
    for _ in range(200):
        parts = [part * rng.lognormal(0, 0.3, part.shape) for part in (good.area, good.wide, good.job)]
        parts = [np.where(rng.random(part.shape) < 0.2, rng.normal(0, 1, part.shape), part) for part in parts]
        moved = Multipliers(*parts)
        assert rounded_down(dual_value(prover.problem, moved).constant) <= best
        in_watts = moved.scaled(prover.relaxation.idle_total * rng.random())
        assert rounded_down(dual_value(energy, in_watts).constant) <= thrifty
        line = dual_value(energy, in_watts, limited=True)
        for schedule in reached:
            assert line.at(schedule.makespan) <= schedule.energy * (1 + 1e-12)


def test_the_lagrangian_comes_close_to_the_lp_from_below() -> None:
    """On jobs that both can do, the Lagrangian never exceeds the LP by more than rounding, and is within 1 %."""
    for seed, package in itertools.product((1, 2), (True, False)):
        workload = crowd(150, 15, seed=seed, package=package)
        whole, part = (lower_bounds(workload, hungry(), method=method) for method in ("lp", "lagrangian"))
        assert whole.makespan * 0.99 <= part.makespan <= whole.makespan * (1 + 1e-7)
        assert whole.energy * 0.99 <= part.energy <= whole.energy * (1 + 1e-7)
        for row in part.front(4):
            assert row[1] <= whole.energy_within(row[0]) * (1 + 1e-6)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.compiled
def test_the_gap_of_flow_that_the_page_gives_is_that_of_the_call(traces_dir: Path, root: Path) -> None:
    """With a fixed number of evaluations, KTH 1000 has the bound and the gap of the evidence on every machine."""
    log, machine = fs.read(traces_dir / "KTH-SP2-1996-2.1-cln.swf.gz"), fs.read_federation("example")
    fits = log.filter(log.tasks <= max(cluster.nodes for cluster in machine.clusters))
    part = fits.take(range(len(fits) // 3, len(fits) // 3 + 1000))
    part = replace(part, submit=np.zeros(1000))
    found = fs.optimize(part, machine, objectives="flow", evaluations=3000, baselines=("fcfs",))
    told = f"{found.value():,.0f} s, {found.gap():.1%}".replace("%", " %")
    page = " ".join((root / "docs" / "evidence" / "ablations.md").read_text(encoding="utf-8").split())
    assert f"below {found.bound():,.0f} s" in page
    assert told in page


@pytest.mark.deep
def test_thousands_of_jobs_take_the_lagrangian() -> None:
    """Above 1000 jobs `auto` is the Lagrangian, better than the closed forms on energy and below every schedule."""
    workload = crowd(1500, 15)
    bounds = lower_bounds(workload, hungry())
    assert bounds.method == "lagrangian"
    closed = lower_bounds(workload, hungry(), method="closed")
    assert bounds.energy > 1.02 * closed.energy
    assert bounds.makespan >= closed.makespan
    made = fs.simulate(workload, hungry(), "easy", knowledge="runtime")
    assert_below(bounds, made.metrics().as_dict(), "easy")


def test_the_front_falls_and_its_ends_are_the_bounds() -> None:
    """The front runs from the least makespan to the least energy, falling and convex; its penalty is its drop."""
    bounds = lower_bounds(crowd(60, 15), hungry())
    rows = bounds.front(7)
    assert rows.shape == (7, 2)
    assert rows[0, 0] == bounds.makespan
    assert rows[-1, 1] == pytest.approx(bounds.energy, rel=1e-6)
    slopes = np.diff(rows[:, 1]) / np.diff(rows[:, 0])
    assert (slopes <= 0).all()
    assert (np.diff(slopes) >= -1e-6 * abs(slopes[0])).all()
    assert bounds.penalty == pytest.approx(rows[0, 1] / bounds.energy - 1)
    assert bounds.penalty > 0.05
    assert bounds.energy_within(bounds.makespan / 2) == math.inf


def test_where_idle_power_rules_the_front_is_a_point() -> None:
    """With equal nodes there is nothing to trade: the least makespan costs no energy, and the front has one row."""
    bounds = lower_bounds(crowd(40, 16), fs.Federation.of(8, 8))
    assert bounds.penalty == pytest.approx(0, abs=1e-9)
    assert bounds.front(5).shape == (1, 2)


def test_it_says_what_is_wrong() -> None:
    """Empty workloads, jobs that never fit, unknown names and bad origins are errors with a cure."""
    workload, federation = fs.Workload(submit=[0], tasks=[9], runtime=[1]), fs.Federation.homogeneous(4)
    with pytest.raises(fs.errors.InfeasibleError, match="Job 1: tasks=9 exceeds the 4 nodes"):
        lower_bounds(workload, federation)
    with pytest.raises(fs.errors.TraceError, match="empty"):
        lower_bounds(workload.head(0), federation)
    ok = fs.Workload(submit=[0], tasks=[2], runtime=[1])
    with pytest.raises(fs.errors.UnknownNameError, match="lagrangian"):
        lower_bounds(ok, federation, method="lagrangean")
    with pytest.raises(fs.errors.UnknownNameError, match="runtime"):
        lower_bounds(ok, federation, knowledge="runtimes")
    with pytest.raises(ValueError, match="t0=nan must be finite"):
        lower_bounds(ok, federation, t0=math.nan)
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        lower_bounds(ok, federation, caps=np.ones((2, 1), dtype=np.int64))
    with pytest.raises(fs.errors.UnknownNameError, match="makespan"):
        lower_bounds(ok, federation).of("makespam")
    with pytest.raises(ValueError, match="points=0"):
        lower_bounds(ok, federation).front(0)


def test_every_column_has_an_answer() -> None:
    """`of` knows every metric column: a number, or NaN where nothing is known; gap follows it."""
    bounds = lower_bounds(crowd(20, 15), hungry())
    values = {name: bounds.of(name) for name in NAMES}
    assert all(values[name] > 0 for name in ("makespan", "energy", "flow", "mean_response", "weighted_response"))
    assert math.isnan(values["utilisation"])
    assert bounds.gap("makespan", 2 * bounds.makespan) == pytest.approx(1)
    assert math.isnan(bounds.gap("user_spread", 3.0))
    assert "20 jobs, by linear program" in str(bounds)


def test_waits_are_bounded_whether_runs_stretch_or_not() -> None:
    """Three equal jobs that take turns wait 0, d and 2d; a crowded uplink stretches runs, which shortens no wait."""
    workload = fs.Workload(submit=[0, 0, 0], tasks=[4, 4, 4], runtime=[10, 10, 10], task_bandwidth=1.0)
    alone = lower_bounds(workload, fs.Federation.homogeneous(4))
    assert alone.of("mean_wait") == pytest.approx(10)
    assert alone.flow == pytest.approx(60)
    crowded = fs.Federation.of(2, 2, uplink=1.0)
    assert lower_bounds(workload, crowded).of("mean_wait") == pytest.approx(10)
    spread = replace(workload, compute_fraction=0.5)
    assert fs.simulate(spread, crowded, "fcfs").metrics().mean_wait > lower_bounds(spread, crowded).mean_wait > 9.99


def test_a_job_wider_than_any_cluster_must_be_co_allocated() -> None:
    """The bound on co-allocated jobs counts those that no single cluster can hold."""
    workload = fs.Workload(submit=[0, 0, 0], tasks=[5, 4, 1], runtime=[1, 1, 1])
    assert lower_bounds(workload, fs.Federation.of(4, 4)).coallocated == 1


def test_shares_of_nodes_by_hand() -> None:
    """Half of the cores for 10 s: 500 J above what two idle nodes draw; waits are bounded on nodes of one speed."""
    node = fs.NodeGroup(2, 1.0, 200.0, 100.0, resources={"cpu": 8})
    jobs = fs.Workload(submit=[0.0] * 5, tasks=[1] * 5, runtime=[10.0] * 5, demand={"cpu": [4, 8, 8, 8, 8]})
    same = fs.Federation((fs.Cluster("m", (node,)),))
    words = {"sharing": "first", "method": "ga", "evaluations": 5, "objectives": ("makespan", "energy", "mean_wait")}
    found = fs.optimize(jobs, same, **words)
    assert found.bound("energy") == pytest.approx(500.0 + 4 * 1000.0 + 200.0 * found.bound("makespan"), rel=1e-9)
    assert found.bound("mean_wait") > 0.0
    two = fs.Federation((fs.Cluster("m", (replace(node, count=1), replace(node, count=1, speed=2.0))),))
    assert np.isnan(fs.optimize(jobs, two, **words).bound("mean_wait"))
