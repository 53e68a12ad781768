"""Days that a real Slurm played alone and beside `fedsched watch`: what that was worth, and whether promises held."""

from __future__ import annotations

from pathlib import Path

import pytest
from slurm.recording import Recording
from slurm.watched import Outcome, lateness, promised, table
from slurm.watched_days import DAYS, MEANS, RECORDED

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "fidelity.md"
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


@pytest.mark.parametrize("means", STEERED)
@pytest.mark.parametrize("name", DAYS)
def test_nobody_starts_later_than_promised(name: str, means: str) -> None:
    """Each job that was promised something starts by its forecast and slack, as newcomers with priority move that."""
    assert max(lateness(name, means).values()) <= 0.0
    assert len(promised(name, means)) >= len(DAYS[name].day.events) // 2


@pytest.mark.parametrize("name", ["at_once", "arriving", "short", "partitions"])
def test_promises_move_only_where_newcomers_have_more_priority(name: str) -> None:
    """Under priority/basic nobody has: what was promised first stays."""
    assert promised(name, "lease") == promised(name, "lease", first=True)


def test_first_promises_under_factors_are_broken_without_us_too() -> None:
    """Later jobs may have more priority there: left alone about as many start after what was promised first."""
    late = {
        (means, played): sum(by > 0.0 for by in lateness("factors", means, played=played, first=True).values())
        for means in STEERED for played in (means, "alone")
    }  # fmt: skip
    assert [late["nice", "nice"], late["lease", "lease"]] == [8, 10]  # as the page says
    assert [late["nice", "alone"], late["lease", "alone"]] == [10, 9]


def test_the_page_has_what_was_recorded() -> None:
    """The table of the page is that of the recordings: `PYTHONPATH=tests python -m slurm.watched` prints it."""
    assert table() in PAGE.read_text(encoding="utf-8")
