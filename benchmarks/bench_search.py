"""How good the searches are: gaps to planted optima and best known values, method by method at equal evaluations.

Before that the memetic search is given ten seconds on one core for planted optima of 10 to 2000 jobs, of the library's
generator and of one that cuts the largest piece (guillotine.py); after it, fronts of makespan and energy are compared
by hypervolume. Tests say which methods memetic is ahead of or behind. Runs go to out/search.jsonl (a rerun does only
what is missing), reports to out/search-*.html. --full takes ten seeds and more sizes; --timed ends after the ten
seconds' tables, --counted leaves them out.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np
from instances import guillotine_instances, hungry_federation, packages, planted_instances, thesis_packages
from measuring import ROOT, Report, record

from fedsched.compare import Budget, Comparison, Instance, compare
from fedsched.core.errors import TooFewRunsError
from fedsched.search.methods.methods import METHODS

if TYPE_CHECKING:
    from pathlib import Path

RUNS = ROOT / "out" / "search.jsonl"
SIZES = (10, 30, 50, 100, 200, 500, 1000, 2000)  # jobs, where the budget is in seconds
NOISE = 0.005  # a median this much above the best other one's is called behind


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="two tiny instances; the figures mean nothing")
    parser.add_argument("--full", action="store_true", help="ten seeds, sizes up to 1000: hours")
    parser.add_argument("--timed", action="store_true", help="only what memetic reaches in ten seconds")
    parser.add_argument("--counted", action="store_true", help="only what methods reach at equal evaluations")
    return parser.parse_args()


def best_known(instance: Instance, comparison: Comparison) -> float:
    """Return the planted optimum, or the best value that any run has found."""
    if instance.optimum is not None:
        return instance.optimum
    return min(float(np.nanmin(values)) for values in comparison.values()[instance.name].values())


def standing(comparison: Comparison, measure: str, report: Report, page: Path | None) -> None:
    """Print average ranks and where memetic stands by Wilcoxon's test with Holm's correction; write the report."""
    if page is not None:
        comparison.report(page, repeat="python benchmarks/bench_search.py")
    print("average ranks: " + ", ".join(f"{name} {rank:.2f}" for name, rank in comparison.ranks(measure).items()))
    try:
        print(comparison.friedman(measure))
        pairs = comparison.pairs(measure, against="memetic")
    except TooFewRunsError as error:
        print(error)
        return
    print(pairs)
    behind = sum(pair.verdict == "behind" for pair in pairs.pairs)
    report.row(f"methods that memetic is behind by {measure}, after Holm", behind, "", 0, at_most=True)


def two_objectives(jobs: int, count: int) -> list[Instance]:
    """Return packages for makespan and energy: of logs, and contended ones with a real choice between the two."""
    both = ("makespan", "energy")
    machine = hungry_federation(idle=0.05, hungry=2.5)
    [(log, parts)] = thesis_packages(count, jobs, ("HPC2N",)).items()
    contended = [Instance(f"{log} contended #{k}", part, machine, both) for k, part in enumerate(parts, 1)]
    return contended + packages((jobs,), objectives=both)


def fronts(seeds: range, *, smoke: bool, report: Report) -> None:
    """Print the shares of all methods that find fronts."""
    methods = ["random", "mpso-fga", "moga", "memetic"]
    instances = two_objectives(12, 1)[:2] if smoke else two_objectives(100, 3)
    budget = Budget(200 if smoke else 30_000)
    comparison = compare(instances, methods, seeds, budget, path=None if smoke else RUNS)
    found = comparison.medians("hypervolume")
    print(f"hypervolume as a share of the best known front's, median of {len(seeds)} seeds, {budget}")
    print(f"{'instance':<32}" + "".join(f"{name:>13}" for name in methods))
    for instance in instances:
        print(f"{instance.name:<32}" + "".join(f"{found[instance.name][name]:>13.4f}" for name in methods), flush=True)
    behind = sum(row["memetic"] < max(row.values()) - NOISE for row in found.values())
    report.row("fronts on which another method is better by more than 0.005", behind, "", 0, at_most=True)
    standing(comparison, "hypervolume", report, None if smoke else ROOT / "out" / "search-fronts.html")


def in_ten_seconds(sizes: tuple[int, ...], seeds: range, *, smoke: bool) -> Report:
    """Return a report on how far above planted optima memetic is after ten seconds, and print a table a generator."""
    budget = Budget(seconds=0.5 if smoke else 10.0)
    report = Report(f"memetic, {budget}")
    for kind, instances in (("planted", planted_instances(sizes)), ("guillotine", guillotine_instances(sizes))):
        timed = compare(instances, ["memetic"], seeds, budget, path=None if smoke else RUNS)
        found: dict[str, dict[int, float]] = {}
        for instance in instances:
            machine = instance.name.partition(" on ")[2].partition(" #")[0]
            gap = 100 * (timed.medians()[instance.name]["memetic"] / best_known(instance, timed) - 1.0)
            found.setdefault(machine, {})[len(instance.workload)] = gap
        print(f"memetic, {kind}: makespan above the optimum in %, median of {len(seeds)} seeds, {budget}")
        print(f"{'jobs':<8}" + "".join(f"{machine:>14}" for machine in found))
        for jobs in sizes:
            print(f"{jobs:<8}" + "".join(f"{gaps[jobs]:>14.2f}" for gaps in found.values()))
        for machine, gaps in found.items():
            for jobs, gap in gaps.items():
                target = 2.0 if jobs < 100 else 1.0
                report.row(f"{kind} {jobs} on {machine}: above the optimum", gap, "%", target, at_most=True)
        if not smoke and kind == "planted":
            middle = (50, 100, 200)
            record("bench_search", {name.replace(" ", "_"): [gaps[n] for n in middle] for name, gaps in found.items()})
    return report


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
    if options.counted:
        report = Report(f"methods, {budget}")
    else:
        report = in_ten_seconds((12,) if options.smoke else SIZES, seeds, smoke=options.smoke)
    if options.timed:
        return
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
    behind = int((ours > others.min(axis=1) + NOISE).sum())
    report.row("instances on which another method is better by more than 0.5 %", behind, "", 0, at_most=True)
    standing(comparison, "makespan", report, None if options.smoke else ROOT / "out" / "search-makespan.html")
    fronts(seeds, smoke=options.smoke, report=report)


if __name__ == "__main__":
    main()
