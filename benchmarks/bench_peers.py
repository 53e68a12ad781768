"""Against AccaSim, which installs from a package registry: the same jobs, the same policies, in one run."""

from __future__ import annotations

import json
import subprocess
import venv
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from measuring import ROOT, Report, arguments, best_of, record

import fedsched as fs
from fedsched.io import read, write

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = ROOT / "out" / "peers"
NODES = 128
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


def prepare(jobs: int) -> fs.Workload:
    """Return the first jobs of the shipped trace, as written for AccaSim: every job asks for one unit of memory."""
    workload = read(ROOT / "traces" / "lublin-128.swf.gz").head(jobs)
    path = FOLDER / "jobs.swf"
    write(workload, path)
    lines = []
    for line in path.read_text().splitlines():
        fields = line.split()
        if not line.startswith(";"):
            fields[6] = fields[9] = "1"
            line = " ".join(fields)
        lines.append(line)
    path.write_text("\n".join(lines) + "\n")
    machine = {
        "system_name": "one cluster",
        "start_time": 0,
        "equivalence": {"processor": {"core": 1}},
        "groups": {"g0": {"core": 1, "mem": 10**9}},
        "resources": {"g0": NODES},
    }
    (FOLDER / "machine.json").write_text(json.dumps(machine))
    return workload


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


def read_simulate_write(machine: fs.Federation, policy: str) -> None:
    """Do what AccaSim's timed call does: read the log, simulate it, write the schedule."""
    fs.simulate(read(FOLDER / "jobs.swf"), machine, policy).to_csv(FOLDER / "schedule.csv")


def main() -> None:
    """Print the table."""
    if arguments(__doc__ or "").smoke:
        print("skipped in the smoke run: it installs a package")
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    python = install()
    if python is None:
        return
    workload = prepare(2000)
    machine = fs.Federation.homogeneous(NODES)
    report = Report(f"{len(workload)} jobs on {NODES} nodes, log read and schedule written by both")
    for policy in ("fcfs", "easy"):
        ours = fs.simulate(workload, machine, policy)
        seconds = best_of(5, partial(read_simulate_write, machine, policy))[0]
        theirs = accasim(python, policy)
        waits = accasim_waits(workload)
        report.row(f"{policy}: AccaSim, jobs a second", len(workload) / theirs, "/s")
        report.row(f"{policy}: fedsched, jobs a second", len(workload) / seconds, "/s")
        report.row(f"{policy}: ratio", theirs / seconds, "×", 100)
        same = float((waits == ours.wait).mean()) * 100
        report.row(f"{policy}: jobs with the same start", same, "%")
        record("bench_peers", {policy: theirs / seconds, f"{policy}_same": same})
        report.row(f"{policy}: mean wait, AccaSim", float(waits.mean()), "s")
        report.row(f"{policy}: mean wait, fedsched", float(ours.wait.mean()), "s")


if __name__ == "__main__":
    main()
