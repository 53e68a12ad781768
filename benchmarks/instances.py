"""The instances that searches are judged on: planted optima, and packages of logs on the example federations."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from guillotine import guillotine
from measuring import ROOT, optional_log

import fedsched as fs
from fedsched.compare import Instance
from fedsched.core.errors import InfeasibleError
from fedsched.generate import lublin, planted
from fedsched.optimize.baselines import baseline_schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.search import SearchProblem

TWO_SPEEDS = ((32, 1.0), (32, 2.0))
THREE_SPEEDS = ((32, 0.5), (32, 1.0), (32, 2.0))
FOUR_SPEEDS = ((32, 1.0), (16, 1.5), (24, 0.7), (16, 2.0))
LOGS = (("HPC2N", "HPC2N-2002-2.2-cln.swf.gz"), ("KTH", "kth-clean-28481.swf.gz"))
THESIS_LOGS = ("HPC2N", "KTH", "METACENTRUM")
MORE_LOGS = (
    ("NASA", "NASA-iPSC-1993-3.1-cln.swf.gz"),
    ("METACENTRUM", "METACENTRUM-2009-2.swf.gz"),
    ("SDSC-SP2", "SDSC-SP2-1998-first4961.swf.gz"),
    ("Theta", "ALCF-Theta-2022.swf.gz"),
)


def machines() -> dict[str, tuple[fs.Federation, str]]:
    """Return the federations that optima are planted in, and what no job was cut across: a speed or a cluster."""
    alike = fs.Federation.of(32, 32)
    two, three, four = (
        fs.Federation(tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(n, x, 200, 90),)) for k, (n, x) in enumerate(nodes)))
        for nodes in (TWO_SPEEDS, THREE_SPEEDS, FOUR_SPEEDS)
    )
    return {
        "one": (fs.Federation.homogeneous(64), "speed"),
        "two equal": (alike, "speed"),
        "two apart": (alike, "cluster"),
        "two speeds": (two, "speed"),
        "three speeds": (three, "speed"),
        "four speeds": (four, "speed"),
    }


def planted_instances(sizes: tuple[int, ...], seeds: tuple[int, ...] = (1,)) -> list[Instance]:
    """Return problems whose best makespan is known."""
    found = []
    for name, (machine, within) in machines().items():
        for jobs in sizes:
            for seed in seeds:
                workload, best = planted(machine, jobs=jobs, within=within, seed=seed)
                found.append(Instance(f"planted {jobs} on {name} #{seed}", workload, machine, optimum=best))
    return found


def guillotine_instances(sizes: tuple[int, ...], seeds: tuple[int, ...] = (1,)) -> list[Instance]:
    """Return problems whose best makespan is known, of jobs that are more alike in size and keep to a cluster."""
    found = []
    for name, (machine, within) in machines().items():
        if within == "cluster":  # the machine of "two equal" once more
            continue
        for jobs in sizes:
            for seed in seeds:
                workload, best = guillotine(machine, jobs=jobs, seed=seed)
                found.append(Instance(f"guillotine {jobs} on {name} #{seed}", workload, machine, optimum=best))
    return found


def packages(sizes: tuple[int, ...], *, objectives: tuple[str, ...] = ("makespan",)) -> list[Instance]:
    """Return packages of the shipped trace, and of archive logs where they are at hand, on the example federation."""
    machine = fs.Federation.example()
    logs = {"sample": fs.read(ROOT / "traces" / "lublin-128.swf.gz")}
    for name, file in LOGS:
        if (path := optional_log(file)) is not None:
            logs[name] = fs.read(path)
    found = []
    for name, log in logs.items():
        fits = log.filter(log.tasks <= machine.nodes)
        for jobs in sizes:
            begin = len(fits) // 3  # not the trace's very beginning, where logs are odd
            part = fits.take(range(begin, begin + jobs))
            found.append(Instance(f"{name} {jobs}", part, machine, objectives))
    return found


def all_logs(names: Sequence[str] | None = None) -> dict[str, fs.Workload]:
    """Return the shipped trace and the archive logs at hand, or those of them that are named."""
    found = {}
    for name, file in (("sample", None), *LOGS, *MORE_LOGS):
        if names is None or name in names:
            path = ROOT / "traces" / "lublin-128.swf.gz" if file is None else optional_log(file)
            if path is not None:
                found[name] = fs.read(path)
    return found


def package_for(log: fs.Workload, machine: fs.Federation, *, rounds: float, most: int) -> fs.Workload:
    """Return successive jobs that ask for `rounds` times the machine's nodes, at most so many of them.

    They begin at a third of the log, since beginnings are odd; jobs wider than the largest cluster are left out.
    """
    widest = max(cluster.nodes for cluster in machine.clusters)
    fits = log.filter(log.tasks <= widest)
    rest = fits.take(range(len(fits) // 3, len(fits)))
    enough = int(np.searchsorted(np.cumsum(rest.tasks), rounds * machine.nodes)) + 1
    return rest.head(min(max(enough, 20), most))


def of_policies(problem: SearchProblem, policies: Sequence[str]) -> dict[str, fs.Schedule]:
    """Return what policies do on a problem, those that can place every job."""
    found = {}
    for policy in policies:
        with suppress(InfeasibleError):
            found[policy] = baseline_schedule(problem, policy)
    return found


def hungry_federation(*, idle: float, hungry: float) -> fs.Federation:
    """Return four clusters: `idle` is idle power over busy power, busy power grows with speed to the `hungry`."""
    speeds = (1.0, 1.25, 1.6, 2.0)
    sizes = (64, 48, 32, 32)
    clusters = []
    for k, (nodes, speed) in enumerate(zip(sizes, speeds, strict=True)):
        busy = 200.0 * speed**hungry
        clusters.append(fs.Cluster(f"C{k}", (fs.NodeGroup(nodes, speed, busy, idle * busy),), 1e9))
    return fs.Federation(tuple(clusters), name=f"idle {idle:.0%}, power by speed^{hungry:g}")


def thesis_packages(count: int, jobs: int, names: Sequence[str] = THESIS_LOGS) -> dict[str, list[fs.Workload]]:
    """Return successive packages of each log at hand, by its name, with communication as in the thesis.

    The archive's HPC2N, KTH-SP2 and METACENTRUM: the papers say "three real logs" and name the first. Where none is at
    hand, one of the Lublin-Feitelson model.
    """
    logs = all_logs(names) or {"Lublin": lublin(jobs=max(5000, 1000 * count + jobs), nodes=128, seed=1)}
    sigma, bandwidth = np.full(jobs, 0.7), np.full(jobs, 2e6)
    found = {}
    for name, log in logs.items():
        fits = log.filter((log.tasks <= 128) & (log.runtime >= 60))
        parts = [fits.take(range(begin, begin + jobs)) for begin in range(1000, 1000 * count + 1, 1000)]
        found[name] = [replace(part, compute_fraction=sigma, task_bandwidth=bandwidth) for part in parts]
    return found
