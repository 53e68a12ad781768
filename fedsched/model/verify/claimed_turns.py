"""Nodes that are off by plan where the last freed is not best used first: whether another turn takes less [66].

Of turns that take equally little energy any may be claimed: it is looked at whether the claimed one is possible, and
whether another spares more. Of up to some hundred nodes and uses that is the best of all, found node by node; of more
it is the one in which the last freed is used first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import NodeGroup

    Night = tuple[float, float]  # of a node: it goes off, it begins to boot

MOST = 400  # ends of uses of which each is matched with each use
NEAR = 1e-9


def best_nights(
    group: NodeGroup, freed: Sequence[float], used: Sequence[float], last: float,
    usual: list[Night], claimed: list[Night],
) -> list[Night]:  # fmt: skip
    """Return the claimed nights of a group where they are possible and none spare more, else better ones.

    `freed` are the times from which a node idles, `used` those at which one is needed; `usual` are the nights if the
    last freed is used first.
    """
    own = usual if len(freed) > MOST else _matched(group, np.array(freed), np.array(used), last)
    least = _spared(group, own, last)
    if _are_possible(group, freed, used, claimed, last) and _spared(group, claimed, last) >= least - NEAR * abs(least):
        return claimed
    return own


def _matched(group: NodeGroup, freed: NDArray[np.float64], used: NDArray[np.float64], last: float) -> list[Night]:
    # Each use after some end, the others' nodes idle to the end: the most is spared of all ways to match them.
    from scipy.optimize import linear_sum_assignment

    gain = np.full((freed.size, freed.size), -np.inf)
    for k, since in enumerate(freed.tolist()):
        gain[k, : used.size] = [
            max(0.0, _gain(group, since, time - group.boot_seconds, last)) if since <= time else -math.inf
            for time in used.tolist()
        ]
        gain[k, used.size :] = max(0.0, _gain(group, since, math.inf, last))
    rows, columns = linear_sum_assignment(gain, maximize=True)
    nights = []
    for k, use in zip(rows.tolist(), columns.tolist(), strict=True):
        if gain[k, use] > 0.0:
            nights.append((float(freed[k]), float(used[use]) - group.boot_seconds if use < used.size else math.inf))
    return nights


def _gain(group: NodeGroup, went: float, boot: float, last: float) -> float:
    # What a night spares beside a node that idles for as long; nothing like it where there is no time for it.
    off = group.idle_watts if group.off_watts is None else group.off_watts
    closing = group.idle_watts if group.shutdown_watts is None else group.shutdown_watts
    booting = group.busy_watts if group.boot_watts is None else group.boot_watts
    for_good = math.isinf(boot)
    shut = min(group.shutdown_seconds, last - went) if for_good else group.shutdown_seconds
    asleep = (last if for_good else boot) - went - shut
    up = 0.0 if for_good else group.boot_seconds
    if asleep < 0.0:
        return -math.inf
    return group.idle_watts * (shut + asleep + up) - closing * shut - off * asleep - booting * up


def _spared(group: NodeGroup, nights: list[Night], last: float) -> float:
    return math.fsum(_gain(group, went, boot, last) for went, boot in nights)


def _are_possible(
    group: NodeGroup, freed: Sequence[float], used: Sequence[float], nights: list[Night], last: float
) -> bool:
    # Whether there is a node that idles for each that goes off, and for each use, all the time.
    early = 4.0 * float(np.spacing(abs(last)))
    events = [(time - early, 0, 1) for time in freed] + [(time, 1, -1) for time in used]
    events += [(went, 1, -1) for went, _ in nights]
    events += [(boot + group.boot_seconds - early, 0, 1) for _, boot in nights if boot < math.inf]
    idle = 0
    for _, _, change in sorted(events):
        idle += change
        if idle < 0:
            return False
    return True
