"""Jobs that all wait already, as a package: what becomes of their times."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.model.constraints.dependencies import settled
from fedsched.model.reading import SUBMITS

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload


def submitted(call: str, workload: Workload, submits: str, t0: float | None, *, some_run: bool) -> Workload:
    """Return the jobs as a call is asked to take them: all waiting from the begin on ("now"), or as they are."""
    if submits not in SUBMITS:
        raise unknown_name("submits", submits, SUBMITS)
    if submits == "keep" or len(workload) == 0:
        return workload
    if some_run:
        raise ValueError(
            f"{call}: submits='now' would move the running jobs' submits too; use submits='keep' with running."
        )
    return waiting_from(workload, float(workload.submit.min()) if t0 is None else float(t0))


def waiting_from(workload: Workload, now: float) -> Workload:
    """Return the workload with all jobs submitted at one time, but those that follow others [45].

    Singletons wait for the jobs before them; jobs that were cancelled before leave then. The waits that the log records
    are of other submits, and are dropped.
    """
    leaving = workload.cancel_at
    if leaving is not None:
        leaving = leaving.moved(lambda times: np.maximum(times, now))
    log = None if workload.log is None else workload.log.without_waits()
    return replace(workload, submit=np.full(len(workload), now), after=settled(workload), cancel_at=leaving, log=log)
