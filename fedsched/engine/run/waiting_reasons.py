"""The reason that keeps one job from starting, found in the event loop's state after a dispatch pass."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, kernel
from fedsched.engine.dispatch.greedy import exceeds_limits
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.optional_features import limits, pools, power_caps
from fedsched.engine.optional_features.downtimes import place_from_now
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.placement.node_choice import place
from fedsched.engine.queue.queue_tree import ANY, FIRST
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import counted
from fedsched.engine.shared_nodes.choosing import choose
from fedsched.engine.shared_nodes.fitting import fits, fits_ever

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work


class Reason(IntEnum):
    """What keeps a job from starting."""

    CONDITION = 0  # another job, a begin of its own, or a hold: the job is not in the queue
    RUNS = 1  # it ran, and lost its nodes later
    LIMIT = 2
    POOL = 3
    RESERVATION = 4
    NODES = 5
    DOWNTIME = 6
    POWER = 7
    TURN = 8  # it fits, and jobs before it have the right to its nodes


@kernel
def reason_now(problem: Problem, plan: Plan, state: State, j: int) -> int:
    """Return the number of the reason that kept a queued job from starting in the last pass."""
    return _reason(problem.sharing, state.work, problem, plan, state, j)


@inlined
def _reason(
    sharing: Sharing | None, work: Work | None, problem: Problem, plan: Plan, state: State, j: int
) -> int:
    more = more_than_closing(problem.extras)
    if is_in_other_queue(state.extras, j):
        return Reason.RESERVATION
    if limits.is_over_limit(state.extras, j):
        return Reason.LIMIT
    if not pools.suffice(more, state.extras, j):
        return Reason.POOL
    if sharing is None or work is None:
        if not place(problem, plan, j, state.free, state.load, state):
            return Reason.NODES
        if not place_from_now(problem.extras, state.extras, problem, plan, state, j):
            return Reason.DOWNTIME
        if not power_caps.allow_now(more, state.extras, problem, state, j):
            return Reason.POWER
        return Reason.LIMIT if exceeds_limits(problem, state, j) else Reason.TURN
    if not fits_ever(problem, plan, state, sharing, work, j):
        return Reason.NODES
    if not fits(problem, plan, state, sharing, work, work.now, j):
        return Reason.DOWNTIME
    choose(sharing, work, work.now, sharing.kinds.of_job[j], state.scratch.chosen)
    return Reason.TURN if counted.suffice(sharing, work, j) else Reason.LIMIT


@kernel
def first_in_queue(problem: Problem, state: State) -> int:
    """Return the first job of the queue that no limit skips, or -1."""
    position = next_small(problem, state, state.queue, FIRST, ANY)
    return state.queue.order[position] if position >= 0 else -1
