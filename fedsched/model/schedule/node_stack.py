"""Nodes without jobs under power saving: each group has three stacks of nodes, for on, off and booting nodes [66].

Nodes of a group are equal, so a stack has times and numbers of nodes. Nodes that are on are sorted by when they became
idle, the last on top. Nodes that are off, or shut down, are sorted by when they began to shut down. Nodes that boot
ahead, to be on for later jobs, are sorted by when they will be on.
"""

from __future__ import annotations

from enum import IntEnum, auto
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined, part
from fedsched.model.power.switch_rates import Pace, RateState, book, count, may_begin

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


ONE = constant(1)
NO_CLUSTER = constant(-1)


class Place(IntEnum):
    """The columns of `NodeStacks.place`: where each stack of a group begins and ends, and two counts."""

    ON_FIRST = 0
    ON_END = auto()
    OFF_FIRST = auto()
    OFF_END = auto()
    BOOTING_FIRST = auto()
    BOOTING_END = auto()
    ON = auto()  # idle nodes that are on, or boot ahead
    SPANS = auto()  # of the first group: the number of off spans of all groups


@by_reference
class NodeStacks(NamedTuple):
    """The three stacks of each group as arrays with a row per group; both ends of a stack can move."""

    place: Ints
    on_since: Floats
    on_count: Ints
    off_since: Floats  # when the nodes began to go off
    off_count: Ints
    on_at: Floats  # when nodes that boot ahead will be on
    booting_count: Ints
    changed: Floats  # when the group's idle nodes last changed
    pace: Floats  # by cluster: counters of the nodes that began to go off, and to boot, as in `switch_rates`
    to_boot: Floats  # by cluster: times at which further boots are booked; empty without rates
    span: Floats  # rows of SpanRow x off spans; empty if they are not recorded
    spared: Floats  # [0]: the joules that nodes which have begun to boot took less, until they are on, than idle ones


@by_reference
class Saving(NamedTuple):
    """The settings of power saving as arrays by node group, with times in seconds; empty without power saving.

    A node goes off after `timeout` idle seconds unless only `keep` idle nodes of its group are on.
    """

    timeout: Floats
    keep: Ints
    ahead: Ints  # nodes that should be on or boot ahead after each start of a job
    boot: Floats
    shutdown: Floats
    cluster: Ints  # of each group; used by the rates below
    rate: Ints  # by `Pace`: nodes of a cluster that may begin per minute, 0 = any number; empty without rates
    less: Floats  # group x (is off, boots, shuts down): the watts that a node then draws less than an idle one
    begun: NodeStacks  # the nodes without jobs at the begin; without groups, all nodes are on then


class SpanRow(IntEnum):
    """The rows of `NodeStacks.span`: the fields of an off span, which is a time in which nodes were not on."""

    GROUP = 0
    OFF_AT = auto()
    BOOT_AT = auto()  # infinite: never
    NODES = auto()
    UNTIL = auto()  # when a downtime closes the nodes, which then draw as idle ones; infinite if none does


def new_stacks(groups: int, most: int, spans: int, *, paced: bool) -> NodeStacks:
    """Return empty stacks for `groups` groups of at most `most` nodes.

    They have memory for `spans` off spans and, if `paced`, for booked boots under a rate limit.
    """
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
        pace=np.zeros((groups, len(Pace), len(RateState))),
        to_boot=np.zeros((groups, groups * most if paced else 0)),
        span=np.zeros((len(SpanRow), spans)),
        spared=np.zeros(1),
    )


def as_begun(stacks: NodeStacks) -> NodeStacks:
    """Return a read-only copy of stacks, from which another run can begin."""
    copies = {name: array.copy() for name, array in stacks._asdict().items()}
    for array in copies.values():
        array.setflags(write=False)
    return stacks._replace(**copies)


@inlined
def go_on_from(saving: Saving, stacks: NodeStacks, now: float) -> None:
    """Set the stacks to those at the begin of a run, and count what they spare from `now` on.

    Of nodes that boot already it is not counted: no plan changes it.
    """
    begun = saving.begun
    for g in range(saving.timeout.size):
        for i in range(stacks.place.shape[1]):
            stacks.place[g, i] = begun.place[g, i]
        stacks.changed[g] = begun.changed[g]
        place = begun.place[g]
        for i in range(place[Place.ON_FIRST], place[Place.ON_END]):
            stacks.on_since[g, i], stacks.on_count[g, i] = begun.on_since[g, i], begun.on_count[g, i]
        for i in range(place[Place.OFF_FIRST], place[Place.OFF_END]):
            stacks.off_since[g, i], stacks.off_count[g, i] = begun.off_since[g, i], begun.off_count[g, i]
        for i in range(place[Place.BOOTING_FIRST], place[Place.BOOTING_END]):
            stacks.on_at[g, i], stacks.booting_count[g, i] = begun.on_at[g, i], begun.booting_count[g, i]
        for k in range(stacks.pace.shape[1]):
            for i in range(stacks.pace.shape[2]):
                stacks.pace[g, k, i] = begun.pace[g, k, i]
        for i in range(int(begun.pace[g, Pace.BOOT, RateState.TO_COME])):
            stacks.to_boot[g, i] = begun.to_boot[g, i]
    stacks.spared[0] = 0.0
    for g in range(saving.timeout.size):
        settle(saving, stacks, g, now)
        place = stacks.place[g]
        for i in range(place[Place.OFF_FIRST], place[Place.OFF_END]):
            off_at = stacks.off_since[g, i]
            stacks.spared[0] -= stacks.off_count[g, i] * spared_until(saving, g, off_at, np.inf, now)


@inlined
def _push(time: Floats, count: Ints, place: Ints, first: int, end: int, since: float, nodes: int) -> None:
    # Push nodes onto one of a group's stacks; at the end of its memory, the stack moves to the front.
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
    """Reset a group's stacks: `nodes` nodes are on and idle since `now`; none is off or boots."""
    place = stacks.place[g]
    place[:] = 0
    stacks.spared[0] = 0.0
    stacks.changed[g] = now
    stacks.pace[g, :, RateState.SINCE] = -np.inf
    stacks.pace[g, :, RateState.NODES] = 0.0
    stacks.pace[g, :, RateState.TO_COME] = 0.0
    if nodes > 0:
        _push(stacks.on_since[g], stacks.on_count[g], place, Place.ON_FIRST, Place.ON_END, now, nodes)
        place[Place.ON] = nodes


@inlined
def _let_be_on(stacks: NodeStacks, g: int, now: float) -> None:
    # Move the nodes that have booted ahead to the stack of idle nodes, each idle from when it was on.
    place, since, count = stacks.place[g], stacks.on_since[g], stacks.on_count[g]
    while place[Place.BOOTING_FIRST] < place[Place.BOOTING_END]:
        first = place[Place.BOOTING_FIRST]
        if stacks.on_at[g, first] > now:
            break
        _push(since, count, place, Place.ON_FIRST, Place.ON_END, stacks.on_at[g, first], stacks.booting_count[g, first])
        place[Place.BOOTING_FIRST] += 1


@inlined
def settle(saving: Saving, stacks: NodeStacks, g: int, now: float) -> None:
    """Update a group's stacks to the time `now`: nodes that have booted are on, nodes due before now are off.

    A node that is due exactly now can still be used. With a limited switch-off rate, all groups of the cluster are
    updated.
    """
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
    # The same for all groups of a cluster with a limited switch-off rate: the nodes go off one by one.
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
    # Return the group of the cluster's longest idle node among groups above their `keep`; -1 = none.
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
    """Update the group to `now`, and add nodes that a job has freed to its idle nodes."""
    settle(saving, stacks, g, now)
    place = stacks.place[g]
    _push(stacks.on_since[g], stacks.on_count[g], place, Place.ON_FIRST, Place.ON_END, now, nodes)
    place[Place.ON] += nodes


@inlined
def spared_until(saving: Saving, g: int, off_at: float, boot_at: float, end: float) -> float:
    """Return the joules that a node takes less than an idle one from `off_at` to `end`, if it boots at `boot_at`."""
    less = saving.less[g]
    down, boot, on = min(off_at + saving.shutdown[g], end), min(boot_at, end), min(boot_at + saving.boot[g], end)
    return float(less[0] * (boot - down) + less[1] * (on - boot) + less[2] * (down - off_at))


@part
def spared(saving: Saving, stacks: NodeStacks, end: float) -> float:
    """Return the joules that nodes have taken less until `end` than if all were on; no node is taken after that."""
    joules = float(stacks.spared[0])
    for g in range(saving.timeout.size):
        settle(saving, stacks, g, end)
        place = stacks.place[g]
        for i in range(place[Place.OFF_FIRST], place[Place.OFF_END]):
            joules += stacks.off_count[g, i] * spared_until(saving, g, stacks.off_since[g, i], np.inf, end)
        for i in range(place[Place.BOOTING_FIRST], place[Place.BOOTING_END]):
            joules -= stacks.booting_count[g, i] * _spared_after(saving, g, stacks.on_at[g, i], end)
    return joules


@inlined
def _spared_after(saving: Saving, g: int, on_at: float, time: float) -> float:
    # What a node that will be on at `on_at` spares after `time`, at which it boots, or shuts down before its boot.
    boot_at = on_at - saving.boot[g]
    off_at = boot_at - saving.shutdown[g]
    return spared_until(saving, g, off_at, boot_at, np.inf) - spared_until(saving, g, off_at, boot_at, time)


@inlined
def record(stacks: NodeStacks, g: int, off_at: float, boot_at: float, nodes: int, until: float) -> None:
    """Count one off span of `nodes` nodes of a group, and store it if there is memory for spans."""
    row = stacks.place[0, Place.SPANS]
    stacks.place[0, Place.SPANS] += 1
    if stacks.span.shape[1] > 0:
        stacks.span[SpanRow.GROUP, row], stacks.span[SpanRow.NODES, row] = g, nodes
        stacks.span[SpanRow.OFF_AT, row], stacks.span[SpanRow.BOOT_AT, row] = off_at, boot_at
        stacks.span[SpanRow.UNTIL, row] = until


@inlined
def take(saving: Saving, stacks: NodeStacks, g: int, nodes: int, now: float) -> float:
    """Take nodes of a group for a job, and return the time at which all of them are on.

    The nodes that became idle last are taken first, then nodes that boot ahead, then those off longest, which must
    boot. Afterwards, further nodes begin to boot until `ahead` nodes of the group are idle or boot ahead.
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


@part
def close(saving: Saving, stacks: NodeStacks, g: int, nodes: int, now: float) -> int:
    """Close up to this many nodes of a group that no job has; return how many. They are on from then, and not idle.

    First come nodes that are off, the last to go off first; then those that have idled longest; then those that boot
    ahead, the last to be ready first.
    """
    settle(saving, stacks, g, now)
    place, left = stacks.place[g], nodes
    while left > 0 and place[Place.OFF_END] > place[Place.OFF_FIRST]:
        top = place[Place.OFF_END] - 1
        some, off_at = min(left, stacks.off_count[g, top]), stacks.off_since[g, top]
        stacks.spared[0] += some * spared_until(saving, g, off_at, np.inf, now)
        record(stacks, g, off_at, np.inf, some, now)
        stacks.off_count[g, top] -= some
        if stacks.off_count[g, top] == 0:
            place[Place.OFF_END] -= 1
        left -= some
    while left > 0 and place[Place.ON_END] > place[Place.ON_FIRST]:
        some = min(left, stacks.on_count[g, place[Place.ON_FIRST]])
        stacks.on_count[g, place[Place.ON_FIRST]] -= some
        if stacks.on_count[g, place[Place.ON_FIRST]] == 0:
            place[Place.ON_FIRST] += 1
        place[Place.ON] -= some
        left -= some
    while left > 0 and place[Place.BOOTING_END] > place[Place.BOOTING_FIRST]:
        top = place[Place.BOOTING_END] - 1
        some, on_at = min(left, stacks.booting_count[g, top]), stacks.on_at[g, top]
        stacks.spared[0] -= some * _spared_after(saving, g, on_at, now)
        for _ in range(some):
            _cut_boot(saving, stacks, g, on_at, now)
        stacks.booting_count[g, top] -= some
        if stacks.booting_count[g, top] == 0:
            place[Place.BOOTING_END] -= 1
        place[Place.ON] -= some
        left -= some
    return nodes - left


@inlined
def _cut_boot(saving: Saving, stacks: NodeStacks, g: int, on_at: float, now: float) -> None:
    # End the off span of one node that boots until `on_at` now, if spans are stored.
    row = stacks.place[0, Place.SPANS]
    stacks.place[0, Place.SPANS] += 1
    if stacks.span.shape[1] == 0:
        return
    of = row - 1
    while (
        stacks.span[SpanRow.GROUP, of] != g
        or stacks.span[SpanRow.NODES, of] == 0
        or stacks.span[SpanRow.BOOT_AT, of] + saving.boot[g] != on_at
        or stacks.span[SpanRow.UNTIL, of] < np.inf
    ):
        of -= 1
    stacks.span[SpanRow.NODES, of] -= 1
    for field in range(stacks.span.shape[0]):
        stacks.span[field, row] = stacks.span[field, of]
    stacks.span[SpanRow.NODES, row], stacks.span[SpanRow.UNTIL, row] = 1, now


@part
def ready_if_taken(
    saving: Saving, stacks: NodeStacks, counts: Ints, now: float, pace: Floats, to_boot: Floats
) -> float:
    """Return when all nodes would be on if a job took `counts` nodes of each group now; none is taken.

    `pace` and `to_boot` are scratch: copies of a cluster's rows in `stacks`, in which boots are booked.
    """
    ready, paced, c = now, saving.rate.size > 0 and saving.rate[Pace.BOOT] > 0, NO_CLUSTER
    for g in range(counts.size):
        if counts[g] == 0:
            continue
        settle(saving, stacks, g, now)
        place = stacks.place[g]
        left = counts[g]
        for i in range(place[Place.ON_FIRST], place[Place.ON_END]):
            left -= stacks.on_count[g, i]
        i = place[Place.BOOTING_FIRST]
        while left > 0 and i < place[Place.BOOTING_END]:
            ready = max(ready, stacks.on_at[g, i])
            left -= stacks.booting_count[g, i]
            i += 1
        if paced and left > 0 and saving.cluster[g] != c:
            c = saving.cluster[g]
            for i in range(pace.size):
                pace[i] = stacks.pace[c, Pace.BOOT, i]
            for i in range(int(pace[RateState.TO_COME])):
                to_boot[i] = stacks.to_boot[c, i]
        i = place[Place.OFF_FIRST]
        while left > 0:
            some = min(left, stacks.off_count[g, i])
            boot_at = wanted = max(now, stacks.off_since[g, i] + saving.shutdown[g])
            for _ in range(some if paced else 0):
                boot_at = max(boot_at, book(pace, to_boot, saving.rate[Pace.BOOT], now, wanted))
            ready = max(ready, boot_at + saving.boot[g])
            left -= some
            i += 1
    return ready


@inlined
def _boot(saving: Saving, stacks: NodeStacks, g: int, most: int, now: float) -> tuple[int, float]:
    # Boot at most `most` of the nodes that went off first, one at a time if a rate applies. Return the number of nodes
    # and when they will be on.
    place = stacks.place[g]
    first = place[Place.OFF_FIRST]
    nodes = min(most, stacks.off_count[g, first])
    off_at = stacks.off_since[g, first]
    boot_at = max(now, off_at + saving.shutdown[g])
    if saving.rate.size > 0 and saving.rate[Pace.BOOT] > 0:
        nodes, c = 1, saving.cluster[g]
        boot_at = book(stacks.pace[c, Pace.BOOT], stacks.to_boot[c], saving.rate[Pace.BOOT], now, boot_at)
    record(stacks, g, off_at, boot_at, nodes, np.inf)
    stacks.spared[0] += nodes * spared_until(saving, g, off_at, boot_at, np.inf)
    stacks.off_count[g, first] -= nodes
    if stacks.off_count[g, first] == 0:
        place[Place.OFF_FIRST] += 1
    return nodes, boot_at + saving.boot[g]
