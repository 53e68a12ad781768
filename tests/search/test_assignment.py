"""The assignment encoding of ga and ga-mf: plans that give every job its nodes, searched and kept as any others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError
from fedsched.engine.placement.tasks_per_node import places_on
from fedsched.model.jobs.uneven import are_uneven, drop_spare_nodes
from fedsched.report.material import of_result
from fedsched.report.repeat_code import command_of, python_of
from fedsched.search.encoding.assignment import assigned, random_assignments, reassigned
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run import checkpoint as checkpoints
from fedsched.search.run.run import Run
from fedsched.search.run.seeds import structured_seeds
from fedsched.search.run.stopping import MaxEvaluations

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.engine.arrays.structs import Ints

JOBS = fs.Workload.example().head(30)
CLUSTER = fs.Federation.example()


def a_problem() -> SearchProblem:
    """Return a small package."""
    return SearchProblem(JOBS, CLUSTER, Objectives(("makespan",)))


def give_all_nodes(problem: SearchProblem, rows: Ints) -> bool:
    """Return whether the plans are orders with as many nodes a job, within its limits, as it has tasks."""
    caps = problem.layout.caps(rows)
    return problem.holds(rows) and bool((caps.sum(axis=2) == problem.problem.tasks).all())


SIZES = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(4, resources={"cpu": 4}), fs.NodeGroup(3, 2.0, resources={"cpu": 2}))),
        fs.Cluster("b", (fs.NodeGroup(5, resources={"cpu": 3}), fs.NodeGroup(6, resources={"cpu": 1}))),
    )
)


def on_several_sizes() -> SearchProblem:
    """Return a package of which two of three jobs are alone on nodes that hold different numbers of their tasks."""
    rng = np.random.default_rng(8)
    jobs = fs.Workload(
        submit=[0] * 12, tasks=rng.integers(1, 19, 12), runtime=rng.integers(1, 50, 12),
        layout={"exclusive": np.arange(12) % 3 > 0},
    )  # fmt: skip
    return SearchProblem(jobs, SIZES, Objectives(("makespan",)))


def give_what_is_needed(problem: SearchProblem, rows: Ints) -> bool:
    """Return whether the plans give each job nodes for all its tasks, and none that it could do without."""
    fits, tasks = places_on(problem.problem, np.arange(problem.layout.jobs))
    caps = problem.layout.caps(rows)
    empty = (caps * fits).sum(axis=2) - tasks
    least = np.where(caps > 0, fits, 99).min(axis=2)
    return problem.holds(rows) and bool((empty >= 0).all() and (empty < least).all())


def test_assignments_of_nodes_of_several_sizes() -> None:
    """Tests that random ones, those after many moves and those of other plans hold all tasks, on no node too many."""
    problem = on_several_sizes()
    assert are_uneven(problem.workload).sum() == 7
    rows = random_assignments(problem, 60, np.random.default_rng(1))
    assert give_what_is_needed(problem, rows)
    after = reassigned(problem, rows.copy(), np.full(60, 40), seed=4, generation=7)
    assert give_what_is_needed(problem, after)
    assert (problem.layout.caps(after) != problem.layout.caps(rows)).any(axis=(1, 2)).all()
    seeds = structured_seeds(problem, limit=20)
    run = Run(problem, 1, [MaxEvaluations(1000)], np.ones(1), seeds, np.zeros(1))
    found = assigned(run, seeds)
    assert give_what_is_needed(problem, found)
    for row in (*found, *after):
        schedule = problem.schedule(row)
        assert np.array_equal(problem.layout.caps(row[None])[0], schedule.counts)  # it waits for just these nodes
    schedule.verify(claimed=schedule.metrics())
    assert np.array_equal(assigned(run, found), found)


def test_of_nodes_without_use_the_smallest_go_first() -> None:
    """Tests that of nodes of 4, 2 and 1 places what is not needed goes, until nothing more can."""
    fits = np.array([[4, 2, 1]] * 4)
    counts, tasks = np.array([[2, 2, 2], [1, 1, 1], [3, 0, 0], [1, 2, 0]]), np.array([8, 7, 9, 5])
    assert drop_spare_nodes(counts, fits, tasks).tolist() == [[2, 0, 0], [1, 1, 1], [3, 0, 0], [1, 1, 0]]


def search(**options: Any) -> fs.Result:
    """Return what a small search by assignments finds."""
    given = {"method": "ga", "encoding": "assignment", "evaluations": 700, "seed": 3, "baselines": ("fcfs",), **options}
    return fs.optimize(JOBS, CLUSTER, **given)


def test_random_assignments_give_all_tasks_nodes() -> None:
    """Tests that random assignments are plans with a node a task, mostly inside a cluster where one holds the job."""
    problem = a_problem()
    rows = random_assignments(problem, 200, np.random.default_rng(1))
    assert give_all_nodes(problem, rows)
    at = problem.problem.groups.cluster_begin[:-1]
    inside = np.add.reduceat(problem.layout.caps(rows), at, axis=2).max(axis=2) == problem.problem.tasks
    largest = max(cluster.nodes for cluster in CLUSTER.clusters)
    smallest = min(cluster.nodes for cluster in CLUSTER.clusters)
    assert inside[:, problem.problem.tasks <= smallest].all()
    assert not inside[:, problem.problem.tasks > largest].any()


def test_moves_keep_a_node_for_every_task() -> None:
    """Tests that after many moves rows are assignments still, other ones in orders and nodes alike."""
    problem = a_problem()
    before = random_assignments(problem, 50, np.random.default_rng(1))
    after = reassigned(problem, before.copy(), np.full(50, 40), seed=4, generation=7)
    assert give_all_nodes(problem, after)
    assert (problem.layout.orders(after) != problem.layout.orders(before)).any(axis=1).all()
    assert (problem.layout.caps(after) != problem.layout.caps(before)).any(axis=(1, 2)).all()
    assert np.array_equal(after, reassigned(problem, before.copy(), np.full(50, 40), seed=4, generation=7))


def test_plans_are_assigned_what_they_have_when_they_run() -> None:
    """Tests that a blacklist becomes the nodes and the order of starts of its own schedule."""
    problem = a_problem()
    seeds = structured_seeds(problem, limit=20)
    run = Run(problem, 1, [MaxEvaluations(1000)], np.ones(1), seeds, np.zeros(1))
    rows = assigned(run, seeds)
    assert give_all_nodes(problem, rows)
    for seed, row in zip(seeds, rows, strict=True):
        schedule = problem.schedule(seed)
        assert np.array_equal(problem.layout.caps(row[None])[0], schedule.counts)
        assert (np.diff(schedule.start[problem.layout.orders(row[None])[0]]) >= 0).all()
    assert run.evaluations == len(seeds)
    assert np.array_equal(assigned(run, rows), rows)
    assert run.evaluations == len(seeds)  # what leaves no choice is not run for it


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["ga", "ga-mf"])
@pytest.mark.parametrize("submits", ["now", "keep"])
def test_what_is_found_is_a_plan_like_any_other(method: str, submits: str, tmp_path: Path) -> None:
    """Tests that a search by assignments finds verified plans, says its encoding, and is repeated by what it prints."""
    result = search(method=method, submits=submits, seeds="random", saturation="static", knowledge="estimate")
    rows = [plan for plan in result.front.plans if plan.caps is not None]
    assert rows or submits == "keep"  # where FCFS may be best
    assert all((plan.caps.sum(axis=1) == JOBS.tasks).all() for plan in rows if plan.caps is not None)
    for k in range(len(result.front)):
        result.schedule(k).verify()
    assert f"{method} (assignment)" in str(result)
    assert "encoding='assignment'" in python_of(of_result(result))
    result.save(tmp_path / "r.json")
    assert "--encoding assignment" in command_of(search(baselines=None, evaluations=60))
    assert fs.Result.load(tmp_path / "r.json").searched_by == f"{method} (assignment)"


@pytest.mark.compiled
@pytest.mark.parametrize("islands", [1, 2])
def test_a_search_goes_on_in_its_own_encoding_only(islands: int, tmp_path: Path) -> None:
    """Tests that what is saved of a search by assignments is none by blacklists, and the other way round."""
    for encoding, other in (("assignment", "blacklist"), ("blacklist", "assignment")):
        path = tmp_path / encoding
        options = {"checkpoint": path, "islands": islands}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
            search(encoding=encoding, **options)
        with pytest.raises(FedschedError, match="another search"):
            search(encoding=other, **options)


@pytest.mark.compiled
def test_the_usual_encoding_may_be_named() -> None:
    """Tests that encoding="blacklist" is what ga does anyway, in its record too."""
    named, usual = search(encoding="blacklist"), search(encoding=None)
    assert np.array_equal(named.front.values, usual.front.values)
    assert named.searched_by == usual.searched_by == "ga"


def test_methods_without_a_choice_refuse_one() -> None:
    """Tests that an encoding is refused with the cure where there is no choice, and a wrong one with the nearest."""
    with pytest.raises(ValueError, match="take one of ga, ga-mf"):
        search(method="moga")
    with pytest.raises(ValueError, match="Did you mean 'assignment'"):
        search(encoding="asignment")
    assert METHODS["ga"].encoded("blacklist") == METHODS["ga"]
