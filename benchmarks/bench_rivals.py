"""The searches beside other people's optimisers at equal time, objective by objective, on packages and planted optima.

Instances are blocks: a package of the sample and of HPC2N on each shipped federation, and planted optima on three
machines; no job is wider than a cluster, as the solvers' models of modes want it. --large takes real packages of 100
to 1,000 jobs in their place, one on each federation; with ten seconds a run that is four and a half hours, of which
--federations, --objectives, --only and --seeds take a part. Each run has the same seconds of the wall; the library's
searches have one core and spend part of their seconds on baselines and bounds, the frameworks have one core, the
solvers have all. Runs go to out/rivals.jsonl (a rerun does only what is missing).
What needs to be installed: pip install pyjobshop (OR-tools is the extra `exact`).
"""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

import numpy as np
from heuristics import instances as real_instances
from instances import all_logs, package_for, planted_instances
from measuring import ROOT, Report, record
from rivals import FRAMEWORKS, SOLVERS, at_hand

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, compare
from fedsched.core.errors import TooFewRunsError

if TYPE_CHECKING:
    from collections.abc import Iterable

OBJECTIVES = ("makespan", "energy", "flow", "mean_wait", "bounded_slowdown")
OURS = ("memetic", "moga", "hc")
LARGE = {
    "das-2": ("HPC2N", 100),
    "example": ("KTH", 200),
    "figure-1-5": ("HPC2N", 500),
    "figure-1-6": ("KTH", 1000),
    "figure-1-7": ("HPC2N", 100),
    "grid5000-2011": ("KTH", 200),
    "grid5000-2026": ("HPC2N", 500),
    "metacentrum-2009": ("KTH", 1000),
}  # federation: log, and jobs of the package
RUNS = ROOT / "out" / "rivals.jsonl"
BEHIND = 0.002  # what a median may be above another method's, relatively


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="one tiny instance; the figures mean nothing")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each run (default: %(default)s)")
    parser.add_argument("--seeds", type=int, default=5, help="(default: %(default)s)")
    parser.add_argument("--objectives", nargs="+", choices=OBJECTIVES, default=OBJECTIVES)
    parser.add_argument("--only", nargs="+", help="these methods alone; without memetic no table is shown")
    parser.add_argument("--large", action="store_true", help="packages of 100 to 1,000 jobs, one on each federation")
    parser.add_argument("--federations", nargs="+", choices=LARGE, default=LARGE, help="of --large")
    return parser.parse_args()


def blocks(objective: str, *, smoke: bool) -> list[Instance]:
    """Return the instances of one objective."""
    planted = planted_instances((10,) if smoke else (100, 200))
    kept = [one for one in planted if any(name in one.name for name in ("two apart", "three", "four"))]
    if smoke:
        kept = kept[:1]
    known = objective == "makespan"
    cut = [
        Instance(one.name, one.workload, one.federation, (objective,), optimum=one.optimum if known else None)
        for one in kept
    ]
    logs = ["sample"] if smoke else ["sample", "HPC2N"]
    return cut + ([] if smoke else real_instances(objective, rounds=4.0, logs=logs, smoke=False))


def large(objective: str, federations: Iterable[str]) -> list[Instance]:
    """Return the large packages of one objective."""
    logs = all_logs([log for log, _ in LARGE.values()])
    found = []
    for federation in federations:
        log, jobs = LARGE[federation]
        machine = fs.read_federation(ROOT / "traces" / "federations" / f"{federation}.toml")
        if log in logs:
            part = package_for(logs[log], machine, rounds=math.inf, most=jobs)
            found.append(Instance(f"{jobs} of {log} on {federation}", part, machine, (objective,)))
    return found


def show(objective: str, comparison: Comparison, report: Report) -> list[float]:
    """Print one objective's table; return the methods' mean distances above the best of a block, in per cent."""
    for run in comparison.failed:
        print(f"failed: {run.method} on {run.instance}: {run.error}")
    medians = comparison.medians()
    methods = list(comparison.methods)
    above = np.array([[row[name] for name in methods] for row in medians.values()])
    least = above.min(axis=1, keepdims=True)
    above = np.where(least > 0, above / np.where(least > 0, least, 1.0), 1.0) - 1.0
    print(f"\n{objective}: {len(above)} blocks")
    ranks = comparison.ranks(by="instance")
    print(f"{'method':<14}{'rank':>8}{'above the best, mean':>24}{'most':>10}{'at the best':>14}")
    for k, name in enumerate(methods):
        line = f"{100 * above[:, k].mean():>22.2f} %{100 * above[:, k].max():>8.1f} %"
        print(f"{name:<14}{ranks[name]:>8.2f}{line}{int((above[:, k] < 1e-6).sum()):>14}")
    try:
        print(comparison.pairs(by="instance", against="memetic"))
    except TooFewRunsError as error:
        print(error)
    ours = above[:, methods.index("memetic")]
    behind = int((ours > BEHIND).sum())
    report.row(f"{objective}: blocks on which another is better by 0.2 %", behind, "", 0, at_most=True)
    report.row(f"{objective}: memetic above the best, at most", 100 * ours.max(), "%", 100 * BEHIND, at_most=True)
    return [float(100 * value) for value in above.mean(axis=0)]


def main() -> None:
    """Print the tables."""
    options = arguments()
    RUNS.parent.mkdir(exist_ok=True)
    budget = Budget(seconds=0.3 if options.smoke else options.seconds)
    rivals = at_hand()
    report = Report(f"memetic beside other optimisers, {budget}")
    means: list[list[float]] = []
    for objective in options.objectives[:1] if options.smoke else options.objectives:
        methods = [*OURS, *rivals]
        if options.only:
            methods = [one for one in methods if getattr(one, "name", one) in options.only]
        chosen = large(objective, options.federations) if options.large else blocks(objective, smoke=options.smoke)
        found = compare(
            chosen,
            methods,
            range(1 if options.smoke else options.seeds),
            budget,
            path=None if options.smoke else RUNS,
        )
        if options.only and "memetic" not in options.only:
            continue
        means.append(show(objective, found, report))
    if not (options.smoke or options.only or options.large):
        above = dict(zip(found.methods, zip(*means, strict=True), strict=True))  # by method, a figure an objective
        kinds = {"frameworks": FRAMEWORKS, "solvers": SOLVERS}
        others = {kind: [value for one in of for value in above.get(one.name, ())] for kind, of in kinds.items()}
        record(
            "bench_rivals", {**{name: list(above[name]) for name in OURS}, **others, "instances": len(found.instances)}
        )


if __name__ == "__main__":
    main()
