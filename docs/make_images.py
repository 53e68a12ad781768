"""Draw the pictures of README and docs from our own runs: python docs/make_images.py."""

from __future__ import annotations

from pathlib import Path

import fedsched as fs
from fedsched.plot.style import save

IMAGES = Path(__file__).resolve().parent / "images"


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    jobs = fs.Workload.example().head(300).with_communication(bandwidth=4e6, seed=1)
    fs.simulate(jobs, fs.Federation.example(), "easy").gantt(IMAGES / "gantt.svg")
    log, cluster = fs.Workload.example(), fs.Federation.example()
    parts = [fs.Instance(f"{k}", log.take(range(k, k + 60)), cluster, ("flow",)) for k in range(0, 300, 60)]
    methods = ("memetic", "ga", "sa", "random", "easy", "fcfs")
    found = fs.compare(parts, methods, range(4), fs.Budget(evaluations=2000))
    save(found.plot_ranks().figure, IMAGES / "compare-ranks.svg")
    save(found.plot_profile(most=1.3).figure, IMAGES / "compare-profile.svg")


if __name__ == "__main__":
    main()
