"""Packages of jobs that wait from the start, on clusters that know nothing of each other, or do."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.model.reading import KNOWLEDGE, SATURATION, Reading
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import Run
from fedsched.search.run.stopping import MaxEvaluations
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.search.problem.packed import PackedProblem


def federation(rng: np.random.Generator, *, groups: int = 2, least: int = 2) -> fs.Federation:
    """Return clusters of one or several groups, with uplinks that some jobs would saturate."""
    clusters = []
    for k in range(int(rng.integers(least, 5))):
        speeds = rng.choice([0.5, 0.8, 1.0, 2.0], int(rng.integers(1, groups + 1))).tolist()
        nodes = [fs.NodeGroup(int(rng.integers(1, 12)), speed, 60.0 + 90.0 * speed**1.5, 60.0) for speed in speeds]
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


def sliced(slices: list[int], asked: list[int]) -> type[Run]:
    """Return a kind of run that looks at the clock after the next number of plans in `slices`.

    It notes in `asked` how many plans each look was for.
    """

    class Sliced(Run):
        """A run that takes its slices from outside."""

        def trials(self, most: int, *, plans: int = 1) -> int:
            asked.append(plans)
            return min(most, slices.pop(0)) if slices else most

    return Sliced


def run_of(problem: PackedProblem, rng: np.random.Generator, *, evaluations: int = 10**9, kind: type[Run] = Run) -> Run:
    """Return a run whose seed plan is one of chance."""
    rows = problem.random_rows(20, rng)
    values = problem.values(rows)
    reference = np.abs(values).max(axis=0) + 1.0
    lowest = np.full(values.shape[1], -np.inf)
    return kind(problem, 1, [MaxEvaluations(evaluations)], reference, rows[:1], lowest)


def any_problem(machine: fs.Federation, rng: np.random.Generator, names: list[str], *, wide: bool) -> SearchProblem:
    """Return a package under any reading, with requests unlike the run times."""
    jobs = package(machine, rng, jobs=int(rng.integers(2, 30)), wide=wide)
    jobs = replace(jobs, estimate=np.ceil(jobs.runtime * rng.choice([0.5, 1.0, 3.0], len(jobs))))
    reading = Reading(
        knowledge=str(rng.choice(KNOWLEDGE)),
        saturation=str(rng.choice(SATURATION)),
        kill_at_estimate=bool(rng.random() < 0.3),
    )
    return SearchProblem(jobs, machine, Objectives.of(names), reading=reading)


BASE = {"submit": np.zeros(6), "tasks": [1, 2, 3, 1, 2, 3], "runtime": [5.0, 4.0, 3.0, 2.0, 9.0, 8.0]}
TWO = fs.Federation.of(4, 4)


def longest_wait(metrics: dict[str, np.ndarray]) -> np.ndarray:
    """Return an objective of a user's own."""
    return metrics["max_wait"]


def going_on(*tasks: int) -> SearchProblem:
    """Return a problem of jobs of which the first run already."""
    workload = fs.Workload(**BASE | {"tasks": tasks})
    running = prepare(workload, TWO, "fcfs").advance(until=1.0).running()
    return SearchProblem(workload, TWO, Objectives.of("makespan"), submits="keep", running=running)


def keeping(machine: fs.Federation = TWO, **columns: object) -> SearchProblem:
    """Return a problem of jobs, or of a machine, that have what units know nothing of."""
    return SearchProblem(fs.Workload(**BASE, **columns), machine, Objectives.of("makespan"), submits="keep")


WHOLE = {
    "one cluster": lambda: SearchProblem(fs.Workload(**BASE), fs.Federation.of(8), Objectives.of("makespan")),
    "a job too wide for each": lambda: SearchProblem(
        fs.Workload(**BASE | {"tasks": [1, 2, 3, 1, 2, 5]}), TWO, Objectives.of("makespan")
    ),
    "jobs that run already": lambda: going_on(4, 4, 4, 4, 4, 4),
    "submitted later": lambda: SearchProblem(
        fs.Workload(**BASE | {"submit": [0.0, 0, 0, 0, 0, 5]}), TWO, Objectives.of("makespan"), submits="keep"
    ),
    "a metric of the whole": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of("saturated_seconds")),
    "one that is 0 here": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of(("makespan", "requeues"))),
    "a user's function": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of([longest_wait])),
    "licences": lambda: keeping(replace(TWO, pools=(fs.Pool("licences", 2),)), pools={"licences": [1] * 6}),
    "held jobs": lambda: keeping(held={2: [(0.0, 5.0)]}),
    "jobs that wait for others": lambda: keeping(after={2: "afterok:1"}),
    "think times": lambda: keeping(feedback={"preceding": [-1, 1, 2, 3, 4, 5], "think_time": [0.0, 3.0, 0, 0, 0, 0]}),
    "earliest starts": lambda: keeping(begin=[0.0, 3.0, 0.0, 0.0, 0.0, 0.0]),
    "jobs that are cancelled by now": lambda: keeping(cancel_at=[0.0, -1, -1, -1, -1, -1]),
    "limits": lambda: keeping(replace(TWO, limits=(fs.Limit("user", jobs=1),)), user=[1] * 6),
    "arrays of which some run at a time": lambda: keeping(labels={"array": ["7%2"] * 6}),
    "partitions of two tiers": lambda: keeping(
        replace(TWO, partitions=(fs.Partition("p", {"C1": "all"}), fs.Partition("q", {"C2": "all"}, tier=2))),
        labels={"partition": ["p", "q"] * 3},
    ),
    "downtimes": lambda: keeping(replace(TWO, calendar=(fs.Downtime("C1", 3.0, 9.0),))),
    "a cap on power": lambda: keeping(replace(TWO, signals=(fs.Signal((0.0,), (1e6,), "W"),))),
    "shapes to choose from": lambda: SearchProblem(
        fs.Workload(**BASE, alternatives={1: [(1, 5.0), (2, 3.0)]}), TWO, Objectives.of("makespan"), alternatives="free"
    ),
    "jobs that plans put off": lambda: SearchProblem(
        fs.Workload(**BASE, slack=[9.0] * 6), TWO, Objectives.of("makespan"), delays=True
    ),
}
