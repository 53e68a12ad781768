"""How tasks stand on nodes, of jobs with several to a node: what they send, and how many nodes they take [76].

A job's tasks are nodes everywhere else, and as many as its placement makes them where nodes of different groups hold
different numbers of its tasks: then a problem's `tasks` are the fewest. Every function takes the extras first. Where a
problem has none it is compiled to nothing; where no job has several tasks to a node, and sends, or such nodes, the
arrays are of no size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Groups, Ints, Problem


@by_reference
class Standing(NamedTuple):
    """How many tasks stand on the nodes of each job."""

    each: Ints  # on each node but the last; 0: a task has a node of its own, or it sends nothing
    tasks: Ints  # on all
    row: Ints  # of `fits`, where nodes of different groups hold different numbers of its tasks, or -1; else of no size
    fits: Ints  # row x group: how many of its tasks a node holds


@inlined
def is_uneven(extras: Extras | None, j: int) -> bool:
    """Return whether nodes of different groups hold different numbers of a job's tasks."""
    if extras is None:
        return False
    row = extras.standing.row
    return row.size > 0 and row[j] >= 0


@inlined
def nodes_taken(extras: Extras | None, tasks: int, j: int, counts: Ints) -> int:
    """Return how many nodes a job takes that has these, or as many as it has `tasks`."""
    if is_uneven(extras, j):
        return counts.sum()
    return tasks


@inlined
def counts_tasks(extras: Extras | None, j: int) -> bool:
    """Return whether what a job sends counts tasks, several of which stand on a node."""
    if extras is None:
        return False
    each = extras.standing.each
    return (each.size > 0 and each[j] > 0) or is_uneven(extras, j)


@inlined
def _on_a_node(standing: Standing, j: int, g: int) -> int:
    if standing.row.size > 0 and standing.row[j] >= 0:
        return standing.fits[standing.row[j], g]
    return standing.each[j]


@part
def fill_demand(
    extras: Extras | None, groups: Groups, j: int, bandwidth: float, counts: Ints, demand: Floats
) -> bool:
    """Fill the demand of such a job on every uplink (eq. 1.2); return whether it sends anything between clusters.

    The node that is not full is the last of those that it has and that hold more than what is empty.
    """
    if extras is None:
        return False
    standing, tasks = extras.standing, extras.standing.tasks[j]
    room, last = 0, 0
    for k in range(groups.uplink.size):
        demand[k] = 0.0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            demand[k] += counts[g] * _on_a_node(standing, j, g)
            room += counts[g] * _on_a_node(standing, j, g)
    for k in range(groups.uplink.size):
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            if counts[g] > 0 and _on_a_node(standing, j, g) > room - tasks:
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


def of_rows(standing: Standing, jobs: Ints | slice) -> Standing:
    """Return how tasks stand on the nodes of some of the jobs."""
    each, tasks, row = (np.ascontiguousarray(column[jobs] if column.size else column) for column in standing[:3])
    for column in (each, tasks, row):
        column.setflags(write=False)
    return Standing(each, tasks, row, standing.fits)


def with_tasks(problem: Problem, tasks: Ints) -> Problem:
    """Return the problem whose jobs have so many tasks on their nodes; as it is where nobody asks."""
    standing = standing_of(problem)
    if standing is None or problem.extras is None:
        return problem
    return problem._replace(extras=problem.extras._replace(standing=standing._replace(tasks=tasks)))


def tasks_in_all(problem: Problem, jobs: Ints) -> tuple[Ints, Ints]:
    """Return how many tasks of these jobs stand on each node at most, and how many there are, as what they send is."""
    standing = standing_of(problem)
    if standing is None:
        return np.ones(jobs.size, dtype=np.int64), problem.tasks[jobs]
    each = standing.each[jobs]
    if standing.row.size:
        row = standing.row[jobs]
        each = np.where(row >= 0, standing.fits.max(axis=1)[row], each)
    return np.maximum(each, 1), np.where(each > 0, standing.tasks[jobs], problem.tasks[jobs])


def places_on(problem: Problem, jobs: Ints) -> tuple[Ints, Ints]:
    """Return how many tasks of these jobs a node of each group holds, and all; where they count nodes it holds one."""
    fits, tasks = np.ones((jobs.size, problem.groups.nodes.size), dtype=np.int64), problem.tasks[jobs]
    standing = standing_of(problem)
    if standing is None or not standing.row.size:
        return fits, tasks
    row = standing.row[jobs]
    fits[row >= 0] = standing.fits[row[row >= 0]]
    return fits, np.where(row >= 0, standing.tasks[jobs], tasks)


def most_nodes(problem: Problem) -> Ints:
    """Return on how many nodes each job is at most, wherever it is placed."""
    standing = standing_of(problem)
    if standing is None or not standing.row.size:
        return problem.tasks
    least = np.where(standing.fits > 0, standing.fits, standing.tasks.max()).min(axis=1)
    return np.where(standing.row >= 0, -(-standing.tasks // least[standing.row]), problem.tasks)


def most_of_groups(problem: Problem, jobs: Ints, tasks: Ints) -> Ints:
    """Return jobs × groups, or one column: how many nodes of a group these jobs, of so many tasks, take at most."""
    standing = standing_of(problem)
    if standing is None or not standing.row.size:
        return tasks[:, None]
    row = standing.row[jobs]
    fits = standing.fits[row]
    most = np.where(fits > 0, -(-standing.tasks[jobs, None] // np.maximum(fits, 1)), 0)
    return np.where(row[:, None] >= 0, most, tasks[:, None])
