"""Jobs with several tasks per node: what they send between clusters, and how many nodes they take [76].

Everywhere else a job's `tasks` are its nodes. A job is uneven if nodes of different groups hold different numbers of
its tasks. Then its number of nodes depends on the placement, and `tasks` is the fewest.

Every function takes the extras first, and is compiled to nothing if a problem has none. The arrays are empty if no job
is uneven, and no job with several tasks per node communicates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Groups, Ints, Problem


@by_reference
class TasksPerNode(NamedTuple):
    """The tasks of each job, per node and in total; for uneven jobs, the tasks that a node of each group holds."""

    each: Ints  # tasks on each node but the last; 0: one task per node, or the job sends nothing
    tasks: Ints  # tasks in total
    row: Ints  # row of `fits` of an uneven job, else -1; empty if no job is uneven
    fits: Ints  # row x group: how many of the job's tasks a node holds


@inlined
def is_uneven(extras: Extras | None, j: int) -> bool:
    """Return whether a job is uneven: nodes of different groups hold different numbers of its tasks."""
    if extras is None:
        return False
    row = extras.standing.row
    return row.size > 0 and row[j] >= 0


@inlined
def nodes_taken(extras: Extras | None, tasks: int, j: int, counts: Ints) -> int:
    """Return how many nodes a job takes: the sum of `counts` (per group) if it is uneven, else its `tasks`."""
    if is_uneven(extras, j):
        return counts.sum()
    return tasks


@inlined
def counts_tasks(extras: Extras | None, j: int) -> bool:
    """Return whether a job's demand on uplinks is computed from its tasks, not its nodes."""
    if extras is None:
        return False
    each = extras.standing.each
    return (each.size > 0 and each[j] > 0) or is_uneven(extras, j)


@inlined
def _on_a_node(per_node: TasksPerNode, j: int, g: int) -> int:
    if per_node.row.size > 0 and per_node.row[j] >= 0:
        return per_node.fits[per_node.row[j], g]
    return per_node.each[j]


@part
def fill_demand(
    extras: Extras | None, groups: Groups, j: int, bandwidth: float, counts: Ints, demand: Floats
) -> bool:
    """Fill `demand` with the bandwidth that a job needs on each cluster's uplink, counted by its tasks (eq. 1.2).

    Return whether it sends anything between clusters. `counts` are its nodes per group. If there are more places than
    tasks, the last of its nodes that holds more tasks than there are empty places has these.
    """
    if extras is None:
        return False
    per_node, tasks = extras.standing, extras.standing.tasks[j]
    room, last = 0, 0
    for k in range(groups.uplink.size):
        demand[k] = 0.0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            demand[k] += counts[g] * _on_a_node(per_node, j, g)
            room += counts[g] * _on_a_node(per_node, j, g)
    for k in range(groups.uplink.size):
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            if counts[g] > 0 and _on_a_node(per_node, j, g) > room - tasks:
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


def tasks_per_node_of(problem: Problem) -> TasksPerNode | None:
    """Return the arrays of tasks per node of a problem's jobs; None if it has none."""
    return None if problem.extras is None or not problem.extras.standing.each.size else problem.extras.standing


def rows_of(per_node: TasksPerNode, jobs: Ints | slice) -> TasksPerNode:
    """Return the arrays of tasks per node of only the given jobs, read-only."""
    each, tasks, row = (np.ascontiguousarray(column[jobs] if column.size else column) for column in per_node[:3])
    for column in (each, tasks, row):
        column.setflags(write=False)
    return TasksPerNode(each, tasks, row, per_node.fits)


def with_tasks(problem: Problem, tasks: Ints) -> Problem:
    """Return the problem with other total tasks of its jobs; unchanged if it has no arrays of tasks per node."""
    per_node = tasks_per_node_of(problem)
    if per_node is None or problem.extras is None:
        return problem
    return problem._replace(extras=problem.extras._replace(standing=per_node._replace(tasks=tasks)))


def tasks_in_all(problem: Problem, jobs: Ints) -> tuple[Ints, Ints]:
    """Return for each of these jobs the most tasks on one node, and its total tasks.

    Jobs with communication that is not counted by tasks have 1 per node, and their nodes as tasks.
    """
    per_node = tasks_per_node_of(problem)
    if per_node is None:
        return np.ones(jobs.size, dtype=np.int64), problem.tasks[jobs]
    each = per_node.each[jobs]
    if per_node.row.size:
        row = per_node.row[jobs]
        each = np.where(row >= 0, per_node.fits.max(axis=1)[row], each)
    return np.maximum(each, 1), np.where(each > 0, per_node.tasks[jobs], problem.tasks[jobs])


def places_on(problem: Problem, jobs: Ints) -> tuple[Ints, Ints]:
    """Return jobs × groups: how many of a job's tasks a node holds, 1 if the job is not uneven.

    Also return how many of these a job needs: its total tasks if it is uneven, else its nodes.
    """
    fits, tasks = np.ones((jobs.size, problem.groups.nodes.size), dtype=np.int64), problem.tasks[jobs]
    per_node = tasks_per_node_of(problem)
    if per_node is None or not per_node.row.size:
        return fits, tasks
    row = per_node.row[jobs]
    fits[row >= 0] = per_node.fits[row[row >= 0]]
    return fits, np.where(row >= 0, per_node.tasks[jobs], tasks)


def most_nodes(problem: Problem) -> Ints:
    """Return for each job the most nodes that it takes under any placement: its `tasks` unless it is uneven."""
    per_node = tasks_per_node_of(problem)
    if per_node is None or not per_node.row.size:
        return problem.tasks
    least = np.where(per_node.fits > 0, per_node.fits, per_node.tasks.max()).min(axis=1)
    return np.where(per_node.row >= 0, -(-per_node.tasks // least[per_node.row]), problem.tasks)


def most_of_groups(problem: Problem, jobs: Ints, tasks: Ints) -> Ints:
    """Return the most nodes of each group that these jobs can take: jobs × groups.

    For a job that is not uneven it is `tasks` in every group. If no job is uneven, return one column only.
    """
    per_node = tasks_per_node_of(problem)
    if per_node is None or not per_node.row.size:
        return tasks[:, None]
    row = per_node.row[jobs]
    fits = per_node.fits[row]
    most = np.where(fits > 0, -(-per_node.tasks[jobs, None] // np.maximum(fits, 1)), 0)
    return np.where(row[:, None] >= 0, most, tasks[:, None])
