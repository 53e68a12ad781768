"""The wall's clock and a log's: which second a date is, by what headers say."""

from __future__ import annotations

import math

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.wall_clock import WallClock, WallTime, clock_from, clock_of_workload, start_of, wall_time_of

KTH = [
    ("UnixStartTime", "843480031"),
    ("TimeZone", "3600"),
    ("TimeZoneString", "Europe/Stockholm"),
    ("StartTime", "Mon Sep 23 14:00:31 CEST 1996"),
]
HOUR, DAY = 3600.0, 86400.0


def clock(*header: tuple[str, str]) -> WallClock:
    """Return the clock of a log with such a header."""
    found = clock_of_workload(fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=list(header)))
    assert found is not None
    return found


def moment(text: str) -> WallTime:
    """Return the moment that a text is."""
    found = wall_time_of(text)
    assert found is not None
    return found


def test_times_are_read_as_they_stand() -> None:
    """Dates with and without a clock, seconds since 1970, and the words for none."""
    assert moment("1970-01-02T00:00:01") == WallTime(DAY + 1)
    assert moment("1970-01-02 01:30") == WallTime(DAY + 1.5 * HOUR)
    assert moment("1970-01-03") == WallTime(2 * DAY)
    assert moment("86400") == WallTime(DAY, exact=True)
    assert [wall_time_of(word) for word in ("Unknown", "n/a", "")] == [None] * 3
    for wrong in ("noon", "1970-02-30", "1970-01-01T25:00:00", "12:00:00", "9" * 20, "-5"):
        assert math.isnan(moment(wrong).seconds), wrong
    assert str(moment("2027-01-12T08:00:00")) == "2027-01-12 08:00:00"
    assert str(WallTime(1e300)) == "1e+300 s from 1970 on"


def test_headers_say_when_second_0_was() -> None:
    """Archives spell it out, dumps of Slurm write a date; what is no time says nothing."""
    assert start_of("Mon Sep 23 14:00:31 CEST 1996") == moment("1996-09-23T14:00:31")
    assert start_of("Fri, Jan  3 00:00:00 2003") == moment("2003-01-03")
    assert start_of("2027-01-12 08:00:00 (as the dump says it)") == moment("2027-01-12T08:00:00")
    for wrong in ("", "some day", "Mon Foo 23 14:00:31 1996", "2027-02-30 00:00:00", "Mon Feb 30 00:00:00 2003"):
        assert start_of(wrong) is None
    assert clock(*KTH).said == "UnixStartTime of the log's header"
    assert clock(("StartTime", "2027-01-12 08:00:00"), ("StartTime", "2028-01-12 08:00:00")).zero == moment(
        "2027-01-12T08:00:00"
    )


def test_clocks_that_are_set_lose_no_hour() -> None:
    """Where the log's zone is known, the hour that October's night has twice is counted, and found again."""
    kth = clock(*KTH)
    assert kth.second(moment("1996-09-23T14:00:31")) == 0.0
    assert kth.second(moment("843480031")) == 0.0
    assert kth.second(moment("1996-10-28T14:00:31")) == 35 * DAY + HOUR
    assert kth.moment(35 * DAY + HOUR) == moment("1996-10-28T14:00:31")
    assert kth.on_the_wall(moment("843480031")) == moment("1996-09-23T14:00:31")
    assert clock(KTH[3]).second(moment("1996-10-28T14:00:31")) == 35 * DAY
    assert kth.second(WallTime(1e300)) == 1e300 - 843480031


def test_what_is_missing_is_made_up_for_as_well_as_can_be() -> None:
    """A zone by its seconds, one that this machine does not know, and none at all: then UTC, which is said."""
    assert clock(KTH[0], KTH[1]).zero == moment("1996-09-23T13:00:31")
    assert clock(KTH[0], ("TimeZoneString", "Middle/Earth"), KTH[3]).zero == moment("1996-09-23T14:00:31")
    bare = clock(KTH[0])
    assert bare.zero == moment("1996-09-23T12:00:31")
    assert bare.said == "UnixStartTime of the log's header in UTC"
    assert bare.on_the_wall(moment("843480031")) == moment("1996-09-23T12:00:31")


@pytest.mark.parametrize(
    ("note", "history"),
    [("fedsched: rebased to 0", ""), ("", "rebased to 7"), ("", "scale_load(2.0)"), ("", "read x.swf (rebase=True)")],
)
def test_submits_that_were_moved_have_no_date(note: str, history: str) -> None:
    """The header's time is then another second's, be it moved here or before it was written to a file."""
    header = [("Note", note), ("StartTime", "2027-01-12 08:00:00")]
    log = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=header, history=[history], name="log")
    with pytest.raises(
        FederationError, match=r"log: its submits were moved \(.*; give origin= \(fedsched: --calendar-o"
    ):
        clock_of_workload(log)
    assert clock_of_workload(fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=header[:1])) is None


def test_an_origin_stands_for_a_header() -> None:
    """A date or seconds; what is no time is refused, and nobody's word is no clock."""
    given = clock_from("2027-01-12")
    assert given is not None
    assert given.second(moment("2027-01-13")) == DAY
    assert clock_from(DAY) == WallClock(WallTime(DAY, exact=True))
    assert clock_from(None) is None
    assert clock_from(fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0])) is None
    for wrong in ("noon", "", True, math.nan, math.inf):
        with pytest.raises(FederationError, match=r"origin=.* must be a time like 2027-01-12T08:00:00"):
            clock_from(wrong)
