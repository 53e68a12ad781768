"""Gears: nodes that run slower and draw less, in one of which each job runs [77]."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import FederationError, InfeasibleError, ScheduleError
from fedsched.io.platforms.toml import federation_of_data, federation_text
from fedsched.io.schedules import read_csv
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.schedule.metrics import NAMES, OF_A_SCHEDULE
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

SLOWER = ((0.5, 120.0),)
NODE = fs.NodeGroup(1, 1.0, 200.0, 100.0, gears=SLOWER)
ONE = fs.Federation((fs.Cluster("C", (NODE,)),))
JOB = fs.Workload(submit=[0.0], tasks=[1], runtime=[100.0], estimate=[150.0], compute_fraction=[0.75])
PRICE = fs.Signal((0.0, 40.0), (100.0, 10.0), "EUR/MWh", until=90.0, beyond="repeat")


def test_one_job_on_one_node() -> None:
    """Tests the closed form: what computes takes twice as long at half the speed, at the gear's watts."""
    slow = fs.generate.geared(JOB, ONE, 1)
    assert (slow.runtime[0], slow.estimate[0], slow.compute_fraction[0]) == (175.0, 262.5, 150.0 / 175.0)
    assert slow.history[-1] == "geared: 1"
    fast, ran = fs.simulate(JOB, ONE), fs.simulate(slow, ONE)
    assert (fast.metrics().energy, ran.metrics().energy) == (200.0 * 100.0, 120.0 * 175.0)
    assert ran.power().watts.tolist() == [[120.0, 0.0]]
    ran.verify(claimed=ran.metrics())
    back = fs.generate.geared(slow, ONE, 0)
    assert back.gear is None
    assert back.runtime[0] == pytest.approx(100.0, rel=1e-15)
    assert back.compute_fraction[0] == pytest.approx(0.75, rel=1e-15)
    with pytest.raises(ScheduleError, match="energy"):
        ran.verify(claimed=replace(ran.metrics(), energy=200.0 * 175.0))


def test_speeds_of_nodes_and_gears_multiply() -> None:
    """Tests that a job takes R(σ/(s·f) + 1 − σ) on nodes of speed s in a gear of the share f, whatever nodes it has."""
    for speed, share, sigma in itertools.product((0.5, 1.0, 3.0), (0.25, 0.8), (0.0, 0.4, 1.0)):
        group = fs.NodeGroup(2, speed, 200.0, 50.0, gears=((share, 80.0),))
        machine = fs.Federation((fs.Cluster("C", (group,)),))
        job = fs.Workload(submit=[0.0], tasks=[2], runtime=[60.0], compute_fraction=[sigma])
        ran = fs.simulate(fs.generate.geared(job, machine, 1), machine)
        assert ran.finish[0] == pytest.approx(60.0 * (sigma / (speed * share) + 1.0 - sigma), rel=1e-12)


def test_what_a_plan_chooses() -> None:
    """Tests that the thriftier gear is taken where that is sought, the faster one else, and both are on the front."""
    machine = fs.Federation((fs.Cluster("C", (replace(NODE, count=4, idle_watts=0.0),)),))
    jobs = fs.generate.gears(fs.Workload(submit=[0.0] * 4, tasks=[1] * 4, runtime=[50.0, 60.0, 70.0, 80.0]), machine)
    assert jobs.alternatives.text(0) == "1x50~1.0|1x100@1~1.0"
    options: dict[str, Any] = {"evaluations": 400, "seed": 1, "alternatives": "free", "method": "moga"}
    fastest = fs.optimize(jobs, machine, objectives="makespan", **options)
    assert fastest.value() == 80.0 == pytest.approx(fastest.bound(), rel=1e-9)
    thrifty = fs.optimize(jobs, machine, objectives="energy", **options)
    # At half the speed and no idle watts each job takes 120 W for twice as long: more than 200 W once.
    assert thrifty.value() == 200.0 * 260.0 == pytest.approx(thrifty.bound(), rel=1e-9)
    lean = fs.Federation((fs.Cluster("C", (replace(NODE, count=4, idle_watts=0.0, gears=((0.5, 60.0),)),)),))
    front = fs.optimize(jobs, lean, objectives=("makespan", "energy"), **options)
    assert front.front.values.min(axis=0).tolist() == [80.0, 60.0 * 520.0]
    assert front.front.values.max(axis=0).tolist() == [160.0, 200.0 * 260.0]
    assert (1, 1, 1, 1) in [tuple(plan.alternatives) for plan in front.front.plans if plan.alternatives is not None]


def geared(seed: int, *, max_jobs: int = 8) -> tuple[fs.Workload, fs.Federation, strategies.Scenario] | None:
    """Return random jobs with all gears of their nodes to choose from, and the scenario that they are of."""
    scenario = strategies.random_scenario(seed, max_jobs=max_jobs, kill_at_estimate=False, alternatives="fixed")
    scenario = scenario.foreseen().without_limits().without_watts()
    machine, _ = strategies.in_gears(scenario.machine, scenario.jobs, random.Random(seed).choice)
    jobs = [replace(job, alternatives=()) for job in scenario.jobs]
    workload, federation, _ = strategies.to_package(jobs, machine)
    scenario = replace(scenario, machine=machine, jobs=jobs)
    return fs.generate.gears(workload, federation), federation, scenario


def test_a_row_is_evaluated_as_it_is_simulated() -> None:
    """Tests that metrics of rows, costs among them, are those of schedules of the jobs in these gears, and verified."""
    others = capped = 0
    for seed in range(tries(60)):
        workload, federation, _ = geared(seed)
        idle, more = (
            sum(group.count * watts(group) for group in federation.groups)
            for watts in (lambda one: one.idle_watts, lambda one: one.busy_watts - one.idle_watts)
        )
        cap = fs.Signal((-1e12,), (idle + (0.5 + seed % 5 / 10) * more,), "W", beyond="last")
        federation = replace(federation, signals=(PRICE, cap) if seed % 2 else (PRICE,))
        names = ("makespan", "energy") if seed % 3 == 0 else ("cost", "energy")
        try:
            problem = SearchProblem(workload, federation, Objectives.of(names), alternatives="free", threads=2)
        except InfeasibleError:  # costs are of plans in which all jobs have an end
            continue
        rng = np.random.default_rng(seed)
        rows = problem.random_rows(4, rng)
        problem.layout.choices(rows)[:] = rng.integers(0, np.diff(problem.shapes.first), size=(4, problem.layout.jobs))
        rows = problem.repaired(rows)
        for row, found in zip(rows, problem.metrics(rows), strict=True):
            schedule = problem.schedule(row)
            own = schedule.metrics()
            if np.isfinite(schedule.finish).all():  # else the cap has left somebody no room in this gear
                schedule.verify(claimed=own)
            wanted = problem.ranked(np.array([getattr(own, name) for name in NAMES]), schedule.finish)
            for i, name in enumerate(NAMES):
                if name in names or name not in (*OF_A_SCHEDULE, "user_spread"):
                    np.testing.assert_equal(found[i], wanted[i], err_msg=f"{seed}: {name}")
            others += int((present_shapes(schedule.workload) != 0).any())
            capped += int((present_shapes(schedule.workload) != 0).any() and seed % 2)
    assert others > tries(60) // 4
    assert capped > tries(60) // 10


def test_schedules_are_the_reference_s() -> None:
    """Tests starts and energies of jobs in gears, times and shares as these make them, beside the naive simulator."""
    looked = 0
    for seed in range(tries(300)):
        workload, federation, scenario = geared(seed)
        which = np.random.default_rng(seed).integers(0, np.maximum(np.diff(workload.alternatives.first), 1))
        workload = with_shapes(workload, federation, which)
        gear = np.zeros(len(workload), int) if workload.gear is None else workload.gear.values
        columns = zip(workload.runtime, workload.estimate, workload.compute_fraction, gear, strict=True)
        scenario = replace(
            scenario,
            jobs=[
                replace(job, runtime=float(runtime), estimate=float(estimate), sigma=float(sigma), gear=int(own))
                for job, (runtime, estimate, sigma, own) in zip(scenario.jobs, columns, strict=True)
            ],
        )
        result, settings = scenario.simulate(), scenario.settings
        rules = fs.Rules(
            order=settings.order, dispatch=settings.dispatch, placement=settings.placement,
            backfill_order=settings.backfill_order,
        )  # fmt: skip
        *_, caps = strategies.to_package(scenario.jobs, scenario.machine)
        schedule = fs.simulate(
            workload, federation, rules, same_time=settings.same_time, saturation=settings.saturation,
            alternatives="free", caps=caps,
        )  # fmt: skip
        np.testing.assert_array_equal(schedule.start, result.start, err_msg=str(seed))
        if result.ran:
            expected = naive.metrics(result)
            for name in ("energy", "busy_energy", "idle_energy"):
                assert getattr(schedule.metrics(), name) == pytest.approx(expected[name], rel=1e-9, abs=1e-6), seed
            looked += int(gear.any())
    assert looked > 10


@pytest.mark.deep
def test_no_schedule_is_below_the_bounds() -> None:
    """Tests bounds of jobs that may have any gear beside schedules in all of them, under several rules."""
    looked = telling = 0
    for seed in range(tries(60, 12)):
        workload, federation, _ = geared(seed, max_jobs=4)
        try:
            bounds = lower_bounds(workload, federation, alternatives="free", method="closed" if seed % 2 else "auto")
        except InfeasibleError:
            continue
        many = np.maximum(np.diff(workload.alternatives.first), 1).tolist()
        for which in itertools.islice(itertools.product(*map(range, many)), 81):
            one = with_shapes(workload, federation, np.array(which))
            own = lower_bounds(replace(one, alternatives=None), federation, method="closed")
            for dispatch in ("greedy", "conservative"):
                try:
                    schedule = fs.simulate(one, federation, fs.Rules(dispatch=dispatch), knowledge="runtime",
                                           alternatives="free")  # fmt: skip
                except InfeasibleError:
                    continue
                looked += 1
                for name, value in schedule.metrics(users=False).as_dict().items():
                    for bound in (bounds.of(name), own.of(name)):
                        assert np.isnan(bound) or bound <= value * (1 + 1e-12), (seed, which, name)
        telling += bounds.energy > 0
    assert looked > tries(60, 12)
    assert telling >= tries(60, 12) // 12


def test_one_gear_s_bound_is_what_it_takes() -> None:
    """Tests that where jobs run alone and one gear is best, energy's bound is the optimum."""
    machine = fs.Federation((fs.Cluster("C", (replace(NODE, count=2, gears=((0.5, 105.0), (0.8, 110.0))),)),))
    jobs = fs.generate.gears(fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[40.0, 40.0]), machine)
    best = min(
        fs.simulate(with_shapes(jobs, machine, np.array(which)), machine, alternatives="free").metrics().energy
        for which in itertools.product(range(3), repeat=2)
    )
    bound = lower_bounds(jobs, machine, alternatives="free").energy
    assert 0.95 * best <= bound <= best * (1 + 1e-12)


def test_files_keep_gears(tmp_path: Path) -> None:
    """Tests TOML, CSV, results and schedules there and back."""
    import tomllib

    data = tomllib.loads(federation_text(ONE))
    assert data["cluster"][0]["group"][0]["gears"] == [[0.5, 120.0]]
    assert federation_of_data(data, source="text", name="federation") == ONE
    jobs = fs.generate.gears(JOB, ONE)
    assert str(jobs.alternatives) == "1 job of several shapes to choose from, at most 2"
    for one in (jobs, fs.generate.geared(JOB, ONE, 1), with_shapes(jobs, ONE, np.array([1]))):
        assert fs.Workload.from_frame(one.to_frame()) == one
    slow = with_shapes(jobs, ONE, np.array([1]))
    ran = fs.simulate(slow, ONE, alternatives="free")
    ran.to_csv(tmp_path / "schedule.csv")
    read = read_csv(tmp_path / "schedule.csv", jobs, ONE)
    assert read.workload.gear == slow.gear
    assert read.workload.compute_fraction.tolist() == slow.compute_fraction.tolist()
    result = fs.optimize(jobs, ONE, objectives="energy", evaluations=20, seed=1, alternatives="free", method="ga")
    result.save(tmp_path / "result.json")
    assert fs.Result.load(tmp_path / "result.json").value() == result.value()


def test_what_cannot_be_is_refused_by_name() -> None:
    """Tests gears that make no sense, and what does not go with them."""
    with pytest.raises(FederationError, match="pairs of a share"):
        fs.NodeGroup(1, gears=(0.5,))
    with pytest.raises(FederationError, match=r"share 0\.0 of the speed"):
        fs.NodeGroup(1, gears=((0.0, 100.0),))
    with pytest.raises(FederationError, match=r"50\.0 W must be finite and at least idle_watts=93\.7"):
        fs.NodeGroup(1, gears=((0.5, 50.0),))
    with pytest.raises(FederationError, match=r"must have the same gears.*\[0\.5\], another \[\]"):
        fs.Federation((fs.Cluster("C", (NODE, fs.NodeGroup(1))),))
    with pytest.raises(ValueError, match="gear=-1 must be a whole number"):
        replace(JOB, gear=[-1])
    with pytest.raises(InfeasibleError, match=r"gear=2, but the nodes have gears 0 to 1"):
        fs.simulate(replace(JOB, gear=[2]), ONE)
    with pytest.raises(InfeasibleError, match="no gear but full speed"):
        fs.simulate(replace(JOB, gear=[1]), fs.Federation.homogeneous(2))
    with pytest.raises(InfeasibleError, match="nodes have gears 0 to 1"):
        fs.generate.geared(JOB, ONE, 2)
    with pytest.raises(ValueError, match="the jobs state their own watts"):
        fs.generate.gears(replace(JOB, watts=[150.0]), ONE)
    with pytest.raises(ValueError, match="have alternatives"):
        fs.generate.geared(fs.generate.gears(JOB, ONE), ONE, 1)
    with pytest.raises(InfeasibleError, match=r"earliest_finish.*several gears"):
        fs.simulate(fs.generate.gears(JOB, ONE), ONE, alternatives="earliest_finish")
    with pytest.raises(ValueError, match="must state a compute fraction"):
        replace(JOB, alternatives=["1x100/150~0.75|1x175/262.5@1"])
    with pytest.raises(ValueError, match=r"1x100/150@1~0\.75.*none of its alternatives"):
        replace(JOB, gear=[1], alternatives=["1x100/150~0.75|1x175@1~0.9"])


def test_caps_on_power_know_gears() -> None:
    """Tests that under a cap which leaves no node at full speed jobs in the slower gear run side by side."""
    machine = fs.Federation(
        (fs.Cluster("C", (replace(NODE, count=2),)),), signals=(fs.Signal((0.0,), (320.0,), "W", beyond="last"),)
    )
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[100.0, 100.0])
    assert fs.simulate(jobs, machine, "greedy").start.tolist() == [0.0, 100.0]
    slow = fs.simulate(fs.generate.geared(jobs, machine, 1), machine, "greedy")
    assert slow.start.tolist() == [0.0, 0.0]
    slow.verify(claimed=slow.metrics())


def test_a_cap_lets_plans_run_jobs_in_slower_gears() -> None:
    """Tests that two jobs side by side in the slower gear take less energy than one after the other, and are found."""
    machine = fs.Federation(
        (fs.Cluster("C", (replace(NODE, count=2),)),), signals=(fs.Signal((0.0,), (320.0,), "W", beyond="last"),)
    )
    jobs = fs.generate.gears(fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[100.0, 100.0]), machine)
    result = fs.optimize(jobs, machine, objectives="energy", alternatives="free", method="ga", evaluations=100, seed=1)
    assert result.value() == 200.0 * 240.0
    assert result.best().start.tolist() == [0.0, 0.0]


def test_a_gear_that_draws_more_than_the_cap_leaves_is_no_choice() -> None:
    """Tests that full speed is none of a plan's choices then, nor of the bounds'; a job of that alone is named."""
    cap = fs.Signal((0.0, 10.0), (500.0, 290.0), "W", beyond="last")  # of nodes that idle at 200 W
    node = replace(NODE, count=2, gears=((0.5, 120.0), (0.8, 150.0)))
    machine = fs.Federation((fs.Cluster("C", (node,)),), signals=(cap,))
    slow = fs.generate.geared(fs.Workload(id=[7], submit=[20.0], tasks=[1], runtime=[100.0]), machine, 1)
    jobs = fs.generate.gears(slow, machine)
    assert jobs.alternatives.text(0) == "1x200@1~1.0|1x100~1.0|1x125@2~1.0"
    result = fs.optimize(jobs, machine, objectives="makespan", alternatives="free", method="ga", evaluations=60, seed=1)
    assert result.value() == 125.0 == pytest.approx(result.bound(), rel=1e-9)
    early = lower_bounds(replace(jobs, submit=[0.0]), machine, alternatives="free")
    assert early.makespan == pytest.approx(100.0, rel=1e-9)
    hungry = replace(fs.generate.geared(slow, machine, 0), alternatives=["1x100"])
    with pytest.raises(InfeasibleError, match=r"Job 7: its 1 node draw 100 W more.*leaves 90 W"):
        lower_bounds(hungry, machine, alternatives="free")
