"""Sums over a job's allocation (its node counts per group): nodes in a cluster, slowest node, energy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Groups, Ints


@inlined
def sum_in(groups: Groups, k: int, nodes: Ints) -> int:
    """Return how many of these nodes are in a cluster."""
    total = 0
    for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        total += nodes[g]
    return total


@inlined
def slowest(groups: Groups, chosen: Ints) -> float:
    """Return the processing slowdown PS of a job on these nodes (eq. 1.1)."""
    slowdown = 0.0
    for g in range(chosen.size):
        if chosen[g] > 0:
            slowdown = max(slowdown, groups.slowdown[g])
    return slowdown


@inlined
def joules_in(groups: Groups, k: int, chosen: Ints, duration: float) -> float:
    """Return the energy above idle, in joules, of these nodes of a cluster if busy for `duration` seconds."""
    joules = 0.0
    for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        joules += chosen[g] * (groups.busy_watts[g] - groups.idle_watts[g]) * duration
    return joules
