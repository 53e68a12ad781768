"""The shapes that jobs with several shapes have chosen in runs side by side, as kernels read them [52]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined
from fedsched.engine.arrays.structs import Limits
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.placement.tasks_per_node import TasksPerNode

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Ints, State
    from fedsched.engine.optional_features.moldable import Moldable


@by_reference
class ChosenShapes(NamedTuple):
    """The chosen shapes of jobs, run × job, read-only here; empty if no job chooses a shape."""

    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # empty unless the tasks on each node are counted

    @classmethod
    def in_states(cls, states: State, runs: int) -> ChosenShapes:
        """Return the chosen shapes in the states of these runs, as views."""
        if states.extras is None:
            whole, real = read_only(np.zeros((runs, 0), np.int64)), read_only(np.zeros((runs, 0)))
            return cls(whole, real, real, whole)
        molded = states.extras.molded
        return cls(
            read_only(molded.tasks), read_only(molded.runtime), read_only(molded.estimate), read_only(molded.on_nodes)
        )


@inlined
def tasks_per_node_as_chosen(
    standing: TasksPerNode, moldable: Moldable, chosen: ChosenShapes, b: int, first: int, last: int
) -> TasksPerNode:
    """Return the tasks per node of the jobs `first` to `last` − 1 in run b, for the shapes that they have chosen."""
    tasks = standing.tasks[first:last]
    if moldable.on_nodes.size > 0:
        tasks = chosen.on_nodes[b]
    return TasksPerNode(standing.each[first:last], tasks, standing.row[first:last], standing.fits)


@inlined
def limits_as_chosen(limits: Limits, moldable: Moldable, chosen: ChosenShapes, b: int) -> Limits:
    """Return the limits on run b's jobs, with tasks counted in the shapes that the jobs have chosen."""
    tasks = limits.tasks
    if moldable.which.size > 0 and tasks.size > 0:
        tasks = chosen.tasks[b]
    return Limits(
        limits.amount, limits.kind, limits.first, limits.counter, limits.weight, limits.row, limits.of_node,
        limits.first_kind, limits.of_counter, limits.kind_weight, limits.first_place, limits.first_node, tasks,
    )  # fmt: skip


@inlined
def tasks_as_chosen(extras: Extras | None, recorded: Ints, chosen: Ints) -> Ints:
    """Return the task counts of a run's jobs: `chosen` if jobs choose shapes, else `recorded`."""
    if extras is None:
        return recorded
    if extras.moldable.which.size > 0:
        return chosen
    return recorded


@inlined
def times_as_chosen(extras: Extras | None, recorded: Floats, chosen: Floats) -> Floats:
    """Return the run times or estimates of a run's jobs: `chosen` if jobs choose shapes, else `recorded`.

    It is `tasks_as_chosen` for other numbers: a compiled function takes arrays of one type.
    """
    if extras is None:
        return recorded
    if extras.moldable.which.size > 0:
        return chosen
    return recorded
