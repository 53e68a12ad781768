"""Jobs of several shapes on nodes that hold different numbers of their tasks: by hand and beside the reference [76]."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries
from support.whole_node_cases import against, machine, work

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.jobs.shaping import every_shape, least_area_shapes, with_shapes
from fedsched.model.reading import USUAL
from fedsched.optimize.rolling import Rolling
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

ALONE = {"exclusive": 1}
TWO = machine((3, {"cpu": 4}), (2, {"cpu": 8}))
WIDE, NARROW, LONG = (14, 10.0), (8, 16.0), (3, 60.0)  # on 2, 1 and 1 of the largest nodes
JOB = work([14], layout=ALONE, alternatives={1: [WIDE, NARROW, LONG]})


def uneven_shapes(jobs: list[naive.Job], federation: naive.Machine) -> int:
    """Return how many of these jobs have several shapes, and nodes that hold different numbers of their tasks."""
    held = [naive.on_whole_nodes(job, federation) for job in jobs]
    return sum(bool(job.fits and job.alternatives) for job in held)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["fixed", "smallest_area", "earliest_finish"])
def test_random_systems_agree(rule: str) -> None:
    """Tests that starts, nodes, finishes, shapes and metrics are the reference's, whichever rule chooses the shapes."""
    several = others = 0
    for seed in range(80_000, 80_000 + tries(300)):
        scenario = strategies.random_scenario(seed, restless=True, alternatives=rule)
        scenario = strategies.on_uneven_nodes(scenario, seed)
        if many := uneven_shapes(scenario.jobs, scenario.machine):
            result, several = against(scenario), several + many
            others += sum(bool(job.fits and job.standing) and job.stands != job.standing[0] for job in result.jobs)
    assert several > tries(300) // 4
    assert (others > 0) == (rule != "fixed")


def test_each_shape_counts_as_the_fewest_nodes() -> None:
    """Tests tasks and nodes of every shape, those too wide too, and that k is no more than the widest has."""
    held = count_in_nodes(JOB, TWO)
    assert (held.tasks.tolist(), own_tasks(held).tolist()) == ([2], [14])
    wide = count_in_nodes(replace(JOB, alternatives={1: [WIDE, NARROW, LONG, (29, 5.0), (40, 4.0)]}), TWO)
    each, owner, which = every_shape(wide, TWO)
    assert each.tasks.tolist() == [2, 1, 1, 6, 7]
    assert own_tasks(each).tolist() == [14, 8, 3, 29, 40]
    assert (owner.tolist(), which.tolist()) == ([0] * 5, [0, 1, 2, 3, 4])
    narrow = with_shapes(held, TWO, np.array([2]))
    assert (narrow.tasks.tolist(), own_tasks(narrow).tolist(), present_shapes(narrow).tolist()) == ([1], [3], [2])
    even = count_in_nodes(replace(JOB, tasks=[4], alternatives={1: [(4, 10.0), (2, 16.0)]}), TWO)
    assert even.layout.columns()["tasks_per_node"].tolist() == [4]


def test_the_least_area_is_that_of_nodes() -> None:
    """Tests that one node for 16 s is less than two for 10 s, and 3 tasks for 60 s are most."""
    held = count_in_nodes(JOB, TWO)
    assert least_area_shapes(held, TWO, USUAL).tolist() == [1]
    schedule = fs.simulate(JOB, TWO, "easy", alternatives="smallest_area")
    schedule.verify(claimed=schedule.metrics())
    assert own_tasks(schedule.workload).tolist() == [8]
    assert schedule.counts.tolist() == [[2, 0]]
    other = replace(schedule, reading=schedule.reading.but(alternatives="fixed"))
    assert "Job 1: its shape is not the recorded one, 14x10." in other.violations()
    wide = fs.simulate(JOB, TWO, "easy")
    least = replace(wide, reading=wide.reading.but(alternatives="smallest_area"))
    assert "Job 1: its shape is not the one of least area, 8x16." in least.violations()
    assert replace(wide, reading=wide.reading.but(alternatives="free")).violations() == []


def test_who_joins_takes_the_shape_that_ends_first() -> None:
    """Tests that behind somebody on the large nodes 8 tasks on two small ones end before 14 on what comes later."""
    jobs = work([16, 14], submit=[0.0, 1.0], layout=ALONE, alternatives={2: [WIDE, NARROW, LONG]})
    jobs = replace(jobs, runtime=[30.0, 10.0], estimate=[30.0, 10.0])
    clusters = (fs.Cluster("A", TWO.clusters[0].groups[1:]), fs.Cluster("B", TWO.clusters[0].groups[:1]))
    two = fs.Federation(clusters)
    for policy in ("easy", "conservative", "fcfs", "lookahead", "min-min"):
        schedule = fs.simulate(jobs, two, policy, alternatives="earliest_finish")
        schedule.verify(claimed=schedule.metrics())
        assert schedule.counts.tolist() == [[2, 0], [0, 2]], policy
        assert own_tasks(schedule.workload).tolist() == [16, 8]
        assert schedule.finish.tolist() == [30.0, 17.0]
    empty = fs.simulate(jobs.take([1]), two, "easy", alternatives="earliest_finish")
    assert own_tasks(empty.workload).tolist() == [14]


def test_a_shape_that_is_too_wide_is_none_to_choose() -> None:
    """Tests that 29 tasks have no place where 28 have one: no plan's choice, and refused where a rule takes it."""
    jobs = replace(JOB, alternatives={1: [WIDE, (29, 4.0), NARROW]})
    problem = SearchProblem(jobs, TWO, Objectives(("makespan",)), alternatives="free")
    assert np.diff(problem.shapes.first).tolist() == [2]
    assert problem.space.limits.tolist() == [[3, 2]]
    late = fs.simulate(jobs, TWO, alternatives="earliest_finish")
    assert own_tasks(late.workload).tolist() == [14]
    with pytest.raises(InfeasibleError, match="Job 1: tasks=6"):
        fs.simulate(replace(jobs, alternatives={1: [WIDE, (29, 1.0)]}), TWO, alternatives="smallest_area")
    recorded = replace(jobs, tasks=[29], runtime=[4.0], estimate=[4.0], alternatives={1: [(29, 4.0), NARROW]})
    with pytest.raises(InfeasibleError, match="Job 1: tasks=6"):
        fs.simulate(recorded, TWO)
    assert fs.simulate(recorded, TWO, alternatives="smallest_area").workload.tasks.tolist() == [1]


@pytest.mark.parametrize("method", ["ga", "moga", "memetic", "sa", "hc", "ga-slowdown", "random"])
def test_searches_choose_the_shape(method: str) -> None:
    """Tests that plans hold in a run, and find that the machine is full with the narrow shapes side by side."""
    jobs = work([14, 14, 12], layout=ALONE, alternatives={k: [WIDE, NARROW] for k in (1, 2)})
    result = fs.optimize(jobs, TWO, method=method, evaluations=120, seed=1, alternatives="free")
    best = result.best("makespan")
    best.verify(claimed=best.metrics())
    assert best.makespan <= fs.simulate(jobs, TWO, "fcfs").makespan
    assert best.makespan == 16.0
    bounds = fs.bounds.lower_bounds(jobs, TWO, alternatives="free")
    assert bounds.makespan <= best.makespan


@pytest.mark.slow
def test_random_plans_hold_and_no_bound_is_above_them() -> None:
    """Tests that what searches plan is right, and that neither plans nor rules are better than what is proven."""
    several, others, seeds = 0, 0, itertools.count(95_000)
    while several < tries(40, 4):
        seed = next(seeds)
        scenario = strategies.random_scenario(seed, max_jobs=6, alternatives="fixed").without_limits().without_holds()
        scenario = scenario.without_kills().without_reservations().without_watts()
        scenario = strategies.on_uneven_nodes(scenario, seed)
        if not uneven_shapes(scenario.jobs, scenario.machine):
            continue
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        options = {"alternatives": "free", "kill_at_estimate": False}
        try:
            result = fs.optimize(workload, federation, evaluations=30, seed=seed, submits="keep", **options)
        except InfeasibleError:  # nobody's other shape has a place
            continue
        bounds = fs.bounds.lower_bounds(workload, federation, **options)
        for schedule in (result.best("makespan"), fs.simulate(workload, federation, knowledge="runtime", **options)):
            schedule.verify(claimed=schedule.metrics())
            if not schedule.complete:
                continue
            for name, value in schedule.metrics(users=False).as_dict().items():
                assert not bounds.of(name) > value * (1 + 1e-12), (seed, name)
        several += 1
        others += int(present_shapes(result.best("makespan").workload).any())
    assert others > 0


@pytest.mark.parametrize("seed", range(4))
def test_rolling_plans_order_them(seed: int) -> None:
    """Tests that a queue that is planned anew runs each in its shape, under caps too."""
    rng = np.random.default_rng(seed)
    tasks = rng.integers(2, 14, size=12)
    shapes = {k + 1: [(int(t), 10.0), (max(1, int(t) // 2), 18.0)] for k, t in enumerate(tasks) if k % 3}
    jobs = work(tasks.tolist(), submit=rng.integers(0, 40, size=12).astype(float), layout=ALONE, alternatives=shapes)
    caps = np.tile([3, 1 + seed % 2], (12, 1))
    for rule in ("fixed", "smallest_area", "earliest_finish"):
        policy = Rolling(evaluations=30, window=4)
        schedule = fs.simulate(jobs, TWO, policy, alternatives=rule, caps=caps)
        schedule.verify(caps=caps, claimed=schedule.metrics())
        assert schedule.complete


def test_a_partition_s_most_nodes_is_told_where_it_depends_on_the_shape() -> None:
    """Tests that limits of nodes are refused where shapes are open, and hold where a rule has chosen."""
    parts = {"partitions": (fs.Partition("p", {"A": "all"}, max_nodes=3, default=True),)}
    limited, jobs = replace(TWO, **parts), replace(JOB, layout=ALONE)
    for rule, verb in (("free", fs.optimize), ("earliest_finish", fs.simulate)):
        with pytest.raises(InfeasibleError, match=r"max_nodes of partition 'p' depends on the jobs' shapes"):
            verb(jobs, limited, alternatives=rule)
    assert fs.simulate(jobs, limited, alternatives="smallest_area").counts.tolist() == [[2, 0]]
    wider = replace(TWO, partitions=(replace(parts["partitions"][0], max_nodes=4),))
    assert fs.simulate(jobs, wider, alternatives="earliest_finish").counts.tolist() == [[3, 1]]


def test_files_keep_the_shape(tmp_path: Path) -> None:
    """Tests that schedules, results and jobs in their shapes come back, and that rules choose again from there."""
    schedule = fs.simulate(JOB, TWO, "easy", alternatives="smallest_area")
    schedule.to_csv(tmp_path / "s.csv")
    back = fs.Schedule.read(tmp_path / "s.csv", JOB, TWO, reading=schedule.reading)
    back.verify()
    assert back.workload == schedule.workload
    schedule.workload.write(tmp_path / "jobs.csv")
    again = fs.read(tmp_path / "jobs.csv")
    assert again.extras == schedule.workload.extras
    recorded = fs.simulate(again, TWO, "easy")
    assert own_tasks(recorded.workload).tolist() == [14]
    assert recorded.workload == count_in_nodes(JOB, TWO)
    result = fs.optimize(JOB, TWO, evaluations=20, alternatives="free")
    result.save(tmp_path / "r.json")
    loaded = fs.Result.load(tmp_path / "r.json")
    assert loaded.best("makespan").workload == result.best("makespan").workload
    schedule.report(tmp_path / "r.html")
