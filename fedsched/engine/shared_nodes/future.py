"""The reservation of EASY's head on shared nodes: its planned start, and what is then free beside it [55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import pools
from fedsched.engine.shared_nodes.arrays import Number, Reservation
from fedsched.engine.shared_nodes.choosing import choose_gained
from fedsched.engine.shared_nodes.closing import next_opening, place_while_open
from fedsched.engine.shared_nodes.stock import copy_stock, give_back, least_of_all, leave_nodes, room_on, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Held, Sharing, Stock, Work

LESS, MORE = constant(-1), constant(1)


@inlined
def measure_all(sharing: Sharing, work: Work, kind: int) -> int:
    """Fill `work.room` as `measure_room` on `work.later`, but count all nodes: planned ends add to the result."""
    nodes, total = sharing.nodes, 0
    for g in range(work.room.size):
        here = 0
        if sharing.kinds.opened[kind, g] == 1:
            for node in range(nodes.first[g], nodes.first[g + 1]):
                here += room_on(sharing, work.later, kind, node)
        work.room[g] = here
        total += here
    return total


@inlined
def change_room(sharing: Sharing, held: Held, work: Work, kind: int, j: int, sign: int) -> int:
    """Change `work.room` by what fits on the nodes of job `j`, times `sign`; return the change of the total.

    It is subtracted before the job begins or ends in `work.later`, and added after that.
    """
    group, total = sharing.nodes.group, 0
    for i in range(held.first[j], held.first[j] + held.pieces[j]):
        node = held.node[i]
        if sharing.kinds.opened[kind, group[node]] == 1:
            here = sign * room_on(sharing, work.later, kind, node)
            work.room[group[node]] += here
            total += here
    return total


@inlined
def end_job(sharing: Sharing, held: Held, stock: Stock, j: int) -> None:
    """Free what a job holds in a stock as its planned end does: its resources, or nodes when their last job ends."""
    if sharing.reservation == Reservation.RESOURCES:
        give_back(sharing, held, stock, j)
    else:
        leave_nodes(sharing, held, stock, j)


@part
def reserve(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, head: int) -> float:
    """Reserve nodes and pools for EASY's head; return its planned start, the shadow time.

    This is the first planned end of a job, or known end of a downtime, at which the head fits. `work.later` is set to
    what is then free beside the head, `work.both` to the least of that and of what is free now. If downtimes keep the
    head from ever starting, the time is infinite, and nothing is reserved.
    """
    kind, now, ends, room = sharing.kinds.of_job[head], state.clock[Clock.NOW], state.ends, state.scratch.extra
    copy_stock(work.now, work.later)
    pools.look_ahead(more_than_closing(problem.extras), state.extras)
    total = measure_all(sharing, work, kind)
    last = state.counter[Counter.ENDS] - 1
    shadow, opening = np.inf, next_opening(problem.extras, state.clock, sharing.closures, now)
    while (last >= 0 or opening < np.inf) and shadow == np.inf:
        time = opening
        if last >= 0:
            time = min(time, end_after(ends.time[last], now))
        if time == opening:
            opening = next_opening(problem.extras, state.clock, sharing.closures, time)
        while last >= 0 and end_after(ends.time[last], now) == time:
            j = ends.job[last]
            total += change_room(sharing, work.held, work, kind, j, LESS)
            end_job(sharing, work.held, work.later, j)
            total += change_room(sharing, work.held, work, kind, j, MORE)
            pools.look_past(more_than_closing(problem.extras), state.extras, j)
            last -= 1
        if total < problem.tasks[head] or not pools.suffice_then(more_than_closing(problem.extras), state.extras, head):
            continue
        for g in range(room.size):  # a copy, as the search goes on with `work.room` if the head does not fit
            room[g] = work.room[g]
        if place_while_open(problem.extras, problem, plan, state, sharing, work, room, total, head, time):
            shadow = time
    if shadow == np.inf:
        return shadow
    choose_gained(sharing, work, kind, state.scratch.chosen)
    take(sharing, work, work.later, kind, work.number[Number.PIECES], work.number[Number.DEVICES])
    pools.reserve(more_than_closing(problem.extras), state.extras, head)
    least_of_all(sharing, work)
    return shadow
