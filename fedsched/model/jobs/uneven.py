"""Uneven jobs: their number of nodes depends on the placement [76].

An uneven job has its nodes to itself, and nodes of different groups may hold different numbers of its tasks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.demands import tasks_per_empty_node
from fedsched.model.jobs.layout import PER_NODE, layout_of, own_tasks, tasks_on_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

CURE = f"say how many tasks run on each node ({PER_NODE}), or ask for nodes of one kind"


def are_uneven(workload: Workload) -> NDArray[np.bool_]:
    """Return which jobs are uneven: their number of nodes depends on the placement.

    The `tasks` of such a job is the fewest nodes possible.
    """
    if workload.layout is None:
        return np.zeros(len(workload), dtype=np.bool_)
    return np.asarray((tasks_on_nodes(workload) > 0) & (layout_of(workload)[0] == 0))


def widest_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return the largest number of tasks that each job has in any of its shapes, its present shape included."""
    found = own_tasks(workload).copy()
    if (among := workload.alternatives) is not None:
        np.maximum.at(found, among.owner, among.tasks)
    return found


def uneven_fits(workload: Workload, federation: Federation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the uneven jobs, and uneven jobs × groups: how many of the job's tasks fit on a node.

    The numbers are for an empty node of the group, and at most the job's tasks in its widest shape.
    """
    rows = np.flatnonzero(are_uneven(workload))
    if not rows.size:
        return rows, np.zeros((0, len(federation.groups)), dtype=np.int64)
    room = tasks_per_empty_node(workload.take(rows), federation)
    return rows, np.minimum(room, widest_tasks(workload)[rows, None])


def counted_tasks_per_node(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks of an uneven job fit on a node of the group; 1 for all other jobs."""
    found = np.ones((len(workload), len(federation.groups)), dtype=np.int64)
    rows, fits = uneven_fits(workload, federation)
    found[rows] = fits
    return found


def counted_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return how many places each job needs if each of its nodes has `counted_tasks_per_node` places for it.

    That is the job's true number of tasks if it is uneven, else its `tasks`.
    """
    return np.asarray(np.where(are_uneven(workload), tasks_on_nodes(workload), workload.tasks))


def tasks_in_clusters(
    workload: Workload, federation: Federation, job: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return runs × clusters: how many tasks of a run are on the nodes of a cluster.

    `job` is the row of each run's job, and `counts` (runs × groups) the nodes that the run takes in each group.
    """
    fits, each = counted_tasks_per_node(workload, federation), layout_of(workload)[0]
    alike = (tasks_on_nodes(workload) > 0) & (each > 0)
    fits[alike] = each[alike, None]
    return split_by_cluster(fits[job], own_tasks(workload)[job], counts, np.array(federation.group_cluster))


def split_by_cluster(
    fits: NDArray[np.int64], tasks: NDArray[np.int64], counts: NDArray[np.int64], cluster: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return runs × clusters: how many of a run's `tasks` are on its nodes in each cluster.

    A run has `counts` nodes of each group, and each of them has places for `fits` tasks (both runs × groups).
    `cluster` is the cluster of each group. All nodes are full except one, which has all the empty places: it is in the
    last group with nodes of more places than are empty.
    """
    places = counts * fits
    empty = np.maximum(places.sum(axis=1) - tasks, 0)
    may = (counts > 0) & (fits > empty[:, None])
    last = counts.shape[1] - 1 - np.argmax(may[:, ::-1], axis=1)
    here = np.stack([places[:, cluster == c].sum(axis=1) for c in range(cluster.max() + 1)], axis=1)
    here[np.arange(len(counts)), cluster[last]] -= empty
    return np.asarray(here)


def fewest_nodes(
    fits: NDArray[np.int64], nodes: NDArray[np.int64], tasks: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each job, the fewest nodes of an empty machine that hold its tasks, and how many tasks lack a place.

    `nodes` is the number of nodes that a job may use in each group. `fits` is how many of its tasks each of them holds
    (both jobs × groups). For tasks that lack a place, further nodes like those that hold most tasks are counted.
    """
    order = np.argsort(-fits, axis=1, kind="stable")
    fits, nodes = np.take_along_axis(fits, order, axis=1), np.take_along_axis(nodes, order, axis=1)
    before = np.cumsum(fits * nodes, axis=1) - fits * nodes
    left = np.maximum(tasks[:, None] - before, 0)
    taken = np.where(fits > 0, np.minimum(nodes, -(-left // np.maximum(fits, 1))), 0)
    lacking = np.maximum(tasks - (fits * nodes).sum(axis=1), 0)
    return taken.sum(axis=1) - (-lacking // np.maximum(fits[:, 0], 1)), lacking


def drop_spare_nodes(
    counts: NDArray[np.int64], fits: NDArray[np.int64], tasks: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return `counts`, each job's nodes per group, without the nodes that the job does not need for its tasks.

    Nodes that hold the fewest tasks are dropped first. `fits` is how many of the job's tasks a node of a group holds.
    """
    left = counts.copy()
    for _ in range(counts.shape[1]):
        empty = (left * fits).sum(axis=1) - tasks
        spare = (left > 0) & (fits <= empty[:, None])
        rows = np.flatnonzero(spare.any(axis=1))
        if not rows.size:
            break
        g = np.where(spare, fits, np.iinfo(np.int64).max)[rows].argmin(axis=1)
        left[rows, g] -= np.minimum(left[rows, g], empty[rows] // fits[rows, g])
    return left


def most_nodes(workload: Workload, federation: Federation, tasks: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the most nodes that any placement gives each job: its `tasks` column, unless the job is uneven.

    The argument `tasks` is each job's true number of tasks. An uneven job has most nodes if each node holds the fewest
    tasks that a node of any group holds.
    """
    most = workload.tasks.copy()
    rows, fits = uneven_fits(workload, federation)
    least = np.where(fits > 0, fits, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    most[rows] = -(-tasks[rows] // least)
    return most


def least_stretch(workload: Workload, federation: Federation, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the least factor by which each job's run time is multiplied; infinite if its groups cannot hold it.

    The job takes the fastest groups that it may use (`usable`), as many as it needs. The compute fraction of its run
    time is divided by the speed of the slowest of them; the rest of the run time is unchanged.
    """
    groups = federation.groups
    left, slowdown = counted_tasks(workload).copy(), np.full(len(workload), np.inf)
    held = usable * counted_tasks_per_node(workload, federation)
    for g in sorted(range(len(groups)), key=lambda g: -groups[g].speed):
        enough = (left > 0) & (left <= groups[g].count * held[:, g])
        slowdown[enough] = 1.0 / groups[g].speed
        left -= groups[g].count * held[:, g]
    sigma = workload.compute_fraction
    with np.errstate(invalid="ignore"):  # no computation, and no group that holds the job
        return np.asarray(sigma * slowdown + (1.0 - sigma))
