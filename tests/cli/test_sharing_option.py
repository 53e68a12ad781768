"""Shared nodes on the command line: --sharing and --reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.io.tables.node_use import read_node_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Return a folder with jobs and a machine of two nodes of 4 cores."""
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[2, 1, 3], runtime=[10, 5, 3], demand={"cpu": [1, 2, 2]})
    fs.write(jobs, tmp_path / "jobs.csv")
    group = fs.NodeGroup(2, resources={"cpu": 4, "memory": 10})
    fs.Federation((fs.Cluster("m", (group,)),), name="m").write(tmp_path / "m.toml")
    return tmp_path


def test_the_command_line_shares_nodes(files: Path, call: Callable[..., Any]) -> None:
    """Tests that --sharing simulates shared nodes, says how, and writes who was where."""
    line = ["simulate", files / "jobs.csv", "--federation", files / "m.toml", "--policy", "fcfs"]
    out = files / "use.csv"
    status, said, _ = call(*line, "--sharing", "first", "--out", out)
    assert status == 0
    assert "shared nodes (first)" in said
    assert "cpu: 60.0% in use" in said
    machine = fs.read_federation(files / "m.toml")
    use = read_node_use(out, fs.read(files / "jobs.csv"), machine)
    use.verify()
    assert use.start.tolist() == [0, 0, 5]
    status, _, said = call(*line, "--sharing", "first", "--gantt", files / "a.svg", "--out", files / "a.evalys.csv")
    assert status == 0
    assert "a bar's height" in (files / "a.svg").read_text(encoding="utf-8")
    assert "jobs share nodes here; the file names the nodes of each job whole" in said
    for words, told in (
        (("--reservation", "nodes"), "--reservation nodes goes with --sharing"),
        (("--policy", "rolling", "--sharing", "first"), "'memetic' plans whole nodes"),
        (("--policy", "slurm", "--sharing", "first"), "--sharing first is not how slurm chooses nodes; give block"),
    ):
        status, _, errors = call(*(line if "--policy" not in words else line[:-2]), *words)
        assert status == 2
        assert told in " ".join(errors.split())


def test_a_search_shares_nodes(files: Path, call: Callable[..., Any]) -> None:
    """Tests that optimize --sharing searches there, writes who is where, and saves how; and what is refused."""
    line = ["optimize", files / "jobs.csv", "--federation", files / "m.toml", "--evaluations", "60"]
    out, saved = files / "plan.csv", files / "result.json"
    status, said, _ = call(*line, "--sharing", "pack", "--reservation", "nodes", "--out", out, "--save", saved)
    assert status == 0
    assert "shared nodes (pack, counted free whole)" in said
    assert "lower bound" in said
    read_node_use(out, fs.read(files / "jobs.csv"), fs.read_federation(files / "m.toml")).verify()
    assert fs.Result.load(saved).settings.sharing == fs.NodeSharing(choice="pack", reservation="nodes")
    (files / "s.toml").write_text('[log]\nfile = "jobs.csv"\n[policy]\nsharing = "best"\n')
    words = ("--federation", files / "m.toml", "--evaluations", "60")
    status, said, errors = call("optimize", "--scenario", files / "s.toml", *words)
    assert (status, "shared nodes (best)" in said, "[policy]" in errors) == (0, True, False)
    for what in ("all", "front", "gantt"):
        assert call("plot", saved, "--what", what, "--out", files / f"{what}.svg")[0] == 0
    assert call("report", saved, "--out", files / "saved.html")[0] == 0
    page = (files / "saved.html").read_text(encoding="utf-8")
    assert "--sharing pack --reservation nodes" in page
    for words, told in (
        (("--reservation", "nodes"), "--reservation nodes goes with --sharing"),
        (("--sharing", "first", "--method", "sa"), "whole nodes"),
    ):
        status, _, errors = call(*line, *words)
        assert status == 2
        assert told in " ".join(errors.split())


def test_a_report_shares_nodes(files: Path, call: Callable[..., Any]) -> None:
    """Tests that report --sharing simulates shared nodes, as does a scenario's policy, and says how to repeat it."""
    line, out = ["report", files / "jobs.csv", "--federation", files / "m.toml"], files / "r.html"
    assert call(*line, "--policy", "fcfs", "--policy", "easy", "--sharing", "best", "--out", out)[0] == 0
    page = out.read_text(encoding="utf-8")
    assert "--sharing best" in page
    (files / "s.toml").write_text('[log]\nfile = "jobs.csv"\n[policy]\nname = "fcfs"\nsharing = "pack"\n')
    words = ("--scenario", files / "s.toml", "--federation", files / "m.toml", "--out", out)
    assert call("report", *words)[0] == 0
    assert "shared nodes (pack)" in out.read_text(encoding="utf-8")
    status, _, error = call(*line, "--reservation", "nodes", "--out", out)
    assert (status, "--reservation nodes goes with --sharing" in error) == (2, True)


@pytest.mark.parametrize("words", [("twin", "replay", "day"), ("twin", "report", "day")])
def test_sharing_is_refused_with_the_cure_by_what_has_whole_nodes(
    words: tuple[str, ...], call: Callable[..., Any]
) -> None:
    """Tests that twin says that its jobs have whole nodes, and which command lets them share."""
    status, _, error = call(*words, "--sharing", "block")
    assert status == 2
    assert "takes no --sharing=block yet, because its jobs have whole nodes; leave it out, or use" in error


def test_a_study_takes_sharing_from_a_scenario(call: Callable[..., Any]) -> None:
    """Tests that study says where to put how jobs share nodes."""
    status, _, error = call("study", "sample", "--scenario", "nodes=+20%", "--sharing", "block")
    assert status == 2
    assert "study takes no --sharing=block; give a scenario's .toml with sharing under [policy]." in error
