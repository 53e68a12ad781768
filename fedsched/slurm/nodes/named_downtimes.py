"""Downtimes that say how many nodes they close, with names for these nodes: Slurm closes nodes by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.machine.node_ranges import ranges_text
from fedsched.model.time.downtimes import RESERVATION, closed_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Downtime


def with_named_nodes(federation: Federation) -> tuple[Federation, list[str]]:
    """Return the federation with all downtimes naming their nodes, and a note for each that only said how many.

    Such a downtime closes the last nodes of its groups; first those that no other downtime closes meanwhile. With
    victims="random" the order is drawn instead.
    """
    calendar, notes = list(federation.calendar), []
    closed = {d: _named(one, federation) for d, one in enumerate(calendar) if not is_counted(one)}
    for d, one in enumerate(calendar):
        if not is_counted(one):
            continue
        busy = np.zeros(federation.nodes, dtype=np.bool_)
        for other, named in closed.items():
            if calendar[other].begin < one.end and one.begin < calendar[other].end:
                busy |= named
        drawn = np.random.default_rng([one.seed, d]).permutation(federation.nodes)
        order = drawn if one.victims == "random" else np.arange(federation.nodes)[::-1]
        closed[d] = np.zeros(federation.nodes, dtype=np.bool_)
        for _, g, nodes in (row for row in closed_rows(federation) if row[0] == d):
            there = order[federation.group_of_node[order] == g]
            closed[d][there[np.argsort(busy[there], kind="stable")][:nodes]] = True
        calendar[d] = replace(one, nodes=ranges_text(np.flatnonzero(closed[d]).tolist()))
        notes.append(f"assumed of {one.where}: {one.nodes} are nodes {calendar[d].nodes}, as Slurm closes named nodes")
    return (replace(federation, calendar=tuple(calendar)), notes) if notes else (federation, notes)


def is_counted(one: Downtime) -> bool:
    """Return whether a downtime says how many nodes it closes, and not which; reservations have a rule of their own."""
    return one.among[0] is not None and one.kind != RESERVATION


def _named(one: Downtime, federation: Federation) -> NDArray[np.bool_]:
    return one.members({cluster.name: cluster.nodes for cluster in federation.clusters})
