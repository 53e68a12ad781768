"""Jobs that all wait already, as a package: what becomes of their times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.dependencies import settled

if TYPE_CHECKING:
    from fedsched.model.workload import Workload


def waiting_from(workload: Workload, now: float) -> Workload:
    """Return the workload with all jobs submitted at one time, but those that follow others [45].

    Singletons wait for those who came before them; whoever was cancelled before leaves then.
    """
    leaving = workload.cancel_at
    if leaving is not None:
        leaving = leaving.moved(lambda times: np.maximum(times, now))
    return replace(workload, submit=np.full(len(workload), now), after=settled(workload), cancel_at=leaving)
