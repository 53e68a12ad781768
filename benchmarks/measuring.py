"""What the benchmarks share: interleaved timing, tables with a verdict, and where optional logs lie."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
LOGS = ROOT.parent / "shared" / "traces"


def arguments(description: str) -> argparse.Namespace:
    """Return the command line: --smoke for a small run that only shows that everything works."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--smoke", action="store_true", help="small sizes; the figures mean nothing")
    return parser.parse_args()


def best_of(rounds: int, *functions: Callable[[], object]) -> list[float]:
    """Return the least seconds of each function, called in turn, so that a drifting machine hits all alike."""
    least = [float("inf")] * len(functions)
    for _ in range(rounds):
        for k, function in enumerate(functions):
            begun = time.perf_counter()
            function()
            least[k] = min(least[k], time.perf_counter() - begun)
    return least


def optional_log(name: str) -> Path | None:
    """Return the path of an archive log, or None and a line that says it is skipped."""
    path = LOGS / name
    if path.exists():
        return path
    print(f"skipped: {name} is not at hand")
    return None


class Comparison:
    """A table of what a paper says and what comes out here, as Markdown."""

    def __init__(self, title: str) -> None:
        print(f"\n{title}\n\n| what | paper | ours | verdict |\n|---|---|---|---|", flush=True)

    def row(self, what: str, paper: str, ours: str, reached: bool | None = None) -> None:
        """Print one line; None: nothing to reach."""
        print(f"| {what} | {paper} | {ours} | {({True: 'reached', False: 'MISSED', None: ''})[reached]} |", flush=True)


class Report:
    """A table of what was aimed at and what came out."""

    def __init__(self, title: str) -> None:
        print(f"{title}\n{'what':<58} {'target':>14} {'measured':>16}  verdict")

    def row(self, what: str, measured: float, unit: str, target: float | None = None, *, at_most: bool = False) -> None:
        """Print one line."""
        verdict, aim = "", ""
        if target is not None:
            reached = measured <= target if at_most else measured >= target
            verdict = "reached" if reached else "MISSED"
            aim = f"{'<=' if at_most else '>='} {target:,.4g}"
        print(f"{what:<58} {aim:>14} {f'{measured:,.4g} {unit}':>16}  {verdict}", flush=True)
