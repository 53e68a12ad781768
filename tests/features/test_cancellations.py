"""Jobs that leave the queue at a time of their own [44]: the check, bounds, files and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.cancellation_cases import jobs, run

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import InfeasibleError

if TYPE_CHECKING:
    from pathlib import Path


def test_the_check_knows_who_was_cancelled() -> None:
    """A start at or after the time is refused, as is a job left out that has no time."""
    schedule = run(jobs([0.0, 1.0, 2.0], [2, 2, 2], [-1, 50.0, -1]))
    late = replace(schedule, start=[0.0, 100.0, 200.0], finish=[100.0, 200.0, 300.0], counts=[[2]] * 3)
    assert late.violations() == ["Job 2: it starts at 100, but was cancelled at 50."]
    missing = replace(schedule, start=[0.0, np.nan, np.nan], finish=[100.0, np.nan, np.nan])
    assert missing.violations() == ["Job 3: it was never started."]
    early = replace(schedule, until=20.0)
    assert "Job 2: it was never started." in early.violations()
    waits_for = replace(jobs([0.0, 1.0, 2.0], [2, 1, 1], [-1, 50.0, -1]), after={3: "afterany:2"})
    soon = replace(run(waits_for), start=[0.0, np.nan, 40.0])
    assert any("before afterany:2 holds at 50" in line for line in soon.violations())
    never = replace(run(waits_for), workload=replace(waits_for, after={3: "after:2"}))
    assert any("Job 3: it starts at 100, but its conditions cannot hold." in line for line in never.violations())


def test_lost_runs_of_cancelled_jobs_are_checked() -> None:
    """A run cannot begin when its job is gone, and a job that ran at its time must start again."""
    machine = fs.Federation.homogeneous(2)
    outage = fs.Downtime(machine.clusters[0].name, 40.0, 300.0, kind="outage", on_running="requeue")
    machine = replace(machine, calendar=(outage,))
    log = jobs([0.0, 1.0], [1, 1], [60.0, -1])
    gone = run(log, machine=machine)
    spared = replace(gone, workload=replace(log, cancel_at=[40.0, -1]))
    assert any("though it ran when it was to be cancelled" in line for line in spared.violations())
    too_late = replace(gone, workload=replace(log, cancel_at=[0.0, -1]))
    assert any("its run from 0 begins when it was cancelled, at 0" in line for line in too_late.violations())


def test_times_are_checked_by_job() -> None:
    """A time is a number, not before the submit; -1 is none, and where all are none there is no column."""
    with pytest.raises(ValueError, match=r"Job 2: cancel_at=0\.5 must not be before its submit"):
        jobs([0.0, 1.0], [1, 1], [-1, 0.5])
    for wrong in (np.nan, np.inf, -2.0):
        with pytest.raises(ValueError, match=r"Job 1: cancel_at=\S+ must be finite and at least 0, or -1 for never"):
            jobs([0.0], [1], [wrong])
    assert jobs([0.0], [1], [-1]).cancel_at is None


def test_times_go_along_with_the_jobs(tmp_path: Path) -> None:
    """They are taken, moved, merged, told, compared, and written to every file that has a place for them."""
    log = jobs([10.0, 20.0, 30.0], [1, 1, 1], [-1, 45.0, 30.0])
    assert log.take([1]).cancel_at.cancel_at.tolist() == [45.0]
    assert log.rebased().cancel_at.cancel_at.tolist() == [-1.0, 35.0, 20.0]
    assert log.scale_load(2).cancel_at.cancel_at.tolist() == [-1.0, 27.5, 20.0]
    assert log != replace(log, cancel_at=None)
    assert fs.Workload.from_jobs(list(log)) == log
    assert "2 jobs cancelled at a given time unless started" in str(log)
    merged = fs.Workload.merge(log, replace(log, cancel_at=None, name="other"))
    assert sorted(merged.cancel_at.cancel_at.tolist()) == [-1.0, -1.0, -1.0, -1.0, 30.0, 45.0]
    for name in ("jobs.csv", "jobs.json"):
        log.write(tmp_path / name)
        np.testing.assert_array_equal(fs.read(tmp_path / name).cancel_at.cancel_at, log.cancel_at.cancel_at)
    with pytest.raises(fs.errors.OutputError, match="no place for cancel_at"):
        log.write(tmp_path / "jobs.swf")


SWF = "; MaxNodes: 4\n1 0 0 100 2 -1 -1 2 100 -1 1 1 1 -1 -1 -1 -1 -1\n"
GONE = "2 5 30 {run} {used} -1 -1 2 {asked} -1 5 1 1 -1 -1 -1 -1 -1\n"


@pytest.mark.parametrize(("run_time", "used"), [(-1, -1), (0, 0)])
def test_a_log_keeps_those_cancelled_in_the_queue(tmp_path: Path, run_time: int, used: int) -> None:
    """Status 5, a wait and no run: dropped as ever, or kept with the request as run time."""
    path = tmp_path / "log.swf"
    path.write_text(SWF + GONE.format(run=run_time, used=used, asked=60))
    assert len(fs.read(path)) == 1
    kept = fs.read(path, cancelled="keep", rebase=True)
    assert kept.cancel_at.cancel_at.tolist() == [-1.0, 35.0]
    assert kept.runtime.tolist() == [100.0, 60.0]
    assert kept.cleaning.cancelled == 1
    assert "1 cancelled in the queue: kept" in str(kept.cleaning)
    assert kept.recorded.jobs == 1  # it has no start
    path.write_text(SWF + GONE.format(run=run_time, used=used, asked=-1))
    assert len(fs.read(path, cancelled="keep")) == 1  # nobody knows how long it would have run


def test_a_dump_keeps_those_cancelled_in_the_queue(tmp_path: Path) -> None:
    """Slurm says that a job was cancelled and when, and no start."""
    path = tmp_path / "jobs.sacct"
    path.write_text(
        "JobIDRaw|Submit|Start|End|ElapsedRaw|TimelimitRaw|ReqCPUS|AllocCPUS|State\n"
        "7|2024-03-01T10:00:00|2024-03-01T10:00:10|2024-03-01T10:10:10|600|60|2|2|COMPLETED\n"
        "8|2024-03-01T10:01:00|Unknown|2024-03-01T10:05:00|0|30|4|0|CANCELLED by 1000\n"
        "9|2024-03-01T10:02:00|None|2024-03-01T10:02:00|0|30|4|0|CANCELLED by 1000\n"
    )
    assert len(fs.read(path)) == 1
    kept = fs.read(path, cancelled="keep")
    assert kept.cancel_at.cancel_at.tolist() == [-1.0, 300.0, 120.0]
    assert kept.runtime.tolist() == [600.0, 1800.0, 1800.0]
    assert kept.tasks.tolist() == [2, 4, 4]


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    """An unknown word, a log that is kept as it is, and a table, which has the column itself."""
    path = tmp_path / "log.swf"
    path.write_text(SWF)
    with pytest.raises(ValueError, match='cancelled=\'some\' must be "drop" or "keep"'):
        fs.read(path, cancelled="some")
    with pytest.raises(ValueError, match='it needs clean="standard"'):
        fs.read(path, cancelled="keep", clean="none")
    fs.read(path).write(tmp_path / "log.csv")
    with pytest.raises(ValueError, match="cancelled='keep' is for logs"):
        fs.read(tmp_path / "log.csv", cancelled="keep")


def test_plans_go_on_where_jobs_leave() -> None:
    """Rolling plans, searches and list heuristics plan as if all stayed."""
    log, machine = jobs([0.0, 1.0, 2.0], [2, 2, 1], [-1, 50.0, -1]), fs.Federation.homogeneous(2)
    assert fs.optimize(log, machine, evaluations=20, submits="keep").front.missing[0] == 1
    for policy in (fs.Rolling(evaluations=50), "min-min", "mct"):
        schedule = fs.simulate(log, machine, policy)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.cancelled.tolist() == [False, True, False]


@pytest.mark.needs("ortools")
def test_bounds_are_of_those_who_start_in_any_case() -> None:
    """Of means nothing is proven; where nobody is certain to start, nothing is."""
    log = jobs([0.0, 0.0, 0.0], [2, 2, 1], [-1, 50.0, -1], after={3: "afterany:2"})
    machine = fs.Federation.homogeneous(2)
    bounds = lower_bounds(log, machine)
    assert bounds.makespan == pytest.approx(200.0)  # of jobs 1 and 3, which do not fit side by side
    assert np.isnan(bounds.mean_wait)
    assert np.isnan(bounds.of("mean_response"))
    assert "not proven: mean_wait, mean_wait_eligible, mean_response" in str(bounds)
    with pytest.raises(InfeasibleError, match="each job may be cancelled or miss its reservation"):
        lower_bounds(jobs([0.0], [1], [5.0]), machine)


def test_no_schedule_is_below_the_bounds() -> None:
    """On random systems with cancellations the bounds hold for whatever rule made the schedule."""
    checked = 0
    for seed in range(400):
        scenario = strategies.random_scenario(seed, max_jobs=8, restless=True).without_kills().as_chosen()
        if all(job.cancel_at == np.inf for job in scenario.jobs):
            continue
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        result = scenario.simulate()
        if not result.ran:
            continue
        try:
            reading = {"kill_at_estimate": scenario.settings.kill_at_estimate}
            bounds = lower_bounds(workload, federation, method="closed", **reading)
        except InfeasibleError:
            continue
        measured = naive.metrics(result)
        for name in ("makespan", "energy", "flow", "max_wait"):
            bound = bounds.of(name)
            assert np.isnan(bound) or bound <= measured[name] * (1 + 1e-9) + 1e-9, (seed, name)
        checked += 1
    assert checked > 50
