"""Moldable jobs: jobs with several shapes (tasks and times), each of which takes one as it joins the queue [52].

In a problem with such jobs, the columns of tasks and times are views of arrays of the state, so they change with it.
Every compiled function takes the extras, or their state, first, and is compiled to nothing if a problem has none. If no
job may choose, the arrays are empty.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference, constant, inlined
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.placement.tasks_per_node import places_on, tasks_per_node_of, with_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.engine.arrays.structs import Extras, ExtraState, Floats, Ints, Problem, State

STANDS, PLANNED_TO = constant(0), constant(1)  # in `Molded.number`


@by_reference
class Moldable(NamedTuple):
    """The shapes of every job, job by job: tasks and times; the first is the one with which the job is submitted."""

    first: Ints  # where each job's shapes begin, and where those of the last job end
    which: Ints  # its place among the job's alternatives
    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # total tasks, if communication counts them (placement/tasks_per_node.py); else empty
    kind: Ints  # its kind by what it takes of limits (pack/limit_classes.py); empty if a job's shapes are of one kind
    end: Ints  # how a job ends in it, an Awaits; empty if that does not depend on the shape


@by_reference
class Molded(NamedTuple):
    """The shapes that jobs have now, and the state of the plan by which joining jobs choose their shapes."""

    at: Ints  # job: the row of its shape
    tasks: Ints
    runtime: Floats
    estimate: Floats
    on_nodes: Ints  # as in Moldable
    number: Ints  # [0]: 1 while the plan of this instant is kept, [1]: it includes waiting jobs below this position
    load: Floats  # per cluster: the load now, with jobs that are planned to start now
    true_load: Floats  # scratch: the load now without these


@inlined
def may_choose(extras: Extras | None) -> bool:
    """Return whether there are jobs that choose their shapes, by the extras of the problem."""
    if extras is None:
        return False
    return extras.moldable.which.size > 0


@inlined
def choose_shapes(state: ExtraState | None) -> bool:
    """Return whether there are jobs that choose their shapes, by the extras of the state."""
    if state is None:
        return False
    return state.molded.at.size > 0


@inlined
def reset(extras: Extras | None, state: ExtraState | None) -> None:
    """Reset for a run: every job has its first shape, and there is no plan for choosing shapes."""
    if extras is None or state is None:
        return
    begin_instant(state)
    for j in range(state.molded.at.size):
        take_shape(extras.moldable, state, j, extras.moldable.first[j])


@inlined
def take_shape(moldable: Moldable, state: ExtraState, j: int, at: int) -> None:
    """Give a job the shape in row `at`: write its tasks and times, and its kind by limits, into the state."""
    molded = state.molded
    molded.at[j] = at
    molded.tasks[j] = moldable.tasks[at]
    molded.runtime[j] = moldable.runtime[at]
    molded.estimate[j] = moldable.estimate[at]
    if molded.on_nodes.size > 0:
        molded.on_nodes[j] = moldable.on_nodes[at]
    if moldable.kind.size > 0:
        state.limited.kind[j] = moldable.kind[at]


@inlined
def begin_instant(state: ExtraState | None) -> None:
    """Drop the plan that was made to choose shapes at the previous instant."""
    if state is None:
        return
    if state.molded.number.size > 0:
        state.molded.number[STANDS] = 0


@inlined
def first_shape_tasks(extras: Extras | None, tasks: Ints, j: int) -> int:
    """Return the tasks of a job's first shape, by which queue orders sort; its `tasks` if no job has several shapes."""
    if extras is None:
        return tasks[j]
    moldable = extras.moldable
    return moldable.tasks[moldable.first[j]] if moldable.which.size > 0 else tasks[j]


@inlined
def first_shape_estimate(extras: Extras | None, estimate: Floats, j: int) -> float:
    """Return the estimate, in seconds, of a job's first shape, by which queue orders sort."""
    if extras is None:
        return estimate[j]
    moldable = extras.moldable
    return moldable.estimate[moldable.first[j]] if moldable.which.size > 0 else estimate[j]


def moldable_of(problem: Problem) -> Moldable | None:
    """Return the shapes of a problem's jobs; None if no job chooses its shape."""
    return None if problem.extras is None or not problem.extras.moldable.which.size else problem.extras.moldable


def widest_of(problem: Problem) -> Ints:
    """Return for each job the most tasks among its shapes."""
    if (moldable := moldable_of(problem)) is None:
        return problem.tasks
    return np.maximum.reduceat(moldable.tasks, moldable.first[:-1])


def in_each_shape(problem: Problem, usable: Ints) -> Iterator[Problem]:
    """Yield the problem, then the problem with all jobs in their second shape, their third, and so on.

    Where a job has fewer shapes, its last one is taken. Where that shape does not fit on the `usable` nodes (jobs ×
    groups), the job keeps its present shape.
    """
    yield problem
    if (moldable := moldable_of(problem)) is None:
        return
    many, held = np.diff(moldable.first), (usable * places_on(problem, np.arange(problem.tasks.size))[0]).sum(axis=1)
    for k in range(1, int(many.max())):
        at = moldable.first[:-1] + np.minimum(k, many - 1)
        tasks = wanted = moldable.tasks[at]
        shaped, per_node = problem, tasks_per_node_of(problem)
        if moldable.on_nodes.size and per_node is not None:
            if per_node.row.size:
                wanted = np.where(per_node.row >= 0, moldable.on_nodes[at], tasks)
            shaped = with_tasks(problem, read_only(np.where(wanted <= held, moldable.on_nodes[at], per_node.tasks)))
        yield shaped._replace(tasks=read_only(np.where(wanted <= held, tasks, problem.tasks)))


def with_current_shapes(problem: Problem, state: State) -> Problem:
    """Return the problem with views of the state's tasks and times as columns: they change as jobs choose shapes.

    Return the problem itself if no job chooses.
    """
    if problem.extras is None or state.extras is None or moldable_of(problem) is None:
        return problem
    molded, extras = state.extras.molded, problem.extras
    tasks = read_only(molded.tasks)
    if extras.limits.tasks.size:
        extras = extras._replace(limits=extras.limits._replace(tasks=tasks))
    if molded.on_nodes.size:
        extras = extras._replace(standing=extras.standing._replace(tasks=read_only(molded.on_nodes)))
    return problem._replace(
        tasks=tasks, runtime=read_only(molded.runtime), estimate=read_only(molded.estimate), extras=extras
    )
