"""Slack: by how many seconds a user allows plans to delay a job; and the delays that plans choose within it [71]."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import shortened
from fedsched.core.text import counted, duration
from fedsched.model.jobs.columns import LEAST, JobNumbers
from fedsched.model.jobs.requests import EarliestStarts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

NO_SLACK = LEAST
HOUR = 3600.0
_TEXT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": HOUR, "d": 24 * HOUR}


class Slack(JobNumbers):
    """The slack of each job: the seconds by which plans may delay it; 0 = not at all."""

    __slots__ = ()
    NAMES = ("slack",)
    NOTHING = NO_SLACK
    RULE = "finite and at least 0 seconds"

    def __str__(self) -> str:
        return f"plans may put off {counted(self.jobs, 'job')}, by up to {self.values.max() / HOUR:.4g} h"


def parse_seconds(text: str) -> float | None:
    """Return the seconds of a command-line time, "4h", "90m", "600"; None if it is not a time."""
    found = _TEXT.fullmatch(text)
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def parse_slack(text: str) -> float:
    """Return the seconds of a command-line slack, such as "4h"; raise if it is not a time."""
    if (seconds := parse_seconds(text)) is None:
        raise ValueError(
            f"put_off={shortened(repr(text))} must be a time: 4h, 90m, 1.5d, 600 (seconds); 0 removes it."
        )
    return seconds


def slack_of(workload: Workload) -> Floats:
    """Return each job's slack, the seconds by which plans may delay it; 0 if the workload states none."""
    return np.zeros(len(workload)) if workload.slack is None else workload.slack.values


def delay_origin(workload: Workload, t0: float) -> Floats:
    """Return, for each job, the time from which its delay counts, in seconds.

    It is the latest of the submit, t0 and the earliest start that the job's user asked for.
    """
    since = np.maximum(workload.submit, t0)
    return since if workload.begin is None else np.maximum(since, workload.begin.begin)


def with_delays(workload: Workload, since: Floats, delays: Floats | Ints) -> Workload:
    """Return the jobs with earliest starts that delay each job by `delays` seconds from the time `since` on.

    Jobs without a delay keep their earliest starts.
    """
    begin = np.zeros(len(workload)) if workload.begin is None else workload.begin.begin
    moved = np.where(delays > 0, np.maximum(since + delays, begin), begin)
    return replace(workload, begin=EarliestStarts.of(moved, workload.id))


def latest_delayed_time(workload: Workload, t0: float) -> float:
    """Return the latest time to which a plan may delay any job; −inf if the workload states no slack."""
    if workload.slack is None or not len(workload):
        return -np.inf
    return float((delay_origin(workload, t0) + workload.slack.values).max())


def delayed_until(schedule: Schedule) -> Floats:
    """Return the time until which the schedule's plan delays each job; −inf if the plan does not delay the job."""
    if schedule.delays is None:
        return np.full(len(schedule), -np.inf)
    since = delay_origin(schedule.workload, schedule.t0)
    return np.asarray(np.where(schedule.delays > 0.0, since + schedule.delays, -np.inf))


def broken_delays(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each job that is delayed by more than its slack, or starts before its delay is over."""
    if schedule.delays is None:
        return
    workload, delays, start = schedule.workload, schedule.delays, schedule.start
    slack, since = slack_of(workload), delay_origin(workload, schedule.t0)
    for row in np.flatnonzero(~((delays >= 0.0) & (delays <= slack))):
        yield f"Job {workload.id[row]}: it is put off by {delays[row]:g} s, of a slack of {slack[row]:g} s."
    for row in np.flatnonzero((delays > 0.0) & (start < since + delays)):
        until = since[row] + delays[row]
        yield f"Job {workload.id[row]}: it starts at {start[row]:g}, but is put off until {until:g}."


def in_words(schedule: Schedule) -> list[str]:
    """Return one text that says how many jobs a schedule's plan delays, and by how long; [] if it states no delays."""
    if schedule.delays is None:
        return []
    late = schedule.delays[schedule.delays > 0.0]
    may = counted(int((slack_of(schedule.workload) > 0.0).sum()), "job")
    if not late.size:
        return [f"the plan puts off none of the {may} that it may"]
    mean, most = duration(float(late.mean())), duration(float(late.max()))
    return [f"the plan puts off {late.size} of the {may} that it may, by {mean} in the mean, at most {most}"]
