"""The slowdown that ga-slowdown predicts: what the engine makes of a job that runs alone, links included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.search.methods.genetic import favour_fast_groups
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.problem.slowdown import costs_by_group, time_costs

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints

THREE = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(3, 2.0), fs.NodeGroup(2, 0.5)), uplink=2.0),
        fs.Cluster("b", (fs.NodeGroup(4, 1.25),), uplink=1.5),
        fs.Cluster("c", (fs.NodeGroup(5, 1.0),)),
    )
)


def alone(tasks: int, sigma: float, bandwidth: float, saturation: str = "dynamic") -> SearchProblem:
    """Return a problem of one job on three clusters."""
    job = fs.Workload(submit=[0], tasks=[tasks], runtime=[1000], compute_fraction=sigma, task_bandwidth=bandwidth)
    return SearchProblem(job, THREE, Objectives(("makespan",)), saturation=saturation)


NODES = np.array([group.count for group in THREE.groups])


def spreads(tasks: int) -> list[Ints]:
    """Return every choice of so many nodes."""
    every = np.indices(NODES + 1).reshape(len(NODES), -1).T
    return list(every[every.sum(axis=1) == tasks])


@pytest.mark.parametrize("saturation", ["dynamic", "static"])
def test_a_job_alone_runs_as_predicted(saturation: str) -> None:
    """Tests that on any nodes, across saturated uplinks too, a job alone runs runtime × its predicted time cost."""
    rng = np.random.default_rng(5)
    saturated = 0
    for _ in range(60):
        counts = rng.integers(0, NODES + 1)
        counts[rng.integers(len(NODES))] += counts.sum() == 0
        problem = alone(int(counts.sum()), rng.random(), 3 * rng.random(), saturation)
        cost = time_costs(problem.problem, np.array([0]), counts[None])[0]
        schedule = problem.schedule(problem.row([0], counts[None]))
        assert np.array_equal(schedule.counts[0], counts)
        assert schedule.finish[0] - schedule.start[0] == pytest.approx(1000 * cost, rel=1e-12)
        saturated += schedule.metrics().saturated_seconds > 0
    assert saturated > 10


def test_the_cost_of_a_group_is_one_that_the_engine_gives_with_all_of_it() -> None:
    """Tests that by each group a job is predicted to run as on some nodes that hold all it can of that group."""
    for tasks in (2, 4, 5, 9, 13):
        problem = alone(tasks, 0.4, 1.0)
        cost = costs_by_group(problem.problem, problem.space.limits)[0]
        for g, nodes in enumerate(NODES):
            having_all = [counts for counts in spreads(tasks) if counts[g] == min(tasks, nodes)]
            runs = [problem.schedule(problem.row([0], counts[None])).finish[0] for counts in having_all]
            assert np.isclose(runs, 1000 * cost[g], rtol=1e-12).any()


SIZES = fs.Federation(
    tuple(
        replace(cluster, groups=tuple(replace(group, resources={"cpu": next(cpus)}) for group in cluster.groups))
        for cpus in (iter((4, 2, 1, 3)),)
        for cluster in THREE.clusters
    )
)
FITS = np.array([4, 2, 1, 3])


def on_several_sizes(tasks: int, sigma: float, bandwidth: float) -> SearchProblem:
    """Return the same problem on nodes that hold different numbers of its tasks, on which the job is alone."""
    given = {"compute_fraction": sigma, "task_bandwidth": bandwidth, "layout": {"exclusive": 1}}
    job = fs.Workload(submit=[0], tasks=[tasks], runtime=[1000], **given)
    return SearchProblem(job, SIZES, Objectives(("makespan",)))


def test_a_job_on_nodes_of_several_sizes_runs_as_predicted() -> None:
    """Tests the same of jobs that count tasks: of what they send the last node that can be is not full."""
    rng = np.random.default_rng(5)
    saturated = 0
    for _ in range(60):
        counts = rng.integers(0, NODES + 1)
        counts[rng.integers(len(NODES))] += counts.sum() == 0
        tasks = int(counts @ FITS) - int(rng.integers(FITS[counts > 0].min()))
        problem = on_several_sizes(tasks, rng.random(), 3 * rng.random())
        cost = time_costs(problem.problem, np.array([0]), counts[None])[0]
        schedule = problem.schedule(problem.row([0], counts[None]))
        schedule.verify()
        assert np.array_equal(schedule.counts[0], counts)
        assert schedule.finish[0] - schedule.start[0] == pytest.approx(1000 * cost, rel=1e-12)
        saturated += schedule.metrics().saturated_seconds > 0
    assert saturated > 10


def test_the_cost_of_a_group_of_several_sizes_is_one_that_the_engine_gives() -> None:
    """Tests that by each group such a job is predicted to run as on some nodes with much of that group."""
    every = np.indices(NODES + 1).reshape(len(NODES), -1).T
    for tasks in (7, 16):
        problem = on_several_sizes(tasks, 0.4, 1.0)
        cost = costs_by_group(problem.problem, problem.space.limits)[0]
        for g, nodes in enumerate(NODES):
            empty = every @ FITS - tasks
            some = (every[:, g] > 0) & (empty >= 0) & (empty < np.where(every > 0, FITS, 0).max(axis=1))
            runs = [problem.schedule(problem.row([0], counts[None])) for counts in every[some]]
            much = [run.counts[0, g] > nodes // 2 or run.counts[0, g] * FITS[g] >= tasks for run in runs]
            found = [run.finish[0] for run, has_much in zip(runs, much, strict=True) if has_much]
            assert np.isclose(found, 1000 * cost[g], rtol=1e-12).any()


def test_groups_that_a_job_may_not_use_are_never_chosen() -> None:
    """Tests that a group outside a job's limits costs infinitely and leaves the other groups' costs finite."""
    problem = alone(4, 0.4, 1.0)
    limits = problem.space.limits.copy()
    limits[0, 2] = 0
    cost = costs_by_group(problem.problem, limits)[0]
    assert np.isfinite(cost).tolist() == [True, True, False, True]


def test_without_communication_the_slowest_node_is_all_that_counts() -> None:
    """Tests that where tasks send nothing the time cost is σ·PS + 1 − σ, whatever the uplinks."""
    problem = alone(2, 0.4, 0.0)
    expected = 0.4 / np.array([2.0, 0.5, 1.25, 1.0]) + 0.6
    assert costs_by_group(problem.problem, problem.space.limits)[0] == pytest.approx(expected)


def test_thin_uplinks_are_closed_to_jobs_that_must_span() -> None:
    """Tests that of clusters alike but for their uplinks, jobs that any two of them hold leave out the thin one."""
    jobs = fs.Workload(submit=[0] * 50, tasks=[12] * 50, runtime=[10] * 50, compute_fraction=0.1, task_bandwidth=1.0)
    uplinks = (40.0, 0.5, 40.0)
    clusters = tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(8),), uplink) for k, uplink in enumerate(uplinks))
    problem = SearchProblem(jobs, fs.Federation(clusters), Objectives(("makespan",)))
    rows = np.tile(problem.row(np.arange(50)), (40, 1))
    favour_fast_groups(problem)(rows, np.random.default_rng(1))
    first, thin, last = (problem.layout.caps(rows) > 0).mean(axis=(0, 1))
    assert first == last == 1.0
    assert thin < 0.85
