"""Conversion of hosts' closures to downtimes of nodes: overlaps are resolved, and equal closures are counted."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.core.text import counted, one_line
from fedsched.model.machine.node_ranges import ALL, ranges_text
from fedsched.model.time.downtimes import RECORDED, RESERVATION, Downtime

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fedsched.io.slurm_files.hosts import Hosts, Place
    from fedsched.model.machine.federation import Cluster, Federation

# Kinds by precedence: if closures of a host overlap, the first of these kinds counts.
OUTAGE = "outage"
KINDS = (OUTAGE, "maintenance", "drain", RESERVATION)
FORESEEN = ("maintenance", RESERVATION)
MOST_NAMES, LONGEST_NAME = 3, 80


class Stretch(NamedTuple):
    """A stretch of time in which a host is closed: begin and end in seconds of the workload, kind and name."""

    begin: float
    end: float
    kind: str
    name: str = ""


class Host(NamedTuple):
    """A host's name, and its cluster if the file names it."""

    name: str
    cluster: str = ""


class OutageEffect(NamedTuple):
    """How outages treat running jobs: what they do with them, and which jobs they take [42, 67].

    Downtimes that are no outages wait for jobs to end. With the victims "recorded" all close exactly their
    hosts' nodes.
    """

    on_running: str = "wait"
    victims: str = "latest"

    def of(self, kind: str) -> OutageEffect:
        """Return the effect of a downtime of this kind: this one for an outage; else it waits for running jobs."""
        return self if kind == OUTAGE and self.on_running != "wait" else OutageEffect()


@dataclass(frozen=True, slots=True)
class SiteHosts:
    """A site's federation and, if known, the mapping from host names to its nodes; else hosts are only counted."""

    federation: Federation
    hosts: Hosts | None

    def place(self, host: Host, where: str) -> Place | str:
        """Return a host's nodes, or, if no mapping of hosts is given, the name of its cluster.

        `where` is the file and line, for the error about an unknown host or cluster.
        """
        if self.hosts is not None:
            return self.hosts.place(host.name, where)
        return self.cluster(host.cluster, where).name

    def cluster(self, name: str, where: str) -> Cluster:
        """Return the federation's cluster of this name; its only cluster is returned whatever the name.

        Raise a FederationError if several clusters exist and none has the name.
        """
        clusters = self.federation.clusters
        for cluster in clusters:
            if cluster.name == name or len(clusters) == 1:
                return cluster
        names = ", ".join(cluster.name for cluster in clusters)
        said = f"the cluster {one_line(name)!r} is none of these" if name else "it does not say of which cluster it is"
        raise FederationError(
            f"{where}: {said}: {names}; give hosts= (fedsched: --hosts), a file of lines like "
            f"`{clusters[0].name} = cn[001-064]`."
        )


def downtimes_of(
    closed: Mapping[Host, Iterable[Stretch]], machine: SiteHosts, path: str, outage_effect: OutageEffect | None = None
) -> list[Downtime]:
    """Return the downtimes that follow from the closures of hosts, sorted by their begins.

    Equal closures of one cluster's hosts are one downtime. Maintenance and reservations, which are known in advance,
    close exactly their hosts' nodes, if these are known. Other downtimes close a number of a group's nodes, whichever
    become free, or of the cluster's if the nodes are unknown. With the victims "recorded" all downtimes close exactly
    their hosts' nodes; raise a FederationError if these are unknown.
    """
    outage_effect = outage_effect or OutageEffect()
    named = outage_effect.victims == RECORDED
    if named and machine.hosts is None and closed:
        raise FederationError(
            f"{path}: victims={RECORDED!r} (fedsched: --calendar-victims) closes exactly the recorded nodes, and it "
            "names hosts; "
            "give hosts= (fedsched: --hosts), a file that says which nodes they are."
        )
    places: dict[tuple[Stretch, str], list[Place | str]] = defaultdict(list)
    for host, stretches in closed.items():
        place = machine.place(host, path)
        for stretch in without_overlaps(stretches):
            places[stretch, place if isinstance(place, str) else place.cluster].append(place)
    found = [
        downtime(cluster, stretch, nodes, outage_effect)
        for (stretch, cluster), here in places.items()
        for nodes in _nodes(
            here,
            machine.cluster(cluster, path),
            f"{path}: {stretch.name}".rstrip(": "),
            named=named or stretch.kind in FORESEEN,
        )
    ]
    return sorted(
        found, key=lambda downtime: (downtime.begin, downtime.cluster, downtime.end, downtime.nodes, downtime.name)
    )


def downtime(cluster: str, stretch: Stretch, nodes: str, outage_effect: OutageEffect) -> Downtime:
    """Return the downtime of a cluster's nodes with the times, kind and name of a closure; `nodes` is a text of ranges.

    Only an outage has the given effect on running jobs; any other downtime waits for them.
    """
    becomes = outage_effect.of(stretch.kind)
    return Downtime(
        cluster,
        stretch.begin,
        stretch.end,
        nodes=nodes,
        kind=stretch.kind,
        name=stretch.name,
        on_running=becomes.on_running,
        victims=becomes.victims,
    )


def _nodes(here: list[Place | str], cluster: Cluster, where: str, *, named: bool) -> Iterator[str]:
    known = [place for place in here if not isinstance(place, str)]
    if len(known) < len(here):
        if len(here) > cluster.nodes:
            raise FederationError(
                f"{where}: {counted(len(here), 'host')}, but the cluster {cluster.name!r} has {cluster.nodes} nodes; "
                "give the machine as it is (--nodes, --federation)."
            )
        yield ALL if len(here) == cluster.nodes else f"{len(here)} of {ALL}"
        return
    nodes = sorted({node for place in known for node in range(place.first, place.last + 1)})
    if len(nodes) == cluster.nodes:
        yield ALL
    elif named:
        yield ranges_text(nodes)
    else:
        of_node = cluster.group_of_node
        closed = of_node[nodes].tolist()
        for g in sorted(set(closed)):
            some, group = closed.count(g), cluster.groups[g]
            among = ALL if group.count == cluster.nodes else ranges_text(np.flatnonzero(of_node == g).tolist())
            yield among if some == group.count else f"{some} of {among}"


def without_overlaps(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return one host's closures, cut so that none overlap, sorted by begin.

    If closures of two kinds overlap, an outage comes first, then maintenance, a drain, a reservation; the other is cut.
    Closures of one kind that overlap or touch are joined.
    """
    given = sorted(set(stretches))
    found: list[Stretch] = []
    for kind in KINDS:
        stronger = found
        for whole in _joined([stretch for stretch in given if stretch.kind == kind]):
            found = found + list(_without(whole, stronger))
    return sorted(found)


def _joined(stretches: list[Stretch]) -> Iterator[Stretch]:
    # Joins closures of one kind that overlap or touch, in the order of their begins.
    names: list[str] = []
    begin = end = -math.inf
    for k, stretch in enumerate(stretches):
        if k and stretch.begin > end:
            yield Stretch(begin, end, stretch.kind, name_of(names))
        if not k or stretch.begin > end:
            begin, end, names = stretch.begin, stretch.end, []
        end = max(end, stretch.end)
        names.append(stretch.name)
    if stretches:
        yield Stretch(begin, end, stretches[0].kind, name_of(names))


def _without(whole: Stretch, others: list[Stretch]) -> Iterator[Stretch]:
    # The parts of a closure that no other covers.
    begin = whole.begin
    for other in sorted(others):
        if other.end <= begin or other.begin >= whole.end:
            continue
        if other.begin > begin:
            yield whole._replace(begin=begin, end=other.begin)
        begin = max(begin, other.end)
    if begin < whole.end:
        yield whole._replace(begin=begin)


def name_of(names: Iterable[str]) -> str:
    """Return one name for a downtime joined from closures: the first three names and how many more, cut to 80 signs."""
    plain = (" ".join(one_line(name).replace("|", "/").split()) for name in names)
    text = listed([name for name in plain if name], MOST_NAMES)
    return text if len(text) <= LONGEST_NAME else f"{text[: LONGEST_NAME - 1].rstrip()}…"


def listed(names: Iterable[str], most: int = 8) -> str:
    """Return names as one text with commas, each once: the first `most`, then how many more there are."""
    several = list(dict.fromkeys(map(one_line, names)))
    more = f" and {len(several) - most} more" if len(several) > most else ""
    return ", ".join(several[:most]) + more
