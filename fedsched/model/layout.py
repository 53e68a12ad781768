"""How a job's tasks stand on nodes that jobs may share: so many to a node, or on nodes of its own [55]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np

from fedsched.errors import unknown_name
from fedsched.model.amounts import JobAmounts
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

PER_NODE, EXCLUSIVE = "tasks_per_node", "exclusive"


class NodeLayout(JobAmounts):
    """How many tasks stand on each node, 0 = as it comes, and whether nobody else does, 1 = nobody."""

    __slots__ = ()
    PREFIX = "layout."
    NAMES = (PER_NODE, EXCLUSIVE)
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
        alone = found.columns().get(EXCLUSIVE, np.zeros(0, dtype=np.int64))
        for row in np.flatnonzero(alone > 1)[:1].tolist():
            raise ValueError(f"Job {ids[row]}: {EXCLUSIVE}={alone[row]} must be 0 or 1 (nobody else on its nodes).")
        return found

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return what means nothing where each task has a node of its own."""
        jobs = self.jobs_with().get(PER_NODE, 0)
        return [f"{counted(jobs, 'job')} with so many tasks to a node (each has one of its own)"] if jobs else []


def layout_of(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return how many tasks of each job stand on a node, 0 = as it comes, and whether nobody else does."""
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else workload.layout.columns()
    return columns.get(PER_NODE, none), columns.get(EXCLUSIVE, none) > 0
