"""Shared nodes in scenarios, in pictures and in words."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ConfigError
from fedsched.study.scenario import Scenario
from fedsched.study.study_case import case_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with jobs and a machine of two nodes of 4 cores."""
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[2, 1, 3], runtime=[10, 5, 3], demand={"cpu": [1, 2, 2]})
    fs.write(jobs, tmp_path / "jobs.csv")
    group = fs.NodeGroup(2, resources={"cpu": 4, "memory": 10})
    fs.Federation((fs.Cluster("m", (group,)),), name="m").write(tmp_path / "m.toml")
    return tmp_path


def test_a_scenario_shares_nodes(files: Path) -> None:
    """Tests that a scenario's policy has sharing and reservation, which go to files, instances and studies."""
    text = '[log]\nfile = "jobs.csv"\n[machine]\nfederation = "m.toml"\n[policy]\n{}\n'
    path = files / "site.toml"
    path.write_text(text.format('name = "easy"\nsharing = "pack"\nreservation = "nodes"'), encoding="utf-8")
    site = Scenario.load(path)
    schedule = site.simulate()
    assert schedule.shares_nodes
    assert "pack, counted free whole" in schedule.policy
    site.save(files / "again.toml")
    assert Scenario.load(files / "again.toml").policy == site.policy
    assert site.instance().sharing == case_of(site).sharing == fs.NodeSharing(choice="pack", reservation="nodes")
    path.write_text(text.format('name = "easy"\nreservation = "nodes"'), encoding="utf-8")
    with pytest.raises(ConfigError, match="goes with"):
        Scenario.load(path)


def test_exports_name_the_nodes_that_jobs_share(files: Path) -> None:
    """Tests that Batsim's table has each job's nodes whole, its share of them beside, and its share of the energy."""
    workload = fs.read(files / "jobs.csv")
    schedule = fs.simulate(workload, fs.read_federation(files / "m.toml"), "fcfs", sharing="first")
    schedule.to_evalys(files / "a.evalys.csv")
    with (files / "a.evalys.csv").open(encoding="utf-8", newline="") as lines:
        rows = [*csv.DictReader(lines)]
    assert [row["allocated_resources"] for row in rows] == ["0", "0", "0-1"]
    assert [row["requested_number_of_resources"] for row in rows] == ["1", "1", "2"]
    assert [row["metadata"] for row in rows] == [
        "share of its nodes: 0.5 of 1", "share of its nodes: 0.5 of 1", "share of its nodes: 1.5 of 2"
    ]  # fmt: skip
    energy = sum(float(row["consumed_energy"]) for row in rows)
    assert energy == pytest.approx(schedule.metrics().busy_energy)
    assert schedule.node_numbers() == [((0, 0),), ((0, 0),), ((0, 1),)]
    table = schedule.to_frame()
    assert list(table["tasks:m"]) == [2, 1, 3]
    assert not [name for name in table if str(name).startswith("nodes:")]


def test_what_is_stranded_is_free_beside_nothing_left() -> None:
    """Tests the share of cores that are free while all memory of their node is taken."""
    group = fs.NodeGroup(1, resources={"cpu": 4, "memory": 10})
    machine = fs.Federation((fs.Cluster("m", (group,)),), name="m")
    jobs = fs.Workload(submit=[0, 0], tasks=1, runtime=[10, 20], demand={"cpu": [1, 1], "memory": [4, 6]})
    use = fs.simulate(jobs, machine, "fcfs", sharing="first").use
    assert use.stranded("cpu") == pytest.approx(2 * 10 / (4 * 20))
    assert use.stranded("memory") == 0.0
    assert np.isnan(use.stranded("gpu"))
    assert use.in_words() == [
        "cpu: 37.5% in use, 25.0% free on nodes with nothing left of another resource", "memory: 80.0% in use"
    ]  # fmt: skip


def test_fragmented_is_what_is_free_beside_somebody() -> None:
    """Tests the share of free cores on nodes that somebody is on: of a job alone none is free, on an empty node all."""
    group = fs.NodeGroup(2, resources={"cpu": 4, "memory": 10})
    machine = fs.Federation((fs.Cluster("m", (group,)),), name="m")
    columns = {"submit": [0, 0], "tasks": 1, "runtime": [10, 20], "demand": {"cpu": [1, 1], "memory": [4, 6]}}
    use = fs.simulate(fs.Workload(**columns), machine, "fcfs", sharing="first").use
    assert use.fragmentation("cpu") == pytest.approx((2 * 10 + 3 * 10) / (2 * 4 * 20 - 30))
    assert use.fragmentation("memory") == pytest.approx((0 * 10 + 4 * 10) / (2 * 10 * 20 - 160))
    assert np.isnan(use.fragmentation("gpu"))
    alone = fs.Workload(**columns, layout={"exclusive": [1, 1]})
    assert fs.simulate(alone, machine, "fcfs", sharing="first").use.fragmentation("cpu") == 0.0
    full = fs.Workload(submit=[0, 0], tasks=1, runtime=[10, 10], demand={"cpu": [4, 4]})
    assert np.isnan(fs.simulate(full, machine, "fcfs", sharing="first").use.fragmentation("cpu"))
