"""Days on a real Slurm whose nodes share cores and memory, beside ours."""

from __future__ import annotations

from dataclasses import replace

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


def test_a_job_is_as_many_nodes_large_as_it_says() -> None:
    """Tests that Slurm takes three jobs by size, of which one says for how many nodes it asks, and ours by the same.

    Each comes in another turn if none says so, or both that stand on several do.
    """
    played = Played.read("memory_sizes")
    schedule = played.on_ours()
    schedule.verify()
    assert played.start.argsort().tolist() == [0, 3, 2, 1]
    assert played.apart(schedule).max() <= 1.0
    assert played.on_the_same(schedule) == 1.0
    assert played.jobs.layout is not None
    columns = played.jobs.layout.columns()
    assert columns["nodes"].tolist() == [0, 0, 0, 6]
    for said, turns in (([0, 0, 0, 0], [0, 2, 1, 3]), ([0, 8, 0, 6], [0, 1, 3, 2])):
        others = replace(played.jobs, layout={**columns, "nodes": said})  # type: ignore[arg-type]
        assert replace(played, jobs=others).on_ours().start.argsort().tolist() == turns


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
