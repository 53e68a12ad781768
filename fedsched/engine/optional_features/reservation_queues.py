"""Reservations: who waits in the queue of one, which is apart from everybody's [46].

To everybody a reservation is a closure. Its jobs keep their places in the order of the queue, but are absent from the
trees over it; a pass over their own queue (engine/reserved_pass.py) finds them here. Where a problem has no extras, or
no job is in a reservation, nothing is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints

EVERYBODYS = constant(-1)
TURN = constant(0)
FIRST = constant(0)


@by_reference
class Reserved(NamedTuple):
    """Which jobs are in which reservation; where none is of no size."""

    of_job: Ints  # job: its reservation, or -1
    first: Ints  # reservation: its jobs that wait have room from here to the next one's
    end: Floats


@by_reference
class Apart(NamedTuple):
    """What the loop knows of reservations, and room for a pass over the queue of one."""

    of_job: Ints  # as in Reserved
    waits: Ints  # the jobs that wait, in each reservation's room
    number: Ints  # reservation: how many these are
    turn: Ints  # [0]: whose queue is gone over, or -1
    tasks: Ints  # the trees of that queue: absent from them is who waits for another turn
    shortest: Floats
    backfill_tasks: Ints
    backfill_shortest: Floats
    classes: Ints  # indexed by ClassNumber: that queue is not grouped
    durations: Floats  # of no size
    free: Ints  # group: what everybody sees meanwhile
    owed: Ints


@inlined
def open_all(extras: Extras | None, state: ExtraState | None) -> None:
    """Let nobody wait yet."""
    if extras is None or state is None:
        return
    apart = state.apart
    apart.turn[TURN] = EVERYBODYS
    apart.number[:] = 0
    for j in range(apart.of_job.size):
        apart.of_job[j] = extras.reserved.of_job[j]


@inlined
def joins(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Note that a job joins the queue, be it that of its reservation."""
    if extras is None or state is None:
        return
    apart = state.apart
    if apart.of_job.size > 0 and apart.of_job[j] != EVERYBODYS:
        r = apart.of_job[j]
        apart.waits[extras.reserved.first[r] + apart.number[r]] = j
        apart.number[r] += 1


@inlined
def leaves(extras: Extras, state: ExtraState, j: int) -> None:
    """Note that a job that waits leaves the queue for a while, be it that of its reservation."""
    apart = state.apart
    if apart.of_job.size > 0 and apart.of_job[j] != EVERYBODYS:
        r = apart.of_job[j]
        first, left = extras.reserved.first[r], FIRST
        for i in range(first, first + apart.number[r]):
            if apart.waits[i] != j:
                apart.waits[first + left] = apart.waits[i]
                left += 1
        apart.number[r] = left


@inlined
def waits_for_another_turn(state: ExtraState | None, j: int) -> bool:
    """Return whether a job is in another queue than the one that is gone over."""
    if state is None:
        return False
    return state.apart.of_job.size > 0 and state.apart.of_job[j] != state.apart.turn[TURN]
