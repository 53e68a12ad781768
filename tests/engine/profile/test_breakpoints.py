"""Rows of a profile: what is sought, put in and taken off."""

from __future__ import annotations

import numpy as np
from support.plain import arrived, jobs, plain

import fedsched as fs

breakpoints = plain("fedsched.engine.profile.breakpoints")


def profile_with(times: list[float], totals: list[int]):
    """Return a profile of so many breakpoints."""
    _, _, state = arrived(jobs([1] * 5, [1.0] * 5), fs.Federation.homogeneous(10), dispatch="conservative")
    state.profile.time[: len(times)], state.profile.total[: len(totals)] = times, totals
    return state.profile


def test_rows_are_sought_by_time_and_by_nodes() -> None:
    """By time the first that is not before it, by nodes the first with enough or too few; else the end of the rows."""
    profile = profile_with([0.0, 5.0, 9.0], [4, 2, 7])
    assert [breakpoints.first_at(profile, time, 0, 3) for time in (-1.0, 0.0, 0.5, 5.0, 9.5)] == [0, 0, 1, 1, 3]
    assert [breakpoints.first_with(profile.total, 1, 3, tasks) for tasks in (1, 3, 8)] == [1, 2, 3]
    assert breakpoints.first_without(profile, 0, 3, 3, 9.0) == 1
    assert breakpoints.first_without(profile, 0, 3, 3, 5.0) == 3  # the lack begins where the window has ended
    assert breakpoints.first_without(profile, 2, 3, 3, 99.0) == 3


def test_a_row_is_put_in_with_what_stands_before_it() -> None:
    """The rows behind it move on by one."""
    profile = profile_with([0.0, 5.0, 9.0], [4, 2, 7])
    breakpoints.insert_time(profile.time, 2, 3, 6.0)
    breakpoints.repeat_before(profile.total, 2, 3)
    assert profile.time[:4].tolist() == [0.0, 5.0, 6.0, 9.0]
    assert profile.total[:4].tolist() == [4, 2, 2, 7]
    breakpoints.take(profile.total, 1, 3, 2)
    assert profile.total[:4].tolist() == [4, 0, 0, 7]
    assert breakpoints.least_of(profile.total, 0, 2, 3) == 0
    assert breakpoints.least_of(np.array([5]), 0, 1, 3) == 3
