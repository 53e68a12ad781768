"""The bench of the field: all methods on problems of every family, above the best known plans and what is proven.

Five tables: single objectives, fronts, shared nodes, the market and gangs. Searches, stock optimisers and solvers have
ten seconds a run; what the stock ones and the solvers begin with, the best baseline, is not on their clock. Policies
have no budget. Runs go to out/field.jsonl (a rerun does only what is missing), so that the table of later best known
plans is the same command; a page for each table, with every problem, to out/field-NAME.html. What needs to be
installed: pip install pyjobshop (OR-tools is the extra `exact`).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from measuring import ROOT
from rivals import at_hand

from fedsched.bench import scoring
from fedsched.compare import Budget, compare
from fedsched.core.errors import TooFewRunsError
from fedsched.gang.presets import NAMED
from fedsched.market.methods import METHODS as METASCHEDULERS

if TYPE_CHECKING:
    from fedsched.compare import Comparison, Entrant

RUNS = ROOT / "out" / "field.jsonl"
ORDERED = ("fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "ljf-greedy", "wfp3-easy")  # queue and rule
POLICIES = (
    *ORDERED, "conservative", "jpr", "cbs", "lookahead", "mct", "min-min", "max-min", "sufferage", "least-energy"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One table."""

    about: str
    problems: tuple[str, ...]
    methods: tuple[str, ...]
    seeds: int = 2
    searched: bool = True  # else its methods take no budget
    rivals: bool = False


PARTS = {
    "single": Part(
        "single objectives",
        (
            "planted-one-50/makespan", "planted-four-100/makespan", "planted-two-100-comm/energy", "das-2-200/flow",
            "example-50/makespan", "example-100/flow", "example-200/mean_wait", "example-200-comm/makespan",
            "grid5000-2011-100/energy", "grid5000-2026-500/makespan", "metacentrum-2009-100/energy",
            "metacentrum-2009-500/energy", "windows-100/makespan", "partitions-100/energy",
            "workflows-example-200/makespan", "power-example-50/makespan",
        ),
        ("memetic", "moga", "ga", "ga-mf", "ga-slowdown", "ga-ea", "pso-ea", "sa", "hc", "random", *POLICIES),
        seeds=3, rivals=True,
    ),
    "fronts": Part(
        "fronts of two and of three objectives",
        (
            "figure-1-6-20/makespan+energy", "example-50/makespan+energy", "grid5000-2026-100/makespan+energy",
            "example-200/makespan+energy+flow",
        ),
        ("memetic", "moga", "mpso-fga", "ga", "ga-slowdown", "pso-ea", "sa", "hc", "random"),
    ),
    "shared": Part(
        "nodes that jobs share",
        (
            "shared-even-50/makespan", "shared-even-50/flow", "shared-gpus-100/makespan", "shared-gpus-100/energy",
            "shared-speeds-200/makespan", "shared-speeds-200/energy",
        ),
        ("moga", "ga", *ORDERED),
    ),
    "market": Part(
        "the market",
        ("market-24-20/cpu", "market-24-20/cost", "market-36-30/cpu", "market-36-30/finish", "market-48-40/cpu",
         "market-48-40/cost"),
        tuple(METASCHEDULERS), seeds=1, searched=False,
    ),
    "gang": Part(
        "gangs",
        tuple(f"{name}/{ask}" for name in ("gang-sites-200", "gang-clocks-200", "gang-stops-200")
              for ask in ("mean_response", "weighted_response")),
        tuple(NAMED), seeds=3, searched=False,
    ),
}  # fmt: skip


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="one problem a table; the figures mean nothing")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run (default: %(default)s)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these tables alone")
    return parser.parse_args()


def against_memetic(found: Comparison) -> None:
    """Print whom memetic is ahead of by the tests of `compare`, a problem a block."""
    try:
        print(found.pairs(by="instance", against="memetic"))
    except TooFewRunsError as error:
        print(error)


def main() -> None:
    """Print the tables."""
    options = arguments()
    RUNS.parent.mkdir(exist_ok=True)
    for name in options.only:
        part = PARTS[name]
        methods: list[str | Entrant] = [*part.methods, *(at_hand() if part.rivals else ())]
        budget = Budget(seconds=0.3 if options.smoke else options.seconds) if part.searched else Budget(1)
        found = compare(
            scoring.problems_of(part.problems[:1] if options.smoke else part.problems), methods,
            range(1 if options.smoke else part.seeds), budget, path=None if options.smoke else RUNS,
        )  # fmt: skip
        taken = sum(run.seconds for run in found.records)
        print(f"\n{part.about}: {len(found.instances)} problems, {len(found.records)} runs, {taken:,.0f} s in all")
        print(f"| {' | '.join(scoring.COLUMNS)} |\n|{'---|' * len(scoring.COLUMNS)}")
        for row in scoring.rows_of(found):
            print(f"| {' | '.join(row)} |")
        for line in dict.fromkeys(f"failed: {run.method} on {run.instance}: {run.error}" for run in found.failed):
            print(line)
        if "memetic" in part.methods:
            against_memetic(found)
        if not options.smoke:
            scoring.write_page(found, RUNS.with_name(f"field-{name}.html"), repeat="python benchmarks/bench_field.py")


if __name__ == "__main__":
    main()
