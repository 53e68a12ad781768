"""The idle nodes of a group, on, off and booting, as stacks: nodes are equal, so who went when says all [66].

Those that are on stand by when they became idle, the last on top; those that are off, or go off, by when that began;
those that boot ahead, so that somebody finds them on, by when they are on.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, part
from fedsched.model.power.switch_rates import Often, Pace, book, count, may_begin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


ONE = constant(1)


@by_reference
class Saving(NamedTuple):
    """When nodes of each group go off, and what that takes; without power saving of no size."""

    timeout: Floats
    keep: Ints
    ahead: Ints  # so many are to be on or to boot ahead, when a job has taken its own
    boot: Floats
    shutdown: Floats
    cluster: Ints  # of each group, where the rates below hold
    rate: Ints  # by `Pace`: so many nodes of a cluster may begin a minute; 0: any; without rates of no size


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
    pace: Floats  # rows of clusters: since when so many have begun to go off, and to boot, as `switch_rates` counts
    to_boot: Floats  # and when others will begin to boot; of no size without rates
    span: Floats  # rows of SpanRow x stretches off; of no size where nobody asks for them


class SpanRow(IntEnum):
    """What is kept of a stretch in which nodes were off."""

    GROUP = 0
    OFF_AT = auto()
    BOOT_AT = auto()  # infinite: never
    NODES = auto()


def new_stacks(groups: int, most: int, spans: int, *, paced: bool) -> NodeStacks:
    """Return room for the stacks of groups of at most so many nodes, for so many stretches, and for rates."""
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
        pace=np.zeros((groups, len(Pace), len(Often))),
        to_boot=np.zeros((groups, groups * most if paced else 0)),
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
    stacks.pace[g, :, Often.SINCE] = -np.inf
    stacks.pace[g, :, Often.NODES] = 0.0
    stacks.pace[g, :, Often.TO_COME] = 0.0
    if nodes > 0:
        _push(stacks.on_since[g], stacks.on_count[g], place, Place.ON_FIRST, Place.ON_END, now, nodes)
        place[Place.ON] = nodes


@inlined
def _let_be_on(stacks: NodeStacks, g: int, now: float) -> None:
    # Let nodes idle that booted ahead, from when each was on.
    place, since, count = stacks.place[g], stacks.on_since[g], stacks.on_count[g]
    while place[Place.BOOTING_FIRST] < place[Place.BOOTING_END]:
        first = place[Place.BOOTING_FIRST]
        if stacks.on_at[g, first] > now:
            break
        _push(since, count, place, Place.ON_FIRST, Place.ON_END, stacks.on_at[g, first], stacks.booting_count[g, first])
        place[Place.BOOTING_FIRST] += 1


@inlined
def settle(saving: Saving, stacks: NodeStacks, g: int, now: float) -> None:
    """Let nodes of a group be on whose boot is over, and go off whose time came before now: now they are had still."""
    if saving.rate.size > 0 and saving.rate[Pace.OFF] > 0:
        _settle_cluster(saving, stacks, saving.cluster[g], now)
        return
    place, since, count = stacks.place[g], stacks.on_since[g], stacks.on_count[g]
    _let_be_on(stacks, g, now)
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


@part
def _settle_cluster(saving: Saving, stacks: NodeStacks, c: int, now: float) -> None:
    # The same of all groups of a cluster that may not switch off as many nodes as it likes: one after the other goes.
    for g in range(saving.cluster.size):
        if saving.cluster[g] == c:
            _let_be_on(stacks, g, now)
    while True:
        g = _longest_idle(saving, stacks, c)
        if g < 0:
            break
        place = stacks.place[g]
        first = place[Place.ON_FIRST]
        due = max(stacks.on_since[g, first] + saving.timeout[g], stacks.changed[g])
        due = max(due, may_begin(stacks.pace[c, Pace.OFF], saving.rate[Pace.OFF]))
        if due >= now:
            break
        count(stacks.pace[c, Pace.OFF], saving.rate[Pace.OFF], due)
        stacks.on_count[g, first] -= 1
        if stacks.on_count[g, first] == 0:
            place[Place.ON_FIRST] += 1
        place[Place.ON] -= 1
        _push(stacks.off_since[g], stacks.off_count[g], place, Place.OFF_FIRST, Place.OFF_END, due, ONE)
    for g in range(saving.cluster.size):
        if saving.cluster[g] == c:
            stacks.changed[g] = now


@inlined
def _longest_idle(saving: Saving, stacks: NodeStacks, c: int) -> int:
    # Return whose node of a cluster idles longest among groups that need not keep theirs; -1: nobody's.
    longest = -1
    oldest = np.inf
    for g in range(saving.cluster.size):
        place = stacks.place[g]
        if saving.cluster[g] == c and place[Place.ON] > saving.keep[g]:
            since = stacks.on_since[g, place[Place.ON_FIRST]]
            if since < oldest:
                longest, oldest = g, since
    return longest


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
    # Let those nodes boot that went off first, at most so many, one by one where a rate holds; return how many, and
    # when they are on.
    place = stacks.place[g]
    first = place[Place.OFF_FIRST]
    nodes = min(most, stacks.off_count[g, first])
    off_at = stacks.off_since[g, first]
    boot_at = max(now, off_at + saving.shutdown[g])
    if saving.rate.size > 0 and saving.rate[Pace.BOOT] > 0:
        nodes, c = 1, saving.cluster[g]
        boot_at = book(stacks.pace[c, Pace.BOOT], stacks.to_boot[c], saving.rate[Pace.BOOT], now, boot_at)
    record(stacks, g, off_at, boot_at, nodes)
    stacks.off_count[g, first] -= nodes
    if stacks.off_count[g, first] == 0:
        place[Place.OFF_FIRST] += 1
    return nodes, boot_at + saving.boot[g]
