"""The worked examples of the model and hand-computed cases of each equation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fedsched as fs

# (tasks, time) of the thesis's figure 1-5
FIGURE_1_5 = [(1, 3), (4, 2), (1, 2), (2, 1), (3, 1), (3, 2)]


def package(jobs: list[tuple[int, float]], **columns: object) -> fs.Workload:
    """Return jobs that are all submitted at 0."""
    tasks, runtime = zip(*jobs, strict=True)
    return fs.Workload(submit=np.zeros(len(jobs)), tasks=tasks, runtime=runtime, **columns)


@pytest.mark.parametrize(
    ("policy", "makespan"),
    [("fcfs", 9), ("easy", 7), (fs.Rules(order=[1, 0, 5, 2, 3, 4], dispatch="strict"), 6)],
)
def test_example_1(policy: str | fs.Rules, makespan: float) -> None:
    """FIFO takes 9, EASY 7, and the order 2, 1, 6, 3, 4, 5 takes 6, which is the area."""
    schedule = fs.simulate(package(FIGURE_1_5), fs.Federation.homogeneous(4), policy)
    assert schedule.metrics().makespan == makespan
    schedule.verify()


def test_example_2() -> None:
    """Job 3 waits where jobs may not cross clusters, and starts at once where they may."""
    workload = package([(3, 10), (2, 10), (2, 10)])
    federation = fs.Federation.of(4, 3)
    caps = np.array([[4, 0], [0, 3], [4, 3]])
    alone = fs.simulate(workload, federation, "fcfs", placement="single", caps=caps)
    shared = fs.simulate(workload, federation, "fcfs", caps=caps)
    assert alone.start.tolist() == [0, 0, 10]
    assert shared.start.tolist() == [0, 0, 0]
    assert shared.counts[2].tolist() == [1, 1]
    uncapped = fs.simulate(workload, federation, "fcfs")
    assert uncapped.start.tolist() == [0, 0, 0]


def test_example_3() -> None:
    """Two jobs that share cluster 2's uplink slow by the same L/B once their demands exceed it."""
    workload = package([(5, 10), (7, 10)], compute_fraction=[0.5, 0.5], task_bandwidth=[1.0, 1.0])
    caps = np.array([[4, 3, 0], [4, 3, 5]])
    demand_1 = 1 * 1.0 * (5 - 1) / (5 - 1)  # one task of five on cluster 2
    demand_2 = 2 * 1.0 * (7 - 2) / (7 - 1)
    load = demand_1 + demand_2
    for bandwidth in (load * 2, load / 2):
        clusters = tuple(
            fs.Cluster(f"C{k}", (fs.NodeGroup(size),), math.inf if k != 1 else bandwidth)
            for k, size in enumerate((4, 3, 5))
        )
        schedule = fs.simulate(workload, fs.Federation(clusters), "fcfs", caps=caps)
        assert schedule.counts.tolist() == [[4, 1, 0], [0, 2, 5]]
        cost = 0.5 + 0.5 * max(1.0, load / bandwidth)
        np.testing.assert_allclose(schedule.finish, 10 * cost)
        schedule.verify(caps=caps)


def test_slow_nodes_slow_the_computing_share() -> None:
    """Eqs. 1.1 and 1.7: the slowest node used sets PS, and only σ of the job feels it."""
    federation = fs.Federation((fs.Cluster("C", (fs.NodeGroup(1, speed=2.0), fs.NodeGroup(1, speed=0.5))),))
    workload = package([(2, 100)], compute_fraction=[0.75])
    assert fs.simulate(workload, federation, "fcfs").finish[0] == 100 * (0.75 * 2 + 0.25)


def contended(saturation: str) -> fs.Schedule:
    """Return two jobs on two clusters; they share both uplinks from 0 to the end of the shorter."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(2),), 1.0) for name in "AB")
    workload = package([(2, 10), (2, 20)], compute_fraction=[0.0, 0.0], task_bandwidth=[0.75, 0.75])
    caps = np.array([[1, 1], [1, 1]])
    schedule = fs.simulate(workload, fs.Federation(clusters), "fcfs", caps=caps, saturation=saturation)
    schedule.verify(caps=caps)
    return schedule


def test_two_jobs_saturate_a_link_for_part_of_their_life() -> None:
    """Dynamic: both run at 1/1.5 until the short one ends at 15, then the long one does its last 10 s at full rate."""
    schedule = contended("dynamic")
    np.testing.assert_allclose(schedule.finish, [15, 25])
    assert schedule.saturated_seconds == pytest.approx(2 * 15)


def test_the_static_reading_keeps_the_rate_of_the_start() -> None:
    """Static: each job keeps 1.5 for its whole life."""
    np.testing.assert_allclose(contended("static").finish, [15, 30])


def test_energy_counts_idle_nodes() -> None:
    """Eq. 1.8: busy watts while occupied, idle watts for the rest of the makespan."""
    federation = fs.Federation.homogeneous(4, busy_watts=200, idle_watts=50)
    metrics = fs.simulate(package([(1, 10), (4, 5)]), federation, "fcfs").metrics()
    assert metrics.makespan == 15
    assert metrics.busy_energy == 200 * (10 + 20)
    assert metrics.idle_energy == 50 * (4 * 15 - 30)
    assert metrics.energy == metrics.busy_energy + metrics.idle_energy
    assert metrics.utilisation == 0.5


def test_a_job_past_its_estimate_does_not_stop_the_plan() -> None:
    """EASY plans an overrunning job to end right after now, and backfills nothing that ends later around it."""
    workload = fs.Workload(submit=[0, 1, 12], tasks=[2, 3, 1], runtime=[20, 5, 5], estimate=[10, 5, 5])
    schedule = fs.simulate(workload, fs.Federation.homogeneous(3), "easy")
    assert schedule.start.tolist() == [0, 20, 25]


def test_killing_at_the_estimate_shortens_jobs() -> None:
    """With kill_at_estimate a job runs min(runtime, estimate)."""
    workload = fs.Workload(submit=[0], tasks=[1], runtime=[20], estimate=[10])
    schedule = fs.simulate(workload, fs.Federation.homogeneous(1), "fcfs", kill_at_estimate=True)
    assert schedule.finish[0] == 10
