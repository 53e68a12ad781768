"""Incremental passes: until resources are freed, a pass begins at the first job that joined since the last pass [11].

Jobs that were refused are refused again: what is free, now and beside the head's reservation, has only become less, and
a job ends no sooner on what is left. The reservation stays valid too; it is made only if a job could start beside it.
This holds in one cluster that is filled from its fastest nodes on, with a fixed queue order. Jobs must need nothing but
nodes and pools: no limits, power caps or nodes that boot. Closings and openings, news of them, and nodes that pass from
an ending job to a downtime count as freed resources.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined
from fedsched.engine.codes import QueueKey
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features import limits, power_caps, power_states
from fedsched.engine.placement.node_choice import fills_from_the_fastest
from fedsched.engine.queue.queue_tree import NEVER

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State


@inlined
def _may_be_incremental(problem: Problem, plan: Plan, state: State) -> bool:
    stays_in_order = plan.order_key == QueueKey.FIXED and plan.backfill_key == QueueKey.FIXED
    if not fills_from_the_fastest(problem, plan) or not stays_in_order or limits.has_limits(state.extras):
        return False
    more = more_than_closing(problem.extras)
    return not (power_caps.has_caps(more) or power_states.is_saved(more))


@inlined
def reset(state: State) -> None:
    """Mark the last pass as not usable, so that this pass looks at all jobs."""
    state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def set_head(problem: Problem, plan: Plan, state: State, head: int) -> None:
    """Store the head, the first job in queue order that cannot start; it has no reservation yet.

    Note whether the next pass may be incremental.
    """
    state.counter[Counter.PLANNED_TO] = state.queue.position[head] + 1
    state.counter[Counter.PLAN_HOLDS] = 1 if _may_be_incremental(problem, plan, state) else 0
    state.clock[Clock.SHADOW] = NEVER


@inlined
def head_of(state: State) -> int:
    """Return the head stored by the last full pass: the first job in queue order that could not start."""
    return state.queue.order[state.counter[Counter.PLANNED_TO] - 1]


@inlined
def note_joined(state: State, j: int) -> None:
    """Note that a job has joined the queue: the next incremental pass begins no later than at its position."""
    state.counter[Counter.JOINED_FROM] = min(state.counter[Counter.JOINED_FROM], state.backfill.position[j])


@inlined
def note_complete(state: State) -> None:
    """Note that a pass is complete: store the number of free nodes; only jobs that join from now on are new."""
    state.counter[Counter.FREE_BEFORE] = state.counter[Counter.FREE]
    state.counter[Counter.JOINED_FROM] = state.queue.position.size


@inlined
def is_incremental(state: State) -> bool:
    """Return whether a pass may be incremental, which means that it only looks for jobs from the first new one on.

    It may if nothing was freed since the last pass, no job joined ahead of the head, and the head's start is not due.
    """
    counter, clock = state.counter, state.clock
    as_before = counter[Counter.PLAN_HOLDS] == 1 and counter[Counter.FREE] == counter[Counter.FREE_BEFORE]
    return as_before and clock[Clock.SHADOW] > clock[Clock.NOW]
