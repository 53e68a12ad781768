"""Read nodes, partitions, settings, reservations, the federation and the clock from what Slurm's commands print."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from fedsched.core.errors import SteerError, shortened
from fedsched.core.values import digits_of
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.slurm_json import NOTHING, count, table, text, texts, words
from fedsched.io.slurm_files.slurm_records import records_of
from fedsched.io.wall_clock import wall_time_of
from fedsched.site.steer.jobs_read import document_of, rows_of
from fedsched.site.steer.queue import SlurmNode, SlurmPartition, SlurmReservation

if TYPE_CHECKING:
    from collections.abc import Iterator

SINFO = ("sinfo", "--json")
NODES = ("scontrol", "-o", "show", "node")
PARTITIONS = ("scontrol", "-o", "show", "partition")
CONFIG = ("scontrol", "show", "config")
RESERVATIONS = ("scontrol", "-o", "show", "reservation")
FEDERATION = ("scontrol", "show", "federation")
_FLAGS = re.compile(r"[*~#!%$@^\-]+$")
_SIBLING = re.compile(r"Sibling:\s*([^:\s]+):.*?Synced:\s*(\w+)", re.DOTALL)
_CLOCK = re.compile(r"Configuration data as of (\d{1,18})\b")


def nodes_of_json(printed: str) -> tuple[SlurmNode, ...]:
    """Return the nodes in `sinfo --json`, listed one by one or, by newer data parsers, in groups of equal nodes."""
    command = " ".join(SINFO)
    document = document_of(printed, command)
    grouped = "sinfo" in document
    found: dict[str, SlurmNode] = {}
    for one in rows_of(document, "sinfo" if grouped else "nodes", command):
        for node in _of_group(one, command) if grouped else [_of_node(one, command)]:
            before = found.get(node.name)
            if before is not None:  # a node has an entry for each of its partitions
                node = SlurmNode(
                    node.name, before.states | node.states, before.partitions | node.partitions, node.cpus,
                    before.features | node.features,
                )  # fmt: skip
            found[node.name] = node
    return tuple(found.values())


def _of_node(node: dict[str, Any], command: str) -> SlurmNode:
    name = text(node.get("name"))
    states = words(node.get("state")) | words(node.get("state_flags"))
    if not name or not states:
        raise SteerError(f"{command}: a node without a name or a state: {shortened(node)}")
    features = texts(node.get("active_features")) or texts(node.get("features"))
    return SlurmNode(
        name, states, frozenset(texts(node.get("partitions"))), max(1, count(node.get("cpus"), 1)), frozenset(features)
    )


def _of_group(group: dict[str, Any], command: str) -> Iterator[SlurmNode]:
    names = text(table(group.get("nodes")).get("nodes"))
    states = words(table(group.get("node")).get("state")) | words(group.get("state"))
    if names and not states:
        raise SteerError(f"{command}: nodes without a state: {shortened(names)}")
    partition = text(table(group.get("partition")).get("name"))
    cpus = max(1, count(table(group.get("cpus")).get("minimum"), 1))
    features = frozenset(texts(table(group.get("features")).get("total")))
    for name in hosts_of(names, command) if names else ():
        yield SlurmNode(name, states, frozenset({partition} - {""}), cpus, features)


def nodes_of_text(text: str) -> tuple[SlurmNode, ...]:
    """Return the nodes that `scontrol -o show node` lists."""
    command = " ".join(NODES)
    found = []
    for line, said in records_of(text):
        if "nodename" not in said:
            continue
        state = said.get("state", "")
        if not state:
            raise SteerError(f"{command}, line {line}: node {said['nodename']} has no State.")
        states = frozenset(_FLAGS.sub("", word) for word in state.upper().split("+"))
        silent = frozenset({"NOT_RESPONDING"}) if "*" in state else frozenset()
        features = said.get("activefeatures", "")
        found.append(
            SlurmNode(
                said["nodename"],
                states | silent,
                frozenset(filter(None, said.get("partitions", "").split(","))),
                _cpus(said.get("cputot", "1"), f"{command}, line {line}"),
                frozenset() if features in ("", "(null)") else frozenset(features.split(",")),
            )
        )
    return tuple(found)


def _cpus(text: str, where: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SteerError(f"{where}: CPUTot={shortened(text)} is not a whole number.") from None


def partitions_of(text: str) -> tuple[SlurmPartition, ...]:
    """Return the partitions that `scontrol -o show partition` lists; raise if there is none."""
    command = " ".join(PARTITIONS)
    found = []
    for line, said in records_of(text):
        if "partitionname" not in said:
            continue
        nodes = said.get("nodes", "")
        tier = said.get("prioritytier", "1")
        if (number := digits_of(tier)) is None:
            raise SteerError(f"{command}, line {line}: PriorityTier={shortened(tier)} is not a whole number.")
        found.append(
            SlurmPartition(
                said["partitionname"],
                frozenset() if nodes in ("", "(null)") else frozenset(hosts_of(nodes, f"{command}, line {line}")),
                number,
                said.get("default", "NO").upper() == "YES",
                said.get("state", "UP").upper() == "UP",
                _value(said, "qos"),
            )
        )
    if not found:
        raise SteerError(f"{command}: it lists no partition: {shortened(text[:200])}")
    return tuple(found)


def settings_of(text: str) -> tuple[dict[str, str], float]:
    """Return the settings in `scontrol show config`, by name in lower case, and the controller's time.

    The time is in seconds since 1970. Raise if the time or the PriorityType is missing.
    """
    clock = _CLOCK.search(text)
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line)
    settings = {name.strip().lower(): value.strip() for name, value in pairs}
    if clock is None or "prioritytype" not in settings:
        raise SteerError(f"{' '.join(CONFIG)}: its time or PriorityType is missing: {shortened(text[:200])}")
    return settings, float(clock[1])


def siblings_of(text: str) -> dict[str, bool]:
    """Return, for each other cluster in `scontrol show federation`, whether it is synced."""
    return {name: synced.lower() == "yes" for name, synced in _SIBLING.findall(text)}


def reservations_of(text: str) -> tuple[SlurmReservation, ...]:
    """Return the reservations that `scontrol -o show reservation` lists; times that it does not know are NaN."""
    command = " ".join(RESERVATIONS)
    return tuple(
        SlurmReservation(
            said["reservationname"],
            _moment(said.get("starttime", "")),
            _moment(said.get("endtime", "")),
            frozenset(hosts_of(_value(said, "nodes"), f"{command}, line {line}")),
            frozenset(filter(None, _value(said, "users").split(","))),
            frozenset(filter(None, _value(said, "accounts").split(","))),
        )
        for line, said in records_of(text)
        if "reservationname" in said
    )


def _value(said: dict[str, str], name: str) -> str:
    text = said.get(name, "")
    return "" if text.lower() in NOTHING else text


def _moment(text: str) -> float:
    moment = wall_time_of(text) if text.lower() not in NOTHING else None
    return math.nan if moment is None else moment.seconds
