"""How early jobs can start that wait for others: the longest path of conditions before each [34]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays import Awaits
from fedsched.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.relaxation import Relaxation
    from fedsched.engine.arrays import Precedence, Problem
    from fedsched.engine.cancellations import Cancellations


def released_behind_conditions(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation with each job released no sooner than what it waits for allows."""
    if problem.extras is None or not problem.extras.precedence.conditions.size:
        return relaxation
    return _released(relaxation, problem.extras.precedence, problem.extras.cancellations)


def of_those_who_start(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation of the jobs that start in every schedule: nothing keeps them, and nobody cancels them."""
    able = np.sort(np.concatenate([problem.arrival, problem.running]))
    if (uncertain := _may_not_start(problem)).any():
        able, relaxation = able[~uncertain[able]], replace(relaxation, some_may_go=True)
    if not able.size:
        raise InfeasibleError(
            "Bounds: each job may be cancelled, or waits for one that may: nothing is proven; leave that out: "
            "dataclasses.replace(workload, cancel_at=None)."
        )
    return relaxation if able.size == relaxation.tasks.size else relaxation.take(able)


def _may_not_start(problem: Problem) -> NDArray[np.bool_]:
    # Who may be cancelled, or waits for what a cancellation may prevent: its end alone comes in any case [44].
    if problem.extras is None or not problem.extras.cancellations.place.size:
        return np.zeros(problem.submit.size, dtype=np.bool_)
    precedence = problem.extras.precedence
    going = problem.extras.cancellations.place >= 0
    uncertain = going.copy()
    told = np.flatnonzero(going).tolist() if precedence.conditions.size else []
    for on in told:  # it grows on the way
        for i in range(precedence.first[on], precedence.first[on + 1]):
            follower = precedence.follower[i]
            if not uncertain[follower] and not (going[on] and precedence.awaits[i] == Awaits.END):
                uncertain[follower] = True
                told.append(int(follower))
    return uncertain


def _released(relaxation: Relaxation, precedence: Precedence, cancellations: Cancellations) -> Relaxation:
    release = np.maximum(relaxation.release, precedence.earliest - relaxation.t0)
    shortest = np.maximum(relaxation.shortest - relaxation.tick, 0.0)  # as a clock may show it
    gone = np.full(release.size, np.inf)
    gone[cancellations.job] = cancellations.time - relaxation.t0
    left = np.bincount(precedence.follower, minlength=release.size)
    ready = np.flatnonzero(left == 0).tolist()
    for on in ready:  # it grows on the way
        for i in range(precedence.first[on], precedence.first[on + 1]):
            follower = precedence.follower[i]
            at_start = precedence.awaits[i] == Awaits.START
            since = release[on] - relaxation.begun[on] if at_start else min(release[on] + shortest[on], gone[on])
            release[follower] = max(release[follower], since + precedence.lag[i] - relaxation.tick)
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(int(follower))
    return replace(relaxation, release=release, late=relaxation.late + (release - relaxation.release))
