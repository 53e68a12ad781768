"""Compiled local search on one plan (late acceptance, hill climbing, annealing), for the methods memetic, sa and hc."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined, kernel, part
from fedsched.core.random import uniform
from fedsched.engine.codes import Status
from fedsched.engine.run.evaluate import evaluate_row
from fedsched.search.encoding.operators import move

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.search.encoding.genome import Space


class Accept(IntEnum):
    """The rule by which a trial (a changed plan) replaces the current plan."""

    LATE = 0  # those not worse than the plan `late.size` trials ago
    BETTER = 1  # those not worse than the current plan: hill climbing
    ANNEALED = 2  # also worse ones, with a falling probability


@by_reference
class Goal(NamedTuple):
    """The single value that a descent minimises, and the rule of acceptance.

    It is a mean of the greatest weighted distance of an objective from its ideal and of the sum of these distances.
    """

    columns: Ints
    signs: Floats
    ideal: Floats
    scale: Floats  # per objective: one unit of distance
    weights: Floats
    greatest_share: float
    sum_share: float
    accept: int


@by_reference
class Walker(NamedTuple):
    """One descent's state, in arrays of the caller, so that the descent can be stopped and resumed."""

    current: Ints
    trial: Ints
    best: Ints
    value: Floats  # [0] of the current plan, [1] of the best
    objectives: Floats  # of the current plan, and of the best
    late: Floats  # the values that late acceptance compares with
    steps: Ints  # [0] trials so far, [1] the trial that last improved the best
    heat: Floats  # [0] temperature, [1] its factor for each trial
    ends: Floats  # the jobs' ends in the current plan
    stream: Stream
    pocket_values: Floats  # non-dominated plans met
    pocket_rows: Ints
    pocket_size: Ints


@inlined
def scalar(goal: Goal, metrics: Floats) -> float:
    """Return the single value of a metric row that the descent minimises.

    Each objective has a weighted distance from its ideal. The value is a mean of the greatest distance and of the
    sum of all distances.
    """
    greatest = -np.inf
    total = 0.0
    for i in range(goal.columns.size):
        distance = goal.weights[i] * ((metrics[goal.columns[i]] * goal.signs[i] - goal.ideal[i]) / goal.scale[i])
        greatest = max(greatest, distance)
        total += distance
    return goal.greatest_share * greatest + goal.sum_share * total


@part
def pocket(goal: Goal, walker: Walker, metrics: Floats, row: Ints) -> None:
    """Add a plan to the walker's non-dominated plans unless a kept one dominates or equals it.

    Drop kept plans that it dominates. If there is no place left, it is not added.
    """
    values, kept = walker.pocket_values, walker.pocket_size[0]
    m = goal.columns.size
    i = 0
    while i < kept:
        no_better = True  # the kept plan is better in no objective
        no_worse = True  # the kept plan is worse in no objective
        for k in range(m):
            new = metrics[goal.columns[k]] * goal.signs[k]
            if values[i, k] < new:
                no_better = False
            elif values[i, k] > new:
                no_worse = False
        if no_worse:
            return
        if no_better:
            kept -= 1
            if i < kept:
                for k in range(m):
                    values[i, k] = values[kept, k]
                for x in range(row.size):
                    walker.pocket_rows[i, x] = walker.pocket_rows[kept, x]
        else:
            i += 1
    if kept < walker.pocket_rows.shape[0]:
        for k in range(m):
            values[kept, k] = metrics[goal.columns[k]] * goal.signs[k]
        for x in range(row.size):
            walker.pocket_rows[kept, x] = row[x]
        kept += 1
    walker.pocket_size[0] = kept


@inlined
def note(goal: Goal, metrics: Floats, values: Floats) -> None:
    """Write the objectives' values of a metric row, negated if maximised, to `values`."""
    for k in range(goal.columns.size):
        values[k] = metrics[goal.columns[k]] * goal.signs[k]


@inlined
def _accepted(goal: Goal, walker: Walker, value: float) -> bool:
    if value <= walker.value[0]:
        return True
    if goal.accept == 0:
        return value <= walker.late[walker.steps[0] % walker.late.size]
    if goal.accept == 1:
        return False
    return uniform(walker.stream) < np.exp((walker.value[0] - value) / max(walker.heat[0], 1e-300))


@kernel
def descend(
    problem: Problem,
    space: Space,
    goal: Goal,
    walker: Walker,
    state: State,
    user_sums: Floats,
    metrics: Floats,
    trials: int,
) -> int:
    """Try `trials` random moves from the current plan, and update the walker; return a Status.

    Accepted plans become the current plan, better ones the best. The Status is DONE, or STUCK if a job can never
    start.
    """
    current, trial, value = walker.current, walker.trial, walker.value
    for _ in range(trials):
        for x in range(current.size):
            trial[x] = current[x]
        move(problem, space, trial, walker.ends, walker.stream, state)
        if evaluate_row(problem, space.common, trial, state, user_sums, metrics) != Status.DONE:
            return Status.STUCK
        new = scalar(goal, metrics)
        pocket(goal, walker, metrics, trial)
        if _accepted(goal, walker, new):
            for x in range(current.size):
                current[x] = trial[x]
            for j in range(walker.ends.size):
                walker.ends[j] = state.finish[j]
            value[0] = new
            note(goal, metrics, walker.objectives[0])
            if new < value[1]:
                value[1] = new
                walker.steps[1] = walker.steps[0]
                note(goal, metrics, walker.objectives[1])
                for x in range(current.size):
                    walker.best[x] = trial[x]
        late = walker.steps[0] % walker.late.size
        if goal.accept == 0 and value[0] < walker.late[late]:
            walker.late[late] = value[0]
        walker.heat[0] *= walker.heat[1]
        walker.steps[0] += 1
    return Status.DONE
