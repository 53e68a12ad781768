"""Functions on a job's allocation (its number of nodes in each group): nodes in a cluster, slowdown, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Groups, Ints


@inlined
def sum_in(groups: Groups, k: int, nodes: Ints) -> int:
    """Return the sum of `nodes` (a number per node group) over the groups of cluster `k`."""
    total = 0
    for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        total += nodes[g]
    return total


@inlined
def slowest(groups: Groups, chosen: Ints) -> float:
    """Return the greatest slowdown (1/speed) among the groups with chosen nodes: PS of eq. 1.1; 0 if none is chosen."""
    slowdown = 0.0
    for g in range(chosen.size):
        if chosen[g] > 0:
            slowdown = max(slowdown, groups.slowdown[g])
    return slowdown


@inlined
def joules_in(groups: Groups, k: int, chosen: Ints, duration: float) -> float:
    """Return the joules that the chosen nodes of cluster `k` draw above their idle power in `duration` busy seconds.

    `chosen` is the number of nodes in each group; groups of other clusters do not count.
    """
    joules = 0.0
    for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        joules += chosen[g] * (groups.busy_watts[g] - groups.idle_watts[g]) * duration
    return joules
