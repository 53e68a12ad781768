"""Moments on the command line: a time after the first submit, or a date by the log's clock."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.core.errors import shortened
from fedsched.io.wall_clock import clock_from, wall_time_of
from fedsched.model.constraints.slack import parse_seconds

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload


def moment_said(field: str, text: str, workload: Workload) -> float:
    """Return a moment in seconds of the workload: "18h" after the first submit, or a date, "2027-01-12T12:00"."""
    if (seconds := parse_seconds(text)) is not None:
        return float(workload.submit.min()) + seconds
    moment = wall_time_of(text)
    if moment is None or not math.isfinite(moment.seconds):
        raise ValueError(
            f"{field}={shortened(repr(text))} must be a time after the first submit (18h, 90m, 1.5d) or a date by the "
            "log's clock (2027-01-12T12:00)."
        )
    clock = clock_from(workload)
    if clock is None:
        raise ValueError(
            f"{field}={shortened(repr(text))} is a date, and the log's header does not say when its second 0 was; give "
            "a time after the first submit: 18h."
        )
    return clock.second(moment)
