"""The observed features at a decision: numbers between 0 and 1, for any log and federation."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined
from fedsched.engine.loop.feature_flags import counted_nodes
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.optional_features.dependencies import joined_count, submitted_at
from fedsched.engine.optional_features.lost_runs import requeues
from fedsched.engine.optional_features.reservation_queues import CURRENT, GENERAL_QUEUE
from fedsched.engine.placement.tasks_per_node import is_uneven

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, ExtraState, Ints, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work
    from fedsched.gym.runs import Bytes, Singles

YEAR = 365.0 * 24.0 * 3600.0
SCALE = 1.0 / float(np.log(1.0 + YEAR))


class WaitingFeature(IntEnum):
    """The observed features of a waiting job, by their columns; all 0 in an empty place.

    Examples
    --------
    >>> from fedsched.gym import WaitingFeature
    >>> [feature.name for feature in WaitingFeature][:4]
    ['PRESENT', 'FITS', 'TASKS', 'ESTIMATE']
    """

    PRESENT = 0  # 1
    FITS = 1  # 1: it could start now
    TASKS = 2  # share of the federation's nodes, in the job's shape; on shared nodes of its cores
    ESTIMATE = 3  # its requested time, by `share_of_time`
    WAIT = 4  # how long it has waited, by `share_of_time`
    COMPUTE = 5  # its compute fraction
    POOLS = 6  # the greatest share of a pool that it needs


class RunningFeature(IntEnum):
    """The observed features of a running job, by their columns; all 0 in an empty place.

    Running jobs are in order of planned ends.

    Examples
    --------
    >>> from fedsched.gym import RunningFeature
    >>> [feature.name for feature in RunningFeature]
    ['PRESENT', 'TASKS', 'LEFT', 'SINCE']
    """

    PRESENT = 0  # 1
    TASKS = 1  # share of the federation's nodes, or cores
    LEFT = 2  # until its planned end, by `share_of_time`
    SINCE = 3  # since its start, by `share_of_time`


class ProgressFeature(IntEnum):
    """The observed features of the whole run, by their columns, as shares of its jobs.

    Examples
    --------
    >>> from fedsched.gym import ProgressFeature
    >>> [feature.name for feature in ProgressFeature]
    ['ARRIVED', 'STARTED', 'FINISHED']
    """

    ARRIVED = 0  # and eligible
    STARTED = 1
    FINISHED = 2  # or gone


@inlined
def share_of_time(seconds: float) -> float:
    """Return a duration as a number from 0 to 1: ln(1 + seconds)/ln(1 + a year), at most 1.

    A minute and an hour still differ visibly.
    """
    return min(1.0, np.log(1.0 + max(0.0, seconds)) * SCALE)


@inlined
def _see_pools(extras: Extras | None, state: ExtraState | None, groups: int, free: Singles) -> None:
    if extras is None or state is None:
        return
    for p in range(extras.pools.amount.size):
        free[groups + p] = state.pools.free[p] / extras.pools.amount[p] if extras.pools.amount[p] > 0 else 0.0


@inlined
def _see_shape(extras: Extras | None, problem: Problem, j: int, seen: Singles) -> None:
    # A job that has chosen its shape is shown in that shape.
    if extras is None:
        return
    if extras.moldable.which.size > 0:
        seen[WaitingFeature.TASKS] = problem.tasks[j] / problem.nodes
        seen[WaitingFeature.ESTIMATE] = share_of_time(problem.estimate[j])


@inlined
def _share_of_nodes(extras: Extras | None, problem: Problem, state: State, of_job: Singles, j: int) -> float:
    if extras is None:
        return of_job[j, WaitingFeature.TASKS]
    if is_uneven(extras, j):
        return state.counts[j].sum() / problem.nodes
    if extras.moldable.which.size > 0:
        return problem.tasks[j] / problem.nodes
    return of_job[j, WaitingFeature.TASKS]


@inlined
def see_waiting(problem: Problem, state: State, of_job: Singles, waiting: Ints, fits: Bytes, seen: Singles) -> None:
    """Fill `seen` with the features of the waiting jobs in these places; a place with job −1 becomes all 0.

    The loop ends at the first place that was empty before too: all later ones are.
    """
    now = state.clock[Clock.NOW]
    for i in range(waiting.size):
        j = waiting[i]
        if j < 0:
            if seen[i, WaitingFeature.PRESENT] == 0.0:
                break
            for c in range(seen.shape[1]):
                seen[i, c] = 0.0
            continue
        for c in range(seen.shape[1]):
            seen[i, c] = of_job[j, c]
        _see_shape(problem.extras, problem, j, seen[i])
        seen[i, WaitingFeature.FITS] = fits[i]
        seen[i, WaitingFeature.WAIT] = share_of_time(now - submitted_at(state.extras, problem.submit, j))


@inlined
def see_running(problem: Problem, state: State, of_job: Singles, seen: Singles) -> None:
    """Fill `seen` with the features of the running jobs, the earliest planned end first; other places become all 0."""
    now, ends = state.clock[Clock.NOW], state.counter[Counter.ENDS]
    for i in range(seen.shape[0]):
        if i >= ends:
            if seen[i, RunningFeature.PRESENT] == 0.0:
                break
            for c in range(seen.shape[1]):
                seen[i, c] = 0.0
            continue
        j = state.ends.job[ends - 1 - i]
        seen[i, RunningFeature.PRESENT] = 1.0
        seen[i, RunningFeature.TASKS] = _share_of_nodes(problem.extras, problem, state, of_job, j)
        seen[i, RunningFeature.LEFT] = share_of_time(state.ends.time[ends - 1 - i] - now)
        seen[i, RunningFeature.SINCE] = share_of_time(now - state.start[j])


@inlined
def _see_nodes(problem: Problem | None, state: State, free: Singles) -> None:
    if problem is None:
        return
    for g in range(state.free.size):
        free[g] = state.free[g] / problem.groups.nodes[g]


@inlined
def _see_cores(
    sharing: Sharing | None,
    work: Work | None,
    extras: Extras | None,
    extra_state: ExtraState | None,
    now: float,
    free: Singles,
) -> None:
    # On shared nodes: the share of each group's cores; none of a group that is closed to the jobs that are shown.
    if sharing is None or work is None:
        return
    nodes = sharing.nodes
    for g in range(nodes.gpus.size):
        first, last, cores = nodes.first[g], nodes.first[g + 1], 0
        for node in range(first, last):
            cores += work.now.free[0, node]
        free[g] = cores / (nodes.has[0, g] * (last - first))
    _hide_closed(sharing, extras, extra_state, now, free)


@inlined
def _hide_closed(
    sharing: Sharing, extras: Extras | None, extra_state: ExtraState | None, now: float, free: Singles
) -> None:
    if extras is None or extra_state is None:
        return
    calendar, turn = extras.calendar, extra_state.apart.turn[CURRENT]
    for c in sharing.closures.of_group:
        yields = turn != GENERAL_QUEUE and calendar.reservation[c] == turn
        if calendar.begin[c] <= now < calendar.end[c] and not yields:
            free[calendar.group[c]] = 0.0


@inlined
def see_whole(problem: Problem, state: State, free: Singles, progress: Singles) -> None:
    """Fill `free` with the free shares of groups and pools, and `progress` with the shares of jobs so far."""
    counter, jobs = state.counter, problem.submit.size
    _see_nodes(counted_nodes(problem), state, free)
    _see_cores(problem.sharing, state.work, problem.extras, state.extras, state.clock[Clock.NOW], free)
    _see_pools(problem.extras, state.extras, state.free.size, free)
    joined = joined_count(state.extras, counter[Counter.ARRIVED])
    progress[ProgressFeature.ARRIVED] = (joined + problem.running.size) / jobs
    progress[ProgressFeature.STARTED] = (counter[Counter.STARTED] - requeues(state.extras)) / jobs
    never = jobs - problem.arrival.size - problem.running.size  # jobs that can never start: counted from the beginning
    progress[ProgressFeature.FINISHED] = (never + counter[Counter.FINISHED]) / jobs


def of_jobs(problem: Problem) -> Singles:
    """Return each job's constant waiting features, job × WaitingFeature; columns that change over time are 0."""
    seen = np.zeros((problem.submit.size, len(WaitingFeature)), dtype=np.float32)
    seen[:, WaitingFeature.PRESENT] = 1.0
    each = 1 if problem.sharing is None else problem.sharing.kinds.need[problem.sharing.kinds.of_job, 0]
    seen[:, WaitingFeature.TASKS] = problem.tasks * each / problem.nodes  # on shared nodes both are of cores
    seen[:, WaitingFeature.ESTIMATE] = np.minimum(1.0, np.log1p(problem.estimate) * SCALE)
    seen[:, WaitingFeature.COMPUTE] = problem.sigma
    if problem.extras is not None:
        amount, need = problem.extras.pools
        seen[:, WaitingFeature.POOLS] = (need / np.maximum(amount, 1)).max(axis=1, initial=0.0)
    return seen
