"""Against AccaSim, which installs from a package registry: the same jobs, the same policies, in one run."""

from __future__ import annotations

import json
import subprocess
import venv
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, arguments, best_of, record

import fedsched as fs
from fedsched.io import read, write

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "out" / "peers"
JOBS = 2000
CORES = 128
SHARED, MEMORY = 8, 64  # cores and units of memory of a node that jobs share
CHILD = """
import collections, collections.abc, json, logging, sys, time
for name in ("Callable", "Iterable", "Mapping", "MutableMapping", "Sequence"):  # it was written for Python < 3.10
    setattr(collections, name, getattr(collections.abc, name))
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator
policy = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}[sys.argv[1]]
run = Simulator("jobs.swf", "machine.json", policy(FirstFit()), RESULTS_FOLDER_NAME="results", pprint_output=False,
                benchmark_output=False, statistics_output=False)
begun = time.perf_counter()
run.start_simulation()
print(json.dumps({"seconds": time.perf_counter() - begun}))
"""


def install() -> Path | None:
    """Return the interpreter of an environment with AccaSim in it, or None where it cannot be had."""
    python = FOLDER / "venv" / "bin" / "python"
    if not python.exists():
        print("installing AccaSim into out/peers/venv", flush=True)
        venv.create(FOLDER / "venv", with_pip=True)
    done = subprocess.run(
        [str(python), "-m", "pip", "install", "--quiet", "accasim==1.1.3"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"skipped: AccaSim cannot be installed here ({done.stderr.strip().splitlines()[-1]})")
        return None
    return python


def prepare(workload: fs.Workload, memory: np.ndarray, *, cores: int, most: int) -> None:
    """Write jobs for AccaSim, with units of memory of each processor, and its machine of nodes of so many cores."""
    path = FOLDER / "jobs.swf"
    write(workload, path)
    units = iter(memory.tolist())
    lines = []
    for line in path.read_text().splitlines():
        fields = line.split()
        if not line.startswith(";"):
            fields[6] = fields[9] = str(next(units))
            line = " ".join(fields)
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")
    machine = {
        "system_name": "one cluster",
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
        "groups": {"g0": {"core": cores, "mem": most}},
        "resources": {"g0": CORES // cores},
    }
    (FOLDER / "machine.json").write_text(json.dumps(machine))


def accasim(python: Path, policy: str) -> float:
    """Return AccaSim's seconds."""
    done = subprocess.run([str(python), "-c", CHILD, policy], cwd=FOLDER, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith('{"seconds"'))
    return float(json.loads(line)["seconds"])


def accasim_waits(workload: fs.Workload) -> np.ndarray:
    """Return the waits in the schedule that AccaSim wrote."""
    from datetime import UTC, datetime

    start = {}
    for line in (FOLDER / "results" / "sched-jobs.swf").read_text().splitlines():
        job, _, times = line.split("__")
        moment = datetime.strptime(times.split(";")[0], "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
        start[int(job.split(";")[0])] = moment.timestamp()
    return np.array([start[job] for job in workload.id.tolist()]) - workload.submit


def on_shared(jobs: fs.Workload, memory: np.ndarray) -> fs.Workload:
    """Return jobs whose tasks take a core and so much memory of a node."""
    return replace(jobs, demand={"cpu": 1, "memory": memory})


def read_simulate_write(machine: fs.Federation, policy: str, sharing: str | None) -> None:
    """Do what AccaSim's timed call does: read the log, simulate it, write the schedule."""
    jobs = read(FOLDER / "jobs.swf")
    jobs = on_shared(jobs, jobs.log.requested_memory) if sharing else jobs
    fs.simulate(jobs, machine, policy, sharing=sharing).to_csv(FOLDER / "schedule.csv")


def compare(
    report: Report, python: Path, workload: fs.Workload, machine: fs.Federation, sharing: str | None
) -> dict[str, float]:
    """Print the rows of each policy, and return the ratios and the shares of equal starts."""
    figures = {}
    for policy in ("fcfs", "easy"):
        ours = fs.simulate(workload, machine, policy, sharing=sharing)
        seconds = best_of(5, partial(read_simulate_write, machine, policy, sharing))[0]
        theirs = accasim(python, policy)
        waits = accasim_waits(workload)
        same = float((waits == ours.wait).mean()) * 100
        report.row(f"{policy}: AccaSim, jobs a second", len(workload) / theirs, "/s")
        report.row(f"{policy}: fedsched, jobs a second", len(workload) / seconds, "/s")
        report.row(f"{policy}: ratio", theirs / seconds, "×", 50 if sharing else 100)
        report.row(f"{policy}: jobs with the same start", same, "%")
        report.row(f"{policy}: mean wait, AccaSim", float(waits.mean()), "s")
        report.row(f"{policy}: mean wait, fedsched", float(ours.wait.mean()), "s")
        figures |= {policy: theirs / seconds, f"{policy}_same": same}
    return figures


def main() -> None:
    """Print the table."""
    if arguments(__doc__ or "").smoke:
        print("skipped in the smoke run: it installs a package")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = install()
    if python is None:
        return
    workload = read(ROOT / "traces" / "lublin-128.swf.gz").head(JOBS)
    prepare(workload, np.ones(JOBS, dtype=int), cores=1, most=10**9)
    report = Report(f"{JOBS} jobs on {CORES} nodes, log read and schedule written by both")
    record("bench_peers", compare(report, python, workload, fs.Federation.homogeneous(CORES), None))

    memory = np.random.default_rng(1).choice([1, 2, 4, 8, 16], JOBS, p=[0.2, 0.2, 0.3, 0.2, 0.1])
    memory[workload.tasks > CORES // 2] = MEMORY // SHARED  # so that each finds room on empty nodes
    shared = on_shared(workload, memory)
    prepare(workload, memory, cores=SHARED, most=MEMORY)
    node = fs.NodeGroup(CORES // SHARED, resources={"cpu": SHARED, "memory": MEMORY})
    report = Report(f"the same on {CORES // SHARED} shared nodes of {SHARED} cores and {MEMORY} units of memory")
    figures = compare(report, python, shared, fs.Federation((fs.Cluster("shared", (node,)),)), "first")
    record("bench_peers", {f"shared_{name}": value for name, value in figures.items()})


if __name__ == "__main__":
    main()
