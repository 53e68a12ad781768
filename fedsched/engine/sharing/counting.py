"""Limits on numbers of nodes, and partitions with bounds on a job's nodes, as arrays for shared nodes [43, 55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.read_only import ints
from fedsched.engine.shared_nodes.arrays import Counted
from fedsched.model.jobs.admission import partition_of_jobs
from fedsched.model.jobs.labels import distinct
from fedsched.model.machine.limits import limited_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.shared_nodes.arrays import Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

ANY = 2**40  # nodes; more than there are: no upper bound


NOTHING_COUNTS = Counted(*(ints([]) for _ in Counted._fields))


def counts_nodes(federation: Federation) -> bool:
    """Return whether the federation has limits on numbers of nodes, or partitions with bounds on a job's nodes."""
    sized = any(one.max_nodes is not None or one.min_nodes > 1 for one in federation.partitions)
    return sized or any(limit.nodes is not None for limit in federation.limits)


def counted_nodes(workload: Workload, federation: Federation) -> Counted:
    """Return the limits and bounds on the numbers of nodes of these jobs; empty arrays if there are none."""
    if not counts_nodes(federation):
        return NOTHING_COUNTS
    amount, of_jobs = _counters(workload, federation)
    job, which = np.nonzero(of_jobs >= 0)
    least, most = _sizes(workload, federation)
    return Counted(
        amount=ints(amount),
        first=ints(np.searchsorted(job, np.arange(len(workload) + 1))),
        counter=ints(of_jobs[job, which]),
        least=ints(least),
        most=ints(most),
    )


def node_limits(workload: Workload, federation: Federation) -> Counted:
    """Return the same without the bounds of partitions, which Slurm's scheduler does not check on shared nodes."""
    if all(limit.nodes is None for limit in federation.limits):
        return NOTHING_COUNTS
    jobs = len(workload)
    return counted_nodes(workload, federation)._replace(least=ints(np.ones(jobs)), most=ints(np.full(jobs, ANY)))


def are_counted(counted: Counted, jobs: int) -> NDArray[np.bool_]:
    """Return for each of the first `jobs` jobs whether its number of nodes is limited.

    Return an empty array if there are no such limits at all.
    """
    if not counted.first.size:
        return np.zeros(0, dtype=np.bool_)
    bound = (counted.least > 1) | (counted.most < ANY) | (np.diff(counted.first) > 0)
    return np.asarray(bound[:jobs])


def who_counts_nodes(workload: Workload, federation: Federation) -> list[Ints]:
    """Return columns with one entry per job; jobs that are equal in all of them have equal limits on their nodes.

    Return no columns if there are no such limits.
    """
    if not counts_nodes(federation):
        return []
    return [*_sizes(workload, federation), *_counters(workload, federation)[1].T]


def _sizes(workload: Workload, federation: Federation) -> tuple[Ints, Ints]:
    # Returns the least and the largest number of nodes that each job may be on, by its partition.
    partitions = federation.partitions
    least = np.array([*(one.min_nodes for one in partitions), 1], dtype=np.int64)
    most = np.array([*(ANY if one.max_nodes is None else one.max_nodes for one in partitions), ANY], dtype=np.int64)
    where = partition_of_jobs(workload, federation)
    return least[where], most[where]


def _counters(workload: Workload, federation: Federation) -> tuple[list[int], Ints]:
    # Returns the most nodes of each counter; and jobs x limits: the counter of the job under the limit, or -1.
    amount: list[int] = []
    limits = [limit for limit in federation.limits if limit.nodes is not None]
    of_jobs = np.full((len(workload), len(limits)), -1)
    for i, limit in enumerate(limits):
        names, which = distinct(limited_names(limit, workload, federation))
        bound = np.array([name != "" for name in names])
        counter = np.where(bound, len(amount) + np.cumsum(bound) - 1, -1)
        of_jobs[:, i] = counter[which]
        amount += [limit.nodes] * int(bound.sum())  # type: ignore[list-item]
    return amount, of_jobs
