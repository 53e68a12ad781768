"""Max-min fair sharing of uplinks among the jobs that communicate between clusters [59]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints

RISING = np.float64(0.0)  # the share of a job while it may still rise


@part
def share_fairly(uplink: Floats, spanning: Ints, count: int, demand: Floats, level: Floats, share: Floats) -> None:
    """Fill `share` for the first `count` jobs of `spanning`: the fraction of its demand that each can send, up to 1.

    `demand` (job x cluster) and `uplink` are bandwidths. `level` is scratch, with one entry per uplink.
    """
    rising = count
    for i in range(count):
        share[spanning[i]] = RISING
    while rising > 0:
        _fill_levels(uplink, spanning, count, demand, level, share)
        least = np.inf
        for k in range(level.size):
            least = min(least, level[k])
        content = 0
        for i in range(count):
            j = spanning[i]
            if share[j] == RISING and _most(demand, j) <= least:
                share[j] = 1.0
                content += 1
        rising -= content
        if content > 0:
            continue
        for i in range(count):
            j = spanning[i]
            if share[j] == RISING and _uses_a_full_one(demand, j, level, least):
                share[j] = least / _most(demand, j)
                rising -= 1


@inlined
def _fill_levels(uplink: Floats, spanning: Ints, count: int, demand: Floats, level: Floats, share: Floats) -> None:
    # Fills the rate up to which rising jobs may send on each uplink; infinite if none of them uses it.
    for k in range(level.size):
        taken, slope = 0.0, 0.0
        for i in range(count):
            j = spanning[i]
            if share[j] == RISING:
                slope += demand[j, k] / _most(demand, j)
            else:
                taken += share[j] * demand[j, k]
        level[k] = (uplink[k] - taken) / slope if slope > 0.0 else np.inf


@inlined
def _most(demand: Floats, j: int) -> float:
    most = 0.0
    for k in range(demand.shape[1]):
        most = max(most, demand[j, k])
    return most


@inlined
def _uses_a_full_one(demand: Floats, j: int, level: Floats, least: float) -> bool:
    full = False
    for k in range(level.size):
        full = full or (demand[j, k] > 0.0 and level[k] == least)
    return full
