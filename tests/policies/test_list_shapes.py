"""List heuristics that choose the shapes of jobs as they bind them [68]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from policies.test_list_heuristics import assert_same
from reference import naive_lists
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.comparison.entrants import PolicyEntrant, bounds_on
from fedsched.comparison.instances import Budget, Instance
from fedsched.policies.list_heuristics import HEURISTICS
from fedsched.simulate import prepare

RULE = "earliest_finish"
TWO = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2),)), fs.Cluster("b", (fs.NodeGroup(4),))))


def run(jobs: fs.Workload, heuristic: str = "mct", machine: fs.Federation = TWO, **words: object) -> fs.Schedule:
    """Return the schedule of a heuristic, checked with its metrics."""
    schedule = fs.simulate(jobs, machine, heuristic, alternatives=RULE, **words)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.reading.alternatives == RULE
    return schedule


def one(text: str, **columns: object) -> fs.Workload:
    """Return a job at 0 that has these shapes, the first of them recorded."""
    tasks, _, seconds = text.partition("|")[0].partition("x")
    asked = {"submit": [0.0], "tasks": [int(tasks)], "runtime": [float(seconds)], "alternatives": {1: text}}
    return fs.Workload(**(asked | columns))


def test_the_shape_that_ends_first_at_any_site_is_taken() -> None:
    """Two nodes are on either cluster, four on b alone, six on both together: the earliest end of all wins."""
    for text, tasks, counts in (
        ("2x12|4x5|6x4", 6, [2, 4]),
        ("2x12|4x5|6x5", 4, [0, 4]),  # of equal ends the lower cluster, and all together last
        ("2x5|4x5|6x5", 2, [2, 0]),
        ("2x5|4x4|9x1", 4, [0, 4]),  # nine nodes there are not
    ):
        schedule = run(one(text))
        assert schedule.workload.tasks.tolist() == [tasks]
        assert schedule.counts.tolist() == [counts]


def test_at_a_site_of_equal_ends_the_least_area_is_taken_then_the_first_that_is_listed() -> None:
    """Of 4x5 and 2x5 the narrow one; of 4x5 from 5 on and 2x10 at once, of one end and area, whichever is listed."""
    alone = fs.Federation.homogeneous(4)
    assert run(one("4x5|2x5"), machine=alone).workload.tasks.tolist() == [2]
    behind = fs.Workload(submit=[0.0] * 2, tasks=[2, 2], runtime=[5.0, 10.0], alternatives={2: "2x10|4x5"})
    assert run(behind, machine=alone).workload.tasks.tolist() == [2, 2]  # both end at 10, both take 20
    listed = replace(behind, tasks=[2, 4], runtime=[5.0, 5.0], estimate=[5.0, 5.0], alternatives={2: "4x5|2x10"})
    assert run(listed, machine=alone).workload.tasks.tolist() == [2, 4]


def test_completions_of_the_best_shapes_rank_jobs() -> None:
    """Min-Min binds the second job first, one of whose shapes ends at 1; by recorded shapes it binds the first."""
    jobs = fs.Workload(submit=[0.0] * 2, tasks=[4, 4], runtime=[3.0, 4.0], alternatives={2: "4x4|2x1"})
    alone = fs.Federation.homogeneous(4)
    assert run(jobs, "min-min", alone).start.tolist() == [1.0, 0.0]
    assert fs.simulate(jobs, alone, "min-min").start.tolist() == [0.0, 3.0]
    assert run(jobs, "max-min", alone).start.tolist() == [0.0, 3.0]


def test_least_energy_weighs_the_shapes_that_end_first() -> None:
    """On fast nodes 4x2 ends first and takes 800 J beside idling, on thrifty ones 2x6 takes 240: that is bound."""
    fast, thrifty = fs.NodeGroup(4, 1.0, 100.0, 0.0), fs.NodeGroup(2, 1.0, 20.0, 0.0)
    machine = fs.Federation((fs.Cluster("fast", (fast,)), fs.Cluster("thrifty", (thrifty,))))
    job = one("2x6|4x2")
    assert run(job, "least-energy", machine).workload.tasks.tolist() == [2]
    assert run(job, "least-energy", machine).counts.tolist() == [[0, 2]]
    assert run(job, "mct", machine).counts.tolist() == [[4, 0]]


def test_plans_go_by_requests_or_by_run_times_where_these_are_known() -> None:
    """A shape whose request is long is not taken, though it would run shortest."""
    job = one("2x6|4x2/9", estimate=[6.0])
    assert run(job).workload.tasks.tolist() == [2]
    assert run(job, knowledge="runtime").workload.tasks.tolist() == [4]
    killed = one("2x6|4x7/3", estimate=[6.0])
    assert run(killed, knowledge="runtime").workload.tasks.tolist() == [2]
    assert run(killed, knowledge="runtime", kill_at_estimate=True).workload.tasks.tolist() == [4]


def test_caps_hold_for_every_shape() -> None:
    """A shape for which caps leave too few nodes is not taken."""
    job = one("2x12|4x5|6x4")
    assert run(job, caps=np.array([[2, 3]])).counts.tolist() == [[1, 3]]  # four on both together
    assert run(job, caps=np.array([[1, 2]])).counts.tolist() == [[0, 2]]


def test_jobs_run_as_predicted_and_under_every_dispatch_rule_in_the_same_shapes() -> None:
    """With exact estimates `local` starts what was bound when it was predicted; other rules start the same shapes."""
    log = fs.generate.alternatives(fs.Workload.example().head(60), factors=(0.5, 2.0), most=128)
    log = replace(log, alternatives={int(job): [(s.tasks, s.runtime) for s in log.alternatives.shapes(row)]
                                     for row, job in enumerate(log.id)}, estimate=log.runtime)  # fmt: skip
    machine = fs.Federation.of(100, 60, 28)
    for heuristic in HEURISTICS:
        local = run(log, heuristic, machine)
        assert (local.workload.tasks != log.tasks).any()
        for dispatch in ("strict", "easy", "greedy"):
            other = run(log, f"{heuristic}-{dispatch}", machine)
            np.testing.assert_array_equal(other.workload.tasks, local.workload.tasks)
        np.testing.assert_array_equal(run(log, f"{heuristic}-strict", machine).start, local.start)


def test_running_jobs_are_as_they_are() -> None:
    """A running job keeps its shape, and others are bound around it."""
    jobs = fs.Workload(submit=[0.0, 1.0], tasks=[4, 4], runtime=[10.0, 8.0],
                       alternatives={1: "4x10|2x11", 2: "4x8|2x9"})  # fmt: skip
    alone = fs.Federation.homogeneous(4)
    running = prepare(jobs, alone, "fcfs", alternatives=RULE).advance(until=0.5).running()
    schedule = fs.simulate(jobs, alone, "mct", alternatives=RULE, running=running)
    assert schedule.workload.tasks.tolist() == [4, 4]
    assert schedule.start.tolist() == [0.0, 10.0]


def test_who_follows_another_is_bound_when_its_shape_has_ended() -> None:
    """The predicted end of the chosen shape, and thinking, is when the next one comes."""
    jobs = fs.Workload(
        submit=[0.0, 0.0], tasks=[2, 2], runtime=[12.0, 3.0], alternatives={1: "2x12|4x5"},
        feedback={"preceding": [-1, 1], "think_time": [-1, 2.0]},
    )  # fmt: skip
    schedule = run(jobs)
    assert schedule.start.tolist() == [0.0, 7.0]
    assert schedule.workload.submit.tolist() == [0.0, 7.0]


def test_they_are_compared() -> None:
    """An instance of the rule gives a list heuristic its figures, with bounds."""
    jobs = fs.Workload(submit=[0.0, 1.0, 1.0], tasks=[4, 2, 4], runtime=[10.0, 8.0, 6.0],
                       alternatives={2: "2x8|4x5|1x16", 3: "4x6|2x9"})  # fmt: skip
    instance = Instance("line", jobs, TWO, ("makespan",), submits="keep", alternatives=RULE)
    outcome = PolicyEntrant("mct").run(instance, 0, Budget(evaluations=10))
    expected = run(jobs, knowledge="runtime").metrics().makespan
    assert outcome.front == ((expected,),)
    assert bounds_on(instance)[0] <= expected


@pytest.mark.parametrize("heuristic", naive_lists.HEURISTICS)
def test_random_scenarios_agree_with_the_reference(heuristic: str) -> None:
    """With all that jobs and machines may have, shapes, places, order and schedule are the reference's."""
    chosen = 0
    for seed in range(50_000, 50_000 + tries(60)):
        scenario = strategies.random_scenario(seed, placement="fastest", restless=seed % 2 == 1, alternatives=RULE)
        if scenario.settings.alternatives == RULE and any(job.alternatives for job in scenario.jobs):
            assert_same(scenario, heuristic)
            chosen += 1
    assert chosen > tries(60) // 10
