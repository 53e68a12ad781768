"""The memetic search beside CP-SAT: the optimum where CP-SAT proves it, and who is ahead in equal time where not."""

from __future__ import annotations

import numpy as np
from bench_bounds import eight_kinds, package
from instances import planted_instances
from measuring import Report, arguments, record

import fedsched as fs
from fedsched.bounds import exact
from fedsched.bounds.exact_answers.task import require_solver

TWELVE = fs.Federation(
    tuple(
        fs.Cluster(f"C{k}", (group,))
        for k, group in enumerate(
            (fs.NodeGroup(4, 1, 100, 20), fs.NodeGroup(3, 2, 300, 20), fs.NodeGroup(5, 0.5, 40, 10))
        )
    )
)


def ours(workload: fs.Workload, machine: fs.Federation, seconds: float) -> float:
    """Return the makespan that the memetic search finds in so many seconds on two threads, as CP-SAT has."""
    result = fs.optimize(workload, machine, objectives="makespan", seconds=seconds, threads=2, baselines=("fcfs",))
    return float(result.front.values.min())


def small(jobs: int, seed: int) -> fs.Workload:
    """Return jobs of whole minutes, some wider than any one cluster."""
    rng = np.random.default_rng(seed)
    return fs.Workload(
        submit=np.zeros(jobs),
        tasks=rng.integers(1, TWELVE.nodes // 3, jobs),
        runtime=rng.integers(1, 20, jobs) * 60.0,
    )


def where_proven(report: Report, seconds: float, seeds: range) -> dict[str, int]:
    """Print on how many of the instances that CP-SAT closes the search has the optimum; return the sums."""
    found = {"optimal": 0, "proven": 0}
    for jobs in (8, 10, 12):
        proven = equal = 0
        for seed in seeds:
            workload = small(jobs, seed)
            answer = exact(workload, TWELVE, seconds=seconds)
            if answer.status != "optimal":
                continue
            proven += 1
            equal += ours(workload, TWELVE, seconds / 5) <= answer.value * (1 + 1e-9)
        report.row(f"{jobs} jobs on 12 nodes: optimal of the {proven} proven", 100 * equal / max(proven, 1), "%", 100.0)
        found = {"optimal": found["optimal"] + equal, "proven": found["proven"] + proven}
    return found


def at_equal_time(report: Report, seconds: float, sizes: tuple[int, ...]) -> list[float]:
    """Print, and return, by how much CP-SAT's best makespan is above the search's, both with so many seconds."""
    found = []
    for instance in planted_instances(sizes):
        answer = exact(instance.workload, instance.federation, seconds=seconds)
        value = ours(instance.workload, instance.federation, seconds)
        found.append(100 * (answer.value / value - 1))
        report.row(f"{instance.name}: CP-SAT above memetic", found[-1], "%", 0.0)
    federation = eight_kinds(0.1)
    for jobs in sizes:
        workload = package(jobs, federation.nodes, seed=1, widest=0.2)
        answer = exact(workload, federation, seconds=seconds)
        value = ours(workload, federation, seconds)
        found.append(100 * (answer.value / value - 1))
        report.row(f"{jobs} jobs on 8 classes: CP-SAT above memetic", found[-1], "%", 0.0)
    return found


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    try:
        require_solver()
    except fs.errors.MissingExtraError as error:
        print(f"skipped: {error}")
        return
    seconds = 0.5 if smoke else 10.0
    report = Report(f"memetic and CP-SAT, makespan, {seconds:g} s, two cores")
    found = where_proven(report, seconds, range(1 if smoke else 10))
    ahead = at_equal_time(report, seconds, (12,) if smoke else (30, 50, 100))
    if not smoke:
        record("bench_exact", {**found, "least_ahead": min(ahead), "most_ahead": max(ahead)})


if __name__ == "__main__":
    main()
