"""When all usage is reset to 0: PriorityUsageResetPeriod, in local time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

YEARS = 20  # resets are listed for so many years
_ZERO = datetime(1970, 1, 1)  # without a time zone: all times are local


def resets_from(period: str, origin: float, phase: float) -> NDArray[np.float64]:
    """Return the seconds of the log at which usage is reset, for `YEARS` years from the first tick on, then inf."""
    begin = _ZERO + timedelta(seconds=origin + phase)
    times = [(one - _ZERO).total_seconds() - origin for one in _moments(period, begin)]
    return np.array([*times, np.inf])


def _moments(period: str, begin: datetime) -> Iterator[datetime]:
    midnight = begin.replace(hour=0, minute=0, second=0, microsecond=0)
    end = begin.year + YEARS
    match period:
        case "DAILY" | "WEEKLY":
            sunday = (midnight.weekday() + 1) % 7
            step = timedelta(days=1 if period == "DAILY" else 7)
            at = midnight + (step if period == "DAILY" else timedelta(days=7 - sunday))
            while at.year <= end:
                yield at
                at += step
        case "MONTHLY" | "QUARTERLY" | "YEARLY":
            months = {"MONTHLY": 1, "QUARTERLY": 3, "YEARLY": 12}[period]
            at = midnight.replace(day=1)
            while at.year <= end:
                if at > begin and (at.month - 1) % months == 0:
                    yield at
                at = at.replace(year=at.year + at.month // 12, month=at.month % 12 + 1)
