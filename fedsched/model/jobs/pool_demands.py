"""How much of a federation's pools, such as licences, each job needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.jobs.amounts import JobAmounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation, Pool


class PoolNeeds(JobAmounts):
    """How much of each pool a job needs, from its start to its finish."""

    __slots__ = ()
    PREFIX = "pool."
    FIELD, OF, WHAT = "pools", "pool", "the jobs' needs"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, which needs have no effect because the federation has no such pool."""
        known = {pool.name for pool in federation.pools}
        return [
            f"{counted(jobs, 'job')} with needs of {one_line(name)!r} (the machine has no such pool)"
            for name, jobs in self.jobs_with().items()
            if name not in known and jobs
        ]


def needs_on(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × pools: how much of each of the federation's pools a job needs."""
    none = np.zeros(len(workload), dtype=np.int64)
    needs = {} if workload.pools is None else workload.pools.columns()
    columns = [needs.get(pool.name, none) for pool in federation.pools]
    return np.stack(columns, axis=1) if columns else np.zeros((len(workload), 0), dtype=np.int64)


def needs_on_clusters(workload: Workload, federation: Federation) -> dict[Pool, NDArray[np.int64]]:
    """Return each job's need of every pool that belongs to one cluster."""
    needs = needs_on(workload, federation).T
    return {pool: need for pool, need in zip(federation.pools, needs, strict=True) if pool.cluster is not None}


def have_pools(needs: Mapping[Pool, NDArray[np.int64]], federation: Federation, jobs: int) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a group belongs to the cluster of every cluster pool that the job needs [30]."""
    of_group = np.array(federation.group_cluster)
    have = np.ones((jobs, of_group.size), dtype=np.bool_)
    for pool, need in needs.items():
        there = of_group == [cluster.name for cluster in federation.clusters].index(str(pool.cluster))
        have &= (need == 0)[:, None] | there
    return have
