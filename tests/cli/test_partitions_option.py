"""Partitions on the command line and in scenarios."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.study.scenario.files import read_scenario, write_scenario

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TWO = fs.Federation(
    (fs.Cluster("a", (fs.NodeGroup(10, 1.0, 200, 90),)), fs.Cluster("b", (fs.NodeGroup(8, 1.0, 200, 90),), 1e9)),
    name="two",
    partitions=(
        fs.Partition("short", {"a": "all", "b": "0-1,7"}, max_time=100.0, max_nodes=5),
        fs.Partition("long", {"b": "1-7"}, min_nodes=2),
        fs.Partition("ours", {"a": "4-7"}, accounts=("x", "y")),
    ),
)
JOBS = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0])
PARTS = """[[partition]]
name = "short"
nodes = { cluster = "all" }
max_time = 100

[[partition]]
name = "long"
nodes = { cluster = "4-15" }
"""


def test_the_command_line_takes_partitions(call: Callable[..., Any], tmp_path: Path) -> None:
    """--partitions binds jobs to nodes; without it the labels bind nobody, which is said."""
    log = tmp_path / "jobs.csv"
    fs.Workload(
        submit=[0.0] * 3, tasks=[12, 4, 4], runtime=[50.0] * 3, labels={"partition": ["long", "long", "short"]}
    ).write(log)
    (tmp_path / "parts.toml").write_text(PARTS, encoding="utf-8")
    code, out, _ = call("simulate", log, "--nodes", 16, "--partitions", tmp_path / "parts.toml", "--json")
    assert code == 0
    assert json.loads(out)["metrics"]["makespan"] == 100.0
    assert json.loads(out)["not_modelled"] == []
    code, out, _ = call("simulate", log, "--nodes", 16, "--json")
    assert json.loads(out)["not_modelled"] == ["2 partitions pooled"]
    for words in (["optimize", log, "--evaluations", 20], ["bounds", log]):
        code, _, err = call(*words, "--nodes", 16, "--partitions", tmp_path / "parts.toml")
        assert code == 0, err


def test_a_command_says_who_never_starts(call: Callable[..., Any], tmp_path: Path) -> None:
    """`simulate` names the jobs that wait for what cannot happen, of one log and of several side by side."""
    log = tmp_path / "jobs.csv"
    fs.Workload(
        submit=[0.0] * 3, tasks=[1, 1, 1], runtime=[50.0, 10.0, 5.0], after={2: "afternotok:1", 3: "afterok:1"}
    ).write(log)
    _, out, _ = call("simulate", log, "--nodes", 4)
    assert "never started, because their conditions cannot hold: 1 job (2)" in out
    assert "2 jobs in " in out
    _, out, _ = call("simulate", log, "sample", "--nodes", 128)
    assert "never started, because their conditions cannot hold: 1 job (2)" in out


def test_info_shows_partitions(call: Callable[..., Any], tmp_path: Path) -> None:
    """`info` of a federation prints its partitions, as a table and as JSON."""
    TWO.write(tmp_path / "two.toml")
    code, out, _ = call("info", tmp_path / "two.toml")
    assert code == 0
    assert "ours" in out
    assert "x, y" in out
    code, out, _ = call("info", tmp_path / "two.toml", "--json")
    assert [one["name"] for one in json.loads(out)["partitions"]] == ["short", "long", "ours"]


def test_a_scenario_keeps_partitions(tmp_path: Path) -> None:
    """A scenario's machine may name a file of partitions, or have them in itself."""
    (tmp_path / "parts.toml").write_text(PARTS, encoding="utf-8")
    (tmp_path / "one.toml").write_text(
        '[log]\nfile = "sample"\n[machine]\nnodes = 16\npartitions = "parts.toml"\n', encoding="utf-8"
    )
    scenario = read_scenario(tmp_path / "one.toml")
    assert [one.name for one in scenario.cluster(JOBS).partitions] == ["short", "long"]
    write_scenario(scenario, tmp_path / "two.toml")
    assert read_scenario(tmp_path / "two.toml").cluster(JOBS) == scenario.cluster(JOBS)
    own = '[[machine.cluster]]\nname = "cluster"\n[[machine.cluster.group]]\ncount = 16\n'
    inside = own + PARTS.replace("[[partition]]", "[[machine.partition]]")
    (tmp_path / "three.toml").write_text(f'[log]\nfile = "sample"\n{inside}', encoding="utf-8")
    assert read_scenario(tmp_path / "three.toml").cluster(JOBS).partitions == scenario.cluster(JOBS).partitions


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "holds tables [[partition]], and nothing else"),
        ('[[partition]]\nname = "p"\n', "the key 'nodes' is missing"),
        ('[[partition]]\nname = "p"\nnodes = "all"\n', "nodes must be a table by cluster"),
        ('[[partition]]\nname = "p"\nnodes = { cluster = 3 }\n', "nodes must be a table by cluster"),
        ("[[partition\n", "not valid TOML"),
    ],
)
def test_a_broken_file_of_partitions_is_refused(call: Callable[..., Any], tmp_path: Path, text: str, said: str) -> None:
    """What is wrong in a file of partitions is said with the file's name."""
    (tmp_path / "parts.toml").write_text(text, encoding="utf-8")
    code, _, err = call("simulate", "sample", "--nodes", 16, "--partitions", tmp_path / "parts.toml")
    assert code == 2
    assert "parts.toml" in err
    assert said in err
