"""How tasks stand on nodes, of jobs with several tasks to a node that send over uplinks: what they send [76].

A job's tasks are nodes everywhere else. Every function takes the extras first. Where a problem has none it is compiled
to nothing; where no job has several tasks to a node, and sends, the arrays are of no size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import inlined
from fedsched.references import by_reference

if TYPE_CHECKING:
    from fedsched.engine.arrays import Extras, Floats, Groups, Ints, Problem


@by_reference
class Standing(NamedTuple):
    """How many tasks stand on the nodes of each job."""

    each: Ints  # on each node but the last; 0: a task has a node of its own, or it sends nothing
    tasks: Ints  # on all


@inlined
def counts_tasks(extras: Extras | None, j: int) -> bool:
    """Return whether what a job sends counts tasks, several of which stand on a node."""
    if extras is None:
        return False
    each = extras.standing.each
    return each.size > 0 and each[j] > 0


@inlined
def fill_demand(
    extras: Extras | None, groups: Groups, j: int, bandwidth: float, counts: Ints, demand: Floats
) -> bool:
    """Fill the demand of such a job on every uplink (eq. 1.2); return whether it sends anything between clusters.

    The node that is not full is the last of those that it has.
    """
    if extras is None:
        return False
    each, tasks = extras.standing.each[j], extras.standing.tasks[j]
    room, last = 0, 0
    for k in range(groups.uplink.size):
        here = 0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            here += counts[g]
        demand[k] = here * each
        room += here * each
        if here > 0:
            last = k
    demand[last] -= room - tasks
    communicates = False
    for k in range(groups.uplink.size):
        here = demand[k]
        demand[k] = 0.0
        if 0 < here < tasks:
            demand[k] = here * bandwidth * (tasks - here) / (tasks - 1)
            communicates = communicates or demand[k] > 0.0
    return communicates


def standing_of(problem: Problem) -> Standing | None:
    """Return how tasks stand on the nodes of a problem's jobs; None where nobody asks."""
    return None if problem.extras is None or not problem.extras.standing.each.size else problem.extras.standing


def with_tasks(problem: Problem, tasks: Ints) -> Problem:
    """Return the problem whose jobs have so many tasks on their nodes; as it is where nobody asks."""
    standing = standing_of(problem)
    if standing is None or problem.extras is None:
        return problem
    return problem._replace(extras=problem.extras._replace(standing=standing._replace(tasks=tasks)))


def tasks_in_all(problem: Problem, jobs: Ints) -> tuple[Ints, Ints]:
    """Return how many tasks of these jobs stand on each node, and how many there are, as what they send counts them."""
    standing = standing_of(problem)
    if standing is None:
        return np.ones(jobs.size, dtype=np.int64), problem.tasks[jobs]
    each = standing.each[jobs]
    return np.maximum(each, 1), np.where(each > 0, standing.tasks[jobs], problem.tasks[jobs])
