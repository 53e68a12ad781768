"""What a benchmark checks against a paper: tables of claims with verdicts, printed and kept for the reproduction page.

A benchmark opens all its tables through one `Ledger` and saves that at the end of a full run. What was printed is then
what is kept, and what is kept is what docs/evidence/reproduction.md shows (reproduction_page.py writes it).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from measuring import ROOT, Report

from fedsched.io.atomic import atomic_text

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

CHECKED = ROOT / "out" / "checks.json"  # what runs on this machine gave last
REACHED, MISSED = "reached", "MISSED"


@dataclass(frozen=True, slots=True)
class Check:
    """One line: what the paper says, what came out, and whether that agrees; no verdict where nothing is claimed."""

    claim: str
    published: str
    ours: str
    verdict: str = ""
    rule: str = ""  # what the verdict asks


def verdict_of(agreed: bool | None) -> str:
    """Return a verdict's word; none where there is nothing to reach."""
    return "" if agreed is None else REACHED if agreed else MISSED


class Table:
    """A table of what the paper reports, what came out, and whether that agrees, as Markdown."""

    def __init__(self, title: str, kept: list[Check]) -> None:
        self._kept = kept
        print(f"\n{title}\n\n| what | paper | ours | verdict |\n|---|---|---|---|", flush=True)

    def row(self, what: str, paper: str, ours: str, agreed: bool | None = None, rule: str = "") -> None:
        """Print a claim in words, and whether it holds; None: nothing to reach."""
        check = Check(what, paper, ours, verdict_of(agreed), rule)
        self._kept.append(check)
        print(f"| {what} | {paper} | {ours} | {check.verdict}{f' ({rule})' if rule else ''} |", flush=True)

    def near(self, what: str, paper: float, ours: float, *, within: float) -> None:
        """Print a figure that should be the paper's within a share of it."""
        agreed = abs(ours - paper) <= within * abs(paper)
        self.row(what, f"{paper:,.5g}", f"{ours:,.5g}", agreed, f"± {within:.0%}".replace("%", " %"))

    def close(self, what: str, paper: float, ours: float, *, within: float) -> None:
        """Print a share that should be the paper's within a difference."""
        self.row(what, f"{paper:g}", f"{ours:.3f}", abs(ours - paper) <= within, f"± {within:g}")

    def at_least(self, what: str, paper: float, ours: float, *, share: float = 1.0) -> None:
        """Print an effect that should be at least (a share of) the paper's."""
        rule = "" if share == 1.0 else f"≥ {100 * share:g} % of it"
        self.row(what, f"{paper:,.4g}", f"{ours:,.4g}", ours >= share * paper, rule)

    def holds(self, what: str, agreed: bool, *, paper: str = "yes", ours: str = "") -> None:
        """Print a statement of the paper, and whether it holds."""
        self.row(what, paper, ours or ("yes" if agreed else "no"), agreed)

    def shown(self, what: str, ours: float) -> None:
        """Print a figure that the paper does not give."""
        self.row(what, "", f"{ours:,.5g}")


class Aims(Report):
    """A report whose targets are a paper's claims."""

    def __init__(self, title: str, kept: list[Check]) -> None:
        super().__init__(title)
        self._kept = kept

    def row(self, what: str, measured: float, unit: str, target: float | None = None, *, at_most: bool = False) -> None:
        """Print one line."""
        super().row(what, measured, unit, target, at_most=at_most)
        claim = f"… {what.strip()}" if what.startswith("  ") else what  # what is indented goes on
        agreed, aim = None, ""
        if target is not None:
            agreed = measured <= target if at_most else measured >= target
            aim = f"{'≤' if at_most else '≥'} {target:,.4g} {unit}".strip()
        self._kept.append(Check(claim, aim, f"{measured:,.4g} {unit}".strip(), verdict_of(agreed)))


class Ledger:
    """All tables of one benchmark, in the order printed."""

    def __init__(self, benchmark: str, source: str = "") -> None:
        self._benchmark = benchmark
        self._source = source
        self._tables: list[tuple[str, str, list[Check]]] = []

    def table(self, title: str, source: str = "") -> Table:
        """Open a table of claims; `source` names the paper where it is not the ledger's."""
        return Table(title, self._opened(title, source))

    def aims(self, title: str, source: str = "") -> Aims:
        """Open a table of targets."""
        return Aims(title, self._opened(title, source))

    def _opened(self, title: str, source: str) -> list[Check]:
        kept: list[Check] = []
        self._tables.append((title, source or self._source, kept))
        return kept

    @property
    def checks(self) -> list[Check]:
        """Return every line so far."""
        return [check for _, _, kept in self._tables for check in kept]

    def count(self, *verdicts: str) -> int:
        """Return how many lines have one of these verdicts."""
        return sum(check.verdict in verdicts for check in self.checks)

    def save(self, path: Path = CHECKED) -> None:
        """Keep all tables, in place of those of the benchmark's last run."""
        tables = [
            {"title": title, "source": source, "checks": [_brief(check) for check in kept]}
            for title, source, kept in self._tables
        ]
        save_checks(recorded_checks(path) | {self._benchmark: {"tables": tables}}, path)


def _brief(check: Check) -> dict[str, str]:
    return {name: value for name, value in asdict(check).items() if value or name in ("published", "ours")}


def recorded_checks(path: Path) -> dict[str, Any]:
    """Return the tables in a file, by benchmark; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def save_checks(found: dict[str, Any], path: Path) -> None:
    """Write tables with a line a value, so that a change of one figure is a change of one line."""
    path.parent.mkdir(exist_ok=True)
    with atomic_text(path) as stream:
        stream.write(json.dumps(found, indent=1, sort_keys=True, ensure_ascii=False) + "\n")
