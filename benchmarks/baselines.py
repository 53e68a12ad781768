"""What this commit costs beside the newest baseline: running speed, and what bench_startup.py recorded last.

`--keep` adds the figures to baselines.json, under the commit. They are of one machine: to judge a change, measure both
trees in one run (`bench_paired.py --with COMMIT`, `bench_startup.py --tree PATH`).
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import tempfile
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bench_paired import side
from measuring import ROOT, recorded
from paired_cases import EVALUATIONS, PLANNED

from fedsched.generate import lublin

KEPT = Path(__file__).with_name("baselines.json")
JOBS, NODES = 50_000, 256
UNITS = {
    "fcfs": JOBS, "greedy": JOBS, "easy": JOBS, "conservative": JOBS // 4,
    "batch of plans": EVALUATIONS * PLANNED, "search": EVALUATIONS * PLANNED,
}  # fmt: skip


def speeds(rounds: int) -> dict[str, float]:
    """Return the jobs or plans that each case handles per CPU second, in the fastest of the rounds."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        jobs, path = lublin(JOBS, NODES, load=0.7, seed=1), Path(folder) / "jobs.npz"
        np.savez(path, submit=jobs.submit, tasks=jobs.tasks, runtime=jobs.runtime, estimate=jobs.estimate)
        with side(ROOT, None, path, NODES, compiled=True) as ours:
            for case, units in UNITS.items():
                ours.run(case)  # which compiles it
                found[f"{case}, a second"] = round(units / min(ours.run(case)[0] for _ in range(rounds)), -1)
    return found


def commit() -> str:
    """Return the short hash of the commit that is checked out."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Print the figures beside the newest baseline's."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=10, help="timed runs of each case (default: %(default)s)")
    parser.add_argument("--keep", metavar="COMMIT", nargs="?", const="", help="keep them (default: of this commit)")
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    before = [*kept.values()][-1] if kept else {}
    figures = {**recorded().get("bench_startup", {}), **speeds(options.rounds)}
    for name, value in figures.items():
        old = before.get(name)
        print(f"{name:<34} {value:>14,.4g}" + (f" {old:>14,.4g} {value / old:>8.2f} x" if old else ""))
    if options.keep is not None:
        where = f"{platform.machine()}, Python {platform.python_version()}, numba {version('numba')}"
        kept[options.keep or commit()] = {"where": where, **figures}
        KEPT.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
