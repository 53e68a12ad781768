"""Caps (how many nodes of each group a job may use at most) as checked arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.admission import admitted_groups
from fedsched.model.jobs.uneven import are_uneven, counted_tasks_per_node
from fedsched.model.machine.federation import MOST_NODES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def checked_caps(caps: NDArray[np.int64], jobs: int, groups: int) -> Ints:
    """Return the caps as integers, large ones cut to the most nodes that a federation may have.

    Raise ValueError if the shape is not jobs × groups, or an entry is not a whole number of at least 0.
    """
    table = np.asarray(caps)
    if table.shape != (jobs, groups):
        raise ValueError(f"caps: shape {table.shape} must be (jobs, groups) = ({jobs}, {groups}).")
    if not np.issubdtype(table.dtype, np.integer) or (table < 0).any():
        raise ValueError("caps: every entry must be a whole number of at least 0 (nodes of a group a job may use).")
    return np.minimum(table, MOST_NODES).astype(np.int64)  # the minimum comes first, so that no integer type overflows


def caps_of_parts(caps: NDArray[np.int64], whole: Federation, parts: Federation) -> Ints:
    """Return caps of a federation's groups for the parts into which downtimes divide these; a part has its group's."""
    first = np.unique(parts.group_of_node, return_index=True)[1]
    return checked_caps(caps, len(caps), len(whole.groups))[:, whole.group_of_node[first]]


def caps_table(workload: Workload, federation: Federation, caps: NDArray[np.int64] | None = None) -> tuple[Ints, Ints]:
    """Return the distinct rows of caps (the most nodes of each group for a job), and for each job the index of its row.

    The rows combine `caps`, the allowed clusters, and what partitions, features and resources admit. Jobs without such
    bounds share one row, so that a long log on a wide federation stays small.
    """
    nodes = np.array([group.count for group in federation.groups], dtype=np.int64)
    jobs = len(workload)
    limits = None if caps is None else np.minimum(checked_caps(caps, jobs, nodes.size), nodes)
    if workload.allowed is not None:
        allowed = federation.groups_allowed(workload.sites, workload.allowed)
        limits = np.where(allowed, nodes if limits is None else limits, 0)
    if federation.binds_by_labels:
        limits = np.where(admitted_groups(workload, federation), nodes if limits is None else limits, 0)
    if are_uneven(workload).any():
        limits = np.where(counted_tasks_per_node(workload, federation) > 0, nodes if limits is None else limits, 0)
    if limits is None:
        return nodes.reshape(1, -1).copy(), np.zeros(jobs, dtype=np.int64)
    rows, row_of = np.unique(limits, axis=0, return_inverse=True)
    return np.ascontiguousarray(rows, dtype=np.int64), np.ascontiguousarray(row_of.reshape(-1), dtype=np.int64)
