"""What bench_paired.py says of two sides, and where it is skipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmark as a module."""
    return outside.benchmark(monkeypatch, "bench_paired", "measuring")


class Told:
    """A side that answers with what it is told to, one after the other."""

    def __init__(self, seconds: list[float], result: str) -> None:
        self.cases, self.seconds, self.result = ["fcfs"], iter(seconds), result

    def run(self, case: str) -> tuple[float, str]:
        """Return the next seconds."""
        return next(self.seconds), self.result


@pytest.mark.parametrize(("result", "verdict"), [("a", "reached"), ("b", "MISSED")])
def test_sides_are_compared_run_by_run(
    bench: ModuleType, capsys: pytest.CaptureFixture[str], result: str, verdict: str
) -> None:
    """Tests that a first run is not timed, and that least, median and results are those of the pairs."""
    old, new = Told([50, 1, 4, 2], "a"), Told([70, 2, 2, 3], result)
    bench.compared(bench.Report("pairs"), old, new, 3)
    least, median, same = capsys.readouterr().out.splitlines()[-3:]
    assert least.split()[-2] == "2"
    assert (median.split()[-3], median.split()[-1]) == ("1.5", "MISSED")
    assert same.split()[-1] == verdict


def test_a_commit_that_is_not_there_is_skipped(
    bench: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Tests that the reason is said, with an unknown name and outside of any history."""
    assert bench.hash_of("no-such-commit") is None
    monkeypatch.setattr(bench, "ROOT", tmp_path)
    assert bench.hash_of("HEAD") is None
    assert capsys.readouterr().out.count("skipped: ") == 2


def test_a_tree_runs_its_own_code(bench: ModuleType, tmp_path: Path) -> None:
    """Tests that a side refuses to measure the code of another tree."""
    with (
        pytest.raises(SystemExit, match="has ended"),
        bench.side(tmp_path, None, tmp_path / "jobs.npz", 4, compiled=False),
    ):
        pass
