"""What jobs drew, of the joules that Slurm's energy plugin has measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.power.watts import OF_THE_GROUP

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


def watts_of(read: Mapping[str, Floats], table: Floats) -> dict[str, Floats]:
    """Return the watts of each task of the jobs, by the column's name; nothing where no energy was measured."""
    joules = read.get("energy", np.zeros(0))
    if not joules.size:
        return {}
    seconds, tasks = table[3], table[4]
    known = (joules > 0.0) & (seconds > 0.0) & (tasks > 0.0)  # who has no plugin says 0
    if not known.any():
        return {}
    taken = np.where(known, seconds * tasks, 1.0)
    return {"watts": np.where(known, joules / taken, OF_THE_GROUP)}
