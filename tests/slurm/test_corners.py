"""What a condition means to Slurm in every corner, beside our readings 34 and 35: where they differ is named."""

from __future__ import annotations

import math

import pytest
from slurm.compared import RECORDED
from slurm.recording import Recording
from slurm.replay import Comparison, compare

KINDS = ("after", "afterany", "afterok", "afternotok")
LAGS = "Slurm heeds a lag after a start only; here it counts after an end too"
STOPPED = "to Slurm who was cancelled while running has failed; here it ended neither well nor badly"
WITHDRAWN = (
    "to Slurm who was cancelled while waiting has ended, and badly, then; a log has no such job, and here conditions "
    "on jobs that are not there hold at once"
)
DIFFER = {
    "well_lag_afterany": LAGS,
    "well_lag_afterok": LAGS,
    "badly_lag_afterany": LAGS,
    "badly_lag_afternotok": LAGS,
    "stopped_afternotok": STOPPED,
    **{f"{who}_{kind}": WITHDRAWN for who in ("withdrawn", "given_up") for kind in KINDS},
}


@pytest.fixture(scope="module")
def recording() -> Recording:
    """Return the day."""
    return Recording.read(RECORDED / "corners-backfill")


@pytest.fixture(scope="module")
def found(recording: Recording) -> Comparison:
    """Return its comparison with ours; there is a node for everybody, so dispatch rules say nothing."""
    return compare(recording, "conservative")


def test_conditions_mean_the_same_but_for_what_is_named(found: Comparison) -> None:
    """A job starts on Slurm when it does here, or on neither; the differences are exactly those that are known."""
    apart = {start.key for start in found.starts if abs(start.apart) > found.clocks}
    assert apart == set(DIFFER), f"clocks: {found.clocks:g} s"


def test_what_slurm_does_where_we_differ(recording: Recording, found: Comparison) -> None:
    """The facts behind the names: when Slurm lets such jobs go."""
    jobs = {job.key: job for job in recording.jobs}
    for start in found.starts:
        if DIFFER.get(start.key) == LAGS:
            assert start.slurm - jobs[start.key.partition("_")[0]].end <= found.clocks  # type: ignore[operator]
    for whom, when in (("stopped", 200.0), ("withdrawn", 210.0), ("given_up", 300.0)):
        kinds = ("afterany", "afternotok") if whom == "stopped" else ("after", "afterany", "afternotok")
        for kind in kinds:
            begun = jobs[f"{whom}_{kind}"].start
            assert begun is not None
            assert 0.0 <= begun - when <= found.clocks
        assert jobs[f"{whom}_afterok"].reason == "DependencyNeverSatisfied"


def test_whose_condition_cannot_hold_waits_for_ever(recording: Recording, found: Comparison) -> None:
    """Slurm keeps such a job, and who waits for it, in the queue; here they never start."""
    never = {start.key for start in found.starts if math.isnan(start.slurm) and math.isnan(start.ours)}
    of_nobody = {f"of_nobody_{kind}" for kind in KINDS}
    assert {"well_afternotok", "badly_afterok", "too_long_afterok", "stuck_1", "stuck_2", *of_nobody} <= never
    assert {job.state for job in recording.jobs if job.key in never} == {"PENDING"}


def test_singletons_look_at_earlier_jobs_of_their_name_only(recording: Recording) -> None:
    """Whatever became of them; one that waits counts, and one that came later does not, though it runs."""
    jobs = {job.key: job for job in recording.jobs}
    for alone, behind in (("line_2", "line_1"), ("cut_2", "cut_1")):
        assert jobs[alone].start >= jobs[behind].end  # type: ignore[operator]
    assert jobs["cut_1"].state == "CANCELLED"
    before, later = jobs["before"], jobs["later"]
    assert before.submit < later.submit
    assert later.start < before.start < later.end  # type: ignore[operator]


def test_an_earliest_start_is_not_rounded(recording: Recording) -> None:
    """Slurm takes it to the second, and starts the job in the next pass."""
    line = next(job for job in recording.jobs if job.key == "line_1")
    assert line.eligible == line.begin
    assert line.begin % 60.0 != 0.0  # type: ignore[operator]
