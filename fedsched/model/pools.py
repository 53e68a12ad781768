"""How much of a federation's pools, such as licences, every job needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.validation import check_labels, table_column
from fedsched.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload


POOL_PREFIX = "pool."  # of a table's column of needs; the pool's name follows


@dataclass(frozen=True, slots=True, eq=False)
class PoolNeeds:
    """How much of each pool every job needs: a name a column, a row a job."""

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

    def take(self, rows: NDArray[np.int64]) -> PoolNeeds:
        """Return the needs of some of the jobs."""
        return PoolNeeds(self.names, self.amounts[rows])

    def of_job(self, row: int) -> dict[str, int] | None:
        """Return what one job needs, by name; None where that is nothing."""
        return {name: int(need) for name, need in zip(self.names, self.amounts[row], strict=True) if need} or None

    def columns(self) -> dict[str, NDArray[np.int64]]:
        """Return the needs by name."""
        return {name: self.amounts[:, p] for p, name in enumerate(self.names)}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PoolNeeds):
            return NotImplemented
        return self.names == other.names and np.array_equal(self.amounts, other.amounts)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        used = [(name, int((self.amounts[:, p] > 0).sum())) for p, name in enumerate(self.names)]
        return ", ".join(f"{one_line(name)} by {counted(jobs, 'job')}" for name, jobs in used)


def needs_in(columns: Mapping[str, NDArray[np.generic]]) -> dict[str, NDArray[np.generic]] | None:
    """Return the needs by pool among a table's columns, or None where there are none."""
    return {key.removeprefix(POOL_PREFIX): columns[key] for key in columns if key.startswith(POOL_PREFIX)} or None


def joined_needs(needs: Iterable[tuple[PoolNeeds | None, int]]) -> dict[str, NDArray[np.int64]]:
    """Return the needs of several workloads' jobs one after the other, each with its number of jobs."""
    parts = list(needs)
    names = dict.fromkeys(name for one, _ in parts if one is not None for name in one.names)
    none = {jobs: np.zeros(jobs, dtype=np.int64) for _, jobs in parts}
    tables = [({} if one is None else one.columns(), none[jobs]) for one, jobs in parts]
    return {name: np.concatenate([table.get(name, nothing) for table, nothing in tables]) for name in names}


def needs_on(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return how much of each of the federation's pools every job needs, jobs × pools."""
    none = np.zeros(len(workload), dtype=np.int64)
    needs = {} if workload.pools is None else workload.pools.columns()
    columns = [needs.get(pool.name, none) for pool in federation.pools]
    return np.stack(columns, axis=1) if columns else np.zeros((len(workload), 0), dtype=np.int64)


def unlimited(workload: Workload, federation: Federation) -> list[str]:
    """Return which needs bind nobody, for the federation has no such pool."""
    if workload.pools is None:
        return []
    known = {pool.name for pool in federation.pools}
    return [
        f"{counted(int((column > 0).sum()), 'job')} with needs of {one_line(name)!r} (the machine has no such pool)"
        for name, column in workload.pools.columns().items()
        if name not in known and column.any()
    ]
