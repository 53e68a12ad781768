"""One row of bench_startup.py's table: a process that makes one call, and says what it compiled and what came out.

It imports the fedsched that PYTHONPATH names, whichever commit that is of, and asks for what has long been there only.
"""

from __future__ import annotations

import hashlib
import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import fedsched as fs

try:
    from fedsched.core.compilation import compiling
except ImportError:  # a tree from before the folders
    from fedsched.compilation import compiling  # type: ignore[no-redef]

if TYPE_CHECKING:
    from collections.abc import Callable

EVALUATIONS = 200  # of a search: so few that nearly all of its time is compiling
PLANNED = 200  # jobs of a search
CONF = (
    "SelectType=select/linear PriorityType=priority/basic\nClusterName=c\nNodeName=n[1-128] CPUs=1\n"
    "PartitionName=p Nodes=ALL Default=YES\n"
)


def demo(jobs: fs.Workload) -> Any:
    """Return the first EASY of anybody."""
    return fs.simulate(jobs, fs.Federation.example(), "easy").start


def optimize(jobs: fs.Workload) -> Any:
    """Return what a search finds, with all that it compares itself with."""
    return _found(jobs.head(PLANNED), fs.Federation.example())


def calendar(jobs: fs.Workload) -> Any:
    """Return EASY on a machine with maintenance."""
    machine = fs.Federation.example()
    window = fs.Downtime(machine.clusters[0].name, 20_000.0, 40_000.0)
    return fs.simulate(jobs, replace(machine, calendar=(window,)), "easy").start


def pools(jobs: fs.Workload) -> Any:
    """Return what a search finds where jobs need licences and wait for others."""
    jobs = jobs.head(PLANNED)
    needs = [int(k % 5 == 0) for k in range(len(jobs))]
    after = ["" if k % 4 else f"afterany:{jobs.id[k - 1]}" for k in range(1, len(jobs) + 1)]
    machine = replace(fs.Federation.example(), pools=(fs.Pool("matlab", 4),))
    return _found(replace(jobs, pools={"matlab": needs}, after=["", *after[:-1]]), machine)


def shared(jobs: fs.Workload) -> Any:
    """Return EASY on nodes that jobs share."""
    machine = fs.Federation((fs.Cluster("site", (fs.NodeGroup(32, resources={"cpu": 4}),)),))
    demand = {"cpu": [1] * len(jobs)}
    return fs.simulate(replace(jobs, demand=demand), machine, "easy", sharing="first").start


def slurm(jobs: fs.Workload) -> Any:
    """Return what Slurm's own scheduler does."""
    with TemporaryDirectory() as folder:
        conf = Path(folder) / "slurm.conf"
        conf.write_text(CONF, encoding="utf-8")
        return fs.simulate(jobs, fs.read_federation(conf), fs.policies.Slurm(conf)).start


def _found(jobs: fs.Workload, machine: fs.Federation) -> Any:
    return fs.optimize(jobs, machine, evaluations=EVALUATIONS, seed=1, progress=False).front.values


CALLS: dict[str, Callable[[fs.Workload], Any]] = {
    call.__name__: call for call in (demo, optimize, calendar, pools, shared, slurm)
}


def main() -> None:
    """Make the call that the arguments name, on the first jobs of the shipped sample."""
    tree, call, jobs = sys.argv[1:]
    if not Path(fs.__file__).is_relative_to(tree):
        raise SystemExit(f"fedsched is of {Path(fs.__file__).parent}, not of {tree}.")
    begun = time.perf_counter()
    with compiling() as compiled:
        found = CALLS[call](fs.Workload.example().head(int(jobs)))
    seconds = time.perf_counter() - begun
    print(json.dumps([seconds, compiled.functions, hashlib.sha256(found.tobytes()).hexdigest()[:16]]))


if __name__ == "__main__":
    main()
