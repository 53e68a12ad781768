"""Fronts of tiny problems, proven: every order of the jobs with every choice of their nodes, run by the engine."""

from __future__ import annotations

from itertools import islice, permutations, product
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.archive import non_dominated

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.search.problem.objectives import Objectives

AT_ONCE = 20_000  # plans


def tiny(seed: int, jobs: int = 5) -> tuple[fs.Workload, fs.Federation]:
    """Return jobs of one to three tasks on two clusters of two speeds, of which the fast one is hungry."""
    rng = np.random.default_rng([seed, jobs])
    runtime = rng.integers(10, 100, size=jobs)
    workload = fs.Workload(submit=np.zeros(jobs), tasks=rng.integers(1, 4, size=jobs), runtime=runtime, name="tiny")
    slow, fast = fs.NodeGroup(3, 1.0, 100.0, 10.0), fs.NodeGroup(2, 2.0, 600.0, 60.0)
    return workload, fs.Federation((fs.Cluster("slow", (slow,)), fs.Cluster("fast", (fast,))), name="two speeds")


def enumerated_front(workload: fs.Workload, cluster: fs.Federation, objectives: Objectives) -> Floats:
    """Return the values of the front of all schedules, the first objective ascending.

    In any schedule, let jobs start in the same order on as many nodes of each group, as early as those are free: none
    starts later. So where no job is slowed by others (tasks send nothing), and all objectives get no better when jobs
    end later, the strict plans of all orders and all choices of nodes have the front of all schedules among them.
    """
    problem = SearchProblem(workload, cluster, objectives)
    if problem.problem.bandwidth.any():
        raise ValueError(f"{workload.name}: tasks send, so a job may be slowed by others, and starting early may hurt.")
    front = np.zeros((0, len(objectives.names)))
    rows = all_plans(problem)
    while some := list(islice(rows, AT_ONCE)):
        together = np.concatenate([front, problem.values(np.array(some))])
        front = together[non_dominated(together)]
    return front[np.argsort(front[:, 0], kind="stable")]


def all_plans(problem: SearchProblem) -> Iterator[Ints]:
    """Yield strict plans of all orders and all choices of nodes."""
    layout, limits = problem.layout, problem.space.limits
    rules = np.array([[Dispatch.STRICT, Placement.FASTEST]], dtype=np.int64)
    choices = [list(spreads(limit.tolist(), int(n))) for limit, n in zip(limits, problem.problem.tasks, strict=True)]
    orders = [np.array([order], dtype=np.int64) for order in permutations(range(layout.jobs))]
    for chosen in product(*choices):
        caps = np.array([chosen], dtype=np.int64)
        for order in orders:
            yield layout.pack(order, caps, rules)[0]


def spreads(limits: Sequence[int], tasks: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to take so many nodes from groups with these limits."""
    if not limits:
        if tasks == 0:
            yield ()
        return
    for here in range(min(limits[0], tasks) + 1):
        for rest in spreads(limits[1:], tasks - here):
            yield (here, *rest)
