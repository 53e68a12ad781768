"""How a job's tasks stand on nodes: so many to a node, or on nodes of its own [55, 76]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Self

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.model.jobs.amounts import JobAmounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.jobs.workload import Workload

PER_NODE, EXCLUSIVE, ON_NODES, NODES = "tasks_per_node", "exclusive", "tasks_on_nodes", "nodes"


class NodeLayout(JobAmounts):
    """How many tasks stand on each node, 0 = as it comes, and whether nobody else does, 1 = nobody.

    Of a job whose `tasks` count whole nodes already `tasks_on_nodes` is how many tasks stand on these; 0: of no other.
    Where such a job does not say how many stand on each, nodes hold different numbers: its `tasks` are the fewest.
    For how many nodes a job has asked is `nodes`; 0: nobody tells. Where its tasks stand `tasks_per_node` says.
    """

    __slots__ = ()
    PREFIX = "layout."
    NAMES = (PER_NODE, EXCLUSIVE, ON_NODES, NODES)
    FIELD, OF, WHAT = "layout", "column", "how tasks stand on nodes"

    @classmethod
    def of(cls, given: JobAmounts | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Self | None:
        """Return the layout of these jobs, None where all is 0: a number for all or one a job, by name."""
        found = super().of(given, ids)
        if found is None:
            return None
        for name in found.names:
            if name not in cls.NAMES:
                raise unknown_name("column of layout", name, cls.NAMES)
        columns, none = found.columns(), np.zeros(len(ids), dtype=np.int64)
        alone = columns.get(EXCLUSIVE, none)
        for row in np.flatnonzero(alone > 1)[:1].tolist():
            raise ValueError(f"Job {ids[row]}: {EXCLUSIVE}={alone[row]} must be 0 or 1 (nobody else on its nodes).")
        there = columns.get(ON_NODES, none)
        for row in np.flatnonzero((there > 0) & (columns.get(PER_NODE, none) == 0) & (alone == 0))[:1].tolist():
            raise ValueError(f"Job {ids[row]}: {ON_NODES}={there[row]} says nothing without {PER_NODE} or {EXCLUSIVE}.")
        return found


def layout_of(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many tasks of each job stand on a node, 0 = as it comes, and whether nobody else does."""
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else workload.layout.columns()
    return columns.get(PER_NODE, none), columns.get(EXCLUSIVE, none) > 0


def nodes_asked(workload: Workload) -> NDArray[np.int64]:
    """Return for how many nodes each job asks by their number, 0 of those of which nobody tells."""
    none = np.zeros(len(workload), dtype=np.int64)
    return none if workload.layout is None else workload.layout.columns().get(NODES, none)


def tasks_on_nodes(workload: Workload) -> NDArray[np.int64]:
    """Return how many tasks stand on the nodes of each job whose `tasks` count whole nodes, 0 of all others."""
    none = np.zeros(len(workload), dtype=np.int64)
    return none if workload.layout is None else workload.layout.columns().get(ON_NODES, none)


def own_tasks(workload: Workload) -> NDArray[np.int64]:
    """Return how many tasks each job has, also where its `tasks` count whole nodes."""
    on_nodes = tasks_on_nodes(workload)
    return np.asarray(np.where(on_nodes > 0, on_nodes, workload.tasks))


def standing_on(layout: NodeLayout | None, tasks: NDArray[np.int64], ids: NDArray[np.int64]) -> NodeLayout | None:
    """Return the layout of jobs of which some count whole nodes, of so many tasks."""
    if layout is None or (columns := layout.columns()).get(ON_NODES) is None:
        return layout
    return NodeLayout.of({**columns, ON_NODES: np.where(columns[ON_NODES] > 0, tasks, 0)}, ids)


def standing_together(workload: Workload, tasks: int) -> Workload:
    """Return the jobs with so many tasks on each node of those that do not say how many, nor are alone on theirs."""
    each, alone = layout_of(workload)
    columns = {} if workload.layout is None else workload.layout.columns()
    given = np.where((each == 0) & ~alone, tasks, each)
    history = (*workload.history, f"{PER_NODE}={tasks}")
    return replace(workload, layout=NodeLayout.of({**columns, PER_NODE: given}, workload.id), history=history)
