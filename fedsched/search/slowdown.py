"""The slowdown that the model predicts of jobs on given nodes (eqs. 1.1 to 1.5, 1.7): what guides `ga-slowdown`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.engine.arrays import Floats, Ints, Problem


def time_costs(problem: Problem, counts: Ints) -> Floats:
    """Return the time costs of the problem's first jobs on such nodes (jobs × groups), each job alone.

    Computing is as slow as the slowest node, communication as the uplink of which the job asks for most beyond its
    bandwidth. So a job that shares no uplink runs exactly runtime × time cost; one that shares some may run longer.
    """
    groups, jobs = problem.groups, len(counts)
    tasks, sigma = problem.tasks[:jobs, None], problem.sigma[:jobs]
    processing = np.where(counts > 0, groups.slowdown, 0.0).max(axis=1)
    here = np.add.reduceat(counts, groups.cluster_begin[:-1], axis=1)
    demand = here * problem.bandwidth[:jobs, None] * (tasks - here) / np.maximum(tasks - 1, 1)
    communication = np.maximum(demand / groups.uplink, 1.0).max(axis=1)
    return sigma * processing + (1.0 - sigma) * communication


def costs_by_group(problem: Problem, limits: Ints) -> Floats:
    """Return jobs × groups: the time cost where a job takes as many nodes of that group as its limits let it.

    Tasks that the group does not hold go to one cluster and then to the others, the fastest groups first; that cluster
    is the one with which the cost is least.
    """
    groups = problem.groups
    tasks = problem.tasks[: len(limits)]
    costs = np.full(limits.shape, np.inf)
    for g in range(limits.shape[1]):
        may = limits[:, g] > 0
        for k in range(groups.uplink.size):
            inside = groups.fast[groups.cluster[groups.fast] == k]
            order = dict.fromkeys((g, *inside, *groups.fast))  # each group at its first place
            found = time_costs(problem, filled(limits, tasks, order))
            costs[may, g] = np.minimum(costs[may, g], found[may])
    return costs


def filled(limits: Ints, tasks: Ints, groups: Iterable[int]) -> Ints:
    """Return the nodes that jobs take (jobs × groups, within limits) where they fill the groups in this order."""
    counts, left = np.zeros_like(limits), tasks
    for g in groups:
        counts[:, g] = np.minimum(limits[:, g], left)
        left = left - counts[:, g]
    return counts
