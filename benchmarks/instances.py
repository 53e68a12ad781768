"""The instances that searches are judged on: planted optima, and packages of logs on the example federations."""

from __future__ import annotations

from measuring import ROOT, optional_log

import fedsched as fs
from fedsched.compare import Instance
from fedsched.generate import planted

FOUR_SPEEDS = ((32, 1.0), (16, 1.5), (24, 0.7), (16, 2.0))
LOGS = (("HPC2N", "HPC2N-2002-2.2-cln.swf.gz"), ("KTH", "kth-clean-28481.swf.gz"))


def machines() -> dict[str, fs.Federation]:
    """Return the federations that optima are planted in: one cluster, two equal ones, four of different speeds."""
    four = [fs.Cluster(f"C{k}", (fs.NodeGroup(n, speed, 200, 90),)) for k, (n, speed) in enumerate(FOUR_SPEEDS)]
    return {
        "one": fs.Federation.homogeneous(64),
        "two equal": fs.Federation.of(32, 32),
        "four speeds": fs.Federation(tuple(four)),
    }


def planted_instances(sizes: tuple[int, ...], seeds: tuple[int, ...] = (1,)) -> list[Instance]:
    """Return problems whose best makespan is known."""
    found = []
    for name, machine in machines().items():
        for jobs in sizes:
            for seed in seeds:
                workload, best = planted(machine, jobs=jobs, seed=seed)
                found.append(Instance(f"planted {jobs} on {name} #{seed}", workload, machine, optimum=best))
    return found


def packages(sizes: tuple[int, ...], *, objectives: tuple[str, ...] = ("makespan",)) -> list[Instance]:
    """Return packages of the shipped trace, and of archive logs where they are at hand, on the example federation."""
    machine = fs.Federation.example()
    logs = {"sample": fs.read(ROOT / "traces" / "sample.swf.gz")}
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
