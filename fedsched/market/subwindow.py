"""Choose a job's m slots from the extended window, the slots usable now: Algorithm 2, at random, or exact knapsack."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.core.random import random_bits, unit
from fedsched.market.codes import Criterion

if TYPE_CHECKING:
    from fedsched.market.arrays import Needs, Scratch

HALVINGS = 24
TIES = (
    2_000  # places looked at before windows that are only as good are passed over: equal nodes would give all subsets
)
LOOKS = 500_000  # search steps before the best window so far is taken
SAFETY = 1e-9  # relative margin of bounds, which are sums of rounded numbers, so that rounding prunes no better window


@inlined
def weight_of(needs: Needs, j: int, node: int, criterion: int) -> float:
    """Return a slot's contribution to the criterion: its length, or its energy."""
    return needs.energy[j, node] if criterion == Criterion.MIN_ENERGY else needs.length[j, node]


@part
def choose_fast(needs: Needs, j: int, held: int, work: Scratch) -> None:
    """Write into `work.chosen` the cheapest of the windows with the least run time within budget (Algorithm 2).

    It starts with the m cheapest slots. The longest slot is replaced by the cheapest strictly shorter one while the
    budget allows. The current window is always the cheapest among slots no longer than its longest, so the result is
    exact. Each slot is tried once: a slot that is too long stays too long.
    """
    m = needs.nodes[j]
    cost = 0.0
    for k in range(m):
        work.tried[k] = work.node[k]
        work.chosen[k] = work.node[k]
        cost += work.cost[work.node[k]]
    longest = _longest(needs, j, work)
    limit = needs.length[j, work.tried[longest]]
    for i in range(m, held):
        node = work.node[i]
        if needs.length[j, node] >= needs.length[j, work.tried[longest]]:
            continue
        cost += work.cost[node] - work.cost[work.tried[longest]]
        if cost > needs.budget[j]:
            return
        work.tried[longest] = node
        longest = _longest(needs, j, work)
        if needs.length[j, work.tried[longest]] < limit:
            # Of equally long slots all must be replaced before the window is shorter.
            limit = needs.length[j, work.tried[longest]]
            for k in range(m):
                work.chosen[k] = work.tried[k]


@inlined
def _longest(needs: Needs, j: int, work: Scratch) -> int:
    longest = 0
    for k in range(1, needs.nodes[j]):
        if needs.length[j, work.tried[k]] > needs.length[j, work.tried[longest]]:
            longest = k
    return longest


@part
def choose_random(needs: Needs, j: int, held: int, work: Scratch, seed: int, step: int) -> bool:
    """Write m slots drawn at random into `work.chosen` (MinProcTime); return whether they are within budget."""
    m = needs.nodes[j]
    for k in range(held):
        work.order[k] = work.node[k]
    cost = 0.0
    for k in range(m):
        other = k + int(unit(random_bits(seed, step, k)) * (held - k))
        node = work.order[other]
        work.order[other] = work.order[k]
        work.order[k] = node
        work.chosen[k] = node
        cost += work.cost[node]
    return cost <= needs.budget[j]


@part
def choose_exact(needs: Needs, j: int, held: int, work: Scratch, criterion: int, limit: float, limited: bool) -> bool:
    """Write into `work.chosen` the m slots of least total weight (time or energy) within budget.

    Return False if `limited` and no choice below the limit was found.

    The Lagrangian bound min Σ(weight + λ·cost) − λ·budget prunes a depth-first search over the slots sorted by
    weight + λ·cost. Ties are broken by lower cost, then by lower nodes, within the first `TIES` search steps.
    """
    m = needs.nodes[j]
    _sort_by(needs, j, held, work, criterion, work.multiplier[0])
    if limited and _bound(needs, j, work, work.multiplier[0]) >= limit * (1 + SAFETY) + SAFETY:
        return False
    multiplier = _best_multiplier(needs, j, held, work, criterion)
    work.multiplier[0] = multiplier
    _sort_by(needs, j, held, work, criterion, multiplier)
    price_of_budget = _price_of_budget(needs, j, multiplier)
    # Depth first: stack[d] is the place, in the sorted order, of the slot taken at depth d.
    best = limit
    bounded = limited
    found = False
    best_cost = 0.0
    depth = 0
    looks = 0
    work.stack[0] = -1
    while depth >= 0 and looks < LOOKS:
        looks += 1
        work.stack[depth] += 1
        place = work.stack[depth]
        if place + m - depth > held:
            depth -= 1
            continue
        bound = -price_of_budget
        for d in range(depth):
            bound += work.key[work.stack[d]]
        for d in range(m - depth):
            bound += work.key[place + d]
        margin = SAFETY * (abs(best) + price_of_budget) + SAFETY
        if bounded and bound > (best + margin if looks < TIES else best - margin):
            depth -= 1  # later slots have no lower bounds
            continue
        if depth < m - 1:
            depth += 1
            work.stack[depth] = place
            continue
        weight = cost = 0.0
        for d in range(m):
            node = work.order[work.stack[d]]
            weight += weight_of(needs, j, node, criterion)
            cost += work.cost[node]
        if cost > needs.budget[j]:
            continue
        better = weight < best or not bounded
        if not better and found and weight == best:
            better = cost < best_cost or (cost == best_cost and _lower_nodes(m, work))
        if better:
            found = True
            bounded = True
            best = weight
            best_cost = cost
            for d in range(m):
                work.chosen[d] = work.order[work.stack[d]]
    # If none was found in time, `chosen` still holds the cheapest window.
    return found or not bounded


@inlined
def _sort_by(needs: Needs, j: int, held: int, work: Scratch, criterion: int, multiplier: float) -> None:
    for i in range(held):
        node = work.node[i]
        key = weight_of(needs, j, node, criterion) + multiplier * work.cost[node]
        k = i
        while k > 0 and work.key[k - 1] > key:
            work.key[k] = work.key[k - 1]
            work.order[k] = work.order[k - 1]
            k -= 1
        work.key[k] = key
        work.order[k] = node


@inlined
def _price_of_budget(needs: Needs, j: int, multiplier: float) -> float:
    return multiplier * needs.budget[j] if multiplier > 0.0 else 0.0  # the budget may be infinite


@inlined
def _bound(needs: Needs, j: int, work: Scratch, multiplier: float) -> float:
    bound = -_price_of_budget(needs, j, multiplier)
    for k in range(needs.nodes[j]):
        bound += work.key[k]
    return bound


@part
def _best_multiplier(needs: Needs, j: int, held: int, work: Scratch, criterion: int) -> float:
    # The dual is concave: its slope at λ is the cost of the m slots with the least weight + λ·cost, minus the budget.
    low, high = 0.0, 0.0
    step = 1.0
    for _ in range(2 * HALVINGS):
        _sort_by(needs, j, held, work, criterion, high)
        cost = 0.0
        for k in range(needs.nodes[j]):
            cost += work.cost[work.order[k]]
        if cost <= needs.budget[j]:
            break
        low, high = high, step
        step *= 2.0
    for _ in range(HALVINGS):
        if high <= low:
            break
        middle = 0.5 * (low + high)
        _sort_by(needs, j, held, work, criterion, middle)
        cost = 0.0
        for k in range(needs.nodes[j]):
            cost += work.cost[work.order[k]]
        if cost <= needs.budget[j]:
            high = middle
        else:
            low = middle
    return high


@inlined
def _lower_nodes(m: int, work: Scratch) -> bool:
    # Whether the sub-window on the stack has lower nodes than the chosen one, compared in ascending order.
    last = -1
    for _ in range(m):
        mine = theirs = -1
        for d in range(m):
            node = work.order[work.stack[d]]
            if node > last and (mine < 0 or node < mine):
                mine = node
            node = work.chosen[d]
            if node > last and (theirs < 0 or node < theirs):
                theirs = node
        if mine != theirs:
            return mine < theirs
        last = mine
    return False
