"""One process's measurements for bench_scaling.py: processor seconds and the peak memory of cases, a line of JSON each.

python benchmarks/scaling_points.py '[["easy", "/tmp/jobs.npz", [64, 64]]]' 0.3
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.compare import Budget, Comparison, Instance, RunRecord, compare
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack.problem import pack
from fedsched.engine.run.batch import Evaluator
from fedsched.model.reading import CLAIRVOYANT
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    Made = Callable[[fs.Workload, fs.Federation], Callable[[], object]]

SPEEDS = (1.0, 1.5, 0.7, 2.0)
EVALUATIONS = 100
PACKAGE = 200
ROUNDS = 9  # at most, of what is short
METHODS_COMPARED = 10  # of the runs of a comparison
SEEDS_COMPARED = 5


def federation(sizes: list[int]) -> fs.Federation:
    """Return clusters of so many nodes, of four speeds in turn."""
    return fs.Federation(
        tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(n, SPEEDS[k % 4], 200, 90),), 1e9) for k, n in enumerate(sizes))
    )


def simulated(policy: str) -> Made:
    """Return what makes simulations: the loop alone is timed, jobs arrive over time."""

    def make(workload: fs.Workload, machine: fs.Federation) -> Callable[[], object]:
        runs = []

        def run() -> object:
            return runs.pop().advance()

        run.before = lambda: runs.append(prepare(workload, machine, policy))
        return run

    return make


def evaluated(dispatch: Dispatch, *, bound: bool = False, one_group: bool = False) -> Made:
    """Return what makes evaluations of one plan, a random queue order: all jobs wait at once, some bound to a group.

    On one group the machine's nodes are all alike.
    """

    def make(workload: fs.Workload, machine: fs.Federation) -> Callable[[], object]:
        if one_group:
            machine = fs.Federation.homogeneous(machine.nodes)
        problem = pack(
            fs.Workload(submit=np.zeros(len(workload)), tasks=workload.tasks, runtime=workload.runtime), machine,
            reading=CLAIRVOYANT,
        )  # fmt: skip
        one = Evaluator(problem)
        orders = np.random.default_rng(1).permutation(len(workload))[None]
        caps = one.default_caps()
        if bound:
            caps = caps * one_group_each(workload, machine)
        return lambda: one(orders, caps=caps[None], dispatch=dispatch)

    return make


def one_group_each(workload: fs.Workload, machine: fs.Federation) -> NDArray[np.int64]:
    """Return 1 for the groups that a job may use: one at random, or all for a job that is too wide for that one."""
    nodes = np.array([group.count for cluster in machine.clusters for group in cluster.groups])
    chosen = np.random.default_rng(2).integers(nodes.size, size=len(workload))
    wide = workload.tasks > nodes[chosen]
    return ((np.arange(nodes.size) == chosen[:, None]) | wide[:, None]).astype(np.int64)


def searched(package: int | None) -> Made:
    """Return what makes memetic searches, of all jobs at once or package by package."""

    def make(workload: fs.Workload, machine: fs.Federation) -> Callable[[], object]:
        return lambda: fs.optimize(
            workload, machine, objectives="makespan", evaluations=EVALUATIONS, baselines=("fcfs",), package=package,
            submits="now" if package is None else "keep", progress=False,
        )  # fmt: skip

    return make


def compared(workload: fs.Workload, machine: fs.Federation) -> Callable[[], object]:
    """Return a comparison of three policies on the workload as one package, bounds and table included."""
    instance = Instance("all", workload, machine)
    return lambda: compare([instance], ("fcfs", "greedy", "sjf-greedy"), [0], Budget(1)).table()


def tabled(workload: fs.Workload, machine: fs.Federation) -> Callable[[], object]:
    """Return what is said of a comparison with as many runs as there are jobs: table, ranks, tests."""
    values = np.random.default_rng(1).random(len(workload))
    blank = RunRecord("", "", "", 0, 1, None, ("makespan",), bounds=(1.0,))
    records = []
    for k, value in enumerate(values.tolist()):
        block, method = divmod(k, METHODS_COMPARED)
        instance, seed = divmod(block, SEEDS_COMPARED)
        records.append(
            RunRecord(
                f"instance {instance}",
                "",
                f"method {method}",
                seed,
                1,
                None,
                blank.objectives,
                front=((1.0 + value,),),
                bounds=blank.bounds,
            )
        )
    found = Comparison(tuple(records))
    return lambda: (
        found.table(), found.ranks(by="run"), found.friedman(by="run"), found.pairs(by="run", against="method 0"),
    )  # fmt: skip


CASES: dict[str, Made] = {
    "fcfs": simulated("fcfs"),
    "easy": simulated("easy"),
    "conservative": simulated("conservative"),
    "evaluate strict": evaluated(Dispatch.STRICT),
    "evaluate greedy": evaluated(Dispatch.GREEDY),
    "evaluate easy": evaluated(Dispatch.EASY),
    "evaluate conservative": evaluated(Dispatch.CONSERVATIVE, one_group=True),
    "evaluate greedy bound": evaluated(Dispatch.GREEDY, bound=True),
    "evaluate easy bound": evaluated(Dispatch.EASY, bound=True),
    "search": searched(None),
    "search in packages": searched(PACKAGE),
    "compare": compared,
    "table of runs": tabled,
}


def least_seconds(run: Callable[[], object], spend: float) -> float:
    """Return the least processor seconds of several calls, of one where it takes long: other programs do not count."""
    least, spent, rounds = float("inf"), 0.0, 0
    gc.collect()
    while spent < spend and rounds < ROUNDS:
        getattr(run, "before", lambda: None)()
        begun = time.process_time()
        run()
        took = max(time.process_time() - begun, 1e-9)
        least, spent, rounds = min(least, took), spent + took, rounds + 1
    return least


def peak_memory() -> int:
    """Return the most bytes that this program has held; where Linux says it, without those of who started it."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM")), "")
        if line:
            return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main() -> None:
    """Measure each case and print it."""
    points, spend = json.loads(sys.argv[1]), float(sys.argv[2])
    for case, path, sizes in points:
        machine = federation(sizes)
        columns = np.load(path)
        workload = fs.Workload(**{name: columns[name] for name in ("submit", "tasks", "runtime")})
        # The first call loads compiled kernels, which is no part of any size.
        least_seconds(CASES[case](workload.head(100), machine), 1e-9)
        seconds = least_seconds(CASES[case](workload, machine), spend)
        print(json.dumps({"seconds": seconds, "peak": peak_memory()}), flush=True)


if __name__ == "__main__":
    main()
