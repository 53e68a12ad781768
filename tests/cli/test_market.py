"""`fedsched market` says what the library says."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from fedsched import market

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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


@pytest.mark.compiled
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


def test_a_market_of_ones_own(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """--file schedules the jobs of a file on its nodes; --out and --gantt write the first method's windows."""
    path = tmp_path / "market.toml"
    path.write_text(
        "interval = [0, 50]\n[[node]]\nperformance = 1\nprice = 2\ncount = 3\nbusy = [[5, 10]]\n"
        "[[job]]\nnodes = 2\nlength = 12\n[[job]]\nnodes = 1\nlength = 99\n"
    )
    table, chart = tmp_path / "windows.csv", tmp_path / "cycle.svg"
    status, out, _ = call("market", "--file", path, "--method", "css", "--out", table, "--gantt", chart)
    assert status == 0
    assert table.read_text() == "job,node,start,end,cost\n1,0,10.0,22.0,24.0\n1,1,10.0,22.0,24.0\n"
    assert chart.read_text().startswith("<?xml")
    assert "css: job 2: no 1 suitable nodes are free together for long enough" in out
    assert "leave --trace and --cycles out" in call("market", "--file", path, "--cycles", 2)[2]
    assert "no such file" in call("market", "--file", tmp_path / "other.toml")[2]
    assert "no format" in call("market", "--file", path, "--out", tmp_path / "windows.txt")[2]


def test_errors_are_one_line(call: Callable[..., tuple[int, str, str]]) -> None:
    """Unknown methods, jobs too large for the domain and senseless numbers end in one line and status 2."""
    assert "Did you mean" in call("market", "--method", "slcer")[2]
    status, _, err = call("market", "--nodes", 3, "--tasks", 5, 5)
    assert status == 2
    assert "nodes=5 exceeds the environment's 3 nodes" in err
    assert call("market", "--cycles", 0)[2] == "fedsched: --cycles=0 must be at least 1.\n"
    assert call("market", "--groups", 0)[0] == 2
    assert "give --trace too" in call("market", "--federation", "example")[2]


def test_a_flow_is_what_the_library_gives(call: Callable[..., tuple[int, str, str]]) -> None:
    """--flow carries jobs from cycle to cycle as `flows_of` does, and shows totals and every cycle."""
    asked = ("market", "--flow", "--cycles", 4, "--period", 150, "--jobs", 8, "--nodes", 10, "--method", "backfilling",
             "--carried", "newest", "--patience", 3)  # fmt: skip
    status, out, _ = call(*asked, "--json")
    said = json.loads(out)
    flow = market.flows_of(
        {"it": "backfilling"}, domain=market.Domain(nodes=10), jobs=market.Jobs(jobs=8), cycles=4, period=150.0,
        order="newest", patience=3,
    )["it"]  # fmt: skip
    assert status == 0
    assert said["totals"]["backfilling"] == flow.totals().as_dict()
    assert said["cycles"]["backfilling"]["waiting"] == flow.cycles().waiting.tolist()
    status, out, _ = call(*asked, "--show")
    assert "4 successive cycles, one every 150, each sees 600" in out
    assert "oldest" in out


def test_prices_and_selection_reach_the_market(call: Callable[..., tuple[int, str, str]]) -> None:
    """--price-from, --price-demand and --select change the plans as their options in the library do."""
    domain = market.Domain(nodes=10)
    batch = market.Jobs(jobs=6).batch(0, domain=domain)
    for words, prices in (
        (("--price-from", 0, 1.5, "--price-from", 300, 0.5), market.Hours(((0.0, 1.5), (300.0, 0.5)))),
        (("--price-demand", 0.5), market.Demand(strength=0.5)),
    ):
        common = ("market", "--jobs", 6, "--nodes", 10, "--method", "bsf", "--select", "cost", "--json")
        status, out, _ = call(*common, *words)
        assert status == 0
        plan = market.schedule(batch, domain.environment(0).priced(prices), method=market.Bsf(select="cost"))
        windows = [window for window in plan.windows if window is not None]
        assert [row["cost"] for row in json.loads(out)["last"]["bsf"]["windows"]] == [w.cost for w in windows]


def test_options_of_a_flow_need_a_flow(call: Callable[..., tuple[int, str, str]]) -> None:
    """What says nothing without --flow, or nothing with it, is refused in a line that says so."""
    status, _, err = call("market", "--patience", 2)
    assert status != 0
    assert "give --flow too" in err
    status, _, err = call("market", "--flow", "--out", "windows.csv")
    assert status != 0
    assert "leave --file, --trace, --out and --gantt out" in err
    status, _, err = call("market", "--price-from", 0, 2, "--price-demand", 1)
    assert status != 0
    assert "give only one of them" in err
