"""What bench_scaling.py says of its measurements."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmark as a module, found as when it is run from its folder."""
    return outside.benchmark(monkeypatch, "bench_scaling", "measuring", "scaling_points")


def test_exponents_are_those_of_the_curve(bench: ModuleType) -> None:
    """Tests growth like n^1.5, like n log n, and that only sizes from the least on are looked at."""
    sizes = [100, 1000, 10_000, 100_000]
    power = bench.Curve(sizes, [1e-6 * n**1.5 for n in sizes])
    assert power.exponent() == pytest.approx(1.5)
    sorting = bench.Curve(sizes, [1e-6 * n * math.log(n) for n in sizes])
    assert sorting.exponent(over_log=True) == pytest.approx(1.0)
    assert 1.0 < sorting.exponent() < 1.3
    bent = bench.Curve(sizes, [1.0, *(1e-6 * n**2 for n in sizes[1:])])
    assert bent.exponent(1000) == pytest.approx(2.0)
    assert bent.exponent() < 1.9
    assert math.isnan(bench.Curve([100], [1.0]).exponent())
    assert math.isnan(bench.Curve([100, 300], [1.0, 2.0]).exponent(1000))


def test_a_curve_foresees_its_next_point(bench: ModuleType) -> None:
    """Tests that time is taken to go on growing as between the last two sizes, never less than linearly."""
    assert bench.Curve([100], [1.0]).next_seconds(1000) == 0.0
    assert bench.Curve([100, 1000], [1.0, 100.0]).next_seconds(10_000) == pytest.approx(10_000.0)
    assert bench.Curve([100, 1000], [1.0, 1.0]).next_seconds(10_000) == pytest.approx(10.0)


def test_memory_is_the_growth_between_the_largest_sizes(bench: ModuleType) -> None:
    """Tests that what a process needs anyway is not counted to the jobs."""
    assert bench.Curve([10, 100, 1100], [1.0] * 3, [9e8, 9e8, 9e8 + 5e5]).bytes_a_job() == 500.0


@pytest.mark.parametrize(("nodes", "groups", "sizes"), [(10, 4, [3, 3, 2, 2]), (3, 8, [1, 1, 1]), (256, 1, [256])])
def test_a_machine_is_split_evenly(bench: ModuleType, nodes: int, groups: int, sizes: list[int]) -> None:
    """Tests that no node is lost and no group empty."""
    assert bench.split(nodes, groups) == sizes


def run_main(bench: ModuleType, monkeypatch: pytest.MonkeyPatch, *words: str) -> dict[str, float]:
    """Return what the benchmark would record of points that each take a microsecond and a kilobyte a job."""
    kept: dict[str, float] = {}

    def measured(points: list[tuple[str, str, list[int]]], spend: float) -> list[dict[str, float]]:
        return [{"seconds": 1e-6 * int(path), "peak": 1000 * int(path)} for _, path, _ in points]

    monkeypatch.setattr(sys, "argv", ["bench_scaling.py", *words])
    monkeypatch.setattr(bench, "measured", measured)
    monkeypatch.setattr(bench.Workloads, "path", lambda self, jobs, nodes: str(jobs))
    monkeypatch.setattr(bench, "draw", lambda *given: None)
    monkeypatch.setattr(bench, "record", lambda name, figures: kept.update(figures))
    bench.main()
    return kept


def test_the_whole_measurement_is_recorded(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a run as by default gives the page's figures, and draws where it is told to."""
    kept = run_main(bench, monkeypatch, "--draw", "other.png")
    assert kept["fcfs_exponent"] == pytest.approx(1.0)
    assert kept["conservative_bytes"] == pytest.approx(1000.0)
    assert kept["table_of_runs_largest"] == 1_000_000


@pytest.mark.parametrize(
    "words",
    [
        ["--jobs", "3000", "1000", "1000"],
        ["--jobs", "100", "300"],
        ["--cases", "fcfs"],
        ["--limit", "0.01"],
        ["--smoke"],
    ],
    ids=" ".join,
)
def test_a_part_of_it_is_not(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """Tests that fewer sizes or cases end well and overwrite nothing, and that no slope of nothing gets a verdict."""
    assert run_main(bench, monkeypatch, *words) == {}
    rows = [line for line in capsys.readouterr().out.splitlines() if "from 1,000 jobs on" in line]
    assert all(("nan" in row) == (words == ["--jobs", "100", "300"]) for row in rows)
    assert not any("nan" in row and ("reached" in row or "MISSED" in row) for row in rows)


def test_sizes_that_have_no_slope_are_refused(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that one job, whose log n is nothing, is refused before anything is measured."""
    with pytest.raises(SystemExit):
        run_main(bench, monkeypatch, "--jobs", "1", "10")


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "easy: ended with status -9: it said nothing"),
        ("raise ValueError('no such job')", "easy: ended with status 1: ValueError: no such job"),
    ],
)
def test_a_process_that_dies_is_named(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, ending: str, words: str
) -> None:
    """Tests that a measurement that was killed, or failed, is one line with its case."""
    child = tmp_path / "child.py"
    child.write_text(ending)
    monkeypatch.setattr(bench, "CHILD", child)
    with pytest.raises(SystemExit, match=words):
        bench.measured([("easy", "x", [1])], 1.0)
