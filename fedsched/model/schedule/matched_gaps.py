"""For planned power saving: which idle gaps of a group's nodes are spent off, so that energy is least [66].

Nodes of a group are equal, so any free node may be used next; the choice sets the lengths of the gaps between uses.
Usually it is best to use the node freed last. If switching a node off and on takes less energy than idling for the same
time, another choice may be better. The best one is found as a min-cost flow: idle nodes and off nodes flow from one
moment to the next. A node that goes off pays for both transitions, and may be back when both are over.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.power.switching import watts_off

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import NodeGroup

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Gap = tuple[float, float, int]  # off since, boot begins at, number of nodes


def is_concave(group: NodeGroup) -> bool:
    """Return whether shutting down and booting a node take no less energy than idling for the same time.

    Then it is optimal to use the node freed last.
    """
    _, boot, shutdown = watts_off(group)
    switching = shutdown * group.shutdown_seconds + boot * group.boot_seconds
    return switching >= group.idle_watts * (group.shutdown_seconds + group.boot_seconds)


def energy_saved(group: NodeGroup, gap: float, *, again: bool) -> float:
    """Return the joules that a node saves if it is off in a gap of `gap` seconds instead of idling.

    With `again`, the node must be on again at the end of the gap: −inf if the gap is too short for that. Without, the
    node stays off.
    """
    off, boot, shutdown = watts_off(group)
    if again:
        asleep = gap - group.shutdown_seconds - group.boot_seconds
        if asleep < 0:
            return -math.inf
        return group.idle_watts * gap - (shutdown * group.shutdown_seconds + off * asleep + boot * group.boot_seconds)
    closing = min(gap, group.shutdown_seconds)
    return group.idle_watts * gap - (shutdown * closing + off * (gap - closing))


def matched_gaps(group: NodeGroup, when: Floats, change: Ints, t0: float, last: float) -> list[Gap]:
    """Return the gaps in which nodes of a group are off, so that energy from t0 to `last` is least.

    A gap is (off since, boot begins at, number of nodes); nodes that stay off boot at infinity. All nodes are idle at
    t0. `change` is how many nodes become free at each time `when`, or, below 0, are taken. A node can be taken at the
    time at which it becomes free.
    """
    times = np.unique(np.append(when, t0))
    place = np.searchsorted(times, when)
    freed, taken = np.zeros(times.size), np.zeros(times.size)
    np.add.at(freed, place, np.maximum(change, 0))
    np.add.at(taken, place, np.maximum(-change, 0))
    freed[0] += group.count
    leaving, back, for_good = _cheapest_flow(group, times, freed, taken, last)
    gaps = [(since, math.inf, count) for since, count in _counted(times, for_good)
            if energy_saved(group, last - since, again=False) > 0.0]  # fmt: skip
    for since, until, count in _in_order(_counted(times, leaving), _counted(times, back)):
        if energy_saved(group, until - since, again=True) > 0.0:
            gaps.append((since, until - group.boot_seconds, count))
    return gaps


def _cheapest_flow(
    group: NodeGroup, times: Floats, freed: Floats, taken: Floats, last: float
) -> tuple[Ints, Ints, Ints]:
    """Solve the min-cost flow; return three numbers of nodes at each time: going off, being on again, off for good.

    Nodes that are on again at a time had gone off earlier; those that go off for good are not among the first.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    off, boot, shutdown = watts_off(group)
    both_ways = group.shutdown_seconds + group.boot_seconds
    spent = shutdown * group.shutdown_seconds + boot * group.boot_seconds
    many = times.size
    # Nodes that are off, from when they might be back: the moments of that, and of uses, in one sequence.
    ready = times + both_ways
    moments = np.unique(np.concatenate([ready, times]))
    joins, leaves = np.searchsorted(moments, ready), np.searchsorted(moments, times)
    gap = np.maximum(last - times, 0.0)
    closing = np.minimum(gap, group.shutdown_seconds)
    # Variables: idle on; go off; be back; go off for good; stay off on. Rows: nodes on at each time, nodes off.
    on, away, home, gone = (k * many + np.arange(many) for k in range(4))
    stay = 4 * many + np.arange(moments.size - 1)
    idle = group.idle_watts * np.append(np.diff(times), max(0.0, last - times[-1]))
    costs = np.concatenate([idle, np.full(many, spent), np.zeros(many), shutdown * closing + off * (gap - closing),
                            off * np.diff(moments)])  # fmt: skip
    here, there = np.arange(many), many + np.arange(moments.size)
    flows = [
        (here, on, 1.0), (here[1:], on[:-1], -1.0), (here, away, 1.0), (here, home, -1.0), (here, gone, 1.0),
        (there[joins], away, -1.0), (there[leaves], home, 1.0), (there[:-1], stay, 1.0), (there[1:], stay, -1.0),
    ]  # fmt: skip
    rows, columns = (np.concatenate([flow[k] for flow in flows]) for k in (0, 1))
    signs = np.concatenate([np.full(row.size, sign) for row, _, sign in flows])
    balance = csr_matrix((signs, (rows, columns)), shape=(many + moments.size, costs.size))
    right = np.concatenate([freed - taken, np.zeros(moments.size)])
    scale = float(costs.max()) or 1.0
    solved = linprog(costs / scale, A_eq=balance, b_eq=right, bounds=(0.0, None), method="highs-ds")
    if solved.x is None:
        raise AssertionError("nodes that idle always are a flow")
    found = np.rint(solved.x).astype(np.int64)
    return found[away], found[home], found[gone]


def _counted(times: Floats, nodes: Ints) -> list[tuple[float, int]]:
    some = np.flatnonzero(nodes)
    return list(zip(times[some].tolist(), nodes[some].tolist(), strict=True))


def _in_order(since: list[tuple[float, int]], until: list[tuple[float, int]]) -> Iterator[tuple[float, float, int]]:
    # The first node off is the first back: the total energy is the same in any order.
    k, left = 0, since[0][1] if since else 0
    for time, count in until:
        while count > 0:
            some = min(left, count)
            yield since[k][0], time, some
            count, left = count - some, left - some
            if left == 0:
                k += 1
                left = since[k][1] if k < len(since) else 0
