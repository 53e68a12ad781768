"""Jobs over a limit are parked (asleep) by kind: while the kind may not start, they are in no tree of the queue [43].

A kind is the set of jobs that take the same amounts of the same limits (pack/limit_classes.py). Once it may start
again, one queue entry stands for all its parked jobs: at the place of the first, with the least tasks and the shortest
duration of all. A scan that meets the entry expands it (scan.py): the first job then stands there as itself, and the
next one for the rest. So scans find the same jobs as if all were in the queue, and the jobs behind are not touched
when the limit is full again.

No job is parked in orders that change with time, or once places in the queue are changed or the queue is grouped into
classes. Then all waiting jobs are awake: each is shown in the queue, or hidden, by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, flag, inlined, part
from fedsched.engine.codes import QueueKey
from fedsched.engine.queue.queue_tree import ABSENT, ANY, FIRST, NEVER, next_small_leaf, set_leaf, set_path

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import ExtraState, Floats, Ints, Limits, Plan, Queue, State

AWAY, AWAKE, ASLEEP = constant(0), constant(1), constant(2)  # in `Sleepers.what`
ORDERS, LONGEST = constant(0), constant(1)  # in `Sleepers.number`
NEXT, BEFORE = constant(0), constant(1)  # rows of `Sleepers.link`
ONE, OTHER = constant(0), constant(1)  # the queue, and the backfill queue if it has an order of its own
NOBODY = constant(-1)
SHOWN, HIDDEN = flag(True), flag(False)


@by_reference
class Sleepers(NamedTuple):
    """Jobs that wait under limits, awake or parked (asleep); empty without limits."""

    number: Ints  # [0]: queue orders in which jobs are parked, 0 if no job may be; [1]: jobs of the largest kind
    what: Ints  # job: AWAY if it does not wait, AWAKE, or ASLEEP
    awake: Ints  # kind: the first of its awake jobs, or -1
    link: Ints  # next and before x job: its neighbours in the list of awake jobs
    place: Ints  # order x job: its place among the jobs of its kind, in that order
    member: Ints  # order x place: the job
    tasks: Ints  # order x node: a binary tree for each kind, over its places, like the queue's
    shortest: Floats  # the same for the shortest durations; empty if the queue does not keep them


@inlined
def line_up(limits: Limits, sleepers: Sleepers, plan: Plan, state: State) -> None:
    """Begin with no waiting jobs; give each job a place among the jobs of its kind if these may be parked."""
    sleepers.what[:] = AWAY
    sleepers.awake[:] = NOBODY
    sleepers.tasks[:] = ABSENT
    sleepers.shortest[:] = NEVER
    sleepers.number[ORDERS] = 0
    if plan.order_key != QueueKey.FIXED or (plan.separate_backfill and plan.backfill_key != QueueKey.FIXED):
        return
    _give_places(limits, sleepers, state.queue.order, plan.order.size, ONE)
    sleepers.number[ORDERS] = 1
    if plan.separate_backfill:
        _give_places(limits, sleepers, state.backfill.order, plan.order.size, OTHER)
        sleepers.number[ORDERS] = 2


@inlined
def _give_places(limits: Limits, sleepers: Sleepers, order: Ints, jobs: int, which: int) -> None:
    # `awake` serves as a counter here.
    for i in range(jobs):
        k = limits.kind[order[i]]
        if k >= 0:
            sleepers.awake[k] += 1
            sleepers.place[which, order[i]] = sleepers.awake[k]
            sleepers.member[which, limits.first_place[k] + sleepers.awake[k]] = order[i]
    sleepers.awake[:] = NOBODY


@inlined
def may_sleep(extra_state: ExtraState, j: int) -> bool:
    """Return whether a job may be parked: jobs of reservations, which have separate queues, may not."""
    apart = extra_state.apart.of_job
    return extra_state.limited.sleepers.number[ORDERS] > 0 and (apart.size == 0 or apart[j] < 0)


@inlined
def is_asleep(sleepers: Sleepers, j: int) -> bool:
    """Return whether a job is parked."""
    return sleepers.what[j] == ASLEEP


@inlined
def stay_awake(sleepers: Sleepers, k: int, j: int) -> None:
    """Add a job to the list of its kind's awake jobs."""
    first = sleepers.awake[k]
    sleepers.link[NEXT, j], sleepers.link[BEFORE, j] = first, NOBODY
    if first >= 0:
        sleepers.link[BEFORE, first] = j
    sleepers.awake[k] = j
    sleepers.what[j] = AWAKE


@inlined
def leave(sleepers: Sleepers, k: int, j: int) -> None:
    """Remove a job from the list of its kind's awake jobs."""
    after, before = sleepers.link[NEXT, j], sleepers.link[BEFORE, j]
    if before >= 0:
        sleepers.link[NEXT, before] = after
    else:
        sleepers.awake[k] = after
    if after >= 0:
        sleepers.link[BEFORE, after] = before
    sleepers.what[j] = AWAY


@inlined
def fall_asleep(limits: Limits, sleepers: Sleepers, k: int, j: int, shortest: float) -> None:
    """Park a job of a kind that may not start."""
    sleepers.what[j] = ASLEEP
    _set_places(limits, sleepers, k, j, limits.tasks[j], shortest)


@inlined
def get_up(limits: Limits, sleepers: Sleepers, k: int, j: int) -> None:
    """Remove a job from its kind's parked jobs; it no longer waits."""
    sleepers.what[j] = AWAY
    _set_places(limits, sleepers, k, j, ABSENT, NEVER)


@inlined
def _set_places(limits: Limits, sleepers: Sleepers, k: int, j: int, tasks: int, shortest: float) -> None:
    first, last = limits.first_node[k], limits.first_node[k + 1]
    for which in range(sleepers.number[ORDERS]):
        times = sleepers.shortest[which, first:last]
        set_path(sleepers.tasks[which, first:last], times, sleepers.place[which, j], tasks, shortest)


@part
def stand_for_all(limits: Limits, sleepers: Sleepers, state: State, k: int, shown: bool) -> None:
    """Show, or hide, the queue entry that stands for all parked jobs of a kind, at the place of the first."""
    _stand_in(limits, sleepers, state.queue, k, ONE, shown)
    if sleepers.number[ORDERS] > 1:
        _stand_in(limits, sleepers, state.backfill, k, OTHER, shown)


@inlined
def _stand_in(limits: Limits, sleepers: Sleepers, queue: Queue, k: int, which: int, shown: bool) -> None:
    tree = sleepers.tasks[which, limits.first_node[k] : limits.first_node[k + 1]]
    if sleepers.number[ORDERS] == 0 or tree[1] == ABSENT:
        return
    j = sleepers.member[which, limits.first_place[k] + next_small_leaf(tree, FIRST, ANY)]
    if not shown:
        set_leaf(queue, queue.position[j], ABSENT, NEVER)
    else:
        times = sleepers.shortest[which, limits.first_node[k] : limits.first_node[k + 1]]
        set_leaf(queue, queue.position[j], tree[1], times[1] if times.size > 0 else NEVER)


@part
def wake(limits: Limits, sleepers: Sleepers, state: State, k: int, j: int) -> None:
    """Queue a parked job, of a kind that may start, as itself; the next one stands for the jobs still parked."""
    stand_for_all(limits, sleepers, state, k, HIDDEN)
    get_up(limits, sleepers, k, j)
    stay_awake(sleepers, k, j)
    stand_for_all(limits, sleepers, state, k, SHOWN)
    set_leaf(state.queue, state.queue.position[j], limits.tasks[j], state.shortest[j])
    if sleepers.number[ORDERS] > 1:
        set_leaf(state.backfill, state.backfill.position[j], limits.tasks[j], state.shortest[j])
