"""Days on a real Slurm whose nodes share cores and memory, beside ours."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.memory_logs import AGAIN
from slurm.played_memory import CLOSE, Played

ALL = [f"memory_{kind}{again}" for kind in ("builtin", "backfill") for again in ("", AGAIN)] + [f"memory_yields{AGAIN}"]


@pytest.mark.parametrize("name", ALL)
def test_it_is_slurms_day(name: str) -> None:
    """Tests that with the recording's clocks every job starts when Slurm started it, on the very cores."""
    played = Played.read(name)
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    assert len(apart) == 500
    assert (played.start - played.jobs.submit > 600).mean() > 0.5
    assert (apart <= CLOSE).mean() >= 0.99
    assert apart.mean() <= 10.0
    assert played.on_the_same(schedule) >= 0.99
    assert (played.apart(played.on_ours(memory=False)) <= CLOSE).mean() < 0.5  # memory decides


def test_that_a_second_turns_within_a_pass_decides() -> None:
    """Tests that starts go apart if passes take no time, but even so are nearer than a second recording."""
    played, other = Played.read("memory_backfill"), Played.read(f"memory_backfill{AGAIN}")
    apart = played.apart(played.instant().on_ours())
    assert (apart <= CLOSE).mean() < 0.95
    assert (apart <= CLOSE).mean() > (played.apart(other) <= CLOSE).mean()


def test_the_first_starts_are_slurms_where_passes_yield() -> None:
    """Tests that the first 355 starts are Slurm's, and that all are nearer to it than the second day is to it."""
    played, other = Played.read("memory_yields"), Played.read(f"memory_yields{AGAIN}")
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    both = np.minimum(played.start, schedule.start)
    first = both[apart > CLOSE].min(initial=np.inf)
    assert (both < first).sum() >= 355
    assert (apart <= CLOSE).mean() > 1.5 * (played.apart(other) <= CLOSE).mean()
    assert (played.start - played.jobs.submit > 600).mean() > 0.5
