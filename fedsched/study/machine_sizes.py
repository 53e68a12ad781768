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
from fedsched.io.slurm_files.slurm_machine import federation_of, hosts_there
from fedsched.model.jobs.labels import Labels
from fedsched.model.machine.node_ranges import ALL, named_nodes, ranges_text
from fedsched.model.time.downtimes import RESERVATION, reserved_names
from fedsched.site.twin.site import admitting_all_jobs
from fedsched.slurm import Slurm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.io.slurm_files.slurm_conf import SlurmConf
    from fedsched.model.machine.federation import Cluster, Federation
    from fedsched.model.machine.partition import Partition
    from fedsched.model.time.downtimes import Downtime
    from fedsched.study.study_case import Case

# Parameters of a node that are equal for hosts of one kind, by name in small letters.
_OF_A_KIND = sorted(name for name, key in KEYS["NodeName"].items()
                    if key.standing is Treatment.MODELLED and name != "nodename")  # fmt: skip
GONE = -1  # the new number of a node that is no longer there
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
    slurm these are the nodes of a partition or with a feature, under other policies those of a cluster. Nodes that stay
    keep their downtimes.
    """
    chosen, _, size = text.strip().rpartition(":")
    if isinstance(case.policy, Slurm):
        old = case.policy.conf
        conf, told = _with_hosts(old, chosen, size)
        changed = replace(case, policy=case.policy.on_another(conf)).noted(f"nodes={text}: {told}")
        return on_hosts(changed, old, conf, f"nodes={text}")
    return _with_downtimes(case, *_scaled(case.federation, chosen, size), f"nodes={text}")


def on_hosts(case: Case, old: SlurmConf, new: SlurmConf, change: str) -> Case:
    """Return a case of the machine of the slurm.conf `old` on that of `new`; hosts of both keep their downtimes.

    The cluster has the same name in both. `change` begins the notes.
    """
    machine = admitting_all_jobs(federation_of(new))
    number = {host: k for k, host in enumerate(hosts_there(new))}
    places = {new.name: np.array([number.get(host, GONE) for host in hosts_there(old)], dtype=np.int64)}
    changed = replace(case.federation, clusters=machine.clusters, partitions=machine.partitions, calendar=())
    return _with_downtimes(case, changed, places, change)


def _with_downtimes(case: Case, machine: Federation, places: Mapping[str, NDArray[np.int64]], change: str) -> Case:
    """Return a case on another machine, with the downtimes of its nodes that are still there.

    `places` has the new number of each old node, or GONE, by cluster. Downtimes of lost nodes go, or have fewer nodes;
    the case then says how many, in a note and in `dropped`.
    """
    sizes = {cluster.name: cluster.nodes for cluster in machine.clusters}
    moved = [_moved(one, places[one.cluster], sizes[one.cluster]) for one in case.federation.calendar]
    kept = tuple(one for one, _ in moved if one is not None)
    away, fewer = len(moved) - len(kept), sum(one is not None and less for one, less in moved)
    said = [f"{counted(away, 'downtime')} gone with {'its' if away == 1 else 'their'} nodes"] * bool(away)
    said += [f"{counted(fewer, 'downtime')} on fewer nodes"] * bool(fewer)
    changed = replace(case, federation=replace(machine, calendar=kept))
    lost = set(reserved_names(case.federation)) - set(reserved_names(changed.federation))
    asked = case.workload.label(RESERVATION).tolist()
    if case.workload.labels is not None and (homeless := sum(name in lost for name in asked)):
        texts = dict(case.workload.labels.texts)
        texts[RESERVATION] = np.array(["" if name in lost else name for name in asked], dtype=object)
        changed = replace(changed, workload=replace(case.workload, labels=Labels.of(texts, case.workload.id)))
        said.append(f"{counted(homeless, 'job')} without the reservation")
    if not said:
        return changed
    text = " and ".join(said)
    return replace(changed, dropped=(*case.dropped, text)).noted(f"{change}: the difference includes {text}")


def _moved(downtime: Downtime, places: NDArray[np.int64], nodes: int) -> tuple[Downtime | None, bool]:
    """Return a downtime on a cluster's nodes by their new numbers, None if no node is left, and whether it has fewer.

    A downtime of all nodes stays one of all nodes.
    """
    some, among = downtime.among
    closed = named_nodes(downtime.cluster, among, {downtime.cluster: places.size}, downtime.where)
    everywhere = bool(closed.all())
    there = np.sort(places[closed & (places != GONE)])
    room = nodes if everywhere else there.size
    if not room:
        return None, True
    text = ALL if everywhere else ranges_text(there.tolist())
    if some is None:
        return replace(downtime, nodes=text), not everywhere and room < int(closed.sum())
    return replace(downtime, nodes=f"{min(some, room)} of {text}"), room < some


def _with_hosts(conf: SlurmConf, chosen: str, size: str) -> tuple[SlurmConf, str]:
    """Return a configuration with more or fewer of the chosen hosts, and in words how many of each kind.

    Hosts are of one kind if they have the same resources and are in the same partitions. A kind that shrinks keeps its
    first hosts; one that grows gets copies of its last host, in the same partitions. Raise if
    a partition loses all of its nodes.
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
    if empty := [name for name, hosts in members.items() if hosts and gone.issuperset(hosts)]:
        raise FieldError("{nodes}={!r} leaves partition {!r} no node; keep more nodes.", size, empty[0])
    there = {host: line for host, line in nodes.items() if host not in gone}
    partitions = {
        name: line._replace(words={**line.words, "nodes": ",".join(host for host in members[name] if host in there)})
        for name, line in conf.partitions.items()
    }
    return replace(conf, nodes=there, partitions=partitions, sets={}), ", ".join(told) or "as many as before"


def _shares(sizes: list[int], total: int) -> list[int]:
    """Return a total divided in proportion to sizes, rounded by largest remainders; none is 0 if the total suffices."""
    exact = [size * total / sum(sizes) for size in sizes]
    counts = [max(math.floor(one), int(total >= len(sizes))) for one in exact]
    for k in sorted(range(len(sizes)), key=lambda k: exact[k] - counts[k], reverse=True)[: max(0, total - sum(counts))]:
        counts[k] += 1
    while sum(counts) > total:
        counts[int(np.argmax(counts))] -= 1
    return counts


def _scaled(federation: Federation, chosen: str, size: str) -> tuple[Federation, dict[str, NDArray[np.int64]]]:
    """Return a federation with more or fewer nodes of one cluster, or of all, divided over its node groups.

    A group that shrinks keeps its first nodes. The nodes of a cluster that changes are numbered group by group. The
    result has no downtimes. Also return the new number of each old node, or GONE, by cluster.
    """
    names = [cluster.name for cluster in federation.clusters for _ in cluster.groups]
    if chosen and chosen not in names:
        raise unknown_name("cluster (as in nodes=NAME:+4)", chosen, set(names))
    counts = [group.count for group in federation.groups]
    mine = [k for k, name in enumerate(names) if chosen in ("", name)]
    own = [counts[k] for k in mine]
    nodes = node_count(size, sum(own))
    for k, count in zip(mine, _shares(own, nodes), strict=True):
        counts[k] = count
    clusters: list[Cluster] = []
    places: dict[str, NDArray[np.int64]] = {}
    group_of: dict[str, NDArray[np.int64]] = {}
    for cluster in federation.clusters:
        several, counts = counts[: len(cluster.groups)], counts[len(cluster.groups) :]
        place = np.arange(cluster.nodes)
        if not any(several):
            raise FieldError("{nodes}={!r} leaves cluster {!r} no node.", nodes, cluster.name)
        if several != [group.count for group in cluster.groups]:
            group_of[cluster.name] = np.repeat(np.arange(len(several)), several)
            for g, count in enumerate(several):
                old = np.flatnonzero(cluster.group_of_node == g)
                place[old] = GONE
                place[old[:count]] = np.flatnonzero(group_of[cluster.name] == g)[: old.size]
            there = zip(cluster.groups, several, strict=True)
            groups = tuple(replace(one, count=count, nodes=None) for one, count in there if count)
            cluster = replace(cluster, groups=groups)
        clusters.append(cluster)
        places[cluster.name] = place
    partitions = tuple(replace(one, nodes=_nodes_of(one, federation, group_of, nodes)) for one in federation.partitions)
    return replace(federation, clusters=tuple(clusters), calendar=(), partitions=partitions), places


def _nodes_of(
    partition: Partition, federation: Federation, group_of: Mapping[str, NDArray[np.int64]], nodes: int
) -> tuple[tuple[str, str], ...]:
    """Return a partition's nodes, by cluster, on the changed clusters: all nodes of its groups. Raise if none is left.

    `group_of` has the old group of each new node, by changed cluster. `nodes` is the new number of nodes, for errors.
    """
    members = partition.members({cluster.name: cluster.nodes for cluster in federation.clusters})
    found = []
    for name, text in partition.nodes:
        if name in group_of:
            of_groups = members[name][federation.clusters[federation.cluster_index(name)].first_nodes]
            text = ranges_text(np.flatnonzero(of_groups[group_of[name]]).tolist())
        found += [(name, text)] * bool(text)
    if not found:
        raise FieldError("{nodes}={!r} leaves partition {!r} no node; keep more nodes.", nodes, partition.name)
    return tuple(found)
