"""Limits in nodes and CPUs on jobs whose nodes are up to their placement: by hand and beside the reference [43, 76]."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support import strategies
from support.tiers import tries
from support.whole_node_cases import against, machine, work

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.model.schedule.schedule import Schedule

ALONE = {"exclusive": 1}
TWO = machine((3, {"cpu": 4}), (2, {"cpu": 8}))
RULES = ("strict", "greedy", "local", "easy", "conservative", "lookahead")


def under(jobs: int | None = None, **most: int) -> fs.Federation:
    """Return the machine on which each user has so much at a time."""
    return replace(TWO, limits=(fs.Limit("user", jobs=jobs, **most),))


def checked(schedule: Schedule) -> Schedule:
    """Return a schedule that is right, and says so."""
    schedule.verify(claimed=schedule.metrics())
    return schedule


def starts(jobs: fs.Workload, federation: fs.Federation, dispatch: str = "greedy") -> list[float]:
    """Return when jobs start, of a schedule that is right."""
    return checked(fs.simulate(jobs, federation, fs.Rules(dispatch=dispatch))).start.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_systems_agree(part: int) -> None:
    """Tests starts, nodes, finishes and metrics beside the reference's, with limits that hardly leave a job its own."""
    bound = 0
    for seed in range(part, tries(300), 4):
        scenario = strategies.on_uneven_nodes(strategies.random_scenario(seed, restless=True), seed)
        result = against(strategies.under_tight_limits(scenario, seed))
        bound += sum(bool(result.jobs[j].fits) for limit in result.machine.limits for j in limit.parts)
    assert bound > tries(300) // 3


@pytest.mark.parametrize("dispatch", RULES)
def test_every_rule_agrees(dispatch: str) -> None:
    """Tests the same of each rule."""
    for seed in range(70_000, 70_000 + tries(16)):
        scenario = strategies.random_scenario(seed, restless=True, dispatch=dispatch)
        against(strategies.under_tight_limits(strategies.on_uneven_nodes(scenario, seed), seed))


@pytest.mark.parametrize("dispatch", RULES)
def test_a_job_takes_the_nodes_that_it_is_given(dispatch: str) -> None:
    """Tests that four nodes count of a job that two could hold, and are given back when it ends."""
    jobs = work([14, 8], user=[1, 1], layout=ALONE)
    assert starts(jobs, under(nodes=4), dispatch) == [0.0, 10.0]
    assert starts(jobs, under(nodes=5), dispatch) == [0.0, 0.0]


@pytest.mark.parametrize("dispatch", RULES)
def test_who_is_given_too_many_nodes_is_passed_over(dispatch: str) -> None:
    """Tests that a job which is given two nodes where one is left holds up nobody, though one would hold it."""
    jobs = work([4, 6, 4], user=[1, 1, 2], layout=ALONE)
    assert starts(jobs, under(nodes=2), dispatch) == [0.0, 10.0, 0.0]
    assert starts(jobs, under(nodes=3), dispatch) == [0.0, 0.0, 0.0]


def test_beside_a_reservation_other_nodes_are_tried() -> None:
    """Tests that EASY gives a job the one node that the head leaves over, where its two first ones are too many."""
    jobs = work([4, 4, 28, 6], submit=[0.0, 0.0, 1.0, 2.0], user=[1, 2, 3, 1], layout=ALONE)
    longer = replace(jobs, runtime=[30.0, 30.0, 10.0, 5.0], estimate=[30.0, 30.0, 10.0, 5.0])
    schedule = checked(fs.simulate(longer, under(nodes=7), "easy"))
    assert schedule.start.tolist() == [0.0, 0.0, 30.0, 2.0]


@pytest.mark.parametrize("dispatch", RULES)
def test_cpus_are_those_of_the_nodes(dispatch: str) -> None:
    """Tests that six tasks on two nodes of four have eight CPUs, as six to a node of four of one kind would."""
    jobs = work([6, 1], user=[1, 1], layout=ALONE)
    assert starts(jobs, under(cpus=8), dispatch) == [0.0, 10.0]
    assert starts(jobs, under(cpus=9), dispatch) == [0.0, 0.0]
    hungry = replace(jobs, demand={"cpu": [2, 1]})
    assert starts(hungry, under(cpus=12), dispatch) == [0.0, 10.0]
    assert starts(hungry, under(cpus=13), dispatch) == [0.0, 0.0]


def test_who_is_over_a_limit_wherever_all_is_free_is_refused() -> None:
    """Tests that a job which is given more nodes of the empty machine than its limit is refused, with the reason."""
    jobs = work([6], user=[1], layout=ALONE)
    said = r"placement='fastest' gives it 2 nodes of the empty federation, and 2 are over the limit of 1 of user '1'"
    with pytest.raises(InfeasibleError, match=said):
        fs.simulate(jobs, under(nodes=1))
    assert fs.simulate(jobs, under(nodes=1), caps=np.array([[0, 2]])).counts.tolist() == [[0, 1]]
    with pytest.raises(InfeasibleError, match="its 2 nodes are over the limit of 1 of user '1'"):
        fs.simulate(work([12], user=[1], layout=ALONE), under(nodes=1))


def test_the_check_counts_the_nodes_of_each_run() -> None:
    """Tests that five nodes under a limit of four are found, though the fewest would be three."""
    jobs = work([14, 6], user=[1, 1], layout=ALONE)
    schedule = fs.simulate(jobs, under(nodes=4))
    same = {name: getattr(schedule, name) for name in ("workload", "federation", "t0", "reading")}
    broken = Schedule(**same, start=[0.0, 0.0], finish=[10.0, 10.0], counts=[[3, 1], [0, 1]])
    assert broken.violations() == ["Job 2: at 0 5 are in use under the limit of 4 of user '1'."]


def test_a_partition_gives_each_job_so_many_nodes() -> None:
    """Tests that `max_nodes` binds the nodes that a job is given, and `min_nodes` the fewest."""
    jobs = work([6], layout=ALONE, labels={"partition": ["p"]})
    everywhere = {"nodes": {"A": "0-4"}}
    with pytest.raises(InfeasibleError, match=r"2 are over the limit of 1 of partition 'p' \(max_nodes\)"):
        fs.simulate(jobs, replace(TWO, partitions=(fs.Partition("p", max_nodes=1, **everywhere),)))
    with pytest.raises(InfeasibleError, match="tasks=1 is below the 2 of partition 'p'"):
        fs.simulate(jobs, replace(TWO, partitions=(fs.Partition("p", min_nodes=2, **everywhere),)))
    large_first = machine((2, {"cpu": 8}), (3, {"cpu": 4}), partitions=(fs.Partition("p", max_nodes=2, **everywhere),))
    of_nine = work([16, 9, 9], layout=ALONE, labels={"partition": ["p", "p", ""]})
    schedule = checked(fs.simulate(of_nine, large_first, "greedy"))
    assert schedule.counts.tolist() == [[2, 0], [2, 0], [0, 3]]
    assert schedule.start.tolist() == [0.0, 10.0, 0.0]


def test_searches_and_rolling_plans_keep_to_them() -> None:
    """Tests that plans, whose caps might make a job's nodes too many, let all of them start, and hold."""
    jobs = work([16, 5, 20, 9, 4, 6], user=[1, 1, 2, 1, 1, 2], layout={"exclusive": [1, 0, 1, 1, 0, 1]})
    longer = replace(jobs, runtime=[10.0, 20.0, 10.0, 30.0, 5.0, 20.0], estimate=[10.0, 20.0, 10.0, 30.0, 5.0, 20.0])
    tight = under(nodes=5)
    for method in ("ga", "memetic"):
        assert checked(fs.optimize(longer, tight, method=method, evaluations=80, seed=1).best()).complete
    for method in ("ga", "memetic"):
        assert checked(fs.simulate(longer, tight, fs.Rolling(method=method, evaluations=40))).complete
