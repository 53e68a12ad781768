"""Jobs that say what their nodes draw: in energy, costs, power over time, files, and in what checks all that [69]."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from reference import naive, naive_measures
from support import strategies

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.io.batsim.evalys import write_jobs
from fedsched.report.plan_data import sums_of

if TYPE_CHECKING:
    from pathlib import Path

NODES = fs.Federation(
    (fs.Cluster("A", (fs.NodeGroup(2, 1.0, 200.0, 50.0),)), fs.Cluster("B", (fs.NodeGroup(1, 2.0, 400.0, 80.0),)))
)
# Two nodes of A at 130 W each, and B's one node at its group's 400 W.
JOBS = fs.Workload(submit=[0.0, 0.0], tasks=[2, 1], runtime=[100.0, 60.0], watts=[130.0, -1.0])
PLACED = {"start": [0.0, 0.0], "finish": [100.0, 30.0], "counts": [[2, 0], [0, 1]], "t0": 0.0}


def tried(first: int, seeds: int = 40) -> range:
    """Return some seeds of random scenarios."""
    return range(first, first + seeds)


def placed(jobs: fs.Workload = JOBS, machine: fs.Federation = NODES) -> fs.Schedule:
    """Return both jobs side by side."""
    return fs.Schedule(workload=jobs, federation=machine, knowledge="runtime", **PLACED)


def test_energy_by_hand() -> None:
    """Tests that a job's own watts make its energy, its group's those of a job that says nothing."""
    row = placed().metrics()
    assert row.busy_energy == 2 * 130.0 * 100.0 + 400.0 * 30.0
    assert row.idle_energy == 80.0 * 70.0
    assert row.energy == row.busy_energy + row.idle_energy
    placed().verify(claimed=row)
    assert any("energy" in line for line in placed(replace(JOBS, watts=None)).violations(claimed=row))


def test_costs_and_power_by_hand() -> None:
    """Tests that costs, peak and power over time are of what the jobs draw."""
    price = fs.Signal((0.0, 50.0), (100.0, 200.0), "EUR/MWh", until=100.0)
    schedule = placed(machine=replace(NODES, signals=(price,)))
    row = schedule.metrics()
    first, second = 260.0 * 50.0 + 400.0 * 30.0 + 80.0 * 20.0, (260.0 + 80.0) * 50.0
    assert row.cost == pytest.approx((first * 100.0 + second * 200.0) / 3.6e9)
    assert row.peak_watts == 260.0 + 400.0
    assert schedule.power().watts[:, 0].tolist() == [260.0, 400.0]
    schedule.verify(claimed=row)
    dearer = replace(row, cost=row.cost * 1.001)
    assert any("cost" in line for line in schedule.violations(claimed=dearer))


def test_reports_sum_what_jobs_draw() -> None:
    """Tests that a report's sums, and Batsim's jobs file, are those of the metrics."""
    sums = sums_of(placed())
    assert sum(one["busyEnergy"] for one in sums["clusters"]) == placed().metrics().busy_energy
    assert sums["peak"] == 260.0 + 400.0


def test_batsim_files_tell_what_jobs_consume(tmp_path: Path) -> None:
    """Tests that the energy of a job in Batsim's file is of its own watts."""
    write_jobs(placed(), tmp_path / "jobs.csv")
    assert "26000.0" in (tmp_path / "jobs.csv").read_text()


def test_watts_below_those_of_idle_nodes_are_taken_as_they_are() -> None:
    """Tests that a node that draws less under a job than idle makes the energy less."""
    frugal = placed(replace(JOBS, watts=[10.0, -1.0]))
    assert frugal.metrics().energy == 2 * 10.0 * 100.0 + 400.0 * 30.0 + 80.0 * 70.0
    frugal.verify(claimed=frugal.metrics())


def test_jobs_watts_must_be_watts() -> None:
    """Tests that watts below 0 are an error that says which job's."""
    with pytest.raises(ValueError, match=r"Job 2: watts=-3 must be finite and at least 0, or -1 for those of its"):
        replace(JOBS, watts=[1.0, -3.0])
    assert "watts: 130 to 130 W a node, of 1 job" in str(JOBS)


def test_a_log_on_another_clock_has_the_same_watts() -> None:
    """Tests that watts do not move with the submits."""
    assert replace(JOBS, submit=[5.0, 9.0]).rebased().watts == JOBS.watts


def test_against_the_reference() -> None:
    """Tests that energy, cost and peak of random scenarios are the reference's, lost runs included; verify agrees."""
    some = 0
    for seed in tried(0):
        rng = random.Random(seed)
        scenario = strategies.random_scenario(seed, max_jobs=8, alternatives="fixed")
        machine, jobs = strategies.in_gears(scenario.machine, scenario.jobs, rng.choice)
        scenario = replace(scenario, machine=machine, jobs=strategies.measured(jobs, rng.choice))
        result = scenario.simulate()
        if not result.ran:
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        federation = replace(federation, signals=(fs.Signal((0.0,), (100.0,), "EUR/MWh", beyond="last"),))
        chosen = scenario.settings
        rules = fs.Rules(
            order=chosen.order,
            dispatch=chosen.dispatch,
            placement=chosen.placement,
            backfill_order=chosen.backfill_order,
        )
        schedule = fs.simulate(
            workload,
            federation,
            rules,
            same_time=chosen.same_time,
            saturation=chosen.saturation,
            kill_at_estimate=chosen.kill_at_estimate,
            caps=caps,
        )
        row, expected = schedule.metrics(), naive.metrics(result)
        for name in ("energy", "busy_energy", "idle_energy"):
            assert getattr(row, name) == pytest.approx(expected[name], rel=1e-9, abs=1e-6), (seed, name)
        assert row.peak_watts == pytest.approx(naive_measures.peak_watts(result), abs=1e-9)
        schedule.verify(claimed=row, caps=caps)
        some += any(job.watts is not None for job in scenario.jobs) and bool(result.lost)
    assert some > 0


def test_no_schedule_beats_the_bounds() -> None:
    """Tests that energy and cost are never below their bounds, and at them where one job runs alone."""
    alone = fs.simulate(JOBS.take([0]), NODES, "fcfs", knowledge="runtime")
    found = lower_bounds(JOBS.take([0]), NODES)
    assert found.busy_energy == pytest.approx(alone.metrics().busy_energy, rel=1e-9)
    for seed in tried(0, 60):
        rng = random.Random(seed)
        scenario = strategies.random_scenario(seed, max_jobs=6, saturation="dynamic").for_bounds()
        scenario = replace(scenario, jobs=strategies.measured(scenario.jobs, rng.choice))
        values = naive.metrics(scenario.simulate())
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        federation = replace(federation, signals=(fs.Signal((0.0,), (100.0,), "EUR/MWh", beyond="last"),))
        bounds = lower_bounds(
            workload, federation, kill_at_estimate=scenario.settings.kill_at_estimate, caps=caps, method="closed"
        )
        assert values["energy"] >= bounds.energy, seed
        assert values["busy_energy"] >= bounds.busy_energy, seed
        assert values["energy"] >= bounds.energy_within(values["makespan"]), seed
        assert values["energy"] * 100.0 / 3.6e9 >= bounds.of("cost") * (1 - 1e-9), seed


def test_a_single_kind_of_nodes_has_tight_bounds() -> None:
    """Tests that on equal nodes the bound on busy energy is what every schedule takes."""
    machine = fs.Federation.of(4)
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0], tasks=[2, 4, 1], runtime=[10.0, 5.0, 7.0], watts=[150.0, -1.0, 320.0])
    row = fs.simulate(jobs, machine, "easy").metrics()
    assert lower_bounds(jobs, machine, method="closed").busy_energy == pytest.approx(row.busy_energy, rel=1e-9)


def test_searches_seek_what_jobs_draw() -> None:
    """Tests that a search's rows are the metrics of its plans, with costs or without."""
    price = fs.Signal((0.0, 50.0), (100.0, 200.0), "EUR/MWh", until=100.0, beyond="repeat")
    machine = replace(NODES, signals=(price,))
    result = fs.optimize(JOBS, machine, objectives=("energy", "cost"), method="moga", evaluations=60, seed=1)
    for metric, k in (("energy", 0), ("cost", 1)):
        row = result.best(metric).metrics()
        values = result.front.values[result.front.best_index(metric)]
        assert values.tolist() == pytest.approx([row.energy, row.cost])
        assert values[k] == pytest.approx(getattr(row, metric))


def test_rolling_plans_know_what_jobs_draw() -> None:
    """Tests that a plan for energy lets the job that draws most have the nodes where it takes least time."""
    fast = fs.NodeGroup(1, 2.0, 400.0, 300.0)
    machine = fs.Federation((fs.Cluster("A", (fs.NodeGroup(1, 1.0, 400.0, 300.0),)), fs.Cluster("B", (fast,))))
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[100.0, 100.0], watts=[100.0, 900.0])
    rolling = fs.Rolling(objective="energy", evaluations=200, seed=1)
    for order in ([0, 1], [1, 0]):
        schedule = fs.simulate(jobs.take(order), machine, rolling)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.counts[order.index(1)].tolist() == [0, 1]
        assert schedule.metrics().energy == 100.0 * 100.0 + 900.0 * 50.0 + 300.0 * 50.0
