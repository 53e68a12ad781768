"""Cost per job from 100 to 100,000 jobs: strict with everything queued at once, EASY at a fixed queue depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, arguments, best_of

import fedsched as fs
from fedsched.generate import poisson
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

NODES = 256
FIGURE = ROOT / "out" / "scaling.png"


def all_at_once(jobs: int) -> fs.Workload:
    """Return jobs that are all submitted at 0: the queue is as long as the workload."""
    rng = np.random.default_rng(1)
    return fs.Workload(
        submit=np.zeros(jobs), tasks=rng.integers(1, 65, jobs), runtime=rng.integers(60, 7200, jobs).astype(float)
    )


def steady(jobs: int) -> fs.Workload:
    """Return jobs that arrive at a load of 0.6: the queue is short, however many jobs there are."""
    return poisson(jobs, NODES, load=0.6, largest=64, seed=1)


def seconds_per_job(workload: fs.Workload, policy: str, rounds: int) -> float:
    """Return the loop's seconds for each job."""
    machine = fs.Federation.homogeneous(NODES)
    runs = iter([prepare(workload, machine, policy) for _ in range(rounds)])
    return best_of(rounds, lambda: next(runs).advance())[0] / len(workload)


def beyond_log(sizes: list[int], costs: list[float]) -> float:
    """Return the exponent of n that is left in the cost a job over log n, fitted over the sizes from 1,000 jobs on.

    Zero is growth like log n. A queue in another order than the jobs' own reads their arrays out of order: where
    these outgrow the caches, memory's latency shows on top of the algorithm.
    """
    large = [(n, cost) for n, cost in zip(sizes, costs, strict=True) if n >= 1000]
    n, cost = np.array(large).T
    return float(np.polyfit(np.log(n), np.log(cost / np.log(n)), 1)[0])


def main() -> None:
    """Print the table and draw the figure."""
    smoke = arguments(__doc__ or "").smoke
    sizes = [100, 1000] if smoke else [100, 300, 1000, 3000, 10_000, 30_000, 100_000]
    report = Report(f"one cluster of {NODES} nodes")
    curves: dict[str, list[float]] = {}
    cases: tuple[tuple[str, str, Callable[[int], fs.Workload]], ...] = (
        ("strict in arrival order, all queued at once", "fcfs", all_at_once),
        ("strict in SAF order, all queued at once", "saf", all_at_once),
        ("easy, fixed queue depth", "easy", steady),
    )
    for name, policy, make in cases:
        curves[name] = [seconds_per_job(make(jobs), policy, 3 if jobs > 20_000 else 9) for jobs in sizes]
        for jobs, cost in zip(sizes, curves[name], strict=True):
            report.row(f"{name}, {jobs:,} jobs: a job", cost * 1e9, "ns")
        if not smoke:
            report.row(f"{name}: exponent of cost/log n", beyond_log(sizes, curves[name]), "", 0.1, at_most=True)
    if not smoke:
        draw(sizes, curves)


def draw(sizes: list[int], curves: dict[str, list[float]]) -> None:
    """Draw cost per job over the number of jobs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for (name, costs), style in zip(curves.items(), ("o-", "^-.", "s--"), strict=True):
        axes.loglog(sizes, np.array(costs) * 1e9, style, label=name)
    reference = np.log(sizes) / np.log(sizes[0])
    axes.loglog(sizes, reference * next(iter(curves.values()))[0] * 1e9, "k:", label="log n")
    axes.set(xlabel="jobs", ylabel="ns a job")
    axes.legend()
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=110)
    print(f"drawn: {FIGURE.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
