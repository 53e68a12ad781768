"""Whether a job fits on what is free, and what it takes as it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.engine.dispatch.greedy import start_job
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock
from fedsched.engine.optional_features import limits, pools
from fedsched.engine.placement.node_choice import place
from fedsched.engine.shared_nodes import counted
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.choosing import choose
from fedsched.engine.shared_nodes.closing import place_while_open, shut_soon
from fedsched.engine.shared_nodes.stock import ALL, least_on, measure_room, room_on, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Stock, Work


@part
def fits(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, stock: Stock, j: int) -> bool:
    """Fill `state.scratch.chosen` with the job's tasks on each group; return whether it fits on a stock, from now."""
    room = measure_room(sharing, stock, sharing.kinds.of_job[j], work.room)
    return place_while_open(
        problem.extras, problem, plan, state, sharing, work, work.room, room, j, state.clock[Clock.NOW]
    )


@part
def fits_ever(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether a job fits on what is free now, whenever that closes."""
    room = measure_room(sharing, work.now, sharing.kinds.of_job[j], work.room)
    return room >= problem.tasks[j] and place(problem, plan, j, work.room, state.load, state)


@inlined
def _is_kept_back(problem: Problem, state: State, j: int) -> bool:
    # By something else than nodes: a limit that is full, or a pool that has too little left [31, 43].
    return limits.is_over_limit(state.extras, j) or not pools.suffice(
        more_than_closing(problem.extras), state.extras, j
    )


@part
def fits_now(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether a job fits now, as `fits` does; of one that does not, remember how far it is from that."""
    kind = sharing.kinds.of_job[j]
    if work.bound[kind] < problem.tasks[j] or _is_kept_back(problem, state, j):
        return False
    room = measure_room(sharing, work.now, kind, work.room)
    room -= shut_soon(problem.extras, state, sharing, work, work.room, j)
    work.bound[kind] = room if room < problem.tasks[j] else ALL
    return place_while_open(
        problem.extras, problem, plan, state, sharing, work, work.room, room, j, state.clock[Clock.NOW]
    )


@inlined
def loosen(sharing: Sharing, work: Work, kind: int) -> None:
    """Let the nodes that have been freed add to what fits of a kind at most."""
    freed = work.number[Number.FREED]
    if freed == work.freed.size:  # perhaps more than there is room to tell
        work.bound[kind] = ALL
    for i in range(freed):
        if work.bound[kind] >= sharing.kinds.tasks[kind]:
            return
        node = work.freed[i]
        if sharing.kinds.opened[kind, sharing.nodes.group[node]] == 1:
            work.bound[kind] += room_on(sharing, work.now, kind, node)


@part
def loosen_all(sharing: Sharing, work: Work) -> None:
    """Do so for all kinds of which somebody waits."""
    for i in range(work.number[Number.KINDS]):
        loosen(sharing, work, work.line.kinds[i])
    work.number[Number.FREED] = 0


@part
def start(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, stock: Stock, j: int) -> bool:
    """Start a job on nodes of this stock; `state.scratch.chosen` says how many tasks on each group.

    Where something counts nodes and lets it have none of so many the job is passed over; return whether it has started.
    """
    held, number, kind = work.held, work.number, sharing.kinds.of_job[j]
    choose(sharing, work, stock, kind, state.scratch.chosen)
    if not counted.suffice(sharing, work, j):
        return False
    take(sharing, work, work.now, kind, number[Number.PIECES], number[Number.DEVICES])
    held.first[j], held.pieces[j] = number[Number.PIECES], number[Number.FOUND]
    held.first_device[j], held.devices[j] = number[Number.DEVICES], number[Number.FOUND_DEVICES]
    number[Number.PIECES] += number[Number.FOUND]
    number[Number.DEVICES] += number[Number.FOUND_DEVICES]
    counted.take(sharing, work, j)
    start_job(problem, plan, state, j)
    return True


@inlined
def keep_both(sharing: Sharing, work: Work, j: int) -> None:
    """Bring what is free beside the head up to date on the nodes of a job that has just started."""
    for i in range(work.held.first[j], work.held.first[j] + work.held.pieces[j]):
        least_on(sharing, work, work.held.node[i])
