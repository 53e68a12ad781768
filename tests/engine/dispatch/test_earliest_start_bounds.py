"""Floors: no time is held against a job that needs less than whoever it was found for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.plain import plain

earliest_starts = plain("fedsched.engine.dispatch.earliest_start_bounds")


@pytest.mark.parametrize("scale", [1e-12, 0.01, 1.0, 40.0, 1e9])
def test_a_floor_is_that_of_somebody_who_needs_no_more(scale: float) -> None:
    """Whatever is returned was raised for no more nodes and no longer; of equal needs the last is returned."""
    rng = np.random.default_rng(int(abs(math.log10(scale))))
    floor = np.empty(earliest_starts.TABLE_SIZE)
    earliest_starts.clear_bounds(floor)
    seen: list[tuple[int, float, float]] = []
    found = 0
    for time in range(400):
        tasks = int(rng.choice([rng.integers(1, 20), 2 ** rng.integers(0, 18), rng.integers(1, 200_000)]))
        duration = float(scale * rng.choice([2.0 ** rng.integers(0, 10), rng.random() * 500 + 1e-9]))
        got = earliest_starts.bound_of(floor, tasks, duration)
        below = [since for t, d, since in seen if t <= tasks and d <= duration]
        assert got <= max(below, default=-np.inf)
        found += got > -np.inf
        earliest_starts.raise_bound(floor, tasks, duration, float(time))
        seen.append((tasks, duration, float(time)))
        assert earliest_starts.bound_of(floor, tasks, duration) == time
    assert found > 100
    earliest_starts.clear_bounds(floor)
    assert earliest_starts.bound_of(floor, 10**9, 1e300) == -np.inf


def test_floors_hold_for_whoever_needs_a_quarter_more() -> None:
    """What was found for a job is known to all that need a quarter more nodes for a quarter longer."""
    for tasks in (1, 2, 3, 5, 7, 9, 100, 5000):
        for duration in (0.5, 1.0, 59.0, 3600.0, 1e6):
            floor = np.empty(earliest_starts.TABLE_SIZE)
            earliest_starts.clear_bounds(floor)
            earliest_starts.raise_bound(floor, tasks, duration, 7.0)
            more = math.ceil(1.25 * tasks)
            assert earliest_starts.bound_of(floor, more, 1.26 * duration) == 7.0
            assert earliest_starts.bound_of(floor, tasks, duration * (1 - 1e-15)) == -np.inf
            if tasks > 1:
                assert earliest_starts.bound_of(floor, tasks - 1, 99 * duration) == -np.inf
