"""Whole logs: how fast they are read and simulated, and how much memory the process takes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from measuring import ROOT, Report, arguments, optional_log, record

if TYPE_CHECKING:
    from pathlib import Path

CHILD = """
import json, resource, sys, time
from fedsched.io import read
from fedsched.model.machine.federation import Federation
from fedsched.simulate import prepare, simulate
path, nodes, policy = sys.argv[1], int(sys.argv[2]), sys.argv[3]
begun = time.perf_counter()
workload = read(path, nodes=nodes)
reading = time.perf_counter() - begun
simulate(workload.head(10), Federation.homogeneous(nodes), policy)
best = float("inf")
for _ in range(int(sys.argv[4])):
    run = prepare(workload, Federation.homogeneous(nodes), policy)
    begun = time.perf_counter()
    run.advance()
    best = min(best, time.perf_counter() - begun)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"jobs": len(workload), "read": reading, "rate": len(workload) / best, "peak": peak}))
"""


def measure(path: Path, nodes: int, policy: str, rounds: int) -> dict[str, float]:
    """Return what a process of its own measured."""
    command = [sys.executable, "-c", CHILD, str(path), str(nodes), policy, str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    rounds = 1 if smoke else 7
    report = Report("whole logs, one core")
    for policy in ("fcfs", "easy", "lookahead", "conservative"):
        figures = measure(ROOT / "traces" / "lublin-128.swf.gz", 128, policy, rounds)
        report.row(f"sample, {policy}: jobs a second", figures["rate"], "/s")
    if smoke:
        return
    if (path := optional_log("HPC2N-2002-2.2-cln.swf.gz")) is not None:
        figures = measure(path, 240, "easy", rounds)
        report.row("HPC2N, reading", figures["read"], "s", 1.0, at_most=True)
        report.row("HPC2N, easy: jobs a second", figures["rate"], "/s", 1e6)
        report.row("HPC2N, fcfs: jobs a second", measure(path, 240, "fcfs", rounds)["rate"], "/s")
        once = measure(path, 240, "easy", 1)
        report.row("HPC2N, peak memory of a process that runs it once", once["peak"], "MB", 300, at_most=True)
        hpc2n = {"jobs": figures["jobs"], "easy": figures["rate"], "read": figures["read"], "peak": once["peak"]}
        record("bench_replay", {f"hpc2n_{name}": figure for name, figure in hpc2n.items()})
    if (path := optional_log("kth-clean-28481.swf.gz")) is not None:
        for policy in ("fcfs", "easy", "lookahead", "conservative"):
            report.row(f"KTH, {policy}: jobs a second", measure(path, 100, policy, rounds)["rate"], "/s")
    if (path := optional_log("lublin_256.swf.gz")) is not None:
        for policy, target in (("easy", None), ("lookahead", None), ("conservative", 20_000)):
            rate = measure(path, 256, policy, rounds)["rate"]
            report.row(f"lublin_256 (overloaded), {policy}: jobs a second", rate, "/s", target)
            record("bench_replay", {f"lublin_{policy}": rate})


if __name__ == "__main__":
    main()
