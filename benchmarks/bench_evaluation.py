"""Batch evaluation at 200 jobs × 8 groups: placements a second a core, against the naive reference, on two threads."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from measuring import Report, arguments, best_of, record

import fedsched as fs
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack.problem import pack
from fedsched.engine.run.batch import Evaluator
from fedsched.model.reading import Reading

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from reference import naive

SPEEDS = (1.0, 1.5, 2.0, 0.7, 1.0, 1.2, 0.9, 2.0)
JOBS, NODES, UPLINK = 200, 32, 1e8


def instance(bandwidth: float) -> tuple[fs.Workload, fs.Federation]:
    """Return the first 200 jobs of the shipped trace, all submitted at 0, and eight clusters of 32 nodes."""
    log = fs.Workload.example().head(JOBS)
    jobs = fs.Workload(
        submit=np.zeros(JOBS),
        tasks=log.tasks,
        runtime=log.runtime,
        compute_fraction=np.full(JOBS, 0.8),
        task_bandwidth=np.full(JOBS, bandwidth),
    )
    clusters = [fs.Cluster(f"C{k}", (fs.NodeGroup(NODES, speed, 200, 90),), UPLINK) for k, speed in enumerate(SPEEDS)]
    return jobs, fs.Federation(tuple(clusters))


def evaluator(jobs: fs.Workload, federation: fs.Federation, threads: int = 1) -> Evaluator:
    """Return the batch entry for an instance."""
    problem = pack(jobs, federation, reading=Reading())
    return Evaluator(problem, threads=threads)


def naive_seconds(jobs: fs.Workload, federation: fs.Federation, order: list[int], dispatch: str) -> tuple[float, float]:
    """Return the reference's seconds for one candidate, and the makespan it finds."""
    groups = [naive.Group(k, NODES, speed, 200, 90) for k, speed in enumerate(SPEEDS)]
    machine = naive.Machine(groups, [UPLINK] * len(groups))
    plain = [
        naive.Job(j + 1, 0.0, int(t), float(r), float(r), 0.8, float(b))
        for j, (t, r, b) in enumerate(zip(jobs.tasks, jobs.runtime, jobs.task_bandwidth, strict=True))
    ]
    begun = time.perf_counter()
    result = naive.simulate(plain, machine, order=order, dispatch=dispatch)
    return time.perf_counter() - begun, max(result.finish)


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    candidates, rounds = (40, 1) if smoke else (2000, 7)
    rng = np.random.default_rng(0)
    size = 50 if smoke else JOBS
    orders = np.array([rng.permutation(size) for _ in range(candidates)])
    report = Report(f"{size} jobs × 8 groups, {candidates} candidates")
    found: dict[str, float] = {}
    for bandwidth, what in ((0.0, "no communication"), (1e6, "with communication")):
        jobs, federation = instance(bandwidth)
        jobs = jobs.head(size)
        one = evaluator(jobs, federation)
        caps = np.repeat(one.default_caps()[None], candidates, axis=0)
        for dispatch in (Dispatch.GREEDY, Dispatch.STRICT, Dispatch.EASY):
            name = dispatch.name.lower()
            one(orders[:2], dispatch=dispatch)
            seconds = best_of(rounds, partial(one, orders, caps=caps, dispatch=dispatch))[0]
            target = 3.0 if dispatch == Dispatch.GREEDY else None
            placements = candidates * size / seconds / 1e6
            report.row(f"{name}, {what}: placements a second", placements, "M/s", target)
            reference, makespan = naive_seconds(jobs, federation, orders[0].tolist(), name)
            row = one(orders[:1], dispatch=dispatch)[0]
            if row[0] != makespan:
                raise SystemExit(f"the reference finds makespan {makespan}, the engine {row[0]}")
            report.row(f"{name}, {what}: against the naive reference", reference * candidates / seconds, "×", 300)
            links = "_links" if bandwidth else ""
            found |= {f"{name}{links}": placements, f"{name}_naive{links}": reference * candidates / seconds}
    two = evaluator(jobs, federation, threads=2)
    two(orders[:4])
    single, double = best_of(
        rounds, lambda: one(orders, caps=caps, dispatch=Dispatch.GREEDY), lambda: two(orders, caps=caps)
    )
    report.row("greedy, with communication: two threads against one", single / double, "×", 1.7)
    if not smoke:
        record("bench_evaluation", found)


if __name__ == "__main__":
    main()
