"""Downtimes: which nodes are closed to jobs when, and from when on schedulers know of it [38, 39, 42, 67].

The downtimes of a federation are its calendar.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FederationError
from fedsched.core.values import MOST_SECONDS, is_number, is_time, seed_of
from fedsched.model.jobs.validation import check_labels
from fedsched.model.machine.node_ranges import named_nodes, ranges_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation

ALWAYS = -math.inf
_SOME = re.compile(r"(\d{1,10})\s+of\s+(.+)", re.ASCII | re.IGNORECASE | re.DOTALL)
# The default of each kind of downtime: whether it is known in advance, and whether its end is.
RESERVATION = "reservation"
KINDS = {"maintenance": (True, True), "outage": (False, False), "drain": (False, False), RESERVATION: (True, True)}
ON_RUNNING = ("wait", "requeue", "kill")
RECORDED = "recorded"  # all jobs on the nodes that a downtime names [67]
VICTIMS = ("latest", "random", RECORDED)


@dataclass(frozen=True, slots=True)
class Downtime:
    """A downtime: an interval in which no job may start on some nodes of a cluster, or be planned to run there.

    A job may still run on these nodes when the downtime begins: the job outran its estimate, or the downtime was not
    known in advance. `on_running` says what happens to this job.

    Parameters
    ----------
    cluster
        The cluster of the closed nodes.
    begin, end
        Seconds on the workload's clock, `end` excluded; without an end the nodes never come back.
    nodes
        "all", node numbers, counted from 0 through the cluster ("0-15,20"), or a number of unnamed nodes ("2 of all",
        "2 of 0-15"); if those span several groups or partitions, nodes of the last group are closed first.
    kind
        "maintenance" (known from the outset, with its end), "outage" or "drain" (known from their begin, the end only
        when it comes); "reservation": as maintenance to all jobs except those with its name as label "reservation",
        which have these nodes to themselves.
    known_from, end_known
        From when on schedulers know of the downtime, in seconds, and whether they know its end; None: as of its kind.
    name
        The downtime's name in reports; the name by which jobs ask for a reservation.
    on_running
        "wait": a job on these nodes runs to its end, and then its nodes close. "requeue": it loses its nodes and
        returns to the queue, to run again from the beginning. "kill": it loses its nodes and has failed.
    victims
        Which jobs lose their nodes: the "latest" (jobs past their planned end, then the last to have started), no more
        than needed; the jobs on nodes drawn at "random" with `seed`, busy or not; or "recorded", for an outage with
        named nodes: all jobs on one of these.
    users, accounts
        Users (by the jobs' label "user" or user number) and accounts (by the label "account") that may use a
        reservation; none (default) = all.

    Examples
    --------
    >>> maintenance = fs.Downtime("north", begin=100, end=500)
    >>> machine = fs.Federation((fs.Cluster("north", (fs.NodeGroup(4),)),), calendar=(maintenance,))
    >>> fs.simulate(fs.Workload(submit=[0, 50], tasks=[4, 4], runtime=[60, 60]), machine).start
    array([  0., 500.])
    """

    cluster: str
    begin: float
    end: float = math.inf
    nodes: str = "all"
    kind: str = "maintenance"
    known_from: float | None = None
    end_known: bool | None = None
    name: str = ""
    on_running: str = "wait"
    victims: str = "latest"
    seed: int = 0
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field, known in (("kind", tuple(KINDS)), ("on_running", ON_RUNNING), ("victims", VICTIMS)):
            if getattr(self, field) not in known:
                raise FederationError(f"{self.where}: {field}={getattr(self, field)!r} is none of {', '.join(known)}.")
        if self.victims != "latest" and self.on_running == "wait":
            raise FederationError(
                f"{self.where}: victims={self.victims!r} needs on_running='requeue' or 'kill'; leave victims= out "
                "otherwise."
            )
        if self.victims == RECORDED and self.among[0] is not None:
            raise FederationError(
                f"{self.where}: victims={RECORDED!r}, but nodes={self.nodes!r} says how many, not which; name them "
                "(nodes='0-1'), or leave victims= out."
            )
        try:
            object.__setattr__(self, "seed", seed_of(self.where, self.seed))
        except (TypeError, ValueError) as error:
            raise FederationError(str(error)) from None
        self._check_reservation()
        if not isinstance(self.end_known, bool | None):
            raise FederationError(f"{self.where}: end_known={self.end_known!r} must be True or False.")
        if self.name:
            try:
                check_labels("Downtime: name", (self.name,))
            except ValueError as error:
                raise FederationError(str(error)) from None
        if not is_number(self.begin):
            raise FederationError(f"{self.where}: begin={self.begin!r} must be finite, in seconds.")
        if not (is_number(self.end) or self.end == math.inf) or not self.end > self.begin:
            raise FederationError(f"{self.where}: end={self.end!r} must be after its begin.")
        for field in ("begin", "end"):
            if not is_time(time := getattr(self, field)) and time != math.inf:
                raise FederationError(f"{self.where}: {field}={time!r} must be at most {MOST_SECONDS:g} s from 0.")
        for field in ("begin", "end"):
            object.__setattr__(self, field, float(getattr(self, field)))
        before, with_end = KINDS[self.kind]
        if self.known_from is None:
            object.__setattr__(self, "known_from", ALWAYS if before else self.begin)
        if self.end_known is None:
            object.__setattr__(self, "end_known", with_end)
        object.__setattr__(self, "known_from", float(self.known_from))  # type: ignore[arg-type]
        if not self.known_from <= self.begin:  # type: ignore[operator]
            raise FederationError(
                f"{self.where}: known_from={self.known_from!r} must not be after its begin."
            )
        list(ranges_of(self.among[1], self.where))

    def _check_reservation(self) -> None:
        for field in ("users", "accounts"):
            given = getattr(self, field)
            names = tuple(map(str, given if isinstance(given, list | tuple) else (given,)))
            object.__setattr__(self, field, names)
            try:
                check_labels(f"Downtime: {field}", names)
            except ValueError as error:
                raise FederationError(str(error)) from None
            if names and self.kind != RESERVATION:
                raise FederationError(f"{self.where}: {field}={names!r} is for kind='reservation'.")
        if self.kind == RESERVATION and not self.name:
            raise FederationError(f"{self.where}: a reservation needs a name=, by which jobs ask for it.")
        if self.kind == RESERVATION and self.end_known is False:
            raise FederationError(f"{self.where}: end_known=False, but jobs in a reservation must end within it.")

    @property
    def where(self) -> str:
        """Return how errors call the downtime: by its name or kind, its cluster and its begin."""
        return f"Downtime {self.name or self.kind!r} of {self.cluster!r} at {self.begin!r}"

    @property
    def among(self) -> tuple[int | None, str]:
        """Return (2, "0-15") for nodes="2 of 0-15": the number of unnamed nodes, and the nodes that they are among.

        The number is None if the text names the nodes themselves.
        """
        some = _SOME.fullmatch(self.nodes.strip())
        return (None, self.nodes.strip()) if some is None else (int(some[1]), some[2].strip())

    @property
    def usual(self) -> bool:
        """Return whether `known_from` and `end_known` are the defaults of the downtime's kind."""
        before, with_end = KINDS[self.kind]
        return (self.known_from, self.end_known) == (ALWAYS if before else self.begin, with_end)

    def members(self, clusters: Mapping[str, int]) -> NDArray[np.bool_]:
        """Return, for each node of its cluster, whether the downtime may close the node.

        Unnamed nodes may be any of those that they are among; for a reservation they are the last of these. `clusters`
        maps cluster names to numbers of nodes.
        """
        some, among = self.among
        found = named_nodes(self.cluster, among, clusters, self.where)
        if some is not None and self.kind == RESERVATION:
            found[np.flatnonzero(found)[: max(0, int(found.sum()) - some)]] = False
        return found


def reserved_names(federation: Federation) -> tuple[str, ...]:
    """Return the distinct names of the federation's reservations in the order of its calendar."""
    return tuple(dict.fromkeys(one.name for one in federation.calendar if one.kind == RESERVATION))


def takes_nodes(federation: Federation) -> bool:
    """Return whether some downtime takes nodes from running jobs (on_running "requeue" or "kill")."""
    return any(downtime.on_running != "wait" for downtime in federation.calendar)


def kills(federation: Federation, t0: float) -> bool:
    """Return whether some downtime that begins after t0 kills running jobs; earlier ones kill none [42]."""
    return any(downtime.on_running == "kill" and downtime.begin > t0 for downtime in federation.calendar)


class Closures(NamedTuple):
    """The downtimes of a federation as columns, one row per downtime and node group with closed nodes.

    `nodes` is how many nodes of the group the downtime closes, from `begin` to `end` in seconds.
    """

    group: NDArray[np.int64]
    nodes: NDArray[np.int64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    known_from: NDArray[np.float64]
    planned_end: NDArray[np.float64]  # infinite if the end is unknown until it comes
    on_running: NDArray[np.int64]  # index in ON_RUNNING
    victims: NDArray[np.int64]  # index in VICTIMS
    seed: NDArray[np.int64]
    number: NDArray[np.int64]  # of the row, kept by `take`
    reservation: NDArray[np.int64]  # index in `reserved_names`, or -1

    def take(self, rows: NDArray[np.bool_]) -> Closures:
        """Return the rows for which the mask is true."""
        return self._replace(**{name: column[rows] for name, column in self._asdict().items()})


def closures_of(federation: Federation) -> Closures:
    """Return the federation's downtimes, reservations included, as columns: see `Closures`."""
    rows = [(g, nodes, federation.calendar[d]) for d, g, nodes in closed_rows(federation)]
    place = {name: r for r, name in enumerate(reserved_names(federation))}

    def whole(numbers: Iterable[int]) -> NDArray[np.int64]:
        return np.array(list(numbers), dtype=np.int64)

    def times(numbers: Iterable[float | None]) -> NDArray[np.float64]:
        return np.array(list(numbers), dtype=np.float64)

    return Closures(
        group=whole(g for g, _, _ in rows),
        nodes=whole(nodes for _, nodes, _ in rows),
        begin=times(one.begin for _, _, one in rows),
        end=times(one.end for _, _, one in rows),
        known_from=times(one.known_from for _, _, one in rows),
        planned_end=times(one.end if one.end_known else math.inf for _, _, one in rows),
        on_running=whole(ON_RUNNING.index(one.on_running) for _, _, one in rows),
        victims=whole(VICTIMS.index(one.victims) for _, _, one in rows),
        seed=whole(one.seed for _, _, one in rows),
        number=np.arange(len(rows)),
        reservation=whole(place.get(one.name, -1) if one.kind == RESERVATION else -1 for _, _, one in rows),
    )


def closed_rows(federation: Federation) -> list[tuple[int, int, int]]:
    """Return (index in the calendar, group, number of closed nodes) for each downtime and group with closed nodes."""
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    firsts = {cluster.name: cluster.first_nodes for cluster in federation.clusters}
    calendar = enumerate(federation.calendar)
    return [(d, g, nodes) for d, one in calendar for g, nodes in _closed_by(one, federation, sizes, firsts)]


def _closed_by(
    downtime: Downtime,
    federation: Federation,
    sizes: Mapping[str, int],
    first_nodes: Mapping[str, NDArray[np.int64]],
) -> Iterator[tuple[int, int]]:
    """Yield (group, number of nodes) for each group with nodes that a downtime closes, the last group first.

    Unnamed nodes are taken from the last group first. Raise if there are too few nodes.
    """
    k = federation.cluster_index(downtime.cluster)
    first = sum(len(cluster.groups) for cluster in federation.clusters[:k])
    groups = federation.clusters[k].groups
    closed = np.flatnonzero(downtime.members(sizes)[first_nodes[downtime.cluster]]).tolist()
    some, among = downtime.among
    there = sum(groups[g].count for g in closed)
    left = there if some is None else some
    if not 1 <= left <= there:
        raise FederationError(f"{downtime.where}: {among!r} are {there} nodes, not {left}.")
    for g in reversed(closed):
        nodes = min(left, groups[g].count)
        left -= nodes
        if nodes:
            yield first + g, nodes
