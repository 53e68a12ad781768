"""How far runs of jobs that share uplinks are from SimGrid's flows, under fair shares and under those in proportion.

Random cases of 2 to 7 jobs on 2 to 4 clusters: jobs on two clusters each, and jobs on as many as there are. Each job's
run is compared with SimGrid's (`tests/support/simgrid/shares.cpp`); where that cannot be built nothing is measured.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from measuring import ROOT, Report, arguments, record

import fedsched as fs

sys.path.insert(0, str(Path(ROOT) / "tests"))
from support.fair_cases import CURE, built, case, ends_in_simgrid

ALLOWED = 0.01  # of a job's run, where each is on two clusters
KINDS = (("jobs on two clusters", 2, 1000), ("jobs on up to four clusters", 4, 300))


def apart(program: Path, most: int, cases: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return which runs are on three clusters or more, and by what share of SimGrid's each is longer, by rule."""
    found: dict[str, list[float]] = {"fair": [], "dynamic": []}
    wide: list[bool] = []
    for seed in range(cases):
        workload, federation, caps = case(np.random.default_rng(seed), most)
        expected = ends_in_simgrid(program, workload, federation, caps) - workload.submit
        wide += ((caps > 0).sum(axis=1) > 2).tolist()
        for saturation, runs in found.items():
            schedule = fs.simulate(workload, federation, "fcfs", saturation=saturation, caps=caps)
            runs += (schedule.run / expected - 1.0).tolist()
    return np.array(wide), {name: np.array(runs) for name, runs in found.items()}


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        if (program := built(Path(folder))) is None:
            print(f"skipped: no SimGrid here; {CURE}")
            return
        for what, most, cases in KINDS:
            wide, found = apart(program, most, 3 if smoke else cases)
            kept = wide if most > 2 and wide.any() else np.ones(wide.size, dtype=np.bool_)
            report = Report(f"\n{what}: {kept.sum():,} runs beside SimGrid's")
            for name, runs in found.items():
                own, goal = runs[kept], ALLOWED if name == "fair" and most == 2 else None
                report.row(f"{name}: most apart", float(np.abs(own).max()), "of a run", goal, at_most=True)
                print(f"  in the mean {np.abs(own).mean():.2%}, from {own.min():+.3%} to {own.max():+.3%}")
                figures[f"{what}, {name}, most"] = float(np.abs(own).max())
    if not smoke:
        record("bench_simgrid", figures)


if __name__ == "__main__":
    main()
