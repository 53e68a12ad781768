"""How much the fastest nodes that jobs may have stretch their run times [12]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.uneven import counted_tasks, together_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation


def least_stretch(workload: Workload, federation: Federation, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the least σ·PS + (1 − σ) of every job, on its fastest groups; infinite where those do not hold it."""
    groups = federation.groups
    left, slowdown = counted_tasks(workload).copy(), np.full(len(workload), np.inf)
    held = usable * together_on(workload, federation)
    for g in sorted(range(len(groups)), key=lambda g: -groups[g].speed):
        enough = (left > 0) & (left <= groups[g].count * held[:, g])
        slowdown[enough] = 1.0 / groups[g].speed
        left -= groups[g].count * held[:, g]
    sigma = workload.compute_fraction
    with np.errstate(invalid="ignore"):  # where nothing is computed and nothing holds it
        return np.asarray(sigma * slowdown + (1.0 - sigma))
