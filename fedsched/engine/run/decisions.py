"""Decisions: in place of a dispatch pass, an agent outside the engine chooses the jobs to start [32, 33].

The caller combines these steps: `next_pass` goes to the next instant, `look` says whether a decision is needed there,
`decide` carries out the answer, `end_pass` goes on without one. A planner may also `reorder_queued` jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import shown
from fedsched.core.jit import constant, inlined, kernel
from fedsched.engine.codes import SameTime, Status
from fedsched.engine.dispatch.greedy import exceeds_limits, fits_now, start_out_of_line
from fedsched.engine.loop.events import next_time, take_events
from fedsched.engine.loop.running import release_pending, update_rates
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features import limits
from fedsched.engine.placement.node_choice import shortest_duration
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.queue.classes import begin_ungrouped
from fedsched.engine.queue.queue_tree import ANY, FIRST, set_leaf, shown_tasks
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import line

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints, Plan, Problem, State

NO_JOB = constant(-1)  # in a place where no job waits; as an answer: none


def queued_rows(jobs: Any, queued: Ints) -> Ints:
    """Return an order of queued jobs as an array of rows; raise if one is given twice or is not in the queue."""
    rows = np.asarray(jobs if np.size(jobs) else np.empty(0, dtype=np.int64))
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        raise TypeError(f"line_up: jobs={shown(jobs)} must be a list of rows, as run.queued() gives them.")
    sorted_rows, counts = np.unique(rows, return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"line_up: row {sorted_rows[counts > 1][0]} is there twice; give each row once.")
    if (strange := np.setdiff1d(sorted_rows, queued)).size:
        raise ValueError(f"line_up: row {strange[0]} is not in the queue now; give rows of run.queued().")
    return rows.astype(np.int64)


@inlined
def next_pass(problem: Problem, plan: Plan, state: State) -> int:
    """Process the events of the next instant (or the next event, in the sequential reading), before its pass.

    Return a Status: ASKED, DONE if all jobs have finished, or STUCK if no event is to come.
    """
    counter = state.counter
    if counter[Counter.FINISHED] == problem.arrival.size + problem.running.size:
        return Status.DONE
    time = next_time(problem, state)
    if time == np.inf:
        return Status.STUCK
    take_events(problem, plan, state, time)
    if problem.same_time == SameTime.SEQUENTIAL:
        release_pending(problem, state)
    if counter[Counter.QUEUED] > 0:
        queues.sort(problem, state, state.queue, plan.order_key, time)
    counter[Counter.PASS_DUE] = 1
    return Status.ASKED


@inlined
def look(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8]) -> bool:
    """Fill `waiting` with the first waiting jobs in queue order, and `fits` with 1 for each that could start now.

    Return whether any could. If all are larger than what is free, fill in nothing, as no decision is needed.
    """
    queue, free = state.queue, state.counter[Counter.FREE]
    if queue.tasks[1] > free:
        return False
    any_fits, seen = False, 0
    position = next_small(problem, state, queue, FIRST, ANY)
    while position >= 0 and seen < waiting.size:
        j = queue.order[position]
        waiting[seen] = j
        fits[seen] = 0
        if problem.tasks[j] <= free and fits_now(problem, plan, state, j) and not exceeds_limits(problem, state, j):
            fits[seen] = 1
            any_fits = True
        seen += 1
        position = next_small(problem, state, queue, position + 1, ANY)
    leave_places(waiting, fits, seen)
    return any_fits


@inlined
def leave_places(waiting: Ints, fits: NDArray[np.int8], first: int) -> None:
    """Mark the places of `waiting` from `first` on as empty, up to the first that is empty already."""
    for i in range(first, waiting.size):
        if waiting[i] == NO_JOB:
            break
        waiting[i] = NO_JOB
        fits[i] = 0


@inlined
def end_pass(problem: Problem, state: State) -> None:
    """End the pass: rates of jobs are updated, and time can go on."""
    state.counter[Counter.PASS_DUE] = 0
    update_rates(problem, state)


@inlined
def decide(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8], answer: int) -> None:
    """Start the job at index `answer` of `waiting` if it fits; else end the pass.

    If no job runs and no event is to come, the first job starts instead. `waiting` and `fits` are what `look` has
    filled in; nothing has changed since.
    """
    j = NO_JOB
    if 0 <= answer < waiting.size and fits[answer] == 1:
        j = waiting[answer]
    elif state.counter[Counter.RUNNING] == 0 and next_time(problem, state) == np.inf:
        j = waiting[0]  # it fits, as all nodes are free
    if j < 0:
        end_pass(problem, state)
    else:
        fits_now(problem, plan, state, j)  # it fits; this chooses its nodes
        start_out_of_line(problem, plan, state, j)


@kernel
def reorder_queued(problem: Problem, plan: Plan, state: State, jobs: Ints, places: Ints, others: Ints) -> None:
    """Put queued jobs at these places (positions) of the queue: the first job at the first place, and so on.

    The places are those that these jobs have now, in ascending order. All indexes of the queue begin anew; `others` are
    the jobs that wait in queues of reservations.
    """
    begin_ungrouped(plan, state)
    candidate_index.begin(problem, plan, state)
    limits.stop_parking(problem.extras, state.extras, state)
    state.counter[Counter.PLAN_HOLDS] = 0
    line.begin(state.work)
    for i in range(jobs.size):
        j = jobs[i]
        state.queue.order[places[i]] = j
        state.queue.position[j] = places[i]
        if problem.sharing is None:
            state.shortest[j] = shortest_duration(problem, j, plan.caps, plan.cap_row[j])
        set_leaf(state.queue, places[i], shown_tasks(state.extras, problem.tasks[j], j), state.shortest[j])
        line.note_joined(problem.sharing, state.work, plan, j, state.shortest[j])
    for j in others:
        line.note_joined(problem.sharing, state.work, plan, j, state.shortest[j])
