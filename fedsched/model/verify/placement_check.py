"""Check that each run has only nodes that its job may use.

Caps, sites, partitions, features, demands and pools restrict the nodes. It shares no code with the simulation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.lost_nodes_check import job_name
from fedsched.model.verify.tasks_per_node_check import most_together, uneven_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


def broken_places(
    schedule: Schedule, caps: NDArray[np.int64] | None, nodes: NDArray[np.int64] | None = None
) -> Iterator[str]:
    """Yield an error for each run, completed or lost, with nodes that its job may not use.

    `caps` (jobs × groups) is the most nodes that a job may use in each group; None: no caps. `nodes` is each job's
    number of nodes; it is given if several of a job's tasks may be on one node.
    """
    if caps is not None:
        yield from over_caps(schedule, caps)
    job, counts = _of_runs(schedule)
    used = counts > 0
    yield from _partitions(schedule, job, used, nodes)
    yield from _features(schedule, job, used)
    yield from _demands(schedule, job, used)
    yield from _pools(schedule, job, used)
    if nodes is None:
        yield from _whole_nodes(schedule, job, counts)
    yield from _sites(schedule, job, used)


def over_caps(schedule: Schedule, caps: NDArray[np.int64], *, called: str = "nodes") -> Iterator[str]:
    """Yield an error for each run with more nodes of a group than its job's cap; `called` is what counts are of."""
    job, counts = _of_runs(schedule)
    for run, g in np.argwhere(counts > caps[job]):
        cap = caps[job[run], g]
        yield f"{job_name(schedule, job[run])}: {counts[run, g]} {called} of group {g} exceed its cap of {cap}."


def _of_runs(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    # The job and the counts of each run, lost ones last.
    job = np.concatenate([np.arange(len(schedule)), schedule.lost.job])
    return job, np.vstack([schedule.counts, schedule.lost.counts]) if schedule.lost.runs else schedule.counts


def _partitions(
    schedule: Schedule, job: NDArray[np.int64], used: NDArray[np.bool_], nodes: NDArray[np.int64] | None
) -> Iterator[str]:
    # The nodes belong to the partition that the job asks for, and the partition admits the job (reading 37).
    federation, workload = schedule.federation, schedule.workload
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    usual = next((one.name for one in federation.partitions if one.default), "")
    asked = np.where(workload.partition == "", usual, workload.partition)
    for partition in federation.partitions:
        members = partition.members(sizes)
        inside = []
        for cluster in federation.clusters:
            here, of_node = members[cluster.name], cluster.group_of_node
            inside += [bool(here[of_node == g].all()) for g in range(len(cluster.groups))]
        outside = used[:, ~np.array(inside)].any(axis=1) & (asked[job] == partition.name)
        for row in job[outside]:
            yield f"{job_name(schedule, row)}: it has nodes outside its partition {partition.name!r}."
        room = int(sum(those.sum() for those in members.values()))
        rows = np.flatnonzero((asked == partition.name) & ~np.isnan(schedule.start))
        account, qos = workload.label("account")[rows], workload.label("qos")[rows]
        many, called = (workload.tasks.copy(), "tasks") if nodes is None else (nodes, "nodes")
        if nodes is None:
            uneven = uneven_rows(workload)  # their actual number of nodes
            many[uneven] = schedule.counts[uneven].sum(axis=1)
        refused = partition.refusals(many[rows], workload.estimate[rows], account, qos, room, called=called)
        for i, reason in refused.items():
            yield f"{job_name(schedule, rows[i])}: {reason}."


def _features(schedule: Schedule, job: NDArray[np.int64], used: NDArray[np.bool_]) -> Iterator[str]:
    # Every node has all features of at least one set that its job asks for (reading 41).
    groups = schedule.federation.groups
    if not schedule.federation.has_features:
        return
    asked = schedule.workload.label("features")[job]
    for run, g in np.argwhere(used & (asked != "")[:, None]):
        sets = [set(one.replace(" ", "").split("&")) for one in asked[run].split("|")]
        if not any(one <= set(groups[g].features) for one in sets):
            wants = f"the features {str(asked[run])!r}"
            yield f"{job_name(schedule, job[run])}: it has nodes of group {g} without {wants}."


def _demands(schedule: Schedule, job: NDArray[np.int64], used: NDArray[np.bool_]) -> Iterator[str]:
    # Every node has each resource that its job demands, for resources that some node states (reading 50).
    if schedule.workload.demand is None:
        return
    has = [dict(group.resources) for group in schedule.federation.groups]
    for name, column in schedule.workload.demand.columns().items():
        if any(name in resources for resources in has):
            for run, g in np.argwhere(used & (column[job] > 0)[:, None]):
                if (there := has[g].get(name, 0)) < (must := column[job[run]]):
                    what = f"{there} of {name!r}, not the {must} that it demands"
                    yield f"{job_name(schedule, job[run])}: nodes of group {g} have {what}."


def _pools(schedule: Schedule, job: NDArray[np.int64], used: NDArray[np.bool_]) -> Iterator[str]:
    # A job that needs a cluster's pool has no nodes elsewhere (reading 30).
    needs, federation = schedule.workload.pools, schedule.federation
    of_group = [cluster.name for cluster in federation.clusters for _ in cluster.groups]
    for pool in federation.pools:
        if needs is None or pool.cluster is None or pool.name not in needs.names:
            continue
        need = needs.amounts[:, needs.names.index(pool.name)]
        elsewhere = used[:, np.array(of_group) != pool.cluster].any(axis=1)
        for row in job[elsewhere & (need[job] > 0)]:
            job_of = job_name(schedule, row)
            yield f"{job_of}: it needs pool {pool.name!r} of cluster {pool.cluster!r} and runs elsewhere."


def _whole_nodes(schedule: Schedule, job: NDArray[np.int64], counts: NDArray[np.int64]) -> Iterator[str]:
    # A job with tasks per node has as many nodes as it needs; an exclusive job fills its nodes (reading 76).
    workload = schedule.workload
    if workload.layout is None:
        return
    none = np.zeros(len(workload), dtype=np.int64)
    columns = workload.layout.columns()
    each, told = columns.get("tasks_per_node", none), columns.get("tasks_on_nodes", none)
    tasks = np.where(told > 0, told, workload.tasks)
    for run, row in enumerate(job.tolist()):
        nodes, fit = int(counts[run].sum()), int(each[row])
        if not nodes:
            continue
        if told[row] > 0 and fit == 0:
            continue  # nodes hold different numbers of its tasks: see verification.py
        if fit == 0 and columns.get("exclusive", none)[row] and nodes > 1:
            used = np.flatnonzero(counts[run]).tolist()
            fit = min(most_together(workload, schedule.federation, row, g) for g in used)
        if fit > 0 and nodes != -(-int(tasks[row]) // fit):
            yield f"{job_name(schedule, row)}: it has {nodes} nodes for {tasks[row]} tasks, {fit} to a node."


def _sites(schedule: Schedule, job: NDArray[np.int64], used: NDArray[np.bool_]) -> Iterator[str]:
    allowed = schedule.workload.allowed
    if allowed is None:
        return
    group_cluster = np.array(schedule.federation.group_cluster)
    for site, cluster in enumerate(_cluster_of_site(schedule)):
        there = used[:, group_cluster == cluster].any(axis=1)
        for row in job[there & ~allowed[job, site]]:
            name = schedule.federation.clusters[cluster].name
            yield f"{job_name(schedule, row)}: it runs on cluster {name!r}, which it may not use."


def _cluster_of_site(schedule: Schedule) -> list[int]:
    names = [cluster.name for cluster in schedule.federation.clusters]
    sites = schedule.workload.sites
    if all(site in names for site in sites):
        return [names.index(site) for site in sites]
    return [int(site) - 1 for site in sites]
