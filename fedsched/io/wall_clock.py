"""Conversion between wall-clock times (dates) and seconds of a workload."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from fedsched.core.errors import FederationError, shortened
from fedsched.io.slurm_files.sacct_values import UNKNOWN, WORDS, clock_of, day_of

if TYPE_CHECKING:
    from fedsched.model.jobs.workload import Workload

_ZERO = datetime(1970, 1, 1)  # without a zone: local times are counted as written
_MOST = 1e11  # most seconds since 1970 that are still dates
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Dates as archives write them, and as `fedsched.io.slurm_files.sacct` does: Mon Sep 23 14:00:31 CEST 1996;
# 2027-01-12 08:00:00 (…).
_SPELLED = re.compile(
    r"(?:[A-Za-z]{3},? +)?([A-Za-z]{3}) +(\d{1,2}) +(\d\d:\d\d:\d\d)(?: +[A-Za-z+\-0-9]+)?? +(\d{4})\b", re.ASCII
)
_MINUTES = re.compile(r"[ T]\d\d:\d\d", re.ASCII)
_STANDING = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)
# Lines of a workload's history after which its header's time no longer fits the submits.
_MOVED = re.compile(r"^(?:fedsched: )?(?:rebased to|scale_load\(|read .*\brebase=True)")
GIVE = "give origin= (fedsched: --calendar-origin), the time at second 0, like 2027-01-12T08:00:00"


@dataclass(frozen=True, slots=True)
class WallTime:
    """A time as seconds since 1970: of a date in local time, counted as written, or, if `exact`, seconds in UTC."""

    seconds: float
    exact: bool = False

    def __str__(self) -> str:
        try:
            return f"{_ZERO + timedelta(seconds=self.seconds):%Y-%m-%d %H:%M:%S}"
        except OverflowError:
            return f"{self.seconds:g} s from 1970 on"

    def later(self, seconds: float) -> WallTime:
        """Return the time that is `seconds` later, by the same clock."""
        return WallTime(self.seconds + seconds, self.exact)


def wall_time_of(text: str) -> WallTime | None:
    """Return the time in a text: 2027-01-12T08:00:00, 2027-01-12, or seconds since 1970.

    Return None for an empty text, and for a word such as "Unknown" or "None". Seconds since 1970 give an `exact` time
    in UTC. A text that is no time gives a time of NaN seconds.
    """
    text = text.strip()
    if text.isdecimal() and text.isascii():
        return WallTime(float(text) if len(text) < 13 else math.nan, exact=True)
    if WORDS.get(text.lower()) == UNKNOWN:
        return None
    clock = f"{text[10:]}:00" if _MINUTES.fullmatch(text[10:]) else text[10:]
    return WallTime(day_of(text[:10]) + clock_of(clock) if "-" in text[1:10] else math.nan)


@dataclass(frozen=True, slots=True)
class WallClock:
    """The clock of a workload, which converts wall-clock times to its seconds and back.

    Parameters
    ----------
    zero
        The wall-clock time at second 0.
    unix
        Seconds since 1970 in UTC at second 0, if known.
    zone
        The time zone, if known: then changes to and from summer time neither lose nor add an hour.
    said
        The source of the clock: "StartTime of the log's header".
    """

    zero: WallTime
    unix: float | None = None
    zone: ZoneInfo | None = None
    said: str = ""

    def second(self, moment: WallTime) -> float:
        """Return a wall-clock time in seconds of the workload's own clock, in which submits are given."""
        if self.unix is not None and moment.exact:
            return moment.seconds - self.unix
        if self.unix is not None and self.zone is not None:
            return self._counted(moment, self.zone) - self.unix
        return moment.seconds - self.zero.seconds

    def moment(self, second: float) -> WallTime:
        """Return the local wall-clock time of a second of the workload's own clock."""
        if self.unix is not None and self.zone is not None and abs(self.unix + second) < _MOST:
            return _on_the_wall(self.unix + second, self.zone)
        return self.zero.later(second)

    def on_the_wall(self, moment: WallTime) -> WallTime:
        """Return a time as local wall-clock time, even if it is counted in UTC."""
        return self.moment(self.second(moment)) if moment.exact else moment

    def _counted(self, moment: WallTime, zone: ZoneInfo) -> float:
        try:
            return (_ZERO + timedelta(seconds=moment.seconds)).replace(tzinfo=zone).timestamp()
        except (OverflowError, ValueError):
            return moment.seconds


def clock_from(origin: Workload | str | float | None) -> WallClock | None:
    """Return the clock of a workload, by its header, or a clock with second 0 at the given time.

    Return None for None, and if the header gives no time. Raise a FederationError if a given time is invalid.
    """
    if origin is None:
        return None
    if isinstance(origin, str | int | float):
        moment = wall_time_of(str(origin) if isinstance(origin, str) else f"{origin:.0f}")
        if isinstance(origin, bool) or moment is None or not math.isfinite(moment.seconds):
            raise FederationError(f"origin={shortened(repr(origin))} must be a time like 2027-01-12T08:00:00.")
        return WallClock(zero=moment)
    return clock_of_workload(origin)


def clock_of_workload(workload: Workload) -> WallClock | None:
    """Return the clock that a workload's header gives by StartTime or UnixStartTime; None if it has neither.

    Raise a FederationError if submits were moved since the header was written: its time then fits another second.
    """
    header = dict(reversed(workload.header))  # of several lines with one name the first counts
    unix, zero = _whole(header.get("UnixStartTime", "")), start_of(header.get("StartTime", ""))
    zone = _zone(header.get("TimeZoneString", ""))
    said = "StartTime of the log's header"
    if unix is not None and (zone is not None or zero is None):
        said = "UnixStartTime of the log's header"
        ahead = _whole(header.get("TimeZone", ""))
        zero = WallTime(unix + (ahead or 0.0)) if zone is None else _on_the_wall(unix, zone)
        said += " in UTC" * (zone is None and ahead is None)
    if zero is None:
        return None
    told = [*workload.history, *(text for label, text in workload.header if label == "Note")]  # as SWF files keep it
    if line := next((line for line in told if _MOVED.match(line)), None):
        raise FederationError(f"{workload.name}: its submits were moved ({line}) since its header was written; {GIVE}.")
    return WallClock(zero, unix, zone, said)


def start_of(text: str) -> WallTime | None:
    """Return the wall-clock time in the text of a header's StartTime, without its zone; None if it is no time."""
    if match := _STANDING.match(text.strip()):
        moment = wall_time_of(match[0])
        return moment if moment is not None and math.isfinite(moment.seconds) else None
    match = _SPELLED.match(text.strip())
    if match is None or match[1].lower() not in _MONTHS:
        return None
    month = _MONTHS.index(match[1].lower()) + 1
    seconds = day_of(f"{match[4]}-{month:02d}-{int(match[2]):02d}") + clock_of(f" {match[3]}")
    return WallTime(seconds) if math.isfinite(seconds) else None


def _on_the_wall(unix: float, zone: ZoneInfo) -> WallTime:
    there = datetime.fromtimestamp(unix, UTC).astimezone(zone).replace(tzinfo=None)
    return WallTime((there - _ZERO).total_seconds())


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name.strip()) if name.strip() else None
    except (KeyError, ValueError, OSError):  # this machine does not know the zone
        return None


def _whole(text: str) -> float | None:
    match = re.match(r"\s*(-?\d{1,10})(?!\d)", text)
    return float(match[1]) if match else None
