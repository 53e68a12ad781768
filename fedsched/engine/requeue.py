"""Another order and other caps for queued jobs, in the midst of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.engine import limits, rooms
from fedsched.engine.classes import begin_ungrouped
from fedsched.engine.numbers import Counter
from fedsched.engine.placement import shortest_duration
from fedsched.engine.queue import set_leaf, shown_tasks
from fedsched.jit import kernel

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints, Plan, Problem, State


@kernel
def requeue(problem: Problem, plan: Plan, state: State, jobs: Ints, places: Ints) -> None:
    """Put queued jobs at these places of the queue, the first job at the first place and so on.

    The places are those that these jobs held, in ascending order: whoever is not yet submitted keeps a later one.
    """
    begin_ungrouped(plan, state)
    rooms.begin(problem, plan, state)
    limits.keep_awake(problem.extras, state.extras, state)
    state.counter[Counter.PLAN_HOLDS] = 0
    for i in range(jobs.size):
        j = jobs[i]
        state.queue.order[places[i]] = j
        state.queue.position[j] = places[i]
        state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
        set_leaf(state.queue, places[i], shown_tasks(state.extras, problem.tasks[j], j), state.shortest[j])
