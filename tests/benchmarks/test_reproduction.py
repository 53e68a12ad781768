"""The page of reproduction is what the benchmarks checked, and says of every miss that it is one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support import outside

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def maker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the page's maker, found as when it is run from its folder."""
    return outside.benchmark(monkeypatch, "reproduction_page", "measuring", "checks")


@pytest.fixture
def apart(maker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the maker over copies of its files, with nothing newly checked."""
    for name in ("PAGE", "KEPT"):
        copy = tmp_path / getattr(maker, name).name
        copy.write_text(getattr(maker, name).read_text(encoding="utf-8"), encoding="utf-8")
        monkeypatch.setattr(maker, name, copy)
    monkeypatch.setattr(maker, "CHECKED", tmp_path / "out" / "checks.json")
    return maker


def test_the_page_has_the_recorded_checks(maker: ModuleType) -> None:
    """Tests that the page is what benchmarks/checks.json gives, in the repository itself."""
    assert maker.main(["--check"]) == 0


def test_every_miss_is_on_the_page(maker: ModuleType) -> None:
    """Tests that each line that a benchmark called MISSED stands on the page with its verdict, and is counted."""
    page = maker.PAGE.read_text(encoding="utf-8")
    missed = [
        check
        for _, table in maker.tables_of(maker.recorded_checks(maker.KEPT))
        for check in table["checks"]
        if check.get("verdict") == "MISSED"
    ]
    assert len(missed) > 30
    for check in missed:
        assert f"| {check['claim']} | {check['published']} | {check['ours']} | MISSED" in page
    summary = page.partition("| source |")[2].partition(maker.END)[0]
    assert sum(int(count) for count in re.findall(r"\| (\d+) \|$", summary, flags=re.MULTILINE)) == len(missed)


def test_every_benchmark_of_a_paper_is_on_the_page(maker: ModuleType) -> None:
    """Tests that no benchmark that keeps checks is left out of the page."""
    keeping = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if "Ledger(" in path.read_text(encoding="utf-8") and path.stem != "checks"
    }
    assert keeping == set(maker.BENCHMARKS) == set(maker.recorded_checks(maker.KEPT))


def test_what_is_said_of_misses_is_said_of_misses(maker: ModuleType) -> None:
    """Tests that no explanation outlives its miss."""
    records = maker.recorded_checks(maker.KEPT)
    for why in maker.explanations():
        assert any(
            why.explains(benchmark, table["title"], check)
            for benchmark, table in maker.tables_of(records)
            for check in table["checks"]
        ), why


def test_a_verdict_edited_by_hand_is_found(apart: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --check refuses a page that says more than was recorded, and leaves it as it is."""
    page = apart.PAGE.read_text(encoding="utf-8")
    edited = page.replace("| MISSED", "| reached", 1)
    assert edited != page
    apart.PAGE.write_text(edited, encoding="utf-8")
    assert apart.main(["--check"]) == 1
    assert "reproduction_page.py" in capsys.readouterr().out
    assert apart.PAGE.read_text(encoding="utf-8") == edited
    assert apart.main(["--keep"]) == 0
    assert apart.PAGE.read_text(encoding="utf-8") == page


def test_a_run_in_full_takes_the_place_of_the_last_one(apart: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests the way of a line: printed and kept by one call, moved beside the benchmarks, shown on the page."""
    from checks import Ledger

    ledger = Ledger("bench_thesis", "a paper")
    table = ledger.table("A table")
    table.near("a figure", 100.0, 86.3, within=0.1)
    table.close("a share", 0.025, 0.143, within=0.01)
    table.at_least("an effect", 20.0, 16.0, share=0.75)
    table.holds("an order", False, ours="b < a")
    table.shown("a figure of ours", 3.0)
    aims = ledger.aims("Targets")
    aims.row("time", 0.5, "×", 1.0, at_most=True)
    aims.row("  over all", 2.0, "%", 3.0)
    assert (ledger.count("reached"), ledger.count("MISSED")) == (2, 4)
    ledger.save(apart.CHECKED)
    printed = capsys.readouterr().out
    assert apart.main([]) == 0
    page = apart.PAGE.read_text(encoding="utf-8").partition(apart.begin("bench_thesis"))[2].partition(apart.END)[0]
    for row in (
        "| a figure | 100 | 86.3 | MISSED (± 10 %) |",
        "| a share | 0.025 | 0.143 | MISSED (± 0.01) |",
        "| an effect | 20 | 16 | reached (≥ 75 % of it) |",
        "| an order | yes | b < a | MISSED |",
        "| a figure of ours |  | 3 |  |",
    ):
        assert row in printed
        assert row in page
    assert "| time | ≤ 1 × | 0.5 × | reached |" in page
    assert "| … over all | ≥ 3 % | 2 % | MISSED |" in page
    kept = json.loads(apart.KEPT.read_text(encoding="utf-8"))["bench_thesis"]["tables"]
    assert [table["title"] for table in kept] == ["A table", "Targets"]
    assert apart.main(["--check"]) == 0


def test_a_benchmark_without_checks_is_named(apart: ModuleType) -> None:
    """Tests that a page is not written as if a benchmark had nothing to say."""
    apart.KEPT.write_text("{}", encoding="utf-8")
    with pytest.raises(SystemExit, match=r"bench_thesis are recorded; run python benchmarks/bench_thesis\.py"):
        apart.main(["--keep"])


def test_what_is_said_of_lxf_in_both_orders_is_what_was_recorded(maker: ModuleType) -> None:
    """Tests that the evidence on gangs and what is known of the miss name the recorded figures of both orders."""
    recorded = maker.recorded_checks(maker.KEPT)["bench_gang_migration"]["tables"]
    (found,) = [table["checks"] for table in recorded if "LXF in descending order" in table["title"]]
    gang = (ROOT / "docs" / "evidence" / "gang.md").read_text(encoding="utf-8")
    for order, rule in (("descending", "lxf"), ("ascending", "sxf")):
        cells = [check["ours"] for check in found if check["claim"].startswith(order)]
        assert f"| {order} (`{rule}`) | {' | '.join(cells)} |" in gang
    ratio = next(check["ours"] for check in found if check["claim"] == "ascending: ART LXF/AFCFS").split(",")[0]
    assert f"it is {ratio}, and migration" in " ".join(maker.MISSES.read_text(encoding="utf-8").split())
    assert f"gives {ratio} under OLB" in gang
