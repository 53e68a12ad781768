"""The shapes (task counts with run times) that plans may choose for jobs, and the limits that follow for plans [49]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.engine.pack.choices import possible_shapes
from fedsched.engine.pack.limit_classes import of_present_shapes
from fedsched.engine.pack.power_cap_arrays import may_starve
from fedsched.engine.pack.problem import pack
from fedsched.engine.pack.shape_arrays import Shapes
from fedsched.engine.placement.tasks_per_node import most_nodes, most_of_groups, tasks_per_node_of
from fedsched.engine.plans import plan_in_order
from fedsched.model.jobs.alternatives import may_change_gear
from fedsched.model.power.watts import drawn_watts
from fedsched.search.problem.packed import usable_placements

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Limits, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading


class Choices(NamedTuple):
    """The shapes that plans may choose on one federation, with the nodes they take at most and the usable rules."""

    shapes: Shapes
    limits: Limits | None  # on these shapes, each as a job of its own; None without limits
    which: Ints  # index of each of these shapes among its job's alternatives
    most: Ints  # jobs × groups, or one column: the most nodes of a group that a job takes in any shape
    placements: Ints  # placement rules under which every job fits in each of its shapes
    may_starve: bool  # whether a power cap may keep one of these shapes from ever starting


def choices_on(
    workload: Workload, federation: Federation, reading: Reading, t0: float, running: Ints
) -> Choices | None:
    """Return the shapes that the federation can hold, which are all that plans may choose; None if no job has several.

    The jobs that run already, in the rows `running`, have no alternatives.
    """
    each, _, which, table, row_of = possible = possible_shapes(workload, federation, reading=reading, t0=t0)
    if not (np.diff(possible.first) > 1).any():
        return None
    problem = pack(each, federation, reading=reading, t0=t0, running=tuple(possible.first[running].tolist()))
    most = most_of_groups(problem, np.arange(len(each)), each.tasks)
    limits = np.minimum(table[row_of], most)
    first, per_node = possible.first, tasks_per_node_of(problem)
    sigma, watts, need = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64)
    if may_change_gear(workload):
        need = need if problem.extras is None else problem.extras.ceilings.need
        sigma, watts = problem.sigma, drawn_watts(problem.watts, federation.groups, np.arange(len(each))).copy()
    none, limits_of_each = np.zeros(0, dtype=np.int64), None if problem.extras is None else problem.extras.limits
    shapes = Shapes(
        first=first,
        tasks=problem.tasks,
        runtime=problem.runtime,
        estimate=problem.estimate,
        on_nodes=none if per_node is None else per_node.tasks,
        sigma=sigma,
        watts=watts,
        need=need,
        kind=none if limits_of_each is None else limits_of_each.kind,
        choosers=np.flatnonzero(np.diff(first) > 1),
        own_tasks=problem.tasks,  # a placeholder: each thread gets its own array
        own_runtime=problem.runtime,
        own_estimate=problem.estimate,
        own_on_nodes=none,
        own_sigma=np.zeros(0),
        own_watts=np.zeros((0, 0)),
        own_need=np.zeros((0, 0), dtype=np.int64),
        own_kind=none,
    )
    for array in shapes:
        array.setflags(write=False)
    return Choices(
        shapes=shapes,
        limits=limits_of_each if shapes.kind.size else None,
        which=which,
        most=np.maximum.reduceat(most, first[:-1], axis=0),
        placements=usable_placements(problem, plan_in_order(np.arange(len(each)), limits)),
        may_starve=problem.extras is not None and may_starve(problem.extras.ceilings, most_nodes(problem)),
    )


def with_limits_of_shapes(problem: Problem, choices: Choices) -> Problem:
    """Return the problem with limits that have a kind for every shape; each job has that of its present one."""
    if choices.limits is None or problem.extras is None:
        return problem
    limits = of_present_shapes(choices.limits, choices.shapes.first[:-1], problem.extras.limits.tasks)
    return problem._replace(extras=problem.extras._replace(limits=limits))
