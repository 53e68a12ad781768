"""Earliest starts of jobs that wait for others: the longest path of conditions before each job [34]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.numbers import Awaits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Relaxation
    from fedsched.engine.arrays.structs import Ints, Precedence, Problem
    from fedsched.engine.optional_features.cancellations import Cancellations


def released_behind_conditions(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation with each job's release no earlier than its conditions on other jobs allow.

    It is unchanged if no job has conditions.
    """
    if problem.extras is None or not problem.extras.precedence.conditions.size:
        return relaxation
    return _released(relaxation, problem.extras.precedence, problem.extras.cancellations)


def only_sure_starts(relaxation: Relaxation, problem: Problem, *, without: Ints) -> Relaxation:
    """Return the relaxation of only those jobs that start in every schedule, without the rows `without`.

    They can start, are never cancelled, and are in no reservation that they might miss. Raise InfeasibleError if
    there is no such job.
    """
    able = np.setdiff1d(sure_starts(problem), without)
    if without.size or may_not_start(problem).any():
        relaxation = replace(relaxation, some_may_go=True)
    if not able.size:
        raise InfeasibleError(
            "Bounds: each job may be cancelled or miss its reservation, or waits for one that may, or runs already "
            "and may lose its nodes: nothing is proven; "
            "leave that out: dataclasses.replace(workload, cancel_at=None), or workload.filter("
            "workload.label('reservation') == '')."
        )
    return relaxation if able.size == relaxation.tasks.size else relaxation.take(able)


def sure_starts(problem: Problem) -> Ints:
    """Return the rows of the jobs that start in every schedule, ascending."""
    able = np.sort(np.concatenate([problem.arrival, problem.running]))
    return np.asarray(able[~may_not_start(problem)[able]])


def may_not_start(problem: Problem) -> NDArray[np.bool_]:
    """Return for each job whether it may be cancelled or miss its reservation, or waits for what may not happen.

    If a job may be cancelled, only its end is certain [44].
    """
    uncertain = np.zeros(problem.submit.size, dtype=np.bool_)
    if problem.extras is None:
        return uncertain
    precedence, going = problem.extras.precedence, uncertain.copy()
    if problem.extras.cancellations.place.size:
        going = problem.extras.cancellations.place >= 0
    uncertain |= going
    if problem.extras.reserved.of_job.size:
        uncertain |= problem.extras.reserved.of_job >= 0
    uncertain[problem.running] = False
    told = np.flatnonzero(uncertain).tolist() if precedence.conditions.size else []
    for on in told:  # the list grows on the way
        for i in range(precedence.first[on], precedence.first[on + 1]):
            follower = precedence.follower[i]
            if not uncertain[follower] and not (going[on] and precedence.awaits[i] == Awaits.END):
                uncertain[follower] = True
                told.append(int(follower))
    return uncertain


def _released(relaxation: Relaxation, precedence: Precedence, cancellations: Cancellations) -> Relaxation:
    release = np.maximum(relaxation.release, precedence.earliest - relaxation.t0)
    shortest = np.maximum(relaxation.shortest - relaxation.tick, 0.0)  # as measured by a clock
    gone = np.full(release.size, np.inf)
    gone[cancellations.job] = cancellations.time - relaxation.t0
    open_ = np.bincount(precedence.follower, minlength=release.size)
    ready, left, first = np.flatnonzero(open_ == 0).tolist(), open_.tolist(), precedence.first.tolist()
    follower_of, awaits, lag = precedence.follower.tolist(), precedence.awaits.tolist(), precedence.lag.tolist()
    soonest, begun, at_start = release.tolist(), relaxation.begun.tolist(), int(Awaits.START)
    length, leaves = shortest.tolist(), gone.tolist()
    for on in ready:  # the list grows on the way
        start, end = soonest[on] - begun[on], min(soonest[on] + length[on], leaves[on])
        for i in range(first[on], first[on + 1]):
            follower = follower_of[i]
            since = (start if awaits[i] == at_start else end) + lag[i] - relaxation.tick
            soonest[follower] = max(soonest[follower], since)
            left[follower] -= 1
            if left[follower] == 0:
                ready.append(follower)
    release = np.array(soonest)
    return replace(relaxation, release=release, late=relaxation.late + (release - relaxation.release))
