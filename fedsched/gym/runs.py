"""Many simulations (runs) of one log side by side: arrays with a leading axis, and views of the part of each run.

Every run has the same number of consecutive jobs of the log. The log is packed once, in order of arrival. A run's jobs
are then a slice of each array, and another stretch of the log costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from fedsched.core.jit import by_reference, inlined
from fedsched.engine.arrays.structs import (
    Classes,
    Closed,
    Draw,
    Ends,
    Extras,
    ExtraState,
    Heap,
    Limited,
    Lost,
    Packing,
    Plan,
    Pools,
    PoolsLeft,
    Problem,
    Profile,
    Queue,
    Rates,
    Scratch,
    State,
    Waiting,
)
from fedsched.engine.optional_features.cancellations import Cancelled
from fedsched.engine.optional_features.dependencies import submitted_at
from fedsched.engine.optional_features.holds import HeldJobs
from fedsched.engine.optional_features.moldable import Moldable, Molded
from fedsched.engine.optional_features.power_caps import PowerCapState
from fedsched.engine.optional_features.power_states import Powered
from fedsched.engine.optional_features.reservation_queues import ReservationQueues
from fedsched.engine.profile.breakpoints import Blocks
from fedsched.engine.queue.parked_jobs import ParkedJobs
from fedsched.gym.chosen_shapes import limits_as_chosen, tasks_as_chosen, tasks_per_node_as_chosen, times_as_chosen
from fedsched.model.schedule.metrics import Measured
from fedsched.model.schedule.node_stack import NodeStacks

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
    one: ExtraState | None  # the extras of one run, for their type
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
            moldable.on_nodes,
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


@inlined
def _extra_state_of(extras: ExtraState | None, one: ExtraState | None, b: int) -> ExtraState | None:
    if extras is None:
        return one  # None with the type that this function returns, as in `_extras_of`
    left, waiting, closed, lost, draw = extras.pools, extras.waiting, extras.closed, extras.lost, extras.draw
    limited, apart, gone, molded = extras.limited, extras.apart, extras.cancelled, extras.molded
    asleep = limited.sleepers
    stacks = extras.powered.stacks
    return ExtraState(
        PoolsLeft(left.free[b], left.extra[b], left.held[b], left.planned[b]),
        Waiting(
            waiting.open[b],
            waiting.submitted[b],
            waiting.moment[b],
            waiting.number[b],
            waiting.timer[b],
            waiting.joined[b],
            waiting.begun[b],
            waiting.doomed[b],
        ),
        Closed(
            closed.number[b],
            closed.owed[b],
            closed.left[b],
            closed.low[b],
            closed.head[b],
            closed.head_until[b],
            closed.beyond[b],
            closed.back[b],
            closed.time[b],
            closed.holder[b],
            closed.last_end[b],
        ),
        Lost(
            lost.number[b],
            lost.job[b],
            lost.requeued[b],
            lost.start[b],
            lost.end[b],
            lost.counts[b],
            lost.seconds[b],
            lost.until[b],
            lost.more[b],
        ),
        Draw(draw.job[b], draw.hit[b], draw.node[b]),
        Limited(
            limited.left[b],
            limited.kind[b],
            limited.over[b],
            limited.waiting[b],
            ParkedJobs(
                asleep.number[b],
                asleep.what[b],
                asleep.awake[b],
                asleep.link[b],
                asleep.place[b],
                asleep.member[b],
                asleep.tasks[b],
                asleep.shortest[b],
            ),
        ),
        ReservationQueues(
            apart.of_job[b],
            apart.waits[b],
            apart.number[b],
            apart.turn[b],
            apart.tasks[b],
            apart.shortest[b],
            apart.backfill_tasks[b],
            apart.backfill_shortest[b],
            apart.classes[b],
            apart.durations[b],
            apart.free[b],
            apart.owed[b],
        ),
        Cancelled(gone.number[b], gone.what[b], gone.busy[b]),
        HeldJobs(extras.held.number[b], extras.held.what[b]),
        Molded(
            molded.at[b],
            molded.tasks[b],
            molded.runtime[b],
            molded.estimate[b],
            molded.on_nodes[b],
            molded.number[b],
            molded.load[b],
            molded.true_load[b],
        ),
        Powered(
            NodeStacks(
                stacks.place[b],
                stacks.on_since[b],
                stacks.on_count[b],
                stacks.off_since[b],
                stacks.off_count[b],
                stacks.on_at[b],
                stacks.booting_count[b],
                stacks.changed[b],
                stacks.pace[b],
                stacks.to_boot[b],
                stacks.span[b],
            ),
            extras.powered.promised[b],
            extras.powered.pace[b],
            extras.powered.to_boot[b],
        ),
        PowerCapState(
            extras.beneath.taken[b],
            extras.beneath.step[b],
            extras.beneath.quiet[b],
            extras.beneath.head[b],
            extras.beneath.head_until[b],
            extras.beneath.least[b],
            extras.beneath.until[b],
        ),
    )


@inlined
def _queue_of(queue: Queue, b: int) -> Queue:
    return Queue(
        queue.order[b], queue.position[b], queue.tasks[b], queue.shortest[b], queue.key[b], queue.members[b]
    )  # fmt: skip


@inlined
def state_of(states: State, one: ExtraState | None, b: int) -> State:
    """Return the state of run b, made of views of the arrays of all runs."""
    rates, heap, ends = states.rates, states.heap, states.ends
    profile, packing, scratch = states.profile, states.packing, states.scratch
    return State(
        states.counter[b],
        states.clock[b],
        states.start[b],
        states.finish[b],
        states.planned_end[b],
        states.counts[b],
        states.shortest[b],
        Rates(
            rates.tc[b],
            rates.processing[b],
            rates.work_left[b],
            rates.estimate_left[b],
            rates.since[b],
            rates.demand[b],
            rates.spanning[b],
            rates.share[b],
        ),
        Heap(heap.time[b], heap.job[b], heap.place[b], heap.sequence[b]),
        Ends(ends.time[b], ends.job[b], ends.released[b]),
        states.free[b],
        states.load[b],
        _queue_of(states.queue, b),
        _queue_of(states.backfill, b),
        Classes(states.classes.number[b], states.classes.other[b], states.classes.rooms[b]),
        Profile(
            profile.time[b],
            profile.total[b],
            profile.free[b],
            profile.load[b],
            profile.reserved[b],
            profile.promised[b],
            profile.untouched[b],
            profile.low[b],
            profile.peak[b],
            Blocks(
                profile.blocks.number[b],
                profile.blocks.due[b],
                profile.blocks.place[b],
                profile.blocks.floor[b],
            ),
        ),
        Packing(packing.candidate[b], packing.reach[b]),
        Scratch(
            scratch.chosen[b],
            scratch.extra[b],
            scratch.limited[b],
            scratch.mark[b],
            scratch.cluster_sum[b],
            scratch.demand[b],
        ),
        _extra_state_of(states.extras, one, b),
        states.work,
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


def view_of(states: Any, b: int) -> Any:
    """Return the part of run b, made of views, outside of kernels; None stays None."""
    if states is None:
        return None
    if isinstance(states, np.ndarray):
        return states[b]
    return type(states)(*(view_of(inner, b) for inner in states))
