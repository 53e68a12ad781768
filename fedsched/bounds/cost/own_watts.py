"""The least power of nodes, if jobs state their nodes' power themselves [69].

Suppose every node of a class drew the least that it draws under any job. Energy would be no higher. What a job draws
beyond that, it draws in any schedule, for at least its run time on the nodes where that is least.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats


def of_these_jobs(watts: Floats, busy: Floats, idle: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the least watts of every class's nodes, busy and idle, and (jobs × classes) how much more each job draws.

    `watts` are jobs × classes; empty if all jobs draw the busy watts.
    """
    if watts.size == 0:
        return busy, idle, np.zeros((0, 0))
    least = watts.min(axis=0)
    return least, np.minimum(idle, least), watts - least
