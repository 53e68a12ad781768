"""Conservative backfilling on shared nodes: each queued job in turn has a reservation; jobs planned for now start [12].

Each pass plans anew, and only as far as needed: it ends when no job further down the queue fits now. A reservation is
found by a walk over the planned ends of running jobs, and the begins and ends of the reservations before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.clock import end_after
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.placement.node_choice import planned_duration
from fedsched.engine.queue.queue_tree import ANY, FIRST
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import line
from fedsched.engine.shared_nodes.arrays import Number, PlannedNumber
from fedsched.engine.shared_nodes.candidates import ANY_LENGTH, gather
from fedsched.engine.shared_nodes.choosing import choose
from fedsched.engine.shared_nodes.closing import next_opening, place_while_open
from fedsched.engine.shared_nodes.fitting import fits_now, start
from fedsched.engine.shared_nodes.future import change_room, measure_all
from fedsched.engine.shared_nodes.stock import copy_stock, give_back, measure_room, room_on, set_least, take_job

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import PlannedJobs, Sharing, Work

LESS, MORE = constant(-1), constant(1)
NO_KIND = constant(-1)
ENDS, BEGINS = constant(0), constant(1)  # in `PlannedJobs.begins`
TOO_EARLY, REACHED = constant(0), constant(1)  # in `PlannedJobs.time_of`


@part
def plan_the_queue(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Do a conservative dispatch pass: plan jobs in queue order, and start those that are planned for now."""
    gather(problem, plan, state, sharing, work)
    line.heap_up(work, state.queue.position)
    work.planned.number[:] = 0
    work.planned.number[PlannedNumber.KIND] = NO_KIND
    for i in range(work.number[Number.KINDS]):
        work.planned.not_before[work.line.kinds[i]] = -np.inf
    position = next_small(problem, state, state.queue, FIRST, ANY)
    while position >= 0 and work.number[Number.HEAP] > 0:
        _plan_job(problem, plan, state, sharing, work, state.queue.order[position])
        _drop_candidates(problem, plan, state, sharing, work, position)
        position = next_small(problem, state, state.queue, position + 1, ANY)


@inlined
def _drop_candidates(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, position: int
) -> None:
    # Goes on to the first candidate behind `position` that still fits now.
    order = state.queue.position
    while work.number[Number.HEAP] > 0:
        j = work.line.job[work.line.next[work.line.heap[0]]]
        if order[j] <= position:
            line.advance(sharing, work, order, ANY_LENGTH)
        elif fits_now(problem, plan, state, sharing, work, j):
            return
        else:
            line.drop(work, order)


@part
def _plan_job(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int) -> None:
    # Starts the job, or gives it the first reservation that lasts to its planned end; none if there is no such time.
    kind, now, tasks = sharing.kinds.of_job[j], state.clock[Clock.NOW], problem.tasks[j]
    planned, ends, more = work.planned, state.ends, more_than_closing(problem.extras)
    planned.time_of[TOO_EARLY] = _not_before(problem, state, planned, sharing, kind, j)
    if planned.number[PlannedNumber.KIND] == kind and planned.time_of[TOO_EARLY] == planned.time_of[REACHED]:
        time, last, change = planned.time_of[REACHED], _take_last(more, state, sharing, work), _passed(planned)
    else:
        copy_stock(work.now, work.later)
        _free_pools_now(more, state.extras, planned)
        time, last, change = now, state.counter[Counter.ENDS] - 1, 0
    planned.number[PlannedNumber.KIND] = NO_KIND
    total, freed = measure_all(sharing, work, kind), True
    opening = next_opening(problem.extras, state.clock, sharing.closures, time)
    while True:
        if freed and total >= tasks and time >= planned.time_of[TOO_EARLY] and _pools_suffice(more, planned.pool, j):
            end = _planned_end(problem, plan, state, sharing, work, j, time, total, last, change)
            if end < np.inf:
                planned.not_before[kind], planned.shortest[kind] = time, state.shortest[j]
                planned.number[PlannedNumber.LAST], planned.number[PlannedNumber.PASSED] = last, change
                _keep(problem, plan, state, sharing, work, j, time, end)
                return
        time = opening
        if last >= 0:
            time = min(time, end_after(ends.time[last], now))
        if change < planned.number[PlannedNumber.CHANGES]:
            time = min(time, planned.time[change])
        if time == np.inf:
            return
        freed = False
        if time == opening:
            opening, freed = next_opening(problem.extras, state.clock, sharing.closures, time), True
        while last >= 0 and end_after(ends.time[last], now) == time:
            before = total
            total += change_room(sharing, work.held, work, kind, ends.job[last], LESS)
            give_back(sharing, work.held, work.later, ends.job[last])
            total += change_room(sharing, work.held, work, kind, ends.job[last], MORE)
            freed = freed or total > before or _frees_pools(more, ends.job[last], j)
            _move_pools(more, planned.pool, ends.job[last], MORE)
            last -= 1
        while change < planned.number[PlannedNumber.CHANGES] and planned.time[change] == time:
            other, begins, before = planned.job[change], planned.begins[change] == BEGINS, total
            total += change_room(sharing, planned.held, work, kind, other, LESS)
            if begins:
                take_job(sharing, planned.held, work.later, other)
            else:
                give_back(sharing, planned.held, work.later, other)
            total += change_room(sharing, planned.held, work, kind, other, MORE)
            freed = freed or total > before or (not begins and _frees_pools(more, other, j))
            _move_pools(more, planned.pool, other, LESS if begins else MORE)
            change += 1


@inlined
def _not_before(
    problem: Problem, state: State, planned: PlannedJobs, sharing: Sharing, kind: int, j: int
) -> float:
    # On nodes of one speed a job starts no earlier than one of its kind that is planned before it and takes no longer.
    if state.shortest[j] < planned.shortest[kind]:
        return -np.inf
    slowdown = problem.groups.slowdown
    for g in range(1, slowdown.size):
        if slowdown[g] != slowdown[0]:
            return -np.inf
    return planned.not_before[kind]


@inlined
def _take_last(extras: Extras | None, state: State, sharing: Sharing, work: Work) -> int:
    # Goes on from the walk to the start of the job that was planned last, which takes its nodes; returns the next end.
    planned = work.planned
    j, last = planned.number[PlannedNumber.JOB], planned.number[PlannedNumber.LAST]
    if planned.time_of[REACHED] == state.clock[Clock.NOW]:
        take_job(sharing, work.held, work.later, j)
        last = state.counter[Counter.ENDS] - 1
    else:
        take_job(sharing, planned.held, work.later, j)
    _move_pools(extras, planned.pool, j, LESS)
    return last


@inlined
def _passed(planned: PlannedJobs) -> int:
    # The next change after the begin of the job that was planned last.
    change = planned.number[PlannedNumber.PASSED]
    while change < planned.number[PlannedNumber.CHANGES] and planned.time[change] <= planned.time_of[REACHED]:
        change += 1
    return change


@part
def _planned_end(
    problem: Problem,
    plan: Plan,
    state: State,
    sharing: Sharing,
    work: Work,
    j: int,
    time: float,
    total: int,
    last: int,
    change: int,
) -> float:
    # The planned end of a job that fits from `time` on; infinite if it does not. `work.both` has what is free
    # throughout, and `scratch.chosen` the tasks on each group. `last` and `change` are the next end and next change.
    room, tasks = state.scratch.extra, problem.tasks[j]
    planned, more = work.planned, more_than_closing(problem.extras)
    shortest = end_after(time + state.shortest[j], time)
    end = shortest
    while True:
        copy_stock(work.later, work.both)
        for p in range(planned.pool.size):
            planned.least_pool[p] = planned.pool[p]
        fit = total
        for g in range(room.size):
            room[g] = work.room[g]
        if _begins_until(planned, change, end):
            before = planned.time_of[TOO_EARLY]
            fit = _lower_until(problem, state, sharing, work, j, end, total, last, change)
            if end > shortest:  # on faster nodes a later start may end before what is in the way
                planned.time_of[TOO_EARLY] = before
        if fit < tasks or not _pools_suffice(more, planned.least_pool, j):
            return np.inf
        if not place_while_open(problem.extras, problem, plan, state, sharing, work, room, fit, j, time):
            return np.inf
        needed = end_after(time + planned_duration(problem, j, state.scratch.chosen), time)
        if needed <= end:
            return needed
        end = needed


@inlined
def _begins_until(planned: PlannedJobs, change: int, end: float) -> bool:
    # Whether a reservation begins after the walk's present time and before `end`.
    found = False
    while not found and change < planned.number[PlannedNumber.CHANGES] and planned.time[change] < end:
        found = planned.begins[change] == BEGINS
        change += 1
    return found


@inlined
def _lower_until(
    problem: Problem,
    state: State,
    sharing: Sharing,
    work: Work,
    j: int,
    end: float,
    total: int,
    last: int,
    change: int,
) -> int:
    # Lowers `work.both`, the pools, and the room of each group to the least that is free until `end`: it drops only as
    # reservations begin. Returns the room of all groups; it stops as soon as that is too little.
    planned, ends, now, kind = work.planned, state.ends, state.clock[Clock.NOW], sharing.kinds.of_job[j]
    stock, held, room, more = planned.stock, planned.held, state.scratch.extra, more_than_closing(problem.extras)
    copy_stock(work.later, stock)
    for p in range(planned.pool.size):
        planned.walked_pool[p] = planned.pool[p]
    while change < planned.number[PlannedNumber.CHANGES] and planned.time[change] < end:
        time, other = planned.time[change], planned.job[change]
        while last >= 0 and end_after(ends.time[last], now) <= time:
            give_back(sharing, work.held, stock, ends.job[last])
            _move_pools(more, planned.walked_pool, ends.job[last], MORE)
            last -= 1
        if planned.begins[change] == BEGINS:
            take_job(sharing, held, stock, other)
            for i in range(held.first[other], held.first[other] + held.pieces[other]):
                node = held.node[i]
                g = sharing.nodes.group[node]
                before = room_on(sharing, work.both, kind, node)
                set_least(sharing, work.both, stock, work.both, node)
                if sharing.kinds.opened[kind, g] == 1:
                    lost = before - room_on(sharing, work.both, kind, node)
                    room[g] -= lost
                    total -= lost
            _move_pools(more, planned.walked_pool, other, LESS)
            for p in range(planned.pool.size):
                planned.least_pool[p] = min(planned.least_pool[p], planned.walked_pool[p])
            if total < sharing.kinds.tasks[kind]:
                if measure_room(sharing, stock, kind, room) < sharing.kinds.tasks[kind]:
                    planned.time_of[TOO_EARLY] = np.nextafter(time, np.inf)
                return total
        else:
            give_back(sharing, held, stock, other)
            _move_pools(more, planned.walked_pool, other, MORE)
        change += 1
    return total


@inlined
def _keep(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int, time: float, end: float
) -> None:
    # Starts a job that is planned for now; keeps the nodes of another for its reservation.
    planned, kind = work.planned, sharing.kinds.of_job[j]
    planned.number[PlannedNumber.JOB], planned.time_of[REACHED] = j, time
    if time == state.clock[Clock.NOW]:
        if start(problem, plan, state, sharing, work, work.both, j):
            planned.number[PlannedNumber.KIND] = kind
        return
    planned.number[PlannedNumber.KIND] = kind
    choose(sharing, work, work.both, kind, state.scratch.chosen)
    held, number = work.held, work.number
    pieces, devices = planned.number[PlannedNumber.PIECES], planned.number[PlannedNumber.DEVICES]
    planned.held.first[j], planned.held.pieces[j] = pieces, number[Number.FOUND]
    planned.held.first_device[j], planned.held.devices[j] = devices, number[Number.FOUND_DEVICES]
    for i in range(number[Number.FOUND]):
        planned.held.node[pieces + i] = held.node[number[Number.PIECES] + i]
        planned.held.tasks[pieces + i] = held.tasks[number[Number.PIECES] + i]
    for i in range(number[Number.FOUND_DEVICES]):
        planned.held.device_node[devices + i] = held.device_node[number[Number.DEVICES] + i]
        planned.held.device[devices + i] = held.device[number[Number.DEVICES] + i]
        planned.held.amount[devices + i] = held.amount[number[Number.DEVICES] + i]
    planned.number[PlannedNumber.PIECES] += number[Number.FOUND]
    planned.number[PlannedNumber.DEVICES] += number[Number.FOUND_DEVICES]
    _add_change(planned, time, j, BEGINS)
    _add_change(planned, end, j, ENDS)


@inlined
def _add_change(planned: PlannedJobs, time: float, j: int, begins: int) -> None:
    # Inserts a begin or an end into the list, by time; at one instant ends come first.
    place = planned.number[PlannedNumber.CHANGES]
    while place > 0 and (
        planned.time[place - 1] > time or (planned.time[place - 1] == time and planned.begins[place - 1] > begins)
    ):
        planned.time[place] = planned.time[place - 1]
        planned.job[place] = planned.job[place - 1]
        planned.begins[place] = planned.begins[place - 1]
        place -= 1
    planned.time[place], planned.job[place], planned.begins[place] = time, j, begins
    planned.number[PlannedNumber.CHANGES] += 1


@inlined
def _free_pools_now(extras: Extras | None, extra_state: ExtraState | None, planned: PlannedJobs) -> None:
    if extras is None or extra_state is None:
        return
    for p in range(planned.pool.size):
        planned.pool[p] = extra_state.pools.free[p]


@inlined
def _move_pools(extras: Extras | None, pool: Ints, j: int, sign: int) -> None:
    if extras is None:
        return
    for p in range(pool.size):
        pool[p] += sign * extras.pools.need[j, p]


@inlined
def _frees_pools(extras: Extras | None, other: int, j: int) -> bool:
    # Whether a job frees a pool that job j needs, as it ends.
    if extras is None:
        return False
    found = False
    for p in range(extras.pools.amount.size):
        found = found or (extras.pools.need[other, p] > 0 and extras.pools.need[j, p] > 0)
    return found


@inlined
def _pools_suffice(extras: Extras | None, pool: Ints, j: int) -> bool:
    if extras is None:
        return True
    enough = True
    for p in range(pool.size):
        enough = enough and extras.pools.need[j, p] <= pool[p]
    return enough
