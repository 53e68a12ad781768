"""The slowdown that the model predicts of jobs on given nodes (eqs. 1.1 to 1.5, 1.7): what guides `ga-slowdown`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.placement.tasks_per_node import places_on, tasks_in_all
from fedsched.model.jobs.uneven import standing_in

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem


def time_costs(problem: Problem, jobs: Ints, counts: Ints) -> Floats:
    """Return the time costs of some of the problem's jobs on such nodes (jobs × groups), each job alone.

    Computing is as slow as the slowest node, communication as the uplink of which the job asks for most beyond its
    bandwidth. So a job that shares no uplink runs exactly runtime × time cost; one that shares some may run longer.
    """
    groups, sigma = problem.groups, problem.sigma[jobs]
    bandwidth = problem.bandwidth[jobs, None]
    fits, _ = places_on(problem, jobs)
    each, whole = tasks_in_all(problem, jobs)
    alike = fits.max(axis=1) == fits.min(axis=1)
    fits[alike] = each[alike, None]
    processing = np.where(counts > 0, groups.slowdown, 0.0).max(axis=1)
    here = standing_in(fits, whole, counts, groups.cluster)
    tasks = whole[:, None]
    demand = here * bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    communication = np.maximum(demand / groups.uplink, 1.0).max(axis=1)
    return sigma * processing + (1.0 - sigma) * communication


def costs_by_group(problem: Problem, limits: Ints) -> Floats:
    """Return jobs × groups: the time cost where a job takes as many nodes of that group as it needs and may have.

    Tasks that the group does not hold go to the rest of its cluster; what that does not hold either goes to another
    cluster, the one with which the cost is least, and then to the others; the fastest groups first, everywhere.
    """
    groups, (fits, tasks) = problem.groups, places_on(problem, np.arange(len(limits)))
    fast_of = [groups.fast[groups.cluster[groups.fast] == k] for k in range(groups.uplink.size)]
    costs = np.full(limits.shape, np.inf)
    for g in range(limits.shape[1]):
        own = groups.cluster[g]
        inside = (limits * fits)[:, groups.cluster == own].sum(axis=1) >= tasks
        for second in range(groups.uplink.size):
            jobs = np.flatnonzero((limits[:, g] > 0) & (inside == (second == own)))
            order = dict.fromkeys((g, *fast_of[own], *fast_of[second], *groups.fast))  # each group at its first place
            found = time_costs(problem, jobs, filled(limits[jobs], tasks[jobs], fits[jobs], order))
            costs[jobs, g] = np.minimum(costs[jobs, g], found)
    return costs


def filled(limits: Ints, tasks: Ints, fits: Ints, groups: Iterable[int]) -> Ints:
    """Return the nodes that jobs take (jobs × groups, within limits) where they fill the groups in this order."""
    counts, left = np.zeros_like(limits), tasks
    for g in groups:
        counts[:, g] = np.minimum(limits[:, g], -(-left // np.maximum(fits[:, g], 1)))
        left = np.maximum(left - counts[:, g] * fits[:, g], 0)
    return counts
