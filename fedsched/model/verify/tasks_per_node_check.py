"""How many tasks fit on nodes of different sizes; implemented anew for `verify()` [76].

It shares no code with what places jobs.
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
    """Return how many of a job's tasks a node of a group holds, at least 1."""
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
    """Return the fewest nodes for these tasks of a job; tasks without a place count on more of the largest nodes."""
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
    """Return the rows of the jobs in whole nodes without a number of tasks per node: each node holds as many as fit."""
    layout = {} if workload.layout is None else workload.layout.columns()
    if "tasks_on_nodes" not in layout:
        return np.zeros(0, dtype=np.int64)
    each = layout.get("tasks_per_node", np.zeros(len(workload), dtype=np.int64))
    return np.flatnonzero((layout["tasks_on_nodes"] > 0) & (each == 0))


def places_in(workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return, by group, how many of a job's tasks a node holds; 0 for groups without nodes in `counts`."""
    tasks = int(tasks_of(workload)[row])
    fits = [min(tasks, most_together(workload, federation, row, g)) if counts[g] else 0 for g in range(counts.size)]
    return np.array(fits, dtype=np.int64)


def tasks_of(workload: Workload) -> NDArray[np.int64]:
    """Return each job's number of tasks if its `tasks` counts whole nodes, else 0."""
    layout = {} if workload.layout is None else workload.layout.columns()
    return layout.get("tasks_on_nodes", np.zeros(len(workload), dtype=np.int64))


def what_is_wrong(workload: Workload, federation: Federation, row: int, counts: NDArray[np.int64]) -> str:
    """Return what is wrong with a job's nodes: they hold too few tasks, or one is superfluous; "" if nothing."""
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
    """Return how many of a job's tasks are in each cluster.

    All its nodes are full but one, which is in the last group with nodes that hold more than the empty places.
    """
    fits, cluster = places_in(workload, federation, row, counts), np.array(federation.group_cluster)
    here = np.bincount(cluster, weights=counts * fits).astype(np.int64)
    empty = int(counts @ fits - tasks_of(workload)[row])
    here[cluster[np.flatnonzero((counts > 0) & (fits > empty))[-1]]] -= empty
    return here
