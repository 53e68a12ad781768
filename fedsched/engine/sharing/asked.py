"""The demands of tasks on shared nodes, and the groups that jobs may use; unsupported features raise errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.core.text import counted, one_line
from fedsched.engine.compatibility import Use, refuse
from fedsched.model.jobs.admission import partition_of_jobs, requested_groups
from fedsched.model.jobs.demands import CORES, GPU, gpus_per_task, stated_resources
from fedsched.model.jobs.layout import layout_of
from fedsched.model.jobs.whole_nodes import refuse_whole_nodes
from fedsched.model.time.reservations import jobs_not_admitted

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Ints
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.policies import Rules

MOST_GPUS = 64  # GPUs of one node


class Asked(NamedTuple):
    """What each job's tasks demand, how they are laid out on nodes, and which groups they may use."""

    names: tuple[str, ...]  # the resources that nodes state, cores first
    need: Ints  # job x resource: what each task takes
    share: Ints  # per job: thousandths of one GPU that each task takes
    chunk: Ints  # per job: tasks that run together on a node; 0: any number
    alone: Ints  # per job, 1: it shares its nodes with no other job
    opened: Ints  # job x group, 1: the job may use the group


def refuse_unsupported(workload: Workload, federation: Federation, rules: Rules, reading: Reading) -> None:
    """Raise if jobs, machine or rules have a feature that is not supported on shared nodes.

    Raise a FederationError if a node group does not state its cores, or has too many GPUs.
    """
    given = (f"dispatch {rules.dispatch}", f"placement {rules.placement}", *(() if rules.caps is None else ("caps",)))
    refuse("shared nodes", Use(workload, federation, reading, given=given))
    for group in federation.groups:
        has = dict(group.resources)
        if has.get(CORES, 0) < 1:
            raise FederationError(
                f"NodeGroup of {counted(group.count, 'node')}: it does not tell how many {CORES!r} its jobs may share; "
                "give resources={'cpu': 40}."
            )
        if has.get(GPU, 0) > MOST_GPUS:
            raise FederationError(f"NodeGroup: resources['gpu']={has[GPU]} must be devices, at most {MOST_GPUS}.")


def asked_of(workload: Workload, federation: Federation) -> Asked:
    """Return what each job's tasks demand of the resources that this federation's nodes state.

    Raise an InfeasibleError if a partition or reservation does not admit its job.
    """
    refuse_whole_nodes(workload)
    known = stated_resources(federation)
    told = dict.fromkeys(name for group in federation.groups for name, _ in group.resources)
    names = (CORES, *(name for name in told if name != CORES))
    columns = {} if workload.demand is None else workload.demand.columns()
    none = np.zeros(len(workload), dtype=np.int64)
    need = np.stack([columns.get(name, none) for name in names], axis=1)
    need[:, 0] = np.maximum(need[:, 0], 1)
    share = none
    if GPU in known:
        need[:, names.index(GPU)], share = gpus_per_task(workload)
    chunk, alone = layout_of(workload)
    opened = requested_groups(workload, federation)
    if workload.allowed is not None:
        opened &= federation.groups_allowed(workload.sites, workload.allowed)
    for row, reason in refusals(workload, federation).items():
        raise InfeasibleError(f"Job {workload.id[row]}: {reason}.")
    return Asked(names, need, share, np.minimum(chunk, workload.tasks), alone.astype(np.int64), opened.astype(np.int64))


def refusals(workload: Workload, federation: Federation) -> dict[int, str]:
    """Return, by row, why jobs are not admitted by their reservation or partition, with a cure."""
    found = {row: f"{reason}; drop it, or leave out its reservation" for row, reason in
             jobs_not_admitted(workload, federation)}  # fmt: skip
    of_jobs = partition_of_jobs(workload, federation)
    account, qos = workload.label("account"), workload.label("qos")
    for p, partition in enumerate(federation.partitions):
        rows = np.flatnonzero(of_jobs == p)
        # The number of nodes is known only after placement; here, the tasks must be enough for `min_nodes` nodes.
        each = np.maximum(layout_of(workload)[0][rows], 1)
        nodes = np.minimum(-(-workload.tasks[rows] // each), partition.min_nodes)
        asked = workload.estimate[rows]
        refused = partition.refusals(nodes, asked, account[rows], qos[rows], federation.nodes, called="nodes")
        found |= {int(rows[i]): f"{reason}; drop it, or loosen the partition" for i, reason in refused.items()}
    return found


def asks_in_words(workload: Workload, asked: Asked, row: int) -> str:
    """Return in words what a job's tasks demand, such as "12 tasks of cpu 4, memory 9000"."""
    amounts = zip(asked.names, asked.need[row].tolist(), strict=True)
    said = [f"{one_line(name)} {amount}" for name, amount in amounts if amount]
    said += [f"{asked.share[row]}/1000 of a gpu"] * bool(asked.share[row])
    tasks = counted(int(workload.tasks[row]), "task")
    chunk = f", {asked.chunk[row]} to a node" if asked.chunk[row] else ""
    return f"{tasks} of {', '.join(said)}{chunk}{', on nodes of its own' if asked.alone[row] else ''}"
