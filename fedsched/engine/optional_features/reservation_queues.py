"""Reservations: the jobs that wait in a reservation's own queue, separate from the general queue [46].

To all other jobs a reservation is a closure. Its own jobs keep their places in the queue order, but are absent from the
trees over the general queue; a pass over the reservation's queue (reservation_passes.py) finds them here. If a problem
has no extras, or no job is in a reservation, nothing is done.
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
    """Which jobs are in which reservation; empty if none is."""

    of_job: Ints  # job: its reservation, or -1
    first: Ints  # reservation: its waiting jobs have room from here to the next one's
    end: Floats


@by_reference
class Apart(NamedTuple):
    """The jobs that wait in reservations, and room for a pass over the queue of one."""

    of_job: Ints  # as in Reserved
    waits: Ints  # the waiting jobs, in each reservation's room
    number: Ints  # reservation: how many these are
    turn: Ints  # [0]: the reservation with the queue that is scanned, or -1 for the general queue
    tasks: Ints  # the trees of that queue, without the jobs of other queues
    shortest: Floats
    backfill_tasks: Ints
    backfill_shortest: Floats
    classes: Ints  # indexed by ClassNumber: that queue is not grouped
    durations: Floats  # empty
    free: Ints  # group: what the other jobs see, kept meanwhile
    owed: Ints


@inlined
def open_all(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset: no job waits in a reservation."""
    if extras is None or state is None:
        return
    apart = state.apart
    apart.turn[TURN] = EVERYBODYS
    apart.number[:] = 0
    for j in range(apart.of_job.size):
        apart.of_job[j] = extras.reserved.of_job[j]


@inlined
def joins(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Note that a job joins the queue; if it is in a reservation, it waits in that one's queue."""
    if extras is None or state is None:
        return
    apart = state.apart
    if apart.of_job.size > 0 and apart.of_job[j] != EVERYBODYS:
        r = apart.of_job[j]
        apart.waits[extras.reserved.first[r] + apart.number[r]] = j
        apart.number[r] += 1


@inlined
def leaves(extras: Extras, state: ExtraState, j: int) -> None:
    """Note that a waiting job leaves the queue for a while; if it is in a reservation, that one's queue."""
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
    """Return whether a job is in another queue than the one that is scanned."""
    if state is None:
        return False
    return state.apart.of_job.size > 0 and state.apart.of_job[j] != state.apart.turn[TURN]
