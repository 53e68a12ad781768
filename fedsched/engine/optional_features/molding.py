"""Choice of shapes: a job with several shapes takes, as it joins the queue, the one planned to end first [52].

It is planned behind all waiting jobs, by conservative backfilling, whatever the dispatch rule. Of jobs that join at one
instant, each is planned behind those before it. If the queue's order is fixed and they join at its end, the plan is
kept and extended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.engine.codes import QueueKey, SameTime
from fedsched.engine.loop.passes import sort_queues
from fedsched.engine.loop.running import release_pending
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features.moldable import PLANNED_TO, STANDS, take_shape
from fedsched.engine.optional_features.reservation_passes import enter_reservation, is_active, leave_reservation
from fedsched.engine.optional_features.reservation_queues import GENERAL_QUEUE
from fedsched.engine.placement.node_choice import fill_demand, shortest_duration
from fedsched.engine.profile.breakpoints import NOW
from fedsched.engine.profile.free_profile import fill_profile, first_fit, planned_end, reserve_window
from fedsched.engine.queue.queue_tree import ANY, FIRST
from fedsched.engine.queue.scan import next_small

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Plan, Problem, State


@inlined
def choose_shape(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> None:
    """Give a job that is about to join the queue the shape that is planned to end first, if it has several shapes.

    If it joins ahead of jobs in the plan kept for this, drop that plan.
    """
    if extras is None or extra_state is None:
        return
    if extra_state.molded.at.size > 0:
        if extras.moldable.first[j + 1] - extras.moldable.first[j] > 1:
            _choose(extras, extra_state, problem, plan, state, j)
        if plan.order_key != QueueKey.FIXED or state.queue.position[j] < extra_state.molded.number[PLANNED_TO]:
            extra_state.molded.number[STANDS] = 0


@part
def _choose(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int) -> None:
    own_queues, reservation = extra_state.apart, GENERAL_QUEUE
    if own_queues.of_job.size > 0:
        reservation = own_queues.of_job[j]
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem, state)
    if reservation == GENERAL_QUEUE:
        sort_queues(problem, plan, state)
        _choose_first_to_end(extras, extra_state, problem, plan, state, j)
    elif is_active(extra_state, reservation):
        sort_queues(problem, plan, state)
        extra_state.molded.number[STANDS] = 0
        view = enter_reservation(extras, extra_state, problem, plan, state, reservation)
        _choose_first_to_end(extras, extra_state, problem, plan, view, j)
        leave_reservation(extras, extra_state, problem, plan, state, view, reservation)
        extra_state.molded.number[STANDS] = 0
    state.counter[Counter.PLAN_HOLDS] = 0


@part
def _choose_first_to_end(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int
) -> None:
    moldable, molded = extras.moldable, extra_state.molded
    _copy(state.load, molded.true_load)
    if molded.number[STANDS] == 1:
        _copy(molded.load, state.load)
    _plan_waiting_jobs(extra_state, problem, plan, state)
    _copy(state.load, molded.load)
    groups, caps = problem.groups, 0
    for g in range(groups.nodes.size):
        caps += min(groups.nodes[g], plan.caps[plan.cap_row[j], g])
    best, first_end, least_area = moldable.first[j], np.inf, np.inf
    for at in range(moldable.first[j], moldable.first[j + 1]):
        take_shape(moldable, extra_state, j, at)
        state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
        begin = _place_of(problem, plan, state, j) if moldable.tasks[at] <= caps else -1
        if begin < 0:
            continue
        time = state.profile.time[begin]
        end = planned_end(problem, state, j, time)
        area = moldable.tasks[at] * (end - time)
        if end < first_end or (end == first_end and area < least_area):
            best, first_end, least_area = at, end, area
    take_shape(moldable, extra_state, j, best)
    state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
    _copy(molded.true_load, state.load)


@part
def _plan_waiting_jobs(extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> None:
    number, queue = extra_state.molded.number, state.queue
    if number[STANDS] == 0:
        fill_profile(problem, plan, state)
        number[STANDS], number[PLANNED_TO] = 1, FIRST
    position = next_small(problem, state, queue, number[PLANNED_TO], ANY)
    while position >= 0:
        i = queue.order[position]
        begin = _place_of(problem, plan, state, i)
        if begin >= 0:
            time = state.profile.time[begin]
            end = planned_end(problem, state, i, time)
            reserve_window(problem, plan, state, i, begin, end)
            if begin == NOW:
                _load_links(problem, state, i)
        number[PLANNED_TO] = position + 1
        position = next_small(problem, state, queue, position + 1, ANY)


@inlined
def _copy(values: Floats, to: Floats) -> None:
    for k in range(values.size):
        to[k] = values[k]


@inlined
def _load_links(problem: Problem, state: State, j: int) -> None:
    # Adds what the job sends once a pass starts it [22].
    chosen, demand = state.scratch.chosen, state.scratch.demand
    if fill_demand(problem.extras, problem.groups, j, problem.tasks[j], problem.bandwidth[j], chosen, demand):
        for k in range(state.load.size):
            state.load[k] += demand[k]


@part
def _place_of(problem: Problem, plan: Plan, state: State, j: int) -> int:
    # The breakpoint from which a job can run, its nodes in `scratch.chosen`, or -1.
    return first_fit(problem, plan, state, j)
