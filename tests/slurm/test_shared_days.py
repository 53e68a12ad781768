"""Slurm's own scheduler beside recordings of a real one, start for start."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.shared_days import CLOSE, FOLDER, NAMES, Day

pytestmark = [
    pytest.mark.needs_traces,
    pytest.mark.skipif(
        not FOLDER.is_dir(), reason="../shared/slurm/recorded with recordings is not beside this checkout"
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_with_the_recordings_clocks_starts_are_its_own(name: str) -> None:
    """At least 99 % of the starts are within a minute of the recorded ones, and ten seconds apart in the mean."""
    day = Day.read(name)
    schedule = day.on_ours(with_clocks=True)
    schedule.verify()
    apart = day.apart(schedule)
    assert (apart <= CLOSE).mean() >= 0.99
    assert apart.mean() <= 10.0


@pytest.mark.parametrize(("name", "share"), [("kth-builtin", 0.99), ("kth-backfill", 0.99), ("kth-cons_tres", 0.94)])
def test_with_clocks_of_its_own_it_is_no_farther_than_noise(name: str, share: float) -> None:
    """Passes whose phases are not the recording's decide a few starts otherwise."""
    day = Day.read(name)
    apart = day.apart(day.on_ours(with_clocks=False))
    assert (apart <= CLOSE).mean() >= share
    assert apart.mean() <= 30.0


@pytest.mark.parametrize("name", ["kth-backfill", "kth-cons_tres", "kth-multifactor"])
def test_jobs_are_on_the_nodes_that_slurm_gave_them(name: str) -> None:
    """With its clocks each job has the very nodes of the recording."""
    day = Day.read(name)
    schedule = day.on_ours(with_clocks=True)
    same = [schedule.nodes_of(row) == nodes for row, nodes in enumerate(day.nodes)]  # type: ignore[attr-defined]
    assert np.mean(same) == 1.0


def test_completing_nodes_matter() -> None:
    """Were nodes free at once, the comparison would find it."""
    day = Day.read("kth-backfill")
    from dataclasses import replace

    apart = day.apart(replace(day, over=0).on_ours(with_clocks=True))
    assert (apart <= CLOSE).mean() < 0.99
