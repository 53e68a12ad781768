"""What reading a log left out or altered is said, whichever command reads it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COUNT = "3 of 4 records kept; 1 dropped: no run time"
COMMANDS = {
    "simulate": (),
    "optimize": ("--method", "random", "--evaluations", 5),
    "compare": ("--method", "fcfs", "--seeds", 1),
    "bounds": (),
    "report": ("--out", "report.html"),
    "gang": (),
}


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a log of four rows, one of which is no job, in the folder that commands are called in."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k} {k} 0 {run} 2 -1 -1 2 100 -1 1 1 1 1 1 -1 -1 -1" for k, run in ((1, 60), (2, 0), (3, 50), (4, 70))]
    path = tmp_path / "jobs.swf"
    path.write_text("\n".join(["; MaxProcs: 4", *rows, ""]), encoding="utf-8")
    assert str(fs.read(path).cleaning) == COUNT
    return path


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_is_dropped_without_a_count(command: str, log: Path, call: Callable[..., Any]) -> None:
    """Tests that a line on stderr and an object of the JSON say what was left out, and the shipped log is quiet."""
    options = COMMANDS[command]
    status, out, err = call(command, log, *options, "--json")
    assert (status, err) == (0, f"fedsched: {log}: {COUNT}.\n")
    said = json.loads(out)
    said = said["instances"][0] if command == "compare" else said
    assert said["cleaning"] == asdict(fs.read(log).cleaning)
    assert call(command, "sample", *options, "--head", 5)[2] == ""


def test_market_reads_logs_too(log: Path, call: Callable[..., Any]) -> None:
    """Tests that the log whose idle time is sold is counted as well, and that made domains have no such count."""
    options = ("--method", "css", "--tasks", 1, 2, "--json")
    _, out, err = call("market", "--trace", log, *options)
    assert COUNT in err
    assert json.loads(out)["cleaning"]["no_runtime"] == 1
    assert json.loads(call("market", *options)[1])["cleaning"] is None


@pytest.mark.parametrize("command", [("simulate",), ("info",), ("convert", "jobs.csv")])
def test_what_the_table_says_is_not_said_twice(command: tuple[str, ...], log: Path, call: Callable[..., Any]) -> None:
    """Tests that commands which print the count with the answer keep stderr quiet."""
    name, *target = command
    _, out, err = call(name, log, *target)
    assert COUNT in out
    assert err == ""


@pytest.mark.parametrize("command", [("info",), ("convert", "jobs.csv")])
def test_the_count_is_an_object_everywhere(command: tuple[str, ...], log: Path, call: Callable[..., Any]) -> None:
    """Tests that `info` and `convert` give the count under the same name and in the same shape as all others."""
    name, *target = command
    assert json.loads(call(name, log, *target, "--json")[1])["cleaning"] == asdict(fs.read(log).cleaning)


def test_the_report_says_it(log: Path, call: Callable[..., Any]) -> None:
    """Tests that the page counts what was left out: of a log, and of a saved search of it."""
    call("optimize", log, "--method", "random", "--evaluations", 5, "--save", "result.json")
    for source in (log, "result.json"):
        assert call("report", source, "--out", log.with_name("report.html"))[0] == 0
        assert COUNT in log.with_name("report.html").read_text(encoding="utf-8")


def test_a_machine_that_the_header_misstates_is_given(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that `info --nodes` takes the size as given, and that other commands keep what fits it or the header."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{k} {k} 0 60 {tasks} -1 -1 {tasks} 100 -1 1 1 1 1 1 -1 -1 -1" for k, tasks in ((1, 2), (2, 8), (3, 4))]
    (tmp_path / "wide.swf").write_text("\n".join(["; MaxProcs: 4", *rows, ""]), encoding="utf-8")
    for nodes, kept in ((2, 1), (4, 2), (8, 3)):
        told = json.loads(call("info", "wide.swf", "--nodes", nodes, "--json")[1])
        assert (told["nodes"], told["jobs"]) == (nodes, kept)
        assert (told["load"] is None) == (kept == 1)
    assert "1 dropped: wider than the machine" in call("simulate", "wide.swf")[1]
    assert "3 jobs on cluster (8 nodes)" in call("simulate", "wide.swf", "--nodes", 8)[1]
    assert "exceeds the federation's 2 nodes" in call("simulate", "wide.swf", "--nodes", 2)[2]
    (tmp_path / "site.toml").write_text('[log]\nfile = "wide.swf"\nnodes = 8\n', encoding="utf-8")
    assert "3 jobs on cluster (8 nodes)" in call("simulate", "--scenario", "site.toml")[1]
    assert "takes no --nodes" in call("info", "example", "--nodes", 2)[2]
