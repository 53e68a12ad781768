"""Lower bounds: how long they take, how much the LP adds to closed forms, and how near schedules come to them."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from instances import all_logs
from measuring import ROOT, Report, arguments

import fedsched as fs
from fedsched.bounds import exact, lower_bounds
from fedsched.bounds.cost.charges import is_useful
from fedsched.generate import lublin

if TYPE_CHECKING:
    from collections.abc import Callable

SPEEDS = (1.0, 1.3, 0.7, 2.0, 1.7, 0.5, 1.1, 2.5)
POLICIES = ("fcfs", "easy", "ljf-easy", "largest-easy", "laf-easy", "saf-easy")
PLACEMENTS = ("fastest", "efficient", "powerful")


def eight_kinds(idle_share: float) -> fs.Federation:
    """Return eight clusters of different speeds, fast nodes hungry; idle power is that share of busy power."""
    clusters = []
    for k, speed in enumerate(SPEEDS):
        busy = 100.0 * speed**2
        clusters.append(fs.Cluster(f"C{k}", (fs.NodeGroup(8 + 4 * k, speed, busy, idle_share * busy),)))
    return fs.Federation(tuple(clusters), name="eight kinds")


def package(jobs: int, nodes: int, *, seed: int, widest: float = 1.0) -> fs.Workload:
    """Return made jobs that all wait at 0, none wider than a share of the nodes."""
    made = lublin(jobs, nodes, seed=seed)
    return replace(made, submit=np.zeros(jobs), tasks=np.minimum(made.tasks, max(1, int(widest * nodes))))


def timed(action: Callable[[], object]) -> float:
    """Return the seconds of one call."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def best_schedules(workload: fs.Workload, federation: fs.Federation) -> tuple[float, float]:
    """Return the least makespan and the least energy of the list heuristics."""
    made = [
        fs.simulate(workload, federation, policy, placement=placement, knowledge="runtime")
        for policy in POLICIES
        for placement in PLACEMENTS
    ]
    return min(schedule.makespan for schedule in made), min(schedule.energy for schedule in made)


def times(report: Report, sizes: tuple[int, ...]) -> None:
    """Print how long the bounds of so many jobs take, against a single pass over the smallest."""
    federation = eight_kinds(0.2)
    for method in ("lp", "lagrangian"):
        lower_bounds(package(5, federation.nodes, seed=1), federation, method=method)  # imports the solver
    targets = {("lp", 200): 1.0, ("lp", 1000): 5.0, ("auto", 3000): 5.0}
    for jobs in sizes:
        workload = package(jobs, federation.nodes, seed=1)
        for method in ("closed", "lp", "lagrangian") if jobs <= 1000 else ("closed", "lagrangian"):
            seconds = timed(lambda work=workload, way=method: lower_bounds(work, federation, method=way))
            aim = targets.get(("auto" if jobs > 1000 else method, jobs)) if method != "closed" else None
            report.row(f"{jobs} jobs × 8 classes, {method}", seconds, "s", aim, at_most=True)


def quality(report: Report, jobs: int, seeds: range) -> None:
    """Print how much higher than the closed forms the LP is, and how far above it the best heuristic sits."""
    for widest in (0.2, 1.0):
        rows = []
        for seed in seeds:
            federation = eight_kinds(0.1)
            workload = package(jobs, federation.nodes, seed=seed, widest=widest)
            whole, plain = (lower_bounds(workload, federation, method=way) for way in ("lp", "closed"))
            area_only = max(plain.longest_job, plain.area)
            makespan, energy = best_schedules(workload, federation)
            rows.append(
                (
                    whole.makespan / area_only - 1,
                    whole.energy / plain.energy - 1,
                    makespan / whole.makespan - 1,
                    energy / whole.energy - 1,
                )
            )
        means = 100 * np.mean(rows, axis=0)
        kind = f"{jobs} jobs no wider than {widest:.0%}"
        report.row(f"{kind}: LP above longest job and area", means[0], "%", 14.0 if widest < 1 else None)
        report.row(f"{kind}: LP above closed form, energy", means[1], "%", 35.0 if widest < 1 else None)
        report.row(
            f"{kind}: best heuristic above LP, makespan", means[2], "%", 4.0 if widest < 1 else None, at_most=True
        )
        report.row(f"{kind}: best heuristic above LP, energy", means[3], "%", 4.0 if widest < 1 else None, at_most=True)


def without_the_program(report: Report, jobs: int) -> None:
    """Print how far below the LP the Lagrangian over classes stays, on as many jobs as both can do."""
    federation = eight_kinds(0.1)
    for widest in (0.2, 1.0):
        workload = package(jobs, federation.nodes, seed=2, widest=widest)
        whole, many = (lower_bounds(workload, federation, method=way) for way in ("lp", "lagrangian"))
        for name in ("makespan", "energy"):
            below = 100 * (1 - many.of(name) / whole.of(name))
            what = f"{jobs} jobs no wider than {widest:.0%}: Lagrangian below LP, {name}"
            report.row(what, below, "%", 0.5, at_most=True)


def penalties(report: Report, jobs: int) -> None:
    """Print the energy that the least makespan costs, by the share of busy power that idle nodes draw."""
    for share in (0.35, 0.2, 0.06):
        federation = eight_kinds(share)
        workload = package(jobs, federation.nodes, seed=1, widest=0.2)
        penalty = lower_bounds(workload, federation).penalty
        report.row(f"energy penalty at least makespan, idle {share:.0%} of busy", 100 * penalty, "%")


def proven(report: Report, seconds: float, seeds: range) -> None:
    """Print on how many small instances CP-SAT closes the gap."""
    groups = (fs.NodeGroup(4, 1, 100, 20), fs.NodeGroup(3, 2, 300, 20), fs.NodeGroup(5, 0.5, 40, 10))
    twelve = fs.Federation(tuple(fs.Cluster(f"C{k}", (group,)) for k, group in enumerate(groups)))
    for jobs, federation in ((10, twelve), (12, twelve), (20, fs.Federation.of(32, 16))):
        closed = 0
        for seed in seeds:
            rng = np.random.default_rng(seed)
            workload = fs.Workload(
                submit=np.zeros(jobs),
                tasks=rng.integers(1, federation.nodes // 3, jobs),
                runtime=rng.integers(1, 20, jobs) * 60.0,
            )
            closed += exact(workload, federation, seconds=seconds).status == "optimal"
        what = f"CP-SAT proves {jobs} jobs on {federation.nodes} nodes in {seconds:g} s"
        report.row(what, 100 * closed / len(seeds), "%", 100.0)


def over_time(logs: tuple[str, ...], machines: tuple[str, ...], sizes: tuple[int, ...], seconds: float) -> None:
    """Print sums over starts: their bounds without and with prices over time, beside the best plan of a search.

    What LP and closed forms prove alone is what was printed before there were such prices.
    """
    print(f"\npackages of logs: the best plan of {seconds:g} s above what LP and closed forms prove, and prices now")
    print(f"{'package':<28}{'metric':<18}{'best plan':>13}{'gap':>9}{'gap now':>9}{'CPU s':>8}")
    for machine in machines:
        federation = fs.read_federation(ROOT / "traces" / "federations" / f"{machine}.toml")
        for name, log in all_logs(logs).items():
            fits = log.filter(log.tasks <= max(cluster.nodes for cluster in federation.clusters))
            for jobs in sizes:
                begin = len(fits) // 3
                part = fits.take(range(begin, begin + jobs))
                part = replace(part, submit=np.zeros(jobs))
                for metric in ("flow", "mean_wait", "bounded_slowdown"):
                    bounds = lower_bounds(part, federation, method="lp")
                    begun = time.process_time()
                    now = bounds.of(metric)
                    taken = time.process_time() - begun
                    before = bounds._prover.without_prices(metric)
                    found = fs.optimize(part, federation, objectives=metric, seconds=seconds, baselines=("fcfs",))
                    plan = found.value()
                    gaps = "".join(
                        f"{plan / bound - 1:>9.1%}" if is_useful(metric, bound) else f"{'none':>9}"
                        for bound in (before, now)
                    )
                    title = f"{name} {jobs} on {machine}"
                    print(f"{title:<28}{metric:<18}{plan:>13,.5g}{gaps}{taken:>8.2f}", flush=True)


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    report = Report("lower bounds and exact answers, one core (CP-SAT: two)")
    times(report, (50,) if smoke else (200, 1000, 3000, 30000))
    quality(report, 30 if smoke else 200, range(1) if smoke else range(5))
    without_the_program(report, 300 if smoke else 1000)
    penalties(report, 30 if smoke else 200)
    if smoke:
        over_time(("sample",), ("das-2",), (20,), 0.5)
    else:
        over_time(("KTH", "HPC2N", "SDSC-SP2"), ("example", "das-2"), (30, 100, 300, 1000), 10.0)
    try:
        proven(report, 1.0 if smoke else 10.0, range(1) if smoke else range(5))
    except fs.errors.MissingExtraError as error:
        print(f"skipped: {error}")


if __name__ == "__main__":
    main()
