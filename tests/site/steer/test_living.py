"""The Slurm in the memory beside the real one: days that were played on it, left alone."""

from __future__ import annotations

import pytest
from slurm.recording import Recording
from slurm.watched import Outcome
from slurm.watched_days import DAYS, INTERVAL, RECORDED
from support.living_slurm import LivingSlurm, played


@pytest.mark.parametrize("name", DAYS)
def test_left_alone_it_goes_as_the_real_one(name: str) -> None:
    """Jobs wait as long in the mean as they did on a real Slurm, but for its clocks: a fiftieth less."""
    day = DAYS[name].day
    alone = played(LivingSlurm.playing(day.events, day.nodes, factors=name == "factors"), None, INTERVAL)
    assert len(alone.began) == len(day.events)
    assert alone.wait == pytest.approx(Outcome.of(Recording.read(RECORDED / f"{name}-alone")).wait, rel=0.02)
