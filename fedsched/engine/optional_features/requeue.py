"""Another order and other caps for queued jobs during a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import kernel
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features import limits
from fedsched.engine.placement.node_choice import shortest_duration
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue.classes import begin_ungrouped
from fedsched.engine.queue.queue_tree import set_leaf, shown_tasks

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Plan, Problem, State


@kernel
def requeue(problem: Problem, plan: Plan, state: State, jobs: Ints, places: Ints) -> None:
    """Put queued jobs at these places of the queue: the first job at the first place, and so on.

    The places are those that these jobs held, in ascending order. Jobs that are not yet submitted keep later places.
    """
    begin_ungrouped(plan, state)
    candidate_index.begin(problem, plan, state)
    limits.keep_awake(problem.extras, state.extras, state)
    state.counter[Counter.PLAN_HOLDS] = 0
    for i in range(jobs.size):
        j = jobs[i]
        state.queue.order[places[i]] = j
        state.queue.position[j] = places[i]
        state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
        set_leaf(state.queue, places[i], shown_tasks(state.extras, problem.tasks[j], j), state.shortest[j])
