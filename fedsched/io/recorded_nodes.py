"""Mapping of the nodes on which a log's jobs ran, as recorded, to nodes of a federation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, ScheduleError, shortened
from fedsched.core.text import counted
from fedsched.io.platforms.metacentrum import nodes_of
from fedsched.io.slurm_files.hosts import hosts_from
from fedsched.model.jobs.log import NODES, Demand
from fedsched.model.jobs.recorded import recorded_rows
from fedsched.model.schedule.node_use import NodeUse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from fedsched.io.slurm_files.hosts import Hosts
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def recorded_nodes(
    workload: Workload, federation: Federation, *, hosts: str | PathLike[str] | Mapping[str, tuple[str, int]]
) -> NodeUse:
    """Return the number of tasks of each job on each node, with the jobs' starts and ends, as the log records them.

    Raise a ScheduleError if the wait or the nodes of some job are not recorded.

    Parameters
    ----------
    workload
        Jobs of a log with recorded waits and nodes (label "nodes"): that of MetaCentrum, read with
        `descriptor="metacentrum"`.
    federation
        The machine; jobs share its nodes' resources.
    hosts
        The nodes of the log's hosts: a table of host: (cluster, node), or a file, see
        `fedsched.io.read_hosts`.

    Examples
    --------
    >>> from fedsched.io.recorded_nodes import recorded_nodes
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(2, resources=(("cpu", 4),)),)),))
    >>> log = fs.Workload(submit=[0], tasks=[2], runtime=[60], labels={"nodes": ["{17,18}"]}, log={"wait": [5]})
    >>> recorded_nodes(log, machine, hosts={"17": ("north", 0), "18": ("north", 1)}).node
    array([0, 1])
    """
    known = recorded_rows(workload) & (workload.label(NODES) != "")
    if not known.all():
        raise ScheduleError(
            f"{workload.name}: start or nodes of {counted(int((~known).sum()), 'job')} are not recorded, as a log of "
            'MetaCentrum does, read with descriptor="metacentrum"; leave such jobs out with workload.filter().'
        )
    places = _nodes_by_name(hosts_from(hosts, federation), federation)
    job, node, tasks = [], [], []
    for row, text in enumerate(workload.label(NODES).tolist()):
        said = nodes_of(text)
        if said is None:
            raise ScheduleError(
                f"Job {workload.id[row]}: nodes={shortened(repr(text))} must be the nodes of its processors, "
                "as {1241,1241,1242}."
            )
        for host, count in said.items():
            if host not in places:
                raise FederationError(f"Job {workload.id[row]}: hosts= has no {shortened(repr(host))}; add it.")
            job.append(row)
            node.append(places[host])
            tasks.append(count)
    log = workload.log
    start = workload.submit + (0.0 if log is None else log.wait)
    bits = np.zeros(len(workload)) if log is None else np.maximum(log.demands, 0)
    return NodeUse(
        workload=workload,
        federation=federation,
        start=start,
        finish=np.maximum(start + workload.runtime, np.nextafter(start, np.inf)),
        alone=(bits.astype(np.int64) & Demand.ALONE) != 0,
        job=np.array(job, dtype=np.int64),
        node=np.array(node, dtype=np.int64),
        tasks=np.array(tasks, dtype=np.int64),
    )


def _nodes_by_name(hosts: Hosts, federation: Federation) -> dict[str, int]:
    """Return the node of each host, numbered from 0 through the whole federation.

    Raise a FederationError if a host stands for several nodes.
    """
    first, at = {}, 0
    for cluster in federation.clusters:
        first[cluster.name], at = at, at + cluster.nodes
    several = next((host for host, place in hosts.places.items() if place.first != place.last), None)
    if several is not None:
        raise FederationError(
            f"{hosts.source}: host {several!r} stands for several nodes; jobs can share it only if it is one node."
        )
    return {host: first[place.cluster] + place.first for host, place in hosts.places.items()}
