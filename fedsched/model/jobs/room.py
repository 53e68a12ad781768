"""How many tasks of a job an empty node can hold, by what each task demands [55, 76]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.resources import counted_on
from fedsched.model.jobs.shares import CORES, GPU, WHOLE, gpus_asked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

ANY = np.iinfo(np.int64).max  # tasks per node if no demand limits them


def needs_of_tasks(jobs: Workload, federation: Federation) -> dict[str, NDArray[np.int64]]:
    """Return, by resource, how much of a node each task takes; only resources that some node states, and cores."""
    known = counted_on(federation)
    columns = {} if jobs.demand is None else jobs.demand.columns()
    needs = {name: column for name, column in columns.items() if name in known}
    needs[CORES] = np.maximum(columns.get(CORES, np.ones(len(jobs), dtype=np.int64)), 1)
    if GPU in known:
        needs[GPU] = gpus_asked(jobs)[0]
    return needs


def on_one_gpu(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return how many tasks of each job share a GPU, 0 if none do."""
    if GPU not in counted_on(federation):
        return np.zeros(len(jobs), dtype=np.int64)
    share = gpus_asked(jobs)[1]
    return np.asarray(np.where(share > 0, WHOLE // np.maximum(share, 1), 0))


def room_on_nodes(jobs: Workload, federation: Federation) -> NDArray[np.int64]:
    """Return jobs × groups: how many tasks of the job an empty node of the group holds."""
    needs, together = needs_of_tasks(jobs, federation), on_one_gpu(jobs, federation)
    usual = {} if CORES in counted_on(federation) else {CORES: 1}  # nodes without stated cores hold one task
    room = np.full((len(jobs), len(federation.groups)), ANY)
    for g, group in enumerate(federation.groups):
        has = usual | dict(group.resources)
        for name, need in needs.items():
            fit = has.get(name, 0) // np.maximum(need, 1)
            room[:, g] = np.where(need > 0, np.minimum(room[:, g], fit), room[:, g])
        devices = has.get(GPU, 0) * together
        room[:, g] = np.where(together > 0, np.minimum(room[:, g], devices), room[:, g])
    return room
