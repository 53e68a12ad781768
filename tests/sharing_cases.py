"""Random jobs that share nodes, for the package and for the naive reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random

import naive
import naive_sharing

import fedsched as fs

ORDERS = ("fcfs", "fcfs", "fcfs", "sjf", "saf", "largest", "xfactor", "wfp3", "unicef")
PLACEMENTS = ("fastest", "single", "home", "best_fit", "powerful", "big_small")


@dataclass
class Case:
    """Jobs on a federation, how they are scheduled, and the same for the reference."""

    workload: fs.Workload
    federation: fs.Federation
    rules: fs.Rules
    sharing: fs.NodeSharing
    kill: bool
    naive: naive_sharing.Run

    def simulate(self) -> fs.Schedule:
        return fs.simulate(
            self.workload, self.federation, self.rules, sharing=self.sharing, kill_at_estimate=self.kill
        )


def case(seed: int, *, jobs: int = 14, most_nodes: int = 4) -> Case:
    """Return jobs and nodes that are few, and alike, so that ties and full nodes are common."""
    draw = Random(seed)
    groups, clusters = [], draw.choice((1, 1, 1, 2, 3))
    resources, gpus = draw.random() < 0.6, draw.random() < 0.4
    speeds = draw.choice(((1.0,), (1.0, 2.0, 0.5)))
    for cluster in range(clusters):
        for _ in range(draw.choice((1, 1, 2))):
            has = {"cpu": draw.choice((1, 2, 4, 8))}
            has |= {"memory": draw.choice((0, 10, 16, 40))} if resources else {}
            has |= {"gpu": draw.choice((0, 1, 2, 4))} if gpus else {}
            groups.append(
                naive.Group(
                    cluster=cluster, count=draw.randint(1, most_nodes), speed=draw.choice(speeds), busy=100.0,
                    idle=50.0, resources=tuple(has.items()),
                )
            )  # fmt: skip
    names = list(dict.fromkeys(name for one in groups for name, _ in one.resources))
    machine = naive.Machine(groups, [math.inf] * clusters)
    placement = draw.choice(PLACEMENTS) if clusters > 1 else "fastest"
    some, asks = [], []
    while len(some) < jobs:
        ask = _ask(draw, groups, names)
        estimate = draw.choice((1.0, 2.0, 3.0, 5.0, 8.0, 13.0))
        job = naive.Job(
            id=len(some) + 1,
            submit=float(draw.choice((0, 0, 1, 2, 3, 5, 8, 13))),
            tasks=draw.choice((1, 1, 2, 3, 5, 9)),
            runtime=draw.choice((estimate, estimate, estimate / 2, estimate * 1.5)),
            estimate=estimate,
            sigma=draw.choice((1.0, 1.0, 0.5)),
            origin=draw.randrange(clusters),
        )
        ask = replace(ask, chunk=min(ask.chunk, job.tasks))
        empty = _run(machine, [job], [ask], names, placement)
        if empty.place(0, empty.nodes) is not None:
            some.append(job)
            asks.append(ask)
    dispatch, kill = draw.choice(("strict", "greedy", "easy", "easy", "easy")), draw.random() < 0.3
    order = draw.choice(ORDERS)
    backfill = draw.choice(("sjf", "saf", "wfp3", order, order))
    sharing = fs.NodeSharing(
        choice=draw.choice(("first", "best", "least_loaded", "pack", "spread", "block")),
        reservation=draw.choice(("resources", "resources", "nodes")),
    )
    run = _run(machine, some, asks, names, placement)
    run.choice, run.reservation, run.dispatch, run.kill = sharing.choice, sharing.reservation, dispatch, kill
    run.order, run.backfill_order = order, backfill if dispatch == "easy" else order
    rules = fs.Rules(order=order, dispatch=dispatch, placement=placement, backfill_order=backfill)
    if draw.random() < 0.5:
        _scatter(draw, run)
    return Case(_workload(some, asks, clusters), _federation(machine, run.nodes), rules, sharing, kill, run)


def _scatter(draw: Random, run: naive_sharing.Run) -> None:
    # The nodes of a cluster's groups stand anywhere among each other.
    groups = run.machine.groups
    where = [[node for node in run.nodes if groups[node.group].cluster == k] for k in _clusters(run.machine)]
    for nodes in where:
        draw.shuffle(nodes)
    run.nodes[:] = [node for nodes in where for node in nodes]


def _clusters(machine: naive.Machine) -> range:
    return range(len(machine.uplinks))


def _ask(draw: Random, groups: list[naive.Group], names: list[str]) -> naive_sharing.Ask:
    need = {"cpu": draw.choice((1, 1, 2, 3))}
    if "memory" in names:
        need["memory"] = draw.choice((0, 1, 4, 9))
    whole = draw.choice((0, 0, 1, 2)) if "gpu" in names else 0
    share = draw.choice((0, 300, 500, 700)) if "gpu" in names and not whole else 0
    if "gpu" in names:
        need["gpu"] = whole
    closed = frozenset(g for g in range(len(groups)) if draw.random() < 0.1)
    alone, chunk = draw.random() < 0.15, draw.choice((0, 0, 0, 1, 2, 4))
    return naive_sharing.Ask(need=need, share=share, chunk=chunk, alone=alone, closed=closed)


def _run(
    machine: naive.Machine, jobs: list[naive.Job], asks: list[naive_sharing.Ask], names: list[str], placement: str
) -> naive_sharing.Run:
    nodes = [
        naive_sharing.Node(g, dict(one.resources), dict(one.resources).get("gpu", 0))
        for g, one in enumerate(machine.groups)
        for _ in range(one.count)
    ]
    for node in nodes:
        node.open()
    return naive_sharing.Run(
        machine=machine, nodes=nodes, jobs=jobs, asks=asks, resources=names, choice="first", reservation="resources",
        dispatch="strict", placement=placement, order="fcfs", backfill_order="fcfs", kill=False,
    )  # fmt: skip


def _federation(machine: naive.Machine, nodes: list[naive_sharing.Node]) -> fs.Federation:
    clusters = []
    for k in _clusters(machine):
        here = [node.group for node in nodes if machine.groups[node.group].cluster == k]
        inside = [
            fs.NodeGroup(
                one.count, one.speed, one.busy, one.idle, resources=dict(one.resources), features=(f"g{g}",),
                nodes=",".join(str(n) for n, group in enumerate(here) if group == g),
            )
            for g, one in enumerate(machine.groups)
            if one.cluster == k
        ]  # fmt: skip
        clusters.append(fs.Cluster(f"C{k}", tuple(inside)))
    return fs.Federation(tuple(clusters))


def _workload(jobs: list[naive.Job], asks: list[naive_sharing.Ask], clusters: int) -> fs.Workload:
    groups = max(max(ask.closed, default=-1) for ask in asks) + 1
    names = {name for ask in asks for name in ask.need}
    demand = {name: [ask.need.get(name, 0) for ask in asks] for name in sorted(names)}
    demand["gpu_share"] = [ask.share for ask in asks]
    features = ["|".join(f"g{g}" for g in range(99) if g not in ask.closed) if ask.closed else "" for ask in asks]
    return fs.Workload(
        submit=[job.submit for job in jobs],
        tasks=[job.tasks for job in jobs],
        runtime=[job.runtime for job in jobs],
        estimate=[job.estimate for job in jobs],
        compute_fraction=[job.sigma for job in jobs],
        origin=[job.origin for job in jobs],
        sites=[f"C{k}" for k in range(clusters)],
        demand=demand,
        layout={"tasks_per_node": [ask.chunk for ask in asks], "exclusive": [int(ask.alone) for ask in asks]},
        labels={"features": features} if groups else None,
    )


def same_as_naive(one: Case) -> None:
    """Fail unless a run has the starts, nodes and devices of the reference, and verifies."""
    schedule, run = one.simulate(), one.naive
    run.run()
    assert schedule.start.tolist() == run.start
    assert schedule.finish.tolist() == run.finish
    assert schedule.counts.tolist() == run.counts
    use = schedule.use
    for j, hold in enumerate(run.hold):
        rows = use.job == j
        there = zip(use.node[rows].tolist(), use.tasks[rows].tolist(), strict=True)
        assert dict(there) == {n: tasks for n, (tasks, _) in hold.items()}
        devices = [] if run.asks[j].alone else [(n, *part) for n, (_, parts) in hold.items() for part in parts]
        assert sorted(map(tuple, use.devices[use.devices[:, 0] == j][:, 1:].tolist())) == sorted(devices)
    schedule.verify(claimed=schedule.metrics())
