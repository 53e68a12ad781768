"""GPUs as devices: whole ones by the demand "gpu", a share of one by "gpu_share", in thousandths [55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

CORES = "cpu"  # a task has one if its job does not say
GPU, SHARE = "gpu", "gpu_share"
WHOLE = 1000  # thousandths of a device


def gpus_asked(workload: Workload) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the whole GPUs that each task takes, and the share of one more GPU in thousandths.

    A share of one GPU or more is rounded up to whole GPUs.
    """
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.demand is None else workload.demand.columns()
    whole, share = columns.get(GPU, none), columns.get(SHARE, none)
    for row in np.flatnonzero((whole > 0) & (share > 0))[:1].tolist():
        raise InfeasibleError(
            f"Job {workload.id[row]}: it demands {GPU}={whole[row]} and {SHARE}={share[row]} for each task; give whole "
            "GPUs, or a part of one."
        )
    whole = whole + np.where(share >= WHOLE, -(-share // WHOLE), 0)
    return whole, np.where(share < WHOLE, share, 0)
