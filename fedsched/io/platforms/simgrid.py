"""A reader of SimGrid's platform files as federations: clusters of hosts behind their uplinks.

Only the parser expat is used: it opens no other file. A document that declares an entity is refused, as entities can
grow a few lines into gigabytes.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.parsers import expat

from fedsched.core.errors import FederationError, TraceError
from fedsched.io.files import open_bytes, stem_of
from fedsched.model.machine.federation import (
    DEFAULT_BUSY_WATTS,
    DEFAULT_IDLE_WATTS,
    UNLIMITED,
    Cluster,
    Federation,
    NodeGroup,
)

if TYPE_CHECKING:
    from os import PathLike

MASTER = "master_host"  # the scheduler's own host, if no role marks it
WATTS = ("wattage_per_state", "watt_per_state")
SPEEDS = {"f": 1.0, "kf": 1e3, "Mf": 1e6, "Gf": 1e9, "Tf": 1e12, "Pf": 1e15, "Ef": 1e18, "Zf": 1e21}
SPEEDS |= {"flops": 1.0, "kiloflops": 1e3, "megaflops": 1e6, "gigaflops": 1e9, "teraflops": 1e12, "petaflops": 1e15}
_BYTES = {"": 1.0} | {sign: 1e3**k for k, sign in enumerate("kMGTPE", 1)}
_BYTES |= {f"{sign}i": 1024.0**k for k, sign in enumerate("KMGTPE", 1)} | {"ki": 1024.0}
BANDWIDTHS = {f"{sign}Bps": factor for sign, factor in _BYTES.items()}
BANDWIDTHS |= {f"{sign}bps": factor / 8 for sign, factor in _BYTES.items()}
_QUANTITY = re.compile(r"\s*([0-9.]+(?:[eE][+-]?\d+)?)\s*([A-Za-z]*)\s*", re.ASCII)
_RADICAL = re.compile(r"\s*(\d{1,9})\s*(?:-\s*(\d{1,9})\s*)?", re.ASCII)
ZONES = ("zone", "AS")
HOSTS = ("host", "cluster", "cabinet", "peer")
ROUTES = ("zoneRoute", "ASroute", "ASRoute", "bypassZoneRoute", "bypassASroute", "bypassASRoute")
NOT_READ = ("trace", "trace_connect", "storage", "disk", "include", "model_prop")
DEPTH = 64


def read_simgrid(path: str | PathLike[str], *, speed: float | None = None) -> Federation:
    """Return the federation in a platform file; its description says how the file was interpreted.

    Each `<cluster>` becomes a cluster, and so do each zone's own hosts and cabinets; hosts of equal speed and watts
    become a group. Speeds are those of the chosen state (`pstate`, by default the first), relative to `speed`. Watts
    are the first (idle) and the last (all cores) number of that state, or defaults if a host has none. A cluster's
    uplink is the narrowest of its backbone and of the links on zone routes to other clusters. The scheduler's host
    (role master, or named master_host…) and hosts of other roles than compute_node are left out. A host is one node,
    with the speed of one of its cores.

    Parameters
    ----------
    path
        An XML file, plain or compressed.
    speed
        The flop/s of speed 1; default: those of the most hosts.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import read_simgrid
    >>> cluster = '<cluster id="c" prefix="c" suffix="" radical="0-3" speed="2Gf" bw="1GBps" lat="1us"/>'
    >>> text = f'<platform version="4.1"><zone id="z" routing="Full">{cluster}</zone></platform>'
    >>> written = Path("machine.xml").write_text(text)
    >>> print(read_simgrid("machine.xml"))
    machine: 1 cluster, 4 nodes (c 4)
    """
    if speed is not None and not (math.isfinite(speed) and speed > 0):
        raise ValueError(f"speed={speed!r} must be finite and above 0 flop/s.")
    platform = _Platform(str(path))
    clusters = platform.clusters()
    reference = speed or _commonest(clusters)
    made = []
    for cluster in clusters:
        try:
            groups = [
                NodeGroup(count, kind.speed / reference, kind.busy_watts, kind.idle_watts)
                for kind, count in cluster.kinds.items()
            ]
            made.append(Cluster(cluster.name, tuple(groups), platform.uplink(cluster)))
        except FederationError as error:
            raise FederationError(f"{path}: {error}") from None
    return Federation(tuple(made), name=stem_of(path), description=platform.about(reference))


def node_speed(path: str | PathLike[str]) -> float:
    """Return the flop/s that `read_simgrid` uses as speed 1: those of the most hosts.

    Parameters
    ----------
    path
        An XML file, plain or compressed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import node_speed
    >>> cluster = '<cluster id="c" prefix="c" suffix="" radical="0-3" speed="2Gf" bw="1GBps" lat="1us"/>'
    >>> text = f'<platform version="4.1"><zone id="z" routing="Full">{cluster}</zone></platform>'
    >>> written = Path("machine.xml").write_text(text)
    >>> node_speed("machine.xml")
    2000000000.0
    """
    return _commonest(_Platform(str(path)).clusters())


def _commonest(clusters: list[_Group]) -> float:
    count: Counter[float] = Counter()
    for cluster in clusters:
        for kind, hosts in cluster.kinds.items():
            count[kind.speed] += hosts
    return count.most_common(1)[0][0]


@dataclass(frozen=True, slots=True)
class _Kind:
    """The properties that hosts of one node group share: speed in flop/s, and watts when busy and when idle."""

    speed: float
    busy_watts: float
    idle_watts: float


@dataclass(slots=True)
class _Element:
    """An XML element that is not closed yet, with the properties and links that are read within it."""

    tag: str
    attributes: dict[str, str]
    line: int
    properties: dict[str, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)

    def where(self, path: str) -> str:
        name = self.attributes.get("id")
        return f"{path}, line {self.line}: <{self.tag}>" + (f" {name[:40]!r}" if name else "")


@dataclass(slots=True)
class _Group:
    """A future cluster: its numbers of hosts by kind, its zones from the outermost, and its backbones' bytes/s."""

    name: str
    zones: tuple[str, ...]
    kinds: Counter[_Kind] = field(default_factory=Counter)
    backbones: list[float] = field(default_factory=list)


class _Platform:
    """The hosts, links and routes of one platform file, read when the object is made."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.groups: dict[tuple[str, ...], _Group] = {}
        self.links: dict[str, float] = {}
        self.routes: list[tuple[str, str, list[str], int]] = []
        self.left_out = 0
        self.many_cores = 0
        self.without_watts = 0
        self.ignored: Counter[str] = Counter()
        self._open: list[_Element] = []
        self._zones: list[str] = []
        self._read()

    # ---- parsing --------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = lambda *_: 0
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        self._parser = parser
        try:
            with open_bytes(self.path) as stream:
                parser.ParseFile(stream)
        except TraceError as error:
            raise FederationError(str(error)) from error
        except expat.ExpatError as error:
            raise FederationError(f"{self.path}: not valid XML: {error}.") from None
        except (ValueError, LookupError) as error:  # an unknown encoding, or a zero byte in a name
            raise FederationError(f"{self.path}: not valid XML: {error}.") from None

    def _entity(self, name: str, *_: Any) -> None:
        self._fail(f"it declares the entity {name[:40]!r}, which no platform needs; write its text out")

    def _skipped(self, name: str, *_: Any) -> None:
        self._fail(f"the entity {name[:40]!r} is not known; write its text out")

    def _fail(self, problem: str) -> None:
        raise FederationError(f"{self.path}, line {self._parser.CurrentLineNumber}: {problem}.")

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = _Element(tag, attributes, self._parser.CurrentLineNumber)
        if not self._open and tag != "platform":
            self._fail(f"the document is a <{tag[:40]}>, not a <platform> of SimGrid")
        if len(self._open) >= DEPTH:
            self._fail(f"elements are nested more than {DEPTH} deep")
        if tag == "prop" and self._open:
            self._open[-1].properties[attributes.get("id", "")] = attributes.get("value", "")
        elif tag == "link_ctn" and self._open:
            self._open[-1].links.append(attributes.get("id", ""))
        elif tag in ZONES:
            self._zones.append(self._name(element))
        elif tag == "backbone":
            self._group(tuple(self._zones)).backbones.append(self._bandwidth(element, "bandwidth"))
        elif tag in ("link", "peer_link"):
            self.links[self._name(element)] = self._bandwidth(element, "bandwidth")
        elif tag in NOT_READ:
            self.ignored[tag] += 1
        self._open.append(element)

    def _end(self, tag: str) -> None:
        element = self._open.pop()
        if tag in ZONES:
            self._zones.pop()
        elif tag in HOSTS:
            self._hosts(element)
        elif tag in ROUTES:
            source, target = (element.attributes.get(end, "") for end in ("src", "dst"))
            self.routes.append((source, target, element.links, element.line))

    def _name(self, element: _Element) -> str:
        if "id" not in element.attributes:
            raise FederationError(f"{element.where(self.path)} has no id.")
        return element.attributes["id"]

    def _group(self, zones: tuple[str, ...]) -> _Group:
        if zones not in self.groups:
            self.groups[zones] = _Group(zones[-1] if zones else "platform", zones)
        return self.groups[zones]

    def _hosts(self, element: _Element) -> None:
        name = element.attributes.get("prefix", "") if element.tag in ("cluster", "cabinet") else self._name(element)
        role = element.properties.get("role", "compute_node")
        count = self._count(element)
        if "compute_node" not in role or name.startswith(MASTER):
            self.left_out += count
            return
        if element.attributes.get("core", "1").strip() != "1":
            self.many_cores += count
        zones = (*self._zones, self._name(element)) if element.tag == "cluster" else tuple(self._zones)
        group = self._group(zones)
        group.kinds[self._kind(element, count)] += count
        if element.tag == "cluster" and "bb_bw" in element.attributes:
            group.backbones.append(self._bandwidth(element, "bb_bw"))

    def _count(self, element: _Element) -> int:
        """Return an element's number of hosts: of a cluster or cabinet those in its range (0-511 or 0-7,10), else 1."""
        if element.tag not in ("cluster", "cabinet"):
            return 1
        total = 0
        for part in element.attributes.get("radical", "").split(","):
            match = _RADICAL.fullmatch(part)
            if match is None or int(match[2] or match[1]) < int(match[1]):
                text = element.attributes.get("radical", "")[:40]
                raise FederationError(f"{element.where(self.path)}: radical={text!r} must be like 0-511 or 0-7,10,12.")
            total += int(match[2] or match[1]) - int(match[1]) + 1
        return total

    def _kind(self, element: _Element, count: int) -> _Kind:
        where = element.where(self.path)
        speeds = (element.attributes.get("speed") or element.attributes.get("power") or "").split(",")
        state = element.attributes.get("pstate", "0")
        if not state.isascii() or not state.isdigit() or len(state) > 4 or int(state) >= len(speeds):
            raise FederationError(f"{where}: pstate={state[:40]!r} must number one of its {len(speeds)} speeds from 0.")
        speed = _quantity(speeds[int(state)], SPEEDS, f"{where}: speed")
        watts = next((element.properties[name] for name in WATTS if name in element.properties), None)
        if watts is None:
            self.without_watts += count
            return _Kind(speed, DEFAULT_BUSY_WATTS, DEFAULT_IDLE_WATTS)
        states = watts.split(",")
        if int(state) >= len(states):
            raise FederationError(f"{where}: its watts {watts[:40]!r} lack state {state}.")
        numbers = [_quantity(part, {}, f"{where}: watts") for part in states[int(state)].split(":")]
        if not numbers[0] <= numbers[-1]:
            raise FederationError(f"{where}: watts {states[int(state)].strip()[:40]!r}: idle must not exceed busy.")
        return _Kind(speed, numbers[-1], numbers[0])

    def _bandwidth(self, element: _Element, attribute: str) -> float:
        text = element.attributes.get(attribute, "")
        return _quantity(text.split(",")[0], BANDWIDTHS, f"{element.where(self.path)}: {attribute}")

    # ---- result ---------------------------------------------------------------------------------------------------

    def clusters(self) -> list[_Group]:
        """Return the future clusters that have hosts, with distinct names; raise a FederationError if there is none."""
        found = [group for group in self.groups.values() if group.kinds]
        if not found:
            raise FederationError(f"{self.path}: there is no host to run jobs on ({self.left_out} of other roles).")
        names = Counter(group.name for group in found)
        for group in found:
            if names[group.name] > 1:
                group.name = "/".join(group.zones)
        return found

    def uplink(self, cluster: _Group) -> float:
        """Return the bytes a second of a cluster's uplink: the least of its backbones and of links to other clusters.

        Return infinity if there is none of these.
        """
        found = list(cluster.backbones)
        for source, target, links, line in self.routes:
            here, there = source in cluster.zones, target in cluster.zones
            if here == there or not self._computes(target if here else source):
                continue
            for link in links:
                if link not in self.links:
                    raise FederationError(f"{self.path}, line {line}: there is no link {link[:40]!r}.")
                found.append(self.links[link])
        return min(found, default=UNLIMITED)

    def _computes(self, zone: str) -> bool:
        return any(zone in group.zones for group in self.groups.values() if group.kinds)

    def about(self, reference: float) -> str:
        """Return a text for users on how the file was interpreted; `reference` is the flop/s of speed 1."""
        lines = [f"Read from a SimGrid platform; speed 1 is {reference:g} flop/s."]
        if self.left_out:
            lines.append(f"{self.left_out} hosts of other roles (the scheduler's, storage) are left out.")
        if self.many_cores:
            lines.append(f"{self.many_cores} hosts have several cores: each host is one node of the speed of one core.")
        if self.without_watts:
            lines.append(
                f"Assumed: {self.without_watts} hosts say no watts; {DEFAULT_BUSY_WATTS:g} busy, "
                f"{DEFAULT_IDLE_WATTS:g} idle."
            )
        if self.ignored:
            named = ", ".join(f"{count} <{tag}>" for tag, count in self.ignored.items())
            lines.append(f"Not read: {named}.")
        return "\n".join([*lines, "Latencies, hosts' own links and states other than the first are not modelled."])


def _quantity(text: str, units: dict[str, float], where: str) -> float:
    match = _QUANTITY.fullmatch(text)
    try:
        value = float(match[1]) * (units[match[2]] if match[2] else 1.0) if match else math.nan
    except (KeyError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and value >= (0 if not units else 1e-300)):
        kind = f"a number with a unit ({', '.join(units)})" if units else "a number"
        raise FederationError(f"{where}={text.strip()[:40]!r} must be {kind}.")
    return value
