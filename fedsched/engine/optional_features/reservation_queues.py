"""The queues of reservations: jobs of a reservation wait in its own queue, apart from the general queue [46].

To all other jobs a reservation is a closure of nodes. Its own jobs keep their places in the queue order, but are absent
from the trees over the general queue; a pass over the reservation's queue (reservation_passes.py) finds them here. If a
problem has no extras, or no job is in a reservation, nothing is done.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints

GENERAL_QUEUE = constant(-1)
CURRENT, NEXT = constant(0), constant(1)  # in `ReservationQueues.turn`
FIRST = constant(0)


@by_reference
class ReservationMembers(NamedTuple):
    """Which reservation each job is in, and when each reservation ends; empty if no job is in one."""

    of_job: Ints  # job: its reservation, or -1
    first: Ints  # reservation: its waiting jobs have room from here to the next one's
    end: Floats


@by_reference
class ReservationQueues(NamedTuple):
    """The jobs that wait in each reservation, and work space for a pass over the queue of one reservation."""

    of_job: Ints  # as in ReservationMembers
    waits: Ints  # the waiting jobs, in each reservation's room
    number: Ints  # reservation: how many these are
    turn: Ints  # the reservation with the queue that is scanned, or -1 for the general queue; a decided pass's next one
    tasks: Ints  # the trees of that queue, without the jobs of other queues
    shortest: Floats
    backfill_tasks: Ints
    backfill_shortest: Floats
    classes: Ints  # indexed by ClassNumber: that queue is not grouped
    durations: Floats  # empty
    free: Ints  # group: what the other jobs see, kept meanwhile
    owed: Ints


@inlined
def reset(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset for a run: no job waits in a reservation, and the general queue is the one that is scanned."""
    if extras is None or state is None:
        return
    own_queues = state.apart
    own_queues.turn[CURRENT] = GENERAL_QUEUE
    own_queues.number[:] = 0
    for j in range(own_queues.of_job.size):
        own_queues.of_job[j] = extras.reserved.of_job[j]


@inlined
def begin_turns(state: ExtraState | None) -> None:
    """Begin a decided pass: the queues of all reservations are still to come."""
    if state is None:
        return
    state.apart.turn[NEXT] = FIRST


@inlined
def note_joined(extras: Extras | None, state: ExtraState | None, j: int) -> None:
    """Note that a job joins the queue: if it is in a reservation, append it to that reservation's waiting jobs."""
    if extras is None or state is None:
        return
    own_queues = state.apart
    if own_queues.of_job.size > 0 and own_queues.of_job[j] != GENERAL_QUEUE:
        r = own_queues.of_job[j]
        own_queues.waits[extras.reserved.first[r] + own_queues.number[r]] = j
        own_queues.number[r] += 1


@inlined
def note_left(extras: Extras, state: ExtraState, j: int) -> None:
    """Note that a job leaves the queue: if it is in a reservation, remove it from that reservation's waiting jobs."""
    own_queues = state.apart
    if own_queues.of_job.size > 0 and own_queues.of_job[j] != GENERAL_QUEUE:
        r = own_queues.of_job[j]
        first, left = extras.reserved.first[r], FIRST
        for i in range(first, first + own_queues.number[r]):
            if own_queues.waits[i] != j:
                own_queues.waits[first + left] = own_queues.waits[i]
                left += 1
        own_queues.number[r] = left


@inlined
def is_in_other_queue(state: ExtraState | None, j: int) -> bool:
    """Return whether a job is in another queue than the one that is scanned now.

    Queues are the general queue and one for each reservation.
    """
    if state is None:
        return False
    return state.apart.of_job.size > 0 and state.apart.of_job[j] != state.apart.turn[CURRENT]
