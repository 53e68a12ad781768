"""A deadline by which all jobs of a plan must end, and the slack (longest delay) that it leaves each job [72]."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import duration
from fedsched.model.constraints.slack import delay_origin
from fedsched.model.jobs.transformations import submit_all_at
from fedsched.search.problem.objectives import LATE

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload
    from fedsched.search.methods.methods import MethodInfo
    from fedsched.search.problem.objectives import Objectives

MORE = "give a later one (fedsched: --end-by)"


def latest_makespan(deadline: float, t0: float) -> float:
    """Return the longest makespan in seconds that keeps a deadline, given as a time like t0.

    Raise ValueError if the deadline is not a finite time after t0.
    """
    if not (math.isfinite(deadline) and deadline > t0):
        raise ValueError(f"deadline={deadline!r} must be a time after the begin at {t0:g} s; {MORE}.")
    return deadline - t0


def slack_until(workload: Workload, deadline: float, t0: float, submits: str) -> Workload:
    """Return the workload with a new slack: the most whole seconds by which each job, run alone, still ends in time.

    The slack is at least 0.
    """
    jobs = submit_all_at(workload, t0) if submits == "now" else workload
    slack = np.floor(deadline - delay_origin(jobs, t0) - workload.runtime)
    return replace(workload, slack=np.maximum(slack, 0.0))  # type: ignore[arg-type]


def puts_off(info: MethodInfo, objectives: Objectives) -> bool:
    """Return whether a method's plans can delay jobs and an objective may gain by delays."""
    return info.takes_shapes and bool(objectives.priced)


def refuse_unreachable(latest: float, least: float, part: str = "") -> None:
    """Raise InfeasibleError if `least`, a lower bound of the makespan, exceeds the latest makespan (seconds).

    `part` says in the error which package is planned, and when it begins.
    """
    if least > latest:
        raise InfeasibleError(
            f"optimize: {part}deadline={duration(latest)} after the begin, and no schedule of these jobs ends before "
            f"{duration(least)} after it; {MORE}."
        )


def is_late(best: float, latest: float) -> bool:
    """Return whether a plan with this first value misses the deadline: the latest makespan, infinite if none."""
    return latest < math.inf and best >= LATE


def refuse_late(best: float, latest: float, part: str = "") -> None:
    """Raise InfeasibleError if there is a deadline and every plan that the search has found ends after it.

    `best` is the least first value of these plans, `latest` the latest makespan; `part` is as above.
    """
    if is_late(best, latest):
        late = (best / LATE - 1.0) * latest
        raise InfeasibleError(
            f"optimize: {part}deadline={duration(latest)} after the begin, and of the plans that were found the first "
            f"ends {duration(late)} later; {MORE}, or more evaluations."
        )
