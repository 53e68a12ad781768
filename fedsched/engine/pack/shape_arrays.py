"""Shapes as arrays: alternative tasks, run times, estimates and gears of jobs [49, 77].

A plan gives each job one of its shapes. If plans choose, the columns of the problem are views of arrays that are
written before a plan runs. Every compiled function takes the shapes first, and is compiled to nothing if a problem has
none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, inlined
from fedsched.engine.placement.tasks_per_node import tasks_per_node_of, with_tasks

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Floats, Ints, Problem

RULES = 2  # numbers behind order and caps in a row: dispatch, placement


@by_reference
class Shapes(NamedTuple):
    """The shapes of every job, the present one first; and (`own_`) the columns of the problem that plans write."""

    first: Ints  # where each job's shapes begin, and where those of the last job end
    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # total tasks, if communication counts them (placement/tasks_per_node.py); else empty
    sigma: Floats  # compute share; like `watts`, empty if no shape has a gear or share of its own
    watts: Floats  # shape x group: what its nodes draw
    need: Ints  # shape x group: what its nodes take of power caps; empty if shapes do not differ, or without caps
    kind: Ints  # its kind by what it takes of limits (pack/limit_classes.py); empty without limits
    choosers: Ints  # the jobs that have several
    own_tasks: Ints
    own_runtime: Floats
    own_estimate: Floats
    own_on_nodes: Ints
    own_sigma: Floats
    own_watts: Floats
    own_need: Ints
    own_kind: Ints


def with_writable_shapes(problem: Problem, shapes: Shapes) -> tuple[Problem, Shapes]:
    """Return the problem with new columns of tasks and times, and the shapes with these columns to write to.

    Plans can then give jobs other shapes; the problem given stays as it is.
    """
    tasks, runtime, estimate = problem.tasks.copy(), problem.runtime.copy(), problem.estimate.copy()
    on_nodes, per_node = np.zeros(0, dtype=np.int64), tasks_per_node_of(problem)
    if shapes.on_nodes.size and per_node is not None:
        on_nodes = per_node.tasks.copy()
        problem = with_tasks(problem, read_only(on_nodes))
    sigma, watts = np.zeros(0), np.zeros((0, 0))
    if shapes.sigma.size:
        sigma, watts = problem.sigma.copy(), np.zeros((tasks.size, shapes.watts.shape[1]))
        watts[:] = problem.watts if problem.watts.size else problem.groups.busy_watts
        problem = problem._replace(sigma=read_only(sigma), watts=read_only(watts))
    need = np.zeros((0, 0), dtype=np.int64)
    if shapes.need.size and (extras := problem.extras) is not None:
        need = extras.ceilings.need.copy()
        power_caps = extras.ceilings._replace(need=read_only(need))
        problem = problem._replace(extras=extras._replace(ceilings=power_caps))
    kind = np.zeros(0, dtype=np.int64)
    if shapes.kind.size and (extras := problem.extras) is not None:
        kind = extras.limits.kind.copy()
        limits = extras.limits._replace(kind=read_only(kind), tasks=read_only(tasks))
        problem = problem._replace(extras=extras._replace(limits=limits))
    own = shapes._replace(
        own_tasks=tasks, own_runtime=runtime, own_estimate=estimate, own_on_nodes=on_nodes, own_sigma=sigma,
        own_watts=watts, own_need=need, own_kind=kind,
    )  # fmt: skip
    return problem._replace(tasks=read_only(tasks), runtime=read_only(runtime), estimate=read_only(estimate)), own


def write_shapes(shapes: Shapes, choices: Ints) -> None:
    """Write the tasks, times, watts, ... of each job's chosen shape into the problem's columns.

    `choices` has the number of the shape of each job. This is `shape_all` for callers in Python.
    """
    at = shapes.first[:-1] + choices
    for name in ("tasks", "runtime", "estimate", "on_nodes", "sigma", "watts", "need", "kind"):
        if (values := getattr(shapes, name)).size:
            getattr(shapes, f"own_{name}")[: at.size] = values[at]


def read_only(column: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of a column, as kernels need it; the column itself stays writable."""
    view = column.view()
    view.setflags(write=False)
    return view


@inlined
def jobs_of(shapes: Shapes | None, length: int, groups: int) -> int:
    """Return the number of jobs in a plan that is a row of `length` integers, on `groups` node groups."""
    if shapes is None:
        return (length - RULES) // (1 + groups)
    return (length - RULES) // (2 + groups)


@inlined
def choices_begin(jobs: int, groups: int) -> int:
    """Return the index in a plan's row at which the choices of shapes begin: after order, caps and rules."""
    return jobs * (1 + groups) + RULES


@inlined
def tasks_in(shapes: Shapes | None, problem: Problem, groups: int, row: Ints, j: int) -> int:
    """Return the number of tasks of job `j` in the shape that the plan `row` chooses for it."""
    if shapes is None:
        return problem.tasks[j]
    return shapes.tasks[shapes.first[j] + row[choices_begin(shapes.first.size - 1, groups) + j]]


@inlined
def shape_job(shapes: Shapes | None, groups: int, row: Ints, j: int) -> None:
    """Write the tasks, times, ... of the shape that the plan `row` chooses for job `j` into the problem's columns."""
    if shapes is None:
        return
    at = shapes.first[j] + row[choices_begin(shapes.first.size - 1, groups) + j]
    shapes.own_tasks[j] = shapes.tasks[at]
    shapes.own_runtime[j] = shapes.runtime[at]
    shapes.own_estimate[j] = shapes.estimate[at]
    if shapes.own_on_nodes.size > 0:
        shapes.own_on_nodes[j] = shapes.on_nodes[at]
    if shapes.own_sigma.size > 0:
        shapes.own_sigma[j] = shapes.sigma[at]
        for g in range(groups):
            shapes.own_watts[j, g] = shapes.watts[at, g]
    if shapes.own_need.size > 0:
        for g in range(groups):
            shapes.own_need[j, g] = shapes.need[at, g]
    if shapes.own_kind.size > 0:
        shapes.own_kind[j] = shapes.kind[at]


@inlined
def shape_all(shapes: Shapes | None, groups: int, row: Ints) -> None:
    """Write the shape that the plan `row` chooses for each job into the problem's columns."""
    if shapes is None:
        return
    for j in range(shapes.first.size - 1):
        shape_job(shapes, groups, row, j)


@inlined
def inherit_shape(shapes: Shapes | None, groups: int, parent: Ints, child: Ints, j: int) -> None:
    """Copy the choice of job `j`'s shape from the plan `parent` into the plan `child`."""
    if shapes is None:
        return
    at = choices_begin(shapes.first.size - 1, groups) + j
    child[at] = parent[at]
