"""The slowdown that the model predicts of jobs on given nodes (eqs. 1.1 to 1.5, 1.7): what guides `ga-slowdown`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.standing import tasks_in_all
from fedsched.model.layout import tasks_in_clusters

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.engine.arrays import Floats, Ints, Problem


def time_costs(problem: Problem, jobs: Ints, counts: Ints) -> Floats:
    """Return the time costs of some of the problem's jobs on such nodes (jobs × groups), each job alone.

    Computing is as slow as the slowest node, communication as the uplink of which the job asks for most beyond its
    bandwidth. So a job that shares no uplink runs exactly runtime × time cost; one that shares some may run longer.
    """
    groups, sigma = problem.groups, problem.sigma[jobs]
    bandwidth = problem.bandwidth[jobs, None]
    each, whole = tasks_in_all(problem, jobs)
    processing = np.where(counts > 0, groups.slowdown, 0.0).max(axis=1)
    here = tasks_in_clusters(np.add.reduceat(counts, groups.cluster_begin[:-1], axis=1), each, whole)
    tasks = whole[:, None]
    demand = here * bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    communication = np.maximum(demand / groups.uplink, 1.0).max(axis=1)
    return sigma * processing + (1.0 - sigma) * communication


def costs_by_group(problem: Problem, limits: Ints) -> Floats:
    """Return jobs × groups: the time cost where a job takes as many nodes of that group as its limits let it.

    Tasks that the group does not hold go to the rest of its cluster; what that does not hold either goes to another
    cluster, the one with which the cost is least, and then to the others; the fastest groups first, everywhere.
    """
    groups, tasks = problem.groups, problem.tasks[: len(limits)]
    fast_of = [groups.fast[groups.cluster[groups.fast] == k] for k in range(groups.uplink.size)]
    costs = np.full(limits.shape, np.inf)
    for g in range(limits.shape[1]):
        own = groups.cluster[g]
        inside = limits[:, groups.cluster == own].sum(axis=1) >= tasks
        for second in range(groups.uplink.size):
            jobs = np.flatnonzero((limits[:, g] > 0) & (inside == (second == own)))
            order = dict.fromkeys((g, *fast_of[own], *fast_of[second], *groups.fast))  # each group at its first place
            found = time_costs(problem, jobs, filled(limits[jobs], tasks[jobs], order))
            costs[jobs, g] = np.minimum(costs[jobs, g], found)
    return costs


def filled(limits: Ints, tasks: Ints, groups: Iterable[int]) -> Ints:
    """Return the nodes that jobs take (jobs × groups, within limits) where they fill the groups in this order."""
    counts, left = np.zeros_like(limits), tasks
    for g in groups:
        counts[:, g] = np.minimum(limits[:, g], left)
        left = left - counts[:, g]
    return counts
