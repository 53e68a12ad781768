"""Which jobs are given as many whole nodes as their CPUs need, and what of that is not known to this scheduler [76]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.compatibility import Use, refuse
from fedsched.model.jobs.demands import CORES
from fedsched.model.jobs.layout import layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import are_uneven, uneven_fits
from fedsched.slurm.nodes.node_sizes import Sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.slurm.conf.policy import Slurm

    Ints = NDArray[np.int64]


def sizes_of(workload: Workload, federation: Federation, slurm: Slurm, order: Ints) -> Sizes | None:
    """Return how many CPUs jobs need and nodes count, jobs in this order; None where numbers of nodes say all.

    Beside jobs that nodes hold different numbers of tasks of it is who is alone on one node, where they have different
    numbers of CPUs: of which size that is goes by them, too.
    """
    cpus = np.array([dict(group.resources).get(CORES, 0) for group in federation.groups], dtype=np.int64)
    wanted, each = np.zeros(len(workload), dtype=np.int64), _cores_of_tasks(workload)
    if np.unique(cpus).size > 1:
        on_one = layout_of(workload)[1] & (workload.tasks == 1) & ~are_uneven(workload)
        wanted[on_one] = each[on_one]  # of all that stand there
    rows, fits = uneven_fits(workload, federation)
    if rows.size:
        _refuse_what_goes_by_nodes(workload, federation, slurm)
        each, tasks = each[rows], tasks_on_nodes(workload)[rows]
        _refuse_other_room(workload, rows, np.minimum(cpus // each[:, None], tasks[:, None]), fits)
        _refuse_cores_left_over(workload, rows, np.where(fits > 0, cpus % each[:, None], 0))
        wanted[rows] = tasks * each
    if not wanted.any():
        return None
    return Sizes(np.ascontiguousarray(wanted[order]), np.ascontiguousarray(cpus[federation.group_of_node]))


def _cores_of_tasks(workload: Workload) -> Ints:
    demand = {} if workload.demand is None else workload.demand.columns()
    return np.maximum(demand.get(CORES, np.ones(len(workload), dtype=np.int64)), 1)


def _refuse_what_goes_by_nodes(workload: Workload, federation: Federation, slurm: Slurm) -> None:
    limited = slurm.assoc is not None or any(limit.by_shape for limit in federation.limits)
    for place, is_used in (
        ("slurm with multifactor", slurm.parameters.multifactor),
        ("slurm with limits", limited),
        ("slurm with max_nodes", any(one.max_nodes is not None for one in federation.partitions)),
    ):
        if is_used:
            refuse(place, Use(workload, federation))


def _refuse_other_room(workload: Workload, rows: Ints, by_cores: Ints, fits: Ints) -> None:
    for i in np.flatnonzero(((fits > 0) & (fits < by_cores)).any(axis=1))[:1].tolist():
        raise InfeasibleError(
            f"Policy slurm: job {workload.id[rows[i]]} is exclusive, and how many of its tasks some node holds is not "
            "up to their cpu alone, of which there is no model yet; say how many stand on each (tasks_per_node)."
        )


def _refuse_cores_left_over(workload: Workload, rows: Ints, left: Ints) -> None:
    for i in np.flatnonzero((left > 0).any(axis=1))[:1].tolist():
        raise InfeasibleError(
            f"Policy slurm: job {workload.id[rows[i]]} is exclusive on nodes whose CPUs are no multiple of its tasks' "
            "cpu: Slurm counts what is left over, and gives it too few; say how many stand on each (tasks_per_node)."
        )
