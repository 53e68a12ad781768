"""Many simulations (runs) of one log side by side: arrays with a leading axis, and views of the part of each run.

Every run has the same number of consecutive jobs of the log. The log is packed once, in order of arrival. A run's jobs
are then a slice of each array, and another stretch of the log costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from fedsched.core.jit import by_reference, inlined
from fedsched.engine.arrays.structs import (
    Extras,
    ExtraState,
    Plan,
    Pools,
    Problem,
    State,
)
from fedsched.engine.optional_features.dependencies import submitted_at
from fedsched.engine.optional_features.moldable import Moldable
from fedsched.gym.chosen_shapes import limits_as_chosen, tasks_as_chosen, tasks_per_node_as_chosen, times_as_chosen
from fedsched.model.schedule.metrics import Measured

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.gym.chosen_shapes import ChosenShapes

    Singles = NDArray[np.float32]
    Bytes = NDArray[np.int8]


@by_reference
class Observations(NamedTuple):
    """The observations of all runs, one row for each run, in single precision for neural networks."""

    waiting: Singles  # run x place x WaitingFeature
    running: Singles  # run x place x RunningFeature
    free: Singles  # run x (groups, then pools): the share that is free
    progress: Singles  # run x ProgressFeature
    action_mask: Bytes  # run x answer: 1 if it starts a job, or starts none


@by_reference
class MetricScratch(NamedTuple):
    """Scratch space for the metric row of one job."""

    row: Floats
    no_users: Floats
    submit: Floats  # [0]: when it was submitted
    submit_seen: Floats  # the same array, read-only


@by_reference
class StepOutcome(NamedTuple):
    """The outcome of the last answer: one number for each run."""

    reward: Floats
    cost: Floats  # the weighted objectives of the jobs that have finished
    over: Ints  # 1: every job has finished


@by_reference
class Runs(NamedTuple):
    """The arrays of all runs of a log that advance side by side: the log, states, answers, and observations."""

    log: Problem  # all of it, in order of arrival
    plan: Plan  # of the whole log; each run has its own order
    of_job: Singles  # the constant features of each job
    states: State  # with a leading axis
    chosen: ChosenShapes
    order: Ints  # run x job
    first: Ints  # per run, the row of the log at which it begins
    t0: Floats
    answer: Ints  # per run: the place chosen, or an Answer
    waiting: Ints  # run x place: the job that waits there, or -1
    ended: Floats  # run x Column: sums over the jobs that have finished
    room: MetricScratch
    columns: Ints  # of the objectives
    weights: Floats  # of each, negative if it is maximised
    seen: Observations
    told: StepOutcome


@inlined
def _extras_of(extras: Extras | None, chosen: ChosenShapes, b: int, first: int, last: int) -> Extras | None:
    if extras is None:
        return extras  # not `None`: its type is the optional one for which the engine is compiled
    needs, moldable = Pools(extras.pools.amount, extras.pools.need[first:last]), extras.moldable
    return Extras(
        needs,
        extras.precedence,
        extras.calendar,
        limits_as_chosen(extras.limits, moldable, chosen, b),
        extras.reserved,
        extras.cancellations,
        extras.holds,
        Moldable(
            moldable.first[first : last + 1], moldable.which, moldable.tasks, moldable.runtime, moldable.estimate,
            moldable.on_nodes, moldable.kind, moldable.end,
        ),
        extras.tier[first:last],
        extras.saving,
        extras.ceilings,
        tasks_per_node_as_chosen(extras.standing, moldable, chosen, b, first, last),
        extras.more,
    )


@inlined
def problem_of(runs: Runs, b: int) -> Problem:
    """Return run b's stretch of the log as a problem, made of views; jobs have the shapes that they chose."""
    log, chosen, jobs, first = runs.log, runs.chosen, runs.order.shape[1], runs.first[b]
    last = first + jobs
    return Problem(
        log.submit[first:last],
        tasks_as_chosen(log.extras, log.tasks[first:last], chosen.tasks[b]),
        times_as_chosen(log.extras, log.runtime[first:last], chosen.runtime[b]),
        times_as_chosen(log.extras, log.estimate[first:last], chosen.estimate[b]),
        log.sigma[first:last],
        log.bandwidth[first:last],
        log.origin[first:last],
        log.user[first:last],
        log.watts[first:last],
        log.arrival[:jobs],  # the same numbers for any stretch
        log.arrival_rank[:jobs],
        log.running,
        log.groups,
        runs.t0[b],
        log.nodes,
        log.idle_total,
        log.same_time,
        log.saturation,
        _extras_of(log.extras, chosen, b, first, last),
        log.sharing,
    )


@inlined
def _measured_with(problem: Problem, submit: Floats, j: int) -> Measured:
    groups = problem.groups
    return Measured(
        submit,
        problem.tasks[j : j + 1],
        problem.user[j : j + 1],
        groups.nodes,
        groups.cluster,
        groups.busy_watts,
        groups.idle_watts,
        problem.watts[j : j + 1],
    )


@inlined
def measured_of(extras: ExtraState | None, problem: Problem, room: MetricScratch, j: int) -> Measured:
    """Return the metric kernel's input for job j alone.

    A job that follows another has its simulated submit time, written to `room`.
    """
    if extras is None:
        return _measured_with(problem, problem.submit[j : j + 1], j)
    room.submit[0] = submitted_at(extras, problem.submit, j)
    return _measured_with(problem, room.submit_seen, j)


@inlined
def plan_of(plan: Plan, order: Ints, first: int) -> Plan:
    """Return the plan of one run: its jobs begin at row `first` of the log and are queued in `order`.

    Arrays are shared with the plan of the log.
    """
    return Plan(
        order,
        plan.order_key,
        order,
        plan.backfill_key,
        plan.separate_backfill,
        plan.caps,
        plan.cap_row[first : first + order.size],
        plan.dispatch,
        plan.placement,
    )


def side_by_side(state: State, runs: int) -> State:
    """Return the state arrays of `runs` runs: each array of one run's state is copied along a new leading axis."""
    return cast("State", _with_leading_axis(state, runs))


def _with_leading_axis(part: Any, runs: int) -> Any:
    if part is None:
        return None
    if isinstance(part, np.ndarray):
        return np.repeat(part[None], runs, axis=0)
    return type(part)(*(_with_leading_axis(inner, runs) for inner in part))
