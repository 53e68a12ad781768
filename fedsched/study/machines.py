"""Machines with more or fewer nodes: groups, partitions and a slurm.conf's hosts in proportion."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import FieldError
from fedsched.io.slurm_conf import SlurmConf
from fedsched.io.slurm_machine import federation_of
from fedsched.model.node_ranges import ALL, ranges_of, ranges_text
from fedsched.slurm import Slurm
from fedsched.text import counted
from fedsched.twin.site import open_to_all

if TYPE_CHECKING:
    from fedsched.model.federation import Federation
    from fedsched.model.partition import Partition
    from fedsched.study.case import Case

_SIZE = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(%?)", re.ASCII)


def wanted(text: str, nodes: int) -> int:
    """Return how many nodes a text asks for, of so many: 120, +20%, 80%, +16, -16."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise FieldError("{nodes}={!r} must be a number, a share or a change: 120, 80%, +20%, -16.", text)
    sign, number, percent = match.groups()
    amount = float(number) * (nodes / 100.0 if percent else 1.0)
    total = nodes + amount if sign == "+" else nodes - amount if sign == "-" else amount
    if round(total) < 1:
        raise FieldError("{nodes}={!r} leaves no node of {}.", text, nodes)
    return round(total)


def resized(case: Case, text: str) -> Case:
    """Return the case on a machine of another size, its kinds of nodes in the same proportion."""
    machine = case.federation
    if isinstance(case.policy, Slurm):
        conf = _with_hosts(case.policy.conf, wanted(text, machine.nodes))
        policy = case.policy.on_another(conf)
        changed = replace(case, federation=open_to_all(federation_of(conf)), policy=policy)
    else:
        changed = replace(case, federation=_scaled(machine, wanted(text, machine.nodes)))
    kept = tuple(one for one in machine.calendar if one.nodes.lower() == ALL)
    changed = replace(changed, federation=replace(changed.federation, calendar=kept))
    if lost := len(machine.calendar) - len(kept):
        return changed.noted(f"nodes={text}: {counted(lost, 'downtime')} left out, which name nodes of the old machine")
    return changed


def _with_hosts(conf: SlurmConf, nodes: int) -> SlurmConf:
    """Return a configuration with its first hosts, or with more like its last, in the partitions of that one."""
    hosts = list(conf.nodes)
    if nodes <= len(hosts):
        kept = hosts[:nodes]
        there = {host: conf.nodes[host] for host in kept}
    else:
        kept = [*hosts, *(f"more{k}" for k in range(1, nodes - len(hosts) + 1))]
        there = {host: conf.nodes.get(host, conf.nodes[hosts[-1]]) for host in kept}
    partitions = {}
    for name, line in conf.partitions.items():
        members = set(conf.hosts_of_partition(name))
        own = [host for host in kept if host in members or (host not in conf.nodes and hosts[-1] in members)]
        partitions[name] = line._replace(words={**line.words, "nodes": ",".join(own)})
    return SlurmConf(conf.path, conf.parameters, there, partitions, {})


def _scaled(federation: Federation, nodes: int) -> Federation:
    """Return a federation of so many nodes; every group has its share, the largest ones what rounding leaves."""
    sizes = [group.count for group in federation.groups]
    exact = [size * nodes / sum(sizes) for size in sizes]
    counts = [math.floor(one) for one in exact]
    for k in sorted(range(len(sizes)), key=lambda k: exact[k] - counts[k], reverse=True)[: nodes - sum(counts)]:
        counts[k] += 1
    place, clusters = 0, []
    for cluster in federation.clusters:
        groups = []
        for group in cluster.groups:
            if counts[place]:
                groups.append(replace(group, count=counts[place], nodes=None))
            place += 1
        if not groups:
            raise FieldError("{nodes}={!r} leaves cluster {!r} no node.", nodes, cluster.name)
        clusters.append(replace(cluster, groups=tuple(groups)))
    sizes_of = {old.name: (old.nodes, new.nodes) for old, new in zip(federation.clusters, clusters, strict=True)}
    partitions = tuple(
        replace(one, nodes=tuple((name, _stretched(text, *sizes_of[name], one.name)) for name, text in one.nodes))
        for one in _side_by_side(federation)
    )
    return replace(federation, clusters=tuple(clusters), calendar=(), partitions=partitions)


def _side_by_side(federation: Federation) -> tuple[Partition, ...]:
    """Return the partitions of the same machine, whose nodes are numbered group by group."""
    if federation.node_order is None:
        return federation.partitions
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    order = {cluster.name: np.argsort(cluster.group_of_node, kind="stable") for cluster in federation.clusters}

    def renumbered(one: Partition) -> tuple[tuple[str, str], ...]:
        members = one.members(sizes)
        return tuple((name, ranges_text(np.flatnonzero(members[name][order[name]]).tolist())) for name, _ in one.nodes)

    return tuple(replace(one, nodes=renumbered(one)) for one in federation.partitions)


def _stretched(text: str, old: int, new: int, where: str) -> str:
    """Return ranges of so many nodes as the same shares of so many others."""
    found = []
    for first, last in ranges_of(text, where):
        if last < 0:
            return text
        begin = min(first * new // old, new - 1)
        end = max(begin, -(-(last + 1) * new // old) - 1)
        found.append(f"{begin}-{end}")
    return ",".join(found)
