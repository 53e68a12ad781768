"""The choice of one alternative a job by backward recursion over discrete expenses (eqs. 1-4 of Toporkov et al.)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import kernel

if TYPE_CHECKING:
    from fedsched.market.arrays import Bools, Floats, Ints


@kernel
def recur(
    begin: Ints, value: Floats, expense: Floats, steps: Ints, best: Floats, spent: Floats, pick: Ints, possible: Bools
) -> None:
    """Fill f_i(g) = min over s of value_i(s) + f_{i+1}(g − steps_i(s)) (eq. 2), i from the last job to the first.

    Job i's alternatives are the rows begin[i] to begin[i + 1]. Of equal values the lower expense counts, then the
    earlier alternative; `spent` carries the exact expense for that, `pick` the alternative.
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
    """Read the chosen alternatives off the table (eqs. 3 and 4)."""
    left = pick.shape[1] - 1
    for i in range(begin.size - 1):
        s = pick[i, left]
        chosen[i] = s
        left -= steps[s]
