"""Writes traces/*.swf.gz and the workloads inside the package: made by the project's own generators, seeded.

Run it from anywhere: python traces/make_traces.py. The same versions of Python and numpy give the same bytes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from fedsched import Federation, Workload, generate

HERE = Path(__file__).resolve().parent
SHIPPED = HERE.parent / "fedsched" / "data" / "workloads"
SEED = 20261
LOAD = 0.8

# Tasks and seconds of the jobs of the teaching figures, all submitted at 0, in the order of the queue.
FIGURES = {
    "figure-1-5": ([(1, 3), (4, 2), (1, 2), (2, 1), (3, 1), (3, 2)], 4, 1.0, 0.0),
    "figure-1-6": ([(3, 10), (2, 10), (2, 10)], 7, 1.0, 0.0),
    "figure-1-7": ([(5, 10), (7, 10)], 12, 0.5, 1.0),
}


def log(jobs: int, nodes: int, *, seed: int, name: str) -> Workload:
    """Return a Lublin log with Tsafrir's requested times, at the load asked for, in whole seconds."""
    made = generate.lublin(jobs, nodes, seed=seed).with_estimates("tsafrir", seed=seed)
    squeezed = made.rebased().scale_load(LOAD / made.load(nodes))
    return replace(squeezed, submit=np.floor(squeezed.submit), name=name, nodes=nodes).sorted().renumbered()


def one_cluster(jobs: int, name: str) -> Workload:
    """Return the log of a cluster of 128 nodes."""
    return log(jobs, 128, seed=SEED, name=name)


def federated(jobs: int = 1200) -> Workload:
    """Return the logs of the example federation's clusters as one, cut where the shortest ends."""
    clusters = Federation.example().clusters
    parts = [log(jobs, cluster.nodes, seed=SEED + k, name=cluster.name) for k, cluster in enumerate(clusters, start=1)]
    end = min(float(part.submit.max()) for part in parts) + 1
    merged = Workload.merge(*(part.window(0, end) for part in parts), name="federated")
    # Cut logs have loads of their own, as clusters have; the federation's is the one asked for.
    squeezed = merged.scale_load(LOAD / merged.load())
    return replace(squeezed, submit=np.floor(squeezed.submit)).sorted().renumbered()


def figure(name: str) -> Workload:
    """Return the jobs of a teaching figure."""
    jobs, nodes, compute_fraction, bandwidth = FIGURES[name]
    tasks, runtime = zip(*jobs, strict=True)
    return Workload(
        submit=np.zeros(len(jobs)),
        tasks=tasks,
        runtime=runtime,
        compute_fraction=compute_fraction,
        task_bandwidth=bandwidth,
        name=name,
        nodes=nodes,
        history=(f"the jobs of {name}, made up where the figure's data are lost",),
    )


def write_all(folder: Path, shipped: Path) -> None:
    """Write the logs to a folder, and what the package carries to a second one."""
    for target in (folder, shipped):
        target.mkdir(parents=True, exist_ok=True)
    for target in (folder, shipped):
        one_cluster(5000, "lublin-128").write(target / "lublin-128.swf.gz")
    federated().write(folder / "federated.swf.gz")
    one_cluster(1000, "sample").write(shipped / "sample.swf.gz")
    for name in FIGURES:
        figure(name).write(shipped / f"{name}.csv")


if __name__ == "__main__":
    write_all(HERE, SHIPPED)
