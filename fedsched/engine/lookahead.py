"""Lookahead backfilling: which queued jobs, started now, use the most nodes beside the head's reservation [24].

Shmueli and Feitelson fill a table M[i, n, m]: the most nodes that the first i candidates use within n free nodes and m
that stay free at the shadow time. A job that is done by then takes of n only, one that lasts takes of both; so the sums
that either kind reaches are found apart, one list each in place of the table, and put together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import constant, inlined, part
from fedsched.engine.arrays import Counter
from fedsched.engine.codes import LOOKAHEAD
from fedsched.engine.dispatch import (
    LASTING,
    REFUSED,
    free_beside_reservation,
    place_beside_reservation,
    reserve,
    start_apart,
)
from fedsched.engine.queue import FIRST, next_candidate

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints, Packing, Plan, Problem, State

BRIEFLY, LASTINGLY = constant(0), constant(1)  # values of `lasts`
NEVER = constant(LOOKAHEAD + 1)  # no number of candidates reaches the sum


@part
def _place_beside(problem: Problem, plan: Plan, state: State, j: int, shadow: float) -> int:
    return place_beside_reservation(problem, plan, state, j, shadow)


@inlined
def _collect(problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float) -> int:
    # The first jobs that could start beside the reservation if they were alone; returns how many.
    queue = state.backfill if plan.separate_backfill else state.queue
    packing, free, beside = state.packing, state.counter[Counter.FREE], free_beside_reservation(state)
    found = 0
    position = next_candidate(queue, FIRST, free, window, beside)
    while position >= 0 and found < packing.job.size:
        j = queue.order[position]
        if j != head:
            fit = _place_beside(problem, plan, state, j, shadow)
            if fit != REFUSED:
                packing.job[found] = j
                packing.tasks[found] = problem.tasks[j]
                packing.lasts[found] = 1 if fit == LASTING else 0
                packing.chosen[found] = 0
                found += 1
        position = next_candidate(queue, position + 1, free, window, beside)
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
    """Mark the candidates that use the most nodes together; return how many nodes.

    At most `free` nodes in all, `extra` for those that last. Of sets that use equally many it is the one without the
    last job in which they differ.
    """
    brief_limit = _reach(packing.tasks, packing.lasts, candidates, BRIEFLY, free, packing.brief_with)
    lasting_limit = _reach(packing.tasks, packing.lasts, candidates, LASTINGLY, min(free, extra), packing.lasting_with)
    most = 0
    for nodes in range(brief_limit + 1):
        if packing.brief_with[nodes] != NEVER:
            most = nodes
        packing.most_brief[nodes] = most
    best = 0
    for nodes in range(lasting_limit + 1):
        if packing.lasting_with[nodes] != NEVER:
            best = max(best, nodes + packing.most_brief[min(brief_limit, free - nodes)])
    left, room = best, lasting_limit
    while left > 0:
        # The last job of the set is the first with which the rest of the sum can be reached.
        last = NEVER
        for nodes in range(max(0, left - brief_limit), min(room, left) + 1):
            last = min(last, max(packing.lasting_with[nodes], packing.brief_with[left - nodes]))
        packing.chosen[last - 1] = 1
        left -= packing.tasks[last - 1]
        if packing.lasts[last - 1] == 1:
            room -= packing.tasks[last - 1]
    return best


@part
def start_packed(problem: Problem, plan: Plan, state: State, head: int, shadow: float, window: float) -> None:
    """Start what uses the most nodes beside the head's reservation [24]."""
    packing, extra = state.packing, state.scratch.extra
    candidates = _collect(problem, plan, state, head, shadow, window)
    choose(packing, candidates, state.counter[Counter.FREE], extra.sum())
    for i in range(candidates):
        if packing.chosen[i] == 1:
            fit = _place_beside(problem, plan, state, packing.job[i], shadow)
            if fit == LASTING:
                reserve(problem, state, packing.job[i])
            if fit != REFUSED:
                start_apart(problem, plan, state, packing.job[i])
