"""The scan for slot windows (Algorithm 1 of Toporkov et al.): one pass over the slots by start, and its stopping rules.

Slots enter the extended window one at a time, also at equal starts, and a window is tried after each. The extended
window is kept sorted by cost, so that its first m slots are the cheapest window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, flag, inlined, kernel, part
from fedsched.market.codes import Choice, Criterion, Figure, Rule
from fedsched.market.offers import cost_from, find_offers, hold
from fedsched.market.subwindow import choose_exact, choose_fast, choose_random, weight_of

if TYPE_CHECKING:
    from fedsched.market.arrays import Needs, Scratch, SlotList

NONE = constant(0)
NO = flag(False)


@inlined
def _drop_short(needs: Needs, j: int, start: float, held: int, work: Scratch) -> int:
    # Drop slots with too little time left for the task: they cannot be in a window that starts now.
    latest = needs.deadline[j]
    kept = 0
    for k in range(held):
        node = work.node[k]
        if min(work.end[k], latest) - start >= needs.length[j, node]:
            work.node[kept] = node
            work.end[kept] = work.end[k]
            kept += 1
    return kept


@inlined
def _add(needs: Needs, j: int, node: int, end: float, held: int, work: Scratch) -> int:
    # The extended window stays sorted by (cost, node).
    k = held
    while k > 0 and needs.rank[j, work.node[k - 1]] > needs.rank[j, node]:
        work.node[k] = work.node[k - 1]
        work.end[k] = work.end[k - 1]
        k -= 1
    work.node[k] = node
    work.end[k] = end
    return held + 1


@inlined
def _choose_cheapest(needs: Needs, j: int, work: Scratch) -> bool:
    # The m cheapest slots, if the budget allows them.
    cost = 0.0
    for k in range(needs.nodes[j]):
        work.chosen[k] = work.node[k]
        cost += work.cost[work.node[k]]
    return cost <= needs.budget[j]


@part
def value_of(needs: Needs, j: int, start: float, work: Scratch, criterion: int) -> float:
    """Return the criterion's value of the slots in `work.chosen` as job j's window from `start` on; less is better."""
    if criterion == Criterion.MIN_START:
        return start
    total = 0.0
    longest = 0.0
    for k in range(needs.nodes[j]):
        node = work.chosen[k]
        longest = max(longest, needs.length[j, node])
        if criterion == Criterion.MIN_COST:
            total += work.cost[node]
        else:
            total += weight_of(needs, j, node, criterion)
    if criterion == Criterion.MIN_RUNTIME:
        return longest
    if criterion == Criterion.MIN_FINISH:
        return start + longest
    return total


@part
def _describe(needs: Needs, j: int, start: float, work: Scratch) -> None:
    # Nodes are sorted first, so that the sums do not depend on how the window was found.
    if needs.since.shape[1] > 1:
        for k in range(needs.nodes[j]):
            work.cost[work.best[k]] = cost_from(needs, j, work.best[k], start)
    for k in range(1, needs.nodes[j]):
        node = work.best[k]
        i = k
        while i > 0 and work.best[i - 1] > node:
            work.best[i] = work.best[i - 1]
            i -= 1
        work.best[i] = node
    runtime = cost = cpu = energy = 0.0
    for k in range(needs.nodes[j]):
        node = work.best[k]
        runtime = max(runtime, needs.length[j, node])
        cost += work.cost[node]
        cpu += needs.length[j, node]
        energy += needs.energy[j, node]
    work.figures[Figure.START] = start
    work.figures[Figure.RUNTIME] = runtime
    work.figures[Figure.COST] = cost
    work.figures[Figure.CPU] = cpu
    work.figures[Figure.ENERGY] = energy


@kernel
def scan(
    slots: SlotList, needs: Needs, j: int, rule: int, criterion: int, choice: int, seed: int, work: Scratch
) -> bool:
    """Find job j's window in one pass over the slots (Algorithm 1), and return whether there is one.

    The window's nodes are left in work.best, its figures in work.figures.

    AMP and ALP stop at the first step that gives a window. AEP tries every step that could be better, and keeps the
    first of equally good windows.
    """
    m = needs.nodes[j]
    held = NONE
    best_start = 0.0
    best_value = 0.0
    found = NO
    work.multiplier[0] = 0.0
    changing = needs.since.shape[1] > 1
    if not changing:
        for k in range(needs.cost.shape[1]):
            work.cost[k] = needs.cost[j, k]
    steps = find_offers(slots, needs, j, work) if changing else slots.used[0]
    for i in range(steps):
        if changing:
            place = work.offer_order[i]
            node, start, end = work.offer_node[place], work.offer_start[place], work.offer_end[place]
        else:
            node, start, end = slots.node[i], slots.start[i], slots.end[i]
            if not needs.suitable[j, node]:
                continue
            if rule == Rule.ALP and work.cost[node] * m > needs.budget[j]:
                continue
        if criterion == Criterion.MIN_FINISH and found and start >= best_value:
            break  # a later window cannot finish earlier
        held = _drop_short(needs, j, start, held, work)
        if min(end, needs.deadline[j]) - start < needs.length[j, node]:
            continue  # the extended window offers nothing new
        held = hold(needs, j, start, node, end, held, work) if changing else _add(needs, j, node, end, held, work)
        if held < m or not _choose_cheapest(needs, j, work):
            continue  # not even the cheapest window is within budget
        if changing and rule == Rule.ALP and work.cost[work.node[m - 1]] * m > needs.budget[j]:
            continue
        if rule == Rule.AEP:
            if criterion == Criterion.MIN_RUNTIME or criterion == Criterion.MIN_FINISH:
                choose_fast(needs, j, held, work)
            elif criterion == Criterion.MIN_CPU or criterion == Criterion.MIN_ENERGY:
                if choice == Choice.RANDOM and not choose_random(needs, j, held, work, seed, i):
                    continue
                if choice == Choice.EXACT and not choose_exact(needs, j, held, work, criterion, best_value, found):
                    continue
        value = value_of(needs, j, start, work, criterion)
        if not found or value < best_value:
            found = True
            best_value = value
            best_start = start
            for k in range(m):
                work.best[k] = work.chosen[k]
            if rule != Rule.AEP or criterion == Criterion.MIN_START:
                break
    if found:
        _describe(needs, j, best_start, work)
    return found
