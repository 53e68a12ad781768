"""What the benchmarks share: interleaved timing, tables with a verdict, records of figures, where optional logs lie."""

from __future__ import annotations

import argparse
import json
import time
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.io.atomic import atomic_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Figures = dict[str, dict[str, float | list[float]]]

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT.parent / "shared" / "traces"
MEASURED = ROOT / "out" / "figures.json"  # what runs on this machine gave last
DIGITS = 4  # of a recorded figure; more are noise


def arguments(description: str, *, claims: bool = False) -> argparse.Namespace:
    """Return the command line: --smoke for a small run that only shows that everything works.

    With `claims` also --claims: what a paper says, and no times, which a busy machine would spoil.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    if claims:
        parser.add_argument("--claims", action="store_true", help="only what a paper says; take no times")
    return parser.parse_args()


def best_of(
    rounds: int, *functions: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Return the least seconds of each function, called in turn, so that a drifting machine hits all alike."""
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            begun = clock()
            function()
            least[k] = min(least[k], clock() - begun)
    return least


def optional_log(name: str) -> Path | None:
    """Return the path of an archive log, or None and a line that says it is skipped."""
    path = LOGS / name
    if path.exists():
        return path
    print(f"skipped: {name} is not at hand")
    return None


def recorded(path: Path = MEASURED) -> Figures:
    """Return the figures in a file, by benchmark and name; none where there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(benchmark: str, figures: Mapping[str, float | Sequence[float]], path: Path = MEASURED) -> None:
    """Keep a benchmark's figures for the page on performance; what it recorded before under other names stays."""
    found = recorded(path)
    fresh = {name: _short(value) for name, value in figures.items()}
    found[benchmark] = {**found.get(benchmark, {}), **fresh}
    save_figures(found, path)


def save_figures(figures: Figures, path: Path) -> None:
    """Write figures in an order that makes small differences."""
    path.parent.mkdir(exist_ok=True)
    with atomic_text(path) as stream:
        stream.write(json.dumps(figures, indent=1, sort_keys=True) + "\n")


def between(page: str, begin: str, end: str, block: str, *, name: str) -> str:
    """Return a page with the block between two lines exchanged."""
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{name} needs the lines {begin} and {end} around what is written there.")
    return f"{before}{begin}\n{block}\n{end}{after}"


def _short(value: float | Sequence[float]) -> float | list[float]:
    if hasattr(value, "__len__"):
        return [_short(one) for one in value]
    if isinstance(value, Integral):  # a count
        return int(value)
    return float(f"{value:.{DIGITS}g}")


class Report:
    """A table of what was aimed at and what came out."""

    def __init__(self, title: str) -> None:
        self.aimed = self.reached = 0
        print(f"{title}\n{'what':<58} {'target':>14} {'measured':>16}  verdict")

    def row(self, what: str, measured: float, unit: str, target: float | None = None, *, at_most: bool = False) -> None:
        """Print one line."""
        verdict, aim = "", ""
        if target is not None:
            reached = measured <= target if at_most else measured >= target
            verdict = "reached" if reached else "MISSED"
            self.aimed += 1
            self.reached += reached
            aim = f"{'<=' if at_most else '>='} {target:,.4g}"
        print(f"{what:<58} {aim:>14} {f'{measured:,.4g} {unit}':>16}  {verdict}", flush=True)
