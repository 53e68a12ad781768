"""Parked jobs: of waiting jobs of a kind, one queue entry stands for all; while the kind is over a limit, none [43].

A kind is the set of jobs that take the same amounts of the same limits (pack/limit_classes.py). While it is over a
limit, its parked jobs are in no tree of the queue. Once it may start again, one entry stands for them: at the place of
the first, with the least tasks and the shortest duration of all. A scan that meets the entry expands it (scan.py): the
first job is then queued there as itself, and the next one represents the rest. So scans find the same jobs as if all
were in the queue. When the limit is full again, only that entry changes.

No job is parked in orders that change with time, or once places in the queue are changed or the queue is grouped into
classes. Then each waiting job is shown in the queue, or hidden, by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, flag, inlined, part
from fedsched.engine.codes import QueueKey
from fedsched.engine.queue.queue_tree import ABSENT, ANY, FIRST, NEVER, next_small_leaf, set_leaf, set_path

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import ExtraState, Floats, Ints, Limits, Plan, Queue, State

AWAY, UNPARKED, PARKED = constant(0), constant(1), constant(2)  # in `ParkedJobs.what`
ORDERS, LONGEST = constant(0), constant(1)  # in `ParkedJobs.number`
NEXT, BEFORE = constant(0), constant(1)  # rows of `ParkedJobs.link`
ONE, OTHER = constant(0), constant(1)  # the queue, and the backfill queue if it has an order of its own
NO_JOB = constant(-1)
SHOWN, HIDDEN = flag(True), flag(False)


@by_reference
class ParkedJobs(NamedTuple):
    """The jobs that wait and are bound by limits, by kind, parked or not; empty without limits."""

    number: Ints  # [0]: queue orders in which jobs are parked, 0 if no job may be; [1]: jobs of the largest kind
    what: Ints  # job: AWAY if it does not wait, UNPARKED, or PARKED
    awake: Ints  # kind: the first of its jobs that are not parked, or -1
    link: Ints  # next and before x job: its neighbours in the list of jobs that are not parked
    place: Ints  # order x job: its place among the jobs of its kind, in that order
    member: Ints  # order x place: the job
    tasks: Ints  # order x node: a binary tree for each kind, over its places, like the queue's
    shortest: Floats  # the same for the shortest durations; empty if the queue does not keep them


@inlined
def reset(limits: Limits, parked: ParkedJobs, plan: Plan, state: State) -> None:
    """Reset for a run: no job waits.

    If all queue orders are fixed, jobs may be parked; then give each job its place among the jobs of its kind.
    """
    parked.what[:] = AWAY
    parked.awake[:] = NO_JOB
    parked.tasks[:] = ABSENT
    parked.shortest[:] = NEVER
    parked.number[ORDERS] = 0
    if plan.order_key != QueueKey.FIXED or (plan.separate_backfill and plan.backfill_key != QueueKey.FIXED):
        return
    _give_places(limits, parked, state.queue.order, plan.order.size, ONE)
    parked.number[ORDERS] = 1
    if plan.separate_backfill:
        _give_places(limits, parked, state.backfill.order, plan.order.size, OTHER)
        parked.number[ORDERS] = 2


@inlined
def _give_places(limits: Limits, parked: ParkedJobs, order: Ints, jobs: int, which: int) -> None:
    # `awake` serves as a counter here.
    for i in range(jobs):
        k = limits.kind[order[i]]
        if k >= 0:
            parked.awake[k] += 1
            parked.place[which, order[i]] = parked.awake[k]
            parked.member[which, limits.first_place[k] + parked.awake[k]] = order[i]
    parked.awake[:] = NO_JOB


@inlined
def may_park(extra_state: ExtraState, j: int) -> bool:
    """Return whether a job may be parked.

    A job of a reservation may not; no job may if queue orders change with time, or parking has ended in this run.
    """
    reservation_of = extra_state.apart.of_job
    return extra_state.limited.sleepers.number[ORDERS] > 0 and (reservation_of.size == 0 or reservation_of[j] < 0)


@inlined
def is_parked(parked: ParkedJobs, j: int) -> bool:
    """Return whether a job is parked: it waits, and is in the queue only through its kind's common entry."""
    return parked.what[j] == PARKED


@inlined
def add_unparked(parked: ParkedJobs, k: int, j: int) -> None:
    """Add a waiting job to the list of the jobs of kind `k` that are not parked."""
    first = parked.awake[k]
    parked.link[NEXT, j], parked.link[BEFORE, j] = first, NO_JOB
    if first >= 0:
        parked.link[BEFORE, first] = j
    parked.awake[k] = j
    parked.what[j] = UNPARKED


@inlined
def remove_unparked(parked: ParkedJobs, k: int, j: int) -> None:
    """Remove a job from the list of the waiting jobs of kind `k` that are not parked."""
    after, before = parked.link[NEXT, j], parked.link[BEFORE, j]
    if before >= 0:
        parked.link[NEXT, before] = after
    else:
        parked.awake[k] = after
    if after >= 0:
        parked.link[BEFORE, after] = before
    parked.what[j] = AWAY


@inlined
def park(limits: Limits, parked: ParkedJobs, k: int, j: int, shortest: float) -> None:
    """Park a waiting job of kind `k`, which is over a limit: put it into the kind's tree."""
    parked.what[j] = PARKED
    _set_places(limits, parked, k, j, limits.tasks[j], shortest)


@inlined
def remove_parked(limits: Limits, parked: ParkedJobs, k: int, j: int) -> None:
    """Remove a job from the parked jobs of kind `k`; it counts as not waiting."""
    parked.what[j] = AWAY
    _set_places(limits, parked, k, j, ABSENT, NEVER)


@inlined
def _set_places(limits: Limits, parked: ParkedJobs, k: int, j: int, tasks: int, shortest: float) -> None:
    first, last = limits.first_node[k], limits.first_node[k + 1]
    for which in range(parked.number[ORDERS]):
        times = parked.shortest[which, first:last]
        set_path(parked.tasks[which, first:last], times, parked.place[which, j], tasks, shortest)


@part
def show_entry(limits: Limits, parked: ParkedJobs, state: State, k: int, shown: bool) -> None:
    """Show or hide the queue entry that stands for all parked jobs of kind `k`, at the queue position of the first.

    Nothing is done if no job of the kind is parked.
    """
    _set_entry(limits, parked, state.queue, k, ONE, shown)
    if parked.number[ORDERS] > 1:
        _set_entry(limits, parked, state.backfill, k, OTHER, shown)


@inlined
def _set_entry(limits: Limits, parked: ParkedJobs, queue: Queue, k: int, which: int, shown: bool) -> None:
    tree = parked.tasks[which, limits.first_node[k] : limits.first_node[k + 1]]
    if parked.number[ORDERS] == 0 or tree[1] == ABSENT:
        return
    j = parked.member[which, limits.first_place[k] + next_small_leaf(tree, FIRST, ANY)]
    if not shown:
        set_leaf(queue, queue.position[j], ABSENT, NEVER)
    else:
        times = parked.shortest[which, limits.first_node[k] : limits.first_node[k + 1]]
        set_leaf(queue, queue.position[j], tree[1], times[1] if times.size > 0 else NEVER)


@part
def unpark(limits: Limits, parked: ParkedJobs, state: State, k: int, j: int) -> None:
    """Queue a parked job of kind `k`, which may start, as itself.

    The entry for the jobs that are still parked moves to the next of them.
    """
    show_entry(limits, parked, state, k, HIDDEN)
    remove_parked(limits, parked, k, j)
    add_unparked(parked, k, j)
    show_entry(limits, parked, state, k, SHOWN)
    set_leaf(state.queue, state.queue.position[j], limits.tasks[j], state.shortest[j])
    if parked.number[ORDERS] > 1:
        set_leaf(state.backfill, state.backfill.position[j], limits.tasks[j], state.shortest[j])
