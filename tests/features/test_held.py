"""Jobs that are held for a time: cases worked out by hand from reading 73, and what does not know of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies
from support.held_cases import MACHINE, log, starts
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.model.constraints.holds import Hold

if TYPE_CHECKING:
    from pathlib import Path

BASIC = "ClusterName=m\nPriorityType=priority/basic\n"
each_reading = pytest.mark.parametrize("same_time", ["batch", "sequential"])


def test_what_the_wait_is_since_a_release() -> None:
    """Waits are from the submit, eligibility is the end of the last hold."""
    schedule = fs.simulate(log({2: [(0, 4), (5, 12)]}), MACHINE)
    assert schedule.start.tolist() == [0.0, 20.0, 10.0]
    assert schedule.eligible.tolist() == [0.0, 12.0, 2.0]
    row = schedule.metrics()
    assert row.mean_wait == pytest.approx((0 + 19 + 8) / 3)
    assert row.mean_wait_eligible == pytest.approx((0 + 8 + 8) / 3)


def test_a_critical_path_has_the_holds_of_a_job_that_follows_another() -> None:
    """The second is thought about until 10 and held until 20, the third waits for its end: 30 s from 10 on."""
    follows = {"preceding": [-1, 1, -1], "think_time": [-1.0, 0.0, -1.0]}
    columns = {"submit": [0.0, 0.0, 15.0], "feedback": follows, "after": {3: "afterok:2"}}
    schedule = fs.simulate(log({2: [(5, 20)]}, **columns), MACHINE)
    schedule.verify(claimed=schedule.metrics())
    (workflow,) = schedule.workflows()
    assert (workflow.submit, workflow.critical_path, workflow.stretch) == (10.0, 30.0, 1.0)


def test_no_capacity_is_lost_to_whoever_is_held() -> None:
    """Two nodes idle from 0 to 10 while one waits for four of them: in vain until 3, and from 8 on."""
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[2, 2], runtime=10.0, held={2: [(3, 8)]}, pools={"p": [1, 1]})
    one = fs.Federation(MACHINE.clusters, pools=(fs.Pool("p", 1),))
    schedule = fs.simulate(jobs, one, "fcfs")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 10.0]
    assert schedule.metrics().loss_of_capacity == pytest.approx((3 + 2) * 2 / (4 * 20))


@each_reading
def test_a_job_that_is_held_may_be_cancelled(same_time: str) -> None:
    """It leaves then, whether it was in the queue before or not; whoever waits for its end goes on."""
    for hold in ((1, 30), (5, 30)):
        jobs = log({2: [hold]}, cancel_at=[-1.0, 8.0, -1.0], after=["", "", "afterany:2"])
        schedule = fs.simulate(jobs, MACHINE, same_time=same_time)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.cancelled.tolist() == [False, True, False]
        assert schedule.start[2] == 10.0
    back = fs.simulate(log({2: [(5, 15)]}, cancel_at=[-1.0, 17.0, -1.0]), MACHINE, same_time=same_time)
    assert back.cancelled.tolist() == [False, True, False]


def test_what_a_job_waits_for_counts_from_its_end() -> None:
    """Its condition holds at 10, when it is held until 14; the lag is over before."""
    jobs = log({3: [(9, 14)]}, after=["", "", "afterok:1+2s"], tasks=1)
    assert starts(jobs, "easy") == [0.0, 1.0, 14.0]


def test_who_waited_before_the_beginning() -> None:
    """A run from 50 on: of two who were submitted before, one is held by then, and one was."""
    jobs = log({1: [(40, 60)], 2: [(10, 20)]}, submit=[0.0, 5.0, 50.0])
    schedule = fs.simulate(jobs, MACHINE, t0=50.0)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [60.0, 50.0, 70.0]
    assert schedule.eligible.tolist() == [60.0, 20.0, 50.0]


def test_a_start_in_a_hold_is_found() -> None:
    """Whatever made the schedule."""
    schedule = fs.simulate(log(None), MACHINE)
    wrong = replace(schedule, workload=log({3: [(15, 25)]}))
    with pytest.raises(ScheduleError, match=r"Job 3: it starts at 20, while it is held from 15 to 25"):
        wrong.verify()
    replace(schedule, workload=log({3: [(5, 20)]})).verify()  # at its end it may


def test_plans_do_not_know_of_holds_to_come() -> None:
    """A search plans without one that begins later, says so, and counts what came; one at t0 it knows."""
    later = fs.optimize(log({1: [(0, 3)], 2: [(5, 40)]}), MACHINE, evaluations=50, seed=1)
    assert later.foresight == "planned without 1 hold to come; figures are of what came"
    checked = later.schedule(0)
    checked.verify(claimed=checked.metrics())
    rolling = fs.simulate(log({2: [(5, 40)]}), MACHINE, fs.Rolling(evaluations=20))
    rolling.verify(claimed=rolling.metrics())
    assert rolling.start.tolist() == [0.0, 40.0, 10.0]
    assert fs.optimize(log({1: [(0, 3)]}), MACHINE, evaluations=50, seed=1).foresight == ""


def test_bounds_know_that_a_hold_moves_the_earliest_start() -> None:
    """The makespan of one who is held until 100 is no less than that; a hold that begins later proves nothing."""
    first, later = log({1: [(0, 100)]}), log({1: [(5, 100)]})
    assert lower_bounds(first, MACHINE).makespan == pytest.approx(110.0)
    assert lower_bounds(later, MACHINE).makespan == pytest.approx(30.0)


def test_holds_keep_jobs_on_shared_nodes() -> None:
    """Plans and policies know them there."""
    shared = fs.Federation((fs.Cluster("m", (fs.NodeGroup(4, resources={"cpu": 2}),)),))
    assert fs.optimize(log({1: [(0, 9)]}), shared, sharing="first", evaluations=10).best().start[0] >= 9
    assert fs.simulate(log({1: [(0, 9)]}), shared, sharing="first").start[0] >= 9


def test_holds_that_mean_nothing_are_named() -> None:
    """With the job, what is wrong and what would be right."""
    for wrong, said in (
        ([(5, 5)], "Job 1: held 5-5 must begin at 0 s or later and end after its begin"),
        ([(5, np.inf)], "leave out a job that is never released"),
        ("5..7", "Job 1: held '5..7' must be like '3600-7200'"),
        ([(1, 2, 3)], r"held \(1, 2, 3\) must be \(begin, end\)"),
    ):
        with pytest.raises(ValueError, match=said):
            log({1: wrong})
    with pytest.raises(ValueError, match="there is no job 9"):
        log({9: [(0, 1)]})


def test_holds_that_touch_are_one(tmp_path: Path) -> None:
    """They come back from files as they were, to the second and below."""
    jobs = log({1: [(5, 9.25), (0, 5)], 3: [(7, 8), (1, 3)]})
    assert jobs.held is not None
    assert [jobs.held.holds(row) for row in range(3)] == [[Hold(0, 9.25)], [], [Hold(1, 3), Hold(7, 8)]]
    jobs.write(tmp_path / "a.csv")
    assert fs.read(tmp_path / "a.csv") == jobs
    assert jobs.rebased(2.0).held.holds(0) == [Hold(2, 11.25)]


def test_bounds_hold_where_jobs_are_held() -> None:
    """No schedule of any rule is better than they say, over random machines and holds."""
    checked = 0
    for seed in range(tries(150)):
        scenario = strategies.random_scenario(seed, max_jobs=8, restless=True).for_bounds()
        if not any(job.held for job in scenario.jobs):
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        kill = scenario.settings.kill_at_estimate
        try:
            bounds = lower_bounds(workload, federation, caps=caps, kill_at_estimate=kill)
        except InfeasibleError:
            continue
        for dispatch in ("strict", "greedy", "easy", "conservative"):
            rules = fs.Rules(dispatch=dispatch, placement=scenario.settings.placement)
            schedule = fs.simulate(workload, federation, rules, caps=caps, kill_at_estimate=kill)
            row = schedule.metrics()
            for metric in ("makespan", "mean_wait", "mean_response", "energy"):
                known = bounds.of(metric)
                if schedule.complete and not np.isnan(known):
                    assert getattr(row, metric) >= known - 1e-9 * max(1.0, abs(known)), (seed, dispatch, metric)
                    checked += 1
    assert checked > tries(50)


def test_whoever_is_released_stands_behind_those_who_came_before(tmp_path: Path) -> None:
    """With priority/basic: of five jobs of all nodes the second is submitted held, the third is held as it waits."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{BASIC}NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n", encoding="utf-8")
    jobs = fs.Workload(
        submit=[0.0, 1.0, 2.0, 3.0, 20.0], tasks=4, runtime=60.0, estimate=60.0, held={2: [(0, 10)], 3: [(5, 15)]}
    )
    schedule = fs.simulate(jobs, fs.read_federation(path), fs.policies.Slurm(path))
    schedule.verify()
    assert schedule.workload.id[schedule.start.argsort()].tolist() == [1, 4, 2, 3, 5]
    nice = replace(jobs, nice=[0, 0, -2, 0, 0])
    schedule = fs.simulate(nice, fs.read_federation(path), fs.policies.Slurm(path))
    assert schedule.workload.id[schedule.start.argsort()].tolist() == [1, 3, 4, 2, 5]


def test_whoever_is_submitted_held_takes_no_number(tmp_path: Path) -> None:
    """Who is nice by two stands behind the next but one, and one that has no number yet is none of these."""
    path = tmp_path / "slurm.conf"
    path.write_text(f"{BASIC}NodeName=n[1-4] CPUs=1\nPartitionName=p Nodes=ALL Default=YES\n")
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=4, runtime=60.0, estimate=60.0, nice=[0, 2, 0, 0])
    for held, order in ((None, [1, 3, 2, 4]), ({3: [(0, 30)]}, [1, 4, 2, 3])):
        one = replace(jobs, held=held)
        schedule = fs.simulate(one, fs.read_federation(path), fs.policies.Slurm(path))
        assert schedule.workload.id[schedule.start.argsort()].tolist() == order
