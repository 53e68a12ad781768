"""Rate limits on how many nodes of a cluster begin to go off, or to boot, per minute: a burst, then one by one [66].

Of a sequence of nodes, the m-th begins no sooner than (m - rate) x 60 / rate seconds after the first. The state is the
begin of the current sequence and its number of nodes; a pause long enough to allow a full burst ends a sequence. Boots
that wait for a shutdown, or for other boots, are kept in a list, because a later request may begin before them.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MINUTE = 60.0


class Pace(IntEnum):
    """The two transitions of nodes that each have a rate limit: going off and booting."""

    OFF = 0
    BOOT = auto()


class RateState(IntEnum):
    """The indices of the entries in the array `pace`, which is the state of one rate limit."""

    SINCE = 0  # the first node of the sequence; -inf before all
    NODES = auto()  # nodes that have begun in the sequence
    TO_COME = auto()  # nodes that are booked to begin later


@inlined
def _next_begin(since: float, nodes: float, rate: int) -> float:
    return since + (nodes + 1.0 - rate) * (MINUTE / rate)


@inlined
def _sequence_after(since: float, nodes: float, rate: int, begun: float) -> tuple[float, float]:
    if begun >= since + nodes * (MINUTE / rate):
        return begun, 1.0
    return since, nodes + 1.0


@inlined
def may_begin(pace: Floats, rate: int) -> float:
    """Return the earliest time at which one more node may begin at this rate, in nodes per minute."""
    return _next_begin(pace[RateState.SINCE], pace[RateState.NODES], rate)


@inlined
def count(pace: Floats, rate: int, begun: float) -> None:
    """Update the state `pace` for one more node that begins at the time `begun`."""
    since, nodes = _sequence_after(pace[RateState.SINCE], pace[RateState.NODES], rate, begun)
    pace[RateState.SINCE], pace[RateState.NODES] = since, nodes


@part
def book(pace: Floats, to_come: Floats, rate: int, now: float, wanted: float) -> float:
    """Book one more node that can begin from the time `wanted` on, and return when it begins.

    Nodes that are booked already are not delayed. The node is inserted into `to_come`, the sorted begins of booked
    nodes, from which those up to `now` are first counted and removed.
    """
    past, coming = 0, int(pace[RateState.TO_COME])
    while past < coming and to_come[past] <= now:
        count(pace, rate, to_come[past])
        past += 1
    coming -= past
    for k in range(coming):
        to_come[k] = to_come[k + past]
    since, nodes = pace[RateState.SINCE], pace[RateState.NODES]
    begin = max(wanted, _next_begin(since, nodes, rate))
    place = 0
    while place < coming:
        if begin <= to_come[place] and _delays_none(to_come[place:coming], rate, since, nodes, begin):
            break
        since, nodes = _sequence_after(since, nodes, rate, to_come[place])
        begin = max(wanted, _next_begin(since, nodes, rate))
        place += 1
    for k in range(coming, place, -1):
        to_come[k] = to_come[k - 1]
    to_come[place] = begin
    pace[RateState.TO_COME] = coming + 1
    return begin


@inlined
def _delays_none(behind: Floats, rate: int, since: float, nodes: float, begin: float) -> bool:
    # Return whether all later nodes may begin as booked if one more begins before them.
    since, nodes = _sequence_after(since, nodes, rate, begin)
    for later in behind:
        if later < _next_begin(since, nodes, rate):
            return False
        since, nodes = _sequence_after(since, nodes, rate, later)
    return True
