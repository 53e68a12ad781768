"""What commands say beside their figures: what of the log is not modelled, and what of the machine is assumed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

WATTS = "135 W busy and 93.7 W idle for each node"
DUMP = """JobIDRaw|Cluster|Partition|Submit|Start|ElapsedRaw|State|AllocCPUS|ReqTRES
1|east|batch|2024-03-01T10:00:00|2024-03-01T10:05:00|3600|COMPLETED|4|cpu=4,gres/gpu:a100=2
2|east|long|2024-03-01T10:01:00|2024-03-01T10:09:00|60|COMPLETED|4|cpu=4,gres/gpu=1
3|east|gpu|2024-03-01T10:02:00|2024-03-01T10:09:00|60|COMPLETED|4|cpu=4
"""


@pytest.mark.parametrize("command", ["info", "simulate", "bounds", "report", "optimize", "compare", "convert"])
def test_every_command_that_reads_a_log_says_what_it_drops(
    call: Callable[..., Any], tmp_path: Path, command: str
) -> None:
    """Tests that each command says in one line what the log holds and is not modelled."""
    (tmp_path / "a.sacct").write_text(DUMP)
    options = {
        "info": [],
        "simulate": ["--nodes", 8],
        "bounds": ["--nodes", 8],
        "report": ["--nodes", 8, "--out", tmp_path / "r.html"],
        "optimize": ["--nodes", 8, "--evaluations", 20],
        "compare": ["--nodes", 8, "--method", "easy", "--seeds", 1],
        "convert": [tmp_path / "a.swf"],
    }[command]
    status, out, err = call(command, tmp_path / "a.sacct", *options)
    assert status == 0
    assert "not modelled: 2 jobs with GPUs" in out + err or "not modelled: 3 partitions pooled; 2 jobs with GPUs" in out
    if command in ("info", "convert"):
        assert "partitions pooled" not in out + err  # whether they are is up to the machine
    else:
        assert "3 partitions pooled" in out + err
    if command == "convert":
        assert "lost: log.demands" in out


def test_sites_that_one_cluster_takes_are_said(call: Callable[..., Any]) -> None:
    """Tests that --nodes on a log of several sites says that it pools them, as text and as JSON."""
    from pathlib import Path as Here

    log = Here(__file__).resolve().parents[2] / "traces" / "federated.swf.gz"
    status, out, _ = call("simulate", log, "--head", 20, "--nodes", 160)
    assert status == 0
    assert "sites pooled into one cluster" in out
    said = json.loads(call("bounds", log, "--head", 20, "--nodes", 160, "--json")[1])
    assert "sites pooled" in said["not_modelled"][0]
    assert "pooled" not in "".join(call("simulate", log, "--head", 20, "--federation", "example")[1:])


def test_commands_say_what_is_assumed(call: Callable[..., Any]) -> None:
    """Tests that commands say what is assumed, and that --uplink and --communication make it given."""
    status, out, _ = call("simulate", "figure-1-6", "--federation", "figure-1-6")
    assert status == 0
    assert "assumed: 135 W busy and 93.7 W idle for each node; nodes of one speed; unlimited uplinks" in out
    assert "J (assumed watts)" in out
    words = ("figure-1-6", "--federation", "figure-1-6", "--uplink", "1k", "--uplink", "C2=2.5M")
    said = json.loads(call("simulate", *words, "--json")[1])
    assert said["assumed"][-1].startswith("jobs that send nothing")
    said = json.loads(call("bounds", *words, "--communication", "10k", "--json")[1])
    assert said["assumed"] == [WATTS, "nodes of one speed"]
    assert "assumed: not given" in call("info", "figure-1-7")[1]
    out = call("bounds", *words)[1]
    assert "Energy penalty (assumed watts)" in out
    assert f"assumed: {WATTS}; nodes of one speed; jobs that send nothing" in out


def test_uplinks_and_communication_reach_the_simulation(call: Callable[..., Any]) -> None:
    """Tests that narrow uplinks slow talkative jobs that run on several clusters, and wide ones do not."""
    words = ("simulate", "sample", "--head", 50, "--federation", "example", "--communication", "10k", "--json")
    narrow = json.loads(call(*words, "--uplink", "1M", "--uplink", "west=2k")[1])["metrics"]
    wide = json.loads(call(*words, "--uplink", "1G")[1])["metrics"]
    assert narrow["coallocated"] >= 1
    assert narrow["saturated_seconds"] > wide["saturated_seconds"] == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--uplink", "fast"), "--uplink='fast' must be bytes a second"),
        (("--uplink", "C9=1G"), "--uplink='C9=1G': Unknown cluster 'C9'"),
        (("--uplink", "0"), "uplink=0.0 must be above 0"),
        (("--communication", "lots"), "--communication='lots' must be bytes a second"),
    ],
)
def test_a_wrong_uplink_is_told(call: Callable[..., Any], words: tuple[str, ...], message: str) -> None:
    """Tests that what is no bandwidth, or no cluster, is an error in one line."""
    status, _, err = call("simulate", "figure-1-6", "--federation", "figure-1-6", *words)
    assert status == 2
    assert message in err


def test_recorded_waits_stand_beside_simulated_ones(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that info, simulate and report say what waits the log itself records, over the jobs at hand."""
    (tmp_path / "a.sacct").write_text(DUMP)
    assert json.loads(call("info", tmp_path / "a.sacct", "--json")[1])["recorded"]["mean_wait"] == 400
    out = call("simulate", tmp_path / "a.sacct", "--nodes", 8)[1]
    row = next(line for line in out.splitlines() if "mean_wait" in line)
    assert row.split()[:3] == ["mean_wait", "0", "400"]
    assert "recorded: mean wait 6.7 min" in out
    said = json.loads(call("simulate", tmp_path / "a.sacct", "--nodes", 8, "--head", 1, "--json")[1])["recorded"]
    assert (said["mean_wait"], said["simulated"]["mean_wait"]) == (300, 0)
    policies = ("--policy", "easy", "--policy", "fcfs")
    call("report", tmp_path / "a.sacct", "--nodes", 8, *policies, "--out", tmp_path / "r.html")
    assert "as the log records all jobs" in (tmp_path / "r.html").read_text(encoding="utf-8")
