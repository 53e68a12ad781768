"""Times too short for the clock: no run and no reservation is empty (reading 0)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.strategies import EPOCH

import fedsched as fs

TICK = np.spacing(EPOCH)
POLICIES = ("fcfs", "greedy", "easy", "conservative", "lookahead", "min-min", "sufferage-conservative", "wfp3-easy")


def checked(workload: fs.Workload, federation: fs.Federation, policy: object, **options: object) -> fs.Schedule:
    """Return the schedule, which passes the independent check."""
    schedule = fs.simulate(workload, federation, policy, **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule


@pytest.mark.parametrize("federation", [fs.Federation.homogeneous(2), fs.Federation.of(1, 1)])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_job_estimated_below_the_clock_keeps_its_nodes(policy: str, federation: fs.Federation) -> None:
    """A job whose planned end rounds to its start holds its nodes until it ends; nobody is put on them."""
    workload = fs.Workload(submit=[EPOCH] * 2, tasks=[1, 2], runtime=[3, 1], estimate=[1e-7, 1])
    schedule = checked(workload, federation, policy)
    assert not (np.diff(np.sort(schedule.start)) == 0).any()


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("policy", POLICIES)
def test_reservations_below_the_clock_take_turns(policy: str, same_time: str) -> None:
    """Whole-machine jobs whose estimates and runs round to nothing never run side by side."""
    workload = fs.Workload(
        submit=[EPOCH] + [EPOCH + 1] * 4,
        tasks=[1, 2, 2, 2, 1],
        runtime=[5, 1e-9, 3, 1e-9, 2],
        estimate=[4] + [1e-9] * 4,
    )
    for federation in (fs.Federation.homogeneous(2), fs.Federation.of(1, 1)):
        checked(workload, federation, policy, same_time=same_time)


@pytest.mark.parametrize("saturation", ["dynamic", "static"])
def test_contention_is_felt_by_runs_below_the_clock(saturation: str) -> None:
    """Where two jobs crowd their uplinks a thousand million times over, a run of 1e-8 s takes that much longer."""
    federation = fs.Federation.of(2, 2, uplink=1.0)
    workload = fs.Workload(
        submit=[EPOCH] * 2, tasks=[2, 2], runtime=[1e-8] * 2, compute_fraction=0.0, task_bandwidth=5e8,
        allowed=[[True, True]] * 2, sites=("C1", "C2"),
    )  # fmt: skip
    schedule = checked(workload, federation, "fcfs", caps=np.ones((2, 2), dtype=np.int64), saturation=saturation)
    assert schedule.counts.tolist() == [[1, 1], [1, 1]]
    np.testing.assert_allclose(schedule.run, 10.0, rtol=1e-6)
    assert schedule.saturated_seconds == pytest.approx(20.0)


def test_the_check_knows_that_short_runs_hold_others_up() -> None:
    """Ten runs of nothing each stop a crowded uplink for one step of the clock, which a long crowd then multiplies."""
    federation = fs.Federation.of(3, 3, uplink=1.0)
    submit = EPOCH + np.array([0.0, *(0.01 * k for k in range(1, 11)), 0.5])
    workload = fs.Workload(
        submit=submit, tasks=[2] * 12, runtime=[1.0] + [1e-12] * 10 + [1.0], compute_fraction=0.0,
        task_bandwidth=[1e-6] + [1e5] * 10 + [1e4], allowed=[[True, True]] * 12, sites=("C1", "C2"),
    )  # fmt: skip
    schedule = checked(workload, federation, "fcfs", caps=np.ones((12, 2), dtype=np.int64))
    short = schedule.run[1:11]
    assert (short <= TICK).all()
    assert schedule.run[0] == pytest.approx(0.5 + 1e4 * (0.5 + short.sum()), abs=1e-3)
    early = np.array(schedule.finish)
    early[0] -= 1e4 * short.sum()  # as if the short runs had been none
    with pytest.raises(fs.errors.ScheduleError, match="Job 1: it finishes at"):
        replace(schedule, finish=early).verify()


def test_the_shortest_run_is_one_step_of_the_clock() -> None:
    """A job that is done at once ends at the next representable number, on which its metrics are finite."""
    schedule = checked(fs.Workload(submit=[EPOCH], tasks=[1], runtime=[1e-9]), fs.Federation.homogeneous(1), "easy")
    assert schedule.makespan == TICK
    assert schedule.metrics().mean_slowdown == 1.0
    assert schedule.metrics().utilisation == 1.0
