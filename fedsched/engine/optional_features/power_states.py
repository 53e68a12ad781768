"""Power saving: idle nodes are switched off, and a job may have to wait until its nodes have booted [66].

A job gets all its nodes at once and starts when the last of them is on. Every function takes the extras first, and is
compiled to nothing if a problem has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, part
from fedsched.model.schedule.node_stack import close, fill, go_on_from, put_back, ready_if_taken, spared, take

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
    owed: Ints  # per group: nodes that downtimes, but no reservations, close as soon as jobs release them
    noted: Floats  # if time goes on while no job runs, [0]: the last end; [1]: the joules spared until then


@inlined
def reset(extras: Extras | None, state: ExtraState | None, nodes: Ints, t0: float) -> None:
    """Reset for a run: all nodes are on, and idle since `t0`."""
    if extras is None or state is None:
        return
    for g in range(extras.saving.timeout.size):
        fill(state.powered.stacks, g, nodes[g], t0)
        state.powered.owed[g] = 0
        state.powered.noted[0] = -np.inf


@inlined
def go_on(extras: Extras | None, state: ExtraState | None, t0: float) -> None:
    """Set the nodes without jobs to their states in the run that this one goes on from at `t0`, if there is one."""
    if extras is None or state is None:
        return
    if extras.saving.begun.place.size > 0:
        _go_on(extras.saving, state.powered.stacks, t0)


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
    """Take the nodes (`counts` per group) of a job that runs at the run's begin from those that are on."""
    if extras is None or state is None:
        return
    if extras.saving.timeout.size > 0:
        state.powered.promised[j] = start
        for g in range(counts.size):
            if counts[g] > 0:
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
        _put_back(extras.saving, extra_state.powered, counts, now)


@part
def _put_back(saving: Saving, powered: Powered, counts: Ints, now: float) -> None:
    for g in range(counts.size):
        if counts[g] > 0:
            put_back(saving, powered.stacks, g, counts[g], now)
            if powered.owed[g] > 0:
                powered.owed[g] -= close(saving, powered.stacks, g, min(powered.owed[g], counts[g]), now)


@inlined
def note_spared(extras: Extras | None, extra_state: ExtraState | None, running: int) -> None:
    """Note what nodes have spared until the last end, before the clock moves or nodes change while no job runs.

    If no job runs any more, the energy counts until that end.
    """
    if extras is None or extra_state is None:
        return
    if extras.saving.timeout.size > 0 and running == 0:
        noted, last_end = extra_state.powered.noted, extra_state.closed.last_end[0]
        if noted[0] != last_end:
            noted[0], noted[1] = last_end, spared(extras.saving, extra_state.powered.stacks, last_end)


@inlined
def close_nodes(extras: Extras | None, extra_state: ExtraState | None, g: int, nodes: int, now: float) -> None:
    """Close nodes of a group for a downtime: those without jobs at once, the others as soon as jobs release them."""
    if extras is None or extra_state is None:
        return
    if extras.saving.timeout.size > 0:
        powered = extra_state.powered
        powered.owed[g] += nodes - close(extras.saving, powered.stacks, g, nodes, now)


@inlined
def open_nodes(extras: Extras | None, extra_state: ExtraState | None, g: int, nodes: int, now: float) -> None:
    """Open the nodes of a downtime: those that were closed are on, and idle from `now`."""
    if extras is None or extra_state is None:
        return
    if extras.saving.timeout.size > 0:
        powered = extra_state.powered
        paid = min(nodes, powered.owed[g])
        powered.owed[g] -= paid
        if nodes > paid:
            _open(extras.saving, powered.stacks, g, nodes - paid, now)


@part
def _open(saving: Saving, stacks: NodeStacks, g: int, nodes: int, now: float) -> None:
    put_back(saving, stacks, g, nodes, now)


@inlined
def spared_by_boots(extras: Extras | None, state: ExtraState | None) -> float:
    """Return the joules that the nodes which have begun to boot again take less than if all were on."""
    if extras is None or state is None:
        return 0.0
    return float(state.powered.stacks.spared[0]) if extras.saving.timeout.size > 0 else 0.0


@inlined
def energy_spared(extras: Extras | None, state: ExtraState | None, end: float) -> float:
    """Return the joules that nodes take less until `end`, the last end of a run that is over, than if all were on."""
    if extras is None or state is None:
        return 0.0
    if extras.saving.timeout.size == 0:
        return 0.0
    if state.powered.noted[0] == state.closed.last_end[0]:
        return state.powered.noted[1]
    return spared(extras.saving, state.powered.stacks, end)
