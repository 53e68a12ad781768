"""How early jobs can start that wait for others: the longest path of conditions before each [34]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays import Awaits

if TYPE_CHECKING:
    from fedsched.bounds.relaxation import Relaxation
    from fedsched.engine.arrays import Precedence, Problem


def released_behind_conditions(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation with each job released no sooner than what it waits for allows."""
    if problem.extras is None or not problem.extras.precedence.conditions.size:
        return relaxation
    return _released(relaxation, problem.extras.precedence)


def of_those_who_start(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation of the jobs that can start at all."""
    able = np.sort(np.concatenate([problem.arrival, problem.running]))
    return relaxation if able.size == relaxation.tasks.size else relaxation.take(able)


def _released(relaxation: Relaxation, precedence: Precedence) -> Relaxation:
    release = np.maximum(relaxation.release, precedence.earliest - relaxation.t0)
    shortest = np.maximum(relaxation.shortest - relaxation.tick, 0.0)  # as a clock may show it
    left = precedence.conditions - 1
    ready = np.flatnonzero(left == 0).tolist()
    for on in ready:  # it grows on the way
        for i in range(precedence.first[on], precedence.first[on + 1]):
            follower = precedence.follower[i]
            at_start = precedence.awaits[i] == Awaits.START
            since = release[on] - relaxation.begun[on] if at_start else release[on] + shortest[on]
            release[follower] = max(release[follower], since + precedence.lag[i] - relaxation.tick)
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(int(follower))
    return replace(relaxation, release=release, late=relaxation.late + (release - relaxation.release))
