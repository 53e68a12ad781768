"""Which groups jobs may have nodes of, and how much the fastest of these stretch their run times [12]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.admission import asked_groups
from fedsched.model.uneven import counted_tasks, together_on

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.workload import Workload


def usable_groups(workload: Workload, federation: Federation) -> NDArray[np.bool_]:
    """Return jobs × groups: whether a job may have nodes of a group, by its allowed clusters and what it asks for."""
    usable = asked_groups(workload, federation)
    if workload.allowed is not None:
        usable = usable & federation.groups_allowed(workload.sites, workload.allowed)
    return np.asarray(usable)


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
