"""Whether a clock of doubles rounds any of a problem's times: where all are on one grid, sums of them are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Problem

STEPS = 1024.0  # of the grid a second
FAR = 2.0**40  # seconds: sums of times below it are multiples of a step that doubles have


def is_exact(problem: Problem, durations: Floats) -> bool:
    """Return whether submits, durations, and all other times that starts depend on are whole steps of the grid."""
    times = [problem.submit[np.isfinite(problem.submit)], np.array([problem.t0]), durations]
    if problem.extras is not None:
        calendar, precedence = problem.extras.calendar, problem.extras.precedence
        closing = calendar.end[np.isfinite(calendar.end)]
        times += [calendar.begin, closing, precedence.earliest, precedence.lag, problem.extras.cancellations.time]
        times += [problem.extras.holds.end]
    steps = np.concatenate([np.ravel(part) for part in times]) * STEPS
    return bool((steps == np.floor(steps)).all()) and float(np.abs(steps).sum()) < FAR * STEPS
