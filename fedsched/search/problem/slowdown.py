"""Predicted slowdown of jobs on given nodes (equations 1.1 to 1.5 and 1.7 of the model), which guides `ga-slowdown`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.placement.tasks_per_node import places_on, tasks_in_all
from fedsched.model.jobs.uneven import split_by_cluster

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem


def time_costs(problem: Problem, jobs: Ints, counts: Ints) -> Floats:
    """Return each job's time cost on its node counts (jobs × groups) if it runs alone: a factor of its run time.

    Computing is as slow as the slowest node; communication is as slow as the uplink with the highest ratio of the
    job's demand to bandwidth. A job that shares no uplink runs exactly runtime × time cost; one that shares an
    uplink may run longer.
    """
    groups, sigma = problem.groups, problem.sigma[jobs]
    bandwidth = problem.bandwidth[jobs, None]
    fits, _ = places_on(problem, jobs)
    each, whole = tasks_in_all(problem, jobs)
    alike = fits.max(axis=1) == fits.min(axis=1)
    fits[alike] = each[alike, None]
    processing = np.where(counts > 0, groups.slowdown, 0.0).max(axis=1)
    here = split_by_cluster(fits, whole, counts, groups.cluster)
    tasks = whole[:, None]
    demand = here * bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    communication = np.maximum(demand / groups.uplink, 1.0).max(axis=1)
    return sigma * processing + (1.0 - sigma) * communication


def costs_by_group(problem: Problem, limits: Ints) -> Floats:
    """Return jobs × groups: a job's time cost if it takes as many nodes of that group as it needs and may use.

    Tasks that do not fit there go to the rest of its cluster, then to the second cluster with the least cost, then
    to the others. In each cluster the fastest groups come first. The cost is inf if the job may not use the group.
    """
    groups, (fits, tasks) = problem.groups, places_on(problem, np.arange(len(limits)))
    fast_of = [groups.fast[groups.cluster[groups.fast] == k] for k in range(groups.uplink.size)]
    costs = np.full(limits.shape, np.inf)
    for g in range(limits.shape[1]):
        own = groups.cluster[g]
        inside = (limits * fits)[:, groups.cluster == own].sum(axis=1) >= tasks
        for second in range(groups.uplink.size):
            jobs = np.flatnonzero((limits[:, g] > 0) & (inside == (second == own)))
            order = dict.fromkeys((g, *fast_of[own], *fast_of[second], *groups.fast))  # each group only once
            found = time_costs(problem, jobs, filled(limits[jobs], tasks[jobs], fits[jobs], order))
            costs[jobs, g] = np.minimum(costs[jobs, g], found)
    return costs


def filled(limits: Ints, tasks: Ints, fits: Ints, groups: Iterable[int]) -> Ints:
    """Return the nodes that jobs take (jobs × groups, within limits) if each fills the groups in the given order."""
    counts, left = np.zeros_like(limits), tasks
    for g in groups:
        counts[:, g] = np.minimum(limits[:, g], -(-left // np.maximum(fits[:, g], 1)))
        left = np.maximum(left - counts[:, g] * fits[:, g], 0)
    return counts
