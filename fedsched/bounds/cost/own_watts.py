"""What nodes draw at least under jobs that say what theirs draw [69].

Where every node of a class drew the least that it does under any job, energy would be no more; what each job takes
beyond that, it takes in any schedule, for at least as long as it runs on the nodes where that is least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats


def of_these_jobs(watts: Floats, busy: Floats, idle: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the least watts of every class's nodes, busy and idle, and jobs × classes: how much more each draws.

    `watts` are jobs × classes, of no size where all draw the busy ones.
    """
    if watts.size == 0:
        return busy, idle, np.zeros((0, 0))
    least = watts.min(axis=0)
    return least, np.minimum(idle, least), watts - least
