"""Give a machine more or fewer nodes: node groups, partitions and a slurm.conf's hosts change in proportion."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FieldError, unknown_name
from fedsched.core.text import counted
from fedsched.io.slurm_files.slurm_conf import features_of
from fedsched.io.slurm_files.slurm_keys import KEYS, Treatment
from fedsched.io.slurm_files.slurm_machine import federation_of
from fedsched.model.machine.node_ranges import ALL, ranges_of, ranges_text
from fedsched.site.twin.site import admitting_all_jobs
from fedsched.slurm import Slurm

if TYPE_CHECKING:
    from fedsched.io.slurm_files.slurm_conf import SlurmConf
    from fedsched.model.machine.federation import Federation
    from fedsched.model.machine.partition import Partition
    from fedsched.study.study_case import Case

# Parameters of a node that are equal for hosts of one kind, by name in small letters.
_OF_A_KIND = sorted(name for name, key in KEYS["NodeName"].items()
                    if key.standing is Treatment.MODELLED and name != "nodename")  # fmt: skip
_SIZE = re.compile(r"([+-]?)(\d+(?:\.\d+)?)(%?)", re.ASCII)


def node_count(text: str, nodes: int) -> int:
    """Return the number of nodes that a text (120, +20%, 80%, +16, -16) makes of a given number."""
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
    """Return the case on a machine of another size, with its kinds of nodes in the same proportion.

    `text` is a size as in `node_count`. A name before it, as in gpu:+4, limits the change to some nodes. Under policy
    slurm these are the nodes of a partition or with a feature, under other policies those of a cluster. Downtimes that
    name single nodes are left out, with a note.
    """
    machine = case.federation
    chosen, _, size = text.strip().rpartition(":")
    if isinstance(case.policy, Slurm):
        conf, told = _with_hosts(case.policy.conf, chosen, size)
        policy = case.policy.on_another(conf)
        changed = replace(case, federation=admitting_all_jobs(federation_of(conf)), policy=policy)
        changed = changed.noted(f"nodes={text}: {told}")
    else:
        changed = replace(case, federation=_scaled(machine, chosen, size))
    return with_downtimes_of(case, changed, f"nodes={text}")


def with_downtimes_of(case: Case, changed: Case, change: str) -> Case:
    """Return a changed case with those downtimes of a case that hold for all nodes, and a note on the others."""
    calendar = case.federation.calendar
    kept = tuple(one for one in calendar if one.nodes.lower() == ALL)
    changed = replace(changed, federation=replace(changed.federation, calendar=kept))
    if lost := len(calendar) - len(kept):
        return changed.noted(f"{change}: {counted(lost, 'downtime')} left out, which name nodes of the old machine")
    return changed


def _with_hosts(conf: SlurmConf, chosen: str, size: str) -> tuple[SlurmConf, str]:
    """Return a configuration with more or fewer of the chosen hosts, and in words how many of each kind.

    Hosts are of one kind if they have the same resources and are in the same partitions. A kind that shrinks keeps its
    first hosts; one that grows gets copies of its last host, in the same partitions.
    """
    members = {name: conf.hosts_of_partition(name) for name in conf.partitions}
    of_host = {host: frozenset(name for name, hosts in members.items() if host in hosts) for host in conf.nodes}
    features = {host: features_of(line) for host, line in conf.nodes.items()}
    mine = [host for host in conf.nodes if not chosen or chosen in of_host[host] or chosen in features[host]]
    if not mine:
        known = {*members, *(one for named in features.values() for one in named)}
        raise unknown_name("partition or feature of nodes (as in nodes=NAME:+4)", chosen, known)
    kinds: dict[object, list[str]] = {}
    for host in mine:
        words = conf.nodes[host].words
        kinds.setdefault((of_host[host], *(words.get(name) for name in _OF_A_KIND)), []).append(host)
    counts = _shares([len(hosts) for hosts in kinds.values()], node_count(size, len(mine)))
    nodes, gone, told = dict(conf.nodes), set[str](), []
    for hosts, count in zip(kinds.values(), counts, strict=True):
        gone |= {*hosts[count:]}
        for _ in range(count - len(hosts)):
            host = f"more{len(nodes) - len(conf.nodes) + 1}"
            nodes[host] = conf.nodes[hosts[-1]]
            for name in of_host[hosts[-1]]:
                members[name].append(host)
        if count != len(hosts):
            told.append(f"{abs(count - len(hosts))} {'more' if count > len(hosts) else 'fewer'} like {hosts[0]}")
    there = {host: line for host, line in nodes.items() if host not in gone}
    partitions = {
        name: line._replace(words={**line.words, "nodes": ",".join(host for host in members[name] if host in there)})
        for name, line in conf.partitions.items()
    }
    return replace(conf, nodes=there, partitions=partitions, sets={}), ", ".join(told) or "as many as before"


def _shares(sizes: list[int], total: int) -> list[int]:
    """Return a total divided in proportion to sizes, rounded by largest remainders."""
    exact = [size * total / sum(sizes) for size in sizes]
    counts = [math.floor(one) for one in exact]
    for k in sorted(range(len(sizes)), key=lambda k: exact[k] - counts[k], reverse=True)[: total - sum(counts)]:
        counts[k] += 1
    return counts


def _scaled(federation: Federation, chosen: str, size: str) -> Federation:
    """Return a federation with more or fewer nodes of one cluster, or of all, divided over its node groups."""
    names = [cluster.name for cluster in federation.clusters for _ in cluster.groups]
    if chosen and chosen not in names:
        raise unknown_name("cluster (as in nodes=NAME:+4)", chosen, set(names))
    counts = [group.count for group in federation.groups]
    mine = [k for k, name in enumerate(names) if chosen in ("", name)]
    own = [counts[k] for k in mine]
    nodes = node_count(size, sum(own))
    for k, count in zip(mine, _shares(own, nodes), strict=True):
        counts[k] = count
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
    """Return the machine's partitions with nodes numbered group by group."""
    if federation.node_order is None:
        return federation.partitions
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    order = {cluster.name: np.argsort(cluster.group_of_node, kind="stable") for cluster in federation.clusters}

    def renumbered(one: Partition) -> tuple[tuple[str, str], ...]:
        members = one.members(sizes)
        return tuple((name, ranges_text(np.flatnonzero(members[name][order[name]]).tolist())) for name, _ in one.nodes)

    return tuple(replace(one, nodes=renumbered(one)) for one in federation.partitions)


def _stretched(text: str, old: int, new: int, where: str) -> str:
    """Return the text of node ranges in a cluster of `old` nodes, scaled to `new` nodes; `all` stays as it is."""
    found = []
    for first, last in ranges_of(text, where):
        if last < 0:
            return text
        begin = min(first * new // old, new - 1)
        end = max(begin, -(-(last + 1) * new // old) - 1)
        found.append(f"{begin}-{end}")
    return ",".join(found)
