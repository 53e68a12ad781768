"""Pools on the command line and in scenarios."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

JOBS = fs.Workload(submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[10.0, 5.0, 4.0], pools={"lm": [2, 1, 0]})
OWN = """[[machine.cluster]]
name = "a"
[[machine.cluster.group]]
count = 16
[[machine.pool]]
name = "lm"
amount = 2
"""


@pytest.fixture
def jobs(tmp_path: Path) -> Path:
    """Return a file of jobs that need licences."""
    JOBS.write(tmp_path / "jobs.csv")
    return tmp_path / "jobs.csv"


def test_the_command_line_takes_pools(call: Callable[..., Any], jobs: Path) -> None:
    """Tests that --pool limits what jobs hold, and that without it the needs are said not to bind."""
    code, out, _ = call("simulate", jobs, "--nodes", 16, "--pool", "lm=2", "--json")
    assert code == 0
    short = json.loads(out)
    assert short["metrics"]["makespan"] == 15.0
    assert short["not_modelled"] == []
    code, out, _ = call("simulate", jobs, "--nodes", 16, "--json")
    assert json.loads(out)["metrics"]["makespan"] == 10.0
    assert json.loads(out)["not_modelled"] == ["2 jobs with needs of 'lm' (the machine has no such pool)"]


@pytest.mark.parametrize("command", ["simulate", "simulate two", "bounds", "report", "optimize", "compare"])
def test_needs_that_bind_nobody_are_said_as_text_too(
    call: Callable[..., Any], jobs: Path, tmp_path: Path, command: str
) -> None:
    """Tests that every command which puts jobs on a machine says that it has not the pool that they need."""
    command, _, two = command.partition(" ")
    options = {
        "report": ["--out", tmp_path / "r.html"],
        "optimize": ["--evaluations", 20],
        "compare": ["--method", "easy", "--seeds", 1],
    }.get(command, [jobs] if two else [])
    status, out, err = call(command, jobs, *options, "--nodes", 16)
    assert status == 0, err
    assert "2 jobs with needs of 'lm' (the machine has no such pool)" in out + err


@pytest.mark.parametrize("wrong", ["lm", "lm=many", "lm=-1", "=3", "lm=1.5"])
def test_pools_that_mean_nothing_are_refused(call: Callable[..., Any], jobs: Path, wrong: str) -> None:
    """Tests that a pool without name or whole amount is named in one line."""
    code, _, err = call("simulate", jobs, "--nodes", 16, "--pool", wrong)
    assert code == 2
    assert len(err.strip().splitlines()) == 1
    assert "pool" in err.lower()


@pytest.mark.parametrize("command", ["optimize", "compare", "bounds"])
def test_every_command_of_a_machine_takes_pools(call: Callable[..., Any], jobs: Path, command: str) -> None:
    """Tests that searches, comparisons and bounds know the pools: nothing is done before all licences were used."""
    options = {"optimize": ["--evaluations", 50], "compare": ["--method", "ga", "--evaluations", 50], "bounds": []}
    code, out, err = call(command, jobs, "--nodes", 16, "--pool", "lm=2", "--json", *options[command])
    assert code == 0, err
    assert "no such pool" not in out


@pytest.mark.parametrize("machine", ['[machine]\nnodes = 16\npool = ["lm=2"]\n', OWN])
def test_a_scenario_has_pools(call: Callable[..., Any], jobs: Path, machine: str) -> None:
    """Tests that a scenario's machine has pools, beside any federation or in one of its own, and keeps them."""
    path = jobs.parent / "site.toml"
    path.write_text(f'[log]\nfile = "jobs.csv"\n{machine}')
    scenario = fs.Scenario.load(path)
    assert scenario.cluster(JOBS).pools == (fs.Pool("lm", 2),)
    scenario.save(jobs.parent / "again.toml")
    assert fs.Scenario.load(jobs.parent / "again.toml") == scenario
    code, out, _ = call("simulate", "--scenario", path, "--json")
    assert (code, json.loads(out)["metrics"]["makespan"]) == (0, 15.0)


def test_info_tells_of_pools(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a federation's pools are told with its nodes, and a workload's needs with its jobs."""
    fs.Federation(fs.Federation.of(4).clusters, pools=(fs.Pool("lm", 2),)).write(tmp_path / "f.toml")
    assert "2 of lm" in call("info", tmp_path / "f.toml")[1]
    (told,) = json.loads(call("info", tmp_path / "f.toml", "--json")[1])["pools"]
    assert told == {"name": "lm", "amount": 2, "cluster": None}
    JOBS.write(tmp_path / "jobs.csv")
    assert "pools: lm by 2 jobs" in call("info", tmp_path / "jobs.csv")[1]


def test_the_command_line_takes_pools_of_a_cluster(call: Callable[..., Any], jobs: Path, tmp_path: Path) -> None:
    """Tests that --pool NAME@CLUSTER=AMOUNT keeps jobs there, and that an amount alone leaves a pool where it is."""
    path = tmp_path / "f.toml"
    fs.Federation(fs.Federation.of(4, 1).clusters, pools=(fs.Pool("lm", 9, "C2"),)).write(path)
    for pool, makespan, where in (
        ("lm=3", 15.0, "3 of lm on C2"), ("lm@C1=3", 10.0, "3 of lm on C1"), ("other@C1=1", 15.0, "9 of lm on C2"),
    ):  # fmt: skip
        code, out, _ = call("simulate", jobs, "--federation", path, "--pool", pool, "--json")
        assert (code, json.loads(out)["metrics"]["makespan"]) == (0, makespan)
        assert where in call("simulate", jobs, "--federation", path, "--pool", pool)[1]
    code, _, err = call("simulate", jobs, "--federation", path, "--pool", "lm@C3=3")
    assert code == 2
    assert "Pool 'lm': cluster 'C3'" in err
    told = json.loads(call("info", path, "--json")[1])["pools"]
    assert told == [{"name": "lm", "amount": 9, "cluster": "C2"}]


def test_convert_says_that_a_log_loses_needs(call: Callable[..., Any], jobs: Path) -> None:
    """Tests that needs are lost on the way to a log only when that is asked for, and said."""
    code, _, err = call("convert", jobs, jobs.parent / "a.swf")
    assert code == 2
    assert "pools" in err
    code, out, err = call("convert", jobs, jobs.parent / "a.swf", "--lossy")
    assert code == 0
    assert "pools" in out + err
