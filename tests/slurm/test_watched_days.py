"""Days that a real Slurm played alone and beside `fedsched watch`: what that was worth, and whether promises held."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm.recording import Recording
from slurm.watched import Outcome, lateness, promised, table
from slurm.watched_days import DAYS, MEANS, RECORDED

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "steer-slurm.md"
STEERED = MEANS[1:]


@pytest.mark.parametrize("name", DAYS)
def test_a_watched_day_has_the_same_jobs_and_all_of_them_end(name: str) -> None:
    """Whoever steers, the day is the script's, under its settings, and each job runs to its own end."""
    for means in MEANS:
        recording = Recording.read(RECORDED / f"{name}-{means}")
        assert recording.settings == DAYS[name].settings
        asked = {(one.key, one.nodes, 60.0 * one.minutes) for one in DAYS[name].day.events}
        assert {(job.key, job.nodes, job.limit) for job in recording.jobs} == asked
        assert {job.state for job in recording.jobs} == {"COMPLETED"}


@pytest.mark.parametrize("name", DAYS)
def test_jobs_wait_less_on_a_watched_day(name: str) -> None:
    """In the mean they do, by Nice and by begin times."""
    alone = Outcome.of(Recording.read(RECORDED / f"{name}-alone"))
    for means in STEERED:
        assert Outcome.of(Recording.read(RECORDED / f"{name}-{means}")).wait < alone.wait


@pytest.mark.parametrize("name", [name for name, one in DAYS.items() if "priority/basic" in one.settings])
def test_nobody_starts_later_than_promised(name: str) -> None:
    """By Nice each job that was promised something starts by its forecast and slack; by begin times nearly all."""
    asked = len(DAYS[name].day.events)
    assert max(lateness(name, "nice").values()) <= 0.0
    assert len(promised(name, "nice")) >= asked // 2
    assert sum(seconds > 0.0 for seconds in lateness(name, "lease").values()) <= 2


def test_promises_under_factors_are_broken_without_us_too() -> None:
    """Later jobs may have more priority there: left alone more jobs start after what was promised than steered."""
    late = lateness("factors", "nice", played="alone").values()
    broken = [seconds for seconds in lateness("factors", "nice").values() if seconds > 0.0]
    assert 0 < len(broken) < sum(seconds > 0.0 for seconds in late) == 14
    assert round(max(late) / 60.0) == 190  # as the page says


def test_the_page_has_what_was_recorded() -> None:
    """The table of the page is that of the recordings: `PYTHONPATH=tests python -m slurm.watched` prints it."""
    assert table() in PAGE.read_text(encoding="utf-8")
