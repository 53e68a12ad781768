"""Lookahead backfilling: which queued jobs, started now, use the most nodes beside the head's reservation [24].

Shmueli and Feitelson fill a table M[i, n, m]: the most nodes that the first i candidates use within n free nodes and m
that stay free at the shadow time. A job that ends by then uses only n; one that runs beyond it uses both. So the sums
that each kind can reach are found separately, in one list each instead of the table, and then combined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.codes import LOOKAHEAD, CandidateRow, ReachRow
from fedsched.engine.dispatch.head_reservation import (
    LASTING,
    REFUSED,
    free_beside_reservation,
    place_out_of_line,
    start_beside_reservation,
)
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.engine.optional_features import power_caps
from fedsched.engine.placement.tasks_per_node import nodes_taken
from fedsched.engine.queue.candidate_index import next_candidate
from fedsched.engine.queue.classes import first_of_classes, next_of_classes

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Packing, Plan, Problem, Queue, State

BRIEFLY, LASTINGLY = constant(0), constant(1)  # values of `lasts`
NEVER = constant(LOOKAHEAD + 1)  # no number of candidates reaches the sum


@inlined
def _candidate_from(
    problem: Problem, plan: Plan, state: State, queue: Queue, position: int, window: float, beside: int, first: int
) -> int:
    if state.classes.number[ClassNumber.CLASSES] > 0:
        if position == first:
            return first_of_classes(problem, plan, state, queue, first, window)
        return next_of_classes(problem, plan, state, queue, window)
    return next_candidate(problem, plan, state, queue, position, state.counter[Counter.FREE], window, beside)


@inlined
def _collect(problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float, first: int) -> int:
    # Collects the first jobs from a position on that could each start beside the reservation; returns how many.
    queue = state.backfill if plan.separate_backfill else state.queue
    candidate, beside = state.packing.candidate, free_beside_reservation(state)
    more, found = more_than_closing(problem.extras), 0
    power_caps.begin_packing(state.extras)
    position = _candidate_from(problem, plan, state, queue, first, window, beside, first)
    while position >= 0 and found < candidate.shape[1]:
        j = queue.order[position]
        if j != head:
            fit = place_out_of_line(problem, plan, state, j, shadow)
            if fit != REFUSED:
                candidate[CandidateRow.JOB, found] = j
                taken = nodes_taken(problem.extras, problem.tasks[j], j, state.scratch.chosen)
                candidate[CandidateRow.TASKS, found] = taken
                candidate[CandidateRow.LASTS, found] = 1 if fit == LASTING else 0
                candidate[CandidateRow.CHOSEN, found] = 0
                power_caps.note_candidate(more, state.extras, j, state.scratch.chosen, fit == LASTING)
                found += 1
        position = _candidate_from(problem, plan, state, queue, position + 1, window, beside, first)
    return found


@part
def _reach(tasks: Ints, lasts: Ints, candidates: int, kind: int, room: int, reached_with: Ints) -> int:
    # reached_with[s] = the least i such that jobs of this kind among the first i candidates need s nodes together
    total = 0
    for i in range(candidates):
        if lasts[i] == kind:
            total += tasks[i]
    limit = min(room, total)
    reached_with[0] = 0
    for nodes in range(1, limit + 1):
        reached_with[nodes] = NEVER
    for i in range(candidates):
        if lasts[i] == kind:
            for nodes in range(limit, tasks[i] - 1, -1):
                if reached_with[nodes] == NEVER and reached_with[nodes - tasks[i]] <= i:
                    reached_with[nodes] = i + 1
    return limit


@part
def choose(packing: Packing, candidates: int, free: int, extra: int) -> int:
    """Mark, in `packing`, the set of candidates that uses the most nodes together; return that number of nodes.

    The set uses at most `free` nodes, and its jobs that run beyond the shadow time at most `extra`. Of two sets with
    equally many nodes, look at the last candidate in which they differ: the set without it wins.
    """
    tasks, lasts = packing.candidate[CandidateRow.TASKS], packing.candidate[CandidateRow.LASTS]
    brief_with, lasting_with = packing.reach[ReachRow.BRIEF_WITH], packing.reach[ReachRow.LASTING_WITH]
    most_brief = packing.reach[ReachRow.MOST_BRIEF]
    brief_limit = _reach(tasks, lasts, candidates, BRIEFLY, free, brief_with)
    lasting_limit = _reach(tasks, lasts, candidates, LASTINGLY, min(free, extra), lasting_with)
    most = 0
    for nodes in range(brief_limit + 1):
        if brief_with[nodes] != NEVER:
            most = nodes
        most_brief[nodes] = most
    best = 0
    for nodes in range(lasting_limit + 1):
        if lasting_with[nodes] != NEVER:
            best = max(best, nodes + most_brief[min(brief_limit, free - nodes)])
    left, room = best, lasting_limit
    while left > 0:
        # The last job of the set is the first with which the rest of the sum can be reached.
        last = NEVER
        for nodes in range(max(0, left - brief_limit), min(room, left) + 1):
            last = min(last, max(lasting_with[nodes], brief_with[left - nodes]))
        packing.candidate[CandidateRow.CHOSEN, last - 1] = 1
        left -= tasks[last - 1]
        if lasts[last - 1] == 1:
            room -= tasks[last - 1]
    return best


@part
def start_packed(
    problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float, first: int
) -> None:
    """Start the queued jobs that together use the most nodes without delaying EASY's head [24].

    Candidates are the first jobs, from queue position `first` on, that could each start alone. `window` is the time in
    seconds until the shadow time `shadow`.
    """
    candidate = state.packing.candidate
    more = more_than_closing(problem.extras)
    candidates = _collect(problem, plan, state, head, shadow, window, first)
    free = power_caps.nodes_under_caps(more, state.extras, state, state.counter[Counter.FREE])
    extra = power_caps.nodes_beside_head(more, state.extras, state, shadow, state.scratch.extra.sum())
    choose(state.packing, candidates, free, extra)
    for i in range(candidates):
        if candidate[CandidateRow.CHOSEN, i] == 1:
            start_beside_reservation(problem, plan, state, candidate[CandidateRow.JOB, i], shadow)
