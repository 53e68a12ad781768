"""Packages of jobs that wait from the start, on clusters that know nothing of each other, or do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem
from fedsched.search.run import Run
from fedsched.search.stopping import MaxEvaluations
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.search.packed import PackedProblem


def federation(rng: np.random.Generator, *, groups: int = 2, least: int = 2) -> fs.Federation:
    """Return clusters of one or several groups, with uplinks that some jobs would saturate."""
    clusters = []
    for k in range(int(rng.integers(least, 5))):
        speeds = rng.choice([0.5, 0.8, 1.0, 2.0], int(rng.integers(1, groups + 1)))
        nodes = [fs.NodeGroup(int(rng.integers(1, 12)), float(speed), 150.0 * speed, 60.0) for speed in speeds]
        clusters.append(fs.Cluster(f"C{k}", tuple(nodes), uplink=float(rng.choice([3.0, 1e9]))))
    return fs.Federation(tuple(clusters))


def package(machine: fs.Federation, rng: np.random.Generator, *, jobs: int, wide: bool = False) -> fs.Workload:
    """Return jobs that wait from the start and would communicate; each fits into one cluster, or if wide into two."""
    nodes = sorted(cluster.nodes for cluster in machine.clusters)
    tasks = rng.integers(1, nodes[-1] + 1, jobs)
    if wide:
        tasks[rng.random(jobs) < 0.3] = rng.integers(nodes[-1] + 1, sum(nodes[-2:]) + 1)
    return fs.Workload(
        submit=np.zeros(jobs),
        tasks=tasks,
        runtime=rng.integers(1, 100, jobs).astype(float),
        compute_fraction=rng.random(jobs),
        task_bandwidth=2.0 * rng.random(jobs),
    )


def run_of(problem: PackedProblem, rng: np.random.Generator, *, evaluations: int = 10**9, kind: type[Run] = Run) -> Run:
    """Return a run whose seed plan is one of chance."""
    rows = problem.random_rows(20, rng)
    values = problem.values(rows)
    reference = np.abs(values).max(axis=0) + 1.0
    lowest = np.full(values.shape[1], -np.inf)
    return kind(problem, 1, [MaxEvaluations(evaluations)], reference, rows[:1], lowest)


BASE = {"submit": np.zeros(6), "tasks": [1, 2, 3, 1, 2, 3], "runtime": [5.0, 4.0, 3.0, 2.0, 9.0, 8.0]}
TWO = fs.Federation.of(4, 4)


def longest_wait(metrics: dict[str, np.ndarray]) -> np.ndarray:
    """Return an objective of a user's own."""
    return metrics["max_wait"]


def going_on() -> PackedProblem:
    """Return a problem with a job that runs already."""
    workload = fs.Workload(**BASE)
    running = prepare(workload, TWO, "fcfs").advance(until=1.0).running()
    return SearchProblem(workload, TWO, Objectives.of("makespan"), submits="keep", running=running)


WHOLE = {
    "one cluster": lambda: SearchProblem(fs.Workload(**BASE), fs.Federation.of(8), Objectives.of("makespan")),
    "a job too wide for each": lambda: SearchProblem(
        fs.Workload(**BASE | {"tasks": [1, 2, 3, 1, 2, 5]}), TWO, Objectives.of("makespan")
    ),
    "submitted later": lambda: SearchProblem(
        fs.Workload(**BASE | {"submit": [0.0, 0, 0, 0, 0, 5]}), TWO, Objectives.of("makespan"), submits="keep"
    ),
    "a metric of the whole": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of("saturated_seconds")),
    "one that is 0 here": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of(("makespan", "requeues"))),
    "jobs that run already": going_on,
    "a user's function": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of([longest_wait])),
    "licences": lambda: SearchProblem(
        fs.Workload(**BASE, pools={"licences": [1] * 6}),
        fs.Federation(TWO.clusters, pools=[fs.Pool("licences", 2)]),
        Objectives.of("makespan"),
    ),
}
