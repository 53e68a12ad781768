"""Delays: by how long a plan delays its jobs, within the slack that their users allow [71]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, duration
from fedsched.model.constraints.earliest import EarliestStarts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


def slack_of(workload: Workload) -> Floats:
    """Return, in seconds, by how long plans may delay each job."""
    return np.zeros(len(workload)) if workload.slack is None else workload.slack.given


def counted_from(workload: Workload, t0: float) -> Floats:
    """Return the time from which a job's delay counts: the latest of its submit, t0, and its user's earliest start."""
    since = np.maximum(workload.submit, t0)
    return since if workload.begin is None else np.maximum(since, workload.begin.begin)


def put_off(workload: Workload, t0: float, delays: Floats | Ints) -> Workload:
    """Return the jobs with their delays as earliest starts."""
    begin = np.zeros(len(workload)) if workload.begin is None else workload.begin.begin
    moved = np.where(delays > 0, counted_from(workload, t0) + delays, begin)
    return replace(workload, begin=EarliestStarts.of(moved, workload.id))


def latest_put_off(workload: Workload, t0: float) -> float:
    """Return the latest time to which a plan may delay a job; −inf if no job may be delayed."""
    if workload.slack is None or not len(workload):
        return -np.inf
    return float((counted_from(workload, t0) + workload.slack.given).max())


def put_off_until(schedule: Schedule) -> Floats:
    """Return the time to which the plan of a schedule delays each job; −inf if it does not delay it."""
    if schedule.delays is None:
        return np.full(len(schedule), -np.inf)
    since = counted_from(schedule.workload, schedule.t0)
    return np.asarray(np.where(schedule.delays > 0.0, since + schedule.delays, -np.inf))


def broken_delays(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each delay of a schedule that exceeds its job's slack or is not kept by the job's start."""
    if schedule.delays is None:
        return
    workload, delays, start = schedule.workload, schedule.delays, schedule.start
    slack, since = slack_of(workload), counted_from(workload, schedule.t0)
    for row in np.flatnonzero(~((delays >= 0.0) & (delays <= slack))):
        yield f"Job {workload.id[row]}: it is put off by {delays[row]:g} s, of a slack of {slack[row]:g} s."
    for row in np.flatnonzero((delays > 0.0) & (start < since + delays)):
        until = since[row] + delays[row]
        yield f"Job {workload.id[row]}: it starts at {start[row]:g}, but is put off until {until:g}."


def in_words(schedule: Schedule) -> list[str]:
    """Return, in words, how many jobs the plan of a schedule delays, and by how long."""
    if schedule.delays is None:
        return []
    late = schedule.delays[schedule.delays > 0.0]
    may = counted(int((slack_of(schedule.workload) > 0.0).sum()), "job")
    if not late.size:
        return [f"the plan puts off none of the {may} that it may"]
    mean, most = duration(float(late.mean())), duration(float(late.max()))
    return [f"the plan puts off {late.size} of the {may} that it may, by {mean} in the mean, at most {most}"]
