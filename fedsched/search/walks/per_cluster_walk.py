"""A walk over plans that keep every job within a unit; a trial simulates only the one or two units that it changes.

A unit is a part of the machine that is simulated on its own. A trial moves a job to another place in its unit's queue
or to another home, or exchanges two jobs of two homes. A home is the part that a job may use: a cluster or a unit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined, kernel, part
from fedsched.core.random import below, uniform
from fedsched.engine.codes import Dispatch, Status
from fedsched.model.schedule.integrals import Eligible, Integrals, Wasted
from fedsched.model.schedule.metrics import Column, fill_row
from fedsched.search.problem.subfederation_runs import FROM, TO, last_end, restore_unit, run_unit, save_unit, set_home
from fedsched.search.walks.descent import note, pocket, scalar

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.search.encoding.genome import Space
    from fedsched.search.problem.subfederation_runs import Parts, Units
    from fedsched.search.walks.descent import Goal, Walker

LATE_SHARE = 0.5  # share of the trials with the job that ends last among LATE_AMONG random ones
LATE_AMONG = 4
STAY_SHARE = 0.5  # share of the trials that change no home
SWAP_SHARE = 0.4  # share of the other trials that exchange two jobs
NEAR_SHARE = 0.5  # share of the insertions that stay near
CLOSE = 1e-9  # relative margin at a limit within which a trial is still simulated to its end
ROUNDED = 2.0**-52  # rounding of a job's end, relative to the clock


# ---- rows and queues ------------------------------------------------------------------------------------------------


@part
def _home_of(units: Units, caps: Ints) -> int:
    # The first home that covers all groups that a job may use.
    home, g = 0, 0
    while g < caps.size:
        if caps[g] > 0 and units.covers[home, g] == 0:
            home, g = home + 1, 0
        else:
            g += 1
    return home


@part
def read_row(space: Space, units: Units, parts: Parts, row: Ints) -> None:
    """Fill each unit's queue and each job's home in `parts` from a row that keeps every job within one unit."""
    jobs, groups = space.limits.shape
    parts.length[:] = 0
    for i in range(jobs):
        j = row[i]
        base = jobs + j * groups
        home = _home_of(units, row[base : base + groups])
        set_home(units, parts, j, home)
        u = units.unit[home]
        parts.queue[u, parts.length[u]] = j
        parts.length[u] += 1


@part
def write_row(space: Space, units: Units, parts: Parts, placement: int, row: Ints) -> None:
    """Write the plan in `parts` to a row: the queues one after the other, each job's caps bound to its home.

    The dispatch rule is greedy.
    """
    jobs, groups = space.limits.shape
    place = 0
    for u in range(parts.length.size):
        for i in range(parts.length[u]):
            j = parts.queue[u, i]
            row[place] = j
            place += 1
            for g in range(groups):
                row[jobs + j * groups + g] = space.limits[j, g] * units.covers[parts.home[j], g]
    row[jobs * (1 + groups)] = Dispatch.GREEDY
    row[jobs * (1 + groups) + 1] = placement


# ---- trials ---------------------------------------------------------------------------------------------------------


@inlined
def _job_to_move(parts: Parts, jobs: int, stream: Stream) -> int:
    j = below(stream, jobs)
    if uniform(stream) < LATE_SHARE:
        for _ in range(LATE_AMONG - 1):
            other = below(stream, jobs)
            if parts.finish[other] > parts.finish[j]:
                j = other
    return j


@inlined
def _place_of(queue: Ints, j: int) -> int:
    place = 0
    while queue[place] != j:
        place += 1
    return place


@inlined
def _insert(parts: Parts, u: int, place: int, to: int, near: bool, stream: Stream) -> None:
    # Moves the job at a place of one queue to another queue, or within it: near its place, or anywhere.
    length = parts.length[u]
    source, target = parts.queue[u], parts.queue[to]
    j = source[place]
    for i in range(place, length - 1):
        source[i] = source[i + 1]
    parts.length[u] -= 1
    room = parts.length[to] + 1
    if near:
        reach = 1 + room // 10
        middle = place if to == u else place * room // length
        at = min(max(middle - reach + below(stream, 2 * reach + 1), 0), room - 1)
    else:
        at = below(stream, room)
    for i in range(room - 1, at, -1):
        target[i] = target[i - 1]
    target[at] = j
    parts.length[to] = room


@inlined
def _accepted(goal: Goal, walker: Walker, value: float) -> bool:
    return value <= walker.value[0] or value <= walker.late[walker.steps[0] % walker.late.size]


@inlined
def count_trial(walker: Walker) -> None:
    """Count one trial of late acceptance: remember the current value if it is better than what it replaces."""
    late = walker.steps[0] % walker.late.size
    walker.late[late] = min(walker.late[late], walker.value[0])
    walker.steps[0] += 1


@inlined
def latest_end(problem: Problem, goal: Goal, limit: float) -> float:
    """Return the latest end, in seconds from t0, at which a plan's value can still be within the limit.

    Makespan is the only objective. A small margin for rounding is added.
    """
    latest = goal.ideal[0] + limit * goal.scale[0] / goal.weights[0]
    return latest * (1.0 + CLOSE) + problem.submit.size * ROUNDED * (abs(problem.t0) + latest)


@kernel
def walk_per_cluster(
    problem: Problem,
    space: Space,
    units: Units,
    goal: Goal,
    walker: Walker,
    parts: Parts,
    state: State,
    user_sums: Floats,
    metrics: Floats,
    fresh: bool,
    most: int,
) -> int:
    """Try moves from the current plan until `most` jobs are simulated, and update the walker; return a Status.

    The plan keeps each job within a unit. A `fresh` walk first reads it from its row and simulates it; any other
    continues the walker's last one. At least one move is tried. The Status is DONE, or STUCK if a job can never
    start.
    """
    jobs = space.limits.shape[0]
    homes = units.unit.size
    stream, value = walker.stream, walker.value
    placement = walker.current[walker.current.size - 1]
    nothing = Integrals(np.nan, np.nan, np.nan, np.nan)
    ends_alone = goal.columns.size == 1 and goal.columns[0] == Column.MAKESPAN
    if fresh:
        read_row(space, units, parts, walker.current)
    to_run = parts.length.size if fresh else 0
    latest, u, v, length, length_to = np.inf, 0, 0, 0, 0
    going = True
    while going:
        if not fresh:
            if ends_alone:
                latest = latest_end(problem, goal, max(value[0], walker.late[walker.steps[0] % walker.late.size]))
            j = _job_to_move(parts, jobs, stream)
            home = parts.home[j]
            to, other = home, j
            if uniform(stream) >= STAY_SHARE:
                to = below(stream, homes)
                if units.allowed[j, to] == 0:
                    to = home
            u, v = units.unit[home], units.unit[to]
            length, length_to = parts.length[u], parts.length[v]
            swaps = False
            if to != home and length_to > 0 and uniform(stream) < SWAP_SHARE:
                other = parts.queue[v, below(stream, length_to)]
                swaps = units.allowed[other, home] == 1 and units.allowed[j, parts.home[other]] == 1
            save_unit(parts, u, FROM, ends_alone)
            if v != u:
                save_unit(parts, v, TO, ends_alone)
            place = _place_of(parts.queue[u], j)
            if swaps:
                parts.queue[v, _place_of(parts.queue[v], other)] = j
                parts.queue[u, place] = other
                set_home(units, parts, j, parts.home[other])
                set_home(units, parts, other, home)
            else:
                _insert(parts, u, place, v, uniform(stream) < NEAR_SHARE, stream)
                set_home(units, parts, j, to)
            to_run = 1 if u == v else 2
        status: int = Status.DONE
        for k in range(to_run):
            unit = k
            if not fresh:
                unit = u if k == 0 else v
            if status == Status.DONE:
                status = run_unit(problem, space, units, parts, state, unit, placement, latest, ends_alone)
        if status == Status.STUCK:
            return Status.STUCK
        if fresh:
            fresh = False
            continue
        new = np.inf
        if status == Status.DONE:
            if ends_alone:
                metrics[Column.MAKESPAN] = last_end(parts) - problem.t0
            else:
                fill_row(
                    space.common.measured,
                    problem.t0,
                    parts.start,
                    parts.finish,
                    parts.counts,
                    Eligible(state.load[:0]),
                    Wasted(state.load[:0], -np.inf, 0.0),
                    nothing,
                    user_sums,
                    metrics,
                )
            new = scalar(goal, metrics)
        better = new < value[1]
        if status == Status.DONE and (goal.columns.size > 1 or better):
            write_row(space, units, parts, placement, walker.trial)
            pocket(goal, walker, metrics, walker.trial)
        if status == Status.DONE and _accepted(goal, walker, new):
            value[0] = new
            note(goal, metrics, walker.objectives[0])
            if better:
                value[1] = new
                walker.steps[1] = walker.steps[0]
                note(goal, metrics, walker.objectives[1])
                for x in range(walker.best.size):
                    walker.best[x] = walker.trial[x]
        else:
            restore_unit(units, parts, u, FROM, length, ends_alone)
            if v != u:
                restore_unit(units, parts, v, TO, length_to, ends_alone)
        count_trial(walker)
        going = parts.jobs_run[0] < most
    write_row(space, units, parts, placement, walker.current)
    return Status.DONE
