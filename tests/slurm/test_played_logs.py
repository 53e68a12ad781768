"""Small logs that a real Slurm played, by Slurm's own scheduler here."""

from __future__ import annotations

from dataclasses import replace

import pytest
from slurm.logs import AGAIN, LOGS, LONG_LOGS
from slurm.played_logs import CLOSE, Played


@pytest.mark.parametrize("name", [*LOGS])
def test_a_log_goes_as_recorded(name: str) -> None:
    """With the moments of its passes every job starts within a minute, ten seconds apart in the mean at the most."""
    played = Played.read(name)
    schedule = played.on_ours()
    schedule.verify()
    apart = played.apart(schedule)
    assert (apart <= CLOSE).mean() >= 0.99
    assert apart.mean() <= 10.0


@pytest.mark.parametrize("name", [*LONG_LOGS])
def test_five_hundred_jobs_go_as_recorded(name: str) -> None:
    """With the moments of its passes each starts within a second of Slurm's start, on the very nodes."""
    played = Played.read(name)
    schedule = played.on_ours()
    schedule.verify()
    assert len(played.start) == 500
    assert played.apart(schedule).max() <= 1.0
    assert [{node + 1 for node in schedule.nodes_of(row)} for row in range(500)] == list(played.nodes)
    assert (played.start - played.jobs.submit > 600.0).mean() >= 0.25


@pytest.mark.compiled
@pytest.mark.parametrize(("name", "most"), [("multifactor_500", 1.0), ("limits_500", 1.3)])
def test_ours_is_about_as_far_as_slurm_is_from_itself(name: str, most: float) -> None:
    """With drawn clocks, from either of two recordings of the same jobs, in the mean of twenty runs."""
    first, again = Played.read(name), Played.read(f"{name}{AGAIN}")
    noise = first.apart(again).mean()
    assert (first.apart(again) <= CLOSE).mean() < 0.5
    for played in (first, again):
        runs = played.on_ours(with_clocks=False, ensemble=20).runs
        assert sum(played.apart(run).mean() for run in runs) / 20 <= most * noise


def test_main_passes_over_all_decide() -> None:
    """After a tick nobody looks at the queue before the next one of them: with a clock of their own all goes apart."""
    played = Played.read("multifactor_500")
    without = replace(played, clocks=replace(played.clocks, full=None))
    assert (played.apart(without.on_ours()) <= CLOSE).mean() < 0.9


@pytest.mark.parametrize("name", [*LOGS])
def test_most_wait(name: str) -> None:
    """A log in which nobody waits would say nothing: half of the jobs wait for more than ten minutes."""
    played = Played.read(name)
    assert (played.start - played.jobs.submit > 600.0).mean() >= 0.5


@pytest.mark.parametrize(
    ("said", "otherwise"),
    [
        ("associations,limits,qos", "associations"),
        ("PriorityTier=3", "PriorityTier=1"),
        ("grptres=node=4", "grptres=node=12"),
        ("set grpjobs=3", "set grpjobs=30"),
        ("maxtresperuser=node=6", "maxtresperuser=node=12"),
        ("set maxjobs=2", "set maxjobs=30"),
    ],
)
def test_limits_and_tiers_decide(said: str, otherwise: str) -> None:
    """The log of limits goes otherwise where one of them is another."""
    played = Played.read("limits")
    schedule = played.on_ours(changed=lambda *texts: tuple(text.replace(said, otherwise) for text in texts))
    assert (played.apart(schedule) <= CLOSE).mean() < 0.7


@pytest.mark.parametrize("name", ["backfill", "multifactor", "limits"])
def test_nodes_are_slurm_s(name: str) -> None:
    """With the recording's clocks each job has the very nodes that Slurm gave it, whichever scheduler started it."""
    played = Played.read(name)
    schedule = played.on_ours()
    assert [{node + 1 for node in schedule.nodes_of(row)} for row in range(len(played.start))] == list(played.nodes)


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("name", "share"),
    [("backfill", 0.83), ("multifactor", 0.9), ("limits", 0.9), *((name, 0.9) for name in LONG_LOGS)],
)
def test_recorded_starts_lie_inside_an_ensemble(name: str, share: float) -> None:
    """Most lie between the earliest and the latest start of runs with drawn clocks, and so does the mean wait."""
    played = Played.read(name)
    schedule = played.on_ours(with_clocks=False, ensemble=20)
    inside = []
    for row, start in enumerate(played.start.tolist()):
        least, most = schedule.interval_of(row)
        inside.append(least - played.over <= start <= most + played.over)
    assert sum(inside) / len(inside) >= share
    waits, recorded = schedule.spread_of("mean_wait"), (played.start - played.jobs.submit).mean()
    assert waits.least <= recorded <= waits.most
    for run in schedule.runs:
        run.verify()
