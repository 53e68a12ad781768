"""How much of a federation's pools, such as licences, every job needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.model.validation import check_labels, table_column
from fedsched.text import counted, one_line

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload


@dataclass(frozen=True, slots=True, eq=False)
class PoolNeeds(JobColumns):
    """How much of each pool every job needs: a name a column, a row a job."""

    PREFIX = "pool."
    CELL = int
    NOTHING = 0

    names: tuple[str, ...]
    amounts: NDArray[np.int64]

    @classmethod
    def of(cls, given: PoolNeeds | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> PoolNeeds | None:
        """Return the needs of these jobs, or None where they need nothing: a number for all or one a job, by name."""
        if isinstance(given, PoolNeeds):
            given = dict(zip(given.names, given.amounts.T, strict=True))
        if not isinstance(given, Mapping):
            raise TypeError(f"Workload: pools={given!r} must give the jobs' needs by the pools' names: {{'ansys': 1}}.")
        names = check_labels("Workload: pool", given)
        columns = [table_column(f"pools[{name!r}]", given[name], len(ids), np.int64, ids) for name in names]
        for name, column in zip(names, columns, strict=True):
            if (short := np.flatnonzero(column < 0)).size:
                raise ValueError(f"Job {ids[short[0]]}: it needs {column[short[0]]} of pool {name!r}; at least 0.")
        if not any(column.any() for column in columns):
            return None
        amounts = np.stack(columns, axis=1)
        amounts.setflags(write=False)
        return cls(names, amounts)

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return the needs by name."""
        return {name: self.amounts[:, p] for p, name in enumerate(self.names)}

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return which needs bind nobody, for the federation has no such pool."""
        known = {pool.name for pool in federation.pools}
        return [
            f"{counted(int((column > 0).sum()), 'job')} with needs of {one_line(name)!r} (the machine has no such pool)"
            for name, column in self.columns().items()
            if name not in known and column.any()
        ]

    def __str__(self) -> str:
        used = [(name, int((self.amounts[:, p] > 0).sum())) for p, name in enumerate(self.names)]
        return ", ".join(f"{one_line(name)} by {counted(jobs, 'job')}" for name, jobs in used)


def needs_on(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return how much of each of the federation's pools every job needs, jobs × pools."""
    none = np.zeros(len(workload), dtype=np.int64)
    needs = {} if workload.pools is None else workload.pools.columns()
    columns = [needs.get(pool.name, none) for pool in federation.pools]
    return np.stack(columns, axis=1) if columns else np.zeros((len(workload), 0), dtype=np.int64)
