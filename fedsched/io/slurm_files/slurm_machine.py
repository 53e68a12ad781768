"""Conversion of a slurm.conf to a federation: groups of equal nodes with their resources, and partitions."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import counted, first_of
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.slurm_conf import DOWN, features_of, read_slurm_conf
from fedsched.io.slurm_files.slurm_keys import OF_SLURM_ALONE, SECTIONS, Treatment, keys_of
from fedsched.io.slurm_files.slurm_values import (
    ENDLESS,
    NOTHING,
    cpus_of,
    gpus_of,
    is_on,
    other_devices,
    seconds_of,
    whole_of,
)
from fedsched.model.jobs.assumed import GIVEN_WHOLE, Noted
from fedsched.model.jobs.requests import SLURM_ONLY
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
from fedsched.model.machine.node_ranges import ranges_text
from fedsched.model.machine.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from fedsched.io.slurm_files.slurm_conf import Line, SlurmConf

OF_ITS_SCHEDULER = ("priority", "scheduler", "preempt", "topology", "enforcepartlimits", "overtimelimit", "killwait")
SHARED = ("select/cons_tres", "select/cons_res")
UNRESTRICTED = ("all", "none", "(null)")


class Node(NamedTuple):
    """The properties of a node: resources, features and weight; neighbouring nodes with equal ones form a group."""

    resources: tuple[tuple[str, int], ...]
    features: tuple[str, ...]
    weight: int


def read_federation(path: str | PathLike[str]) -> Federation:
    """Return the federation of one cluster that a slurm.conf, or scontrol's output, describes; nodes in its order."""
    return federation_of(read_slurm_conf(path))


def federation_of(conf: SlurmConf) -> Federation:
    """Return the federation of one cluster that a parsed slurm.conf describes, with its partitions.

    Neighbouring equal nodes form a group. FUTURE nodes are left out; `left_out` of the partitions notes what is not
    modelled. Raise a FederationError if no node is left, or if a value is invalid.
    """
    there = hosts_there(conf)
    if not there:
        raise FederationError(f"{conf.path}: all of its nodes are FUTURE nodes, which do not exist yet; add others.")
    kinds = {id(line): _node(line) for line in conf.nodes.values()}
    groups, first = [], 0
    for kind, hosts in groupby(there, key=lambda host: kinds[id(conf.nodes[host])]):
        last = first + len(list(hosts)) - 1
        groups.append(
            NodeGroup(
                last - first + 1,
                name=there[first] if first == last else f"{there[first]}..{there[last]}",
                features=kind.features,
                resources=kind.resources,
                weight=kind.weight,
            )
        )
        first = last + 1
    number = {host: k for k, host in enumerate(there)}
    partitions = [_partition(conf, name, line, number) for name, line in conf.partitions.items()]
    return Federation(
        (Cluster(conf.name, tuple(groups)),),
        name=conf.name,
        description="From a slurm.conf, a node for each of its own. Speeds, watts and uplinks are not in such a file.",
        partitions=Noted((one for one in partitions if one is not None), left_out=_left_out(conf, partitions)),
    )


def hosts_there(conf: SlurmConf) -> list[str]:
    """Return the hosts of a slurm.conf without FUTURE nodes, in its order: the n-th is the federation's n-th node."""
    return [host for host, line in conf.nodes.items() if _state(line) != "FUTURE"]


def _state(line: Line) -> str:
    return line.words.get("state", "").upper().partition("+")[0].rstrip("*~#!%$@^-")


def _node(line: Line) -> Node:
    where, words = line
    resources = {"cpu": cpus_of(words, where)}
    if "realmemory" in words:
        kept = whole_of(words.get("memspeclimit", "0"), where, "MemSpecLimit")  # reserved for the system
        resources["memory"] = max(0, whole_of(words["realmemory"], where, "RealMemory") - kept)
    resources |= gpus_of(words.get("gres", ""))
    return Node(tuple(resources.items()), features_of(line), whole_of(words.get("weight", "1"), where, "Weight"))


def _partition(conf: SlurmConf, name: str, line: Line, number: dict[str, int]) -> Partition | None:
    """Return the partition that a line describes; None if it has no nodes. `number` has each host's node number."""
    where, words = line
    nodes = [number[host] for host in conf.hosts_of_partition(name) if host in number]
    if not nodes:
        return None
    most = words.get("maxnodes", "unlimited")
    accounts, qos = words.get("allowaccounts", "all"), words.get("allowqos", "all")
    usual = words.get("defaulttime", "none")
    longest = seconds_of(words.get("maxtime", "infinite"), where)
    try:
        return Partition(
            name,
            {conf.name: ranges_text(nodes)},  # type: ignore[arg-type]
            max_time=longest,
            default_time=None if usual.lower() in NOTHING + ENDLESS else min(seconds_of(usual, where), longest),
            min_nodes=max(1, whole_of(words.get("minnodes", "0"), where, "MinNodes")),
            max_nodes=None if most.lower() in ("unlimited", "infinite") else whole_of(most, where, "MaxNodes"),
            accounts=() if accounts.lower() in UNRESTRICTED else tuple(accounts.split(",")),
            qos=() if qos.lower() in UNRESTRICTED else tuple(qos.split(",")),
            tier=whole_of(words.get("prioritytier", "1"), where, "PriorityTier"),
            factor=None if (factor := job_factor_of(line)) == 1 else factor,
            default=is_on(words.get("default", "no"), where, "Default"),
        )
    except FederationError as error:  # says what is wrong and the cure; the line's place goes before it, once
        raise FederationError(f"{where}: {str(error).removeprefix(f'{where}: ')}") from None


def job_factor_of(line: Line) -> int | None:
    """Return a partition's PriorityJobFactor, else its older form Priority; None if its line sets neither."""
    said = line.words.get("priorityjobfactor", line.words.get("priority"))
    return None if said is None else whole_of(said, line.where, "PriorityJobFactor")


def _left_out(conf: SlurmConf, partitions: list[Partition | None]) -> Iterator[str]:
    """Give a note of a few words for each fact of the file that is not modelled, for the user."""
    lines = {id(line): line for line in conf.nodes.values()}.values()
    for key in keys_of("NodeName", Treatment.NOT_MODELLED):
        if having := sum(key.says(line.words.get(key.name.lower(), "")) for line in conf.nodes.values()):
            yield f"{key.name} of {counted(having, 'node')}"
    if devices := dict.fromkeys(name for line in lines for name in other_devices(line.words.get("gres", ""))):
        yield f"devices that are no GPUs ({first_of(devices)})"
    if away := sum(_state(line) == "FUTURE" for line in conf.nodes.values()):
        yield f"{counted(away, 'FUTURE node')}"
    if down := [host for host, line in conf.nodes.items() if _state(line) in ("DOWN", "DRAIN", "FAIL", "DRAINED")]:
        yield f"{counted(len(down), 'node')} not up ({first_of(down)}), taken as up"
    if told := conf.parameters.get(DOWN, ""):
        yield f"{counted(len(hosts_of(told, conf.path)), 'node')} not up (DownNodes={shortened(told)}), taken as up"
    if clouds := sum("CLOUD" in line.words.get("state", "").upper() for line in conf.nodes.values()):
        yield f"{counted(clouds, 'CLOUD node')} not up until jobs need it, taken as up"
    for key in keys_of("PartitionName", Treatment.NOT_MODELLED, Treatment.MODELLED):
        alone = key.name in OF_SLURM_ALONE
        words = {name: line.words.get(key.name.lower(), "") for name, line in conf.partitions.items()}
        saying = [name for name, value in words.items() if key.says(value)]
        if saying and (alone or key.standing is Treatment.NOT_MODELLED):
            end = f", {SLURM_ONLY}" if alone else ""
            yield f"{key.name} of {counted(len(saying), 'partition')} ({first_of(saying)}){end}"
    for section in SECTIONS:
        if strange := conf.strange.get(section):
            yield f"words of {section} lines that are not read: {first_of(strange)}"
    if shut := [name for name, line in conf.partitions.items() if line.words.get("state", "UP").upper() != "UP"]:
        yield f"{counted(len(shut), 'partition')} not up ({first_of(shut)}), taken as up"
    names = zip(conf.partitions, partitions, strict=True)
    if empty := [name for name, partition in names if partition is None]:
        yield f"{counted(len(empty), 'partition')} without nodes ({first_of(empty)})"
    if (select := conf.parameters.get("selecttype", "")) in SHARED:
        yield f"nodes shared by several jobs ({select}), {GIVEN_WHOLE}"
    own = [name for name in conf.parameters if name.startswith(OF_ITS_SCHEDULER)]
    if own:
        yield f"{counted(len(own), 'parameter')} of Slurm's own scheduler (--policy says what is simulated)"
