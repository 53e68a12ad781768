"""The earliest start of a Slurm job by its --begin: a date and time, or a delay after the submit."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime, timedelta

_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}
_CLOCKS = {"midnight": 0, "elevenses": 11, "noon": 12, "fika": 15, "teatime": 16}
_NOW = re.compile(r"now\s*(?:([+-])\s*(\d{1,9})\s*(?:(second|minute|hour|day|week)s?)?)?", re.IGNORECASE)
_UTS = re.compile(r"uts(\d{7,11})", re.IGNORECASE)
_TIME = (
    r"(?:(?P<clock>midnight|elevenses|noon|fika|teatime)|"
    r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s*(?P<half>[ap]m)?)"
)
_DAY = (
    r"(?:(?P<word>today|tomorrow)|(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)|"
    r"(?P<month_>\d\d?)[/.](?P<day_>\d\d?)(?:[/.](?P<year_>\d\d))?|"
    r"(?P<month__>\d\d)(?P<day__>\d\d)(?P<year__>\d\d)?)"
)
_BETWEEN = r"(?:\s*[T-]\s*|\s+)"
_TIMES = [
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for pattern in (f"{_DAY}(?:{_BETWEEN}{_TIME})?", f"{_TIME}(?:{_BETWEEN}{_DAY})?")
]


def begin_of(text: str, submit: float, *, local: bool) -> float:
    """Return the earliest start of a job in seconds since 1970; NaN if the text cannot be read as a time.

    Parameters
    ----------
    text
        The value of --begin.
    submit
        When the job was submitted, in seconds since 1970.
    local
        Whether `submit` is in local time; else it is UTC, and local times are unknown.
    """
    text = text.strip()
    if match := _NOW.fullmatch(text):
        sign, count, unit = match.groups()
        return submit + int(f"{sign or '+'}{count or 0}") * _SECONDS[(unit or "second").lower()]
    if match := _UTS.fullmatch(text):
        return math.nan if local else float(match[1])
    match = next(filter(None, (pattern.fullmatch(text) for pattern in _TIMES)), None)
    if match is None or not local:
        return math.nan
    try:
        return _time(match, datetime.fromtimestamp(submit, UTC)).timestamp()
    except (ValueError, OverflowError):  # the 30th of February, 13:00 pm
        return math.nan


def _time(match: re.Match[str], now: datetime) -> datetime:
    """Return the time of a match; if the day or its year is missing, the next such time after now."""
    part = match.groupdict()
    hour, minute, second = _clock(part)
    month, day = (int(part[name] or part[f"{name}_"] or part[f"{name}__"] or 0) for name in ("month", "day"))
    year = int(part["year"] or 0) or (2000 + short if (short := int(part["year_"] or part["year__"] or 0)) else 0)
    if month and not year:
        year = now.year + ((month, day, hour, minute) <= (now.month, now.day, now.hour, now.minute))
    if not month:
        today = part["word"] and part["word"].lower() == "today"
        today = today or (not part["word"] and (hour, minute) > (now.hour, now.minute))
        date = now if today else now + timedelta(days=1)
        year, month, day = date.year, date.month, date.day
    return datetime(year, month, day, hour, minute, second, tzinfo=UTC)


def _clock(part: dict[str, str | None]) -> tuple[int, int, int]:
    if part["clock"]:
        return _CLOCKS[part["clock"].lower()], 0, 0
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if part["half"]:
        if hour > 12:
            raise ValueError(hour)
        hour = hour % 12 + 12 * (part["half"].lower() == "pm")
    return hour, minute, second
