"""Forecasts: run times as the site's users ask for them, ranges that hold what then happens."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_slurm import NOW, Job, running
from support.slurm_history import seen

from fedsched.core.errors import SteerError
from fedsched.site.outlook import Habits, forecast, present
from fedsched.site.outlook.habits import FEW, LATEST, Runs

HALF = (("ann", 0.5),) * 12


def test_run_times_are_those_of_the_users() -> None:
    """Whose jobs have always used half of what they asked for is forecast to do so again, by whoever waits for him."""
    jobs = (Job(2, nodes=4, minutes=40.0), Job(3, nodes=4, user="bob"))
    here = seen(running(1, "1-4", minutes=60.0, since=600.0), *jobs, past=HALF)
    first, second = forecast(here, draws=5).forecasts
    assert (first.job.number, second.job.number) == (2, 3)
    assert first[1:4] == pytest.approx([NOW + 1200.0] * 3)
    assert first.by_limits == NOW + 3000.0
    assert second[1:4] == pytest.approx([NOW + 2400.0] * 3)
    assert second.by_limits == NOW + 3000.0 + 2400.0


def test_a_job_that_has_outrun_its_users_habits_ends_by_its_limit() -> None:
    """Of one who has never used more than half, a job that has run longer ends any time until its limit."""
    here = seen(running(1, "1-4", minutes=60.0, since=2400.0), Job(2, nodes=4), past=HALF)
    [one] = forecast(here, draws=200).forecasts
    assert NOW < one.earliest < NOW + 300.0
    assert NOW + 900.0 < one.latest <= NOW + 1200.0
    assert one.by_limits == NOW + 1200.0


def test_ranges_hold_the_share_that_they_are_of() -> None:
    """The quantiles of a start are those of the run time that it waits for."""
    past = tuple(("ann", k / 100.0) for k in range(1, 101))
    here = seen(running(1, "1-4", minutes=100.0, since=0.0), Job(2, nodes=4), past=past)
    [one] = forecast(here, draws=400, share=0.8).forecasts
    assert one.earliest == pytest.approx(NOW + 600.0, abs=200.0)
    assert one.median == pytest.approx(NOW + 3000.0, abs=400.0)
    assert one.latest == pytest.approx(NOW + 5400.0, abs=200.0)
    [narrow] = forecast(here, draws=400, share=0.2).forecasts
    assert one.earliest < narrow.earliest < one.median < narrow.latest < one.latest


def test_the_same_seed_gives_the_same_ranges() -> None:
    """Another seed draws otherwise."""
    past = tuple(("ann", k / 100.0) for k in range(1, 101))
    here = seen(running(1, "1-4", minutes=100.0), Job(2, nodes=4), past=past)
    assert forecast(here, draws=9).forecasts == forecast(here, draws=9).forecasts
    assert forecast(here, draws=9).forecasts != forecast(here, draws=9, seed=1).forecasts


def test_without_backfilling_nobody_starts_before_those_in_front() -> None:
    """Under sched/builtin a small job that would not delay the first waits behind it, and that is said."""
    jobs = (running(1, "1-3", minutes=30.0, since=600.0), Job(2, nodes=4, minutes=10.0), Job(3, minutes=5.0))
    found = forecast(seen(*jobs), draws=1)
    assert [one.median - NOW for one in found.forecasts] == [1200.0, 0.0]
    assert any("as in Slurm's backfill" in note for note in found.notes)
    found = forecast(seen(*jobs, settings={"SchedulerType": "sched/builtin"}), draws=1)
    assert [one.median - NOW for one in found.forecasts] == [1200.0, 1800.0]
    assert any("sched/builtin does not backfill" in note for note in found.notes)


def test_without_a_past_ranges_are_points_and_it_is_said() -> None:
    """Where sacct knows nothing all jobs run to their limits."""
    found = forecast(seen(running(1, "1-4"), Job(2, nodes=4)), draws=3)
    [one] = found.forecasts
    assert one.earliest == one.latest == one.by_limits == NOW + 1500.0
    assert any(note.startswith("no ended jobs are known: Slurm accounting storage is disabled") for note in found.notes)
    assert any("all jobs run to their limits" in note for note in found.notes)


def test_jobs_that_run_tell_of_their_users_too() -> None:
    """Of one whose short runs have ended and whose long ones go on, sacct tells both."""
    here = seen(running(1, "1-4"), Job(2, nodes=4), past=(("ann", 0.1), ("ann", 0.2)), goes_on=(("ann", 0.5),))
    assert here.habits.of_all.tolist() == [0.1, 0.2, 1.0]
    assert here.habits.known == 2


def test_who_waits_for_what_nobody_knows_is_left_aside() -> None:
    """Held jobs have no forecast, and are counted; an empty queue is no error."""
    found = forecast(seen(running(1, "1"), Job(2, held=True, reason="JobHeldUser")), draws=2)
    assert found.forecasts == ()
    assert found.notes[0] == "left aside: 1 job (2) waits for an unknown time (jobhelduser)"


@pytest.mark.parametrize(("wrong", "value"), [("draws", 0), ("share", 0.0), ("share", 1.0)])
def test_numbers_that_mean_nothing_are_refused(wrong: str, value: float) -> None:
    """No replay, and ranges of none or all."""
    with pytest.raises(SteerError, match=f"{wrong}={value}"):
        forecast(seen(Job(2)), **{wrong: value})  # type: ignore[arg-type]


def test_a_record_is_looked_at_as_the_cluster_is() -> None:
    """The queue that ships has forecasts, those who have their turn first starting no later by their limits alone."""
    found = forecast(present("sample"), draws=1)
    assert len(found.forecasts) == 15
    assert all(one.earliest <= one.median <= one.latest for one in found.forecasts)


def test_habits_are_the_latest_and_few_are_mixed_with_everybodys() -> None:
    """A user's oldest jobs are forgotten; who has three of his own has seven of everybody's beside them."""
    user = np.array(["ann"] * (LATEST + 50) + ["bob"] * 3, dtype=object)
    run = np.concatenate([np.full(50, 10.0), np.full(LATEST, 80.0), np.full(3, 50.0)])
    habits = Habits.of(Runs(user, np.full(user.size, 100.0), run, np.ones(user.size, dtype=np.bool_)))
    assert set(habits.parts("ann").tolist()) == {0.8}
    own = habits.parts("bob").tolist()
    assert len(own) == FEW
    assert own.count(0.5) >= 3
    assert {0.1, 0.8} <= set(own)
    assert habits.parts("eve").size == user.size


def test_like_jobs_of_a_user_run_alike() -> None:
    """In one replay jobs that ask for the same draw the same, and others draw for themselves."""
    past = tuple(("ann", k / 100.0) for k in range(1, 101))
    jobs = seen(*(Job(k, minutes=50.0) for k in range(5)), *(Job(k, user=f"u{k}") for k in range(5, 10)), past=past)
    found = jobs.habits.drawn(jobs.queue.jobs, np.full(10, 3000.0), NOW, np.random.default_rng(1))
    assert len(set(found[:5].tolist())) == 1
    assert len(set(found[5:].tolist())) > 1
    assert (found > 0.0).all()
    assert (found <= 3000.0).all()
