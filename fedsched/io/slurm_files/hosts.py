"""Parsing of Slurm's lists of host names, and the mapping from host names to nodes of a federation."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import FederationError, TraceError, shortened
from fedsched.core.values import digits_of
from fedsched.io.files import read_text
from fedsched.io.slurm_files.slurm_records import Record, conf_lines, is_of_scontrol, records_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from fedsched.model.machine.federation import Federation

MOST_HOSTS = 1_000_000  # in one list: a mistyped range must not fill the memory
_PART = re.compile(r"[^\s,\[\]]+(?:\[[0-9,\-]+\][^\s,\[\]]*)*|\[[0-9,\-]+\][^\s,\[\]]*", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def hosts_of(text: str, where: str) -> list[str]:
    """Return the host names that a text like cn[001-064,070],gpu[1-4] stands for, in its order, each once.

    Raise a FederationError, which begins with `where`, if it is no such list or has more than a million names.
    """
    found: dict[str, None] = {}
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise _no_list(text, where)
        found.update(dict.fromkeys(_expanded(match[0], where)))
        if len(found) > MOST_HOSTS:
            raise FederationError(f"{where}: {shortened(repr(text))} are more than {MOST_HOSTS:,} hosts.")
        at = match.end() + 1
        if at == len(text):  # it ends with a comma
            raise _no_list(text, where)
    return list(found)


def _expanded(part: str, where: str) -> list[str]:
    pieces = [_members(piece, where) if k % 2 else [piece] for k, piece in enumerate(re.split(r"\[|\]", part))]
    count = 1
    for piece in pieces:
        count *= len(piece)
    if count > MOST_HOSTS:
        raise FederationError(f"{where}: {shortened(repr(part))} are more than {MOST_HOSTS:,} hosts.")
    return ["".join(combined) for combined in product(*pieces)]


def _members(ranges: str, where: str) -> list[str]:
    # The numbers in a pair of brackets; 001-064 keeps its zeros.
    numbers: list[str] = []
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or last < first:
            raise _no_list(f"[{ranges}]", where)
        if last - first >= MOST_HOSTS:
            raise FederationError(f"{where}: [{shortened(ranges)}] are more than {MOST_HOSTS:,} hosts.")
        width = len(match[1])
        numbers += [f"{number:0{width}d}" for number in range(first, last + 1)]
    return numbers


def _no_list(text: str, where: str) -> FederationError:
    return FederationError(f"{where}: {shortened(repr(text))} is not a list of hosts like cn[001-064,070],gpu[1-4].")


# The files that list hosts, for error messages.
TOLD = (
    "`scontrol show node -o`, `sinfo -N`, a slurm.conf, or lines like `NAME = cn[001-064]`, where NAME is one of the "
    "federation's clusters"
)
_SHAPE = ("boards", "socketsperboard", "sockets", "corespersocket", "threadspercore")
_ASSIGNED = re.compile(r"([^=]+?)\s*=\s*(\S+)")


class Place(NamedTuple):
    """The nodes of a cluster that a host stands for, from `first` to `last`; several if the model's nodes are CPUs."""

    cluster: str
    first: int
    last: int


class Found(NamedTuple):
    """A host in a file, by name, with its number of CPUs; 0 if the file does not give that number."""

    name: str
    cpus: int = 0


@dataclass(frozen=True, slots=True)
class Hosts:
    """The nodes of a federation that a site's hosts are, by host name, and the hosts' CPUs if known.

    `source` is the file that says so, for errors.
    """

    places: Mapping[str, Place]
    source: str
    cpus: Mapping[str, int] = field(default_factory=dict)

    def place(self, host: str, where: str) -> Place:
        """Return the nodes that a host stands for; raise a FederationError for an unknown host."""
        if host not in self.places:
            raise FederationError(f"{where}: {self.source} has no host {shortened(repr(host))}; add it.")
        return self.places[host]


def hosts_from(given: str | PathLike[str] | Mapping[str, tuple[str, int]], federation: Federation) -> Hosts:
    """Return the nodes of hosts, given as a table of host: (cluster, node) or as a file for `read_hosts`.

    Raise a FederationError if the federation has no such node.
    """
    if not isinstance(given, Mapping):
        return read_hosts(given, federation)
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    places = {}
    for host, (cluster, node) in given.items():
        if cluster not in sizes or not 0 <= node < sizes[cluster]:
            raise FederationError(f"hosts: {host!r} is node {node} of {cluster!r}, which the federation does not have.")
        places[host] = Place(cluster, int(node), int(node))
    return Hosts(places, "hosts")


def read_hosts(path: str | PathLike[str], federation: Federation) -> Hosts:
    r"""Return which node, or range of nodes, of a federation each host in a file is.

    The file is the output of `scontrol show node` (with or without -o) or `sinfo -N`, a slurm.conf, or has lines
    `cluster = hosts`. The n-th host is a cluster's n-th node. If the cluster has as many nodes as the hosts have CPUs
    in total, each host is as many nodes as it has CPUs.

    Parameters
    ----------
    path
        The file.
    federation
        The machine that has these nodes.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import read_hosts
    >>> written = Path("hosts.txt").write_text("north = cn[01-04]\n")
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(4),)),))
    >>> sorted(read_hosts("hosts.txt", machine).places)
    ['cn01', 'cn02', 'cn03', 'cn04']
    """
    try:
        text = read_text(path)
    except TraceError as error:
        raise FederationError(str(error)) from error
    lines = [(k, line.strip()) for k, line in enumerate(text.splitlines(), 1)]
    lines = [(k, line) for k, line in lines if line and not line.startswith("#")]
    if not lines:
        raise FederationError(f"{path}: it has no host; give {TOLD}.")
    records = _records(text)
    if re.match(r"(NODELIST|HOSTNAMES)\b|.*\bNODELIST\b", lines[0][1]):
        found = {_only(federation, path): list(_of_sinfo(lines, path))}
    elif any("nodename" in record.words for record in records):
        found = {_named(records, federation, path): list(_of_records(records, path))}
    else:
        found = _of_lines(lines, federation, path)
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    places: dict[str, Place] = {}
    for cluster, hosts in found.items():
        for host, place in _placed(cluster, hosts, sizes[cluster], path):
            if host in places:
                raise FederationError(f"{path}: host {host!r} occurs twice; leave one.")
            places[host] = place
    return Hosts(places, str(path), {host.name: host.cpus for hosts in found.values() for host in hosts if host.cpus})


def _placed(cluster: str, hosts: list[Found], nodes: int, path: str | PathLike[str]) -> Iterator[tuple[str, Place]]:
    hosts = list({host.name: host for host in hosts}.values())  # a host may have one line for each of its partitions
    cpus = sum(host.cpus for host in hosts) if all(host.cpus for host in hosts) else 0
    if len(hosts) == nodes:
        for k, host in enumerate(hosts):
            yield host.name, Place(cluster, k, k)
    elif cpus == nodes:
        first = 0
        for host in hosts:
            yield host.name, Place(cluster, first, first + host.cpus - 1)
            first += host.cpus
    else:
        said = f"{len(hosts)} hosts" + (f" with {cpus} CPUs" if cpus else "")
        raise FederationError(
            f"{path}: it lists {said}, but the cluster {cluster!r} has {nodes} nodes; these numbers must be equal, "
            "since the n-th host is the n-th node (--nodes sets the machine's size)."
        )


def _only(federation: Federation, path: str | PathLike[str]) -> str:
    if len(federation.clusters) > 1:
        names = ", ".join(cluster.name for cluster in federation.clusters)
        raise FederationError(
            f"{path}: it does not say which cluster its hosts are in ({names}); write lines like "
            f"`{federation.clusters[0].name} = cn[001-064]`."
        )
    return federation.clusters[0].name


def _named(records: list[Record], federation: Federation, path: str | PathLike[str]) -> str:
    # slurm.conf names the cluster; a federation of one cluster may use another name for it.
    names = [cluster.name for cluster in federation.clusters]
    told = (record.words.get("clustername", "") for record in records)
    return next((name for name in told if name in names), None) or _only(federation, path)


def _of_sinfo(lines: list[tuple[int, str]], path: str | PathLike[str]) -> Iterator[Found]:
    (_, header), *rows = lines
    names = header.upper().split()
    column = next((names.index(name) for name in ("NODELIST", "HOSTNAMES") if name in names), 0)
    cpus = names.index("CPUS") if "CPUS" in names else None
    for k, row in rows:
        cells = row.split()
        if len(cells) <= column:
            raise FederationError(f"{path}, line {k}: it has no column {names[column]}.")
        many = cells[cpus] if cpus is not None and len(cells) > cpus else ""
        for host in hosts_of(cells[column], f"{path}, line {k}"):
            yield Found(host, digits_of(many) or 0)


def _of_records(records: list[Record], path: str | PathLike[str]) -> Iterator[Found]:
    usual: dict[str, str] = {}
    for line, words in records:
        if words.get("nodename", "").upper() == "DEFAULT":  # in a slurm.conf: defaults for the lines that follow
            usual = usual | words
        elif "nodename" in words and not words.get("state", "").upper().startswith("FUTURE"):
            cpus = _cpus(usual | words)
            for host in hosts_of(words["nodename"], f"{path}, line {line}"):
                yield Found(host, cpus)


def _cpus(words: Mapping[str, str]) -> int:
    for name in ("cputot", "cpus", "procs"):
        if (told := digits_of(words.get(name, ""))) is not None:
            return told
    shape = [told for name in _SHAPE if (told := digits_of(words.get(name, ""))) is not None]
    return math.prod(shape) if shape else 0


def _records(text: str) -> list[Record]:
    """Return the records of NAME=VALUE in a text, which is scontrol's output or a slurm.conf."""
    return records_of(text) if is_of_scontrol(text) else [Record(line.number, line.words) for line in conf_lines(text)]


def _of_lines(
    lines: list[tuple[int, str]], federation: Federation, path: str | PathLike[str]
) -> dict[str, list[Found]]:
    known = {cluster.name for cluster in federation.clusters}
    found: dict[str, list[Found]] = {}
    for k, line in lines:
        match = _ASSIGNED.fullmatch(line)
        name = match[1].strip("\"'") if match else ""
        if match is None or name not in known:
            raise FederationError(f"{path}, line {k}: {shortened(repr(line))} names no hosts; give {TOLD}.")
        found.setdefault(name, []).extend(Found(host) for host in hosts_of(match[2].strip("\"'"), f"{path}, line {k}"))
    return found
