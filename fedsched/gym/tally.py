"""Running sums of each metric over the finished jobs; the changes of the objective between decisions are rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, part
from fedsched.engine.codes import SameTime
from fedsched.engine.loop.events import next_time
from fedsched.engine.loop.metric_integrals import integrals, joules_spared, lost_share
from fedsched.engine.numbers import Clock, Counter, LostNumber
from fedsched.engine.optional_features.cancellations import is_gone
from fedsched.engine.optional_features.dependencies import DOOMED, eligible_times
from fedsched.engine.optional_features.lost_runs import requeues, runs_lost, wasted, wasted_node_seconds
from fedsched.engine.optional_features.power_states import spared_by_boots
from fedsched.engine.run.decisions import next_pass
from fedsched.gym.runs import measured_of
from fedsched.model.schedule.integrals import Eligible, Integrals, Wasted
from fedsched.model.schedule.metrics import Column, fill_row

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Plan, Problem, State
    from fedsched.gym.runs import MetricScratch


@part
def count_job(problem: Problem, state: State, j: int, room: MetricScratch, ended: Floats) -> None:
    """Add a finished job's metrics to the running sums `ended`, in place.

    Makespan and greatest wait are kept as maxima. For utilisation the busy node-seconds are summed, and for idle
    energy the amount that the job saves of it, since both depend on the makespan.
    """
    row = room.row
    fill_row(
        measured_of(state.extras, problem, room, j),
        problem.t0,
        state.start[j : j + 1],
        state.finish[j : j + 1],
        state.counts[j : j + 1],
        Eligible(eligible_times(state.extras, state.load[:0]).since[j : j + 1]),
        Wasted(state.load[:0], -np.inf, 0.0),
        Integrals(0.0, 0.0, 0.0, 0.0),
        room.no_users,
        row,
    )
    makespan = row[Column.MAKESPAN]
    row[Column.UTILISATION] *= problem.nodes * makespan
    row[Column.IDLE_ENERGY] = problem.idle_total * makespan - row[Column.IDLE_ENERGY]
    row[Column.WEIGHTED_RESPONSE] *= problem.tasks[j]
    row[Column.WEIGHTED_SLOWDOWN] *= problem.tasks[j]
    row[Column.USER_SPREAD] = 0.0  # NaN without users
    longest = max(ended[Column.MAKESPAN], makespan)
    greatest = max(ended[Column.MAX_WAIT], row[Column.MAX_WAIT])
    for c in range(ended.size):
        ended[c] += row[c]
    ended[Column.MAKESPAN] = longest
    ended[Column.MAX_WAIT] = greatest


@inlined
def next_pass_counted(problem: Problem, plan: Plan, state: State, room: MetricScratch, ended: Floats) -> int:
    """Advance to the next dispatch pass, and add the jobs that end on the way to the sums `ended`.

    Return the Status of the step.
    """
    counter, heap = state.counter, state.heap
    size = counter[Counter.RUNNING]
    if problem.same_time == SameTime.SEQUENTIAL:  # one event at a time: a submission, or the first finish
        first = heap.job[0]
        status = next_pass(problem, plan, state)
        left = counter[Counter.RUNNING] == 0 or heap.job[0] != first  # it, or a job that has lost its nodes
        if counter[Counter.RUNNING] < size and left and state.finish[first] <= state.clock[Clock.NOW]:
            count_job(problem, state, first, room, ended)
        return status
    # Jobs that end at the next instant form the top of the heap: walk down to the left, then up and to the right.
    time, place = next_time(problem, state), 0
    while time < np.inf:
        if place < size and heap.time[place] <= time:
            count_job(problem, state, heap.job[place], room, ended)
            place = 2 * place + 1
            continue
        while place > 0 and place % 2 == 0:
            place = (place - 1) // 2
        if place == 0:
            break
        place += 1
    return next_pass(problem, plan, state)


@inlined
def _staying_jobs(problem: Problem, state: State, over: bool) -> int:
    # The number of jobs that are not gone. A gone job is finished without a run to its end: cancelled, killed, or never
    # able to start. At the end of the run the jobs that have not finished are gone too.
    counter = state.counter
    ended = counter[Counter.STARTED] - counter[Counter.RUNNING] - runs_lost(state.extras)
    staying = ended if over else problem.arrival.size + problem.running.size - (counter[Counter.FINISHED] - ended)
    return max(1, staying)


@inlined
def _tasks_of_staying(extras: Extras | None, problem: Problem, state: State, over: bool) -> int:
    # The tasks of the jobs that are not gone.
    if extras is None:
        return problem.tasks.sum()
    return max(1, _sum_of_staying(extras, state.extras, problem.tasks, state.start, state.finish, over))


@part
def _sum_of_staying(
    extras: Extras, state: ExtraState | None, tasks: Ints, start: Floats, finish: Floats, over: bool
) -> int:
    total = 0
    if state is None:
        return total
    for j in range(tasks.size):
        if over:
            total += 0 if np.isnan(finish[j]) else tasks[j]
        elif not is_gone(state, j) and not _never_starts(extras, state, start, j):
            total += tasks[j]
    if not over:
        for run in range(state.lost.number[LostNumber.RUNS]):
            total -= 0 if state.lost.requeued[run] == 1 else tasks[state.lost.job[run]]
    return total


@inlined
def _never_starts(extras: Extras, state: ExtraState, start: Floats, j: int) -> bool:
    # A job that will be cancelled is gone only at its cancellation.
    if state.waiting.open.size == 0 or state.waiting.open[j] <= DOOMED // 2 or not np.isnan(start[j]):
        return False
    return extras.cancellations.place.size == 0 or extras.cancellations.place[j] < 0


@inlined
def _joules(watts: Floats, seconds: Floats) -> float:
    total = 0.0
    for g in range(seconds.size):
        total += watts[g] * seconds[g]
    return total


@inlined
def value_of(problem: Problem, state: State, column: int, ended: Floats, over: bool) -> float:
    """Return a metric's running value over the finished jobs and the lost runs; 0 before the first of these.

    Means divide by all jobs and weighted means by all tasks that are not gone (gone jobs were cancelled or killed, or
    can never start). The last value (`over`) is therefore the metric itself.
    """
    waste = wasted(state.extras, state.load[:0])
    value, makespan = ended[column], max(ended[Column.MAKESPAN], waste.until - problem.t0)
    if makespan == 0.0:
        return 0.0
    groups = problem.groups
    idle = problem.idle_total * makespan - ended[Column.IDLE_ENERGY] - _joules(groups.idle_watts, waste.seconds)
    idle -= joules_spared(problem, state, makespan) if over else spared_by_boots(problem.extras, state.extras)
    busy = ended[Column.BUSY_ENERGY] + _joules(groups.busy_watts, waste.seconds) + waste.more
    if column == Column.MAKESPAN:
        return makespan
    if column == Column.ENERGY:
        return busy + idle
    if column == Column.BUSY_ENERGY:
        return busy
    if column == Column.IDLE_ENERGY:
        return idle
    if column == Column.UTILISATION:
        return (value + waste.seconds.sum()) / (problem.nodes * makespan)
    if column == Column.SATURATED_SECONDS:
        return integrals(problem, state).saturated_seconds
    if column == Column.WASTED_NODE_SECONDS:
        return wasted_node_seconds(state.extras)
    if column == Column.REQUEUES:
        return requeues(state.extras)
    if column == Column.LOSS_OF_CAPACITY:
        if over and state.counter[Counter.FINISHED] < problem.arrival.size + problem.running.size:
            return lost_share(state.extras, problem.t0, problem.nodes)
        return integrals(problem, state).loss_of_capacity
    if column == Column.WEIGHTED_RESPONSE or column == Column.WEIGHTED_SLOWDOWN:
        return value / _tasks_of_staying(problem.extras, problem, state, over)
    if (
        column == Column.MEAN_WAIT
        or column == Column.MEAN_WAIT_ELIGIBLE
        or column == Column.MEAN_RESPONSE
        or column == Column.MEAN_SLOWDOWN
        or column == Column.BOUNDED_SLOWDOWN
    ):
        return value / _staying_jobs(problem, state, over)
    return value
