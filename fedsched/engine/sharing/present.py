"""What jobs that run at t0 hold on shared nodes, checked against what the nodes have."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.shared_nodes.arrays import WHOLE

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import RunningJobs
    from fedsched.engine.shared_nodes.arrays import Held, Sharing
    from fedsched.model.machine.federation import Federation


def present_of(noun: str, running: RunningJobs | None, sharing: Sharing) -> Held | None:
    """Return what the jobs that run at t0 hold, by the rows of the workload; None if none runs.

    Raise ValueError if the nodes do not have what the jobs hold.
    """
    if running is None:
        return None
    assert running.held is not None
    if not can_be_held(running, sharing):
        raise ValueError(
            f"{noun}: running= belongs to another workload or federation (these nodes do not have what its jobs hold); "
            "give its own."
        )
    return running.held.as_rows(running.rows, sharing.kinds.of_job.size)


def with_node_numbers(running: RunningJobs, federation: Federation) -> RunningJobs:
    """Return the running jobs with nodes by their numbers in the federation; they had places in its groups before.

    Raise ValueError if some node does not exist.
    """
    held, order = running.held, federation.node_order
    assert held is not None
    for node in (held.node, held.device_node):
        if not ((node >= 0) & (node < federation.nodes)).all():
            raise ValueError("simulate: running= belongs to another federation (a node does not exist); give its own.")
    if order is None:
        return running
    return running._replace(held=held._replace(node=order[held.node], device_node=order[held.device_node]))


def can_be_held(running: RunningJobs, sharing: Sharing) -> bool:
    """Return whether the running jobs can hold their nodes and devices at the same time.

    Kernels do not check array bounds, so nothing else may reach them.
    """
    held = running.held
    return held is not None and _well_formed(held, running.rows.size, sharing) and _all_fit(running, held, sharing)


def _well_formed(held: Held, jobs: int, sharing: Sharing) -> bool:
    # Whether all entries exist, and point to nodes and devices that exist.
    nodes, group = sharing.nodes, sharing.nodes.group
    for first, count, entries in (
        (held.first, held.pieces, (held.node, held.tasks)),
        (held.first_device, held.devices, (held.device_node, held.device, held.amount)),
    ):
        size = entries[0].size
        if not (first.shape == count.shape == (jobs,) and all(one.shape == (size,) for one in entries)):
            return False
        if not ((first >= 0) & (count >= 0) & (first + count <= size)).all():
            return False
    for node in (held.node, held.device_node):
        if not ((node >= 0) & (node < group.size)).all():
            return False
    on = group[held.device_node]
    known = (held.device >= 0) & (held.device < nodes.gpus[on]) & (held.amount > 0)
    return bool((held.tasks > 0).all() and known.all())


def _all_fit(running: RunningJobs, held: Held, sharing: Sharing) -> bool:
    # Whether each job holds what it demands, and all of them together no more than the nodes have.
    kinds, nodes, group = sharing.kinds, sharing.nodes, sharing.nodes.group
    kind = kinds.of_job[running.rows]
    mine = held.of(np.arange(kind.size))
    job, of_device = np.repeat(np.arange(kind.size), mine.pieces), np.repeat(np.arange(kind.size), mine.devices)
    tasks = np.zeros_like(running.counts)
    np.add.at(tasks, (job, group[mine.node]), mine.tasks)
    if (tasks != running.counts).any() or np.unique(job * group.size + mine.node).size < job.size:
        return False
    alone = kinds.alone[kind] == 1
    has, amount = nodes.has[:, group].T, kinds.need[kind[job]] * mine.tasks[:, None]
    if (amount > has[mine.node]).any():
        return False
    amount[alone[job]] = has[mine.node[alone[job]]]
    taken = np.zeros_like(has)
    np.add.at(taken, mine.node, amount)
    jobs = np.bincount(mine.node, minlength=group.size)
    if (taken > has).any() or (jobs[mine.node[alone[job]]] > 1).any():
        return False
    used = np.zeros((group.size, int(nodes.gpus.max(initial=0))), dtype=np.int64)
    np.add.at(used, (mine.device_node, mine.device), mine.amount)
    whole = kinds.need[kind, sharing.gpu] * int(WHOLE) if sharing.gpu >= 0 else np.zeros_like(kind)
    asked = np.where(alone, 0, (whole + kinds.share[kind]) * kinds.tasks[kind])  # exclusive jobs hold no devices apart
    return bool((used <= int(WHOLE)).all() and (np.bincount(of_device, mine.amount, kind.size) == asked).all())
