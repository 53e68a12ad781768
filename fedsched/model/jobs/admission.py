"""Admission: which nodes a job may use, how many nodes it takes, and which jobs are refused [30, 37, 41, 46, 50, 76].

Also the partition of each job, with the partition's tier and default time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.model.jobs.demands import cluster_pool_needs, demand_in_words, demands_on, have_pools, have_resources
from fedsched.model.jobs.labels import distinct
from fedsched.model.jobs.whole_nodes import convert_to_whole_nodes, rows_with_shared_nodes
from fedsched.model.machine.node_features import have_features
from fedsched.model.time.downtimes import RESERVATION
from fedsched.model.time.reservations import in_reservations, jobs_not_admitted, reservation_of_jobs, reservations_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

EVERYWHERE = -1
NO_PARTITIONS_TIER = 1


def partition_of_jobs(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the index of each job's partition in `federation.partitions`; raise if a job names an unknown one.

    A job that names none gets the default partition, or -1 (every node) if there is no default.
    """
    partitions = federation.partitions
    usual = next((p for p, one in enumerate(partitions) if one.default), EVERYWHERE)
    known = {"": usual} | {one.name: p for p, one in enumerate(partitions)}
    names, which = distinct(workload.partition)
    for k, name in enumerate(names):
        if name not in known:
            job = workload.id[int(np.argmax(which == k))]
            raise unknown_name(f"Job {job}: partition", name, [one.name for one in partitions])
    return np.array([known[name] for name in names], dtype=np.int64)[which]


def tiers_of_jobs(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the priority tier of each job's partition, 1 for a job without a partition [37].

    The array is empty if all jobs have the same tier.
    """
    tiers = np.array([*(one.tier for one in federation.partitions), NO_PARTITIONS_TIER], dtype=np.int64)
    if (tiers == tiers[0]).all():
        return np.zeros(0, dtype=np.int64)
    found = tiers[partition_of_jobs(workload, federation)]
    return found if np.ptp(found) else found[:0]


def default_times(workload: Workload, federation: Federation) -> NDArray[np.float64]:
    """Return, for each job of a log without a requested time, the default time of its partition in seconds [37].

    NaN for all other jobs, for jobs with alternative shapes, and if the partition has no default time.
    """
    found = np.full(len(workload), np.nan)
    times = np.array([np.nan if one.default_time is None else one.default_time for one in federation.partitions])
    if workload.log is None or np.isnan(times).all():
        return found
    found = np.append(times, np.nan)[partition_of_jobs(workload, federation)]
    stands_in = (workload.estimate == workload.runtime) | (workload.estimate == found)
    untold = (workload.log.requested_time <= 0) & stands_in
    if workload.alternatives is not None:  # these state their requested times themselves
        untold &= np.diff(workload.alternatives.first) == 0
    return np.where(untold, found, np.nan)


def with_default_times(workload: Workload, federation: Federation) -> Workload:
    """Return the workload with default times of partitions as estimates of jobs without a requested time [37].

    Other jobs keep their estimates: see `default_times`.
    """
    times = default_times(workload, federation)
    taken = ~np.isnan(times) & (times != workload.estimate)
    return replace(workload, estimate=np.where(taken, times, workload.estimate)) if taken.any() else workload


def count_in_nodes(workload: Workload, federation: Federation) -> Workload:
    """Return the jobs for a run in which jobs do not share nodes: `tasks` then counts whole nodes [76].

    A job with several tasks on each node gets its number of nodes as `tasks`. Raise if all nodes that such a job may
    use hold fewer tasks than it has.
    """
    jobs, refused = _count_in_nodes(workload, federation)
    for row, reason in refused.items():
        raise InfeasibleError(f"Job {workload.id[row]}: {reason}, or leave it out.")
    return jobs


def _count_in_nodes(workload: Workload, federation: Federation) -> tuple[Workload, dict[int, str]]:
    rows = rows_with_shared_nodes(workload)
    if not rows.size:
        return workload, {}
    return convert_to_whole_nodes(workload, federation, rows, usable_groups(workload.take(rows), federation))


def usable_groups(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a job may use a group's nodes, by its requests and by its allowed sites.

    The requests are those of `requested_groups`.
    """
    usable = requested_groups(workload, federation)
    if workload.allowed is not None:
        usable = usable & federation.groups_allowed(workload.sites, workload.allowed)
    return np.asarray(usable)


def refusals(workload: Workload, federation: Federation) -> dict[int, str]:
    """Return, for each job that the federation refuses, its row and the reason.

    A job is refused if its partition or reservation does not admit it, or if too few nodes have what it asks for.
    """
    jobs, refused = _count_in_nodes(workload, federation)
    return _refusals(jobs, federation, requested_groups(jobs, federation)) | refused


def _refusals(workload: Workload, federation: Federation, opened: NDArray[np.bool_]) -> dict[int, str]:
    account, qos, of_jobs = workload.label("account"), workload.label("qos"), partition_of_jobs(workload, federation)
    estimate = with_default_times(workload, federation).estimate
    sizes = np.array([group.count for group in federation.groups])
    room = federation.groups_of_partitions() @ sizes
    found: dict[int, str] = {}
    for p, partition in enumerate(federation.partitions):
        rows = np.flatnonzero(of_jobs == p)
        asking = (estimate[rows], account[rows], qos[rows], int(room[p]))
        refused = partition.refusals(workload.tasks[rows], *asking)
        found |= {int(rows[i]): reason for i, reason in refused.items()}
    asked = workload.label("features") if federation.has_features else np.full(len(workload), "")
    demands, pools = demands_on(workload, federation), cluster_pool_needs(workload, federation)
    wanted = (*demands.values(), *pools.values())
    asking = np.logical_or.reduce([asked != "", *(column > 0 for column in wanted)])
    with_them = opened @ sizes
    for row in np.flatnonzero(asking & (with_them < workload.tasks)).tolist():
        wants = [f"features {str(asked[row])!r}"] if asked[row] else []
        wants += [f"at least {said}"] if (said := demand_in_words(demands, row)) else []
        wants += [f"pool {pool.name!r} of cluster {pool.cluster!r}" for pool, need in pools.items() if need[row] > 0]
        reason = f"tasks={workload.tasks[row]} exceeds the {with_them[row]} nodes with {' and '.join(wants)}"
        found.setdefault(row, reason)
    for row, reason in jobs_not_admitted(workload, federation):
        found.setdefault(row, reason)
    inside = in_reservations(workload, federation)
    for row in np.flatnonzero(inside & (with_them < workload.tasks)).tolist():
        name = str(workload.label(RESERVATION)[row])
        found.setdefault(row, f"tasks={workload.tasks[row]} exceeds its {with_them[row]} nodes in reservation {name!r}")
    return found


def admitted_groups(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a group's nodes have what the job asks for; raise if a job is refused.

    See `requested_groups` for the table and `refusals` for the reasons.
    """
    opened = requested_groups(workload, federation)
    refused = _refusals(workload, federation, opened)
    if refused:
        row = min(refused)
        cure = "leave out such jobs: workload.filter(federation.admits(workload))"
        raise InfeasibleError(f"Job {workload.id[row]}: {refused[row]}; {cure}.")
    return opened


def requested_groups(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a group's nodes have what the job asks for, even if they are too few.

    A job may ask for features, resources of nodes, pools of a cluster, a partition and a reservation.
    """
    opened = _with_features(workload, federation)
    if demands := demands_on(workload, federation):
        opened &= have_resources(demands, federation.groups)
    if pools := cluster_pool_needs(workload, federation):
        opened &= have_pools(pools, federation, len(workload))
    everywhere = np.ones((1, len(federation.groups)), dtype=np.bool_)
    if federation.partitions:
        of_partition = np.concatenate([federation.groups_of_partitions(), everywhere])
        opened = opened & of_partition[partition_of_jobs(workload, federation)]
    if reservations := reservations_of(federation):
        kept = np.concatenate([np.stack([one.groups for one in reservations]), everywhere])
        opened = opened & kept[reservation_of_jobs(workload, federation)]
    return np.asarray(opened)


def _with_features(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    if not federation.has_features:
        return np.ones((len(workload), len(federation.groups)), dtype=np.bool_)
    return have_features(workload.label("features"), workload.id, [group.features for group in federation.groups])
