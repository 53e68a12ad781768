"""Jobs over a limit sleep by kinds: while a kind may not start they are in no tree of the queue [43].

Once the kind may start again, one of them stands in the queue for all that sleep: at the place of the first of them, as
small and as short as the least of all. Whoever scans the queue and comes upon it wakes it (engine/scan.py): it then
stands there as itself, and the next one for the rest. So what a limit lets start is found as if all stood in the
queue, and those behind it are not touched when the limit fills again.

In orders that change with time, and once places in the queue are changed or the queue is grouped into classes, nobody
sleeps: all that wait are awake, and are shown and hidden one by one.
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
ONE, OTHER = constant(0), constant(1)  # the queue, and that of candidates where it has an order of its own
NOBODY = constant(-1)
SHOWN, HIDDEN = flag(True), flag(False)


@by_reference
class Sleepers(NamedTuple):
    """Who waits under limits, awake or asleep; without limits of no size."""

    number: Ints  # [0]: how many orders there are to sleep in, 0 where nobody sleeps; [1]: jobs of the largest kind
    what: Ints  # job: it does not wait, is awake, or asleep
    awake: Ints  # kind: the first of those awake, or -1
    link: Ints  # next and before x job: the others
    place: Ints  # order x job: its place among those of its kind, in that order
    member: Ints  # order x place: the job
    tasks: Ints  # order x node: a binary tree for each kind, over its places, as that of the queue
    shortest: Floats  # the same; of no width where the queue's is not kept


@inlined
def line_up(limits: Limits, sleepers: Sleepers, plan: Plan, state: State) -> None:
    """Let nobody wait, and give everybody a place among the jobs of its kind, where these may sleep."""
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
    # `awake` counts meanwhile.
    for i in range(jobs):
        k = limits.kind[order[i]]
        if k >= 0:
            sleepers.awake[k] += 1
            sleepers.place[which, order[i]] = sleepers.awake[k]
            sleepers.member[which, limits.first_place[k] + sleepers.awake[k]] = order[i]
    sleepers.awake[:] = NOBODY


@inlined
def may_sleep(extra_state: ExtraState, j: int) -> bool:
    """Return whether a job may sleep: those of reservations, whose queues are apart, stay awake."""
    apart = extra_state.apart.of_job
    return extra_state.limited.sleepers.number[ORDERS] > 0 and (apart.size == 0 or apart[j] < 0)


@inlined
def is_asleep(sleepers: Sleepers, j: int) -> bool:
    """Return whether a job sleeps."""
    return sleepers.what[j] == ASLEEP


@inlined
def stay_awake(sleepers: Sleepers, k: int, j: int) -> None:
    """Let a job of a kind wait awake."""
    first = sleepers.awake[k]
    sleepers.link[NEXT, j], sleepers.link[BEFORE, j] = first, NOBODY
    if first >= 0:
        sleepers.link[BEFORE, first] = j
    sleepers.awake[k] = j
    sleepers.what[j] = AWAKE


@inlined
def leave(sleepers: Sleepers, k: int, j: int) -> None:
    """Let a job that is awake not wait any more."""
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
    """Let a job of a kind that may not start sleep."""
    sleepers.what[j] = ASLEEP
    _set_places(limits, sleepers, k, j, limits.tasks[j], shortest)


@inlined
def get_up(limits: Limits, sleepers: Sleepers, k: int, j: int) -> None:
    """Let a job be none of those that sleep, nor wait."""
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
    """Let the first of a kind that sleeps stand in the queues for all of them, or not any more."""
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
    """Let a job of a kind that may start wait awake, as itself, and the next one stand for those that sleep."""
    stand_for_all(limits, sleepers, state, k, HIDDEN)
    get_up(limits, sleepers, k, j)
    stay_awake(sleepers, k, j)
    stand_for_all(limits, sleepers, state, k, SHOWN)
    set_leaf(state.queue, state.queue.position[j], limits.tasks[j], state.shortest[j])
    if sleepers.number[ORDERS] > 1:
        set_leaf(state.backfill, state.backfill.position[j], limits.tasks[j], state.shortest[j])
