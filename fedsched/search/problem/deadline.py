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
    from fedsched.search.run.run import Run

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


def refuse_unreachable(latest: float, least: float) -> None:
    """Raise InfeasibleError if `least`, a lower bound of the makespan, exceeds the latest makespan (seconds)."""
    if least > latest:
        raise InfeasibleError(
            f"optimize: deadline={duration(latest)} after the begin, and no schedule of these jobs ends before "
            f"{duration(least)} after it; {MORE}."
        )


def refuse_late(run: Run) -> None:
    """Raise InfeasibleError if there is a deadline and every plan that the search has found ends after it."""
    latest, best = run.problem.objectives.latest, run.archive.values[:, 0].min()
    if latest < math.inf and best >= LATE:
        late = (best / LATE - 1.0) * latest
        raise InfeasibleError(
            f"optimize: deadline={duration(latest)} after the begin, and of the plans that were found the first ends "
            f"{duration(late)} later; {MORE}, or more evaluations."
        )
