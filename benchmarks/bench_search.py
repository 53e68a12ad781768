"""How good the searches are: gaps to planted optima and best known values, method by method at equal evaluations.

The memetic search is then given ten seconds on one core for each planted optimum; and fronts of makespan and energy are
compared by the share of the box up to FCFS that they dominate. Runs go to out/search.jsonl; a rerun does only what is
missing. --full takes ten seeds and more sizes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np
from instances import hungry_federation, packages, planted_instances, thesis_packages
from measuring import ROOT, Report

import fedsched as fs
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


def two_objectives(jobs: int, count: int) -> list[Instance]:
    """Return packages for makespan and energy: of logs, and contended ones with a real choice between the two."""
    both = ("makespan", "energy")
    machine = hungry_federation(idle=0.05, hungry=2.5)
    log, parts = thesis_packages(count, jobs)
    contended = [Instance(f"{log[:5]} contended #{k}", part, machine, both) for k, part in enumerate(parts, 1)]
    return contended + packages((jobs,), objectives=both)


def shares(comparison: Comparison, instance: Instance) -> dict[str, float]:
    """Return each method's median share of the box between the best known values and FCFS's."""
    from moocore import hypervolume

    fcfs = fs.simulate(at_once(instance.workload), instance.federation, "fcfs", knowledge="runtime").metrics().as_dict()
    corner = np.array([fcfs[name] for name in instance.objectives])
    fronts = [(r.method, np.array(r.front)) for r in comparison.records if r.instance == instance.name and r.front]
    ideal = np.min([front.min(axis=0) for _, front in fronts], axis=0)
    found: dict[str, list[float]] = {}
    for method, front in fronts:
        inside = front[(front < corner).all(axis=1)]
        volume = hypervolume((inside - ideal) / (corner - ideal), ref=np.ones(2)) if len(inside) else 0.0
        found.setdefault(method, []).append(float(volume))
    return {method: float(np.median(volumes)) for method, volumes in found.items()}


def at_once(workload: fs.Workload) -> fs.Workload:
    """Return the jobs, all waiting at the time of the first."""
    return replace(workload, submit=np.full(len(workload), workload.submit.min()))


def fronts(seeds: range, *, smoke: bool, report: Report) -> None:
    """Print the shares of all methods that find fronts."""
    methods = ["random", "mpso-fga", "moga", "memetic"]
    instances = two_objectives(12, 1)[:2] if smoke else two_objectives(100, 3)
    budget = Budget(200 if smoke else 30_000)
    comparison = compare(instances, methods, seeds, budget, path=None if smoke else RUNS)
    print(f"share of the box between FCFS and the best known values, {budget}")
    print(f"{'instance':<32}" + "".join(f"{name:>13}" for name in methods))
    behind = 0
    for instance in instances:
        found = shares(comparison, instance)
        behind += found["memetic"] < max(found.values()) - NOISE
        print(f"{instance.name:<32}" + "".join(f"{found[name]:>13.4f}" for name in methods), flush=True)
    report.row("fronts on which another method is better by more than 0.005", behind, "", 0, at_most=True)


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
    planted = [one for one in instances if one.optimum is not None and len(one.workload) <= 200]
    long = Budget(seconds=0.5 if options.smoke else 10.0)
    timed = compare(planted, ["memetic"], seeds, long, path=None if options.smoke else RUNS)
    report = Report(f"memetic, {long}")
    for instance in planted:
        gap = timed.medians()[instance.name]["memetic"] / best_known(instance, timed) - 1.0
        report.row(f"{instance.name}: above the optimum", 100 * gap, "%", 2.0, at_most=True)
    behind = int((ours > others.min(axis=1) + NOISE).sum())
    report.row("instances on which another method is better by more than 0.5 %", behind, "", 0, at_most=True)
    fronts(seeds, smoke=options.smoke, report=report)


if __name__ == "__main__":
    main()
