"""The least makespan by contradiction: if T is below an instant, no job runs in a mode that ends there or later."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.bounds.cost.dual import BoundProblem


def without_late_modes(problem: BoundProblem, instant: float) -> BoundProblem | None:
    """Return the problem restricted to schedules with T below an instant; None if some job cannot end by then."""
    relaxation = problem.relaxation
    early = relaxation.usable & (relaxation.release[:, None] + relaxation.duration < instant)
    if not early.any(axis=1).all():
        return None
    return replace(problem, relaxation=replace(relaxation, usable=early), floor=0.0)


def least_end(problem: BoundProblem, floor: float, bound_on: Callable[[BoundProblem], float]) -> float:
    """Return a bound on T, at least `floor`, by a binary search among the instants at which modes end.

    If T < t, the bound without modes that end at t or later holds: T >= min(t, that bound). That bound falls as t
    grows.
    """
    relaxation = problem.relaxation
    ends = (relaxation.release[:, None] + relaxation.duration)[relaxation.usable]
    instants = np.unique(ends[ends > floor])
    best = floor

    def ruled_out(k: int) -> bool:
        nonlocal best
        instant = float(instants[k])
        fewer = without_late_modes(problem, instant)
        bound = np.inf if fewer is None else bound_on(fewer)
        best = max(best, min(instant, bound))
        return bool(bound >= instant)

    low, step = 0, 1  # usually the first instant is not ruled out
    while low + step <= instants.size and ruled_out(low + step - 1):
        low, step = low + step, 2 * step
    high = min(low + step - 1, instants.size)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if ruled_out(middle) else (low, middle)
    return best
