"""Tests whether a job fits on what is free, upper bounds that save such tests, and the start of a job."""

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
from fedsched.engine.shared_nodes.stock import ALL, measure_room, room_on, set_least, take

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Stock, Work


@part
def fits(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, stock: Stock, j: int) -> bool:
    """Return whether a job fits on a stock from now to its planned end, with all closures that are known.

    If it does, `state.scratch.chosen` has its tasks on each group.
    """
    room = measure_room(sharing, stock, sharing.kinds.of_job[j], work.room)
    return place_while_open(
        problem.extras, problem, plan, state, sharing, work, work.room, room, j, state.clock[Clock.NOW]
    )


@part
def fits_ever(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether a job fits on what is free now, if closures are ignored.

    If it does, `state.scratch.chosen` has its tasks on each group.
    """
    room = measure_room(sharing, work.now, sharing.kinds.of_job[j], work.room)
    return room >= problem.tasks[j] and place(problem, plan, j, work.room, state.load, state)


@inlined
def _is_kept_back(problem: Problem, state: State, j: int) -> bool:
    # Returns whether a limit or a pool has too little left for the job [31, 43].
    return limits.is_over_limit(state.extras, j) or not pools.suffice(
        more_than_closing(problem.extras), state.extras, j
    )


@part
def fits_now(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> bool:
    """Return whether a job can start now: it fits, as `fits` says, and its limits and pools have enough left.

    The upper bound on the tasks of its kind that fit is updated. If the bound is too low, the job is not tested.
    """
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
    """Raise the upper bound on the tasks of a kind that fit by the room on nodes freed since the last pass.

    If too many nodes were freed to list them all, there is no bound any more.
    """
    freed = work.number[Number.FREED]
    if freed == work.freed.size:  # perhaps more nodes were freed than are listed
        work.bound[kind] = ALL
    for i in range(freed):
        if work.bound[kind] >= sharing.kinds.tasks[kind]:
            return
        node = work.freed[i]
        if sharing.kinds.opened[kind, sharing.nodes.group[node]] == 1:
            work.bound[kind] += room_on(sharing, work.now, kind, node)


@part
def loosen_all(sharing: Sharing, work: Work) -> None:
    """Do `loosen` for all kinds with waiting jobs; then the list of freed nodes is empty."""
    for i in range(work.number[Number.KINDS]):
        loosen(sharing, work, work.line.kinds[i])
    work.number[Number.FREED] = 0


@part
def start(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, stock: Stock, j: int) -> bool:
    """Start a job on nodes of `stock`; return whether it starts.

    `state.scratch.chosen` has its tasks on each group. It does not start if its limits or its partition forbid the
    number of nodes chosen.
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
    """Update `work.both`, which is free now and beside the head, on the nodes of a job that has just started."""
    for i in range(work.held.first[j], work.held.first[j] + work.held.pieces[j]):
        set_least(sharing, work.now, work.later, work.both, work.held.node[i])
