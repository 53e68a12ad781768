"""Conversion of jobs with several tasks on a node into jobs that count whole nodes, if jobs share no nodes [76]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import counted
from fedsched.model.jobs.demands import (
    ANY,
    CORES,
    GPU,
    MOST,
    SHARE,
    NodeDemands,
    needs_of_tasks,
    stated_resources,
    tasks_per_empty_node,
    tasks_per_gpu,
)
from fedsched.model.jobs.layout import EXCLUSIVE, ON_NODES, PER_NODE, NodeLayout, layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import are_uneven, fewest_nodes, widest_tasks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def rows_with_shared_nodes(workload: Workload) -> NDArray[np.int64]:
    """Return the rows of the jobs that may have several tasks on a node and are not yet converted to whole nodes."""
    if workload.layout is None:
        return np.zeros(0, dtype=np.int64)
    each, alone = layout_of(workload)
    several = (widest_tasks(workload) > 1) & ((each > 1) | (alone & (each == 0)))
    return np.flatnonzero(several & (tasks_on_nodes(workload) == 0))


def convert_to_whole_nodes(
    workload: Workload, federation: Federation, rows: NDArray[np.int64], usable: NDArray[np.bool_]
) -> tuple[Workload, dict[int, str]]:
    """Return the workload with these jobs converted to count whole nodes, and, by row, why some of them cannot run.

    A converted job's `tasks` is its number of nodes, and its demand is that of a whole node.

    Parameters
    ----------
    rows
        The rows of the jobs to convert: see `rows_with_shared_nodes`.
    usable
        These jobs × groups: whether the job may use nodes of the group.
    """
    jobs = workload.take(rows)
    fits = _to_a_node(jobs, federation, usable)
    most = fits.max(axis=1)
    least = np.where(fits > 0, fits, ANY).min(axis=1)
    uneven = (most > 0) & (least < most)
    sizes = np.where(usable, [group.count for group in federation.groups], 0)
    fewest, lacking = fewest_nodes(fits, sizes, jobs.tasks)
    refused: dict[int, str] = {}
    several = np.zeros(len(jobs), np.bool_) if jobs.alternatives is None else np.diff(jobs.alternatives.first) > 1
    for i in np.flatnonzero(uneven & ~several & (lacking > 0)).tolist():  # a job of several shapes may take another one
        refused[int(rows[i])] = (
            f"{EXCLUSIVE}: some nodes that it may have hold {least[i]} of its {jobs.tasks[i]} tasks, others {most[i]}, "
            f"and all together {jobs.tasks[i] - lacking[i]} of its {jobs.tasks[i]}"
        )
    packed = ((most > 1) | uneven) & ~np.isin(rows, list(refused))
    if not packed.any():
        return workload, refused
    each = np.where(uneven, 0, most)[packed]
    nodes = np.where(uneven, fewest, -(-jobs.tasks // np.maximum(most, 1)))[packed]
    return _in_nodes(workload, federation, rows[packed], each, nodes), refused


def _to_a_node(jobs: Workload, federation: Federation, usable: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks of a job run on a node of the group, at most those of its widest shape.

    If the job states no number, it is what an empty node holds, and 0 in groups that the job may not use.
    """
    each, _ = layout_of(jobs)
    unsaid, most = np.flatnonzero(each == 0), widest_tasks(jobs)
    found = np.repeat(np.minimum(each, most)[:, None], len(federation.groups), axis=1)
    if unsaid.size:
        room = np.minimum(tasks_per_empty_node(jobs.take(unsaid), federation), most[unsaid, None])
        found[unsaid] = np.where(usable[unsaid], room, 0)
    return found


def _in_nodes(
    workload: Workload,
    federation: Federation,
    rows: NDArray[np.int64],
    each: NDArray[np.int64],
    nodes: NDArray[np.int64],
) -> Workload:
    tasks = workload.tasks.copy()
    tasks[rows] = nodes
    return replace(
        workload,
        tasks=tasks,
        demand=_demand(workload, federation, rows, each),
        layout=_layout(workload, rows, each),
    )


def _demand(
    workload: Workload, federation: Federation, rows: NDArray[np.int64], each: NDArray[np.int64]
) -> NodeDemands | None:
    """Return the workload's demands, with the demand of each job in `rows` turned into that on a whole node.

    It is the demand of all tasks on a node together, `each` tasks. For an uneven job (`each` is 0), it stays the demand
    of one task.
    """
    columns = {} if workload.demand is None else {name: one.copy() for name, one in workload.demand.columns().items()}
    uneven, even = rows[each == 0], each > 0
    if uneven.size:
        one = columns.setdefault(CORES, np.zeros(len(workload), dtype=np.int64))
        one[uneven] = np.maximum(one[uneven], 1)
    if even.any():
        _add_together(columns, workload, federation, rows[even], each[even])
    return NodeDemands.of(columns, workload.id)


def _add_together(
    columns: dict[str, NDArray[np.int64]],
    workload: Workload,
    federation: Federation,
    rows: NDArray[np.int64],
    each: NDArray[np.int64],
) -> None:
    jobs, known = workload.take(rows), stated_resources(federation)
    for column in columns.values():
        column[rows] = _times(column[rows], each)
    some = needs_of_tasks(jobs, federation)
    if CORES not in known and CORES not in columns and all(limit.cpus is None for limit in federation.limits):
        del some[CORES]  # cores are not counted anywhere
    together = {name: _times(need, each) for name, need in some.items()}
    if GPU in known and SHARE in columns:
        on_one = tasks_per_gpu(jobs, federation)
        together[GPU] += np.where(on_one > 0, -(-each // np.maximum(on_one, 1)), 0)
        columns[SHARE][rows] = 0
    for name, need in together.items():
        if need.any():
            columns.setdefault(name, np.zeros(len(workload), dtype=np.int64))[rows] = need


def _times(need: NDArray[np.int64], each: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return need × each, the demand of this many tasks together; at most 2**53 + 1, more than any node has."""
    together = need * np.minimum(each, MOST // np.maximum(need, 1) + 1)
    return np.asarray(np.where(need > MOST // each, MOST + 1, together))


def _layout(workload: Workload, rows: NDArray[np.int64], each: NDArray[np.int64]) -> NodeLayout | None:
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else {name: one.copy() for name, one in workload.layout.columns().items()}
    for name, values in ((PER_NODE, each), (ON_NODES, workload.tasks[rows])):
        columns.setdefault(name, none.copy())[rows] = values
    return NodeLayout.of(columns, workload.id)


def refuse_whole_nodes(workload: Workload) -> None:
    """Raise if the `tasks` of a job counts whole nodes, as such a job cannot share nodes."""
    for row in np.flatnonzero(tasks_on_nodes(workload))[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: its tasks count whole nodes ({ON_NODES}), which are not shared; give the jobs as "
            "they were read, or leave sharing= out."
        )


def in_words(workload: Workload) -> list[str]:
    """Return a text that says how many tasks run on how many nodes, for jobs that count whole nodes; [] if none do."""
    on_nodes = tasks_on_nodes(workload)
    if not on_nodes.any():
        return []
    rows = on_nodes > 0
    tasks, nodes = int(on_nodes[rows].sum()), int(workload.tasks[rows].sum())
    least = "at least " if are_uneven(workload).any() else ""
    return [
        f"several tasks to a node: {counted(tasks, 'task')} of {counted(int(rows.sum()), 'job')} on "
        f"{least}{counted(nodes, 'node')}"
    ]
