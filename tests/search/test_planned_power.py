"""Plans on nodes that are off whenever that is planned: idle ones count as what they draw at least [66]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import InfeasibleError, TraceError
from fedsched.model.power.switching import with_least_idle_watts, with_planned_idle_watts
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.policies.list_heuristics import HEURISTICS

if TYPE_CHECKING:
    from pathlib import Path

SAID = "planned as if nodes were off whenever they idle; figures are of what came"


def asleep(group: fs.NodeGroup) -> fs.NodeGroup:
    """Return a group whose nodes draw a tenth of what idle ones do when they are off."""
    return replace(group, off_watts=group.idle_watts / 10, boot_seconds=20.0, shutdown_seconds=5.0)


def planned(federation: fs.Federation) -> fs.Federation:
    """Return the machine with nodes that go off by plan."""
    clusters = [replace(one, groups=tuple(map(asleep, one.groups))) for one in federation.clusters]
    return replace(federation, clusters=tuple(clusters), power=Planned())


def random_one(seed: int, **fixed: str) -> tuple[fs.Workload, fs.Federation, np.ndarray | None, fs.Rules]:
    """Return a random system's jobs, its machine with nodes that go off by plan, caps and rules."""
    scenario = strategies.random_scenario(seed, **fixed)
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    rules = fs.Rules(order=chosen.order, dispatch=chosen.dispatch, placement=chosen.placement)
    return workload, planned(federation), caps, rules


def two_sites() -> tuple[fs.Workload, fs.Federation]:
    """Return some jobs, and a frugal and a fast cluster that draw much when they idle."""
    groups = (fs.NodeGroup(8, 1.0, 100.0, 50.0), fs.NodeGroup(8, 0.8, 70.0, 40.0))
    machine = fs.Federation(tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True)))
    submit = [0, 0, 5, 400, 400, 420, 900, 900]
    jobs = fs.Workload(submit=submit, tasks=[3, 5, 8, 2, 2, 6, 4, 1], runtime=[60, 200, 90, 30, 300, 45, 120, 10])
    return jobs, planned(machine)


def test_decisions_are_those_on_nodes_that_idle_at_the_least() -> None:
    """No start is another than on nodes that are always on and idle at the least that they draw in any state."""
    below = moved = 0
    for seed in range(tries(150, 20)):
        for placement in ("efficient", "fastest"):
            workload, machine, caps, rules = random_one(seed, placement=placement)
            schedule = fs.simulate(workload, machine, rules, caps=caps)
            other = fs.simulate(workload, with_least_idle_watts(machine), rules, caps=caps)
            np.testing.assert_array_equal(schedule.start, other.start)
            np.testing.assert_array_equal(schedule.counts, other.counts)
            below += schedule.metrics().energy < other.metrics().energy * (1 - 1e-12)
            on = fs.simulate(workload, replace(machine, power=None), rules, caps=caps)
            moved += placement == "efficient" and not np.array_equal(on.counts, schedule.counts)
            assert placement == "efficient" or np.array_equal(on.start, schedule.start, equal_nan=True)
    assert below == 0
    assert moved > 3


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_list_heuristics_weigh_idle_nodes_as_off(heuristic: str) -> None:
    """Jobs go to the clusters that they go to where idle nodes draw what off ones do."""
    moved = 0
    for seed in range(20):
        workload, machine, caps, _ = random_one(seed)
        there = fs.simulate(workload, machine, heuristic, caps=caps)
        least = fs.simulate(workload, with_least_idle_watts(machine), heuristic, caps=caps)
        np.testing.assert_array_equal(there.counts, least.counts)
        on = fs.simulate(workload, replace(machine, power=None), heuristic, caps=caps)
        moved += not np.array_equal(on.counts, there.counts)
    assert (moved > 0) == (heuristic == "least-energy")


@pytest.mark.parametrize(
    ("method", "objectives"), [("memetic", "energy"), ("ga", "energy"), ("moga", ("energy", "flow"))]
)
@pytest.mark.parametrize("submits", ["now", "keep"])
def test_plans_are_made_on_the_least_and_shown_as_they_came(method: str, objectives: object, submits: str) -> None:
    """What was planned is the energy on nodes that idle at the least, what came that of nodes which go off and boot."""
    jobs, machine = two_sites()
    result = fs.optimize(jobs, machine, objectives=objectives, method=method, submits=submits, evaluations=200, seed=1)
    assert result.foresight == SAID
    assert SAID in str(result)
    for place in range(len(result.front)):
        schedule = result.schedule(place)
        schedule.verify()
        assert schedule.federation == machine
        least = replace(schedule, federation=with_least_idle_watts(machine)).metrics()
        assert result.front.planned[place, 0] == pytest.approx(least.energy, rel=1e-12)
        assert result.front.values[place, 0] == pytest.approx(schedule.metrics().energy, rel=1e-12)
    assert result.bound("energy") <= result.front.planned[:, 0].min() <= result.front.values[:, 0].min()
    assert all(baseline.planned[0] <= baseline.values[0] * (1 + 1e-12) for baseline in result.baselines)


def test_less_energy_than_plans_for_nodes_that_are_always_on() -> None:
    """Who knows that idle nodes go off takes the frugal ones, and need not hurry."""
    jobs, machine = two_sites()
    asked = {"objectives": "energy", "method": "ga", "submits": "keep", "evaluations": 600, "seed": 2}
    hurried = fs.optimize(jobs, replace(machine, power=None), **asked).best()
    assert fs.optimize(jobs, machine, **asked).value() < replace(hurried, federation=machine).metrics().energy


def test_costs_are_planned_alike() -> None:
    """A price, and a user's function of what is drawn, are of idle nodes that are off; makespans are of no power."""
    jobs, machine = two_sites()
    priced = replace(machine, signals=(fs.Signal((0, 300, 600), (50.0, 200.0, 80.0), "EUR/MWh", beyond="last"),))
    result = fs.optimize(jobs, priced, objectives="cost", method="ga", evaluations=150, seed=1)
    assert result.foresight == SAID
    assert result.bound() <= result.front.planned[0, 0] <= result.value()

    def bill(metrics: dict[str, np.ndarray]) -> np.ndarray:
        return metrics["energy"] + metrics["makespan"]

    assert fs.optimize(jobs, machine, objectives=[bill], evaluations=60, seed=1).foresight == SAID
    assert fs.optimize(jobs, machine, objectives=("makespan", "flow"), evaluations=60, seed=1).foresight == ""


def test_a_result_s_file_has_both(tmp_path: Path) -> None:
    """Planned and what came are in the file, and are looked at when it is read."""
    jobs, machine = two_sites()
    result = fs.optimize(jobs, machine, objectives=("energy", "flow"), evaluations=100, seed=1)
    result.save(tmp_path / "result.json")
    back = fs.Result.load(tmp_path / "result.json", baselines=True)
    assert back.front.planned.tolist() == result.front.planned.tolist()
    assert (back.foresight, back.federation) == (SAID, machine)
    text = (tmp_path / "result.json").read_text(encoding="utf-8")
    energy = repr(float(result.front.planned[0, 0]))
    assert energy in text
    (tmp_path / "result.json").write_text(text.replace(energy, repr(float(energy) * 0.99)), encoding="utf-8")
    with pytest.raises(TraceError, match="plan 1 of the front"):
        fs.Result.load(tmp_path / "result.json")


def test_rolling_plans_weigh_idle_nodes_as_off() -> None:
    """Plans on the way are those on nodes that idle at the least; what is drawn is of those that go off and boot."""
    jobs, machine = two_sites()
    policy = fs.Rolling(evaluations=40, objective="energy")
    schedule = fs.simulate(jobs, machine, policy)
    schedule.verify()
    other = fs.simulate(jobs, with_least_idle_watts(machine), policy)
    assert schedule.start.tolist() == other.start.tolist()
    assert schedule.counts.tolist() == other.counts.tolist()
    on = fs.simulate(jobs, replace(machine, power=None), policy)
    assert schedule.metrics().energy < replace(on, federation=machine).metrics().energy


def test_no_schedule_is_below_the_bounds() -> None:
    """Bounds with power saving by plan are below what any of these schedules draws."""
    compared = 0
    for seed in range(tries(60, 8)):
        workload, machine, caps, rules = random_one(seed)
        workload = replace(workload, estimate=workload.runtime, alternatives=None)
        try:
            bound = lower_bounds(workload, machine, caps=caps)
        except InfeasibleError:  # of nobody, or of jobs that downtimes kill, nothing is proven
            continue
        compared += 1
        found = fs.simulate(workload, machine, rules, caps=caps, kill_at_estimate=False)
        if not np.isnan(found.start).any():
            assert bound.of("energy") <= found.metrics().energy * (1 + 1e-9)
    assert compared > tries(60, 8) // 2


def test_only_planned_switching_changes_what_idle_nodes_draw() -> None:
    """A machine is weighed as it is unless its switching is planned."""
    _, machine = two_sites()
    for power in (None, Timeout(10.0), Reserve(2)):
        there = replace(machine, power=power)
        assert with_planned_idle_watts(there) is there
