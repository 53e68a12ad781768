"""The calendar: when which nodes are closed to jobs, and who knows of it when [38, 39]."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.errors import FederationError, InfeasibleError
from fedsched.model.node_ranges import named_nodes, ranges_of
from fedsched.model.validation import check_labels
from fedsched.values import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.model.federation import Federation

ALWAYS = -math.inf
_SOME = re.compile(r"(\d{1,10})\s+of\s+(.+)", re.ASCII | re.IGNORECASE | re.DOTALL)
# What is usual: whether a kind of downtime is known beforehand, and whether its end is.
KINDS = {"maintenance": (True, True), "outage": (False, False), "drain": (False, False)}


@dataclass(frozen=True, slots=True)
class Downtime:
    """A stretch of time in which no job may start on some nodes of a cluster, nor be planned to run there.

    A job that is still on them as it begins (one that outran its estimate, or an outage that nobody saw coming) goes on
    to its end; what it frees then belongs to the downtime.

    Parameters
    ----------
    cluster
        Whose nodes.
    begin, end
        In seconds of the workload's clock, the end not included; without an end the nodes never come back.
    nodes
        "all", node numbers counted from 0 through the cluster's groups ("0-15,20"), or how many, whichever they are
        ("2 of all", "2 of 0-15"); where those are nodes of several groups or partitions, of the last of them first.
    kind
        "maintenance" (known from the outset, with its end), "outage" or "drain" (known from their begin, without an
        end until it comes).
    known_from, end_known
        Where that is otherwise: from when on it counts in decisions, and whether its end does.
    name
        What reports call it.
    """

    cluster: str
    begin: float
    end: float = math.inf
    nodes: str = "all"
    kind: str = "maintenance"
    known_from: float | None = None
    end_known: bool | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise FederationError(f"{self.where}: kind={self.kind!r} is none of {', '.join(KINDS)}.")
        if self.name:
            try:
                check_labels("Downtime: name", (self.name,))
            except ValueError as error:
                raise FederationError(str(error)) from None
        if not is_number(self.begin):
            raise FederationError(f"{self.where}: begin={self.begin!r} must be finite, in seconds.")
        if isinstance(self.end, bool) or not isinstance(self.end, int | float) or not self.end > self.begin:
            raise FederationError(f"{self.where}: end={self.end!r} must be after its begin.")
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
        """Return which nodes of its cluster it is about."""
        return named_nodes(self.cluster, self.among[1], clusters, self.where)


def refuse_surprises(noun: str, federation: Federation, t0: float) -> None:
    """Refuse downtimes that a plan made at t0 cannot know all of: not known by then, or of unknown or no end."""
    for downtime in federation.calendar:
        if downtime.end <= t0:
            continue
        if downtime.known_from > t0:  # type: ignore[operator]
            odd = f"becomes known at {downtime.known_from:g} only"
        elif not downtime.end_known:
            odd = "has an end that nobody knows beforehand"
        elif math.isinf(downtime.end):
            odd = "never ends"
        else:
            continue
        raise InfeasibleError(
            f"{noun}: {downtime.where} {odd}, and plans are made at {t0:g} for the whole time; leave it out of the "
            "calendar (dataclasses.replace(federation, calendar=...)), or simulate a policy, which sees what comes."
        )


class Closures(NamedTuple):
    """The downtimes of a federation, one row a downtime and group, as planners and clocks see them."""

    group: NDArray[np.int64]
    nodes: NDArray[np.int64]
    begin: NDArray[np.float64]
    end: NDArray[np.float64]
    known_from: NDArray[np.float64]
    planned_end: NDArray[np.float64]  # infinite where nobody knows the end until it comes

    def take(self, rows: NDArray[np.bool_]) -> Closures:
        """Return some of them."""
        return self._replace(**{name: column[rows] for name, column in self._asdict().items()})


def closures_of(federation: Federation) -> Closures:
    """Return when how many nodes of which groups are closed."""
    sizes = {cluster.name: cluster.nodes for cluster in federation.clusters}
    rows = []
    for downtime in federation.calendar:
        k = federation.cluster_index(downtime.cluster)
        first = sum(len(cluster.groups) for cluster in federation.clusters[:k])
        groups = federation.clusters[k].groups
        begins = np.cumsum([0, *(group.count for group in groups)])[:-1]
        closed = np.flatnonzero(downtime.members(sizes)[begins]).tolist()
        some, among = downtime.among
        there = sum(groups[g].count for g in closed)
        left = there if some is None else some
        if not 1 <= left <= there:
            raise FederationError(f"{downtime.where}: {among!r} are {there} nodes, not {left}.")
        for g in reversed(closed):
            nodes = min(left, groups[g].count)
            left -= nodes
            planned_end = downtime.end if downtime.end_known else math.inf
            if nodes:
                rows.append((first + g, nodes, downtime.begin, downtime.end, downtime.known_from, planned_end))
    columns = list(zip(*rows, strict=True)) or [()] * len(Closures._fields)
    whole = [np.array(column, dtype=np.int64) for column in columns[:2]]
    return Closures(whole[0], whole[1], *(np.array(column, dtype=np.float64) for column in columns[2:]))
