"""Slurm's own scheduler on a whole log: jobs a second, beside a plain Python model of the same rules."""

from __future__ import annotations

import importlib.util
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from measuring import ROOT, Report, arguments, best_of, optional_log

import fedsched as fs
from fedsched.io import read, read_federation
from fedsched.slurm import Slurm

MODEL = ROOT.parent / "shared" / "slurm" / "model.py"
WEEK = MODEL.parent / "ub-medium"
COMPARED = 600  # jobs: the plain model is slow
CONF = "SchedulerType=sched/{scheduler}\nSelectType=select/{select}\nNodeName=n[1-{nodes}] CPUs=1\n"
CONF += "PartitionName=p Nodes=ALL Default=YES\nKillWait=600\nPriorityType=priority/basic\n"


def slurm(folder: Path, nodes: int, *, scheduler: str = "backfill", select: str = "linear") -> Slurm:
    """Return the policy of a slurm.conf of so many nodes."""
    path = folder / f"{scheduler}-{select}-{nodes}.conf"
    path.write_text(CONF.format(scheduler=scheduler, select=select, nodes=nodes), encoding="utf-8")
    return Slurm(path, epoch=0)


def plain_model(workload: fs.Workload, nodes: int) -> Any:
    """Return a run of the plain model over the same jobs, not yet begun; None where it is not at hand."""
    if not MODEL.exists():
        return None
    spec = importlib.util.spec_from_file_location("plain_slurm", MODEL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    jobs = workload.sorted()
    submit = np.ceil(jobs.submit - np.floor(jobs.submit.min())).astype(int).tolist()
    limit = (60 * np.ceil(jobs.estimate / 60)).astype(int).tolist()
    runtime = np.maximum(1, np.ceil(jobs.runtime)).astype(int).tolist()
    return module.Sim(submit, jobs.tasks.tolist(), limit, runtime, nodes, origin=int(np.floor(jobs.submit.min())))


def week(report: Report) -> None:
    """Report how long UB's published week takes, on nodes that jobs share, where it is at hand."""
    if not (WEEK / "workload_week.events.gz").exists():
        return
    jobs, machine = read(WEEK / "workload_week.events.gz"), read_federation(WEEK / "slurm.conf")
    policy = Slurm(WEEK / "slurm.conf", assoc=WEEK / "sacctmgr.script")
    fs.simulate(jobs.head(10), machine, policy, sharing="block")
    begun = time.process_time()
    fs.simulate(jobs, machine, policy, sharing="block")
    seconds = time.process_time() - begun
    report.row(f"UB's week, {len(jobs):,} jobs on {machine.nodes} shared nodes", seconds, "s", 60, at_most=True)


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    report = Report("Slurm's own scheduler, instant passes, one core")
    with tempfile.TemporaryDirectory() as folder:
        sample = read(ROOT / "traces" / "lublin-128.swf.gz", nodes=128).head(200 if smoke else 10_000)
        policy = slurm(Path(folder), 128)
        fs.simulate(sample.head(10), fs.Federation.homogeneous(128), policy)
        [seconds] = best_of(1, lambda: fs.simulate(sample, fs.Federation.homogeneous(128), policy))
        report.row("sample, backfill, select/linear: jobs a second", len(sample) / seconds, "/s")
        if smoke or (path := optional_log("KTH-SP2-1996-2.1-cln.swf.gz")) is None:
            return
        log, machine = read(path, nodes=100), fs.Federation.homogeneous(100)
        for select in ("linear", "cons_tres"):
            policy = slurm(Path(folder), 100, select=select)
            [seconds] = best_of(2, lambda policy=policy: fs.simulate(log, machine, policy))  # type: ignore[misc]
            report.row(f"KTH, backfill, select/{select}: jobs a second", len(log) / seconds, "/s", 2000)
        week(report)
        head = log.head(COMPARED)
        if (model := plain_model(head, 100)) is None:
            return
        begun = time.perf_counter()
        starts = model.go()
        plain = time.perf_counter() - begun
        policy = slurm(Path(folder), 100)
        [seconds] = best_of(5, lambda: fs.simulate(head, machine, policy))
        ours = fs.simulate(head.sorted(), machine, policy).start - np.floor(head.submit.min())
        report.row(f"KTH's first {COMPARED} jobs: times as fast as plain Python", plain / seconds, "×")
        report.row("and starts that are the same", float(np.mean(ours == np.array(starts))), "")


if __name__ == "__main__":
    main()
