"""Power saving: idle nodes are switched off, and a job may have to wait until its nodes have booted [66].

A job gets all its nodes at once and starts when the last of them is on. Every function takes the extras first, and is
compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, inlined, part
from fedsched.model.schedule.node_stack import fill, go_on_from, put_back, ready_if_taken, spared, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints
    from fedsched.model.schedule.node_stack import NodeStacks, Saving


@by_reference
class Powered(NamedTuple):
    """The idle nodes of each group, and the time at which each job got its nodes; empty without power saving."""

    stacks: NodeStacks
    promised: Floats
    pace: Floats  # scratch: a cluster's counters of boots, and its booked boots
    to_boot: Floats


@inlined
def reset(extras: Extras | None, state: ExtraState | None, nodes: Ints, t0: float) -> None:
    """Reset for a run: all nodes are on, and idle since `t0`, if the run does not go on with the nodes of another."""
    if extras is None or state is None:
        return
    if extras.saving.begun.place.size > 0:
        _go_on(extras.saving, state.powered.stacks, t0)
        return
    for g in range(extras.saving.timeout.size):
        fill(state.powered.stacks, g, nodes[g], t0)


@part
def _go_on(saving: Saving, stacks: NodeStacks, t0: float) -> None:
    go_on_from(saving, stacks, t0)


@inlined
def is_saved(extras: Extras | None) -> bool:
    """Return whether idle nodes may be switched off, so that jobs may have to wait for boots."""
    if extras is None:
        return False
    return extras.saving.timeout.size > 0


@inlined
def ready_at(extras: Extras | None, state: ExtraState | None, j: int, counts: Ints, now: float) -> float:
    """Take a job's nodes (`counts` per group) from the idle ones; return when the last of them is on.

    Without power saving return `now`.
    """
    if extras is None or state is None:
        return now
    if extras.saving.timeout.size == 0:
        return now
    state.powered.promised[j] = now
    return _take(extras.saving, state.powered.stacks, counts, now)


@inlined
def on_at(extras: Extras | None, state: ExtraState | None, counts: Ints, time: float, now: float) -> float:
    """Return when the last of a job's nodes (`counts` per group) is on in a plan in which it takes them at `time`.

    That is after their boots if the job takes them now, else `time`: plans for later do not know which nodes are off.
    """
    if extras is None or state is None:
        return time
    if extras.saving.timeout.size == 0 or time > now:
        return time
    powered = state.powered
    return ready_if_taken(extras.saving, powered.stacks, counts, now, powered.pace, powered.to_boot)


@inlined
def hold_from_begin(extras: Extras | None, state: ExtraState | None, j: int, counts: Ints, start: float) -> None:
    """Take the nodes (`counts` per group) of a job that runs at the run's begin from those that are on.

    They are taken already if the run goes on with the nodes of another.
    """
    if extras is None or state is None:
        return
    if extras.saving.timeout.size > 0:
        state.powered.promised[j] = start
        for g in range(counts.size):
            if counts[g] > 0 and extras.saving.begun.place.size == 0:
                take(extras.saving, state.powered.stacks, g, counts[g], state.powered.stacks.changed[g])


@part
def _take(saving: Saving, stacks: NodeStacks, counts: Ints, now: float) -> float:
    ready = now
    for g in range(counts.size):
        if counts[g] > 0:
            ready = max(ready, take(saving, stacks, g, counts[g], now))
    return ready


@inlined
def give_back(extras: Extras | None, extra_state: ExtraState | None, counts: Ints, now: float) -> None:
    """Return a job's nodes (`counts` per group) to the idle ones at time `now`, if there is power saving."""
    if extras is None or extra_state is None:
        return
    if extras.saving.timeout.size > 0:
        _put_back(extras.saving, extra_state.powered.stacks, counts, now)


@part
def _put_back(saving: Saving, stacks: NodeStacks, counts: Ints, now: float) -> None:
    for g in range(counts.size):
        if counts[g] > 0:
            put_back(saving, stacks, g, counts[g], now)


@inlined
def energy_spared(extras: Extras | None, state: ExtraState | None, end: float) -> float:
    """Return the joules that nodes take less until `end`, the last end of a run that is over, than if all were on."""
    if extras is None or state is None:
        return 0.0
    if extras.saving.timeout.size == 0:
        return 0.0
    return spared(extras.saving, state.powered.stacks, end)
