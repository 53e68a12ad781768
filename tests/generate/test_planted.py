"""Planted optima: the cut adds up, crosses clusters, and no schedule is shorter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedsched as fs
from fedsched import generate
from fedsched.generate.planted import STEPS, WITHIN, plan

MIXED = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(4, 1.0), fs.NodeGroup(2, 3.0))),
        fs.Cluster("b", (fs.NodeGroup(3, 1.0),)),
        fs.Cluster("c", (fs.NodeGroup(5, 0.4),)),
    ),
    name="mixed",
)


@given(jobs=st.integers(3, 200), seed=st.integers(0, 2**32), makespan=st.sampled_from((1.0, 3600.0, 12345.0)))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_the_jobs_fill_the_federation(jobs: int, seed: int, makespan: float) -> None:
    """Tests that the work of all jobs is the makespan times all speeds: the certificate of the optimum."""
    workload, best = generate.planted(MIXED, jobs=jobs, makespan=makespan, seed=seed)
    power = sum(group.count * group.speed for group in MIXED.groups)
    assert len(workload) == jobs
    assert best == makespan
    assert workload.area == pytest.approx(best * power, rel=1e-12)
    assert not workload.submit.any()
    assert (workload.compute_fraction == 1).all()
    assert (workload.estimate == workload.runtime).all()


def places(federation: fs.Federation, within: str) -> list[list[int]]:
    """Return the groups that each whole is made of, in their order."""
    found: dict[tuple[int, float], list[int]] = {}
    for g, group in enumerate(federation.groups):
        cluster = int(federation.group_cluster[g])
        found.setdefault((cluster if within == "cluster" else 0, group.speed), []).append(g)
    return list(found.values())


def planted_schedule(
    federation: fs.Federation, jobs: int, makespan: float, seed: int, within: str = "speed"
) -> fs.Schedule:
    """Return the schedule that the cut itself is, of the workload that `planted` gives."""
    workload, best = generate.planted(federation, jobs=jobs, makespan=makespan, within=within, seed=seed)
    pieces = plan(federation, jobs=jobs, within=within, seed=seed)
    counts = np.zeros((jobs, len(federation.groups)), dtype=np.int64)
    for k, groups in enumerate(places(federation, within)):
        first = 0
        for g in groups:
            last = first + federation.groups[g].count
            for j, piece in enumerate(pieces):
                if piece.whole == k:
                    counts[j, g] = max(0, min(piece.node + piece.width, last) - max(piece.node, first))
            first = last
    step = best / STEPS
    start = np.array([piece.step * step for piece in pieces])
    finish = np.array([(piece.step + piece.height) * step for piece in pieces])
    return fs.Schedule(
        workload=workload, federation=federation, start=start, finish=finish, counts=counts, t0=0.0, policy="planted"
    )


@given(
    jobs=st.integers(4, 80),
    seed=st.integers(0, 2**32),
    makespan=st.sampled_from((1.0, 3600.0, 12345.0)),
    within=st.sampled_from(WITHIN),
)
@settings(derandomize=True, deadline=None, max_examples=40)
def test_the_makespan_can_be_reached(jobs: int, seed: int, makespan: float, within: str) -> None:
    """Tests by a sweep over time that the planted schedule keeps every node busy with one task until the makespan."""
    schedule = planted_schedule(MIXED, jobs, makespan, seed, within)
    sizes = np.array([group.count for group in MIXED.groups])
    slowest = [min(g.speed for g, x in zip(MIXED.groups, row, strict=True) if x) for row in schedule.counts]
    assert (schedule.counts.sum(axis=1) == schedule.workload.tasks).all()
    assert schedule.run == pytest.approx(schedule.workload.runtime / np.array(slowest), rel=1e-12)
    instants = np.unique(np.concatenate([schedule.start, schedule.finish]))
    assert instants[0] == 0.0
    assert instants[-1] == makespan
    for moment in instants[:-1]:
        running = (schedule.start <= moment) & (moment < schedule.finish)
        assert (schedule.counts[running].sum(axis=0) == sizes).all()


def test_the_planted_schedule_obeys_the_model() -> None:
    """Tests that the package's own check accepts planted schedules, most of which cross clusters."""
    schedules = [planted_schedule(MIXED, 20, 3600.0, seed) for seed in range(8)]
    for schedule in schedules:
        schedule.verify()
    assert sum(schedule.coallocated.any() for schedule in schedules) > 4


def test_no_two_pieces_share_a_node_at_a_time() -> None:
    """Tests node by node that pieces of one speed never overlap, so no job needs to move."""
    pieces = plan(MIXED, jobs=40, seed=5)
    for i, a in enumerate(pieces):
        for b in pieces[:i]:
            apart_in_time = a.step + a.height <= b.step or b.step + b.height <= a.step
            apart_in_nodes = a.node + a.width <= b.node or b.node + b.width <= a.node
            assert a.whole != b.whole or apart_in_time or apart_in_nodes


def test_clusters_of_equal_speed_are_crossed() -> None:
    """Tests that some job is wider than every cluster's nodes of its speed, and none wider than all of them."""
    widest = [int(generate.planted(MIXED, jobs=3, seed=seed)[0].tasks.max()) for seed in range(3)]
    assert widest == [7, 7, 7]
    workload, _ = generate.planted(MIXED, jobs=20, seed=4)
    assert workload.tasks.max() <= 7


@pytest.mark.parametrize("seed", range(4))
def test_within_a_cluster_none_is_crossed(seed: int) -> None:
    """Tests that every job then runs in one cluster, at one speed."""
    schedule = planted_schedule(MIXED, 25, 3600.0, seed, "cluster")
    schedule.verify()
    assert not schedule.coallocated.any()
    assert ((schedule.counts > 0).sum(axis=1) == 1).all()
    assert "within='cluster'" in schedule.workload.history[0]


def test_one_job_a_speed_is_scheduled_at_the_optimum() -> None:
    """Tests that the engine reaches the planted makespan where the order leaves it no choice, and never beats it."""
    single = fs.Federation.homogeneous(8)
    workload, best = generate.planted(single, jobs=1, makespan=100.0)
    assert fs.simulate(workload, single, "fcfs").makespan == best
    workload, best = generate.planted(MIXED, jobs=40, makespan=100.0, seed=2)
    assert fs.simulate(workload, MIXED, "easy").makespan >= best * (1 - 1e-12)


def test_the_order_is_shuffled_and_seeded() -> None:
    """Tests that a seed gives the same workload, another seed another, and wide jobs do not come first."""
    first, again, other = (generate.planted(MIXED, jobs=60, seed=seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert not (np.diff(first.tasks * first.runtime) <= 0).all()


def test_large_cuts_are_quick_and_whole() -> None:
    """Tests that twenty thousand jobs add up as twenty do."""
    workload, best = generate.planted(MIXED, jobs=20_000, makespan=86400.0)
    power = sum(group.count * group.speed for group in MIXED.groups)
    assert workload.area == pytest.approx(best * power, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"jobs": 2}, "3 speeds"),
        ({"jobs": 9, "makespan": 0.0}, "makespan=0.0"),
        ({"jobs": 9, "makespan": -1.0}, "above 0"),
        ({"jobs": 9, "makespan": float("inf")}, "finite"),
        ({"jobs": 10**9}, "ask for fewer"),
        ({"jobs": 3, "within": "cluster"}, "4 clusters and speeds"),
        ({"jobs": 9, "within": "group"}, "group"),
    ],
)
def test_what_cannot_be_cut_is_refused(options: dict[str, float], said: str) -> None:
    """Tests that fewer jobs than speeds, and a makespan of nothing, are errors that say so."""
    with pytest.raises(ValueError, match=said):
        generate.planted(MIXED, **options)  # type: ignore[arg-type]
