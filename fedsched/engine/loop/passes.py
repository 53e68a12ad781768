"""A dispatch pass over one queue, by the plan's dispatch rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.engine.codes import Dispatch
from fedsched.engine.dispatch.conservative import plan_the_queue
from fedsched.engine.dispatch.easy import backfill_around_head
from fedsched.engine.dispatch.greedy import start_all_that_fit, start_from_head, start_per_cluster
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.queue import queue_tree as queues

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State


@inlined
def may_start_some(plan: Plan, state: State) -> bool:
    """Return whether a dispatch pass is needed: some queued job needs no more nodes than are free.

    Conservative backfilling always needs a pass, as it keeps a plan.
    """
    nothing_fits = state.counter[Counter.QUEUED] == 0 or state.queue.tasks[1] > state.counter[Counter.FREE]
    return not nothing_fits or plan.dispatch == Dispatch.CONSERVATIVE


@inlined
def sort_queues(problem: Problem, plan: Plan, state: State) -> None:
    """Sort the queue and the backfill queue, if their orders change with time."""
    now = state.clock[Clock.NOW]
    queues.sort(problem, state, state.queue, plan.order_key, now)
    if plan.separate_backfill:
        queues.sort(problem, state, state.backfill, plan.backfill_key, now)


@inlined
def pass_over(problem: Problem, plan: Plan, state: State) -> None:
    """Do a dispatch pass over a queue that is sorted."""
    if plan.dispatch == Dispatch.STRICT:
        start_from_head(problem, plan, state)
    elif plan.dispatch == Dispatch.GREEDY:
        start_all_that_fit(problem, plan, state)
    elif plan.dispatch == Dispatch.LOCAL:
        start_per_cluster(problem, plan, state)
    elif plan.dispatch == Dispatch.CONSERVATIVE:
        plan_the_queue(problem, plan, state)
    elif plan.dispatch == Dispatch.EASY or plan.dispatch == Dispatch.LOOKAHEAD:
        backfill_around_head(problem, plan, state)


@part
def pass_over_apart(problem: Problem, plan: Plan, state: State) -> None:
    """Do a dispatch pass over a reservation's queue: `pass_over`, compiled once, not into its caller."""
    pass_over(problem, plan, state)
