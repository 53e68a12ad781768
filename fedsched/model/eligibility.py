"""Which nodes jobs may have by the partition that they ask for, and which jobs no partition takes [37]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import InfeasibleError, unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

EVERYWHERE = -1


def partition_of_jobs(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the partition of every job; -1 where it may have every node."""
    partitions = federation.partitions
    usual = next((p for p, one in enumerate(partitions) if one.default), EVERYWHERE)
    labels = workload.labels.columns().get("partition") if workload.labels is not None else None
    if labels is None:
        return np.full(len(workload), usual, dtype=np.int64)
    known = {"": usual} | {one.name: p for p, one in enumerate(partitions)}
    names, which = np.unique(labels, return_inverse=True)
    for k, name in enumerate(names.tolist()):
        if name not in known:
            job = workload.id[int(np.argmax(which == k))]
            raise unknown_name(f"Job {job}: partition", name, [one.name for one in partitions])
    return np.array([known[name] for name in names.tolist()], dtype=np.int64)[which]


def open_groups(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return jobs × groups: whether the job's partition has the group's nodes."""
    of_partition = np.concatenate([federation.groups_of_partitions(), np.ones((1, len(federation.groups)), dtype=bool)])
    return np.asarray(of_partition[partition_of_jobs(workload, federation)])


def refusals(workload: Workload, federation: Federation) -> Iterator[tuple[int, str]]:
    """Give the rows of the jobs that their partition does not take, with the reason."""
    accounts = workload.labels.columns().get("account") if workload.labels is not None else None
    room = federation.groups_of_partitions() @ np.array([group.count for group in federation.groups])
    of_jobs = partition_of_jobs(workload, federation)
    for p, partition in enumerate(federation.partitions):
        rows = np.flatnonzero(of_jobs == p)
        over = (workload.estimate[rows] > partition.max_time) | (workload.tasks[rows] < partition.min_nodes)
        over |= workload.tasks[rows] > min(int(room[p]), partition.max_nodes or int(room[p]))
        if partition.accounts:
            theirs = np.full(len(workload), "") if accounts is None else accounts
            over |= ~np.isin(theirs[rows], partition.accounts)
        for row in rows[over].tolist():
            tasks, account = int(workload.tasks[row]), "" if accounts is None else str(accounts[row])
            reason = partition.refusal(tasks, float(workload.estimate[row]), account)
            yield row, reason or f"tasks={tasks} exceeds the {int(room[p])} nodes of partition {partition.name!r}"


def check_admitted(workload: Workload, federation: Federation) -> None:
    """Raise for the first job that its partition does not take."""
    for row, reason in refusals(workload, federation):
        raise InfeasibleError(
            f"Job {workload.id[row]}: {reason}; leave out such jobs: workload.filter(federation.admits(workload))."
        )
