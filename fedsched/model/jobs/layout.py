"""Layout: how many tasks of a job run on each of its nodes, and whether the job has these nodes to itself [55, 76]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.model.jobs.columns import JobAmounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload

PER_NODE, EXCLUSIVE, ON_NODES, NODES = "tasks_per_node", "exclusive", "tasks_on_nodes", "nodes"


class NodeLayout(JobAmounts):
    """How each job's tasks are laid out on nodes, in up to four columns.

    `tasks_per_node` is the number of tasks on each node; 0 = any number. `exclusive` is 1 if the job shares its nodes
    with no other job. `tasks_on_nodes` is the job's number of tasks if its `tasks` counts whole nodes, else 0. If such
    a job has tasks_per_node=0, nodes may hold different numbers of tasks, and `tasks` is the fewest nodes possible.
    `nodes` is the number of nodes that the job asked for, 0 if unknown; it does not decide where tasks run.
    """

    __slots__ = ()
    PREFIX = "layout."
    NAMES = (PER_NODE, EXCLUSIVE, ON_NODES, NODES)
    FIELD, OF, WHAT = "layout", "column", "how tasks are placed on nodes"

    @classmethod
    def of(cls, given: JobAmounts | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Self | None:
        """Return the checked layout of these jobs; None if all numbers are 0.

        For each column, `given` has one number for all jobs or one per job.
        """
        found = super().of(given, ids)
        if found is None:
            return None
        for name in found.names:
            if name not in cls.NAMES:
                raise unknown_name("column of layout", name, cls.NAMES)
        columns, none = found.columns(), np.zeros(len(ids), dtype=np.int64)
        alone = columns.get(EXCLUSIVE, none)
        for row in np.flatnonzero(alone > 1)[:1].tolist():
            raise ValueError(f"Job {ids[row]}: {EXCLUSIVE}={alone[row]} must be 0 or 1 (1: no other job on its nodes).")
        there = columns.get(ON_NODES, none)
        for row in np.flatnonzero((there > 0) & (columns.get(PER_NODE, none) == 0) & (alone == 0))[:1].tolist():
            raise ValueError(
                f"Job {ids[row]}: {ON_NODES}={there[row]} needs {PER_NODE} or {EXCLUSIVE}; give one of them."
            )
        return found


def layout_of(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return each job's tasks per node (0 = any number), and whether the job shares its nodes with no other."""
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else workload.layout.columns()
    return columns.get(PER_NODE, none), columns.get(EXCLUSIVE, none) > 0


def requested_nodes(workload: Workload) -> NDArray[np.int64]:
    """Return the number of nodes that each job asks for, 0 if it is not known."""
    none = np.zeros(len(workload), dtype=np.int64)
    return none if workload.layout is None else workload.layout.columns().get(NODES, none)


def tasks_on_nodes(workload: Workload) -> NDArray[np.int64]:
    """Return the number of tasks of each job if the workload's `tasks` counts whole nodes for the job, else 0."""
    none = np.zeros(len(workload), dtype=np.int64)
    return none if workload.layout is None else workload.layout.columns().get(ON_NODES, none)


def own_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return the true number of tasks of each job, even if the workload's `tasks` counts whole nodes for the job."""
    on_nodes = tasks_on_nodes(workload)
    return np.asarray(np.where(on_nodes > 0, on_nodes, workload.tasks))


def with_task_counts(layout: NodeLayout | None, tasks: NDArray[np.int64], ids: NDArray[np.int64]) -> NodeLayout | None:
    """Return the layout with `tasks_on_nodes` set to `tasks` for the jobs that count whole nodes.

    All else is unchanged.
    """
    if layout is None or (columns := layout.columns()).get(ON_NODES) is None:
        return layout
    return NodeLayout.of({**columns, ON_NODES: np.where(columns[ON_NODES] > 0, tasks, 0)}, ids)


def with_tasks_per_node(workload: Workload, tasks: int) -> Workload:
    """Return the jobs with this many tasks per node; jobs that state a number or are exclusive keep theirs."""
    each, alone = layout_of(workload)
    columns = {} if workload.layout is None else workload.layout.columns()
    given = np.where((each == 0) & ~alone, tasks, each)
    history = (*workload.history, f"{PER_NODE}={tasks}")
    return replace(workload, layout=NodeLayout.of({**columns, PER_NODE: given}, workload.id), history=history)
