"""Nodes that several jobs share: jobs a second, by dispatch rule, choice of nodes and reading of a reservation."""

from __future__ import annotations

import numpy as np
from measuring import Report, arguments, best_of, record

import fedsched as fs
from fedsched.engine.loop.event_loop import begin
from fedsched.engine.loop.event_loop import run as run_loop
from fedsched.engine.sharing.pack import pack
from fedsched.model.reading import USUAL
from fedsched.policies import POLICIES

NODES = 215
LOAD = 0.95  # of the cores
TARGETS = {("fcfs", "first", "resources"): 200_000.0, ("easy", "first", "resources"): 50_000.0}


def jobs_of(number: int, *, seed: int = 1, nodes: int = NODES) -> fs.Workload:
    """Return jobs as clusters of shared nodes have them: most are one task of a few cores with some memory."""
    draw = np.random.default_rng(seed)
    tasks = np.where(draw.random(number) < 0.85, 1, draw.choice([2, 4, 8, 16, 32], number))
    cores = draw.choice([1, 1, 1, 2, 4, 8, 16], number)
    memory = cores * draw.choice([1000, 2000, 4000, 8000], number, p=[0.3, 0.4, 0.2, 0.1])
    runtime = np.ceil(np.exp(draw.normal(7.0, 1.5, number)))
    estimate = 600 * np.ceil(runtime * draw.choice([1.0, 2.0, 5.0], number) / 600)
    last = float((tasks * cores * runtime).sum()) / (LOAD * nodes * 40)
    return fs.Workload(
        submit=np.floor(np.sort(draw.random(number) * last)),
        tasks=tasks,
        runtime=runtime,
        estimate=estimate,
        demand={"cpu": cores, "memory": memory},
        name="shared",
    )


def machine(nodes: int = NODES) -> fs.Federation:
    """Return a cluster of nodes of 40 cores."""
    group = fs.NodeGroup(nodes, resources={"cpu": 40, "memory": 187_000})
    return fs.Federation((fs.Cluster("shared", (group,)),), name="shared")


def seconds_of(workload: fs.Workload, federation: fs.Federation, policy: str, sharing: fs.NodeSharing) -> float:
    """Return the least seconds of the loop over the jobs, of three, packed anew for each."""
    rules = POLICIES[policy].rules(workload, federation)

    def run(packed: list) -> None:
        one = packed.pop()
        begin(one.problem, one.plan, one.state)
        run_loop(one.problem, one.plan, one.state, 2**62, np.inf)

    ready = [pack(workload, federation, rules, sharing, USUAL, None) for _ in range(3)]
    [seconds] = best_of(3, lambda: run(ready))
    return seconds


def main() -> None:
    """Print the table."""
    smoke = arguments(__doc__ or "").smoke
    number = 500 if smoke else 100_000
    report = Report(f"{NODES} nodes that are shared, {number:,} jobs, one core")
    workload, federation = jobs_of(number), machine()
    figures = {}
    runs = [("fcfs", "first", "resources"), ("greedy", "first", "resources"), ("easy", "first", "resources")]
    runs += [("easy", "first", "nodes"), ("easy-sjbf", "first", "resources")]
    runs += [("conservative", "first", "resources")]
    runs += [("easy", choice, "resources") for choice in ("best", "least_loaded", "pack", "spread", "block")]
    for policy, choice, reservation in runs:
        sharing = fs.NodeSharing(choice=choice, reservation=reservation)
        fs.simulate(workload.head(10), federation, policy, sharing=sharing)
        rate = number / seconds_of(workload, federation, policy, sharing)
        target = None if smoke else TARGETS.get((policy, choice, reservation))
        report.row(f"{policy}, {choice}, {reservation}: jobs a second", rate, "/s", target)
        figures[f"{policy}_{choice}_{reservation}"] = rate
    if not smoke:
        record("sharing", figures)


if __name__ == "__main__":
    main()
