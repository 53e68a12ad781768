"""The classes of the machine that jobs run on: node groups, clusters, pools and federations."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, cast

import numpy as np

from fedsched.core.errors import FederationError, shortened, unknown_name
from fedsched.core.text import counted, one_line
from fedsched.core.values import (
    LEAST_BYTES,
    LEAST_SPEED,
    MOST_BYTES,
    MOST_SPEED,
    MOST_WATTS,
    bytes_a_second,
    digits_of,
    is_number,
)
from fedsched.model.jobs.assumed import Assumed, are_assumed
from fedsched.model.jobs.demands import checked_resources
from fedsched.model.jobs.validation import check_labels
from fedsched.model.machine.convenience import FederationConvenience
from fedsched.model.machine.limits import Limit, check_limits
from fedsched.model.machine.node_features import FEATURE
from fedsched.model.machine.node_ranges import atoms, check_node_count, groups_of_nodes, ranges_text
from fedsched.model.machine.partition import Partition, check_partitions
from fedsched.model.power.gears import check_gears, checked_gears
from fedsched.model.power.power_cap import check_cap_rule
from fedsched.model.power.switching import PowerSaving, check_states, check_switching
from fedsched.model.time.downtimes import ALWAYS, Downtime, closures_of, reserved_names
from fedsched.model.time.reservations import check_reservations
from fedsched.model.time.signal import Signal, check_signals

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

# A SPECpower surrogate (HP ML110 G5, Xeon 3075: active idle and full load), for nodes without given watts.
DEFAULT_BUSY_WATTS = Assumed(135.0)
DEFAULT_IDLE_WATTS = Assumed(93.7)
# The other default figures.
DEFAULT_SPEED = Assumed(1.0)
UNLIMITED = Assumed(math.inf)
MOST_NODES = 2**31 - 1  # of a group: sums over groups and products with tasks stay exact


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """A group of identical nodes of one cluster; a node runs one task at a time unless jobs share nodes.

    Default speeds and watts are marked as assumed.

    Parameters
    ----------
    count
        The number of nodes.
    speed
        The speed relative to a reference node: the computing part of a job's run time is divided by it.
    busy_watts, idle_watts
        The watts that a node draws while it runs a task, and while it is idle.
    name
        The name of the group.
    features
        Words that describe the nodes; jobs may ask for nodes with some of these, by their label "features".
    resources
        What a node has, as amounts by name: (("cpu", 40), ("gpu", 2)). Jobs demand amounts by their `demand`.
    weight
        Among equally fast groups of a cluster, jobs take the one of the least weight first.
    off_watts
        The watts that a node draws while it is off, if the federation's `power` switches idle nodes off.
    boot_seconds, boot_watts, shutdown_seconds, shutdown_watts
        How long booting and shutting down take, and the watts that a node draws meanwhile: by default the busy watts
        while it boots and the idle watts while it shuts down.
    nodes
        The numbers of the group's nodes in its cluster ("0-15,20") if they are not the next ones; then all groups of
        the cluster need it.
    gears
        Slower modes of the nodes, as (share of the speed, watts): ((0.8, 160.0), (0.6, 130.0)) are gears 1 and 2.

    Examples
    --------
    >>> fs.NodeGroup(16, speed=1.5, busy_watts=180, idle_watts=90)
    NodeGroup(count=16, speed=1.5, busy_watts=180, idle_watts=90, name='')
    >>> fs.NodeGroup(4, resources=(("cpu", 40), ("gpu", 2)), features=("a100",)).features
    ('a100',)
    """

    count: int
    speed: float = DEFAULT_SPEED
    busy_watts: float = DEFAULT_BUSY_WATTS
    idle_watts: float = DEFAULT_IDLE_WATTS
    name: str = ""
    features: tuple[str, ...] = field(default=(), repr=False)  # not in repr: see `Federation.partitions`
    resources: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    weight: int = field(default=1, repr=False)
    off_watts: float | None = field(default=None, repr=False)
    boot_seconds: float = field(default=0.0, repr=False)
    boot_watts: float | None = field(default=None, repr=False)
    shutdown_seconds: float = field(default=0.0, repr=False)
    shutdown_watts: float | None = field(default=None, repr=False)
    nodes: str | None = field(default=None, repr=False)
    gears: tuple[tuple[float, float], ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.features, str):
            raise FederationError(f"NodeGroup: features={self.features!r} is one text; give a sequence of names.")
        object.__setattr__(self, "features", tuple(self.features))
        for name in self.features:
            if not isinstance(name, str) or not FEATURE.fullmatch(name):
                raise FederationError(f"NodeGroup: feature {name!r} must be a name, without spaces and &|,;[]()*.")
        object.__setattr__(self, "resources", checked_resources(self.resources))
        if not is_number(self.weight) or int(self.weight) != self.weight or not 0 <= self.weight <= 2**32:
            raise FederationError(f"NodeGroup: weight={self.weight!r} must be a whole number of at least 0.")
        if not is_number(self.count) or int(self.count) != self.count or not 1 <= self.count <= MOST_NODES:
            raise FederationError(
                f"NodeGroup: count={self.count!r} must be a whole number of at least 1 and at most {MOST_NODES}."
            )
        if not (is_number(self.speed) and self.speed > 0):
            raise FederationError(
                f"NodeGroup: speed={self.speed!r} must be finite and above 0 (1.0 is the reference node)."
            )
        if not LEAST_SPEED <= self.speed <= MOST_SPEED:
            raise FederationError(
                f"NodeGroup: speed={self.speed!r} must lie between {LEAST_SPEED:g} and {MOST_SPEED:g} (1.0 is the "
                "reference node)."
            )
        if not (is_number(self.busy_watts) and is_number(self.idle_watts)):
            raise FederationError(f"NodeGroup: watts {self.busy_watts!r}/{self.idle_watts!r} must be finite.")
        if not 0 <= self.idle_watts <= self.busy_watts:
            raise FederationError(
                f"NodeGroup: idle_watts={self.idle_watts!r} must lie between 0 and busy_watts={self.busy_watts!r}."
            )
        if self.busy_watts > MOST_WATTS:
            raise FederationError(f"NodeGroup: busy_watts={self.busy_watts!r} must be at most {MOST_WATTS:g}.")
        check_states(self)
        object.__setattr__(self, "gears", checked_gears(self.gears, self.idle_watts))

    @property
    def switching(self) -> tuple[float | None, float, float | None, float, float | None]:
        """Return the tuple (off_watts, boot_seconds, boot_watts, shutdown_seconds, shutdown_watts)."""
        return self.off_watts, self.boot_seconds, self.boot_watts, self.shutdown_seconds, self.shutdown_watts


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster: one or more node groups behind one uplink.

    Parameters
    ----------
    name
        The cluster's name, distinct within a federation.
    groups
        Its groups of equal nodes.
    uplink
        The bandwidth to the central switch in bytes a second, as a number or a text; by default infinite.

    Examples
    --------
    >>> cluster = fs.Cluster("north", (fs.NodeGroup(16, speed=2.0), fs.NodeGroup(8)), uplink="1.25G")
    >>> cluster.nodes, cluster.uplink
    (24, 1250000000.0)
    """

    name: str
    groups: tuple[NodeGroup, ...]
    uplink: float = UNLIMITED

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise FederationError(f"Cluster: name={shortened(self.name)} must be a text, as Cluster('north', groups).")
        object.__setattr__(self, "groups", _groups_of(self.name, self.groups))
        object.__setattr__(self, "uplink", _rate_of(self.name, self.uplink))
        if not self.groups:
            raise FederationError(f"Cluster {self.name!r}: it has no node group; give at least one.")
        if not self.uplink > 0:
            raise FederationError(
                f"Cluster {self.name!r}: uplink={self.uplink!r} must be above 0 bytes/s (inf is allowed)."
            )
        if not LEAST_BYTES <= self.uplink <= MOST_BYTES and self.uplink != math.inf:
            raise FederationError(
                f"Cluster {self.name!r}: uplink={self.uplink!r} must lie between {LEAST_BYTES:g} and {MOST_BYTES:g} "
                "bytes/s, or be inf."
            )
        if any(group.nodes is not None for group in self.groups):
            self.group_of_node  # noqa: B018 - refuses nodes that two groups say they have

    @property
    def nodes(self) -> int:
        """Return the number of nodes of the cluster."""
        return sum(group.count for group in self.groups)

    @property
    def group_of_node(self) -> NDArray[np.int64]:
        """Return the index of each node's group within the cluster, by node number."""
        return groups_of_nodes(self.name, [(group.count, group.nodes) for group in self.groups])

    @property
    def first_nodes(self) -> NDArray[np.int64]:
        """Return the lowest node number of each group."""
        if self.groups[0].nodes is None:
            return np.cumsum([0, *(group.count for group in self.groups[:-1])])
        return np.asarray(np.unique(self.group_of_node, return_index=True)[1], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pool:
    """A pool: a limited amount that jobs hold besides nodes, such as licences or gigabytes of a burst buffer.

    Parameters
    ----------
    name
        The name by which jobs ask for it.
    amount
        How much of it there is.
    cluster
        The cluster that it belongs to; jobs that need some of it then run on this cluster's nodes. None (default): it
        belongs to the federation.

    Examples
    --------
    >>> licences = fs.Pool("matlab", 2)
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(16),)),), pools=(licences,))
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60], pools={"matlab": [2, 1]})
    >>> fs.simulate(jobs, machine).start
    array([ 0., 60.])
    """

    name: str
    amount: int
    cluster: str | None = field(default=None, repr=False)  # not in repr: see `Federation.partitions`

    def __post_init__(self) -> None:
        try:
            check_labels("Pool: name", (self.name,))
        except ValueError as error:
            raise FederationError(str(error)) from None
        if not is_number(self.amount) or int(self.amount) != self.amount or not 0 <= self.amount <= MOST_NODES:
            raise FederationError(
                f"Pool {self.name!r}: amount={self.amount!r} must be a whole number of at least 0 and at most "
                f"{MOST_NODES}."
            )
        if not (self.cluster is None or isinstance(self.cluster, str)):
            raise FederationError(f"Pool {self.name!r}: cluster={self.cluster!r} must be a cluster's name, or None.")

    def __str__(self) -> str:
        where = "" if self.cluster is None else f" on {one_line(self.cluster)}"
        return f"{self.amount:,} of {one_line(self.name)}{where}"


@dataclass(frozen=True, slots=True)
class Federation(FederationConvenience):
    """A federation: clusters joined by one non-blocking central switch, and what their jobs share besides nodes.

    Parameters
    ----------
    clusters
        The clusters, each with a name of its own.
    name, description
        The name in tables, and a text about the machine.
    pools, partitions, calendar, limits, signals
        What jobs share besides nodes: pools, partitions, downtimes, limits on users, and prices, carbon or power caps.
    power
        The policy that switches idle nodes off: None (default, all are always on), or `Timeout`, `Reserve` or `Planned`
        of `fedsched.policies`.
    cap
        How long a job's power must fit under a power cap: during its planned "run" (default), or at its start only
        ("now").

    Examples
    --------
    >>> federation = fs.read_federation("example")
    >>> print(federation)
    example: 4 clusters, 160 nodes (north 64, south 48, east 32, west 16)
    >>> federation.nodes
    160
    >>> south = fs.Cluster("south", (fs.NodeGroup(32), fs.NodeGroup(8, speed=1.5)))
    >>> print(fs.Federation((fs.Cluster("north", (fs.NodeGroup(16),)), south)))
    federation: 2 clusters, 56 nodes (north 16, south 40)
    """

    clusters: tuple[Cluster, ...]
    name: str = "federation"
    description: str = ""
    pools: tuple[Pool, ...] = ()
    # Saved comparisons depend on repr, and older ones lack these fields.
    partitions: tuple[Partition, ...] = field(default=(), repr=False)
    calendar: tuple[Downtime, ...] = field(default=(), repr=False)
    limits: tuple[Limit, ...] = field(default=(), repr=False)
    signals: tuple[Signal, ...] = field(default=(), repr=False)
    power: PowerSaving | None = field(default=None, repr=False)
    cap: str = field(default="run", repr=False)

    def __post_init__(self) -> None:
        for several in ("clusters", "pools", "partitions", "calendar", "limits", "signals"):
            given = getattr(self, several)
            if not isinstance(given, Iterable) or isinstance(given, str):
                given = (given,)  # a single one
            object.__setattr__(self, several, given if isinstance(given, tuple) else tuple(given))  # notes stay
        if not self.clusters:
            raise FederationError(f"Federation {self.name!r}: it has no cluster; give at least one.")
        seen: set[str] = set()
        for cluster in self.clusters:
            if not isinstance(cluster, Cluster):
                raise FederationError(
                    f"Federation: clusters={shortened(repr(cluster))} must be clusters, as (Cluster('north', 64),); "
                    "from sizes alone: Federation.of(64, 128)."
                )
            if cluster.name in seen:
                raise FederationError(
                    f"Federation {self.name!r}: two clusters are named {cluster.name!r}; names must differ."
                )
            seen.add(cluster.name)
        names = [pool.name for pool in self.pools]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise FederationError(f"Federation {self.name!r}: two pools are named {twice!r}; names must differ.")
        for pool in self.pools:
            if pool.cluster is not None and pool.cluster not in seen:
                raise FederationError(str(unknown_name(f"Pool {pool.name!r}: cluster", pool.cluster, seen)))
        check_limits(self.name, self.limits)
        check_signals(self.name, self.signals, [cluster.name for cluster in self.clusters])
        if self.partitions:
            check_partitions(self.name, self.partitions)
        check_switching(self.name, self.power, self.groups)
        if self.power is not None:
            for cluster in self.clusters:
                check_node_count(cluster.name, cluster.nodes)
        check_gears(self.name, self.groups)
        check_cap_rule(self.name, self.cap)
        if self.partitions or self.calendar:
            object.__setattr__(self, "clusters", tuple(self._split(cluster) for cluster in self.clusters))
            closures_of(self)  # raises if a downtime has no nodes here
            check_reservations(self)

    def _split(self, cluster: Cluster) -> Cluster:
        # Split groups so that all nodes of a group are in the same partitions and downtimes.
        foreseen = [one for one in self.calendar if one.known_from == ALWAYS]
        unforeseen = [one for one in self.calendar if one.known_from != ALWAYS]
        sets = np.concatenate([self._members(cluster.name), self._closed(cluster.name, foreseen)])
        of_node = cluster.group_of_node
        atom = atoms(of_node, sets, self._closed(cluster.name, unforeseen))
        count, scattered = np.bincount(atom), bool((np.diff(atom) < 0).any())
        if count.size == len(cluster.groups):
            return cluster
        kinds = of_node[np.unique(atom, return_index=True)[1]]
        whole = np.bincount(kinds)[kinds] == 1
        groups: list[NodeGroup] = []
        for a, kind in enumerate(kinds.tolist()):
            group, text = cluster.groups[kind], ranges_text(np.flatnonzero(atom == a).tolist())
            name = group.name if whole[a] or not group.name else f"{group.name}[{_shortened(text, int(count[a]))}]"
            groups.append(replace(group, count=int(count[a]), name=name, nodes=text if scattered else None))
        return replace(cluster, groups=tuple(groups))

    def _members(self, cluster: str) -> NDArray[np.bool_]:
        # Partitions × nodes of a cluster: whether the partition has the node.
        sizes = {one.name: one.nodes for one in self.clusters}
        rows = [partition.members(sizes)[cluster] for partition in self.partitions]
        return np.array(rows, dtype=np.bool_).reshape(len(rows), sizes[cluster])

    def _closed(self, cluster: str, calendar: Iterable[Downtime]) -> NDArray[np.bool_]:
        # Downtimes × nodes of this cluster, for its own downtimes.
        sizes = {one.name: one.nodes for one in self.clusters}
        rows = {one.members(sizes).tobytes() for one in calendar if one.cluster == cluster}
        parts = [np.frombuffer(row, dtype=np.bool_) for row in sorted(rows)]
        return np.array(parts, dtype=np.bool_).reshape(len(parts), sizes[cluster])

    def groups_of_partitions(self) -> NDArray[np.bool_]:
        """Return partitions × groups: whether a partition has the nodes of a group."""
        parts = []
        for cluster in self.clusters:
            parts.append(self._members(cluster.name)[:, cluster.first_nodes])
        return np.concatenate(parts, axis=1)

    @property
    def turns(self) -> NDArray[np.int64]:
        """Return each group's rank, by which jobs choose among equally fast groups: the lowest rank first.

        Ranks go by weight, then by the number of partitions that have the group. Groups equal in both share a rank.
        """
        weights = np.array([group.weight for group in self.groups], dtype=np.int64)
        shared = self.groups_of_partitions().sum(axis=0) if self.partitions else np.zeros_like(weights)
        return np.unique(np.stack([weights, shared]), axis=1, return_inverse=True)[1].reshape(-1)

    @property
    def binds_by_labels(self) -> bool:
        """Return whether what a job asks for may keep it off some nodes.

        That is so if there are partitions, node features, reservations, pools of one cluster, or resources of nodes.
        """
        asked = bool(self.partitions) or self.has_features or bool(reserved_names(self))
        asked = asked or any(pool.cluster is not None for pool in self.pools)
        return asked or any(group.resources for group in self.groups)

    @property
    def has_features(self) -> bool:
        """Return whether any node has a feature; otherwise features that jobs ask for have no effect."""
        return any(group.features for group in self.groups)

    @property
    def groups(self) -> tuple[NodeGroup, ...]:
        """Return all node groups, cluster by cluster; other code refers to a group by its index here."""
        return tuple(group for cluster in self.clusters for group in cluster.groups)

    @property
    def nodes(self) -> int:
        """Return the number of nodes of the federation."""
        return sum(cluster.nodes for cluster in self.clusters)

    @property
    def group_of_node(self) -> NDArray[np.int64]:
        """Return the index in `groups` of each node's group, by node number; numbers run through all clusters."""
        first = np.cumsum([0, *(len(cluster.groups) for cluster in self.clusters)]).tolist()
        return np.concatenate([first[k] + cluster.group_of_node for k, cluster in enumerate(self.clusters)])

    @property
    def node_order(self) -> NDArray[np.int64] | None:
        """Return the nodes' numbers sorted by group; None if they are already in that order."""
        if all(cluster.groups[0].nodes is None for cluster in self.clusters):
            return None
        order = np.argsort(self.group_of_node, kind="stable")
        return None if (np.diff(order) == 1).all() else order

    @property
    def watts_assumed(self) -> bool:
        """Return whether the watts of some nodes are defaults, so that energy figures are assumed."""
        return any(are_assumed(group.busy_watts, group.idle_watts) for group in self.groups)

    @property
    def group_cluster(self) -> tuple[int, ...]:
        """Return the cluster index of every group, in the order of `groups`."""
        return tuple(k for k, cluster in enumerate(self.clusters) for _ in cluster.groups)

    def cluster_index(self, name: str) -> int:
        """Return the index of the cluster with that name; raise if there is none."""
        names = [cluster.name for cluster in self.clusters]
        if name not in names:
            raise unknown_name("cluster", name, names)
        return names.index(name)

    def clusters_of_sites(self, sites: Sequence[str]) -> list[int]:
        """Return the cluster index of each of a workload's sites.

        A site is the cluster of the same name. If names do not match, sites "1" to "K" are the first to the K-th
        cluster. Raise if a site has no cluster.
        """
        names = [cluster.name for cluster in self.clusters]
        if all(site in names for site in sites):
            return [names.index(site) for site in sites]
        if self.knows_sites(sites):
            return [int(site) - 1 for site in sites]
        stranger = next(site for site in sites if site not in names)
        raise unknown_name("site (no cluster has this name)", stranger, names)

    def knows_sites(self, sites: Sequence[str]) -> bool:
        """Return whether each of a workload's sites matches a cluster by name or position: see `clusters_of_sites`."""
        names = [cluster.name for cluster in self.clusters]
        numbered = all(1 <= (digits_of(site) or 0) <= len(names) for site in sites)
        return numbered or all(site in names for site in sites)

    def groups_allowed(self, sites: Sequence[str], allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return jobs × groups: whether the group belongs to the cluster of a site that the job may use.

        Parameters
        ----------
        sites
            The workload's sites.
        allowed
            Which sites each job may use: booleans of shape (jobs, sites).
        """
        of_cluster = np.zeros((len(allowed), len(self.clusters)), dtype=np.bool_)
        of_cluster[:, self.clusters_of_sites(sites)] = allowed
        return of_cluster[:, np.array(self.group_cluster)]

    def admits(self, workload: Workload) -> NDArray[np.bool_]:
        """Return, for each job, whether this federation can run it.

        Its partition and its reservation must admit it, and enough nodes must have what it asks for.
        """
        from fedsched.model.jobs.admission import refusals

        admitted = np.ones(len(workload), dtype=np.bool_)
        admitted[list(refusals(workload, self))] = False
        return admitted

    def default_requests(self, workload: Workload) -> tuple[str, ...]:
        """Return, in words, how many jobs use the default time of their partition as requested time; empty if none."""
        if all(one.default_time is None for one in self.partitions):
            return ()
        from fedsched.model.jobs.admission import default_times

        jobs = int((~np.isnan(default_times(workload, self))).sum())
        return (f"the default time of its partition as the request of {counted(jobs, 'job')}",) if jobs else ()

    @classmethod
    def homogeneous(
        cls,
        nodes: int,
        *,
        speed: float = DEFAULT_SPEED,
        busy_watts: float = DEFAULT_BUSY_WATTS,
        idle_watts: float = DEFAULT_IDLE_WATTS,
        name: str = "cluster",
    ) -> Federation:
        """Return a federation of one cluster of identical nodes, which is the usual machine of a workload log.

        Parameters
        ----------
        nodes
            The number of nodes.
        speed, busy_watts, idle_watts
            Of each node, as of `NodeGroup`.
        name
            The cluster's name.

        Examples
        --------
        >>> fs.Federation.homogeneous(128).nodes
        128
        """
        group = NodeGroup(nodes, speed, busy_watts, idle_watts)
        return cls((Cluster(name, (group,)),), name=name)

    @classmethod
    def of(cls, *sizes: int, uplink: float | str = UNLIMITED, name: str = "federation") -> Federation:
        """Return a federation of clusters C1, C2, … with these numbers of nodes, all of speed 1.

        Parameters
        ----------
        sizes
            The number of nodes of each cluster.
        uplink
            The bandwidth of each cluster's uplink in bytes a second.
        name
            The federation's name.

        Examples
        --------
        >>> print(fs.Federation.of(64, 32, uplink="1G"))
        federation: 2 clusters, 96 nodes (C1 64, C2 32)
        """
        rate = _rate_of("C1", uplink)
        clusters = [Cluster(f"C{k + 1}", (NodeGroup(size, 1.0),), rate) for k, size in enumerate(sizes)]
        return cls(tuple(clusters), name=name)

    def __str__(self) -> str:
        parts = _sizes(self.clusters)
        pools = "".join(f", {pool}" for pool in self.pools)
        names = ", ".join(one_line(partition.name) for partition in self.partitions)
        downtimes = f", {counted(len(self.calendar), 'downtime')}" if self.calendar else ""
        downtimes += f", {counted(len(self.limits), 'limit')}" if self.limits else ""
        downtimes += f", {counted(len(self.signals), 'signal')}" if self.signals else ""
        downtimes += f", power {self.power}" if self.power is not None else ""
        return (
            f"{one_line(self.name)}: {counted(len(self.clusters), 'cluster')}, {counted(self.nodes, 'node')} ({parts})"
            f"{pools}{f', partitions {names}' if names else ''}"
            f"{downtimes}"
        )


def _groups_of(name: str, given: object) -> tuple[NodeGroup, ...]:
    """Return a cluster's node groups; `given` is several groups, one group, or a number of nodes; else raise."""
    if isinstance(given, NodeGroup):
        return (given,)
    if is_number(given) and not isinstance(given, float):
        return (NodeGroup(given),)  # type: ignore[arg-type]  # NodeGroup checks the number
    groups = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (given,)
    for group in groups:
        if not isinstance(group, NodeGroup):
            raise FederationError(
                f"Cluster {name!r}: groups={shortened(given)} must be node groups, as (NodeGroup(64),), or a number of "
                "nodes."
            )
    return groups


def _rate_of(name: str, uplink: object) -> float:
    """Return an uplink's bandwidth in bytes a second, from a number or a text like "1.25G"; raise if it is neither.

    An assumed number stays marked as assumed.
    """
    rate = bytes_a_second(uplink) if isinstance(uplink, str) else uplink
    if isinstance(rate, bool) or not isinstance(rate, Real):
        raise FederationError(
            f"Cluster {name!r}: uplink={shortened(repr(uplink))} must be bytes a second, as 1.25e9 or '1.25G' "
            "(k, M, G, T)."
        )
    return cast("float", rate)


def _shortened(ranges: str, nodes: int) -> str:
    """Return a text of node ranges; five ranges or more are cut to the first range and the number of nodes."""
    return ranges if ranges.count(",") < 4 else f"{ranges.split(',')[0]}, … {nodes:,} nodes"


def _sizes(clusters: Sequence[Cluster]) -> str:
    shown = ", ".join(f"{one_line(cluster.name)} {cluster.nodes:,}" for cluster in clusters[:6])
    return shown if len(clusters) <= 6 else f"{shown}, …"
