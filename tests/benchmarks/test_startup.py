"""What bench_startup.py says of rows, alone and beside another tree."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmark as a module."""
    return outside.benchmark(monkeypatch, "bench_startup", "measuring", "startup_rows")


def test_rows_ask_for_calls_that_there_are(bench: ModuleType) -> None:
    """Each row names a call of the other process, and a row whose cache it finds, which found none itself."""
    calls = importlib.import_module("startup_rows").CALLS
    assert {row.call for row in bench.ROWS.values()} == set(calls)
    for row in bench.ROWS.values():
        assert not row.after or not bench.ROWS[row.after].after
        assert row.goal is None or bool(row.after) != (row.call in ("demo", "optimize"))


def test_a_row_stands_beside_another_trees(
    bench: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The ratio is ours to theirs, results are compared, and the figures include what the page on performance shows."""
    costs = {"theirs": bench.Cost(60.0, 50.0, 300, "a"), "ours": bench.Cost(15.0, 12.0, 100, "b")}
    monkeypatch.setattr(bench.Side, "run", lambda self, name: costs[self.folder.name])
    found = bench.compiled(bench.Report("start-up"), ["demo"], smoke=False, tree=tmp_path)
    assert found == {"processor_demo": 15.0, "functions_demo": 100, "cold": 12.0}
    lines = capsys.readouterr().out.splitlines()
    ratio = next(line for line in lines if "new beside old" in line)
    assert ratio.split()[-2:] == ["0.25", "x"]
    assert "reached" in next(line for line in lines if "first EASY" in line)
    assert lines[-1].endswith("MISSED")


def test_a_row_finds_the_cache_that_another_left(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is a copy: what a row compiles stays its own, and the other row runs first if it has not run yet."""
    called = []

    def call(self: object, call: str, jobs: int, given: dict[str, str]) -> object:
        cache = Path(given["NUMBA_CACHE_DIR"])
        if jobs == bench.JOBS:
            called.append((call, sorted(path.name for path in cache.iterdir())))
            (cache / call).touch()
        return bench.Cost(1.0, 1.0, 1, "")

    monkeypatch.setattr(bench.Side, "_called", call)
    side = bench.Side(tmp_path, tmp_path / "caches", smoke=False)
    for name in ("calendar-after", "shared-after", "slurm"):
        side.run(name)
    assert called == [("demo", []), ("calendar", ["demo"]), ("shared", ["demo"]), ("slurm", [])]
