"""Writing and reading of the use of shared nodes by jobs, as CSV files with one row for each job and node."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import ScheduleError, shortened, unknown_name
from fedsched.io.atomic import atomic_text
from fedsched.io.files import read_text
from fedsched.io.swf.log import number_texts
from fedsched.io.tables.csv import escaped, table_of, unescaped
from fedsched.model.schedule.node_use import NodeUse

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

COLUMNS = ("id", "start", "finish", "cluster", "node", "tasks")
ALONE = "alone"  # one more column, if some job was alone on its nodes
YES_NO = {"yes": True, "no": False, "": False}


def write_node_use(use: NodeUse, path: str | PathLike[str]) -> None:
    """Write a CSV file with one row for each job and each of its nodes.

    Its columns are id, start and finish of the job, cluster, the node's number in the cluster, and tasks on the node.

    If some job had its nodes exclusively, a last column marks such jobs.

    Parameters
    ----------
    use, path
        The use of nodes by jobs, and the file to write.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import write_node_use
    >>> jobs = fs.Workload(submit=[0], tasks=[1], runtime=[60], demand={"cpu": [2]})
    >>> schedule = fs.simulate(jobs, fs.NodeGroup(2, resources=(("cpu", 4),)), sharing="first")
    >>> write_node_use(schedule.use, "use.csv")
    >>> Path("use.csv").read_text().splitlines()[0]
    'id,start,finish,cluster,node,tasks'
    """
    first = np.cumsum([0, *(cluster.nodes for cluster in use.federation.clusters)])
    cluster = np.searchsorted(first, use.node, side="right") - 1
    names = [escaped(one.name) for one in use.federation.clusters]
    columns = [
        number_texts(use.workload.id[use.job]),
        number_texts(use.start[use.job]),
        number_texts(use.finish[use.job]),
        [names[k] for k in cluster.tolist()],
        number_texts(use.node - first[cluster]),
        number_texts(use.tasks),
    ]
    header = [*COLUMNS]
    if use.alone.any():
        header.append(ALONE)
        columns.append([("no", "yes")[alone] for alone in use.alone[use.job].tolist()])
    with atomic_text(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(header)
        rows.writerows(zip(*columns, strict=True))


def read_node_use(path: str | PathLike[str], workload: Workload, federation: Federation) -> NodeUse:
    """Return the use of nodes by jobs in a CSV file, which must have all jobs.

    Its columns are id, start, finish, cluster, node (counted from 0 through the cluster), tasks and, if some job had
    its nodes exclusively, alone (yes or no).

    Parameters
    ----------
    path
        The file.
    workload, federation
        The jobs, and the machine.

    Examples
    --------
    >>> from fedsched.io import read_node_use
    >>> node = fs.NodeGroup(2, resources=(("cpu", 4),))
    >>> jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[60, 60], demand={"cpu": [2, 2]})
    >>> schedule = fs.simulate(jobs, node, sharing="first")
    >>> schedule.to_csv("use.csv")
    >>> read_node_use("use.csv", jobs, schedule.federation).node
    array([0, 0])
    """
    table = table_of(read_text(path), path)
    for name in COLUMNS:
        if name not in table.names:
            raise ScheduleError(f"{path}: it has no column {name!r}; it needs {', '.join(COLUMNS)}.")
    at = {name: table.names.index(name) for name in (*COLUMNS, ALONE) if name in table.names}
    first = np.cumsum([0, *(cluster.nodes for cluster in federation.clusters)]).tolist()
    clusters = {cluster.name: (first[k], cluster.nodes) for k, cluster in enumerate(federation.clusters)}
    place = {job: row for row, job in enumerate(workload.id.tolist())}
    of_jobs: dict[int, tuple[float, float, bool]] = {}
    found: list[tuple[int, int, int]] = []
    for row, line in zip(table.rows, table.lines, strict=True):
        cells = {name: unescaped(row[k]) for name, k in at.items()}
        where = f"{path}, line {line}"
        values = {name: _number(cells[name], name, where, table.decimal) for name in COLUMNS if name != "cluster"}
        if values["id"] not in place:
            raise ScheduleError(f"{where}: the workload has no job {shortened(cells['id'])}.")
        if cells["cluster"] not in clusters:
            raise ScheduleError(f"{where}: {unknown_name('cluster', cells['cluster'][:80], clusters)}")
        begin, nodes = clusters[cells["cluster"]]
        for name, most in (("node", nodes), ("tasks", 2**53)):
            if not (values[name].is_integer() and 0 <= values[name] < most):
                raise ScheduleError(f"{where}: {name}={cells[name]} must be a whole number from 0 to {most - 1}.")
        if cells.get(ALONE, "") not in YES_NO:
            raise ScheduleError(f"{where}: {ALONE}={shortened(repr(cells[ALONE]))} must be yes or no.")
        job = place[int(values["id"])]
        said = (values["start"], values["finish"], YES_NO[cells.get(ALONE, "")])
        if of_jobs.setdefault(job, said) != said:
            raise ScheduleError(f"{where}: another row of job {cells['id']} has another start, finish or {ALONE}.")
        found.append((job, begin + int(values["node"]), int(values["tasks"])))
    if missing := [row for row in range(len(workload)) if row not in of_jobs]:
        raise ScheduleError(
            f"{path}: it lacks {len(missing)} of the jobs, the first is job {workload.id[missing[0]]}; add all."
        )
    in_order = [of_jobs[row] for row in range(len(workload))]
    columns: dict[str, Any] = {name: [one[k] for one in in_order] for k, name in enumerate(("start", "finish", ALONE))}
    columns |= {name: [one[k] for one in found] for k, name in enumerate(("job", "node", "tasks"))}
    return NodeUse(workload=workload, federation=federation, **columns)


def _number(text: str, name: str, where: str, decimal: str) -> float:
    try:
        return float(text.replace(",", ".") if decimal == "," else text)
    except ValueError:
        raise ScheduleError(f"{where}: {name}={shortened(repr(text))} is not a number.") from None
