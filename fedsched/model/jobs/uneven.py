"""Uneven jobs: alone on nodes that hold different numbers of their tasks, so the placement sets the node count [76]."""

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
    """Return which jobs are uneven: the placement sets their number of nodes; their `tasks` is the fewest."""
    if workload.layout is None:
        return np.zeros(len(workload), dtype=np.bool_)
    return np.asarray((tasks_on_nodes(workload) > 0) & (layout_of(workload)[0] == 0))


def widest_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return the number of tasks of each job in its widest shape."""
    found = own_tasks(workload).copy()
    if (among := workload.alternatives) is not None:
        np.maximum.at(found, among.owner, among.tasks)
    return found


def uneven_fits(workload: Workload, federation: Federation) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of the uneven jobs, and how many tasks of each a node of every group holds.

    The numbers are at most the job's tasks in its widest shape.
    """
    rows = np.flatnonzero(are_uneven(workload))
    if not rows.size:
        return rows, np.zeros((0, len(federation.groups)), dtype=np.int64)
    room = tasks_per_empty_node(workload.take(rows), federation)
    return rows, np.minimum(room, widest_tasks(workload)[rows, None])


def counted_tasks_per_node(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks of an uneven job one node of the group holds; 1 for all other jobs.

    The placement sets an uneven job's number of nodes.
    """
    found = np.ones((len(workload), len(federation.groups)), dtype=np.int64)
    rows, fits = uneven_fits(workload, federation)
    found[rows] = fits
    return found


def counted_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return each job's number of counted tasks: its own tasks if the job is uneven, else `tasks`."""
    return np.asarray(np.where(are_uneven(workload), tasks_on_nodes(workload), workload.tasks))


def tasks_in_clusters(
    workload: Workload, federation: Federation, job: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return runs × clusters: how many tasks of each run's job are on a cluster; `counts` gives the run's nodes."""
    fits, each = counted_tasks_per_node(workload, federation), layout_of(workload)[0]
    alike = (tasks_on_nodes(workload) > 0) & (each > 0)
    fits[alike] = each[alike, None]
    return split_by_cluster(fits[job], own_tasks(workload)[job], counts, np.array(federation.group_cluster))


def split_by_cluster(
    fits: NDArray[np.int64], tasks: NDArray[np.int64], counts: NDArray[np.int64], cluster: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return runs × clusters: how many tasks are there, for nodes (runs × groups) that hold `fits` tasks each.

    All nodes are full but one, which is in the last group with nodes that hold more than the empty places.
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
    """Return the fewest nodes of the empty machine that hold these tasks, and how many tasks find no place.

    For tasks without a place, nodes are counted as if there were more of the largest. `fits` and `nodes` (those that a
    job may use) are jobs × groups.
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
    """Return the nodes of jobs without those that they do not need; the nodes that hold the fewest tasks go first."""
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
    """Return the most nodes that each job can be on in any placement; `tasks` are the jobs' own tasks."""
    most = workload.tasks.copy()
    rows, fits = uneven_fits(workload, federation)
    least = np.where(fits > 0, fits, np.iinfo(np.int64).max).min(axis=1, initial=np.iinfo(np.int64).max)
    most[rows] = -(-tasks[rows] // least)
    return most


def least_stretch(workload: Workload, federation: Federation, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each job's least σ·PS + (1 − σ), on the fastest groups that hold it; infinite if no groups hold it."""
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
