"""Days on a real Slurm whose nodes share cores and memory, beside ours."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.memory_logs import AGAIN
from slurm.played_memory import CLOSE, Played


@pytest.mark.parametrize("name", ["memory_builtin", f"memory_builtin{AGAIN}"])
def test_first_come_first_served_is_slurms_day(name: str) -> None:
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


@pytest.mark.parametrize(("name", "exact"), [("memory_backfill", 180), (f"memory_backfill{AGAIN}", 280)])
def test_the_first_starts_of_backfill_are_slurms(name: str, exact: int) -> None:
    """Tests that the first so many starts are Slurm's, and that all are nearer to it than the second day is to it."""
    played, other = Played.read(name), Played.read(name.removesuffix(AGAIN) if AGAIN in name else name + AGAIN)
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    both = np.minimum(played.start, schedule.start)
    first = both[apart > CLOSE].min(initial=np.inf)
    assert (both < first).sum() >= exact
    assert (apart <= CLOSE).mean() > 1.5 * (played.apart(other) <= CLOSE).mean()
    assert (played.start - played.jobs.submit > 600).mean() > 0.5
