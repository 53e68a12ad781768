"""Newcomers: until something is given back a pass looks only at who has joined the queue since the last one [11].

Whoever was refused is refused again: what is free, now and beside the head's reservation, has only become less, and
a job ends no sooner on what is left. The reservation stands, too, and is only made where somebody could start beside
it. That is so in one cluster, filled from its fastest nodes on, in a queue that stays in its order, and where nothing
but nodes and pools is to be had or not: no limits, caps or nodes that boot. Nodes that close or open, or that it is
learned of, and those of whoever ends that a downtime is owed, are as if given back.
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
def _will_be_enough(problem: Problem, plan: Plan, state: State) -> bool:
    stays_in_order = plan.order_key == QueueKey.FIXED and plan.backfill_key == QueueKey.FIXED
    if not fills_from_the_fastest(problem, plan) or not stays_in_order or limits.bind(state.extras):
        return False
    more = more_than_closing(problem.extras)
    return not (power_caps.any_caps(more) or power_states.is_saved(more))


@inlined
def look_at_all(state: State) -> None:
    """Let the last pass tell nothing of this one."""
    state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def wait_behind(problem: Problem, plan: Plan, state: State, head: int) -> None:
    """Let all wait behind the head, for which nothing is reserved yet; in the next pass newcomers may be enough."""
    state.counter[Counter.PLANNED_TO] = state.queue.position[head] + 1
    state.counter[Counter.PLAN_HOLDS] = 1 if _will_be_enough(problem, plan, state) else 0
    state.clock[Clock.SHADOW] = NEVER


@inlined
def head_of(state: State) -> int:
    """Return the head that all wait behind."""
    return state.queue.order[state.counter[Counter.PLANNED_TO] - 1]


@inlined
def joins(state: State, j: int) -> None:
    """Note that a job has joined the queue."""
    state.counter[Counter.JOINED_FROM] = min(state.counter[Counter.JOINED_FROM], state.backfill.position[j])


@inlined
def are_awaited(state: State) -> None:
    """Note that a pass has looked at all that it had to."""
    state.counter[Counter.FREE_BEFORE] = state.counter[Counter.FREE]
    state.counter[Counter.JOINED_FROM] = state.queue.position.size


@inlined
def are_enough(state: State) -> bool:
    """Return whether nothing has been given back since the last pass, nobody joined before the head, nor is it due."""
    counter, clock = state.counter, state.clock
    as_before = counter[Counter.PLAN_HOLDS] == 1 and counter[Counter.FREE] == counter[Counter.FREE_BEFORE]
    return as_before and clock[Clock.SHADOW] > clock[Clock.NOW]
