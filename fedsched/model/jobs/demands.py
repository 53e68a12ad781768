"""What jobs demand of the machine besides nodes: cores, memory and GPUs, and units of pools [30, 50, 55].

Amounts are whole numbers by name. Those of cores, memory and GPUs are what each node of a job must have, or what each
task takes if jobs share nodes or several of a job's tasks are on one node. The demand "gpu" takes whole GPUs;
"gpu_share" takes a share of one GPU, in thousandths. A pool, such as licences of a program, belongs to no node.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.core.text import counted, one_line
from fedsched.core.values import is_number
from fedsched.model.jobs.columns import JobAmounts
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation, NodeGroup, Pool

MOST = 2**53  # of one resource of one node
CORES = "cpu"  # a task has one if its job does not say
GPU, SHARE = "gpu", "gpu_share"
WHOLE = 1000  # thousandths of a device
ANY = np.iinfo(np.int64).max  # tasks per node if no demand limits them


class NodeDemands(JobAmounts):
    """How much of each resource, such as memory, every node of a job must have: one column per resource.

    If jobs share nodes, or several of a job's tasks are on one node, it is what each task takes.
    """

    __slots__ = ()
    PREFIX = "demand."
    FIELD, OF, WHAT = "demand", "resource", "what each node must have"

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return, in words, which demands have no effect because no node states its amount of the resource."""
        known = stated_resources(federation)
        return [
            f"{counted(jobs, 'job')} with a demand of {one_line(name)!r} (the machine's nodes do not say)"
            for name, jobs in self.jobs_with().items()
            if name not in known and jobs
        ]


def checked_resources(given: Mapping[str, int] | Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return a node's resources as pairs of name and amount; raise if a name or an amount is invalid."""
    pairs = tuple(given.items()) if isinstance(given, Mapping) else _pairs(given)
    try:
        check_labels("NodeGroup: resource", (name for name, _ in pairs))
    except ValueError as error:
        raise FederationError(str(error)) from None
    for name, amount in pairs:
        if not is_number(amount) or int(amount) != amount or not 0 <= amount <= MOST:
            raise FederationError(
                f"NodeGroup: resources[{name!r}]={amount!r} must be a whole number of at least 0 (memory in MiB)."
            )
    return tuple((name, int(amount)) for name, amount in pairs)


def _pairs(given: Any) -> tuple[tuple[str, int], ...]:
    try:
        return tuple((name, amount) for name, amount in given)
    except (TypeError, ValueError):
        raise FederationError(
            f"NodeGroup: resources={given!r} must give numbers by name: {{'cpu': 40, 'memory': 187000, 'gpu': 2}}."
        ) from None


def stated_resources(federation: Federation) -> frozenset[str]:
    """Return the names of the resources of which at least one node states its amount."""
    return frozenset(name for group in federation.groups for name, _ in group.resources)


def demands_on(workload: Workload, federation: Federation) -> dict[str, NDArray[np.int64]]:
    """Return, by resource, the amount that every node of each job must have.

    Resources of which no node of this federation states an amount are left out.
    """
    if workload.demand is None:
        return {}
    known = stated_resources(federation)
    return {name: column for name, column in workload.demand.columns().items() if name in known}


def have_resources(demands: Mapping[str, NDArray[np.int64]], groups: Sequence[NodeGroup]) -> NDArray[np.bool_]:
    """Return jobs × groups: whether each node of the group has at least the amounts that the job demands of a node.

    A node has 0 of a resource that its group does not state.
    """
    enough = [
        column[:, None] <= np.array([dict(group.resources).get(name, 0) for group in groups])
        for name, column in demands.items()
    ]
    return np.asarray(np.logical_and.reduce(enough), dtype=np.bool_)


def demand_in_words(demands: Mapping[str, NDArray[np.int64]], row: int) -> str:
    """Return one job's demand on each of its nodes in words, without zeros: "memory 250000, gpu 2"."""
    return ", ".join(f"{one_line(name)} {column[row]}" for name, column in demands.items() if column[row])


class PoolNeeds(JobAmounts):
    """How much of each pool, such as licences, a job holds from its start to its finish: one column per pool."""

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


def pool_needs(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × pools: how much of each of the federation's pools a job needs."""
    none = np.zeros(len(workload), dtype=np.int64)
    needs = {} if workload.pools is None else workload.pools.columns()
    columns = [needs.get(pool.name, none) for pool in federation.pools]
    return np.stack(columns, axis=1) if columns else np.zeros((len(workload), 0), dtype=np.int64)


def pool_amounts(workload: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return the amounts of the federation's pools; raise InfeasibleError if a job needs more than one has [30]."""
    amount = np.array([pool.amount for pool in federation.pools], dtype=np.int64)
    need = pool_needs(workload, federation)
    for row, p in np.argwhere(need > amount)[:1]:
        pool = federation.pools[p]
        raise InfeasibleError(
            f"Job {workload.id[row]}: it needs {need[row, p]} of pool {pool.name!r}, which has {pool.amount}; drop it, "
            "or give the federation a larger pool."
        )
    return amount


def cluster_pool_needs(workload: Workload, federation: Federation) -> dict[Pool, NDArray[np.int64]]:
    """Return, for every pool that belongs to one cluster, how much of it each job needs."""
    needs = pool_needs(workload, federation).T
    return {pool: need for pool, need in zip(federation.pools, needs, strict=True) if pool.cluster is not None}


def have_pools(needs: Mapping[Pool, NDArray[np.int64]], federation: Federation, jobs: int) -> NDArray[np.bool_]:
    """Return jobs × groups: whether the group's cluster is the cluster of every pool that the job needs [30].

    `needs` has the pools that belong to one cluster; `jobs` is the number of jobs.
    """
    of_group = np.array(federation.group_cluster)
    have = np.ones((jobs, of_group.size), dtype=np.bool_)
    for pool, need in needs.items():
        there = of_group == [cluster.name for cluster in federation.clusters].index(str(pool.cluster))
        have &= (need == 0)[:, None] | there
    return have


def gpus_per_task(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return, for each job, the whole GPUs that a task takes, and the share of a GPU that it takes, in thousandths.

    A share of one GPU or more is rounded up to whole GPUs. Raise if a job demands both whole GPUs and a share.
    """
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.demand is None else workload.demand.columns()
    whole, share = columns.get(GPU, none), columns.get(SHARE, none)
    for row in np.flatnonzero((whole > 0) & (share > 0))[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: it demands {GPU}={whole[row]} and {SHARE}={share[row]} for each task; give whole "
            "GPUs, or a part of one."
        )
    whole = whole + np.where(share >= WHOLE, -(-share // WHOLE), 0)
    return whole, np.where(share < WHOLE, share, 0)


def needs_of_tasks(jobs: Workload, federation: Federation) -> dict[str, NDArray[np.int64]]:
    """Return, by resource, how much each task of every job takes of its node.

    The resources are those that some node states, and cores ("cpu"), of which a task takes at least one.
    """
    known = stated_resources(federation)
    columns = {} if jobs.demand is None else jobs.demand.columns()
    needs = {name: column for name, column in columns.items() if name in known}
    needs[CORES] = np.maximum(columns.get(CORES, np.ones(len(jobs), dtype=np.int64)), 1)
    if GPU in known:
        needs[GPU] = gpus_per_task(jobs)[0]
    return needs


def tasks_per_gpu(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return how many tasks of each job fit on one GPU by their share of it; 0 if the job takes no share.

    All are 0 if no node states its GPUs.
    """
    if GPU not in stated_resources(federation):
        return np.zeros(len(jobs), dtype=np.int64)
    share = gpus_per_task(jobs)[1]
    return np.asarray(np.where(share > 0, WHOLE // np.maximum(share, 1), 0))


def tasks_per_empty_node(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks of the job fit on an empty node of the group by their demands.

    If no node states its cores, every node counts as having one.
    """
    needs, together = needs_of_tasks(jobs, federation), tasks_per_gpu(jobs, federation)
    usual = {} if CORES in stated_resources(federation) else {CORES: 1}  # nodes without stated cores hold one task
    room = np.full((len(jobs), len(federation.groups)), ANY)
    for g, group in enumerate(federation.groups):
        has = usual | dict(group.resources)
        for name, need in needs.items():
            fit = has.get(name, 0) // np.maximum(need, 1)
            room[:, g] = np.where(need > 0, np.minimum(room[:, g], fit), room[:, g])
        devices = has.get(GPU, 0) * together
        room[:, g] = np.where(together > 0, np.minimum(room[:, g], devices), room[:, g])
    return room
