"""The idle nodes of a group, on, off and booting, as stacks: nodes are equal, so who went when says all [66].

Those that are on stand by when they became idle, the last on top; those that are off, or go off, by when that began;
those that boot ahead, so that somebody finds them on, by when they are on.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.compiled import inlined
from fedsched.references import by_reference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@by_reference
class Saving(NamedTuple):
    """When nodes of each group go off, and what that takes; without power saving of no size."""

    timeout: Floats
    keep: Ints
    ahead: Ints  # so many are to be on or to boot ahead, when a job has taken its own
    boot: Floats
    shutdown: Floats


class Place(IntEnum):
    """What is kept of each group in `NodeStacks.place`."""

    ON_FIRST = 0
    ON_END = auto()
    OFF_FIRST = auto()
    OFF_END = auto()
    BOOTING_FIRST = auto()
    BOOTING_END = auto()
    ON = auto()  # how many nodes idle and are on, or boot ahead
    SPANS = auto()  # of the first group: how many stretches off there were, of all groups


@by_reference
class NodeStacks(NamedTuple):
    """The three stacks of each group (a row each), as queues of which both ends move."""

    place: Ints
    on_since: Floats
    on_count: Ints
    off_since: Floats  # when the nodes began to go off
    off_count: Ints
    on_at: Floats  # when nodes that boot ahead are on
    booting_count: Ints
    changed: Floats  # when the group's idle nodes last became other ones
    span: Floats  # rows of SpanRow x stretches off; of no size where nobody asks for them


class SpanRow(IntEnum):
    """What is kept of a stretch in which nodes were off."""

    GROUP = 0
    OFF_AT = auto()
    BOOT_AT = auto()  # infinite: never
    NODES = auto()


def new_stacks(groups: int, most: int, spans: int) -> NodeStacks:
    """Return room for the stacks of groups of at most so many nodes, and for so many stretches."""
    rows = (groups, 2 * (most + 2))
    return NodeStacks(
        place=np.zeros((groups, len(Place)), dtype=np.int64),
        on_since=np.zeros(rows),
        on_count=np.zeros(rows, dtype=np.int64),
        off_since=np.zeros(rows),
        off_count=np.zeros(rows, dtype=np.int64),
        on_at=np.zeros(rows),
        booting_count=np.zeros(rows, dtype=np.int64),
        changed=np.zeros(groups),
        span=np.zeros((len(SpanRow), spans)),
    )


@inlined
def _push(time: Floats, count: Ints, place: Ints, first: int, end: int, since: float, nodes: int) -> None:
    # Put nodes on top of one of a group's stacks, which moves to the begin of its room where it has come to the end.
    if place[end] > place[first] and time[place[end] - 1] == since:
        count[place[end] - 1] += nodes
        return
    if place[end] == time.size:
        held = place[end] - place[first]
        for i in range(held):
            time[i] = time[place[first] + i]
            count[i] = count[place[first] + i]
        place[first], place[end] = 0, held
    time[place[end]], count[place[end]] = since, nodes
    place[end] += 1


@inlined
def fill(stacks: NodeStacks, g: int, nodes: int, now: float) -> None:
    """Let so many nodes of a group be on and idle, and none off."""
    place = stacks.place[g]
    place[:] = 0
    stacks.changed[g] = now
    if nodes > 0:
        _push(stacks.on_since[g], stacks.on_count[g], place, Place.ON_FIRST, Place.ON_END, now, nodes)
        place[Place.ON] = nodes


@inlined
def settle(saving: Saving, stacks: NodeStacks, g: int, now: float) -> None:
    """Let nodes of a group be on whose boot is over, and go off whose time came before now: now they are had still."""
    place, since, count = stacks.place[g], stacks.on_since[g], stacks.on_count[g]
    while place[Place.BOOTING_FIRST] < place[Place.BOOTING_END]:
        first = place[Place.BOOTING_FIRST]
        if stacks.on_at[g, first] > now:
            break
        _push(since, count, place, Place.ON_FIRST, Place.ON_END, stacks.on_at[g, first], stacks.booting_count[g, first])
        place[Place.BOOTING_FIRST] += 1
    while place[Place.ON] > saving.keep[g]:
        first = place[Place.ON_FIRST]
        due = max(since[first] + saving.timeout[g], stacks.changed[g])
        if due >= now:
            break
        nodes = min(count[first], place[Place.ON] - saving.keep[g])
        count[first] -= nodes
        if count[first] == 0:
            place[Place.ON_FIRST] += 1
        place[Place.ON] -= nodes
        _push(stacks.off_since[g], stacks.off_count[g], place, Place.OFF_FIRST, Place.OFF_END, due, nodes)
    stacks.changed[g] = now


@inlined
def put_back(saving: Saving, stacks: NodeStacks, g: int, nodes: int, now: float) -> None:
    """Let nodes of a group become idle."""
    settle(saving, stacks, g, now)
    place = stacks.place[g]
    _push(stacks.on_since[g], stacks.on_count[g], place, Place.ON_FIRST, Place.ON_END, now, nodes)
    place[Place.ON] += nodes


@inlined
def record(stacks: NodeStacks, g: int, off_at: float, boot_at: float, nodes: int) -> None:
    """Count a stretch off, and note it where there is room for these."""
    row = stacks.place[0, Place.SPANS]
    stacks.place[0, Place.SPANS] += 1
    if stacks.span.shape[1] > 0:
        stacks.span[SpanRow.GROUP, row], stacks.span[SpanRow.NODES, row] = g, nodes
        stacks.span[SpanRow.OFF_AT, row], stacks.span[SpanRow.BOOT_AT, row] = off_at, boot_at


@inlined
def take(saving: Saving, stacks: NodeStacks, g: int, nodes: int, now: float) -> float:
    """Take nodes of a group, the last idle first, then those that boot ahead, then those that are off longest.

    Return when the last is ready. So many of those that are off boot then as are missing ahead of the next job.
    """
    settle(saving, stacks, g, now)
    place, count = stacks.place[g], stacks.on_count[g]
    left = nodes
    while left > 0 and place[Place.ON_END] > place[Place.ON_FIRST]:
        top = place[Place.ON_END] - 1
        some = min(left, count[top])
        count[top] -= some
        if count[top] == 0:
            place[Place.ON_END] -= 1
        place[Place.ON] -= some
        left -= some
    ready = now
    while left > 0 and place[Place.ON] > 0:
        first = place[Place.BOOTING_FIRST]
        some = min(left, stacks.booting_count[g, first])
        ready = max(ready, stacks.on_at[g, first])
        stacks.booting_count[g, first] -= some
        if stacks.booting_count[g, first] == 0:
            place[Place.BOOTING_FIRST] += 1
        place[Place.ON] -= some
        left -= some
    while left > 0:
        some, on_at = _boot(saving, stacks, g, left, now)
        ready = max(ready, on_at)
        left -= some
    while place[Place.ON] < saving.ahead[g] and place[Place.OFF_FIRST] < place[Place.OFF_END]:
        some, on_at = _boot(saving, stacks, g, saving.ahead[g] - place[Place.ON], now)
        _push(stacks.on_at[g], stacks.booting_count[g], place, Place.BOOTING_FIRST, Place.BOOTING_END, on_at, some)
        place[Place.ON] += some
    return ready


@inlined
def _boot(saving: Saving, stacks: NodeStacks, g: int, most: int, now: float) -> tuple[int, float]:
    # Let those nodes boot that went off first, at most so many; return how many, and when they are on.
    place = stacks.place[g]
    first = place[Place.OFF_FIRST]
    nodes = min(most, stacks.off_count[g, first])
    off_at = stacks.off_since[g, first]
    boot_at = max(now, off_at + saving.shutdown[g])
    record(stacks, g, off_at, boot_at, nodes)
    stacks.off_count[g, first] -= nodes
    if stacks.off_count[g, first] == 0:
        place[Place.OFF_FIRST] += 1
    return nodes, boot_at + saving.boot[g]
