"""Jobs that lose their nodes when a downtime begins: they are chosen here, and requeued or killed [42, 67]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.core.random import random_bits
from fedsched.engine.codes import OnRunning, Victims
from fedsched.engine.loop.feature_flags import counted_nodes
from fedsched.engine.loop.running import take_off, update_rates, vacate
from fedsched.engine.numbers import Clock, ClosedNumber, ClosedTime, Counter
from fedsched.engine.optional_features import dependencies, downtimes, hold_and_requeue, lost_runs
from fedsched.engine.placement.node_choice import shortest_duration
from fedsched.engine.shared_nodes.allocations import keep_lost
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.closing import turn_page

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Work

NO_JOB = constant(-1)
FREE_NODE = constant(-1)
NONE = constant(0)


@inlined
def process_downtimes(problem: Problem, plan: Plan, state: State) -> bool:
    """Process all downtimes that begin, end or become known until now; return whether nodes were opened or closed.

    Jobs may lose their nodes: they are queued again or killed, and the rates of the others are updated.
    """
    opened = _process_on_counted(problem.extras, state.extras, counted_nodes(problem), plan, state)
    return _process_on_shared(problem.extras, state.extras, state.work, problem, plan, state) or opened


@inlined
def _process_on_counted(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem | None, plan: Plan, state: State
) -> bool:
    if extras is None or extra_state is None or problem is None:
        return False
    if not downtimes.is_due(extra_state.closed, state.clock[Clock.NOW]):
        return False
    return _process_changes(extras, extra_state, problem, plan, state)


@inlined
def _process_on_shared(
    extras: Extras | None, extra_state: ExtraState | None, work: Work | None, problem: Problem, plan: Plan, state: State
) -> bool:
    if extras is None or extra_state is None or work is None:
        return False
    return _change_shared_nodes(extras, extra_state, work, problem, plan, state)


@part
def _process_changes(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State) -> bool:
    pages, closed = extras.calendar, extra_state.closed
    before = closed.number[ClosedNumber.CHANGED]
    state.counter[Counter.FREE_BEFORE] = downtimes.OTHERWISE
    c = downtimes.process_changes(extras, extra_state, state)
    while c != downtimes.NO_MORE:
        if pages.victims[c] == Victims.RANDOM:
            _take_at_random(extras, extra_state, problem, plan, state, c)
        elif pages.victims[c] == Victims.RECORDED:
            _take_all(extras, extra_state, problem, plan, state, c)
        else:
            _take_latest(extras, extra_state, problem, plan, state, c)
        downtimes.close(extras, extra_state, state, c)
        c = downtimes.process_changes(extras, extra_state, state)
    update_rates(problem, state)
    return closed.number[ClosedNumber.CHANGED] > before


@inlined
def _change_shared_nodes(
    extras: Extras, extra_state: ExtraState, work: Work, problem: Problem, plan: Plan, state: State
) -> bool:
    # Whole groups close there, and what is free on their nodes stays as it is.
    calendar, before = extras.calendar, extra_state.closed.number[ClosedNumber.CHANGED]
    while extra_state.closed.time[ClosedTime.CHANGE] <= state.clock[Clock.NOW]:
        change = turn_page(calendar, extra_state.closed)
        if change & 1 == 1:
            work.number[Number.FREED] = work.freed.size  # no list of them: any node may have room
        elif calendar.on_running[change >> 1] != OnRunning.WAIT:
            _take_all_nodes(extras, extra_state, problem, plan, state, change >> 1)
    return extra_state.closed.number[ClosedNumber.CHANGED] > before


@part
def _take_all_nodes(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, c: int
) -> None:
    _take_all(extras, extra_state, problem, plan, state, c)


@inlined
def _may_lose(state: State, j: int, g: int) -> bool:
    # In the sequential reading, a job that is about to end keeps its nodes.
    return state.finish[j] > state.clock[Clock.NOW] and state.counts[j, g] > 0


@inlined
def _free(extra_state: ExtraState, problem: Problem, state: State, g: int) -> int:
    # Nodes of a group that are free or about to be, including a reservation's, less those owed to older downtimes.
    free = state.free[g] - extra_state.closed.owed[g]
    if extra_state.closed.holder[g] != downtimes.NO_RESERVATION:
        free += problem.groups.nodes[g]
    for place in range(state.counter[Counter.RUNNING]):
        j = state.heap.job[place]
        if not _may_lose(state, j, g) and state.ends.released[j] == 0:
            free += state.counts[j, g]
    return free


@inlined
def _loses_before(problem: Problem, state: State, a: int, b: int) -> bool:
    now = state.clock[Clock.NOW]
    a_is_late, b_is_late = state.planned_end[a] <= now, state.planned_end[b] <= now
    if a_is_late != b_is_late:
        return a_is_late
    if state.start[a] != state.start[b]:
        return state.start[a] > state.start[b]
    return problem.arrival_rank[a] > problem.arrival_rank[b]


@inlined
def _take_latest(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, c: int
) -> None:
    g, nodes = extras.calendar.group[c], extras.calendar.nodes[c]
    lacking = min(nodes, nodes - _free(extra_state, problem, state, g))
    while lacking > 0:
        victim = NO_JOB
        for place in range(state.counter[Counter.RUNNING]):
            j = state.heap.job[place]
            if _may_lose(state, j, g) and (victim == NO_JOB or _loses_before(problem, state, j, victim)):
                victim = j
        if victim == NO_JOB:
            break
        lacking -= state.counts[victim, g]
        _take_nodes_from(extras, extra_state, problem, plan, state, victim, c)


@inlined
def _take_all(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, c: int) -> None:
    # All nodes of the group close: every job on them loses its nodes, in order of start.
    victim = _first_started_in(state, extras.calendar.group[c])
    while victim != NO_JOB:
        _take_nodes_from(extras, extra_state, problem, plan, state, victim, c)
        victim = _first_started_in(state, extras.calendar.group[c])


@inlined
def _first_started_in(state: State, g: int) -> int:
    # The job that started first among those on nodes of group `g`, or -1; jobs that end now are left out.
    first = NO_JOB
    for place in range(state.counter[Counter.RUNNING]):
        j = state.heap.job[place]
        if _may_lose(state, j, g) and (first == NO_JOB or state.heap.sequence[j] < state.heap.sequence[first]):
            first = j
    return first


@inlined
def _take_at_random(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, c: int
) -> None:
    g, draw = extras.calendar.group[c], extra_state.draw
    seed, number = extras.calendar.seed[c], extras.calendar.number[c]
    free = max(NONE, _free(extra_state, problem, state, g))
    jobs = NONE
    for place in range(state.counter[Counter.RUNNING]):
        j = state.heap.job[place]
        if _may_lose(state, j, g):
            draw.job[jobs] = j
            jobs += 1
    _by_start(state.heap.sequence, draw.job, jobs)
    nodes = NONE
    for i in range(jobs):
        draw.hit[i] = 0
        for _ in range(state.counts[draw.job[i], g]):
            draw.node[nodes] = i
            nodes += 1
    draw.node[nodes : nodes + free] = FREE_NODE
    nodes += free
    for k in range(min(extras.calendar.nodes[c], nodes)):
        place = k + int(random_bits(seed, number, k) % np.uint64(nodes - k))
        draw.node[k], draw.node[place] = draw.node[place], draw.node[k]
        if draw.node[k] != FREE_NODE:
            draw.hit[draw.node[k]] = 1
    for i in range(jobs):
        if draw.hit[i] == 1:
            _take_nodes_from(extras, extra_state, problem, plan, state, draw.job[i], c)


@inlined
def _by_start(sequence: Ints, job: Ints, jobs: int) -> None:
    # Sorts jobs, which are in heap order, by their starts: Shell's sort.
    gap = jobs >> 1
    while gap > 0:
        for i in range(gap, jobs):
            moved, hole = job[i], i
            while hole >= gap and sequence[job[hole - gap]] > sequence[moved]:
                job[hole] = job[hole - gap]
                hole -= gap
            job[hole] = moved
        gap >>= 1


@part
def _take_nodes_from(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int, c: int
) -> None:
    # Ends a running job without result, as downtime `c` takes its nodes. It is queued again, or it is killed: then it
    # counts as finished, with the jobs that can therefore never start.
    counter, now = state.counter, state.clock[Clock.NOW]
    requeued = extras.calendar.on_running[c] == OnRunning.REQUEUE
    keep_lost(extra_state, state.work, j)
    take_off(state, j)
    vacate(problem, state, j)
    lost_runs.note_lost(extra_state, problem, state, j, now, requeued)
    counter[Counter.PLAN_HOLDS] = 0
    state.finish[j] = np.nan
    state.counts[j] = 0
    if not requeued:
        counter[Counter.FINISHED] += 1 + dependencies.note_kill(extras, extra_state, problem.arrival_rank, j, now)
        return
    if problem.sharing is None:  # unset if it has run from t0 on
        state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
    hold_and_requeue.requeue_job(extras, extra_state, problem, plan, state, j)
