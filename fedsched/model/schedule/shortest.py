"""The least factor by which the fastest nodes that a job may use stretch its run time [12]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.uneven import counted_tasks, together_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def least_stretch(workload: Workload, federation: Federation, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return each job's least σ·PS + (1 − σ), on the fastest groups that hold it; infinite if no groups hold it."""
    groups = federation.groups
    left, slowdown = counted_tasks(workload).copy(), np.full(len(workload), np.inf)
    held = usable * together_on(workload, federation)
    for g in sorted(range(len(groups)), key=lambda g: -groups[g].speed):
        enough = (left > 0) & (left <= groups[g].count * held[:, g])
        slowdown[enough] = 1.0 / groups[g].speed
        left -= groups[g].count * held[:, g]
    sigma = workload.compute_fraction
    with np.errstate(invalid="ignore"):  # no computation, and no group that holds the job
        return np.asarray(sigma * slowdown + (1.0 - sigma))
