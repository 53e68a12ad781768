"""Names for the nodes of downtimes that state only a number of nodes: they are chosen before the run [55]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.shared_nodes.closing import draw
from fedsched.model.machine.node_ranges import ranges_text
from fedsched.model.time.downtimes import VICTIMS, closed_rows, closures_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.shared_nodes.arrays import Ints
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Closures

RANDOM = VICTIMS.index("random")


def with_names(federation: Federation) -> Federation:
    """Return the federation with names of nodes in all of its downtimes; itself if all of them close whole groups."""
    closures = closures_of(federation)
    counts = np.array([group.count for group in federation.groups])
    some = closures.nodes < counts[closures.group]
    if not some.any():
        return federation
    named = _named(federation, closures, some)
    first, calendar = _first_nodes(federation), list(federation.calendar)
    of_row = np.array([d for d, _, _ in closed_rows(federation)])
    for d in np.unique(of_row[some]).tolist():
        nodes = np.sort(np.concatenate([named[c] for c in np.flatnonzero(of_row == d).tolist()]))
        calendar[d] = replace(calendar[d], nodes=ranges_text((nodes - first[calendar[d].cluster]).tolist()))
    return replace(federation, calendar=tuple(calendar))


def _first_nodes(federation: Federation) -> dict[str, int]:
    firsts = np.cumsum([0, *(cluster.nodes for cluster in federation.clusters)]).tolist()
    return {cluster.name: first for cluster, first in zip(federation.clusters, firsts[:-1], strict=True)}


def _named(federation: Federation, closures: Closures, some: NDArray[np.bool_]) -> dict[int, Ints]:
    # Returns the nodes of each closure. Closures of whole groups are first, then the others in order of their begins.
    of_node = federation.group_of_node
    members = [np.flatnonzero(of_node == g) for g in range(len(federation.groups))]
    named = {c: members[closures.group[c]] for c in np.flatnonzero(~some).tolist()}
    for c in np.flatnonzero(some)[np.argsort(closures.begin[some], kind="stable")].tolist():
        g = closures.group[c]
        beside = [other for other in named if closures.group[other] == g and _meet(closures, c, other)]
        closed = np.isin(members[g], [node for other in beside for node in named[other].tolist()])
        free = members[g][~closed]
        if closures.victims[c] == RANDOM:
            draw(free, int(closures.seed[c]), int(closures.number[c]))
        else:
            free = free[::-1]
        named[c] = np.concatenate([free, members[g][closed][::-1]])[: closures.nodes[c]]
    return named


def _meet(closures: Closures, a: int, b: int) -> bool:
    return bool(closures.begin[a] < closures.end[b] and closures.begin[b] < closures.end[a])
