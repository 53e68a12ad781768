"""What is seen of a run when a decision is asked: numbers between 0 and 1, whatever the log and the federation."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import inlined
from fedsched.engine.arrays import Clock, Counter

if TYPE_CHECKING:
    from fedsched.engine.arrays import Extras, ExtraState, Ints, Problem, State
    from fedsched.gym.runs import Bytes, Singles

YEAR = 365.0 * 24.0 * 3600.0
SCALE = 1.0 / float(np.log1p(YEAR))


class WaitingFeature(IntEnum):
    """What is seen of a job that waits; all 0 in a place where none does."""

    PRESENT = 0  # 1
    FITS = 1  # 1: it could start now
    TASKS = 2  # share of the federation's nodes
    ESTIMATE = 3  # how long it is expected to run, by `share_of_time`
    WAIT = 4  # how long it has waited, by `share_of_time`
    COMPUTE = 5  # its compute fraction
    POOLS = 6  # the greatest share of a pool that it needs


class RunningFeature(IntEnum):
    """What is seen of a job that runs, by planned end; all 0 in a place without one."""

    PRESENT = 0  # 1
    TASKS = 1  # share of the federation's nodes
    LEFT = 2  # until its planned end, by `share_of_time`
    SINCE = 3  # since its start, by `share_of_time`


class ProgressFeature(IntEnum):
    """What is seen of the whole run, as shares of its jobs."""

    ARRIVED = 0
    STARTED = 1
    FINISHED = 2


@inlined
def share_of_time(seconds: float) -> float:
    """Return ln(1 + seconds)/ln(1 + a year), from 0 to 1: the difference of a minute and an hour is seen, too."""
    return min(1.0, np.log1p(max(0.0, seconds)) * SCALE)


@inlined
def _share_of_pools(extras: Extras | None, j: int) -> float:
    if extras is None:
        return 0.0
    share = 0.0
    for p in range(extras.pools.amount.size):
        if extras.pools.need[j, p] > 0:
            share = max(share, extras.pools.need[j, p] / extras.pools.amount[p])
    return share


@inlined
def _see_pools(extras: Extras | None, state: ExtraState | None, groups: int, free: Singles) -> None:
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        free[groups + p] = state.pools.free[p] / extras.pools.amount[p] if extras.pools.amount[p] > 0 else 0.0


@inlined
def see_waiting(problem: Problem, now: float, waiting: Ints, fits: Bytes, seen: Singles) -> None:
    """Fill what is seen of the jobs in these places."""
    seen[:, :] = 0.0
    for i in range(waiting.size):
        j = waiting[i]
        if j < 0:
            break
        seen[i, WaitingFeature.PRESENT] = 1.0
        seen[i, WaitingFeature.FITS] = fits[i]
        seen[i, WaitingFeature.TASKS] = problem.tasks[j] / problem.nodes
        seen[i, WaitingFeature.ESTIMATE] = share_of_time(problem.estimate[j])
        seen[i, WaitingFeature.WAIT] = share_of_time(now - problem.submit[j])
        seen[i, WaitingFeature.COMPUTE] = problem.sigma[j]
        seen[i, WaitingFeature.POOLS] = _share_of_pools(problem.extras, j)


@inlined
def see_running(problem: Problem, state: State, seen: Singles) -> None:
    """Fill what is seen of the running jobs whose planned ends come first."""
    seen[:, :] = 0.0
    now, ends = state.clock[Clock.NOW], state.counter[Counter.ENDS]
    for i in range(min(seen.shape[0], ends)):
        j = state.ends.job[ends - 1 - i]
        seen[i, RunningFeature.PRESENT] = 1.0
        seen[i, RunningFeature.TASKS] = problem.tasks[j] / problem.nodes
        seen[i, RunningFeature.LEFT] = share_of_time(state.ends.time[ends - 1 - i] - now)
        seen[i, RunningFeature.SINCE] = share_of_time(now - state.start[j])


@inlined
def see_whole(problem: Problem, state: State, free: Singles, progress: Singles) -> None:
    """Fill what is free, and how far the run is."""
    counter, jobs = state.counter, problem.submit.size
    for g in range(state.free.size):
        free[g] = state.free[g] / problem.groups.nodes[g]
    _see_pools(problem.extras, state.extras, state.free.size, free)
    progress[ProgressFeature.ARRIVED] = (counter[Counter.ARRIVED] + problem.running.size) / jobs
    progress[ProgressFeature.STARTED] = counter[Counter.STARTED] / jobs
    progress[ProgressFeature.FINISHED] = counter[Counter.FINISHED] / jobs
