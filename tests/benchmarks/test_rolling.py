"""What bench_rolling.py keeps of its runs, and what it times."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from support import outside

import fedsched as fs
from fedsched.simulate import prepare as really_prepare

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType

    from fedsched.simulate import Simulation


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """Return the benchmark as a module that keeps its runs in a folder of the test's own."""
    module = outside.benchmark(monkeypatch, "bench_rolling", "measuring")
    monkeypatch.setattr(module, "OUT", tmp_path)
    monkeypatch.setattr(module, "RUNS", tmp_path / "rolling.jsonl")
    return module


def contest(bench: ModuleType) -> object:
    """Return a few jobs that come one by one on three nodes, under EASY."""
    few = fs.Workload(submit=[0, 10, 20, 30], tasks=[1, 2, 3, 1], runtime=[9, 50, 5, 5])
    return bench.Contest("few", few, fs.Federation.homogeneous(3), {"easy": "easy"})


def test_a_half_written_line_is_a_run_to_be_done_again(bench: ModuleType) -> None:
    """Tests that what a kill left of a last line is neither read nor glued to the next one."""
    first = bench.run_of(contest(bench), "easy", keep=True)
    second = bench.run_of(contest(bench), "fcfs", keep=True)
    assert list(bench.recorded().values()) == [first, second]
    bench.RUNS.write_bytes(bench.RUNS.read_bytes()[:-9])
    assert list(bench.recorded().values()) == [first]
    again = bench.run_of(contest(bench), "fcfs", keep=True)
    assert list(bench.recorded().values()) == [first, again]
    assert again["mean_wait"] == second["mean_wait"]


def test_nothing_is_compiled_while_the_clock_runs(bench: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a rolling policy has planned and run some jobs before the time of a run is taken."""
    runs: list[Simulation] = []
    planned: list[list[int]] = []

    def prepare(*given: object) -> Simulation:
        runs.append(really_prepare(*given))  # type: ignore[arg-type]
        return runs[-1]

    def process_time() -> float:
        planned.append([run.planner.replans for run in runs])  # type: ignore[union-attr]
        return float(len(planned))

    monkeypatch.setattr(bench, "prepare", prepare)
    monkeypatch.setattr(bench, "time", SimpleNamespace(process_time=process_time))
    line = bench.run_of(contest(bench), fs.Rolling(evaluations=20), keep=True)
    (first, none_yet), (_, plans) = planned
    assert first > 0
    assert runs[0].done
    assert none_yet == 0
    assert (line["plans"], line["seconds"], line["whole"]) == (plans, 1.0, 1.0)
