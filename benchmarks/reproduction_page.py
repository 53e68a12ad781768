"""Write docs/evidence/reproduction.md's tables from what benchmarks checked: python benchmarks/reproduction_page.py.

A benchmark of a paper, run in full, keeps every line that it prints in out/checks.json. They replace those of its last
run in benchmarks/checks.json, which travels with the code, and from there fill the page: what is MISSED is on it
without anybody writing it there. benchmarks/misses.toml says what is known of a miss. --check changes nothing and exits
with 1 when the page is not what benchmarks/checks.json gives; --keep leaves out/checks.json aside.
"""

from __future__ import annotations

import argparse
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from checks import CHECKED, MISSED, REACHED, recorded_checks, save_checks
from measuring import ROOT, between

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    Records = dict[str, Any]

PAGE = ROOT / "docs" / "evidence" / "reproduction.md"
KEPT = Path(__file__).with_name("checks.json")
MISSES = Path(__file__).with_name("misses.toml")
BENCHMARKS = (
    "bench_thesis",
    "bench_encodings",
    "bench_gang_multisite",
    "bench_gang_migration",
    "bench_market_windows",
    "bench_market_cycles",
    "bench_market_flow",
)
END = "<!-- checks: end -->"


def begin(name: str) -> str:
    """Return the line that opens a block."""
    return f"<!-- checks: {name} -->"


@dataclass(frozen=True, slots=True)
class Why:
    """What is known of the misses that patterns for benchmark, table and claim name."""

    benchmark: str
    claim: str
    why: str
    table: str = "*"

    def explains(self, benchmark: str, title: str, check: dict[str, str]) -> bool:
        """Return whether it says something of a line."""
        if benchmark != self.benchmark or check.get("verdict") != MISSED:
            return False
        return fnmatchcase(title, self.table) and fnmatchcase(check["claim"], self.claim)


def explanations(path: Path | None = None) -> list[Why]:
    """Return what is known of misses, in the file's order."""
    text = (path or MISSES).read_text(encoding="utf-8")
    return [Why(**{key: " ".join(value.split()) for key, value in one.items()}) for one in tomllib.loads(text)["miss"]]


def tables_of(records: Records) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield benchmark and table, in the page's order."""
    for benchmark in BENCHMARKS:
        if benchmark not in records:
            raise SystemExit(f"No checks of {benchmark} are recorded; run python benchmarks/{benchmark}.py.")
        for table in records[benchmark]["tables"]:
            yield benchmark, table


def counts(checks: list[dict[str, str]]) -> tuple[int, int]:
    """Return how many lines are reached, and how many missed."""
    verdicts = [check.get("verdict", "") for check in checks]
    return verdicts.count(REACHED), verdicts.count(MISSED)


def summary(records: Records) -> str:
    """Return a line a table: how many of its checks are reached."""
    lines = ["| source | table | checks | reached | missed |", "|---|---|---|---|---|"]
    last = ""
    for _, table in tables_of(records):
        reached, missed = counts(table["checks"])
        if reached + missed:
            source = table["source"]
            lines.append(
                f"| {'' if source == last else source} | {table['title']} | {reached + missed} | {reached} | {missed} |"
            )
            last = source
    return "\n".join(lines)


def section(benchmark: str, records: Records, known: list[Why]) -> str:
    """Return all tables of a benchmark, each with what is known of its misses."""
    record = records[benchmark]
    lines = [f"`python benchmarks/{benchmark}.py`" + (f". {record['note']}" if "note" in record else "")]
    for table in record["tables"]:
        lines += ["", f"**{table['title']}**", "", "| what | paper | ours | verdict |", "|---|---|---|---|"]
        lines += [line_of(check) for check in table["checks"]]
        said = [why for why in known if any(why.explains(benchmark, table["title"], c) for c in table["checks"])]
        if said:
            lines += ["", *(f"* {why.why}" for why in said)]
    return "\n".join(lines)


def line_of(check: dict[str, str]) -> str:
    """Return a line of a table."""
    rule = f" ({check['rule']})" if check.get("rule") else ""
    return f"| {check['claim']} | {check['published']} | {check['ours']} | {check.get('verdict', '')}{rule} |"


def written(page: str, records: Records) -> str:
    """Return the page with all its blocks made anew."""
    known = explanations()
    blocks = {"summary": summary(records)} | {name: section(name, records, known) for name in BENCHMARKS}
    for name, block in blocks.items():
        page = between(page, begin(name), END, block, name=PAGE.name)
    return page


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when the page is not up to date")
    parser.add_argument("--keep", action="store_true", help="take no new checks, only write the page")
    options = parser.parse_args(arguments)
    records = recorded_checks(KEPT)
    if not options.check and not options.keep:
        records |= recorded_checks(CHECKED)
    page = PAGE.read_text(encoding="utf-8")
    wanted = written(page, records)
    if options.check:
        if page != wanted:
            print(f"{PAGE.name} is not what {KEPT.name} gives; run python benchmarks/reproduction_page.py --keep.")
        return int(page != wanted)
    save_checks(records, KEPT)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
