"""Several logs to `simulate`: side by side, each by itself, and what only one log can have is refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HEADER = "JobIDRaw|Cluster|Partition|Submit|Start|ElapsedRaw|State|AllocCPUS|ReqTRES\n"
DUMP = f"""{HEADER}1|east|batch|2024-03-01T10:00:00|2024-03-01T10:05:00|3600|COMPLETED|4|cpu=4,gres/gpu:a100=2
2|east|long|2024-03-01T10:01:00|2024-03-01T10:09:00|60|COMPLETED|4|cpu=4
"""
SWF = """; MaxProcs: 8
1 0 -1 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1
2 3 -1 100 8 -1 -1 8 200 -1 1 1 1 1 1 1 -1 -1
"""


@pytest.fixture
def logs(tmp_path: Path) -> tuple[Path, Path]:
    """Return a dump that records starts and knows of GPUs, and a log that does neither."""
    one, other = tmp_path / "a.sacct", tmp_path / "b.swf"
    one.write_text(DUMP)
    other.write_text(SWF)
    return one, other


def test_each_log_is_simulated_by_itself(call: Callable[..., Any], logs: tuple[Path, Path]) -> None:
    """Tests that the list of --json holds of each log what simulating it alone prints."""
    status, out, _ = call("simulate", *logs, "--nodes", 8, "--json")
    alone = [json.loads(call("simulate", log, "--nodes", 8, "--json")[1]) for log in logs]
    assert status == 0
    said = json.loads(out)
    for found in said + alone:
        del found["seconds"]
    assert said == alone


def test_the_table_has_a_column_a_log(call: Callable[..., Any], logs: tuple[Path, Path]) -> None:
    """Tests that the metrics stand side by side, with the waits a log records, and what of each log is not said."""
    status, out, _ = call("simulate", *logs, "--nodes", 8)
    assert status == 0
    lines = out.splitlines()
    assert any(line.split() == ["metric", "a", "a", "recorded", "b", "unit"] for line in lines)
    (wait,) = [line.split() for line in lines if line.lstrip().startswith("mean_wait ")]
    assert wait == ["mean_wait", "0", "390", "48.5", "s"]
    assert "not modelled: 1 job with GPUs" in out
    assert "2 partitions pooled" in out
    assert out.count("assumed: 135 W busy and 93.7 W idle for each node") == 2
    assert "J (assumed watts)" in out
    assert [line.partition(":")[0] for line in lines if "start hash" in line] == ["a", "b"]


def test_a_head_is_of_each_log(call: Callable[..., Any], logs: tuple[Path, Path]) -> None:
    """Tests that --head and --sample take so many jobs of every log, not of all together."""
    for option in ("--head", "--sample"):
        said = json.loads(call("simulate", *logs, "--nodes", 8, option, 1, "--json")[1])
        assert [found["jobs"] for found in said] == [1, 1]


@pytest.mark.parametrize("option", ["--out", "--gantt", "--checkpoint"])
def test_what_one_log_has_is_refused(
    call: Callable[..., Any], logs: tuple[Path, Path], tmp_path: Path, option: str
) -> None:
    """Tests that a file of one log's is refused before any work, in a line that says what to do."""
    file = tmp_path / {"--out": "p.csv", "--gantt": "p.svg", "--checkpoint": "c"}[option]
    status, out, err = call("simulate", *logs, "--nodes", 8, "--policy", "rolling", option, file)
    assert (status, out) == (2, "")
    assert err == (
        f"fedsched: {option} {file} is for one log, and 2 are given; simulate each alone for it, or leave it out.\n"
    )
    assert not file.exists()


def test_logs_of_one_name_are_told_apart(call: Callable[..., Any], logs: tuple[Path, Path], tmp_path: Path) -> None:
    """Tests that two files of one name stand in the table under their paths."""
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "b.swf").write_text(SWF)
    out = call("simulate", logs[1], tmp_path / "x" / "b.swf", "--nodes", 8)[1]
    assert f"{tmp_path / 'x' / 'b.swf'}: 2 jobs in " in out
