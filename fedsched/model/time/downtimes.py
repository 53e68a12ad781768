"""The calendar: when which nodes are closed to jobs, and who knows of it when [38, 39, 42, 67]."""

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
# What is usual: whether a kind of downtime is known beforehand, and whether its end is.
RESERVATION = "reservation"
KINDS = {"maintenance": (True, True), "outage": (False, False), "drain": (False, False), RESERVATION: (True, True)}
ON_RUNNING = ("wait", "requeue", "kill")
RECORDED = "recorded"  # whoever is on the nodes that a downtime names [67]
VICTIMS = ("latest", "random", RECORDED)


@dataclass(frozen=True, slots=True)
class Downtime:
    """A stretch of time in which no job may start on some nodes of a cluster, nor be planned to run there.

    A job may still be on them as it begins: one that outran its estimate, or that was hit by an outage which nobody saw
    coming. `on_running` says what becomes of it.

    Parameters
    ----------
    cluster
        Whose nodes.
    begin, end
        In seconds of the workload's clock, the end not included; without an end the nodes never come back.
    nodes
        "all", node numbers, counted from 0 through the cluster ("0-15,20"), or how many, whichever they are
        ("2 of all", "2 of 0-15"); where those are nodes of several groups or partitions, of the last of them first.
    kind
        "maintenance" (known from the outset, with its end), "outage" or "drain" (known from their begin, without an
        end until it comes); "reservation": as maintenance to all jobs but those whose label "reservation" is its name,
        which have these nodes to themselves.
    known_from, end_known
        Where that is otherwise: from when on it counts in decisions, and whether its end does.
    name
        What reports call it, and jobs a reservation.
    on_running
        "wait": such a job goes on to its end, and what it frees then belongs to the downtime. "requeue": it loses its
        nodes and is queued again, to run anew from nothing. "kill": it loses them and has failed.
    victims
        Which jobs lose their nodes: the "latest" (those past their planned end, then the last to have started), and no
        more than it takes; those on nodes that are hit at "random", be they busy or not, as `seed` has it; or, of an
        outage whose nodes are known as "recorded", all that are on one of them.
    users, accounts
        Whose jobs may use a reservation: by their label "user" or their user's number, and by their label "account";
        none (default) = everybody's.
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
                f"{self.where}: victims={self.victims!r} without on_running='requeue' or 'kill': nobody would be one."
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
                f"{self.where}: known_from={self.known_from!r} must not be after its begin, when all see it."
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
        """Return what errors call the downtime."""
        return f"Downtime {self.name or self.kind!r} of {self.cluster!r} at {self.begin!r}"

    @property
    def among(self) -> tuple[int | None, str]:
        """Return how many nodes, where that is all that is said of them, and of which."""
        some = _SOME.fullmatch(self.nodes.strip())
        return (None, self.nodes.strip()) if some is None else (int(some[1]), some[2].strip())

    @property
    def usual(self) -> bool:
        """Return whether it is known as its kind usually is."""
        before, with_end = KINDS[self.kind]
        return (self.known_from, self.end_known) == (ALWAYS if before else self.begin, with_end)

    def members(self, clusters: Mapping[str, int]) -> NDArray[np.bool_]:
        """Return which nodes of its cluster it is about; a reservation that says how many has the last of them."""
        some, among = self.among
        found = named_nodes(self.cluster, among, clusters, self.where)
        if some is not None and self.kind == RESERVATION:
            found[np.flatnonzero(found)[: max(0, int(found.sum()) - some)]] = False
        return found


def reserved_names(federation: Federation) -> tuple[str, ...]:
    """Return the names of the reservations in the order of the calendar."""
    return tuple(dict.fromkeys(one.name for one in federation.calendar if one.kind == RESERVATION))


def takes_nodes(federation: Federation) -> bool:
    """Return whether some downtime takes nodes from jobs that run."""
    return any(downtime.on_running != "wait" for downtime in federation.calendar)


def kills(federation: Federation, t0: float) -> bool:
    """Return whether some downtime ends jobs that run; what began by t0 ends none [42]."""
    return any(downtime.on_running == "kill" and downtime.begin > t0 for downtime in federation.calendar)


class Closures(NamedTuple):
    """The downtimes of a federation, one row a downtime and group, as planners and clocks see them."""

    group: NDArray[np.int64]
    nodes: NDArray[np.int64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    known_from: NDArray[np.float64]
    planned_end: NDArray[np.float64]  # infinite where nobody knows the end until it comes
    on_running: NDArray[np.int64]  # its place in ON_RUNNING
    victims: NDArray[np.int64]  # its place in VICTIMS
    seed: NDArray[np.int64]
    number: NDArray[np.int64]  # of the row, whichever are taken
    reservation: NDArray[np.int64]  # its place in `reserved_names`, or -1

    def take(self, rows: NDArray[np.bool_]) -> Closures:
        """Return some of them."""
        return self._replace(**{name: column[rows] for name, column in self._asdict().items()})


def closures_of(federation: Federation) -> Closures:
    """Return when how many nodes of which groups are closed."""
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
    """Return of each downtime, by its place in the calendar, the groups of which it closes nodes, and how many."""
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
    """Give the groups of which a downtime closes nodes, the last one first, and how many of each."""
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
