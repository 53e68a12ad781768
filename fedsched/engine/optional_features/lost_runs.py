"""Lost runs: runs that ended without result because a downtime took their nodes, with times, nodes and energy [42]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined
from fedsched.engine.numbers import LostNumber
from fedsched.model.schedule.integrals import Wasted

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import ExtraState, Floats, Problem, State

SO_FAR = constant(0)


@inlined
def reset(extras: ExtraState | None) -> None:
    """Reset for a run: no run has been lost."""
    if extras is None:
        return
    extras.lost.number[:] = 0
    extras.lost.seconds[:] = 0.0
    extras.lost.until[SO_FAR] = -np.inf
    extras.lost.more[SO_FAR] = 0.0


@inlined
def note_lost(extras: ExtraState, problem: Problem, state: State, j: int, now: float, requeued: bool) -> None:
    """Record that a job's run, which ends now, is lost: its times, nodes and node-seconds; and whether it is requeued.

    If jobs have watts of their own, add the joules that they make beyond the groups' busy watts.
    """
    lost = extras.lost
    run = lost.number[LostNumber.RUNS]
    lost.number[LostNumber.RUNS] += 1
    lost.number[LostNumber.REQUEUES] += 1 if requeued else 0
    lost.job[run], lost.requeued[run] = j, 1 if requeued else 0
    lost.start[run], lost.end[run] = state.start[j], now
    lost.until[SO_FAR] = now
    own = problem.watts.size > 0
    for g in range(lost.seconds.size):
        lost.counts[run, g] = state.counts[j, g]
        seconds = state.counts[j, g] * (now - max(state.start[j], problem.t0))
        lost.seconds[g] += seconds
        if own:
            lost.more[SO_FAR] += (problem.watts[j, g] - problem.groups.busy_watts[g]) * seconds


@inlined
def wasted(extras: ExtraState | None, nothing: Floats) -> Wasted:
    """Return the node-seconds of lost runs in each group, the end of the last one, and their extra joules.

    Extra joules are those beyond the groups' busy watts. Without extras the node-seconds are the array `nothing`.
    """
    if extras is None:
        return Wasted(nothing, -np.inf, 0.0)
    return Wasted(extras.lost.seconds, extras.lost.until[SO_FAR], extras.lost.more[SO_FAR])


@inlined
def wasted_node_seconds(extras: ExtraState | None) -> float:
    """Return the node-seconds of all lost runs, summed over the groups."""
    if extras is None:
        return 0.0
    return extras.lost.seconds.sum()


@inlined
def runs_lost(extras: ExtraState | None) -> int:
    """Return the number of lost runs."""
    if extras is None:
        return 0
    return extras.lost.number[LostNumber.RUNS]


@inlined
def requeues(extras: ExtraState | None) -> float:
    """Return the number of lost runs after which the job was queued again."""
    if extras is None:
        return 0.0
    return float(extras.lost.number[LostNumber.REQUEUES])
