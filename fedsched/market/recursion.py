"""The choice of one alternative a job by backward recursion over discrete expenses (eqs. 1-4 of Toporkov et al.)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import kernel

if TYPE_CHECKING:
    from fedsched.market.arrays import Bools, Floats, Ints

SAFETY = 1e-12  # the relative difference that the order of summation may make


@kernel
def recur(
    begin: Ints, value: Floats, expense: Floats, steps: Ints, best: Floats, spent: Floats, pick: Ints, possible: Bools
) -> None:
    """Fill f_i(g) = min over s of value_i(s) + f_{i+1}(g − steps_i(s)) (eq. 2), i from the last job to the first.

    Job i's alternatives are the rows begin[i] to begin[i + 1]. Ties are broken by lower expense, then by earlier
    alternative. `spent` holds the exact expense, `pick` the alternative.
    """
    jobs = begin.size - 1
    cells = best.shape[1]
    for g in range(cells):
        best[jobs, g] = 0.0
        spent[jobs, g] = 0.0
        possible[jobs, g] = True
    for back in range(jobs):
        i = jobs - 1 - back
        for g in range(cells):
            possible[i, g] = False
            best[i, g] = 0.0
            spent[i, g] = 0.0
            pick[i, g] = -1
        for s in range(begin[i], begin[i + 1]):
            for g in range(steps[s], cells):
                rest = g - steps[s]
                if not possible[i + 1, rest]:
                    continue
                total = value[s] + best[i + 1, rest]
                cost = expense[s] + spent[i + 1, rest]
                if not possible[i, g] or total < best[i, g] or (total == best[i, g] and cost < spent[i, g]):
                    possible[i, g] = True
                    best[i, g] = total
                    spent[i, g] = cost
                    pick[i, g] = s


@kernel
def trace(begin: Ints, steps: Ints, pick: Ints, chosen: Ints) -> None:
    """Write into `chosen` each job's alternative, read from the table `pick` for the whole limit (eqs. 3 and 4)."""
    left = pick.shape[1] - 1
    for i in range(begin.size - 1):
        s = pick[i, left]
        chosen[i] = s
        left -= steps[s]


@kernel
def search_exact(
    begin: Ints,
    value: Floats,
    expense: Floats,
    excess: Floats,
    spare: float,
    cell: float,
    best: Floats,
    spent: Floats,
    possible: Bools,
    incumbent: Floats,
    chosen: Ints,
    path: Ints,
    sums: Floats,
    limit: int,
) -> bool:
    """Search for the best combination that keeps the limit with unrounded expenses; return whether it was completed.

    Depth first over the jobs. The table of rounded-down expenses bounds what the remaining jobs can add; it is a
    relaxation, so no better combination is pruned. `incumbent` holds value and expense of the combination in `chosen`;
    both are replaced by the best found. `sums` has a row a depth: value, expense and excess so far.
    """
    jobs = begin.size - 1
    slack = SAFETY * (abs(incumbent[0]) + 1.0)
    found = False
    depth = 0
    path[0] = begin[0] - 1
    sums[0, 0] = 0.0
    sums[0, 1] = 0.0
    sums[0, 2] = 0.0
    for _ in range(limit):
        path[depth] += 1
        s = path[depth]
        if s == begin[depth + 1]:
            if depth == 0:
                return True
            depth -= 1
            continue
        left = spare - sums[depth, 2] - excess[s]
        if left < -SAFETY * (spare + 1.0):
            continue
        cells = 0
        if cell > 0.0:
            cells = min(max(int(left / cell + SAFETY), 0), best.shape[1] - 1)
        if not possible[depth + 1, cells]:
            continue
        total = sums[depth, 0] + value[s]
        cost = sums[depth, 1] + expense[s]
        bound = total + best[depth + 1, cells]
        if bound > incumbent[0] + slack:
            continue
        if bound >= incumbent[0] - slack:
            # At best a tie: of interest only if it may cost less, or comes earlier than the rounded-up combination.
            cheapest = cost + spent[depth + 1, cells]
            if cheapest > incumbent[1] + slack or (found and cheapest >= incumbent[1] - slack):
                continue
        if depth < jobs - 1:
            depth += 1
            path[depth] = begin[depth] - 1
            sums[depth, 0] = total
            sums[depth, 1] = cost
            sums[depth, 2] = sums[depth - 1, 2] + excess[s]
            continue
        found = True
        incumbent[0] = total
        incumbent[1] = cost
        for i in range(jobs):
            chosen[i] = path[i]
    return False
