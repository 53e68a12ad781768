"""Several tasks of a job on each of its nodes, where nodes are not shared: the job holds whole nodes [76]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import InfeasibleError
from fedsched.model.layout import EXCLUSIVE, ON_NODES, PER_NODE, NodeLayout, layout_of, tasks_on_nodes
from fedsched.model.resources import MOST, NodeDemands, counted_on
from fedsched.model.shares import CORES, GPU, SHARE, WHOLE, gpus_asked
from fedsched.text import counted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload

ANY = np.iinfo(np.int64).max  # tasks that a node takes of which nothing is said


def who_may_share_a_node(workload: Workload) -> NDArray[np.int64]:
    """Return the rows of the jobs of which several tasks may stand on a node, in words that are not yet read."""
    if workload.layout is None:
        return np.zeros(0, dtype=np.int64)
    each, alone = layout_of(workload)
    several = (_widest(workload) > 1) & ((each > 1) | (alone & (each == 0)))
    return np.flatnonzero(several & (tasks_on_nodes(workload) == 0))


def _widest(workload: Workload) -> NDArray[np.int64]:
    """Return how many tasks each job has in the widest of its shapes."""
    widest = workload.tasks.copy()
    if (among := workload.alternatives) is not None:
        np.maximum.at(widest, among.owner, among.tasks)
    return widest


def on_whole_nodes(
    workload: Workload, federation: Federation, rows: NDArray[np.int64], usable: NDArray[np.bool_]
) -> tuple[Workload, dict[int, str]]:
    """Return the workload with some jobs as jobs of whole nodes, and why others cannot be.

    Parameters
    ----------
    rows
        The jobs: see `who_may_share_a_node`.
    usable
        Whether each of them may have nodes of each group.
    """
    jobs = workload.take(rows)
    refused: dict[int, str] = {}
    each, odd = _to_a_node(jobs, federation, usable)
    for i, reason in odd.items():
        refused[int(rows[i])] = reason
    packed = (each > 1) & ~np.isin(rows, list(refused))
    if not packed.any():
        return workload, refused
    return _in_nodes(workload, federation, rows[packed], each[packed]), refused


def _to_a_node(
    jobs: Workload, federation: Federation, usable: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], dict[int, str]]:
    """Return how many tasks of each job stand on each of its nodes, and of whom nodes of several kinds hold several."""
    each, _ = layout_of(jobs)
    unsaid, widest = np.flatnonzero(each == 0), _widest(jobs)
    each = np.minimum(each, widest)
    if not unsaid.size:
        return each, {}
    some = jobs.take(unsaid)
    room = np.minimum(_room(some, federation), widest[unsaid, None])
    room = np.where(usable[unsaid], room, 0)
    most = room.max(axis=1)
    least = np.where(room > 0, room, ANY).min(axis=1)
    each[unsaid] = np.maximum(most, 1)  # a job without any nodes is refused elsewhere
    odd = {
        int(unsaid[i]): (
            f"{EXCLUSIVE}: some nodes that it may have hold {least[i]} of its {widest[unsaid[i]]} tasks, others "
            f"{most[i]}, so that how many it takes is not known beforehand; say how many stand on each ({PER_NODE}), "
            "or ask for nodes of one kind"
        )
        for i in np.flatnonzero((most > 0) & (least < most)).tolist()
    }
    return each, odd


def _needs(jobs: Workload, federation: Federation) -> dict[str, NDArray[np.int64]]:
    """Return what each task takes of a node, of whole things that some node tells of."""
    known = counted_on(federation)
    columns = {} if jobs.demand is None else jobs.demand.columns()
    needs = {name: column for name, column in columns.items() if name in known}
    needs[CORES] = np.maximum(columns.get(CORES, np.ones(len(jobs), dtype=np.int64)), 1)
    if GPU in known:
        needs[GPU] = gpus_asked(jobs)[0]
    return needs


def _shares(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return how many tasks of each job share a GPU, 0 where none do."""
    if GPU not in counted_on(federation):
        return np.zeros(len(jobs), dtype=np.int64)
    share = gpus_asked(jobs)[1]
    return np.asarray(np.where(share > 0, WHOLE // np.maximum(share, 1), 0))


def _room(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks a node of the group holds that nobody else is on."""
    needs, together = _needs(jobs, federation), _shares(jobs, federation)
    usual = {} if CORES in counted_on(federation) else {CORES: 1}  # nodes that say nothing hold one task
    room = np.full((len(jobs), len(federation.groups)), ANY)
    for g, group in enumerate(federation.groups):
        has = usual | dict(group.resources)
        for name, need in needs.items():
            fit = has.get(name, 0) // np.maximum(need, 1)
            room[:, g] = np.where(need > 0, np.minimum(room[:, g], fit), room[:, g])
        devices = has.get(GPU, 0) * together
        room[:, g] = np.where(together > 0, np.minimum(room[:, g], devices), room[:, g])
    return room


def _in_nodes(
    workload: Workload, federation: Federation, rows: NDArray[np.int64], each: NDArray[np.int64]
) -> Workload:
    jobs = workload.take(rows)
    nodes = -(-jobs.tasks // each)
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
    """Return what each node of the jobs must have: of those, what all tasks take that stand on it."""
    jobs, known = workload.take(rows), counted_on(federation)
    columns = {} if workload.demand is None else {name: one.copy() for name, one in workload.demand.columns().items()}
    for column in columns.values():
        column[rows] = _times(column[rows], each)
    some = _needs(jobs, federation)
    if CORES not in known and CORES not in columns and all(limit.cpus is None for limit in federation.limits):
        del some[CORES]  # nobody counts them
    together = {name: _times(need, each) for name, need in some.items()}
    if GPU in known and SHARE in columns:
        on_one = _shares(jobs, federation)
        together[GPU] += np.where(on_one > 0, -(-each // np.maximum(on_one, 1)), 0)
        columns[SHARE][rows] = 0
    for name, need in together.items():
        if need.any():
            columns.setdefault(name, np.zeros(len(workload), dtype=np.int64))[rows] = need
    return NodeDemands.of(columns, workload.id)


def _times(need: NDArray[np.int64], each: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what so many tasks take together; more than any node has where that is beyond all numbers."""
    together = need * np.minimum(each, MOST // np.maximum(need, 1) + 1)
    return np.asarray(np.where(need > MOST // each, MOST + 1, together))


def _layout(workload: Workload, rows: NDArray[np.int64], each: NDArray[np.int64]) -> NodeLayout | None:
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else {name: one.copy() for name, one in workload.layout.columns().items()}
    for name, values in ((PER_NODE, each), (ON_NODES, workload.tasks[rows])):
        columns.setdefault(name, none.copy())[rows] = values
    return NodeLayout.of(columns, workload.id)


def refuse_whole_nodes(workload: Workload) -> None:
    """Raise where a job counts whole nodes, on which others cannot be."""
    for row in np.flatnonzero(tasks_on_nodes(workload))[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: its tasks are counted in whole nodes ({ON_NODES}), which it does not share; give "
            "the jobs as they were read, or leave sharing= out."
        )


def in_words(workload: Workload) -> list[str]:
    """Return how many tasks stand on how many nodes, where several stand on one."""
    on_nodes = tasks_on_nodes(workload)
    if not on_nodes.any():
        return []
    rows = on_nodes > 0
    tasks, nodes = int(on_nodes[rows].sum()), int(workload.tasks[rows].sum())
    return [
        f"several tasks to a node: {counted(tasks, 'task')} of {counted(int(rows.sum()), 'job')} on "
        f"{counted(nodes, 'node')}"
    ]
