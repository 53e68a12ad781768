"""Functions for checks of jobs that count whole nodes: how many tasks fit on a node, and on how many nodes [76].

They share no code with what places jobs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.admission import usable_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule


def most_together(workload: Workload, federation: Federation, row: int, g: int) -> int:
    """Return how many tasks of the job in this row fit on an empty node of group `g` by their demands, at least 1.

    1 if no node states its cores.
    """
    told = {name for group in federation.groups for name, _ in group.resources}
    has, demand = dict(federation.groups[g].resources), workload.demand
    wants = {} if demand is None else {name: int(column[row]) for name, column in demand.columns().items()}
    if "cpu" not in told:
        return 1
    room = [has.get("cpu", 0) // max(1, wants.pop("cpu", 1))]
    share = wants.pop("gpu_share", 0) if "gpu" in told else 0
    if 0 < share < 1000:
        room.append(1000 // share * has.get("gpu", 0))
    elif share:
        wants["gpu"] = -(-share // 1000)
    room += [has.get(name, 0) // want for name, want in wants.items() if want and name in told]
    return max(1, min(room))


def fewest_nodes(schedule: Schedule, row: int, tasks: int) -> int:
    """Return the fewest nodes of the empty machine that hold this many tasks of the job in this row.

    If all nodes that the job may use hold too few, further nodes like those that hold most tasks are counted.
    """
    workload, federation = schedule.workload, schedule.federation
    (usable,), nodes, largest = usable_groups(workload.take(np.array([row])), federation), 0, 1
    each = np.flatnonzero(usable).tolist()
    sizes = [(most_together(workload, federation, row, g), federation.groups[g].count) for g in each]
    for fit, count in sorted(sizes, reverse=True):
        largest = max(largest, fit)
        taken = min(count, max(0, -(-tasks // fit)))
        nodes, tasks = nodes + taken, tasks - taken * fit
    return nodes + max(0, -(-tasks // largest))


def uneven_rows(workload: Workload) -> NDArray[np.int64]:
    """Return the rows of the jobs that count whole nodes and have no number of tasks per node.

    Each of their nodes holds as many tasks as fit.
    """
    layout = {} if workload.layout is None else workload.layout.columns()
    if "tasks_on_nodes" not in layout:
        return np.zeros(0, dtype=np.int64)
    each = layout.get("tasks_per_node", np.zeros(len(workload), dtype=np.int64))
    return np.flatnonzero((layout["tasks_on_nodes"] > 0) & (each == 0))


def places_in(workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, by group, how many tasks of the job in this row fit on a node; 0 for groups without nodes in `counts`."""
    tasks = int(tasks_of(workload)[row])
    fits = [min(tasks, most_together(workload, federation, row, g)) if counts[g] else 0 for g in range(counts.size)]
    return np.array(fits, dtype=np.int64)


def tasks_of(workload: Workload) -> NDArray[np.int64]:
    """Return the number of tasks of each job if the workload's `tasks` counts whole nodes for the job, else 0."""
    layout = {} if workload.layout is None else workload.layout.columns()
    return layout.get("tasks_on_nodes", np.zeros(len(workload), dtype=np.int64))


def what_is_wrong(workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]) -> str:
    """Return, in words, what is wrong with the nodes of the job in this row; "" if nothing is.

    They may hold too few tasks, or have one node that is not needed.
    """
    fits, tasks = places_in(workload, federation, row, counts), int(tasks_of(workload)[row])
    places = int(counts @ fits)
    if places < tasks:
        return f"its {counts.sum()} nodes hold {places} of its {tasks} tasks"
    if places - int(fits.max(initial=0)) >= tasks:
        return f"its {counts.sum()} nodes hold {places} tasks, but it has only {tasks}: one node is not needed"
    return ""


def tasks_by_cluster(
    workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return how many tasks of the job in this row are in each cluster, if it runs on `counts` nodes of each group.

    All nodes are full except one, which has all the empty places: it is in the last group with nodes that hold more
    tasks than places are empty.
    """
    fits, cluster = places_in(workload, federation, row, counts), np.array(federation.group_cluster)
    here = np.bincount(cluster, weights=counts * fits).astype(np.int64)
    empty = int(counts @ fits - tasks_of(workload)[row])
    here[cluster[np.flatnonzero((counts > 0) & (fits > empty))[-1]]] -= empty
    return here
