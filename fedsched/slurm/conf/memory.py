"""The memory of jobs on shared nodes by a slurm.conf (DefMemPer..., MaxMemPer...); also jobs' sizes, and notes [75]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, InfeasibleError
from fedsched.core.text import counted, one_line
from fedsched.io.slurm_files.slurm_values import whole_of
from fedsched.model.jobs.admission import partition_of_jobs
from fedsched.model.jobs.demands import CORES, NodeDemands
from fedsched.model.jobs.layout import EXCLUSIVE, NodeLayout, layout_of, requested_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.node_use import NodeUse
    from fedsched.slurm.conf.policy import Slurm

    Ints = NDArray[np.int64]

MEMORY = "memory"
NAMES = ("DefMemPerCPU", "DefMemPerNode", "MaxMemPerCPU", "MaxMemPerNode")
FORMS = ("percpu", "pernode")  # a partition that sets either form inherits neither from the global settings


def with_memory(workload: Workload, slurm: Slurm) -> tuple[Workload, Ints]:
    """Return the jobs with memory per task; a job that requests none gets the default of its partition.

    The second array is 1 for each job with memory per node (`--mem`), not per CPU (`--mem-per-cpu`): the memory is then
    split among the tasks that the job puts on one node. Raise InfeasibleError if a job is over a maximum.
    """
    columns = {} if workload.demand is None else dict(workload.demand.columns())
    none = np.zeros(len(workload), dtype=np.int64)
    cores = np.maximum(columns.get(CORES, none), 1)
    memory = np.array(columns.get(MEMORY, none))
    together = layout_of(workload)[0]
    by_node = ((together > 0) & (memory > 0)).astype(np.int64)
    usual = next((name for name, one in slurm.priority.partitions.items() if one.default), "")
    places = workload.partition
    for name in np.unique(places).tolist():
        said = {one: _of_partition(slurm, name or usual, one) for one in NAMES}
        rows = np.flatnonzero((places == name) & (memory == 0))
        if said["DefMemPerCPU"]:
            memory[rows] = cores[rows] * said["DefMemPerCPU"]
        else:
            memory[rows] = _of_nodes(workload, slurm, rows, together, said["DefMemPerNode"])
            by_node[rows] = 1
        _refuse_more(workload, np.flatnonzero(places == name), said, cores, memory, np.maximum(together, 1))
    if (memory == columns.get(MEMORY, none)).all():
        return workload, by_node
    return replace(workload, demand=NodeDemands.of(columns | {MEMORY: memory}, workload.id)), by_node


def with_whole_nodes(workload: Workload, slurm: Slurm) -> Workload:
    """Return the jobs; those in partitions with OverSubscribe=EXCLUSIVE are exclusive, as if they had asked for it."""
    usual = next((name for name, one in slurm.priority.partitions.items() if one.default), "")
    whole = {name for name, line in slurm.conf.partitions.items()
             if line.words.get("oversubscribe", "").upper().startswith("EXCLUSIVE")}  # fmt: skip
    inside = np.array([(name or usual) in whole for name in workload.partition.tolist()], dtype=np.bool_)
    if not (inside & ~layout_of(workload)[1]).any():
        return workload
    columns = {} if workload.layout is None else workload.layout.columns()
    alone = (layout_of(workload)[1] | inside).astype(np.int64)
    return replace(workload, layout=NodeLayout.of({**columns, EXCLUSIVE: alone}, workload.id))


def _of_nodes(workload: Workload, slurm: Slurm, rows: Ints, together: Ints, each: int) -> Ints:
    """Return the memory per task, in MB, of jobs that get `each` MB on every node, split among the tasks on a node.

    Raise InfeasibleError if `each` is 0, or it is unknown how many tasks are on a node.
    """
    alone = np.where(workload.tasks[rows] == 1, 1, np.minimum(together[rows], workload.tasks[rows]))
    for row in rows[(alone == 0) | (each == 0)][:1].tolist():
        why = f"DefMemPerNode={each} is for each of its nodes" if each else "there is no DefMemPerCPU"
        raise InfeasibleError(
            f"Job {workload.id[row]}: it requests no memory, and {why} ({slurm.conf.path}); set its memory "
            f"{'or its tasks_per_node' if each else 'per task'}."
        )
    return -(-each // np.maximum(alone, 1))


def _refuse_more(
    workload: Workload, rows: Ints, said: dict[str, int], cores: Ints, memory: Ints, together: Ints
) -> None:
    asks = {"MaxMemPerCPU": -(-memory // cores), "MaxMemPerNode": memory * np.minimum(together, workload.tasks)}
    cures = {"MaxMemPerCPU": "Slurm gives it more cores per task: let it request them", "MaxMemPerNode": "drop it"}
    for name, asked in asks.items():
        for row in rows[(asked[rows] > said[name]) & (said[name] > 0)][:1].tolist():
            raise InfeasibleError(
                f"Job {workload.id[row]}: its {asked[row]} MB are over {name}={said[name]}; {cures[name]}, or allow "
                "more."
            )


def _of_partition(slurm: Slurm, partition: str, name: str) -> int:
    line = slurm.conf.partitions.get(partition)
    said = {} if line is None else line.words
    what = name.lower().removesuffix(FORMS[0]).removesuffix(FORMS[1])
    # scontrol prints UNLIMITED for a partition that sets neither form.
    own = any(said.get(what + form, "UNLIMITED").upper() != "UNLIMITED" for form in FORMS)
    text = (said if own else slurm.conf.parameters).get(name.lower()) or "0"
    if text.upper() == "UNLIMITED":
        return 0
    return whole_of(text, slurm.conf.path if line is None else line.where, name)


def amounts_of(workload: Workload) -> tuple[Ints, Ints, Ints, Ints]:
    """Return for each job its nodes (1 if unknown), and in total its cores, its memory and its whole GPUs."""
    columns = {} if workload.demand is None else workload.demand.columns()
    none = np.zeros(len(workload), dtype=np.int64)
    nodes = np.maximum(requested_nodes(workload), 1)
    cores = np.maximum(columns.get(CORES, none), 1)
    memory, gpus = (workload.tasks * columns.get(name, none) for name in (MEMORY, "gpu"))
    return nodes, workload.tasks * cores, memory, gpus


def size_notes(workload: Workload, slurm: Slurm) -> list[str]:
    """Return a list with a note on jobs with an unknown number of nodes, which is assumed to be 1.

    It is empty if there are no such jobs, or job sizes do not count in priorities.
    """
    untold = (requested_nodes(workload) == 0) & (workload.tasks > 1)
    if not untold.any() or not slurm.priority.multifactor or slurm.priority.size == 0:
        return []
    of_jobs = counted(int(untold.sum()), "job")
    return [f"assumed: the size of {of_jobs} is one node, as the requested number is unknown"]


def notes_before_run(slurm: Slurm, workload: Workload, *, shared: bool) -> list[str]:
    """Return what is assumed and not modelled of a configuration; `shared` says whether jobs share nodes."""
    return [*slurm.notes_on(shared=shared), *(size_notes(workload, slurm) if shared else [])]


def partition_notes(use: NodeUse) -> list[str]:
    """Return a note for each partition with jobs on more nodes than its MaxNodes; placement does not check that."""
    nodes = np.bincount(use.job, minlength=len(use.workload))
    where, found = partition_of_jobs(use.workload, use.federation), []
    for k, one in enumerate(use.federation.partitions):
        if one.max_nodes is not None and (over := np.flatnonzero((where == k) & (nodes > one.max_nodes))).size:
            jobs = f"{counted(over.size, 'job')} on more, job {use.workload.id[over[0]]} first"
            found.append(
                f"not modelled on nodes that jobs share: MaxNodes={one.max_nodes} of partition {one_line(one.name)!r} "
                f"({jobs}; give its tasks_per_node, or leave sharing= out)"
            )
    return found


def refuse_other_sharing(slurm: Slurm) -> None:
    """Raise FederationError if, by the slurm.conf, jobs do not share the cores and memory of nodes."""
    if not slurm.parameters.shares_memory:
        asked = ",".join(slurm.parameters.selection)
        raise FederationError(
            f"{slurm.conf.path}: nodes are shared by SelectType=select/cons_tres with CR_Core_Memory or CR_CPU_Memory, "
            f"not with SelectTypeParameters={asked or '(none)'}; leave sharing= out, and nodes are given whole."
        )
