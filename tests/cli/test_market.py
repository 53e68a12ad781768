"""`fedsched market` says what the library says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fedsched import cli, market

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs a command line in this process: exit status, output, errors."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = cli.run([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_json_is_what_the_library_gives(call: Callable[..., tuple[int, str, str]]) -> None:
    """Means over cycles and the last cycle's windows are those of `schedule`."""
    status, out, _ = call("market", "--method", "css", "--cycles", 3, "--jobs", 6, "--seed", 5, "--json")
    said = json.loads(out)
    plans = []
    for seed in (5, 6, 7):
        batch = market.Jobs(jobs=6).batch(seed)
        plans.append(market.schedule(batch, market.Domain().environment(seed), method="css"))
    assert status == 0
    assert said["cycles"] == 3
    assert list(said["means"]) == ["css"]
    assert said["means"]["css"]["cost"] == pytest.approx(sum(plan.totals().cost for plan in plans) / 3)
    windows = [window for window in plans[-1].windows if window is not None]
    assert [row["start"] for row in said["last"]["css"]["windows"]] == [window.start for window in windows]
    assert [row["nodes"] for row in said["last"]["css"]["windows"]] == [list(window.nodes) for window in windows]


@pytest.mark.compiled
def test_the_table_compares_methods_and_shows_windows(call: Callable[..., tuple[int, str, str]]) -> None:
    """All methods stand side by side; --show lists every job's window; jobs without one are told why."""
    status, out, _ = call("market", "--jobs", 5, "--nodes", 10, "--show", "--budget", 0.1, 0.9)
    assert status == 0
    for name in ("css", "slicer", "backfilling", "bsf"):
        assert name in out
    assert "criterion" in out
    assert "the cost of its cheapest window" in out
    status, out, _ = call("market", "--jobs", 5, "--nodes", 10, "--cycles", 2)
    assert "2 cycles of 5 jobs" in out


def test_a_log_s_idle_time_is_sold(call: Callable[..., tuple[int, str, str]]) -> None:
    """--trace schedules the batch onto what a simulated log leaves idle on its federation."""
    status, out, _ = call(
        "market", "--trace", "sample", "--federation", "example", "--begin", 40000, "--interval", 20000,
        "--length", 600, 1200, "--jobs", 4, "--method", "css", "--json",
    )  # fmt: skip
    said = json.loads(out)
    assert status == 0
    assert said["means"]["css"]["scheduled"] >= 1
    assert all(row["start"] >= 40000 for row in said["last"]["css"]["windows"])


def test_errors_are_one_line(call: Callable[..., tuple[int, str, str]]) -> None:
    """Unknown methods, jobs too large for the domain and senseless numbers end in one line and status 2."""
    assert "Did you mean" in call("market", "--method", "slcer")[2]
    status, _, err = call("market", "--nodes", 3, "--tasks", 5, 5)
    assert status == 2
    assert "nodes=5 exceeds the environment's 3 nodes" in err
    assert call("market", "--cycles", 0)[2] == "fedsched: cycles=0 must be at least 1.\n"
    assert call("market", "--groups", 0)[0] == 2
