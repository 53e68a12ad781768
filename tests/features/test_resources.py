"""What nodes have in numbers, and jobs that demand so much of every node."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError, ScheduleError
from fedsched.io import read_federation
from fedsched.policies import Rules

if TYPE_CHECKING:
    from pathlib import Path

THIN, FAT = {"cpu": 40, "memory": 187_000}, {"cpu": 40, "memory": 1_500_000, "gpu": 2}
MIXED = fs.Federation(
    (
        fs.Cluster("a", (fs.NodeGroup(4, resources=THIN), fs.NodeGroup(2, resources=FAT))),
        fs.Cluster("b", (fs.NodeGroup(6, 2.0),), 1e9),
    )
)


def jobs(tasks: list[int], **demand: Any) -> fs.Workload:
    """Return jobs that are submitted at once, with what their nodes must have."""
    return fs.Workload(submit=[0.0] * len(tasks), tasks=tasks, runtime=[10.0] * len(tasks), demand=demand)


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "lookahead", "min-min", "sufferage-easy"])
def test_jobs_run_where_nodes_have_enough(policy: str) -> None:
    """Who demands nothing may have every node; nodes that do not tell have none."""
    schedule = fs.simulate(jobs([2, 6, 4, 12], gpu=[1, 0, 0, 0], memory=[0, 100_000, 0, 0]), MIXED, policy)
    schedule.verify(claimed=schedule.metrics())
    used = (schedule.counts > 0).tolist()
    assert used[:2] == [[False, True, False], [True, True, False]]
    assert used[3] == [True, True, True]


@pytest.mark.parametrize("placement", ["fastest", "efficient", "best_fit", "powerful", "big_small", "link_aware"])
def test_nodes_of_less_weight_come_first(placement: str) -> None:
    """Among equally fast groups; the fastest ones stay first whatever they weigh."""
    weighed = fs.Federation(
        (fs.Cluster("a", (fs.NodeGroup(2, weight=70), fs.NodeGroup(2), fs.NodeGroup(2, 2.0, weight=190))),)
    )
    schedule = fs.simulate(jobs([2, 2, 2]), weighed, Rules(placement=placement))
    schedule.verify()
    assert schedule.counts.tolist() == [[0, 0, 2], [0, 2, 0], [2, 0, 0]]


def test_searches_keep_to_demands() -> None:
    """Every plan gives jobs nodes that have what they demand."""
    result = fs.optimize(
        jobs([1] * 6, gpu=[2, 2, 0, 0, 0, 0], cpu=[0, 0, 40, 40, 0, 0]), MIXED, evaluations=200, seed=1
    )
    schedule = result.schedule(0)
    schedule.verify(claimed=schedule.metrics())


def test_who_finds_too_few_nodes_is_refused_by_name() -> None:
    """With what was demanded, beside features and inside of a partition; `admits` says who."""
    wide = jobs([3, 6, 1], gpu=[1, 0, 3], memory=[0, 100_000, 64])
    with pytest.raises(InfeasibleError, match=r"Job 1: tasks=3 exceeds the 2 nodes with at least gpu 1; leave out"):
        fs.simulate(wide, MIXED)
    assert MIXED.admits(wide).tolist() == [False, True, False]
    with pytest.raises(InfeasibleError, match="Job 3: tasks=1 exceeds the 0 nodes with at least gpu 3, memory 64"):
        fs.simulate(wide.take([2, 1]), MIXED)
    parted = replace(MIXED, partitions=(fs.Partition("p", {"a": "2-5"}),))
    inside = replace(jobs([5, 4], cpu=40), labels={"partition": ["p", "p"]})
    assert parted.admits(inside).tolist() == [False, True]
    named = replace(
        MIXED,
        clusters=(fs.Cluster("a", (fs.NodeGroup(4, features=("ib",), resources=THIN), MIXED.clusters[0].groups[1])),),
    )
    asked = replace(jobs([1], gpu=1), labels={"features": "ib"})
    with pytest.raises(InfeasibleError, match="the 0 nodes with features 'ib' and at least gpu 1"):
        fs.simulate(asked, named)


def test_what_no_node_tells_binds_nobody() -> None:
    """Which is said, by resource."""
    schedule = fs.simulate(jobs([1, 1, 1], tape=[1, 1, 0], gpu=[0, 2, 0]), MIXED)
    assert schedule.unmodelled == ("2 jobs with a demand of 'tape' (the machine's nodes do not say)",)
    assert schedule.start.tolist() == [0.0, 0.0, 0.0]


def test_the_check_names_nodes_that_have_too_little() -> None:
    """In the last run of a job, and in one that came to nothing."""
    asked, free = jobs([1], gpu=1), jobs([1])
    elsewhere = fs.simulate(free, MIXED, "fcfs")
    with pytest.raises(ScheduleError, match="Job 1: nodes of group 2 have 0 of 'gpu', not the 1 that it demands"):
        replace(elsewhere, workload=asked).verify()
    outage = fs.Downtime("b", 3.0, 4.0, nodes="6 of all", kind="outage", on_running="requeue")
    lost = fs.simulate(free, replace(MIXED, calendar=(outage,)), "fcfs")
    assert lost.lost.runs == 1
    moved = replace(lost, workload=asked, counts=[[0, 1, 0]])
    with pytest.raises(ScheduleError, match="Job 1: nodes of group 2 have 0 of 'gpu'"):
        moved.verify()


def test_files_keep_resources(tmp_path: Path) -> None:
    """A federation's, split by a partition too, and the demands of jobs."""
    parted = replace(MIXED, partitions=(fs.Partition("p", {"a": "1-4"}),))
    parted.write(tmp_path / "m.toml")
    again = read_federation(tmp_path / "m.toml")
    assert again == parted
    assert [dict(group.resources) for group in again.groups] == [THIN, THIN, FAT, FAT, {}]
    text = (tmp_path / "m.toml").read_text().replace("gpu = 2", 'gpu = "two"').replace('"gpu" = 2', '"gpu" = "two"')
    (tmp_path / "odd.toml").write_text(text)
    with pytest.raises(FederationError, match="cluster 1, group 3: resources must be a table of whole numbers"):
        read_federation(tmp_path / "odd.toml")
    asked = jobs([1, 2], memory=[5, 0], gpu=[0, 1])
    fs.write(asked, tmp_path / "j.csv")
    assert fs.read(tmp_path / "j.csv").demand == asked.demand


@pytest.mark.parametrize(
    ("resources", "wrong"),
    [
        ("cpu", "must give numbers by name"),
        ({"cpu": 1.5}, "must be a whole number"),
        ({"cpu": -1}, "must be a whole number"),
        ({"cpu": "many"}, "must be a whole number"),
        ({" cpu": 1}, "must be a non-empty text"),
        ((("cpu", 1), ("cpu", 2)), "two resources are named 'cpu'"),
    ],
)
def test_resources_are_whole_numbers_by_name(resources: Any, wrong: str) -> None:
    """What is wrong with others is said."""
    with pytest.raises(FederationError, match=wrong):
        fs.NodeGroup(1, resources=resources)


def test_demands_are_whole_numbers_by_name() -> None:
    """What is wrong with others is said, with the job."""
    with pytest.raises(ValueError, match="Job 2: it needs -1 of resource 'gpu'; at least 0"):
        jobs([1, 1], gpu=[0, -1])
    with pytest.raises(TypeError, match="demand=3 must give what each node must have by the resources' names"):
        fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], demand=3)  # type: ignore[arg-type]
