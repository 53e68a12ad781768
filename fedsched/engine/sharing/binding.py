"""List heuristics on shared nodes: they bind jobs to groups of cores, as to groups of nodes elsewhere [25 to 28]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.node_caps import checked_caps
from fedsched.engine.sharing.asked import asked_of, asks_in_words
from fedsched.engine.sharing.counting import are_counted, counted_nodes
from fedsched.engine.sharing.trials import room_when_free
from fedsched.model.jobs.demands import CORES
from fedsched.policies.list_heuristics import Cores

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Ints, RunningJobs
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.policies import ListHeuristic, Rules


def bound_to_groups(
    policy: ListHeuristic,
    workload: Workload,
    federation: Federation,
    sharing: NodeSharing,
    reading: Reading,
    *,
    caps: Ints | None,
    t0: float | None,
    running: RunningJobs | None,
    look: Callable[[], None] | None = None,
) -> Rules:
    """Return the order of predicted starts, and caps that bind each job to the groups where it is predicted to run.

    Predictions count cores alone: an exclusive job takes the cores of its tasks, and memory and GPUs are not seen. A
    job is not bound if its tasks do not fit on its groups even while all nodes are free, or if its nodes are counted by
    a limit or partition. `look` is called before each job is bound.
    """
    asked, rooms = asked_of(workload, federation), room_when_free(workload, federation, sharing, reading)
    tasks, each = workload.tasks[:, None], asked.need[:, :1]
    most = np.minimum(rooms, tasks) if caps is None else np.minimum(rooms, checked_caps(caps, *rooms.shape))
    unbound = np.zeros(len(workload), dtype=np.bool_)
    unbound[are_counted(counted_nodes(workload, federation), len(workload))] = True
    if (lacking := np.flatnonzero((most.sum(axis=1) < workload.tasks) & ~unbound)).size:
        row = int(lacking[0])
        raise InfeasibleError(
            f"Job {workload.id[row]}: {asks_in_words(workload, asked, row)} do not fit on the nodes that it may use, "
            "even on the empty machine; drop it, loosen its caps, or give it more, or larger, nodes."
        )
    of_node = np.array([dict(group.resources)[CORES] for group in federation.groups])
    nodes = np.array([group.count for group in federation.groups])
    limit = nodes * of_node if caps is None else np.minimum(nodes * of_node, caps * each)
    cores = Cores(of_node, workload.tasks * each[:, 0], np.where(asked.opened > 0, limit, 0))
    if running is not None:
        running = running._replace(counts=running.counts * each[running.rows])
    rules = policy.rules(reading.seen(workload), federation, t0=t0, running=running, look=look, cores=cores)
    assert rules.caps is not None
    own = np.where(np.asarray(rules.caps) > 0, tasks, 0)
    unbound |= np.minimum(most, own).sum(axis=1) < workload.tasks
    return replace(rules, caps=np.where(unbound[:, None], tasks, own))
