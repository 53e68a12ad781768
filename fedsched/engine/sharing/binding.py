"""List heuristics on shared nodes: they bind jobs to groups of cores, as to groups of nodes elsewhere [25 to 28]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.sharing.asked import asked_of
from fedsched.engine.sharing.trials import room_when_free
from fedsched.model.jobs.demands import CORES
from fedsched.policies.list_heuristics import Cores

if TYPE_CHECKING:
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
) -> Rules:
    """Return the order of predicted starts, and caps that bind each job to the groups where it is predicted to run.

    Predictions count cores alone: an exclusive job takes the cores of its tasks, and memory and GPUs are not seen. If
    its tasks do not fit on its groups even while all nodes are free, a job is not bound.
    """
    asked, rooms = asked_of(workload, federation), room_when_free(workload, federation, sharing, reading)
    each = asked.need[:, 0]
    cores = Cores(
        of_node=np.array([dict(group.resources)[CORES] for group in federation.groups]),
        of_job=workload.tasks * each,
        open=(asked.opened > 0) & (rooms > 0) & (True if caps is None else caps > 0),
    )
    if running is not None:
        running = running._replace(counts=running.counts * each[running.rows, None])
    rules = policy.rules(reading.seen(workload), federation, t0=t0, running=running, cores=cores)
    assert rules.caps is not None
    own = np.where(np.asarray(rules.caps) > 0, workload.tasks[:, None], 0)
    lacks = np.minimum(rooms, own).sum(axis=1) < workload.tasks
    return replace(rules, caps=np.where(lacks[:, None], workload.tasks[:, None], own))
