"""The shapes that the jobs of runs side by side have taken, as kernels read them [52]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined
from fedsched.engine.arrays.structs import Limits
from fedsched.engine.pack.shape_arrays import seen
from fedsched.engine.placement.tasks_per_node import Standing

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Ints, State
    from fedsched.engine.optional_features.moldable import Moldable


@by_reference
class ChosenShapes(NamedTuple):
    """The shapes that the jobs of each run have, run x job, not to be written here; of no size where none choose."""

    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # of no size unless what jobs send counts tasks on nodes

    @classmethod
    def in_states(cls, states: State, runs: int) -> ChosenShapes:
        """Return what the states of these runs say, as views."""
        if states.extras is None:
            whole, real = seen(np.zeros((runs, 0), np.int64)), seen(np.zeros((runs, 0)))
            return cls(whole, real, real, whole)
        molded = states.extras.molded
        return cls(seen(molded.tasks), seen(molded.runtime), seen(molded.estimate), seen(molded.on_nodes))


@inlined
def standing_as_chosen(
    standing: Standing, moldable: Moldable, chosen: ChosenShapes, b: int, first: int, last: int
) -> Standing:
    """Return how many tasks stand on the nodes of each job of a run, in the shape that it has."""
    tasks = standing.tasks[first:last]
    if moldable.on_nodes.size > 0:
        tasks = chosen.on_nodes[b]
    return Standing(standing.each[first:last], tasks, standing.row[first:last], standing.fits)


@inlined
def limits_as_chosen(limits: Limits, moldable: Moldable, chosen: ChosenShapes, b: int) -> Limits:
    """Return the limits of a run's jobs, which count tasks of the shapes that these have."""
    tasks = limits.tasks
    if moldable.which.size > 0 and tasks.size > 0:
        tasks = chosen.tasks[b]
    return Limits(
        limits.amount, limits.kind, limits.first, limits.counter, limits.weight, limits.row, limits.of_node,
        limits.first_kind, limits.of_counter, limits.kind_weight, limits.first_place, limits.first_node, tasks,
    )  # fmt: skip


@inlined
def tasks_as_chosen(extras: Extras | None, recorded: Ints, chosen: Ints) -> Ints:
    """Return the tasks of the jobs of a run, in the shapes that they have where they choose them."""
    if extras is None:
        return recorded
    if extras.moldable.which.size > 0:
        return chosen
    return recorded


@inlined
def times_as_chosen(extras: Extras | None, recorded: Floats, chosen: Floats) -> Floats:
    """Return the same of their times: a compiled function takes arrays of one kind."""
    if extras is None:
        return recorded
    if extras.moldable.which.size > 0:
        return chosen
    return recorded
