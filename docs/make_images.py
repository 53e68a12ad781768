"""Draw the pictures of README and docs from our own runs: python docs/make_images.py."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fedsched as fs
from fedsched.plot.style import save

IMAGES = Path(__file__).resolve().parent / "images"


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    jobs = fs.Workload.example().head(300).with_communication(bandwidth=4e6, seed=1)
    fs.simulate(jobs, fs.Federation.example(), "easy").gantt(IMAGES / "gantt.svg")
    shared_nodes().gantt(IMAGES / "shared-nodes.svg")
    log, cluster = fs.Workload.example(), fs.Federation.example()
    parts = [fs.Instance(f"{k}", log.take(range(k, k + 60)), cluster, ("flow",)) for k in range(0, 300, 60)]
    methods = ("memetic", "ga", "sa", "random", "easy", "fcfs")
    found = fs.compare(parts, methods, range(4), fs.Budget(evaluations=2000))
    save(found.plot_ranks().figure, IMAGES / "compare-ranks.svg")
    save(found.plot_profile(most=1.3).figure, IMAGES / "compare-profile.svg")


def shared_nodes() -> fs.Schedule:
    """Return 45 jobs that share four nodes."""
    node = fs.NodeGroup(4, resources={"cpu": 40}, busy_watts=600.0, idle_watts=200.0)
    draw = np.random.default_rng(7)
    jobs = fs.Workload(
        submit=np.sort(draw.integers(0, 9000, 45)),
        tasks=draw.choice([1, 1, 2, 8], 45),
        runtime=draw.integers(600, 7200, 45),
        estimate=7200,
        demand={"cpu": draw.choice([2, 4, 8, 16], 45)},
        layout={"exclusive": (draw.random(45) < 0.08).astype(int)},
    )
    cluster = fs.Federation((fs.Cluster("shared", (node,)),), name="shared")
    return fs.simulate(jobs, cluster, "easy", sharing="best")


if __name__ == "__main__":
    main()
