"""Decisions: in place of a dispatch pass, an agent outside the engine chooses the jobs to start [32, 33].

The caller combines these steps: `next_pass` goes to the next instant, `look` says whether a decision is needed there,
`decide` carries out the answer, `end_pass` goes on without one. A planner may also `reorder_queued` jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import shown
from fedsched.core.jit import constant, inlined, kernel, part
from fedsched.engine.codes import SameTime, Status
from fedsched.engine.dispatch.greedy import exceeds_limits, fits_now, start_out_of_line
from fedsched.engine.loop.events import is_last, next_time, take_events
from fedsched.engine.loop.feature_flags import counted_nodes, more_than_closing
from fedsched.engine.loop.running import release_pending, update_rates
from fedsched.engine.numbers import Counter
from fedsched.engine.optional_features import limits, reservation_queues
from fedsched.engine.optional_features.reservation_passes import (
    enter_reservation,
    hide_queue,
    is_active,
    leave_reservation,
    show_queue,
    with_reservation_queue,
)
from fedsched.engine.optional_features.reservation_queues import CURRENT, GENERAL_QUEUE, NEXT
from fedsched.engine.placement.node_choice import shortest_duration
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue import queue_tree as queues
from fedsched.engine.queue.classes import begin_ungrouped
from fedsched.engine.queue.queue_tree import ANY, FIRST, set_leaf, shown_tasks
from fedsched.engine.queue.scan import next_small
from fedsched.engine.shared_nodes import counted, fitting, line
from fedsched.engine.shared_nodes.choosing import choose
from fedsched.engine.shared_nodes.stock import ALL

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work

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
    reservation_queues.begin_turns(state.extras)
    counter[Counter.PASS_DUE] = 1
    return Status.ASKED


@inlined
def look(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8]) -> bool:
    """Fill `waiting` with the first waiting jobs in queue order, and `fits` with 1 for each that could start now.

    Return whether any could. The queue of each active reservation has its turn before the general one [46]; the state
    is then that which its jobs see, until `decide`.
    """
    more = more_than_closing(problem.extras)
    if _look_in_reservations(more, state.extras, problem, plan, state, waiting, fits):
        return True
    return _look_in_queue(problem, plan, state, waiting, fits)


@inlined
def _look_in_reservations(
    extras: Extras | None,
    extra_state: ExtraState | None,
    problem: Problem,
    plan: Plan,
    state: State,
    waiting: Ints,
    fits: NDArray[np.int8],
) -> bool:
    if extras is None or extra_state is None:
        return False
    if extra_state.apart.of_job.size == 0:
        return False
    return _look_in_turn(extras, extra_state, problem, plan, state, waiting, fits)


@part
def _look_in_turn(
    extras: Extras,
    extra_state: ExtraState,
    problem: Problem,
    plan: Plan,
    state: State,
    waiting: Ints,
    fits: NDArray[np.int8],
) -> bool:
    own_queues = extra_state.apart
    while own_queues.turn[NEXT] < own_queues.number.size:
        r = own_queues.turn[NEXT]
        if own_queues.number[r] > 0 and is_active(extra_state, r):
            view = _enter_turn(extras, extra_state, problem, plan, state, r)
            if _look_in_queue(problem, plan, view, waiting, fits):
                return True
            _leave_turn(extras, extra_state, problem, plan, state, view, r)
        own_queues.turn[NEXT] += 1
    return False


@inlined
def _enter_turn(extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, r: int) -> State:
    if problem.sharing is None:
        return enter_reservation(extras, extra_state, problem, plan, state, r)
    view = with_reservation_queue(extra_state.apart, state)
    show_queue(extras, extra_state, problem, plan, view, r)
    return view


@inlined
def _leave_turn(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, view: State, r: int
) -> None:
    if problem.sharing is None:
        leave_reservation(extras, extra_state, problem, plan, state, view, r)
    else:
        hide_queue(extras, extra_state.apart, plan, view, r)


@inlined
def _may_start(problem: Problem, plan: Plan, state: State, j: int) -> bool:
    # Whether a job could start now; what it would take is then set.
    fits = _fits_on_counted(counted_nodes(problem), plan, state, j)
    return fits or _fits_on_shared(problem.sharing, state.work, problem, plan, state, j)


@inlined
def _fits_on_counted(problem: Problem | None, plan: Plan, state: State, j: int) -> bool:
    if problem is None:
        return False
    if problem.tasks[j] > state.counter[Counter.FREE] or not fits_now(problem, plan, state, j):
        return False
    return not exceeds_limits(problem, state, j)


@inlined
def _fits_on_shared(
    sharing: Sharing | None, work: Work | None, problem: Problem, plan: Plan, state: State, j: int
) -> bool:
    if sharing is None or work is None:
        return False
    return _fits_beside_others(sharing, work, problem, plan, state, j)


@part
def _fits_beside_others(sharing: Sharing, work: Work, problem: Problem, plan: Plan, state: State, j: int) -> bool:
    kind = sharing.kinds.of_job[j]
    work.bound[kind] = ALL  # bounds are for passes in queue order
    if not fitting.fits_now(problem, plan, state, sharing, work, j):
        return False
    choose(sharing, work, work.now, kind, state.scratch.chosen)
    return counted.suffice(sharing, work, j)


@inlined
def _start(problem: Problem, plan: Plan, state: State, j: int) -> None:
    if _may_start(problem, plan, state, j):  # it fits; this chooses its nodes
        _start_on_counted(counted_nodes(problem), plan, state, j)
        _start_on_shared(problem.sharing, state.work, problem, plan, state, j)


@inlined
def _start_on_counted(problem: Problem | None, plan: Plan, state: State, j: int) -> None:
    if problem is None:
        return
    start_out_of_line(problem, plan, state, j)


@inlined
def _start_on_shared(
    sharing: Sharing | None, work: Work | None, problem: Problem, plan: Plan, state: State, j: int
) -> None:
    if sharing is None or work is None:
        return
    fitting.start(problem, plan, state, sharing, work, work.now, j)


@inlined
def _look_in_queue(problem: Problem, plan: Plan, state: State, waiting: Ints, fits: NDArray[np.int8]) -> bool:
    # If all jobs are larger than what is free, fills in nothing, as no decision is needed.
    queue = state.queue
    if queue.tasks[1] > state.counter[Counter.FREE]:
        return False
    any_fits, seen = False, 0
    position = next_small(problem, state, queue, FIRST, ANY)
    while position >= 0 and seen < waiting.size:
        j = queue.order[position]
        waiting[seen] = j
        fits[seen] = 0
        if _may_start(problem, plan, state, j):
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
    """Start the job at index `answer` of `waiting` if it fits; else end the pass over the queue that was looked at.

    If no job runs and no event but changes of recurring caps is to come, an answer without a waiting job starts the
    first one that fits. `waiting` and `fits` are what `look` has filled in; nothing has changed since.
    """
    j = NO_JOB
    if 0 <= answer < waiting.size and waiting[answer] >= 0:
        j = waiting[answer] if fits[answer] == 1 else NO_JOB
    elif is_last(problem, state):
        first = 0
        while fits[first] == 0:
            first += 1
        j = waiting[first]
    if decide_in_reservation(problem, plan, state, j):
        return
    if j < 0:
        end_pass(problem, state)
    else:
        _start(problem, plan, state, j)


@inlined
def decide_in_reservation(problem: Problem, plan: Plan, state: State, j: int) -> bool:
    """Start job j of the reservation with the queue that was looked at; if it is −1, end the pass over that queue.

    Return False if no such queue was looked at.
    """
    return _decide_in_reservation(more_than_closing(problem.extras), state.extras, problem, plan, state, j)


@inlined
def _decide_in_reservation(
    extras: Extras | None, extra_state: ExtraState | None, problem: Problem, plan: Plan, state: State, j: int
) -> bool:
    if extras is None or extra_state is None:
        return False
    if extra_state.apart.turn[CURRENT] == GENERAL_QUEUE:
        return False
    _start_in_reservation(extras, extra_state, problem, plan, state, j)
    return True


@part
def _start_in_reservation(
    extras: Extras, extra_state: ExtraState, problem: Problem, plan: Plan, state: State, j: int
) -> None:
    own_queues = extra_state.apart
    r = own_queues.turn[CURRENT]
    view = with_reservation_queue(own_queues, state)
    if j >= 0:
        _start(problem, plan, view, j)
    else:
        own_queues.turn[NEXT] += 1
    _leave_turn(extras, extra_state, problem, plan, state, view, r)
    limits.update_shown(extras, extra_state, state)


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
