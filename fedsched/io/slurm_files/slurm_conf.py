"""A reader of a slurm.conf as tables: its parameters, nodes and partitions, each with its line number.

The output of `scontrol show node` and `scontrol show partition` has the same names and is read the same way.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import FederationError, TraceError, shortened
from fedsched.io.files import read_text
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.slurm_keys import GLOBAL, SECTION_OF, unknown_keys_of
from fedsched.io.slurm_files.slurm_records import (
    CONFIG,
    CONFIGURATION,
    NODES,
    PARTITIONS,
    conf_lines,
    dump_of,
    is_of_scontrol,
    records_of,
    settings_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from os import PathLike

DOWN = "downnodes"
RENAMED = {"shared": "oversubscribe"}  # older names of partition parameters
KINDS = ("nodename", "partitionname", "nodeset")
DEEPEST = 8  # most levels of files that include files
_INCLUDE = re.compile(r"\s*include\s+(\S+)\s*(?:#.*)?", re.IGNORECASE)


class Line(NamedTuple):
    """The values of a line by name in lower case, with those of the DEFAULT lines before it, and its file and line."""

    where: str
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SlurmConf:
    """The content of a slurm.conf: parameters, nodes by host, partitions and node sets by name, all as texts."""

    path: str
    parameters: Mapping[str, str]  # by name in lower case
    nodes: Mapping[str, Line]  # by host, in the order of the file
    partitions: Mapping[str, Line]
    sets: Mapping[str, Line]
    strange: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # keys that Slurm does not have, by section

    @classmethod
    def read(cls, path: str | PathLike[str]) -> SlurmConf:
        """Return the content of a slurm.conf and of the files that it includes, as `read_slurm_conf` does."""
        return read_slurm_conf(path)

    @property
    def name(self) -> str:
        """Return the cluster's name, from ClusterName; "cluster" if the file has none."""
        return self.parameters.get("clustername", "cluster")

    def hosts_of_partition(self, name: str) -> list[str]:
        """Return the hosts of a partition, in the order of the file's nodes.

        Raise a FederationError if the partition has a host that no NodeName line names.
        """
        line = self.partitions[name]
        named: dict[str, None] = {}
        for word in _split(line.words.get("nodes", "")):
            named |= dict.fromkeys(self._meant(word, line.where))
        strangers = [host for host in named if host not in self.nodes]
        if strangers:
            raise FederationError(
                f"{line.where}: partition {name!r} has {shortened(repr(strangers[0]))}, which no NodeName line names."
            )
        return [host for host in self.nodes if host in named]

    def _meant(self, word: str, where: str) -> list[str]:
        if word.upper() == "ALL":
            return list(self.nodes)
        if word not in self.sets:
            return hosts_of(word, where)
        one = self.sets[word]
        feature, nodes = one.words.get("feature"), one.words.get("nodes")
        named = hosts_of(nodes, one.where) if nodes else []
        return named + [host for host, line in self.nodes.items() if feature in features_of(line)]


def read_slurm_conf(path: str | PathLike[str]) -> SlurmConf:
    """Return the content of a slurm.conf and of the files that it includes, or the same from a dump's folder.

    `fedsched twin dump` writes such a folder; the path may be that of the folder or of its config.txt.

    Parameters
    ----------
    path
        The file, or the folder.

    Examples
    --------
    >>> from pathlib import Path
    >>> lines = "ClusterName=hill", "NodeName=n[1-4] CPUs=8", "PartitionName=day Nodes=ALL"
    >>> _ = Path("slurm.conf").write_text(chr(10).join(lines))
    >>> conf = fs.io.read_slurm_conf("slurm.conf")
    >>> conf.name, list(conf.nodes)
    ('hill', ['n1', 'n2', 'n3', 'n4'])
    """
    if (folder := dump_of(path)) is not None:
        return _of_dump(folder)
    parameters: dict[str, str] = {}
    nodes: dict[str, Line] = {}
    partitions: dict[str, Line] = {}
    sets: dict[str, Line] = {}
    usual: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    strange: dict[str, dict[str, None]] = defaultdict(dict)
    for where, words in _records(Path(path), strange, depth=0):
        kind = next((kind for kind in KINDS if kind in words), None)
        if kind is None and (own := next((one for one in SECTION_OF if one in words), None)):
            # The other values on this line only hold for the nodes that it names.
            parameters[own] = ",".join(filter(None, (parameters.get(own, ""), words[own])))
            continue
        if kind == "partitionname":
            words = {RENAMED.get(word, word): value for word, value in words.items()}
            if words.get("exclusive", "").lower() == "node":
                words["oversubscribe"] = "exclusive"
        if kind is None:
            parameters |= words
            continue
        name = words[kind]
        if name.upper() == "DEFAULT":  # it adds to earlier DEFAULT lines
            usual[kind] |= {word: value for word, value in words.items() if word != kind}
            continue
        line = Line(where, usual[kind] | words)
        if kind == "nodename":
            for host in hosts_of(name, where):
                if host in nodes:
                    raise FederationError(f"{where}: node {host!r} is already in {nodes[host].where}; leave one.")
                nodes[host] = line
        else:
            (partitions if kind == "partitionname" else sets)[name] = line
    if not nodes:
        raise FederationError(f"{path}: no NodeName line names a node; give a slurm.conf or `scontrol show node -o`.")
    kept = {section: tuple(names) for section, names in strange.items() if names}
    return SlurmConf(str(path), parameters, nodes, partitions, sets, kept)


def _of_dump(folder: Path) -> SlurmConf:
    nodes = read_slurm_conf(folder / NODES).nodes
    partitions = {
        words["partitionname"]: Line(f"{folder / PARTITIONS}, line {line}", words)
        for line, words in records_of(_text(folder / PARTITIONS))
        if "partitionname" in words
    }
    for there, file, what, command in (
        (partitions, PARTITIONS, "lists no partition", "scontrol -o show partition"),
        ("schedulertype" in (said := settings_in(_text(folder / CONFIG))), CONFIG, "names no SchedulerType",
         "scontrol show config"),
    ):  # fmt: skip
        if not there:
            raise FederationError(f"{folder / file}: it {what}; give what `{command}` prints.")
    return SlurmConf(str(folder / CONFIG), said, nodes, partitions, {})


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except TraceError as error:
        raise FederationError(str(error)) from error


def texts_of_conf(path: str | PathLike[str]) -> dict[str, str]:
    """Return the texts of a slurm.conf and of the files that it includes, by path, the slurm.conf first."""
    found: dict[str, str] = {}
    coming = [Path(path)]
    while coming:
        one = coming.pop(0)
        if str(one) in found:
            continue
        found[str(one)] = text = read_text(one)
        included = [match[1] for line in text.splitlines() if (match := _INCLUDE.fullmatch(line))]
        coming[:0] = [one.parent / name for name in included]
    return found


def _records(
    path: Path, strangers: Mapping[str, dict[str, None]], *, depth: int
) -> Iterator[tuple[str, dict[str, str]]]:
    """Give the place and the values of each line of a slurm.conf, and of files that it includes, in order.

    Keys that Slurm does not have are added to `strangers`, by section. Raise a FederationError for an invalid line.
    """
    text = _text(path)
    if text.startswith(CONFIGURATION):
        raise FederationError(
            f"{path}: what `scontrol show config` prints names no nodes; give the folder of a dump that "
            "`fedsched twin dump` has written, or the slurm.conf."
        )
    if is_of_scontrol(text):
        yield from ((f"{path}, line {record.line}", record.words) for record in records_of(text) if record.words)
        return
    for line in conf_lines(text):
        where, included = f"{path}, line {line.number}", _INCLUDE.fullmatch(line.text)
        if included is None:
            if strange := line.strange:
                raise FederationError(
                    f"{where}: {shortened(repr(strange))} is not NAME=VALUE, and Slurm refuses such a line; correct "
                    "it, or begin it with #."
                )
            words = line.words
            section = next((SECTION_OF[word] for word in SECTION_OF if word in words), GLOBAL)
            strangers[section] |= dict.fromkeys(unknown_keys_of(section, line.names))
            yield where, words
            continue
        if depth == DEEPEST:
            raise FederationError(
                f"{where}: more than {DEEPEST} levels of files that include files; look for a circle."
            )
        if "%" in included[1]:
            raise FederationError(
                f"{where}: {included[1]!r} contains %, which is not read; write the file's full name."
            )
        yield from _records(path.parent / included[1], strangers, depth=depth + 1)


def features_of(line: Line) -> tuple[str, ...]:
    """Return the features that a node's line names, each once."""
    words = line.words
    text = words.get("feature") or words.get("features") or words.get("availablefeatures") or ""
    return tuple(dict.fromkeys(name for name in text.split(",") if name and name.lower() != "(null)"))


def _split(text: str) -> list[str]:
    """Return the parts of a text with commas between them; commas in brackets do not separate, empty parts drop out."""
    return [part for part in re.split(r",(?![^\[]*\])", text) if part]
