"""The command line: each command does its work, and each mistake gets one line with its cure."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING

import pytest

from fedsched.cli import run

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Return a small generated log."""
    path = tmp_path / "made.swf.gz"
    command = ["generate", "lublin", "--jobs", "60", "--nodes", "16", "--estimates", "tsafrir", "--out", str(path)]
    assert run(command) == 0
    return path


def test_generate_is_reproducible(tmp_path: Path) -> None:
    """The same seed writes the same bytes, another seed others."""
    paths = [tmp_path / name for name in ("a.swf.gz", "b.swf.gz", "c.swf.gz")]
    for path, seed in zip(paths, "112", strict=True):
        assert run(["generate", "poisson", "--jobs", "20", "--nodes", "8", "--seed", seed, "--out", str(path)]) == 0
    contents = [gzip.decompress(path.read_bytes()) for path in paths]
    assert contents[0] == contents[1] != contents[2]


def test_planted_says_its_optimum(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The planted optimum is printed."""
    out = str(tmp_path / "planted.swf")
    assert run(["generate", "planted", "--jobs", "20", "--federation", "figure-1-6", "--out", out]) == 0
    assert "best makespan: 3600 s" in capsys.readouterr().out


def test_simulate_writes_what_it_is_asked_for(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Table, CSV, SWF, JSON and pictures come out of one schedule."""
    capsys.readouterr()
    for suffix in ("csv", "swf.gz", "json"):
        out = tmp_path / f"plan.{suffix}"
        assert run(["simulate", str(trace), "--out", str(out), "--gantt", str(tmp_path / "plan.svg")]) == 0
        assert out.stat().st_size > 0
    assert "bounded_slowdown" in capsys.readouterr().out
    assert (tmp_path / "plan.svg").read_text().startswith("<?xml")


def test_json_holds_the_metrics(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--json` prints one object with every metric of a complete schedule."""
    capsys.readouterr()
    assert run(["simulate", str(trace), "--policy", "conservative", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["complete"]
    assert said["metrics"]["makespan"] > 0


def test_info_knows_logs_and_federations(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log and a federation are both described, as text and as JSON."""
    for source in (str(trace), "example", "sample"):
        assert run(["info", source]) == 0
        capsys.readouterr()
        assert run(["info", source, "--json"]) == 0
        assert "name" in json.loads(capsys.readouterr().out)


def test_verify_runs_every_reading_of_a_stranger(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown log is run and checked; nothing differs, so the status is 0."""
    capsys.readouterr()
    assert run(["verify", str(trace), "--json"]) == 0
    assert all(row["verdict"] == "keeps the model" for row in json.loads(capsys.readouterr().out))


@pytest.mark.slow
def test_demo_leaves_a_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The demo writes one self-contained page with the table and the picture."""
    assert run(["demo", "--out", str(tmp_path / "demo")]) == 0
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "conservative" in page
    assert "http-equiv" not in page
    assert "<script" not in page
    assert "Report:" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["simulate", "no-such.swf"], "there is no such file"),
        (["simulate", "TRACE", "--policy", "eazy"], "Did you mean 'easy'"),
        (["simulate", "TRACE", "--placement", "fastes"], "Did you mean 'fastest'"),
        (["simulate", "TRACE", "--nodes", "2"], "exceeds the federation's 2 nodes"),
        (["simulate", "TRACE", "--federation", "exampel"], "Did you mean 'example'"),
        (["simulate", "TRACE", "--out", "no/such/folder/plan.csv"], "Cannot write"),
        (["simulate", "TRACE", "--out", "plan.xls"], "is no format"),
        (["simulate", "TRACE", "--gantt", "plan.bmp"], "a chart is"),
        (["simulate", "TRACE", "--federation", "example", "--nodes", "4"], "not both"),
        (["info", "no-such.toml"], "no-such.toml"),
        (["generate", "lublin", "--jobs", "0", "--out", "x.swf"], "at least 1"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_a_mistake_gets_one_line(
    arguments: list[str],
    message: str,
    trace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Status 2, one line on stderr that says what to do, nothing written."""
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    capsys.readouterr()
    assert run([str(trace) if word == "TRACE" else word for word in arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


def test_ctrl_c_keeps_what_was_done(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An interrupted run exits 130; what had finished is written and the note says so."""
    from fedsched.engine import simulation

    calls = []

    def interrupted(*arguments: object) -> int:
        calls.append(arguments)
        if len(calls) > 1:
            raise KeyboardInterrupt
        problem, plan, state, _, until = arguments
        return int(real(problem, plan, state, 40, until))

    real = simulation.run
    monkeypatch.setattr(simulation, "run", interrupted)
    out = tmp_path / "part.csv"
    assert run(["simulate", str(trace), "--out", str(out)]) == 130
    assert "interrupted at" in capsys.readouterr().err
    assert len(out.read_text().splitlines()) == 61
