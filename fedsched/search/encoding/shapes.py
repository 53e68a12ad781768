"""Which shapes plans may choose for jobs on this federation, and what else then depends on them [49]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.compatibility import FIXED_SHAPES
from fedsched.engine.pack.choices import possible_shapes
from fedsched.engine.pack.power_cap_arrays import may_starve
from fedsched.engine.pack.problem import pack
from fedsched.engine.pack.shape_arrays import Shapes
from fedsched.engine.placement.tasks_per_node import most_nodes, most_of_groups, standing_of
from fedsched.engine.plans import plan_in_order
from fedsched.model.jobs.alternatives import may_shift
from fedsched.model.power.watts import drawn_watts
from fedsched.search.problem.packed import usable_placements

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading


class Choices(NamedTuple):
    """What plans may choose from."""

    shapes: Shapes
    which: Ints  # the place of each of these shapes among its job's alternatives
    most: Ints  # jobs x groups, or one column: how many nodes of a group each takes at most
    placements: Ints  # rules under which every job fits in each of its shapes
    may_starve: bool  # whether a cap on power may leave one of these shapes no time


def choices_on(workload: Workload, federation: Federation, reading: Reading, t0: float) -> Choices:
    """Return the shapes that the federation can hold; what it cannot is none of a plan's choices."""
    each, _, which, table, row_of = possible = possible_shapes(workload, federation, t0=t0)
    problem = pack(each, federation, reading=reading, t0=t0)
    most = most_of_groups(problem, np.arange(len(each)), each.tasks)
    limits = np.minimum(table[row_of], most)
    first, standing = possible.first, standing_of(problem)
    sigma, watts, need = np.zeros(0), np.zeros((0, 0)), np.zeros((0, 0), dtype=np.int64)
    if may_shift(workload):
        need = need if problem.extras is None else problem.extras.ceilings.need
        sigma, watts = problem.sigma, drawn_watts(problem.watts, federation.groups, np.arange(len(each))).copy()
    shapes = Shapes(
        first=first,
        tasks=problem.tasks,
        runtime=problem.runtime,
        estimate=problem.estimate,
        on_nodes=np.zeros(0, dtype=np.int64) if standing is None else standing.tasks,
        sigma=sigma,
        watts=watts,
        need=need,
        choosers=np.flatnonzero(np.diff(first) > 1),
        own_tasks=problem.tasks,  # each thread gets its own
        own_runtime=problem.runtime,
        own_estimate=problem.estimate,
        own_on_nodes=np.zeros(0, dtype=np.int64),
        own_sigma=np.zeros(0),
        own_watts=np.zeros((0, 0)),
        own_need=np.zeros((0, 0), dtype=np.int64),
    )
    for array in shapes:
        array.setflags(write=False)
    if not shapes.choosers.size:
        raise InfeasibleError(f"optimize: no job has an alternative that {federation.name} can hold; {FIXED_SHAPES}.")
    return Choices(
        shapes=shapes,
        which=which,
        most=np.maximum.reduceat(most, first[:-1], axis=0),
        placements=usable_placements(problem, plan_in_order(np.arange(len(each)), limits)),
        may_starve=problem.extras is not None and may_starve(problem.extras.ceilings, most_nodes(problem)),
    )
