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
from fedsched.engine.shared_nodes.future import end_job, measure_all, room_of
from fedsched.engine.shared_nodes.stock import copy_stock, lower_to, measure_room, take_job

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import PlannedJobs, Sharing, Work

LESS, MORE = constant(-1), constant(1)


@part
def plan_the_queue(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Do a conservative dispatch pass: plan jobs in queue order, and start those that are planned for now."""
    gather(problem, plan, state, sharing, work)
    line.heap_up(work, state.queue.position)
    work.planned.number[:] = 0
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
    copy_stock(work.now, work.later)
    _free_pools_now(more, state.extras, planned)
    total = measure_all(sharing, work, kind)
    last, change = state.counter[Counter.ENDS] - 1, 0
    opening, time, freed = next_opening(problem.extras, state.clock, sharing.closures, now), now, True
    while True:
        if freed and total >= tasks and _pools_suffice(more, planned.pool, j):
            end = _planned_end(problem, plan, state, sharing, work, j, time, total, last, change)
            if end < np.inf:
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
            total += room_of(sharing, work.held, work, kind, ends.job[last], LESS)
            end_job(sharing, work.held, work.later, ends.job[last])
            total += room_of(sharing, work.held, work, kind, ends.job[last], MORE)
            _move_pools(more, planned.pool, ends.job[last], MORE)
            last, freed = last - 1, True
        while change < planned.number[PlannedNumber.CHANGES] and planned.time[change] == time:
            other, begins = planned.job[change], planned.begins[change] == 1
            total += room_of(sharing, planned.held, work, kind, other, LESS)
            if begins:
                take_job(sharing, planned.held, work.later, other)
            else:
                end_job(sharing, planned.held, work.later, other)
            total += room_of(sharing, planned.held, work, kind, other, MORE)
            _move_pools(more, planned.pool, other, LESS if begins else MORE)
            change, freed = change + 1, freed or not begins


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
    room, kind, tasks = state.scratch.extra, sharing.kinds.of_job[j], problem.tasks[j]
    planned, more = work.planned, more_than_closing(problem.extras)
    end = end_after(time + state.shortest[j], time)
    while True:
        copy_stock(work.later, work.both)
        for p in range(planned.pool.size):
            planned.least_pool[p] = planned.pool[p]
        fit = total
        if _begins_until(planned, change, end):
            _lower_until(problem, state, sharing, work, end, last, change)
            fit = measure_room(sharing, work.both, kind, room)
        else:
            for g in range(room.size):
                room[g] = work.room[g]
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
        found = planned.begins[change] == 1
        change += 1
    return found


@inlined
def _lower_until(
    problem: Problem, state: State, sharing: Sharing, work: Work, end: float, last: int, change: int
) -> None:
    # Lowers `work.both`, and the pools, to the least that is free until `end`: that drops only as reservations begin.
    planned, ends, now = work.planned, state.ends, state.clock[Clock.NOW]
    more = more_than_closing(problem.extras)
    copy_stock(work.later, planned.stock)
    for p in range(planned.pool.size):
        planned.walked_pool[p] = planned.pool[p]
    while change < planned.number[PlannedNumber.CHANGES] and planned.time[change] < end:
        time, j = planned.time[change], planned.job[change]
        while last >= 0 and end_after(ends.time[last], now) <= time:
            end_job(sharing, work.held, planned.stock, ends.job[last])
            _move_pools(more, planned.walked_pool, ends.job[last], MORE)
            last -= 1
        if planned.begins[change] == 1:
            take_job(sharing, planned.held, planned.stock, j)
            for i in range(planned.held.first[j], planned.held.first[j] + planned.held.pieces[j]):
                lower_to(sharing, planned.stock, work.both, planned.held.node[i])
            _move_pools(more, planned.walked_pool, j, LESS)
            for p in range(planned.pool.size):
                planned.least_pool[p] = min(planned.least_pool[p], planned.walked_pool[p])
        else:
            end_job(sharing, planned.held, planned.stock, j)
            _move_pools(more, planned.walked_pool, j, MORE)
        change += 1


@inlined
def _keep(
    problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work, j: int, time: float, end: float
) -> None:
    # Starts a job that is planned for now; keeps the nodes of another for its reservation.
    if time == state.clock[Clock.NOW]:
        start(problem, plan, state, sharing, work, work.both, j)
        return
    choose(sharing, work, work.both, sharing.kinds.of_job[j], state.scratch.chosen)
    planned, held, number = work.planned, work.held, work.number
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
    _add_change(planned, time, j, 1)
    _add_change(planned, end, j, 0)


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
def _pools_suffice(extras: Extras | None, pool: Ints, j: int) -> bool:
    if extras is None:
        return True
    enough = True
    for p in range(pool.size):
        enough = enough and extras.pools.need[j, p] <= pool[p]
    return enough
