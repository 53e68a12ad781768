"""How good the searches are at equal evaluations: gaps to planted optima and to bounds, method by method.

Runs go to out/search.jsonl; a rerun does only what is missing. --full takes ten seeds and more sizes.
"""

from __future__ import annotations

import argparse

import numpy as np
from instances import packages, planted_instances
from measuring import ROOT, Report

from fedsched.compare import Budget, Comparison, Instance, compare
from fedsched.search.methods import METHODS

RUNS = ROOT / "out" / "search.jsonl"
NOISE = 0.005  # a median this much above the best other one's is called behind


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="two tiny instances; the figures mean nothing")
    parser.add_argument("--full", action="store_true", help="ten seeds, sizes up to 1000: hours")
    return parser.parse_args()


def best_known(instance: Instance, comparison: Comparison) -> float:
    """Return the planted optimum, or the best value that any run has found."""
    if instance.optimum is not None:
        return instance.optimum
    return min(record.best() for record in comparison.records if record.instance == instance.name and record.front)


def main() -> None:
    """Print the tables."""
    options = arguments()
    methods = [name for name in METHODS if name not in ("ga-mf", "ga-ea", "mpso-fga")]  # other objectives than makespan
    if options.smoke:
        instances, seeds, budget = planted_instances((12,))[:1] + packages((15,))[:1], range(1), Budget(200)
    elif options.full:
        instances = planted_instances((50, 100, 200, 500, 1000), (1, 2)) + packages((20, 50, 100, 200, 500))
        seeds, budget = range(10), Budget(seconds=10)
    else:
        instances, seeds, budget = planted_instances((50, 100, 200)) + packages((100,)), range(3), Budget(30_000)
    RUNS.parent.mkdir(exist_ok=True)
    comparison = compare(instances, methods, seeds, budget, path=None if options.smoke else RUNS)
    medians = comparison.medians()
    print(f"makespan above the best known, median of {len(seeds)} seeds, {budget}")
    print(f"{'instance':<32}" + "".join(f"{name:>13}" for name in methods))
    report_rows = []
    for instance in instances:
        known = best_known(instance, comparison)
        gaps = [medians[instance.name][name] / known - 1.0 for name in methods]
        print(f"{instance.name:<32}" + "".join(f"{gap:>13.2%}" for gap in gaps), flush=True)
        report_rows.append(gaps)
    gaps = np.array(report_rows)
    ours, others = gaps[:, methods.index("memetic")], np.delete(gaps, methods.index("memetic"), axis=1)
    report = Report("memetic")
    for instance, gap in zip(instances, ours, strict=True):
        if instance.optimum is not None and len(instance.workload) <= 200:
            report.row(f"{instance.name}: above the optimum", 100 * gap, "%", 2.0, at_most=True)
    behind = int((ours > others.min(axis=1) + NOISE).sum())
    report.row("instances on which another method is better by more than 0.5 %", behind, "", 0, at_most=True)


if __name__ == "__main__":
    main()
