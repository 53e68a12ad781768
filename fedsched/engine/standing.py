"""A reservation that stands: whoever waits beside it waits on until something is given back [11].

What is free, now and beside the reservation, has only become less since, and a job ends no sooner on what is left. So
a pass has to look only at those who have joined the queue since the last one, behind the head. That is so where more
nodes do no harm: in one cluster, filled from its fastest nodes on, and where nothing opens or closes, is capped or
limited but nodes and pools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined
from fedsched.engine import calendar, ceilings, limits, power
from fedsched.engine.codes import Placement, QueueKey
from fedsched.engine.numbers import Clock, Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays import Plan, Problem, State


@inlined
def _may_stand(problem: Problem, plan: Plan, state: State) -> bool:
    filled_from_the_fastest = problem.groups.uplink.size == 1 and plan.placement != Placement.EFFICIENT
    stays_in_order = plan.order_key == QueueKey.FIXED and plan.backfill_key == QueueKey.FIXED
    if not filled_from_the_fastest or not stays_in_order or limits.bind(state.extras):
        return False
    extras = problem.extras
    return not (calendar.any_closes(extras) or ceilings.any_caps(extras) or power.is_saved(extras))


@inlined
def stand(problem: Problem, plan: Plan, state: State, head: int, shadow: float) -> None:
    """Let the head's reservation stand, where it can."""
    if _may_stand(problem, plan, state):
        state.clock[Clock.SHADOW] = shadow
        state.counter[Counter.PLANNED_TO] = state.queue.position[head] + 1
        state.counter[Counter.PLAN_HOLDS] = 1


@inlined
def fall(state: State) -> None:
    """Let no reservation stand."""
    state.counter[Counter.PLAN_HOLDS] = 0


@inlined
def have_looked(state: State) -> None:
    """Note that all who are in the queue have been looked at."""
    state.counter[Counter.FREE_BEFORE] = state.counter[Counter.FREE]
    state.counter[Counter.JOINED_FROM] = state.queue.position.size


@inlined
def joins(state: State, j: int) -> None:
    """Note that a job has joined the queue."""
    state.counter[Counter.JOINED_FROM] = min(state.counter[Counter.JOINED_FROM], state.backfill.position[j])


@inlined
def holds(state: State) -> bool:
    """Return whether a reservation stands of which nothing has been given back since, nor has its head's time come."""
    counter, clock = state.counter, state.clock
    as_before = counter[Counter.PLAN_HOLDS] == 1 and counter[Counter.FREE] == counter[Counter.FREE_BEFORE]
    return as_before and clock[Clock.SHADOW] > clock[Clock.NOW]
