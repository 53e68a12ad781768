"""Jobs that follow others [45]: cases by hand, sessions, the check, bounds, files and refusals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import FieldError, InfeasibleError, TraceError
from fedsched.generate.feedback import feedback_named

if TYPE_CHECKING:
    from pathlib import Path

DISPATCH = ("strict", "greedy", "local", "easy", "conservative", "lookahead")


def jobs(runtime: list[float], preceding: list[int], think: list[float], **columns: object) -> fs.Workload:
    """Return jobs of one node, 1, 2, …, of which some follow others; recorded submits are 0, 1000, 2000, …"""
    columns = {"submit": [1000.0 * j for j in range(len(runtime))], "tasks": [1] * len(runtime), **columns}
    return fs.Workload(runtime=runtime, feedback={"preceding": preceding, "think_time": think}, **columns)


def run(workload: fs.Workload, nodes: int = 2, policy: object = "easy", **options: object) -> fs.Schedule:
    """Return the schedule, checked with its metrics."""
    machine = options.pop("machine", fs.Federation.homogeneous(nodes))
    schedule = fs.simulate(workload, machine, policy, **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("dispatch", DISPATCH)
def test_a_submit_moves_with_the_end_before_it(dispatch: str, same_time: str) -> None:
    """The recorded submit does not count, sooner or later; waits are from the moved one."""
    log = jobs([100.0, 50.0, 5000.0, 10.0], [-1, 1, -1, 3], [-1, 20.0, -1, 0.0])
    schedule = run(log, policy=fs.Rules(dispatch=dispatch), same_time=same_time)
    assert schedule.start.tolist() == [0.0, 120.0, 2000.0, 7000.0]
    assert schedule.workload.submit.tolist() == [0.0, 120.0, 2000.0, 7000.0]
    assert schedule.metrics().mean_wait == 0.0
    assert log.submit.tolist() == [0.0, 1000.0, 2000.0, 3000.0]


@pytest.mark.parametrize("order", ["fcfs", "f1", "wfp3"])
def test_first_come_first_served_goes_by_moved_submits(order: str) -> None:
    """Who is submitted later in this schedule stands behind, whatever the log says; other orders go by their own."""
    log = jobs([10.0, 500.0, 20.0, 20.0], [-1, -1, 1, -1], [-1, -1, 300.0, -1], submit=[0.0, 0.0, 1.0, 100.0],
               tasks=[1, 2, 2, 2])  # fmt: skip
    start = run(log, policy=fs.Rules(order=order)).start
    assert start[3] == 510.0
    assert start[2] == 530.0


def test_however_the_other_ends_the_user_goes_on() -> None:
    """Failed, killed by a downtime or cancelled: the next job is submitted; not so where the other never starts."""
    log = jobs([100.0, 10.0, 10.0], [-1, 1, 2], [-1, 5.0, 5.0], log={"status": [0, 5, 1]})
    assert run(log).start.tolist() == [0.0, 105.0, 120.0]
    cancelled = jobs([100.0, 10.0, 10.0], [-1, -1, 2], [-1, -1, 5.0], submit=[0.0, 0.0, 1.0], tasks=[2, 2, 2],
                     cancel_at=[-1, 50.0, -1])  # fmt: skip
    schedule = run(cancelled)
    np.testing.assert_array_equal(schedule.start, [0.0, np.nan, 100.0])
    assert schedule.workload.submit[2] == 55.0
    machine = fs.Federation.homogeneous(2)
    outage = fs.Downtime(machine.clusters[0].name, 40.0, 60.0, kind="outage", on_running="kill")
    killed = run(jobs([100.0, 10.0], [-1, 1], [-1, 5.0]), machine=replace(machine, calendar=(outage,)))
    np.testing.assert_array_equal(killed.start, [np.nan, 60.0])
    assert killed.workload.submit[1] == 45.0
    never = run(jobs([100.0, 10.0, 10.0], [-1, -1, 2], [-1, -1, 5.0], after={2: "afternotok:1"}))
    assert never.hopeless.tolist() == [False, True, True]
    assert "never started, because their conditions cannot hold: 2 jobs (2, 3)" in str(never)


def test_a_job_cancelled_before_its_user_would_submit_it_has_left() -> None:
    """Its time is one of a clock; its recorded submit stays."""
    schedule = run(jobs([100.0, 10.0], [-1, 1], [-1, 950.0], cancel_at=[-1, 1040.0]))
    assert schedule.cancelled.tolist() == [False, True]
    assert schedule.workload.submit[1] == 1000.0
    assert run(jobs([100.0, 10.0], [-1, 1], [-1, 930.0], cancel_at=[-1, 1040.0])).start[1] == 1030.0


def test_whoever_follows_a_job_that_is_not_here_is_submitted_as_recorded() -> None:
    """And that is said; circles are refused by name."""
    log = jobs([100.0, 10.0], [99, -1], [5.0, -1], submit=[30.0, 0.0])
    schedule = run(log)
    assert schedule.start.tolist() == [30.0, 0.0]
    assert "1 job after the ends of jobs that are not here (submitted as recorded)" in schedule.unmodelled
    with pytest.raises(InfeasibleError, match="it waits for itself"):
        run(jobs([1.0, 1.0], [2, 1], [0.0, 0.0]))


def test_the_check_knows_moved_submits() -> None:
    """A submit that is not the end and the think time, or a start before it, is refused."""
    log = jobs([100.0, 50.0], [-1, 1], [-1, 20.0])
    schedule = run(log)
    recorded = replace(schedule, workload=log, start=[0.0, 1000.0], finish=[100.0, 1050.0])
    assert recorded.violations() == ["Job 2: it is submitted at 1000, not 20 s after the end of job 1 at 100."]
    early = replace(schedule, start=[0.0, 110.0], finish=[100.0, 160.0])
    assert any("before its submit at 120" in line for line in early.violations())


def test_sessions_are_told_from_recorded_starts_and_ends() -> None:
    """A batch is submitted before the last end of those before; the next follows that one; a gap ends a session."""
    log = fs.Workload(
        submit=[0.0, 50.0, 60.0, 300.0, 310.0, 2000.0, 2150.0, 2200.0],
        tasks=[1] * 8,
        runtime=[100.0, 200.0, 10.0, 10.0, 10.0, 100.0, 10.0, 10.0],
        user=[7, 7, 7, 7, 7, 7, 7, 8],
        log={"wait": [0.0, 0.0, 0.0, 20.0, 0.0, 50.0, 0.0, 0.0]},
    )
    live = fs.generate.feedback(log, fs.generate.Sessions(gap=600))
    assert live.feedback.preceding.tolist() == [-1, -1, -1, 2, 2, -1, 6, -1]
    assert live.feedback.think_time.tolist() == [-1, -1, -1, 50.0, 60.0, -1, 0.0, -1]
    assert live.history[-1] == "feedback: sessions:600"
    unknown = fs.generate.feedback(replace(log, user=-1), fs.generate.Sessions())
    assert unknown.feedback is None
    recorded = log.submit + log.log.wait
    np.testing.assert_array_equal(run(live, nodes=8).start[[0, 1, 2, 5, 7]], (recorded - log.log.wait)[[0, 1, 2, 5, 7]])


def test_a_log_says_whom_jobs_follow(tmp_path: Path) -> None:
    """Fields 17 and 18 are read, replayed and written; without them, or without waits, that is said."""
    path = tmp_path / "log.swf"
    lines = ("1 0 0 100 1 -1 -1 1 100 -1 1 1 1 -1 -1 -1 {} {}", "2 300 0 50 1 -1 -1 1 100 -1 1 1 1 -1 -1 -1 1 200")
    path.write_text("; MaxNodes: 4\n" + "\n".join(lines).format(-1, -1) + "\n")
    log = fs.read(path)
    assert "1 job after other jobs" in log.unmodelled
    live = fs.generate.feedback(log, "swf")
    assert live.feedback.preceding.tolist() == [-1, 1]
    assert live.unmodelled == ()
    assert run(live).start.tolist() == [0.0, 300.0]
    live.write(tmp_path / "again.swf")
    assert fs.generate.feedback(fs.read(tmp_path / "again.swf"), "swf").feedback == live.feedback
    live.write(tmp_path / "jobs.csv")
    assert fs.read(tmp_path / "jobs.csv").feedback == live.feedback
    plain = replace(log, log=None)
    for how, said in (("swf", "no job has a preceding one"), (fs.generate.Sessions(), "no waits are recorded")):
        with pytest.raises(TraceError, match=said):
            fs.generate.feedback(plain, how)
    with pytest.raises(ValueError, match="must be"):
        fs.generate.feedback(log, "users")


def test_feedback_has_names() -> None:
    """The words of the command line and of scenarios."""
    assert feedback_named("swf") == "swf"
    assert feedback_named("sessions") == fs.generate.Sessions(3600.0)
    assert feedback_named("sessions:1200") == fs.generate.Sessions(1200.0)
    for wrong in ("users", "sessions:x", "sessions:-1", "swf:3"):
        with pytest.raises(FieldError, match="must be swf, sessions or sessions:GAP"):
            feedback_named(wrong)


def test_columns_are_checked_by_job() -> None:
    """Ids are whole numbers, think times not negative; both are given."""
    with pytest.raises(ValueError, match=r"Job 2: preceding=1\.5 must be a job's id"):
        jobs([1.0, 1.0], [-1, 1.5], [-1, 0.0])
    with pytest.raises(ValueError, match="Job 2: think_time=-5 must be finite"):
        jobs([1.0, 1.0], [-1, 1], [-1, -5.0])
    with pytest.raises(TypeError, match='"preceding" and "think_time"'):
        fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], feedback={"preceding": [1]})


def test_a_schedule_comes_back_from_its_table(tmp_path: Path) -> None:
    """The file holds starts and ends alone: the submits that came out follow from them."""
    schedule = run(jobs([100.0, 50.0, 10.0], [-1, 1, 2], [-1, 20.0, 30.0], cancel_at=[-1, 1500.0, -1]))
    schedule.to_csv(tmp_path / "schedule.csv")
    log = jobs([100.0, 50.0, 10.0], [-1, 1, 2], [-1, 20.0, 30.0], cancel_at=[-1, 1500.0, -1])
    again = fs.Schedule.read(tmp_path / "schedule.csv", log, schedule.federation)
    assert again.workload.submit.tolist() == [0.0, 120.0, 200.0]
    again.verify()


def test_bounds_know_the_chain() -> None:
    """The makespan is at least the ends and thoughts in a row; of what counts from submits nothing is proven."""
    bounds = lower_bounds(jobs([100.0, 50.0], [-1, 1], [-1, 20.0]), fs.Federation.homogeneous(2))
    assert bounds.makespan == pytest.approx(170.0)
    for name in ("flow", "mean_wait", "max_wait", "mean_response", "bounded_slowdown"):
        assert np.isnan(bounds.of(name)), name
    assert "not proven: mean_wait" in str(bounds)


def test_no_schedule_is_below_the_bounds() -> None:
    """On random systems in which jobs follow others the bounds hold for whatever rule made the schedule."""
    checked = 0
    for seed in range(300):
        scenario = strategies.random_scenario(seed, max_jobs=8, restless=True).without_kills().as_chosen()
        result = scenario.simulate()
        if all(job.follows is None for job in scenario.jobs) or not result.ran:
            continue
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        reading = {"kill_at_estimate": scenario.settings.kill_at_estimate}
        try:
            bounds = lower_bounds(workload, federation, method="closed", **reading)
        except InfeasibleError:
            continue
        measured = naive.metrics(result)
        for name in ("makespan", "energy"):
            assert bounds.of(name) <= measured[name] * (1 + 1e-9) + 1e-9, (seed, name)
        checked += 1
    assert checked > 30
