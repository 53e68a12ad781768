"""Ruin and recreate: some jobs are removed from the plan, and each is reinserted at the best of some tried places.

Plans keep each job within a unit, as in the per-cluster walk, and makespan is minimised. A place is tried by a
simulation of its unit, which stops as soon as the plan would be rejected. Its cost is the increase of the unit's
squared end, times the unit's power. If many ruins bring no better plan, all jobs are removed, and the plan is built
again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, flag, inlined, kernel
from fedsched.core.random import below, uniform
from fedsched.engine.codes import Status
from fedsched.model.schedule.metrics import Column
from fedsched.search.problem.subfederation_runs import last_end, run_unit, set_home
from fedsched.search.walks.descent import note, pocket, scalar
from fedsched.search.walks.per_cluster_walk import count_trial, latest_end, read_row, write_row

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.search.encoding.genome import Space
    from fedsched.search.problem.subfederation_runs import Parts, Units
    from fedsched.search.walks.descent import Goal, Walker

LEAST, MOST = 2, 5  # jobs that a ruin removes
PLACES = 10  # least places to try for each removed job: one in each home, the others in random homes
LAST_SHARE = 0.5  # share of the ruins that begin with a job of the unit that ends last
ANY_SHARE = 0.6  # share of the ruins that remove random jobs besides the first
ALIKE_SHARE = 0.15  # share of the ruins that remove jobs of about its size; the others, jobs of about its place
ALIKE_AMONG = 4
NEAR = 2  # most places between two jobs of about the same place
STUCK = 10_000  # ruins without a better plan after which all jobs are removed
ENDS_ALONE = flag(True)
NOWHERE, FIRST, ONE, NOT_YET = constant(-1), constant(0), constant(1), flag(False)
BY_CHANCE, WIDEST_FIRST, ORDERS = 0, 1, constant(3)  # orders of reinsertion; the third is the largest first


@by_reference
class Ruin(NamedTuple):
    """The removed jobs, the plan before their removal, and the sizes of units and jobs."""

    left: Ints  # the removed jobs
    old_queue: Ints  # unit × place
    old_length: Ints
    old_home: Ints
    old_end: Floats
    power: Floats  # unit: node-seconds of reference nodes a second
    size: Floats  # job: node-seconds on reference nodes


# ---- ruins ----------------------------------------------------------------------------------------------------------


@inlined
def _has_left(ruin: Ruin, count: int, j: int) -> bool:
    i = 0
    while i < count and ruin.left[i] != j:
        i += 1
    return i < count


@inlined
def _first_to_leave(parts: Parts, stream: Stream) -> int:
    jobs = parts.home.size
    if uniform(stream) < LAST_SHARE:
        last = 0
        for u in range(parts.end.size):
            if parts.end[u] > parts.end[last]:
                last = u
        return parts.queue[last, below(stream, parts.length[last])]
    return below(stream, jobs)


@inlined
def _one_alike(ruin: Ruin, j: int, stream: Stream) -> int:
    # Of some random jobs, the one of the nearest size, as a ratio.
    best, least = j, np.inf
    for _ in range(ALIKE_AMONG):
        other = below(stream, ruin.size.size)
        ratio = max(ruin.size[other], ruin.size[j]) / min(ruin.size[other], ruin.size[j])
        if other != j and ratio < least:
            best, least = other, ratio
    return best


@inlined
def _one_near(units: Units, parts: Parts, j: int, stream: Stream) -> int:
    # A job of about the same place, in the same queue or in another.
    u = units.unit[parts.home[j]]
    v = u if uniform(stream) < 0.5 else below(stream, parts.length.size)
    if parts.length[v] == 0:
        return j
    place = 0
    while parts.queue[u, place] != j:
        place += 1
    at = place * parts.length[v] // parts.length[u] - NEAR + below(stream, 2 * NEAR + 1)
    return parts.queue[v, min(max(at, 0), parts.length[v] - 1)]


@inlined
def _choose(units: Units, parts: Parts, ruin: Ruin, stream: Stream) -> int:
    # Chooses the jobs to remove; returns how many.
    jobs = parts.home.size
    wanted = min(LEAST + below(stream, MOST - LEAST + 1), jobs)
    first = _first_to_leave(parts, stream)
    ruin.left[0] = first
    count = ONE
    kind = uniform(stream)
    for _ in range(4 * wanted):
        if count == wanted:
            break
        if kind < ANY_SHARE:
            other = below(stream, jobs)
        elif kind < ANY_SHARE + ALIKE_SHARE:
            other = _one_alike(ruin, first, stream)
        else:
            other = _one_near(units, parts, first, stream)
        if not _has_left(ruin, count, other):
            ruin.left[count] = other
            count += 1
    return count


@inlined
def _all_leave(ruin: Ruin) -> int:
    for j in range(ruin.left.size):
        ruin.left[j] = j
    return ruin.left.size


@inlined
def _order(problem: Problem, ruin: Ruin, count: int, stream: Stream) -> None:
    # The order of reinsertion: random, or the widest or the largest first.
    for i in range(count - 1, 0, -1):
        other = below(stream, i + 1)
        ruin.left[i], ruin.left[other] = ruin.left[other], ruin.left[i]
    kind = below(stream, ORDERS)
    if kind == BY_CHANCE:
        return
    for i in range(1, count):
        j = ruin.left[i]
        own = problem.tasks[j] if kind == WIDEST_FIRST else ruin.size[j]
        place = i
        while place > 0:
            before = ruin.left[place - 1]
            if (problem.tasks[before] if kind == WIDEST_FIRST else ruin.size[before]) >= own:
                break
            ruin.left[place] = before
            place -= 1
        ruin.left[place] = j


@inlined
def _remember(parts: Parts, ruin: Ruin) -> None:
    for u in range(parts.length.size):
        ruin.old_length[u] = parts.length[u]
        ruin.old_end[u] = parts.end[u]
        for i in range(parts.length[u]):
            ruin.old_queue[u, i] = parts.queue[u, i]
    for j in range(parts.home.size):
        ruin.old_home[j] = parts.home[j]


@inlined
def _bring_back(units: Units, parts: Parts, ruin: Ruin) -> None:
    for u in range(parts.length.size):
        parts.length[u] = ruin.old_length[u]
        parts.end[u] = ruin.old_end[u]
        for i in range(parts.length[u]):
            parts.queue[u, i] = ruin.old_queue[u, i]
    for j in range(parts.home.size):
        set_home(units, parts, j, ruin.old_home[j])


@inlined
def _take_out(parts: Parts, u: int, place: int) -> None:
    parts.length[u] -= 1
    for i in range(place, parts.length[u]):
        parts.queue[u, i] = parts.queue[u, i + 1]


@inlined
def _put_in(parts: Parts, u: int, place: int, j: int) -> None:
    for i in range(parts.length[u], place, -1):
        parts.queue[u, i] = parts.queue[u, i - 1]
    parts.queue[u, place] = j
    parts.length[u] += 1


@inlined
def _tear_down(units: Units, parts: Parts, ruin: Ruin, count: int) -> None:
    # Removes the chosen jobs; the ends of their units become unknown.
    for i in range(count):
        u = units.unit[parts.home[ruin.left[i]]]
        place = 0
        while parts.queue[u, place] != ruin.left[i]:
            place += 1
        _take_out(parts, u, place)
        parts.end[u] = np.nan


@inlined
def _not_known(parts: Parts) -> int:
    # The first unit with an unknown end, or -1.
    for u in range(parts.end.size):
        if np.isnan(parts.end[u]):
            return u
    return -1


@inlined
def _ruin_anew(problem: Problem, units: Units, parts: Parts, ruin: Ruin, all_leave: bool, stream: Stream) -> int:
    # Saves the current plan and removes jobs from it; returns how many.
    count = _all_leave(ruin) if all_leave else _choose(units, parts, ruin, stream)
    _order(problem, ruin, count, stream)
    _remember(parts, ruin)
    _tear_down(units, parts, ruin, count)
    return count


# ---- the walk -------------------------------------------------------------------------------------------------------


@inlined
def _limit(walker: Walker) -> float:
    return max(walker.value[0], walker.late[walker.steps[0] % walker.late.size])


@inlined
def _judge(
    problem: Problem,
    space: Space,
    units: Units,
    goal: Goal,
    walker: Walker,
    parts: Parts,
    ruin: Ruin,
    metrics: Floats,
    placement: int,
    anew: bool,
) -> None:
    # Accepts or rejects a complete plan. One that was built anew is always accepted, and becomes the best so far.
    metrics[Column.MAKESPAN] = last_end(parts) - problem.t0
    new = scalar(goal, metrics)
    if anew:
        walker.value[:] = new
        walker.late[:] = new
    if anew or new < walker.value[1]:
        walker.value[1] = new
        walker.steps[1] = walker.steps[0]
        note(goal, metrics, walker.objectives[1])
        write_row(space, units, parts, placement, walker.best)
        pocket(goal, walker, metrics, walker.best)
    if new <= _limit(walker):
        walker.value[0] = new
        note(goal, metrics, walker.objectives[0])
    else:
        _bring_back(units, parts, ruin)


@kernel
def rebuild(
    problem: Problem,
    space: Space,
    units: Units,
    goal: Goal,
    walker: Walker,
    parts: Parts,
    ruin: Ruin,
    state: State,
    metrics: Floats,
    fresh: bool,
    most: int,
) -> int:
    """Ruin and recreate the current plan repeatedly until `most` jobs are simulated; return a Status.

    A `fresh` walk reads the plan from its row; any other continues the walker's last one. At least one ruin is
    tried. The walker's current and best plans are updated. The Status is DONE, or STUCK if a job can never start.
    """
    stream = walker.stream
    placement = walker.current[walker.current.size - 1]
    places = max(PLACES, units.unit.size)
    if fresh:
        read_row(space, units, parts, walker.current)
        for u in range(parts.end.size):
            parts.end[u] = np.nan
    left, back, tried = 0, 0, 0  # numbers of removed and reinserted jobs, and of places tried for the next one
    ruined, anew, latest = False, NOT_YET, np.inf
    home, place, u = FIRST, FIRST, 0
    best_home, best_place, best_end, least = NOWHERE, FIRST, 0.0, np.inf
    going = True
    while going:
        u = _not_known(parts)
        before = np.nan
        if u < 0 and back < left and tried < places:  # try one more place
            home = tried if tried < units.unit.size else below(stream, units.unit.size)
            tried += 1
            if units.allowed[ruin.left[back], home] == 0:
                continue
            u = units.unit[home]
            before = parts.end[u]
            place = below(stream, parts.length[u] + 1)
            set_home(units, parts, ruin.left[back], home)
            _put_in(parts, u, place, ruin.left[back])
        elif u < 0 and back < left and best_home >= 0:  # reinsert at the best place
            u = units.unit[best_home]
            set_home(units, parts, ruin.left[back], best_home)
            _put_in(parts, u, best_place, ruin.left[back])
            parts.end[u] = best_end
            back, tried, best_home, least = back + 1, 0, NOWHERE, np.inf
            continue
        elif u < 0 and back < left and anew:  # no suitable home was drawn: try again
            tried = 0
            continue
        elif u < 0:  # all are reinserted, or one has no place
            if ruined and back == left:
                _judge(problem, space, units, goal, walker, parts, ruin, metrics, placement, anew)
            elif ruined:
                _bring_back(units, parts, ruin)
            if ruined:
                count_trial(walker)
                going = parts.jobs_run[0] < most
            if going:
                anew = walker.steps[0] - walker.steps[1] > STUCK
                left = _ruin_anew(problem, units, parts, ruin, anew, stream)
                latest = np.inf if anew else latest_end(problem, goal, _limit(walker))
                ruined, back, tried, best_home, least = True, 0, 0, NOWHERE, np.inf
            continue
        trying = not np.isnan(before)
        allowed = latest if trying else np.inf
        status = run_unit(problem, space, units, parts, state, u, placement, allowed, ENDS_ALONE)
        if status == Status.STUCK:
            return Status.STUCK
        if trying:
            if status == Status.DONE and parts.end[u] - problem.t0 <= latest:
                cost = ruin.power[u] * ((parts.end[u] - problem.t0) ** 2 - (before - problem.t0) ** 2)
                if cost < least:
                    least, best_home, best_place, best_end = cost, home, place, parts.end[u]
            _take_out(parts, u, place)
            parts.end[u] = before
    write_row(space, units, parts, placement, walker.current)
    return Status.DONE
