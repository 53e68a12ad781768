"""Slack: by how long a plan may delay each job, as its user allows [71]."""

from __future__ import annotations

import re

from fedsched.core.errors import shortened
from fedsched.core.text import counted
from fedsched.model.jobs.job_numbers import LEAST, JobNumbers

NO_SLACK = LEAST
HOUR = 3600.0
_TEXT = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)([smhd]?)", re.ASCII)
_SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": HOUR, "d": 24 * HOUR}


class Slack(JobNumbers):
    """The seconds by which plans may delay each job; 0 = not at all."""

    __slots__ = ()
    NAMES = ("slack",)
    NOTHING = NO_SLACK
    RULE = "finite and at least 0 seconds"

    def __str__(self) -> str:
        return f"plans may put off {counted(self.jobs, 'job')}, by up to {self.given.max() / HOUR:.4g} h"


def seconds_said(text: str) -> float | None:
    """Return the seconds of a command-line time, "4h", "90m", "600"; None if it is not a time."""
    found = _TEXT.fullmatch(text)
    return None if found is None else float(found[1]) * _SECONDS[found[2]]


def slack_said(text: str) -> float:
    """Return the seconds of a command-line slack."""
    if (seconds := seconds_said(text)) is None:
        raise ValueError(
            f"put_off={shortened(repr(text))} must be a time: 4h, 90m, 1.5d, 600 (seconds); 0 takes it away."
        )
    return seconds
