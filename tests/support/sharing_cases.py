"""Random jobs that share nodes, for the package and for the naive reference."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import naive, naive_sharing
from reference.naive_sharing_names import name_nodes
from support import strategies

import fedsched as fs
from fedsched.simulate import Simulation, prepare

if TYPE_CHECKING:
    from collections.abc import Collection

ORDERS = ("fcfs", "fcfs", "fcfs", "sjf", "saf", "largest", "xfactor", "wfp3", "unicef")
ABOUT = (
    ("user", "0", "jobs"), ("user", "1", "jobs"), ("user", "1", "cpus"), ("account", "a0", "cpus"),
    ("array", "many", "jobs"),
)  # fmt: skip
BOUND = ("pools", "limits", "conditions", "feedback", "cancellations")
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

    def prepare(self, rows: Any = slice(None), **options: Any) -> Simulation:
        """Return the run at its begin, of all jobs or of these rows."""
        words = {
            "kill_at_estimate": self.kill, "same_time": "sequential" if self.naive.sequential else "batch",
            "saturation": self.naive.saturation, **options,
        }  # fmt: skip
        rows = np.arange(len(self.workload))[rows]
        jobs = self.workload.take(rows)
        if any(job.caps is not None for job in self.naive.jobs):
            words["caps"] = np.array([self.caps_of(row) for row in rows.tolist()])
        return prepare(jobs, self.federation, self.rules, sharing=self.sharing, **words)

    def caps_of(self, row: int) -> list[int]:
        """Return the most tasks of a job on each group."""
        caps = self.naive.jobs[row].caps
        return [99 if caps is None else caps[g] for g in range(len(self.naive.machine.groups))]

    def simulate(self, rows: Any = slice(None), **options: Any) -> fs.Schedule:
        """Return the schedule of all jobs, or of these rows."""
        return self.prepare(rows, **options).advance().schedule()


def case(seed: int, *, jobs: int = 14, most_nodes: int = 4, bound: tuple[str, ...] = ()) -> Case:
    """Return jobs and nodes that are few, and alike, so that ties and full nodes are common.

    `bound`: what may keep jobs back beside nodes, of BOUND; plain jobs and nodes are those of the seed in any case.
    """
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
    if "efficient" in bound:
        watts = Random(-8 - seed)
        drawn = [(watts.choice((80.0, 100.0, 160.0)), watts.choice((16.0, 64.0))) for _ in groups]
        groups = [replace(one, busy=busy, idle=idle) for one, (busy, idle) in zip(groups, drawn, strict=True)]
    names = list(dict.fromkeys(name for one in groups for name, _ in one.resources))
    machine = naive.Machine(groups, [math.inf] * clusters)
    placement = draw.choice(PLACEMENTS) if clusters > 1 else "fastest"
    if "efficient" in bound:
        placement = "efficient"
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
    run.sequential = "sequential" in bound
    for rule in ("conservative", "local"):
        if rule in bound:
            run.dispatch, run.backfill_order = rule, order
            rules = fs.Rules(order=order, dispatch=rule, placement=placement)
    scattered = draw.random() < 0.5
    if scattered:
        _scatter(draw, run)
    _bind(Random(-1 - seed), Random(-30 - seed), run, bound)
    if "caps" in bound:
        _cap(Random(-9 - seed), run)
    if "links" in bound:
        _link(Random(-7 - seed), run)
    if "tiers" in bound:
        _part(Random(-5 - seed), run)
    downtimes = _downtimes(Random(-2 - seed), run.machine, bound) if "downtimes" in bound else []
    downtimes += _reservations(Random(-3 - seed), run.machine, bound) if "reserved" in bound else []
    federation, asked = _federation(run.machine, run.nodes, downtimes), run.asks
    run.machine = replace(run.machine, closures=tuple(row for rows in downtimes for row in rows))
    name_nodes(run)
    _choose(Random(-4 - seed), run)
    if "nodes" in bound:
        federation = _count_nodes(Random(-6 - seed), run, federation)
    return Case(_workload(run, asked, clusters), federation, rules, sharing, kill, run)


def _bind(draw: Random, elsewhere: Random, run: naive_sharing.Run, bound: tuple[str, ...]) -> None:
    # Lets the jobs need pools, be under limits, wait for each other, follow each other, be cancelled.
    jobs = [replace(job, user=draw.choice((0, 1, 1))) for job in run.jobs]
    if "pools" in bound and draw.random() < 0.7:
        amounts = tuple(draw.randint(1, 4) for _ in range(draw.choice((1, 2))))
        jobs = [replace(job, needs=tuple(draw.choice((0, 0, 1, most)) for most in amounts)) for job in jobs]
        run.machine = replace(run.machine, pools=amounts)
        jobs = _in_clusters(elsewhere, run, jobs)
    if "limits" in bound and draw.random() < 0.7:
        limits = [_limit(draw, jobs, run.asks, about) for about in draw.sample(ABOUT, draw.choice((1, 1, 2, 3)))]
        run.machine = replace(run.machine, limits=tuple(limits))
    if "conditions" in bound and draw.random() < 0.7:
        jobs = strategies.waiting_for_each_other(jobs, 1.0, draw.choice)
    if "feedback" in bound and draw.random() < 0.3:
        jobs = strategies.following(jobs, 1.0, draw.choice)
    if "cancellations" in bound and draw.random() < 0.5:
        jobs = strategies.impatient(jobs, 1.0, draw.choice)
    if "held" in bound:
        jobs = strategies.held(jobs, 1.0, draw.choice)
    run.jobs = jobs


def _in_clusters(draw: Random, run: naive_sharing.Run, jobs: list[naive.Job]) -> list[naive.Job]:
    # Some pools are one cluster's; whoever can have no nodes where his pools are needs none.
    if draw.random() < 0.6:
        return jobs
    whose = tuple(draw.choice((None, *_clusters(run.machine))) for _ in run.machine.pools)
    run.machine = replace(run.machine, pool_clusters=whose)
    found = []
    for j, job in enumerate(jobs):
        run.jobs = jobs
        there = run.place(j, run.nodes) is not None
        found.append(job if there else replace(job, needs=tuple(0 for _ in job.needs)))
    return found


def _downtimes(draw: Random, machine: naive.Machine, bound: tuple[str, ...]) -> list[list[naive.Closure]]:
    # Of whole groups; where they may be "counted" of some nodes of a group too, or of the last ones of a cluster.
    found = []
    for _ in range(draw.choice((0, 1, 1, 2, 3) if "counted" not in bound else (1, 2, 3, 4))):
        g, begin = draw.randrange(len(machine.groups)), draw.choice((-1.0, 0.0, 2.0, 4.0, 6.0, 9.0, 15.0))
        end = begin + draw.choice((1.5, 2.0, 4.0, 9.0, 20.0, 20.0, math.inf))
        known = draw.choice((-math.inf, begin, begin - 1.0, begin - 3.0))
        one = naive.Closure(g, machine.groups[g].count, begin, end, known, draw.random() < 0.8)
        if "taking" in bound and draw.random() < 0.8:
            what, victims = draw.choice(("requeue", "requeue", "kill")), draw.choice(("latest", "random", "random"))
            one = replace(one, on_running=what, victims=victims, seed=draw.randrange(99))
        rows = [one]
        if "counted" in bound:
            rows = [replace(one, nodes=draw.randint(1, one.nodes))]
            if draw.random() < 0.3:
                rows = _of_cluster(draw, machine, one)
        found.append(rows)
    return found


def _reservations(draw: Random, machine: naive.Machine, bound: tuple[str, ...]) -> list[list[naive.Closure]]:
    # Of groups, or of the last nodes of them.
    found: list[list[naive.Closure]] = []
    for reservation in range(draw.choice((1, 1, 2))):
        begin = draw.choice((-2.0, 0.0, 1.0, 3.0, 6.0, 10.0))
        end = begin + draw.choice((2.0, 4.0, 8.0, 15.0, 30.0))
        known = draw.choice((-math.inf, -math.inf, begin - 1.0))
        loss = draw.choice(("wait", "requeue", "kill")) if "taking" in bound else "wait"
        taken = {one.group for (one,) in found if one.begin < end and begin < one.end}
        for g, group in enumerate(machine.groups):
            if g not in taken and draw.random() < 0.7:
                nodes = draw.choice((group.count, draw.randint(1, group.count)))
                one = naive.Closure(g, nodes, begin, end, known, on_running=loss, reservation=reservation)
                found.append([one])
    return found


def _cap(draw: Random, run: naive_sharing.Run) -> None:
    # Limits how many tasks each job may have on each group, if the job still fits then.
    for j, job in enumerate(run.jobs):
        run.jobs[j] = replace(job, caps=[draw.choice((0, 1, 2, 3, 5, 9, 99)) for _ in run.machine.groups])
        if run.place(j, run.nodes) is None:
            run.jobs[j] = job


def _link(draw: Random, run: naive_sharing.Run) -> None:
    # Lets jobs send between clusters, over uplinks that may be too narrow for them.
    run.machine = replace(run.machine, uplinks=[draw.choice((0.1, 0.5, 2.0, math.inf)) for _ in run.machine.uplinks])
    run.jobs = [replace(job, bandwidth=draw.choice((0.0, 0.5, 1.0, 2.0))) for job in run.jobs]
    run.saturation = draw.choice(("dynamic", "dynamic", "static", "fair"))


def _part(draw: Random, run: naive_sharing.Run) -> None:
    # Lets some groups be partitions of different tiers, which may overlap.
    every, several = range(len(run.machine.groups)), draw.choice((1, 2, 2))
    partitions = [frozenset(draw.sample(every, draw.randint(1, len(every)))) for _ in range(several)]
    tiers = tuple(draw.choice((1, 2, 3)) for _ in partitions)
    run.machine = replace(run.machine, partitions=tuple(partitions), tiers=tiers)


def _choose(draw: Random, run: naive_sharing.Run) -> None:
    # Lets jobs name reservations and partitions in whose nodes they fit.
    machine = run.machine
    for j in range(len(run.jobs)):
        if (name := draw.choice((None, None, *machine.reservations))) is not None:
            _keep_to(run, j, {one.group for one in machine.kept(name)}, {"reservation": name})
        if (place := draw.choice((None, *range(len(machine.partitions))))) is not None:
            _keep_to(run, j, machine.partitions[place], {"partition": place})


def _count_nodes(draw: Random, run: naive_sharing.Run, federation: fs.Federation) -> fs.Federation:
    # Lets users be on so many nodes at a time, and partitions take jobs of so many; on the empty machine all may start.
    sizes = [len(run.choose(j, run.place(j, run.nodes), run.nodes)) for j in range(len(run.jobs))]
    limits, partitions = [], []
    for user in draw.choice(((1,), (1,), (0, 1))):
        jobs = [j for j, job in enumerate(run.jobs) if job.user == user]
        most = max([1, *(sizes[j] for j in jobs)]) + draw.choice((0, 0, 1))
        run.limits.append((most, frozenset(jobs)))
        limits.append(fs.Limit("user", nodes=most, names=(str(user),)))
    for q, one in enumerate(federation.partitions):
        jobs = [j for j, job in enumerate(run.jobs) if job.partition == q]
        here = [sizes[j] for j in jobs] or [1]
        least, most = draw.choice((1, min(here))), max(here)
        run.sizes |= dict.fromkeys(jobs, (least, most))
        partitions.append(replace(one, min_nodes=least, max_nodes=most))
    return replace(federation, limits=(*federation.limits, *limits), partitions=tuple(partitions))


def _keep_to(run: naive_sharing.Run, j: int, groups: Collection[int], named: dict[str, int]) -> None:
    # Lets a job have these groups only, if it fits there.
    ask = run.asks[j]
    others = {g for g in range(len(run.machine.groups)) if g not in groups}
    run.asks[j] = replace(ask, closed=ask.closed | others)
    if run.place(j, run.nodes) is None:
        run.asks[j] = ask
    else:
        run.jobs[j] = replace(run.jobs[j], **named)


def _of_cluster(draw: Random, machine: naive.Machine, one: naive.Closure) -> list[naive.Closure]:
    # The same of so many nodes of a cluster, whichever they are: of the last group first.
    k, rows = machine.groups[one.group].cluster, []
    here = [(g, group.count) for g, group in enumerate(machine.groups) if group.cluster == k]
    left = draw.randint(1, sum(count for _, count in here))
    for g, count in reversed(here):
        if left:
            rows.append(replace(one, group=g, nodes=min(left, count)))
            left -= rows[-1].nodes
    return rows


def _named(machine: naive.Machine, nodes: list[naive_sharing.Node], k: int, groups: Collection[int]) -> str:
    # The nodes of groups by their numbers in a cluster.
    here = [node.group for node in nodes if machine.groups[node.group].cluster == k]
    return ",".join(str(n) for n, group in enumerate(here) if group in groups)


def _as_noun(machine: naive.Machine, nodes: list[naive_sharing.Node], rows: list[naive.Closure]) -> fs.Downtime:
    one, some = rows[0], sum(row.nodes for row in rows)
    k = machine.groups[one.group].cluster
    named = _named(machine, nodes, k, (one.group,))
    if len(rows) > 1:
        named = f"{some} of all"
    elif some < machine.groups[one.group].count:
        named = f"{some} of {named}"
    times = {"begin": one.begin, "end": one.end, "known_from": one.known_from, "end_known": one.end_known}
    if one.reservation is not None:
        times |= {"kind": "reservation", "name": f"R{one.reservation}"}
    takes = {"on_running": one.on_running, "victims": one.victims, "seed": one.seed}
    return fs.Downtime(f"C{k}", nodes=named, **times, **takes)


def _limit(
    draw: Random, jobs: list[naive.Job], asks: list[naive_sharing.Ask], about: tuple[str, str, str]
) -> naive.Limit:
    whose = [strategies.who(about[0], j, job) for j, job in enumerate(jobs)]
    parts = {
        j: job.tasks * asks[j].need["cpu"] if about[2] == "cpus" else 1
        for j, job in enumerate(jobs)
        if whose[j] == about[1]
    }
    return naive.Limit(max(parts.values(), default=1) * draw.choice((1, 1, 2, 3)), parts, about)


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


def _federation(
    machine: naive.Machine, nodes: list[naive_sharing.Node], downtimes: list[list[naive.Closure]]
) -> fs.Federation:
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
        clusters.append(fs.Cluster(f"C{k}", tuple(inside), uplink=machine.uplinks[k]))
    pools = strategies.pools_of(machine, [cluster.name for cluster in clusters])
    bound = [
        fs.Limit(of, **{what: one.amount}, names=(name,))
        for one in machine.limits
        for of, name, what in (one.about,)
        if of != "array"
    ]
    calendar = tuple(_as_noun(machine, nodes, rows) for rows in downtimes)
    partitions = []
    for q, groups in enumerate(machine.partitions):
        there = {f"C{k}": named for k in _clusters(machine) if (named := _named(machine, nodes, k, groups))}
        partitions.append(fs.Partition(f"Q{q}", there, tier=machine.tiers[q]))
    shared = {"pools": pools, "limits": tuple(bound), "calendar": calendar, "partitions": tuple(partitions)}
    return fs.Federation(tuple(clusters), **shared)


def _workload(run: naive_sharing.Run, asks: list[naive_sharing.Ask], clusters: int) -> fs.Workload:
    jobs, machine = run.jobs, run.machine
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
        task_bandwidth=[job.bandwidth for job in jobs],
        origin=[job.origin for job in jobs],
        sites=[f"C{k}" for k in range(clusters)],
        demand=demand,
        layout={"tasks_per_node": [ask.chunk for ask in asks], "exclusive": [int(ask.alone) for ask in asks]},
        labels=_labels(jobs, machine) | ({"features": features} if groups else {}),
        user=[job.user for job in jobs],
        **_tied(jobs, machine),
    )


def _labels(jobs: list[naive.Job], machine: naive.Machine) -> dict[str, list[str]]:
    labels = {"name": [job.name for job in jobs]} if any(job.name for job in jobs) else {}
    for name, letter in (("reservation", "R"), ("partition", "Q")):
        if any(getattr(job, name) is not None for job in jobs):
            named = [getattr(job, name) for job in jobs]
            labels[name] = ["" if one is None else f"{letter}{one}" for one in named]
    if machine.limits:
        labels["account"] = [strategies.who("account", j, job) for j, job in enumerate(jobs)]
        labels["array"] = [strategies.array_of(j, machine) for j in range(len(jobs))]
    return labels


def _tied(jobs: list[naive.Job], machine: naive.Machine) -> dict[str, Any]:
    # What is not in use is not there.
    found: dict[str, Any] = {}
    if machine.pools:
        found["pools"] = {f"P{p}": [job.needs[p] for job in jobs] for p in range(len(machine.pools))}
    if any(job.after for job in jobs):
        found["after"] = [strategies.conditions_of(job, jobs) for job in jobs]
        found["log"] = {"status": [strategies.STATUS[job.ends] for job in jobs]}
    if any(job.begin for job in jobs):
        found["begin"] = [job.begin for job in jobs]
    if any(job.held for job in jobs):
        found["held"] = {job.id: job.held for job in jobs if job.held}
    if any(job.cancel_at < math.inf for job in jobs):
        found["cancel_at"] = [-1.0 if job.cancel_at == math.inf else job.cancel_at for job in jobs]
    if any(job.follows for job in jobs):
        found["feedback"] = {
            "preceding": [-1 if job.follows is None else jobs[job.follows[0]].id for job in jobs],
            "think_time": [-1 if job.follows is None else job.follows[1] for job in jobs],
        }
    return found


def same_as_naive(one: Case) -> None:
    """Fail unless a run has the starts, nodes and devices of the reference, and verifies."""
    schedule, run = one.simulate(), one.naive
    run.run()
    assert np.array_equal(schedule.start, run.start, equal_nan=True)
    assert np.array_equal(schedule.finish, run.finish, equal_nan=True)
    assert schedule.counts.tolist() == run.counts
    assert schedule.workload.submit.tolist() == [job.submit for job in run.result.jobs]
    assert np.flatnonzero(schedule.cancelled).tolist() == sorted(run.result.cancelled)
    for j, hold in enumerate(run.hold):
        _same_nodes(schedule.use, j, hold, run.asks[j])
    lost = schedule.lost
    assert len(run.lost) == lost.runs
    runs = zip(lost.job.tolist(), lost.start.tolist(), lost.end.tolist(), lost.requeued.tolist(), strict=True)
    place = {(job, start): k for k, (job, start, _, _) in enumerate(runs)}
    for j, start, end, again, hold in run.lost:
        k = place[j, start]
        assert (lost.end[k], lost.requeued[k]) == (end, again)
        _same_nodes(schedule.lost_use, k, hold, run.asks[j])
    if not np.isnan(run.finish).all():
        assert schedule.metrics().saturated_seconds == pytest.approx(run.result.saturated_seconds)
        assert schedule.metrics().requeues == sum(again for _, _, _, again, _ in run.lost)
    if schedule.complete:
        schedule.verify(claimed=schedule.metrics())
    else:
        assert one.federation.calendar
        assert all("was never started" in line for line in schedule.violations())


def _same_nodes(use: fs.NodeUse, row: int, hold: naive_sharing.Hold, ask: naive_sharing.Ask) -> None:
    rows = use.job == row
    there = zip(use.node[rows].tolist(), use.tasks[rows].tolist(), strict=True)
    assert dict(there) == {n: tasks for n, (tasks, _) in hold.items()}
    devices = [] if ask.alone else [(n, *part) for n, (_, parts) in hold.items() for part in parts]
    assert sorted(map(tuple, use.devices[use.devices[:, 0] == row][:, 1:].tolist())) == sorted(devices)
