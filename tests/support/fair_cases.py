"""Random jobs that send between clusters, and when each of them ends by SimGrid's flows, which know nothing of ours."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np

import fedsched as fs

REFEREE = Path(__file__).parent / "simgrid" / "shares.cpp"
CURE = "install g++ and SimGrid (as root, on Debian: apt-get install g++ libsimgrid-dev)"


def built(folder: Path) -> Path | None:
    """Return the referee's program, compiled into a folder; None where there is no compiler, or no SimGrid."""
    program, compiler = folder / "shares", shutil.which("g++")
    if compiler is None:
        return None
    words = [compiler, "-O1", "-std=c++17", str(REFEREE), "-o", str(program), "-lsimgrid"]
    return program if subprocess.run(words, capture_output=True, text=True).returncode == 0 else None


def case(rng: np.random.Generator, most: int) -> tuple[fs.Workload, fs.Federation, np.ndarray]:
    """Return jobs that each use so many clusters at most, the clusters, and how many tasks each job has on each."""
    clusters, count = int(rng.integers(2, 5)), int(rng.integers(2, 8))
    uplinks = rng.uniform(2.0, 20.0, clusters).tolist()
    federation = fs.Federation(
        tuple(fs.Cluster(f"c{k}", (fs.NodeGroup(1000),), uplink=uplink) for k, uplink in enumerate(uplinks))
    )
    caps = np.zeros((count, clusters), dtype=np.int64)
    for j in range(count):
        used = rng.choice(clusters, size=min(most, clusters), replace=False)
        caps[j, used] = rng.integers(1, 6, used.size)
    submit = np.round(rng.uniform(0.0, 100.0, count), 3)
    submit[0] = 0.0
    workload = fs.Workload(
        submit=submit,
        tasks=caps.sum(axis=1),
        runtime=rng.uniform(20.0, 300.0, count),
        compute_fraction=rng.uniform(0.0, 0.9, count),
        task_bandwidth=rng.uniform(0.5, 6.0, count),
    )
    return workload, federation, caps


def ends_in_simgrid(program: Path, workload: fs.Workload, federation: fs.Federation, caps: np.ndarray) -> np.ndarray:
    """Return when each job ends there."""
    sigma = workload.compute_fraction
    columns = (workload.submit, workload.runtime, sigma, sigma, workload.task_bandwidth)
    rows = [[*(float(column[j]) for column in columns), *caps[j].tolist()] for j in range(len(workload))]
    lines = [" ".join(map(repr, row)) for row in rows]
    uplinks = " ".join(repr(cluster.uplink) for cluster in federation.clusters)
    text = "\n".join([f"{len(federation.clusters)} {uplinks}", str(len(workload)), *lines, ""])
    said = subprocess.run([str(program)], input=text, capture_output=True, text=True, check=True).stdout
    return np.array(list(map(float, said.split())))
