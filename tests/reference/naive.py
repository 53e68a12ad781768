"""The federation model in slow, plain Python: the witness that the compiled engine is compared with.

Everything is written straight from the model and from `docs/readings` ("reading n" below) and nothing is
imported from the package. At each pass all is rebuilt from scratch; clarity beats speed everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

Counts = list[int]  # nodes per group
Order = str | Sequence[int]  # the name of a queue order, or the job indexes in the order wanted
Decide = Callable[[float, list[int], list[bool]], int]  # now, who waits first, whether each fits -> a place, or none
Shape = tuple[int, float, float]  # tasks, runtime, estimate
Condition = tuple[str, int, float]  # of which kind, on which job (its index), and how many seconds from then on

DISPATCH = ("strict", "greedy", "local", "easy", "conservative", "lookahead")
LOOKAHEAD = 50
SATURATION = ("dynamic", "static", "fair")
PLACEMENT = ("fastest", "single", "home", "best_fit", "efficient", "powerful", "big_small", "link_aware")
CONDITIONS = ("after", "afterany", "afterok", "afternotok", "singleton")
ORDERS = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf", "xfactor", "wfp3", "unicef", "f1")


@dataclass(frozen=True)
class Group:
    """`count` identical nodes of one cluster."""

    cluster: int
    count: int
    speed: float = 1.0
    busy: float = 0.0
    idle: float = 0.0
    features: frozenset[str] = frozenset()
    resources: tuple[tuple[str, int], ...] = ()
    weight: int = 1
    off: float = 0.0  # watts
    boot: tuple[float, float] = (0.0, 0.0)  # seconds, watts
    shutdown: tuple[float, float] = (0.0, 0.0)
    gears: tuple[float, ...] = ()  # watts under jobs in gear 1, 2, ...


@dataclass(frozen=True)
class Closure:
    """Nodes of a group that no job may start on in [begin, end); planners know of it from `known_from` on."""

    group: int
    nodes: int
    begin: float
    end: float
    known_from: float = -math.inf
    end_known: bool = True
    on_running: str = "wait"  # or "requeue", or "kill" (reading 42)
    victims: str = "latest"  # or "random", or "recorded" of a whole group (reading 67)
    seed: int = 0
    reservation: int | None = None  # for whom all nodes of the group are kept (reading 46)

    def covers(self, time: float) -> bool:
        return self.begin <= time < self.end

    def as_planned(self) -> Closure:
        """Return it as whoever plans sees it: where nobody knows its end, without one (reading 39)."""
        return self if self.end_known else replace(self, end=math.inf)


@dataclass(frozen=True)
class Limit:
    """At most so much at a time, of which each of some jobs takes its part (reading 43)."""

    amount: int
    parts: dict[int, int]  # of each job, by its index
    about: tuple[str, str, str] = ("", "", "jobs")  # of whom, by name, and in what


@dataclass(frozen=True)
class Cap:
    """What some groups may draw together (reading 70): so many watts from each time on, until the next one."""

    groups: frozenset[int]
    times: tuple[float, ...]
    watts: tuple[float, ...]
    period: float = math.inf  # comes again after so long, before and after

    def turns(self, begin: float, end: float) -> range:
        """Return at least the turns of it that have to do with some time."""
        if self.period == math.inf:
            return range(1)
        return range(*(math.floor((time - self.times[0]) / self.period) + k for time, k in ((begin, -1), (end, 2))))

    def steps(self, begin: float, end: float) -> list[float]:
        """Return when it begins or changes, after `begin` and by `end`."""
        shifts = [0.0 if self.period == math.inf else turn * self.period for turn in self.turns(begin, end)]
        return sorted(time + shift for shift in shifts for time in self.times if begin < time + shift <= end)

    def at(self, moment: float) -> float:
        """Return the watts at a moment."""
        shifts = [0.0 if self.period == math.inf else turn * self.period for turn in self.turns(moment, moment)]
        return max((time + shift, w) for shift in shifts for time, w in zip(self.times, self.watts, strict=True)
                   if time + shift <= moment)[1]  # fmt: skip


@dataclass(frozen=True)
class Machine:
    """A federation: node groups, cluster by cluster, and one uplink bandwidth per cluster."""

    groups: list[Group]
    uplinks: list[float]
    pools: tuple[int, ...] = ()  # how much there is of each (reading 30)
    pool_clusters: tuple[int | None, ...] = ()  # whose each is; none: all are the federation's
    partitions: tuple[frozenset[int], ...] = ()  # the groups of each (reading 37)
    tiers: tuple[int, ...] = ()  # of the partitions; none: all are in tier 1
    closures: tuple[Closure, ...] = ()  # (reading 38)
    limits: tuple[Limit, ...] = ()
    caps: tuple[Cap, ...] = ()
    cap_at_start: bool = False  # whether they bind at starts alone
    timeout: tuple[float, int] | None = None  # idle nodes go off after so long, but for so many of each group (66)
    ahead: bool = False  # so many of each group are kept ready, by boots ahead
    rates: tuple[int, int] = (0, 0)  # so many nodes of a cluster may begin to go off, and to boot, a minute; 0: any

    def foreseen(self, time: float) -> Machine:
        """Return the machine as plans know it that are made then (reading 48); every closure keeps its place."""
        nothing = {"begin": math.inf, "end": math.inf, "nodes": 0}
        seen = [
            one.as_planned() if one.known_from <= time < one.end else replace(one, **nothing) for one in self.closures
        ]
        return replace(self, closures=tuple(seen))

    @cached_property
    def reservations(self) -> list[int]:
        """Return the reservations in the order of the calendar."""
        return list(dict.fromkeys(one.reservation for one in self.closures if one.reservation is not None))

    def kept(self, reservation: int) -> list[Closure]:
        """Return what a reservation keeps."""
        return [one for one in self.closures if one.reservation == reservation]

    @property
    def nodes(self) -> int:
        return sum(group.count for group in self.groups)

    @cached_property
    def turns(self) -> list[tuple[int, int]]:
        """Return each group's weight, and in how many partitions it is (reading 37)."""
        return [
            (group.weight, sum(g in partition for partition in self.partitions)) for g, group in enumerate(self.groups)
        ]

    @cached_property
    def inside(self) -> list[list[int]]:
        """Return the groups of each cluster."""
        return [
            [g for g, group in enumerate(self.groups) if group.cluster == cluster]
            for cluster in range(len(self.uplinks))
        ]


@dataclass(frozen=True)
class Job:
    """A rigid parallel job."""

    id: int
    submit: float
    tasks: int
    runtime: float
    estimate: float
    sigma: float = 1.0
    bandwidth: float = 0.0
    origin: int | None = None
    allowed: frozenset[int] | set[int] | None = None
    caps: list[int] | None = None
    user: int = -1
    needs: tuple[int, ...] = ()  # of each pool
    after: tuple[Condition, ...] = ()  # a singleton names no job: (-1)
    begin: float = 0.0
    name: str = ""
    ends: str = "well"  # or "badly", or "cancelled" (reading 35)
    partition: int | None = None
    follows: tuple[int, float] | None = None  # a job, and for how long its user thinks when that has ended (reading 45)
    cancel_at: float = math.inf  # leaves the queue if it has not started by then (reading 44)
    features: tuple[frozenset[str], ...] = ()  # a node must have all of one of these (reading 41)
    demand: tuple[tuple[str, int], ...] = ()  # so much of each must a node have (reading 50)
    per_node: int = 0  # so many tasks stand on a node, 0: as it comes (reading 76)
    alone: bool = False  # nobody else is on its nodes, and as many of its tasks as fit
    together: int = 0  # its tasks are nodes, so many tasks stand on each, and
    stands: int = 0  # so many on all
    standing: tuple[int, ...] = ()  # of each of its shapes
    fits: tuple[int, ...] = ()  # nodes of different groups hold different numbers of its tasks: these
    reservation: int | None = None  # (reading 46)
    alternatives: tuple[Shape, ...] = ()  # the recorded one first (reading 49)
    watts: float | None = None  # of each of its nodes; None: those of its group (reading 69)
    held: tuple[tuple[float, float], ...] = ()  # it may not start from each begin to the end, in order (reading 73)
    gear: int = 0  # of its nodes, in which its times are as they are (reading 77)


@dataclass
class Running:
    """A job that runs; `tc` holds since `since`, when `work_left` and `estimate_left` base seconds were left."""

    job: int
    start: float
    counts: Counts
    tc: float
    work_left: float
    estimate_left: float
    since: float
    finish: float
    planned_end: float
    rated: bool = True  # False from its start to the end of the pass that started it (reading 4)
    promised: float = math.nan  # since when it has its nodes (reading 66)


NEVER = Running(-1, math.nan, [], math.nan, math.nan, math.nan, math.nan, math.nan, math.nan)  # who did not run


@dataclass(frozen=True)
class Lost:
    """A run that came to nothing, for a closure took its nodes."""

    job: int
    start: float
    end: float
    counts: Counts
    requeued: bool


@dataclass(frozen=True)
class Night:
    """A stretch in which a node of a group is off: from when it goes off until it begins to boot (reading 66).

    If a downtime closes the node, it counts until then.
    """

    group: int
    begin: float
    end: float
    until: float = math.inf


@dataclass(frozen=True)
class Reservation:
    """A place in the plan of a conservative pass, held over [start, end)."""

    job: int
    start: float
    end: float
    counts: Counts


@dataclass(frozen=True)
class Extra:
    """What EASY's reservation leaves over at the shadow time: of the nodes, per group, and of the pools."""

    nodes: Counts
    pools: list[int]
    head: Counts  # the head's own nodes, held until `until`
    until: float
    whose: int = -1  # the head

    def without(self, job: Job, counts: Counts) -> Extra:
        """Return what is left when another job takes its part."""
        nodes = [nodes - x for nodes, x in zip(self.nodes, counts, strict=True)]
        return replace(self, nodes=nodes, pools=less(self.pools, job))

    def holds(self, job: Job, counts: Counts) -> bool:
        """Return whether a job's part is there."""
        return within(counts, self.nodes) and needs_fit(job, self.pools)


@dataclass(frozen=True)
class Result:
    """A whole schedule."""

    jobs: list[Job]
    machine: Machine
    t0: float
    start: list[float]
    finish: list[float]
    counts: list[Counts]
    saturated_seconds: float
    eligible: list[float]
    lost: list[Lost] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    kill_at_estimate: bool = False
    ties: list[list[Condition]] = field(default_factory=list)  # what each job waits for, but for whom it follows
    promised: list[float] = field(default_factory=list)  # since when each had its nodes
    nights: list[Night] = field(default_factory=list)
    ready: list[float] = field(default_factory=list)  # since when each was eligible at first

    @property
    def ran(self) -> bool:
        """Return whether any job ran to its end."""
        return not all(math.isnan(finish) for finish in self.finish)

    def of_the_started(self) -> Result:
        """Return the result of the jobs that ran."""
        rows = [j for j, start in enumerate(self.start) if not math.isnan(start)]
        columns = {name: [getattr(self, name)[j] for j in rows] for name in PER_JOB}
        return replace(self, **columns)


PER_JOB = ("jobs", "start", "finish", "counts", "eligible", "promised", "ready")


# ---------------------------------------------------------------------------------------------- slowdowns


def ends_at(end: float, now: float) -> float:
    """Return an end that is computed at `now` and lies after it, were it too near for the clock (reading 0)."""
    return end if end > now else math.nextafter(now, math.inf)


def slowest_speed(counts: Counts, machine: Machine) -> float:
    """Return the speed of the slowest node used."""
    return min(group.speed for group, x in zip(machine.groups, counts, strict=True) if x > 0)


def processing_slowdown(counts: Counts, machine: Machine) -> float:
    """Return PS_j (eq. 1.1): the reference time over the time on the slowest node used."""
    return 1.0 / slowest_speed(counts, machine)


def together(job: Job, g: int) -> int:
    """Return how many of a job's tasks stand on a node of a group; one where its tasks are nodes (reading 76)."""
    return job.fits[g] if job.fits else 1


def wanted(job: Job) -> int:
    """Return how many tasks a placement puts on nodes: those that stand there, where nodes hold different numbers."""
    return job.stands if job.fits else job.tasks


def tasks_per_cluster(counts: Counts, machine: Machine) -> list[int]:
    """Return t_jk for every cluster k."""
    tasks = [0 for _ in machine.uplinks]
    for group, x in zip(machine.groups, counts, strict=True):
        tasks[group.cluster] += x
    return tasks


def demands(job: Job, counts: Counts, machine: Machine) -> list[float]:
    """Return D_jk for every uplink k (eq. 1.2), of tasks: the last of a job's nodes may not be full (reading 76)."""
    here, tasks = tasks_per_cluster(counts, machine), job.tasks
    if job.together:
        tasks = left = job.stands
        for k, nodes in enumerate(here):
            here[k] = min(left, nodes * job.together)
            left -= here[k]
    if job.fits:
        tasks = job.stands
        here = [sum(counts[g] * job.fits[g] for g in inside) for inside in machine.inside]
        over = sum(here) - tasks
        last = max(g for g, x in enumerate(counts) if x > 0 and job.fits[g] > over)
        here[machine.groups[last].cluster] -= over
    return [t * job.bandwidth * (tasks - t) / (tasks - 1) if tasks > 1 and t < tasks else 0.0 for t in here]


def uplink_loads(holders: Iterable[tuple[Job, Counts]], machine: Machine) -> list[float]:
    """Return L_k for every uplink k (eq. 1.3), summed in the order given."""
    loads = [0.0 for _ in machine.uplinks]
    for job, counts in holders:
        for k, demand in enumerate(demands(job, counts, machine)):
            loads[k] += demand
    return loads


def communication_slowdown(job: Job, counts: Counts, loads: list[float], machine: Machine) -> float:
    """Return CS_j (eqs. 1.4 and 1.5): the worst load over bandwidth of the uplinks that the job uses."""
    slowdown = 1.0
    for k, demand in enumerate(demands(job, counts, machine)):
        if demand > 0:
            slowdown = max(slowdown, loads[k] / machine.uplinks[k])
    return slowdown


def fair_slowdowns(holders: Sequence[tuple[Job, Counts]], machine: Machine) -> list[float]:
    """Return CS_j of every running job where uplinks are shared max-min fairly (reading 59)."""
    demand = [demands(job, counts, machine) for job, counts in holders]
    share = {i: 1.0 for i, row in enumerate(demand) if not any(row)}
    while rising := [i for i in range(len(demand)) if i not in share]:
        levels = {}
        for k, bandwidth in enumerate(machine.uplinks):
            if any(demand[i][k] > 0 for i in rising):
                taken, slope = 0.0, 0.0
                for i, row in enumerate(demand):
                    if i in share:
                        taken += share[i] * row[k]
                    else:
                        slope += row[k] / max(row)
                levels[k] = (bandwidth - taken) / slope
        least = min(levels.values())
        content = [i for i in rising if max(demand[i]) <= least]
        for i in content:
            share[i] = 1.0
        if not content:
            full = [k for k, level in levels.items() if level == least]
            for i in rising:
                if any(demand[i][k] > 0 for k in full):
                    share[i] = least / max(demand[i])
    return [1.0 / share[i] for i in range(len(demand))]


def slowdowns(holders: Sequence[tuple[Job, Counts]], machine: Machine, fair: bool) -> list[float]:
    """Return CS_j of every running job: by the loads of the uplinks, or by fair shares of them (readings 7, 59)."""
    loads = uplink_loads(holders, machine)
    if fair and any(load > uplink for load, uplink in zip(loads, machine.uplinks, strict=True)):
        return fair_slowdowns(holders, machine)
    return [communication_slowdown(job, counts, loads, machine) for job, counts in holders]


def time_cost(job: Job, counts: Counts, cs: float, machine: Machine) -> float:
    """Return tc_j = sigma PS + (1 - sigma) CS (eq. 1.7)."""
    return job.sigma * processing_slowdown(counts, machine) + (1.0 - job.sigma) * cs


def planned_duration(job: Job, counts: Counts, machine: Machine) -> float:
    """Return the seconds that a plan gives a job that has not started: its estimate at tc without contention."""
    return job.estimate * (job.sigma * processing_slowdown(counts, machine) + (1.0 - job.sigma))


def shortest_duration(job: Job, machine: Machine) -> float:
    """Return the planned seconds of a job on the fastest nodes that its caps allow (reading 12)."""
    caps = effective_caps(job, machine)
    found = 0
    for g in sorted(range(len(machine.groups)), key=lambda g: -machine.groups[g].speed):
        found += caps[g] * together(job, g)
        if found >= wanted(job):
            return job.estimate * (job.sigma * (1.0 / machine.groups[g].speed) + (1.0 - job.sigma))
    raise ValueError(f"Job {job.id}: tasks={job.tasks} exceeds its caps.")


# ---------------------------------------------------------------------------------------------- placement


def effective_caps(job: Job, machine: Machine) -> Counts:
    """Return how many nodes of each group a job may use."""
    caps = []
    for g, group in enumerate(machine.groups):
        cap = group.count if job.caps is None else min(job.caps[g], group.count)
        if job.partition is not None and g not in machine.partitions[job.partition]:
            cap = 0
        if job.reservation is not None and g not in [one.group for one in machine.kept(job.reservation)]:
            cap = 0
        if g in elsewhere(job, machine):
            cap = 0
        if job.features and not any(asked <= group.features for asked in job.features):
            cap = 0
        for name, amount in job.demand:
            told = any(name in dict(one.resources) for one in machine.groups)
            if told and dict(group.resources).get(name, 0) < amount:
                cap = 0
        caps.append(cap if job.allowed is None or group.cluster in job.allowed else 0)
    return caps


def elsewhere(job: Job, machine: Machine) -> set[int]:
    """Return the groups outside the cluster of some pool that a job needs any of (reading 30)."""
    mine = {cluster for cluster, need in zip(machine.pool_clusters, job.needs, strict=False) if need > 0} - {None}
    return {g for g, group in enumerate(machine.groups) if mine - {group.cluster}}


def extra_watts(group: Group) -> float:
    """Return what a unit of work costs above idling on this group."""
    return (group.busy - group.idle) / group.speed


def fill(groups: Iterable[int], usable: Counts, job: Job) -> Counts | None:
    """Return the nodes taken from the groups, one group after the other; None when they do not suffice."""
    counts, left = [0 for _ in usable], wanted(job)
    for g in groups:
        k = together(job, g)
        if k > 0 and left > 0:
            counts[g] = min(usable[g], math.ceil(left / k))
            left -= counts[g] * k
    return counts if left <= 0 else None


def order_inside(cluster: int, machine: Machine, rule: str) -> list[int]:
    """Return the groups of a cluster in the order in which the rule fills them (readings 14 and 37)."""
    groups = machine.groups
    if rule == "efficient":
        return sorted(machine.inside[cluster], key=lambda g: (extra_watts(groups[g]), machine.turns[g], g))
    return sorted(machine.inside[cluster], key=lambda g: (-groups[g].speed, machine.turns[g], g))


def single_clusters(job: Job, usable: Counts, machine: Machine, rule: str) -> list[tuple[int, Counts]]:
    """Return every cluster that can hold the whole job, with the nodes it would take there (reading 15)."""
    held = []
    for k in range(len(machine.uplinks)):
        counts = fill(order_inside(k, machine, rule), usable, job)
        if counts is not None:
            held.append((k, counts))
    return held


def left_over(cluster: int, free: Counts, counts: Counts, machine: Machine) -> int:
    """Return the free nodes that would stay free in a cluster that takes the whole job."""
    return sum(free[g] for g in machine.inside[cluster]) - sum(counts)


def held_by(cluster: int, usable: Counts, job: Job, machine: Machine) -> int:
    """Return how many of a job's tasks the usable nodes of a cluster hold."""
    return sum(usable[g] * together(job, g) for g in machine.inside[cluster])


def largest_first(usable: Counts, job: Job, machine: Machine) -> list[int]:
    """Return the clusters by usable nodes, or by how many of the job's tasks they hold (reading 76), most first."""
    return sorted(range(len(machine.uplinks)), key=lambda k: (-held_by(k, usable, job, machine), k))


def efficiency_cost(job: Job, counts: Counts, machine: Machine) -> float:
    """Return the joules that `efficient` compares clusters by (reading 19)."""
    seconds = (job.sigma * processing_slowdown(counts, machine) + (1.0 - job.sigma)) * job.estimate
    idle_total = 0.0
    for group in machine.groups:
        idle_total += group.count * group.idle
    cost = 0.0
    for group, x in zip(machine.groups, counts, strict=True):
        cost += x * (group.busy - group.idle) * seconds
    return cost + (sum(counts) / machine.nodes) * idle_total * seconds


def place_single(job: Job, free: Counts, usable: Counts, machine: Machine) -> Counts | None:
    """Return the nodes in the one cluster that `fastest` chooses (reading 15)."""
    held = single_clusters(job, usable, machine, "fastest")
    if not held:
        return None
    return min(held, key=lambda at: (-slowest_speed(at[1], machine), left_over(at[0], free, at[1], machine), at[0]))[1]


def place_fastest(job: Job, free: Counts, usable: Counts, machine: Machine) -> Counts | None:
    """Return the nodes that `fastest` takes (readings 15 and 16)."""
    counts = place_single(job, free, usable, machine)
    if counts is not None:
        return counts

    def key(g: int) -> tuple[float, int, int, int, int]:
        k = machine.groups[g].cluster
        return (-machine.groups[g].speed, -sum(free[h] for h in machine.inside[k]), k, machine.turns[g], g)

    return fill(sorted(range(len(free)), key=key), usable, job)


def place_home(job: Job, usable: Counts, machine: Machine) -> Counts | None:
    """Return the nodes in the job's origin cluster (reading 17)."""
    if job.origin is None:
        raise ValueError(f"Job {job.id}: placement='home' needs an origin.")
    return fill(order_inside(job.origin, machine, "home"), usable, job)


def place_best_fit(job: Job, free: Counts, usable: Counts, machine: Machine) -> Counts | None:
    """Return the nodes of the tightest cluster, else the largest chunks (reading 18)."""
    held = single_clusters(job, usable, machine, "best_fit")
    if held:
        return min(held, key=lambda at: (left_over(at[0], free, at[1], machine), at[0]))[1]
    order = [g for k in largest_first(usable, job, machine) for g in order_inside(k, machine, "best_fit")]
    return fill(order, usable, job)


def place_efficient(job: Job, usable: Counts, machine: Machine) -> Counts | None:
    """Return the nodes of the cluster that needs the least energy, else the thriftiest groups (reading 19)."""
    held = single_clusters(job, usable, machine, "efficient")
    if held:
        return min(held, key=lambda at: (efficiency_cost(job, at[1], machine), at[0]))[1]
    groups = machine.groups
    order = sorted(range(len(groups)), key=lambda g: (extra_watts(groups[g]), groups[g].cluster, machine.turns[g], g))
    return fill(order, usable, job)


def place_powerful(job: Job, usable: Counts, machine: Machine) -> Counts | None:
    """Return the fastest nodes, whatever their cluster (reading 20)."""
    groups = machine.groups
    order = sorted(range(len(groups)), key=lambda g: (-groups[g].speed, groups[g].cluster, machine.turns[g], g))
    return fill(order, usable, job)


def place_big_small(job: Job, free: Counts, usable: Counts, machine: Machine) -> Counts | None:
    """Return one cluster, or one with most of the job and chunks for the rest (reading 21)."""
    counts = place_single(job, free, usable, machine)
    if counts is not None:
        return counts
    clusters = largest_first(usable, job, machine)
    if held_by(clusters[0], usable, job, machine) < math.ceil(0.75 * wanted(job)):
        return None
    order = [g for k in clusters for g in order_inside(k, machine, "big_small")]
    return fill(order, usable, job)


def overloads(job: Job, counts: Counts, loads: list[float], machine: Machine) -> bool:
    """Return whether the job would put an uplink that it uses over its bandwidth (reading 22)."""
    wanted = demands(job, counts, machine)
    return any(d > 0 and loads[k] + d > machine.uplinks[k] for k, d in enumerate(wanted))


def place(job: Job, free: Counts, loads: list[float], machine: Machine, rule: str) -> Counts | None:
    """Return the nodes of each group that the rule gives the job on these free nodes; None when it must wait."""
    usable = [min(nodes, cap) for nodes, cap in zip(free, effective_caps(job, machine), strict=True)]
    if rule == "fastest":
        return place_fastest(job, free, usable, machine)
    if rule == "single":
        return place_single(job, free, usable, machine)
    if rule == "home":
        return place_home(job, usable, machine)
    if rule == "best_fit":
        return place_best_fit(job, free, usable, machine)
    if rule == "efficient":
        return place_efficient(job, usable, machine)
    if rule == "powerful":
        return place_powerful(job, usable, machine)
    if rule == "big_small":
        return place_big_small(job, free, usable, machine)
    if rule == "link_aware":
        counts = place_fastest(job, free, usable, machine)
        return None if counts is None or overloads(job, counts, loads, machine) else counts
    raise ValueError(f"placement={rule!r} is none of {PLACEMENT}.")


def needs_fit(job: Job, left: Sequence[int]) -> bool:
    """Return whether enough is left of every pool (reading 30)."""
    return all(need <= amount for need, amount in zip(job.needs, left, strict=True))


def less(left: Sequence[int], job: Job) -> list[int]:
    """Return what a job leaves of every pool."""
    return [amount - need for need, amount in zip(job.needs, left, strict=True)]


def next_of(begun: list[float], rate: int) -> float:
    """Return when one more node of a cluster may begin to go off, or to boot, after these (reading 66)."""
    since, nodes = -math.inf, 0  # so many since then, without a rest that is long enough for all of them
    for time in begun:
        rested = time >= since + nodes * (60.0 / rate)
        since, nodes = (time, 1) if rested else (since, nodes + 1)
    return since + (nodes + 1 - rate) * (60.0 / rate)


def next_between(begun: list[float], rate: int, now: float, wanted: float) -> float:
    """Return when one more may begin from a time on, so that all others may begin when they do."""
    past, to_come = (sorted(time for time in begun if (time > now) is later) for later in (False, True))
    for k in range(len(to_come) + 1):
        before, behind = past + to_come[:k], to_come[k:]
        begin = max(wanted, next_of(before, rate))
        all_of_them = [*before, begin, *behind]
        if all_of_them[k + len(past):] == sorted(all_of_them[k + len(past):]) and all(
            time >= next_of(all_of_them[: len(before) + 1 + i], rate) for i, time in enumerate(behind)
        ):
            return begin
    raise AssertionError("whoever comes behind all others disturbs none")


def milliwatts(watts: float) -> int:
    """Return watts as caps count them (reading 70)."""
    return round(1000 * watts)


def planned_above_idle(job: Job, counts: Counts, machine: Machine, cap: Cap) -> int:
    """Return by how many milliwatts a job is planned to make the groups of a cap draw more than idle ones."""
    return sum(counts[g] * above_idle(job, machine.groups[g], machine) for g in cap.groups)


def above_idle(job: Job, group: Group, machine: Machine) -> int:
    """Return by how many milliwatts a job is planned to make a node draw more than an idle one, its boot included."""
    most = drawn(job, group) if machine.timeout is None else max(drawn(job, group), group.boot[1])
    return max(0, milliwatts(most) - milliwatts(group.idle))


def scrambled(seed: int, row: int, draw: int) -> int:
    """Return the 64 bits that belong to a seed, a row and a draw: splitmix64, three times (reading 42)."""
    z = 0
    for number in (seed, row, draw):
        z = ((z ^ number) + 0x9E3779B97F4A7C15) % 2**64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        z ^= z >> 31
    return z


def taken_of(limit: Limit, jobs: Sequence[Job] | dict[int, Job], j: int, counts: Counts | None) -> int:
    """Return what a job takes of a limit on these nodes; at least, where it has none yet (readings 43 and 76)."""
    job, what = jobs[j], limit.about[2]
    if counts is None or not job.fits or what == "jobs":
        return limit.parts[j]
    if what == "nodes":
        return sum(counts)
    return sum(x * fit for x, fit in zip(counts, job.fits, strict=True)) * dict(job.demand)["cpu"]


def over_limit(
    machine: Machine,
    jobs: Sequence[Job] | dict[int, Job],
    j: int,
    running: Sequence[tuple[int, Counts]],
    counts: Counts | None = None,
) -> bool:
    """Return whether a job would take more than these leave of some limit (reading 43)."""
    for limit in machine.limits:
        held = sum(taken_of(limit, jobs, i, nodes) for i, nodes in running if i in limit.parts)
        if j in limit.parts and taken_of(limit, jobs, j, counts) + held > limit.amount:
            return True
    return False


def feasible(job: Job, machine: Machine, placement: str) -> bool:
    """Return whether the job can be placed on the empty federation."""
    if not needs_fit(job, machine.pools):
        return False
    free = [group.count for group in machine.groups]
    return place(job, free, [0.0 for _ in machine.uplinks], machine, placement) is not None


def too_many_nodes(machine: Machine, jobs: Sequence[Job] | dict[int, Job], j: int, placement: str) -> bool:
    """Return whether a job is over a limit on the nodes that it is given of the empty federation (reading 76)."""
    free = [group.count for group in machine.groups]
    counts = place(jobs[j], free, [0.0 for _ in machine.uplinks], machine, placement)
    return counts is not None and over_limit(machine, jobs, j, [], counts)


# ------------------------------------------------------------------------------------------------- shapes


def shaped(job: Job, rule: str) -> Job:
    """Return the job in the shape that the rule chooses, by the requested time (reading 49).

    `earliest_finish` chooses later (reading 52): until then a job is as recorded.
    """
    if rule not in ("fixed", "smallest_area", "earliest_finish"):
        raise ValueError(f"alternatives={rule!r}.")
    if not job.alternatives:
        return job
    which = 0
    if rule == "smallest_area":
        areas = [(tasks * estimate, tasks) for tasks, _, estimate in job.alternatives]
        which = areas.index(min(areas))
    return in_shape(job, which)


def in_shape(job: Job, which: int) -> Job:
    """Return the job in one of its shapes."""
    tasks, runtime, estimate = job.alternatives[which]
    stands = job.standing[which] if job.standing else 0
    return replace(job, tasks=tasks, runtime=runtime, estimate=estimate, stands=stands)


def tasks_to_a_node(job: Job, machine: Machine) -> list[int]:
    """Return how many of a job's tasks stand on each of its nodes but the last, group by group (reading 76)."""
    widest = max([job.tasks, *(shape[0] for shape in job.alternatives)])
    if job.per_node:
        return [min(job.per_node, widest) for _ in machine.groups]
    told = {name for group in machine.groups for name, _ in group.resources}
    if not job.alone or "cpu" not in told:
        return [1 for _ in machine.groups]
    fits = []
    for group, cap in zip(machine.groups, effective_caps(replace(job, caps=None), machine), strict=True):
        has, task = dict(group.resources), {"cpu": 1} | dict(job.demand)
        room = [has.get(name, 0) // amount for name, amount in task.items() if name in told]
        fits.append(min(widest, *room) if cap else 0)
    return fits if len({*fits} - {0}) > 1 else [max(fits) or 1 for _ in fits]


def fewest_nodes(job: Job, machine: Machine, tasks: int) -> int:
    """Return on how few nodes of the empty machine so many tasks stand of which nodes hold different numbers.

    What finds no place there would take more of the largest nodes.
    """
    caps, left, nodes = effective_caps(replace(job, caps=None), machine), tasks, 0
    for g in sorted(range(len(caps)), key=lambda g: -job.fits[g]):
        taken = min(caps[g], math.ceil(left / job.fits[g])) if job.fits[g] else 0
        left, nodes = max(0, left - taken * job.fits[g]), nodes + taken
    return nodes + math.ceil(left / max(job.fits))


def on_whole_nodes(job: Job, machine: Machine) -> Job:
    """Return a job with several tasks to a node as one of as many tasks as it has nodes (reading 76)."""
    fits = tasks_to_a_node(job, machine)
    needs = {"cpu": 1} | dict(job.demand)
    if len({*fits}) > 1:
        held = replace(
            job, demand=tuple(needs.items()), per_node=0, alone=False, stands=job.tasks, fits=tuple(fits),
            standing=tuple(tasks for tasks, *_ in job.alternatives),
        )  # fmt: skip
        shapes = tuple((fewest_nodes(held, machine, tasks), *times) for tasks, *times in job.alternatives)
        return replace(held, tasks=fewest_nodes(held, machine, job.tasks), alternatives=shapes)
    k = fits[0]
    if k == 1:
        return replace(job, per_node=0, alone=False)
    nodes = math.ceil(job.tasks / k)
    demand = tuple((name, k * amount) for name, amount in needs.items())
    shapes = tuple((math.ceil(tasks / k), *times) for tasks, *times in job.alternatives)
    return replace(
        job, tasks=nodes, alternatives=shapes, demand=demand, per_node=0, alone=False,
        together=k, stands=job.tasks, standing=tuple(tasks for tasks, *_ in job.alternatives),
    )  # fmt: skip


def part_of(job: Job, what: str) -> int:
    """Return how much of a limit in jobs, nodes or CPUs a job takes (reading 43)."""
    tasks = job.stands if job.fits else job.tasks  # so many CPUs at least, wherever they stand
    return {"jobs": 1, "nodes": job.tasks, "cpus": tasks * dict(job.demand).get("cpu", 1)}[what]


def of_these(limit: Limit, jobs: Sequence[Job]) -> Limit:
    """Return the limit of jobs in their shapes: one in nodes counts those that they have."""
    return replace(limit, parts={j: part_of(jobs[j], limit.about[2]) for j in limit.parts})


def limiting(machine: Machine, jobs: Sequence[Job]) -> Machine:
    """Return the machine with limits of jobs in their shapes."""
    return replace(machine, limits=tuple(of_these(limit, jobs) for limit in machine.limits))


# ------------------------------------------------------------------------------------ jobs that wait for jobs


def released(job: Job, moment: float, time: float) -> float:
    """Return when a job may start, at `time` or later, that might from `moment` on, were it not held (reading 73)."""
    ends = [end for begin, end in job.held if begin <= max(moment, time)]
    return max(moment, ends[-1]) if ends else moment


def unheld(job: Job, since: float, until: float) -> list[tuple[float, float]]:
    """Return when a job that waits from one time to the other is not held, the last stretch up to that one."""
    found, begin = [], since
    for hold, release in job.held:
        if release > begin and hold < until:
            found.append((begin, hold))
            begin = release
    return [(a, b) for a, b in found if a < b] + [(begin, until)]


def conditions(jobs: Sequence[Job], j: int) -> list[Condition]:
    """Return what a job waits for: a singleton for the end of each like job before it (reading 34)."""
    job, found = jobs[j], []
    for kind, on, lag in job.after:
        if kind != "singleton":
            found.append((kind, on, lag))
            continue
        for i, other in enumerate(jobs):
            alike = (other.user, other.name) == (job.user, job.name)
            if alike and (other.submit, other.id) < (job.submit, job.id):
                found.append(("afterany", i, lag))
    if job.follows is not None:
        found.append(("afterany", *job.follows))
    return found


def circular(jobs: Sequence[Job]) -> bool:
    """Return whether jobs wait for each other in a circle."""
    left = set(range(len(jobs)))
    while True:
        free = {j for j in left if not any(on in left for _, on, _ in conditions(jobs, j))}
        if not free:
            return bool(left)
        left -= free


def end_of(job: Job, kill_at_estimate: bool) -> str:
    """Return how a job ends that runs to its end (reading 35)."""
    killed = kill_at_estimate and job.estimate < job.runtime
    return "badly" if job.ends == "well" and killed else job.ends


def never_start(
    jobs: Sequence[Job],
    kill_at_estimate: bool,
    deadly: bool = False,
    missed: AbstractSet[int] = frozenset(),
    in_any_shape: bool = False,
) -> set[int]:
    """Return the jobs that have a condition which cannot hold (reading 35); where closures kill, any may end badly.

    Those who `missed` their reservation never end (reading 46). Where shapes are still to be chosen, a job may end as
    it does in any of them (reading 52).
    """

    def ends(job: Job) -> set[str]:
        shapes = range(len(job.alternatives)) if in_any_shape else ()
        return {end_of(one, kill_at_estimate) for one in [*(in_shape(job, which) for which in shapes)] or [job]}

    hopeless: set[int] = set()
    while True:
        more = {
            j
            for j in range(len(jobs))
            if jobs[j].cancel_at == math.inf  # else it comes to an end in any case (reading 44)
            for kind, on, _ in conditions(jobs, j)
            if on in hopeless | missed
            or (kind == "afterok" and "well" not in ends(jobs[on]))
            or (kind == "afternotok" and "badly" not in ends(jobs[on]) and not deadly)
        }
        if more <= hopeless:
            return hopeless
        hopeless |= more


# -------------------------------------------------------------------------------------------- queue orders


def queue_key(job: Job, order: str, wait: float, t0: float) -> float:
    """Return what a queue order sorts by, least first (readings 13 and 34)."""
    ratio = wait / job.estimate
    keys = {
        "fcfs": 0.0,
        "sjf": job.estimate,
        "ljf": -job.estimate,
        "smallest": float(job.tasks),
        "largest": -float(job.tasks),
        "saf": job.tasks * job.estimate,
        "laf": -(job.tasks * job.estimate),
        "xfactor": -((wait + job.estimate) / job.estimate),
        "wfp3": -(ratio * ratio * ratio * job.tasks),
        "unicef": -(wait / (math.log2(max(job.tasks, 2)) * job.estimate)),
        "f1": math.log10(max(job.estimate, 1.0)) * job.tasks + 870.0 * math.log10(max(job.submit - t0, 1.0)),
    }
    return keys[order]


# ---------------------------------------------------------------------------------------------- event loop


class Simulation:
    """The event loop: instants or single events, each with a dispatch pass."""

    def __init__(
        self,
        jobs: list[Job],
        machine: Machine,
        order: Order,
        backfill_order: Order,
        dispatch: str,
        placement: str,
        sequential: bool,
        saturation: str,
        kill_at_estimate: bool,
        t0: float,
        running: Sequence[Running],
        watch: Callable[[Simulation], None] | None,
        decide: Decide | None,
        places: int,
        shapes_on_the_way: bool,
    ) -> None:
        self.jobs, self.machine = jobs, machine
        self.asked = list(jobs)  # in the shapes that they had at first, by which orders go (reading 52)
        self.shapes_on_the_way = shapes_on_the_way
        self.order, self.backfill_order = order, backfill_order
        self.dispatch, self.placement = dispatch, placement
        self.sequential, self.kill = sequential, kill_at_estimate
        self.static, self.fair = saturation == "static", saturation == "fair"
        self.t0 = self.now = t0
        self.running = [replace(record) for record in running]  # in start order
        already = {record.job for record in running}
        self.arrivals = sorted(  # not yet submitted
            (j for j in range(len(jobs)) if j not in already), key=lambda j: (jobs[j].submit, jobs[j].id, j)
        )
        deadly = any(closure.on_running == "kill" and closure.begin > t0 for closure in machine.closures)
        self.hopeless = never_start(jobs, kill_at_estimate, deadly, in_any_shape=shapes_on_the_way)
        self.arrivals = [j for j in self.arrivals if j not in self.hopeless]
        self.held = [j for j in self.arrivals if jobs[j].follows is not None]  # submitted, or to be so by an end
        self.arrivals = [j for j in self.arrivals if jobs[j].follows is None]
        self.since: dict[int, float] = {}  # when each that joined the queue became eligible
        self.ready_first: dict[int, float] = {}  # and when it did so first
        self.away: dict[int, float] = {}  # until when those are held that were in the queue
        changes = {time for closure in machine.closures for time in (closure.begin, closure.end)}
        self.changes = sorted(time for time in changes if t0 < time < math.inf)  # to come
        self.stepped = self.quiet = t0  # caps have changed until then; something else happened then
        self.queue: list[int] = []
        self.done: list[Running] = []
        self.cancelled: list[int] = []
        self.spared: set[int] = set()  # who ran when it would have been cancelled
        self.lost: list[Lost] = []
        self.begun = {record.job: record.start for record in running}  # when each first started
        self.over: dict[int, tuple[float, str]] = {}  # when and how each ended
        self.saturated = [0.0 for _ in machine.uplinks]
        self.watch = watch
        self.decide, self.places = decide, places
        self.turn: int | None = None  # the reservation whose queue is gone over, or everybody's
        held = [sum(record.counts[g] for record in running) for g in range(len(machine.groups))]  # at t0
        self.idle = [[t0 for _ in range(group.count - held[g])] for g, group in enumerate(machine.groups)]  # since when
        self.off: list[list[float]] = [[] for _ in machine.groups]  # since when each that is off goes off
        self.settled = [t0 for _ in machine.groups]
        self.gone: list[list[float]] = [[] for _ in machine.uplinks]  # when nodes of each cluster began to go off,
        self.woken: list[list[float]] = [[] for _ in machine.uplinks]  # and to boot, in the order they were asked to
        self.nights: list[Night] = []
        self.owed = [0 for _ in machine.groups]  # nodes that downtimes close as soon as jobs release them
        for one in machine.closures:
            if one.begin <= t0 < one.end and one.reservation is None:
                self.close(one.group, one.nodes)

    def run(self) -> Result:
        while self.goes_on():
            self.advance_clock()
            if self.sequential:
                self.one_event()
            else:
                self.one_instant()
            if self.watch is not None:
                self.watch(self)
        some_are_cancelled = any(job.cancel_at < math.inf for job in self.jobs)  # then others may wait for ever
        never = self.machine.closures or self.machine.caps
        killed = self.kill and self.shapes_on_the_way and not self.queue  # whoever waits for another end than came
        if (self.queue or self.held) and not never and not some_are_cancelled and not killed:
            raise RuntimeError(f"Jobs {[self.jobs[j].id for j in self.queue + self.held]} never started.")
        apart = [replace(job, follows=None) for job in self.jobs]
        ended = {record.job: record for record in self.done}
        records = [ended.get(j, NEVER) for j in range(len(self.jobs))]
        return Result(
            [replace(job, submit=self.submitted(j)) for j, job in enumerate(self.jobs)],
            self.machine,
            self.t0,
            [record.start for record in records],
            [record.finish for record in records],
            [record.counts or [0 for _ in self.machine.groups] for record in records],
            sum(self.saturated),
            [self.eligible_since(j, self.since) for j in range(len(self.jobs))],
            self.lost,
            self.cancelled,
            self.kill,
            [conditions(apart, j) for j in range(len(self.jobs))],
            [record.start if math.isnan(record.promised) else record.promised for record in records],
            self.nights_until(max([record.finish for record in self.done], default=self.t0)),
            [self.eligible_since(j, self.ready_first) for j in range(len(self.jobs))],
        )

    def eligible_since(self, j: int, since: dict[int, float]) -> float:
        """Return since when a job waited in the queue: a cancelled one may never have."""
        return since.get(j, math.inf if j in self.cancelled else self.jobs[j].submit)

    def goes_on(self, *, recurring: bool = True) -> bool:
        """Return whether anything is to come that may let a job start or end, changes of recurring caps or without."""
        coming = any(self.moment(j) is not None for j in self.held)
        coming = coming or bool(self.queue and (self.changes or self.next_step(recurring) < math.inf))
        coming = coming or bool(self.to_cancel(math.inf))
        coming = coming or any(begin > self.now for j in self.queue for begin, _ in self.jobs[j].held)
        return bool(self.arrivals or self.running) or coming

    def advance_clock(self) -> None:
        """Go to the next submission, finish, eligibility, cancellation or change of the calendar.

        The seconds of saturated uplinks until then are counted (reading 9).
        """
        times = [self.jobs[j].submit for j in self.arrivals] + [record.finish for record in self.running]
        times += [moment for j in self.held if (moment := self.moment(j)) is not None] + self.changes
        times += [self.jobs[j].cancel_at for j in self.to_cancel(math.inf)]
        times += [begin for j in self.queue for begin, _ in self.jobs[j].held if begin > self.now]
        times += [record.start for record in self.running if self.waits_to_send(record, self.now)]
        before, self.now = self.now, max(self.now, min([*times, self.next_step()]))
        if min(times, default=math.inf) <= self.now or self.now in self.final_steps():
            self.quiet = self.now
        self.spared |= {record.job for record in self.running if self.jobs[record.job].cancel_at <= self.now}
        for k, load in enumerate(self.loads(self.sending(before))):
            if load > self.machine.uplinks[k]:
                self.saturated[k] += self.now - before

    # --------------------------------------------------------------------------------------------- caps (reading 70)

    def final_steps(self) -> list[float]:
        """Return when caps that do not come again change, from t0 on."""
        return [time for cap in self.machine.caps if cap.period == math.inf for time in cap.steps(self.t0, math.inf)]

    def longest_period(self) -> float:
        """Return how long the caps that come again take for it."""
        return max((cap.period for cap in self.machine.caps if cap.period < math.inf), default=0.0)

    def next_step(self, recurring: bool = True) -> float:
        """Return when a cap (`recurring`: or not one of those) next changes; infinite where that is of no use."""
        again = [cap for cap in self.machine.caps if recurring and cap.period < math.inf]
        near = [time for cap in again for time in cap.steps(self.stepped, self.stepped + cap.period)[:1]]
        if near and not self.running and min(near) > self.quiet + self.longest_period():
            near = []
        return min([*near, *(time for time in self.final_steps() if time > self.stepped)], default=math.inf)

    def room(self, cap: Cap, time: float, plans: Sequence[Reservation] = ()) -> int:
        """Return how many milliwatts a cap leaves at a time of the plan, beside idle nodes and what runs then."""
        left = milliwatts(cap.at(time))
        for group in [self.machine.groups[g] for g in cap.groups]:
            left -= group.count * milliwatts(group.idle)
            if self.machine.ahead:  # all nodes of the reserve may boot at the same time
                booting = min(group.count, self.machine.timeout[1])
                left -= booting * max(0, milliwatts(group.boot[1]) - milliwatts(group.idle))
        there = [(record.job, record.counts) for record in self.present() if self.end_in_plan(record) > time]
        there += [(one.job, one.counts) for one in plans if one.start <= time < one.end]
        return left - sum(planned_above_idle(self.jobs[j], counts, self.machine, cap) for j, counts in there)

    def cap_changes(self, last: float) -> list[float]:
        """Return the times to come at which caps change, up to a whole period past all that is known until `last`."""
        last = max([last, *self.final_steps()])
        return [time for cap in self.machine.caps for time in cap.steps(self.now, last + self.longest_period())]

    def under_caps(
        self,
        j: int,
        counts: Counts,
        begin: float,
        end: float,
        beside: Extra | None = None,
        plans: Sequence[Reservation] = (),
    ) -> bool:
        """Return whether what a job is planned to draw stays under all caps from `begin` on, before `end`."""
        for cap in self.machine.caps:
            more = planned_above_idle(self.jobs[j], counts, self.machine, cap)
            if beside is not None:
                more += planned_above_idle(self.jobs[beside.whose], beside.head, self.machine, cap)
            steps = [] if self.machine.cap_at_start else [time for time in cap.steps(begin, end) if time < end]
            steps += [one.start for one in plans if begin < one.start < end]  # whose watts are kept, also at these
            if any(more > self.room(cap, time, plans) for time in (begin, *steps)):
                return False
        return True

    def spares_caps(self, j: int, counts: Counts, shadow: float, end: float, extra: Extra) -> bool:
        """Return whether a job that lasts leaves the head its watts at the shadow time and as long as both run."""
        return extra.whose < 0 or self.under_caps(j, counts, shadow, min(end, extra.until), beside=extra)

    def one_instant(self) -> None:
        """Let all cancellations and finishes of now, then all submissions, then one pass happen (reading 1)."""
        self.cancel()
        self.hold()
        for record in [record for record in self.running if record.finish <= self.now]:
            self.end(record)
        self.update_rates()
        self.stepped = self.now
        if self.changes and self.changes[0] <= self.now:
            self.changes.pop(0)
            self.take_nodes()
            self.close_and_open()
            self.update_rates()
        while self.arrivals and self.jobs[self.arrivals[0]].submit <= self.now:
            self.submit_and_join()
        self.let_join(self.due())
        self.dispatch_pass()
        self.update_rates()

    def one_event(self) -> None:
        """Let one event of now happen, with its own pass: a change of the calendar, or else a submission, an

        eligibility, or else a finish (readings 2, 36, 38); cancellations come before, and may be all there is.
        """
        self.cancel()
        self.hold()
        a_cap_changes = self.next_step() <= self.now
        self.stepped = self.now
        if self.changes and self.changes[0] <= self.now:
            self.changes.pop(0)
            self.take_nodes()
        elif a_cap_changes:
            pass
        elif self.arrivals and self.jobs[self.arrivals[0]].submit <= self.now:
            self.submit_and_join()
        elif self.due():
            self.let_join(self.due()[:1])
        elif ending := [record for record in self.running if record.finish <= self.now]:
            self.end(ending[0])
            self.update_rates()
            self.let_join(self.due())
        self.update_rates()
        self.dispatch_pass()
        self.update_rates()

    # ------------------------------------------------------------------------------- nodes that go off (reading 66)

    def doze(self, g: int, now: float) -> None:
        """Let the nodes of a group go off, the longest idle first, whose time came before now."""
        if self.machine.rates[0]:
            self.doze_in_turn(self.machine.inside[self.machine.groups[g].cluster], now)
        elif self.machine.timeout is not None:
            seconds, keep = self.machine.timeout
            while len(self.idle[g]) > keep:  # those that boot ahead stand there too, by when they will be on
                due = max(min(self.idle[g]) + seconds, self.settled[g])
                if due >= now:
                    break
                self.idle[g].remove(min(self.idle[g]))
                self.off[g].append(due)
        self.settled[g] = now

    def doze_in_turn(self, groups: list[int], now: float) -> None:
        """Let the nodes of a cluster's groups go off likewise, as its rate allows."""
        seconds, keep = self.machine.timeout
        gone = self.gone[self.machine.groups[groups[0]].cluster]
        while there := [(min(self.idle[g]), g) for g in groups if len(self.idle[g]) > keep]:
            since, g = min(there)
            due = max(since + seconds, self.settled[g], next_of(gone, self.machine.rates[0]))
            if due >= now:
                break
            gone.append(due)
            self.idle[g].remove(since)
            self.off[g].append(due)
        for g in groups:
            self.settled[g] = now

    def ready(self, counts: Counts) -> float:
        """Take nodes from the idle ones, and return when the last of them is on."""
        ready = self.now
        for g, x in enumerate(counts):
            if x == 0:
                continue
            self.doze(g, self.now)
            idle = self.idle[g]
            for _ in range(x):
                if there := [since for since in idle if since <= self.now]:
                    idle.remove(max(there))
                elif idle:
                    ready = max(ready, min(idle))
                    idle.remove(min(idle))
                else:
                    ready = max(ready, self.boot(g))
            while self.machine.ahead and self.off[g] and len(idle) < self.machine.timeout[1]:
                idle.append(self.boot(g))
        return ready

    def on_at(self, counts: Counts) -> float:
        """Return when the last of these nodes would be on if a job took them now."""
        kept = deepcopy((self.idle, self.off, self.settled, self.gone, self.woken, self.nights))
        ready = self.ready(counts)
        self.idle, self.off, self.settled, self.gone, self.woken, self.nights = kept
        return ready

    def boot(self, g: int) -> float:
        """Let the node of a group boot that was the first to go off; return when it is on."""
        group, begin = self.machine.groups[g], min(self.off[g])
        self.off[g].remove(begin)
        boot = max(self.now, begin + group.shutdown[0])
        if rate := self.machine.rates[1]:
            boot = next_between(self.woken[group.cluster], rate, self.now, boot)
            self.woken[group.cluster].append(boot)
        self.nights.append(Night(g, begin, boot))
        return boot + group.boot[0]

    def nights_until(self, last: float) -> list[Night]:
        """Return all stretches off until the last end."""
        for g in range(len(self.machine.groups)):
            self.doze(g, last)
        nights = self.nights + [Night(g, begin, math.inf) for g, off in enumerate(self.off) for begin in off]
        return [night for night in nights if night.begin < last]  # downtimes may close and open nodes after that

    def close_and_open(self) -> None:
        """Let the downtimes that end now open their nodes, which are on and idle from now, and others close theirs."""
        if self.machine.timeout is None:
            return
        downtimes = [one for one in self.machine.closures if one.reservation is None]
        for one in downtimes:
            if one.end == self.now:
                paid = min(one.nodes, self.owed[one.group])
                self.owed[one.group] -= paid
                self.doze(one.group, self.now)
                self.idle[one.group] += [self.now] * (one.nodes - paid)
        for one in downtimes:
            if one.begin == self.now:
                self.close(one.group, one.nodes)

    def close(self, g: int, nodes: int) -> None:
        """Close nodes that no job has: those off, the last to go off first, then on, the longest idle first, then

        those that boot ahead, the last to be ready first; the rest is owed.
        """
        self.doze(g, self.now)
        for _ in range(nodes):
            there = [since for since in self.idle[g] if since <= self.now]
            if self.off[g]:
                self.nights.append(Night(g, max(self.off[g]), math.inf, self.now))
                self.off[g].remove(max(self.off[g]))
            elif there:
                self.idle[g].remove(min(there))
            elif self.idle[g]:
                ready = max(self.idle[g])
                self.idle[g].remove(ready)
                boots = [one for one in self.nights if one.group == g and one.until == math.inf
                         and one.end + self.machine.groups[g].boot[0] == ready]  # fmt: skip
                self.nights.remove(boots[-1])
                self.nights.append(replace(boots[-1], until=self.now))
            else:
                self.owed[g] += 1

    def end(self, record: Running) -> None:
        for g, x in enumerate(record.counts):
            if self.machine.timeout is not None and x > 0:
                self.doze(g, self.now)
                self.idle[g] += [self.now] * x
                paid = min(x, self.owed[g])
                self.owed[g] -= paid
                self.close(g, paid)
        self.running.remove(record)
        self.done.append(record)
        self.over[record.job] = (record.finish, end_of(self.jobs[record.job], self.kill))

    def submit(self) -> int:
        """Let the next job be submitted, unless it is gone already."""
        j = self.arrivals.pop(0)
        if j not in self.cancelled:
            self.held.append(j)
        return j

    def submit_and_join(self) -> None:
        """Let the next job be submitted; one that then waits for nothing joins the queue."""
        earlier = self.due()
        j = self.submit()
        self.let_join([j] if j in self.due() and j not in earlier else [])

    # ------------------------------------------------------------------------------------- jobs that are cancelled

    def to_cancel(self, until: float) -> list[int]:
        """Return who is cancelled by then unless it starts before, in the order of these times (reading 44)."""
        waiting = {*self.arrivals, *self.held, *self.queue} - self.spared - {*self.cancelled}
        found = [j for j in waiting if self.jobs[j].cancel_at < math.inf and self.jobs[j].cancel_at <= until]
        return sorted(found, key=lambda j: self.jobs[j].cancel_at)

    def cancel(self) -> None:
        """Let go whoever is cancelled by now."""
        for j in self.to_cancel(self.now):
            self.cancelled.append(j)
            self.over[j] = (self.jobs[j].cancel_at, "cancelled")
            self.held = [i for i in self.held if i != j]
            self.queue = [i for i in self.queue if i != j]

    # -------------------------------------------------------------------------------- jobs that are held (reading 73)

    def hold(self) -> None:
        """Let whoever waits and is held from now on leave the queue."""
        for j in list(self.queue):
            if any(begin <= self.now < end for begin, end in self.jobs[j].held):
                self.queue.remove(j)
                self.goes_away(j)

    def goes_away(self, j: int) -> None:
        self.away[j] = released(self.jobs[j], self.since.get(j, -math.inf), self.now)
        self.held.append(j)

    # ------------------------------------------------------------------------------------- jobs that lose their nodes

    def take_nodes(self) -> None:
        """Let the closures that begin now take nodes from jobs that run (reading 42)."""
        for number, closure in enumerate(self.machine.closures):
            if closure.begin == self.now and closure.on_running != "wait":
                for record in self.victims(number, closure):
                    self.lose(record, requeue=closure.on_running == "requeue")

    def victims(self, number: int, closure: Closure) -> list[Running]:
        """Return the jobs whose nodes a closure that begins now takes."""
        g = closure.group
        held = [record for record in self.running if record.finish > self.now and record.counts[g] > 0]
        if closure.victims == "recorded":
            return held
        older = [one for one in self.machine.closures[:number] if one.begin == self.now]
        older += [one for one in self.machine.closures if one.begin < self.now]
        older = [one for one in older if one.reservation is None]  # whose idle nodes are there to be closed
        closed = sum(one.nodes for one in older if one.group == g and one.covers(self.now))
        free = self.machine.groups[g].count - closed - sum(record.counts[g] for record in held)
        if closure.victims == "random":
            nodes: list[Running | None] = [record for record in held for _ in range(record.counts[g])]
            nodes += [None for _ in range(max(0, free))]
            hit = []
            for k in range(min(closure.nodes, len(nodes))):
                place = k + scrambled(closure.seed, number, k) % (len(nodes) - k)
                nodes[k], nodes[place] = nodes[place], nodes[k]
                hit.append(nodes[k])
            return [record for record in held if any(record is one for one in hit)]
        found = []
        lacking = min(closure.nodes, closure.nodes - free)
        while lacking > 0 and held:
            victim = max(held, key=self.loses_first)
            held.remove(victim)
            found.append(victim)
            lacking -= victim.counts[g]
        return found

    def loses_first(self, record: Running) -> tuple[bool, float, float, int]:
        job = self.jobs[record.job]
        return (record.planned_end <= self.now, record.start, job.submit, job.id)

    def lose(self, record: Running, requeue: bool) -> None:
        """Take a running job's nodes."""
        self.running.remove(record)
        self.lost.append(Lost(record.job, record.start, self.now, record.counts, requeue))
        if requeue:
            j = record.job
            if any(begin <= self.now < end for begin, end in self.jobs[j].held):
                self.goes_away(j)
            else:
                self.since[j] = released(self.jobs[j], self.eligible_since(j, self.since), self.now)
                self.queue.append(j)
        else:
            self.over[record.job] = (self.now, "badly")

    # ------------------------------------------------------------------------------------- jobs that wait for jobs

    def moment(self, j: int) -> float | None:
        """Return when a submitted job is, or will be, eligible; None while a condition is open (reading 34)."""
        job = self.jobs[j]
        if j in self.away:
            return self.away[j]
        moments = [job.begin] if job.follows is not None else [job.submit, job.begin]
        if job.reservation is not None:
            moments.append(self.machine.kept(job.reservation)[0].begin)
        for kind, on, lag in conditions(self.jobs, j):
            if on not in (self.begun if kind == "after" else self.over):
                return None
            since, how = (self.begun[on], "") if kind == "after" else self.over[on]
            if (kind == "afterok" and how != "well") or (kind == "afternotok" and how != "badly"):
                return None
            moments.append(since + lag)
        # of a reservation that a plan does not know, none
        return released(job, max(moments), self.t0) if max(moments) < math.inf else None

    def submitted(self, j: int) -> float:
        """Return when a job was submitted: as recorded, or when its user had thought (reading 45)."""
        job = self.jobs[j]
        if job.follows is None or job.follows[0] not in self.over:
            return job.submit
        moved = self.over[job.follows[0]][0] + job.follows[1]
        return job.submit if j in self.cancelled and moved > job.cancel_at else moved

    def due(self) -> list[int]:
        """Return the submitted jobs that are eligible by now and not in the queue yet, in their order."""
        moments = {j: self.moment(j) for j in self.held}
        due = [(moment, j) for j, moment in moments.items() if moment is not None and moment <= self.now]
        return [j for _, j in sorted(due, key=lambda one: (one[0], self.jobs[one[1]].submit, self.jobs[one[1]].id))]

    def let_join(self, due: list[int]) -> None:
        """Let eligible jobs join the queue."""
        for j in due:
            self.since[j] = self.moment(j) or 0.0
            self.ready_first.setdefault(j, self.since[j])
            self.held.remove(j)
            if self.away.pop(j, None) is None and self.shapes_on_the_way and self.jobs[j].alternatives:
                self.jobs[j] = self.in_its_first_to_end(j)
                self.machine = limiting(self.machine, self.jobs)
            self.queue.append(j)

    def in_its_first_to_end(self, j: int) -> Job:
        """Return a job that joins the queue in the shape that is planned to end first behind it (reading 52)."""
        asked = self.jobs[j]
        self.turn = asked.reservation
        plans: list[Reservation] = []
        for i in self.sorted_by(self.order, self.waiting()):
            planned = None if self.over_limit(i) else self.plan(i, plans)
            plans += [] if planned is None else [planned]
        best, chosen = (math.inf, math.inf), asked
        for which, (tasks, *_) in enumerate(asked.alternatives):
            self.jobs[j] = in_shape(asked, which)
            alone = over_limit(limiting(self.machine, self.jobs), self.jobs, j, [])
            if alone or not feasible(self.jobs[j], self.machine, self.placement):
                continue
            planned = self.plan(j, plans)
            if planned is not None and (planned.end, tasks * (planned.end - planned.start)) < best:
                best, chosen = (planned.end, tasks * (planned.end - planned.start)), self.jobs[j]
        return chosen

    # ------------------------------------------------------------------------------------------------ rates

    def loads(self, records: Iterable[Running]) -> list[float]:
        return uplink_loads(((self.jobs[record.job], record.counts) for record in records), self.machine)

    def waits_to_send(self, record: Running, now: float) -> bool:
        """Return whether a job that has its nodes waits for their boots before it uses finite uplinks (reading 66)."""
        wanted = demands(self.jobs[record.job], record.counts, self.machine)
        sends = any(d > 0 and uplink < math.inf for d, uplink in zip(wanted, self.machine.uplinks, strict=True))
        return sends and record.start > now

    def sending(self, now: float) -> list[Running]:
        """Return the running jobs but those that wait to send, in the order in which they began to."""
        there = [record for record in self.running if not self.waits_to_send(record, now)]
        return sorted(there, key=lambda record: record.start)

    def slowdowns(self) -> list[float]:
        """Return CS of every running job by the loads of now (readings 7, 59)."""
        sending = self.sending(self.now)
        found = slowdowns([(self.jobs[record.job], record.counts) for record in sending], self.machine, self.fair)
        of_job = {record.job: slowdown for record, slowdown in zip(sending, found, strict=True)}
        return [of_job.get(record.job, 1.0) for record in self.running]

    def update_rates(self) -> None:
        """Bring the time cost of every running job up to date with the loads of now (readings 5 to 7).

        A job whose finish is now has done its work and is left as it is: rounding would else move its end a hair
        past now, while others may already have been given its nodes (reading 3).
        """
        for record, slowdown in zip(self.running, self.slowdowns(), strict=True):
            job = self.jobs[record.job]
            if self.waits_to_send(record, self.now):
                continue
            if not record.rated:
                record.tc = time_cost(job, record.counts, slowdown, self.machine)
                record.finish = ends_at(record.start + record.work_left * record.tc, record.start)  # eq. 1.6
                record.planned_end = ends_at(record.start + record.estimate_left * record.tc, record.start)
                record.rated = True
            elif not self.static and record.finish > self.now:
                tc = time_cost(job, record.counts, slowdown, self.machine)
                if tc != record.tc:
                    passed = (self.now - record.since) / record.tc
                    record.work_left = max(0.0, record.work_left - passed)
                    record.estimate_left -= passed
                    record.since = self.now
                    record.tc = tc
                    record.finish = ends_at(self.now + record.work_left * tc, self.now)
                    record.planned_end = ends_at(self.now + record.estimate_left * tc, self.now)

    # ---------------------------------------------------------------------------------- what decisions see

    def present(self) -> list[Running]:
        """Return the running jobs that hold nodes in this pass's decisions (reading 3)."""
        if not self.sequential:
            return list(self.running)
        return [
            record
            for record in self.running
            if not (record.rated and record.finish <= self.now and record.planned_end <= self.now)
        ]

    def end_in_plan(self, record: Running) -> float:
        """Return the planned end of a running job, which is always after now (reading 8).

        Of a job whose finish is pending it is just after now, too: its nodes are free already, its links are not.
        """
        return ends_at(record.planned_end, self.now)

    def just_after(self) -> float:
        return math.nextafter(self.now, math.inf)

    def known_closures(self) -> list[Closure]:
        """Return the closures that are not over yet and that planners know of, as they see them (reading 39)."""
        known = [one for one in self.machine.closures if one.known_from <= self.now < one.end]
        return [closure.as_planned() for closure in known]

    def next_closures(self, begin: float, end: float) -> list[float]:
        """Return when known closures begin, or the reservation ends whose queue it is, within (begin, end)."""
        times = {closure.begin for closure in self.known_closures()} | {self.open_until()}
        return sorted(time for time in times if begin < time < end)

    def open_until(self) -> float:
        """Return when the reservation ends whose queue is gone over."""
        return math.inf if self.turn is None else self.machine.kept(self.turn)[0].end

    def kept_for_others(self, g: int, time: float) -> bool:
        """Return whether a group is closed at a time to the jobs whose queue is gone over (reading 46)."""
        known = [one for one in self.known_closures() if one.group == g and one.covers(time)]
        keepers = [one.reservation for one in known if one.reservation is not None]
        return keepers != ([] if self.turn is None else [self.turn])

    def free_at(self, time: float, reservations: Sequence[Reservation] = ()) -> Counts:
        """Return the free nodes per group at a time of the plan: none, where closures are owed some (reading 40)."""
        free = [group.count for group in self.machine.groups]
        for record in self.present():
            if self.end_in_plan(record) > time:
                free = [nodes - x for nodes, x in zip(free, record.counts, strict=True)]
        for closure in self.known_closures():
            if closure.covers(time) and closure.reservation is None:
                free[closure.group] -= closure.nodes
        free = [0 if self.kept_for_others(g, time) else max(0, nodes) for g, nodes in enumerate(free)]
        for reservation in reservations:
            if reservation.start <= time < reservation.end:
                free = [nodes - x for nodes, x in zip(free, reservation.counts, strict=True)]
        return free

    def loads_at(self, time: float, reservations: Sequence[Reservation] = ()) -> list[float]:
        """Return the uplink loads at a time of the plan, for `link_aware` (reading 22).

        A job whose finish is pending still loads its links now; it leaves them just after.
        """
        records = self.sending(self.now)
        records += [record for record in self.running if self.waits_to_send(record, self.now)]
        holders = [(self.jobs[r.job], r.counts) for r in records if self.end_in_plan(r) > time]
        holders += [(self.jobs[r.job], r.counts) for r in reservations if r.start <= time < r.end]
        return uplink_loads(holders, self.machine)

    def left_at(self, time: float, reservations: Sequence[Reservation] = ()) -> list[int]:
        """Return what is left of every pool at a time of the plan (reading 30)."""
        left = list(self.machine.pools)
        for record in self.present():
            if self.end_in_plan(record) > time:
                left = less(left, self.jobs[record.job])
        for reservation in reservations:
            if reservation.start <= time < reservation.end:
                left = less(left, self.jobs[reservation.job])
        return left

    def over_limit(self, j: int, counts: Counts | None = None) -> bool:
        """Return whether a job would take more than is left of some limit, on these nodes (readings 43 and 76)."""
        return over_limit(self.machine, self.jobs, j, [(one.job, one.counts) for one in self.present()], counts)

    def place_on(self, j: int, free: Counts, loads: list[float]) -> Counts | None:
        return place(self.jobs[j], free, loads, self.machine, self.placement)

    def place_at(self, j: int, time: float) -> Counts | None:
        if not needs_fit(self.jobs[j], self.left_at(time)):
            return None
        counts = self.place_over(j, time, lambda end: self.free_until(time, end), self.loads_at(time))
        if counts is None or not self.under_caps(j, counts, time, self.end_with_boots(j, counts, time)):
            return None
        return counts

    def end_with_boots(self, j: int, counts: Counts, begin: float) -> float:
        """Return the planned end of a job that takes nodes at a time: now, it may have to wait for their boots."""
        boots = begin == self.now and self.machine.timeout is not None
        return self.planned_end(j, counts, self.on_at(counts) if boots else begin)

    def planned_end(self, j: int, counts: Counts, begin: float) -> float:
        return ends_at(begin + planned_duration(self.jobs[j], counts, self.machine), begin)

    def free_until(self, begin: float, end: float) -> list[Counts]:
        """Return what is free at `begin`, and at each begin of a known closure before `end`."""
        return [self.free_at(time) for time in (begin, *self.next_closures(begin, end))]

    def place_over(
        self, j: int, begin: float, free_until: Callable[[float], list[Counts]], loads: list[float]
    ) -> Counts | None:
        """Return the nodes on which the job can run from `begin` to its planned end (reading 39).

        `free_until(end)` gives what is free at the times until then at which that becomes less. As in reading 12 the
        job is first taken to be as short as it can be.
        """
        job = self.jobs[j]
        end = ends_at(begin + shortest_duration(job, self.machine), begin)
        while True:
            counts = self.place_on(j, [min(nodes) for nodes in zip(*free_until(end), strict=True)], loads)
            if counts is None:
                return None
            needed = self.end_with_boots(j, counts, begin)
            if needed <= end:
                return counts
            end = needed

    # --------------------------------------------------------------------------------------- dispatch pass

    def sorted_by(self, order: Order, waiting: list[int]) -> list[int]:
        """Return the waiting jobs in a queue order, with its keys of now (reading 13)."""
        if not isinstance(order, str):
            place_in_line = list(order)
            return sorted(waiting, key=place_in_line.index)
        jobs = self.asked
        return sorted(
            waiting,
            key=lambda j: (
                -self.tier(j),
                self.submitted(j)
                if order == "fcfs"
                else queue_key(replace(jobs[j], submit=self.submitted(j)), order, self.now - self.since[j], self.t0),
                jobs[j].submit,
                jobs[j].id,
                j,
            ),
        )

    def tier(self, j: int) -> int:
        """Return the tier of a job's partition, 1 without one (reading 37)."""
        partition = self.jobs[j].partition
        return 1 if partition is None or not self.machine.tiers else self.machine.tiers[partition]

    def dispatch_pass(self) -> None:
        """Go over the queue of each reservation, then over everybody's (reading 46)."""
        for turn in (*self.machine.reservations, None):
            self.turn = turn
            self.pass_over(self.sorted_by(self.order, self.waiting()))

    def waiting(self) -> list[int]:
        """Return the jobs of the queue that is gone over; of a reservation's those that may yet end in it."""
        mine = [j for j in self.queue if self.jobs[j].reservation == self.turn]
        return [
            j
            for j in mine
            if self.turn is None
            or ends_at(self.now + shortest_duration(self.jobs[j], self.machine), self.now) <= self.open_until()
        ]

    def pass_over(self, queue: list[int]) -> None:
        if self.decide is not None:
            self.decided(self.decide)
        elif self.dispatch == "strict":
            self.start_heads(queue)
        elif self.dispatch == "greedy":
            for j in queue:
                counts = None if self.over_limit(j) else self.place_at(j, self.now)
                if counts is not None and not self.over_limit(j, counts):
                    self.start(j, counts)
        elif self.dispatch == "local":
            self.start_per_cluster(queue)
        elif self.dispatch == "easy":
            self.easy(queue)
        elif self.dispatch == "conservative":
            self.conservative(queue)
        elif self.dispatch == "lookahead":
            self.lookahead(queue)
        else:
            raise ValueError(f"dispatch={self.dispatch!r} is none of {DISPATCH}.")

    def start(self, j: int, counts: Counts) -> None:
        """Start a job now; its rate follows after the pass (reading 4)."""
        job = self.jobs[j]
        self.queue.remove(j)
        start = self.now if self.machine.timeout is None else self.ready(counts)
        self.begun.setdefault(j, start)
        self.running.append(
            Running(
                job=j,
                start=start,
                counts=counts,
                tc=math.nan,
                work_left=min(job.runtime, job.estimate) if self.kill else job.runtime,
                estimate_left=job.estimate,
                since=start,
                finish=math.inf,
                planned_end=ends_at(start + planned_duration(job, counts, self.machine), start),
                rated=False,
                promised=self.now,
            )
        )

    def start_heads(self, queue: list[int]) -> list[int]:
        """Start jobs from the head of the queue while they fit; return the first that does not, and who waits on."""
        passed = []
        for position, j in enumerate(queue):
            counts = None if self.over_limit(j) else self.place_at(j, self.now)
            if self.over_limit(j, counts):
                passed.append(j)
            elif counts is None:
                return [j, *passed, *queue[position + 1 :]]
            else:
                self.start(j, counts)
        return []

    def decided(self, decide: Decide) -> None:
        """Let somebody choose, one job after the other, while one of those who are looked at fits (reading 32)."""
        while True:
            within = [j for j in self.sorted_by(self.order, self.waiting()) if not self.over_limit(j)]
            waiting = within[: self.places]
            places = [self.place_at(j, self.now) for j in waiting]
            fits = [
                counts is not None and not self.over_limit(j, counts)
                for j, counts in zip(waiting, places, strict=True)
            ]
            if not any(fits):
                return
            chosen = decide(self.now, waiting, fits)
            if not 0 <= chosen < len(waiting) or not fits[chosen]:
                if self.goes_on(recurring=False) or 0 <= chosen < len(waiting):
                    return
                chosen = fits.index(True)  # no later instant would come (reading 33)
            counts = self.place_at(waiting[chosen], self.now)
            assert counts is not None
            self.start(waiting[chosen], counts)

    def start_per_cluster(self, queue: list[int]) -> None:
        """Start each job unless one that waits before it may use one of its clusters (reading 29)."""
        held: set[int] = set()
        held_pools: set[int] = set()
        for j in queue:
            if self.over_limit(j):
                continue
            caps = effective_caps(self.jobs[j], self.machine)
            mine = {group.cluster for group, cap in zip(self.machine.groups, caps, strict=True) if cap > 0}
            my_pools = {p for p, need in enumerate(self.jobs[j].needs) if need > 0}
            counts = None if mine & held or my_pools & held_pools else self.place_at(j, self.now)
            if counts is None:
                held |= mine
                held_pools |= my_pools
            elif not self.over_limit(j, counts):
                self.start(j, counts)

    def easy(self, queue: list[int]) -> None:
        """Start heads; when one is blocked, let others pass it that do not delay it (reading 11)."""
        blocked = self.start_heads(queue)
        if not blocked:
            return
        shadow, extra = self.reserve_head(blocked[0])
        self.backfill(self.sorted_by(self.backfill_order, blocked[1:]), shadow, extra)

    def backfill(self, candidates: list[int], shadow: float, extra: Extra) -> Extra:
        """Start, one after the other, what fits beside the reservation; return what is left of `extra`."""
        for j in candidates:
            counts = self.place_beside(j, shadow, extra)
            if counts is None:
                continue
            if self.ends_after(shadow, j, counts):
                extra = extra.without(self.jobs[j], counts)
            self.start(j, counts)
        return extra

    def place_beside(self, j: int, shadow: float, extra: Extra) -> Counts | None:
        """Return the nodes on which a job does not delay the head's reservation (readings 11 and 31)."""
        job = self.jobs[j]
        if self.over_limit(j) or not needs_fit(job, self.left_at(self.now)):
            return None

        def beside_nobody(end: float) -> list[Counts]:
            return self.free_until(self.now, end)

        def beside_head(end: float) -> list[Counts]:
            return [*beside_nobody(end), extra.nodes, *self.left_by_head(shadow, end, extra)]

        for free_until in (beside_nobody, beside_head):
            counts = self.place_over(j, self.now, free_until, self.loads_at(self.now))
            if counts is None:
                continue
            end = self.planned_end(j, counts, self.now)
            capped = not self.under_caps(j, counts, self.now, self.end_with_boots(j, counts, self.now))
            if capped or self.over_limit(j, counts):
                continue
            spared = all(within(counts, free) for free in self.left_by_head(shadow, end, extra))
            spared = spared and self.spares_caps(j, counts, shadow, end, extra)
            if end <= shadow or (extra.holds(job, counts) and spared):
                return counts
        return None

    def left_by_head(self, shadow: float, end: float, extra: Extra) -> list[Counts]:
        """Return what the head leaves where a closure begins while both it and a job that ends at `end` run."""
        return [
            [max(0, nodes - x) for nodes, x in zip(self.free_at(time), extra.head, strict=True)]
            for time in self.next_closures(shadow, min(end, extra.until))
        ]

    def lookahead(self, queue: list[int]) -> None:
        """Start heads; when one is blocked, pack the most nodes beside its reservation (reading 24)."""
        blocked = self.start_heads(queue)
        if not blocked:
            return
        shadow, extra = self.reserve_head(blocked[0])
        rest = self.sorted_by(self.backfill_order, blocked[1:])
        alone = [(j, self.place_beside(j, shadow, extra)) for j in rest]
        able = [(j, counts) for j, counts in alone if counts is not None][:LOOKAHEAD]
        sizes = [(sum(counts), self.ends_after(shadow, j, counts)) for j, counts in able]
        lasting = [one for one, (_, lasts) in zip(able, sizes, strict=True) if lasts]
        free = min(sum(self.free_at(self.now)), self.nodes_under_caps(able, self.now))
        left = sum(extra.nodes)
        if extra.whose >= 0:
            left = min(left, self.nodes_under_caps(lasting, shadow, extra))
        chosen = best_packing(sizes, free, left)
        extra = self.backfill([able[i][0] for i in chosen], shadow, extra)
        self.backfill([j for j in rest if j in self.queue], shadow, extra)

    def nodes_under_caps(self, placed: list[tuple[int, Counts]], time: float, beside: Extra | None = None) -> float:
        """Return for how many nodes caps on all nodes have watts at a time, each at the least of those placed."""
        found, groups = math.inf, self.machine.groups
        of_nodes = [above_idle(self.jobs[j], groups[g], self.machine)
                    for j, counts in placed for g, x in enumerate(counts) if x > 0]  # fmt: skip
        for cap in self.machine.caps:
            if len(cap.groups) == len(groups) and min(of_nodes, default=0) > 0:
                room = self.room(cap, time)
                if beside is not None:
                    room -= planned_above_idle(self.jobs[beside.whose], beside.head, self.machine, cap)
                found = min(found, max(0, room) // min(of_nodes))
        return found

    def reserve_head(self, head: int) -> tuple[float, Extra]:
        """Return the shadow time of the head, and what it leaves over then.

        When nothing else holds nodes, a head waits only for the load of pending finishes: its reservation is now. One
        that closures keep from ever starting has none (reading 39).
        """
        ends = {self.end_in_plan(record) for record in self.present()}
        changes = {time for one in self.known_closures() for time in (one.begin, one.end) if self.now < time < math.inf}
        last = max({self.now} | ends | changes)
        ends |= {one.end for one in self.known_closures() if one.end < math.inf} | {*self.cap_changes(last)}
        for shadow in sorted(ends):
            counts = self.place_at(head, shadow)
            if counts is not None:
                return shadow, self.extra_at(shadow, head, counts)
        loads = self.loads_at(self.just_after())
        counts = self.place_over(head, self.now, lambda end: self.free_until(self.now, end), loads)
        fits = counts is not None and self.under_caps(head, counts, self.now, self.planned_end(head, counts, self.now))
        if counts is not None and fits and needs_fit(self.jobs[head], self.left_at(self.now)):
            return self.now, self.extra_at(self.now, head, counts)
        if not self.machine.closures and not self.machine.caps:
            raise RuntimeError(f"Job {self.jobs[head].id} fits at no planned end.")
        nothing = [0 for _ in self.machine.groups]
        return math.inf, Extra(nothing, self.left_at(self.now), nothing, math.inf)

    def extra_at(self, time: float, head: int, counts: Counts) -> Extra:
        """Return what the head leaves over that starts at that time on these nodes."""
        job = self.jobs[head]
        until = ends_at(time + planned_duration(job, counts, self.machine), time)
        return Extra(self.free_at(time), self.left_at(time), counts, until, head).without(job, counts)

    def ends_after(self, shadow: float, j: int, counts: Counts) -> bool:
        return ends_at(self.now + planned_duration(self.jobs[j], counts, self.machine), self.now) > shadow

    def conservative(self, queue: list[int]) -> None:
        """Plan all jobs in queue order and start those that are due now (reading 12)."""
        reservations: list[Reservation] = []
        for j in queue:
            planned = None if self.over_limit(j) else self.plan(j, reservations)
            if planned is None:
                continue
            if planned.start > self.now:
                reservations.append(planned)
            elif not self.over_limit(j, planned.counts):
                self.start(j, planned.counts)

    def plan(self, j: int, reservations: list[Reservation]) -> Reservation | None:
        """Return the earliest place of a job beside the running jobs and the reservations.

        None when the load of pending finishes is all that it waits for (reading 22).
        """
        job = self.jobs[j]
        known = (
            {self.now}
            | {self.end_in_plan(record) for record in self.present()}
            | {time for one in self.known_closures() for time in (one.begin, one.end) if self.now < time < math.inf}
            | {time for r in reservations for time in (r.start, r.end)}
        )
        breakpoints = sorted(known | {*self.cap_changes(max(known))})
        for begin in breakpoints:
            end = ends_at(begin + shortest_duration(job, self.machine), begin)
            while True:
                window = [time for time in breakpoints if begin <= time < end]
                free = [min(nodes) for nodes in zip(*(self.free_at(t, reservations) for t in window), strict=True)]
                loads = [max(load) for load in zip(*(self.loads_at(t, reservations) for t in window), strict=True)]
                counts = self.place_on(j, free, loads)
                if counts is None or not all(needs_fit(job, self.left_at(t, reservations)) for t in window):
                    break
                boots = begin == self.now and self.machine.timeout is not None  # reservations for later know of none
                since = self.on_at(counts) if boots else begin
                needed = ends_at(since + planned_duration(job, counts, self.machine), since)
                if needed <= end:
                    if not self.under_caps(j, counts, begin, needed, plans=reservations):
                        break
                    return Reservation(j, begin, needed, counts)
                end = needed
        if self.place_at(j, self.just_after()) is None and not self.machine.closures and not self.machine.caps:
            raise RuntimeError(f"Job {job.id} fits nowhere in the plan.")
        return None


def best_packing(sizes: list[tuple[int, bool]], free: float, extra: float) -> list[int]:
    """Return which (tasks, lasts) use the most nodes, at most `extra` of them by those that last.

    Every set that fits is looked at. Of equally good ones it is the one without the last in which they differ.
    """
    packings: list[tuple[float, float, list[int]]] = [(free, extra, [])]
    for i, (tasks, lasts) in enumerate(sizes):
        packings += [
            (n - tasks, m - tasks if lasts else m, [*chosen, i])
            for n, m, chosen in packings
            if tasks <= n and (not lasts or tasks <= m)
        ]
    return min(packings, key=lambda packing: (packing[0], packing[2][::-1]))[2]


def within(counts: Counts, limit: Counts) -> bool:
    """Return whether no group is used beyond the limit."""
    return all(x <= most for x, most in zip(counts, limit, strict=True))


def simulate(
    jobs: Sequence[Job],
    machine: Machine,
    *,
    order: Order = "fcfs",
    backfill_order: Order | None = None,
    dispatch: str = "strict",
    placement: str = "fastest",
    same_time: str = "batch",
    saturation: str = "dynamic",
    kill_at_estimate: bool = False,
    alternatives: str = "fixed",
    t0: float | None = None,
    running: Sequence[Running] = (),
    watch: Callable[[Simulation], None] | None = None,
    decide: Decide | None = None,
    places: int = 0,
) -> Result:
    """Return the schedule of the jobs on the machine.

    `running` are jobs that run at t0, in start order; `watch` is called after every instant (or single event). With
    `decide` it chooses in place of the dispatch rule among the first `places` waiting jobs (reading 32).
    """
    if same_time not in ("batch", "sequential") or saturation not in SATURATION:
        raise ValueError(f"same_time={same_time!r}, saturation={saturation!r}.")
    jobs = [shaped(on_whole_nodes(job, machine), alternatives) for job in jobs]
    machine = limiting(machine, jobs)
    already = {record.job for record in running}
    for j, job in enumerate(jobs):
        if (j not in already and not feasible(job, machine, placement)) or too_many_nodes(machine, jobs, j, placement):
            raise ValueError(f"Job {job.id}: tasks={job.tasks} can never be placed under {placement!r}.")
    return Simulation(
        list(jobs),
        machine,
        order,
        order if backfill_order is None else backfill_order,
        dispatch,
        placement,
        same_time == "sequential",
        saturation,
        kill_at_estimate,
        min(job.submit for job in jobs) if t0 is None else t0,
        running,
        watch,
        decide,
        places,
        alternatives == "earliest_finish",
    ).run()


# ------------------------------------------------------------------------------------------------- metrics


def drawn(job: Job, group: Group) -> float:
    """Return what a node of a group draws under a job (readings 69, 77)."""
    in_gear = group.gears[job.gear - 1] if job.gear else group.busy
    return in_gear if job.watts is None else job.watts


def runs_of(result: Result) -> list[Lost]:
    """Return all that ran, to its end or not (reading 42)."""
    whole = zip(range(len(result.jobs)), result.start, result.finish, result.counts, strict=True)
    return [Lost(j, start, end, counts, False) for j, start, end, counts in whole if not math.isnan(end)] + result.lost


def waits_of(result: Result) -> list[tuple[int, float, float]]:
    """Return who waited from when to when: a job that is queued again waits again."""
    waits = []
    since = list(result.ready or result.eligible)
    for run in sorted(runs_of(result), key=lambda run: run.start):
        waits += [(run.job, *one) for one in unheld(result.jobs[run.job], since[run.job], run.start)]
        since[run.job] = run.end
    for j in result.cancelled:
        waits += [(j, *one) for one in unheld(result.jobs[j], since[j], result.jobs[j].cancel_at)]
    return waits


def loss_of_capacity(result: Result) -> float:
    """Return the share of the machine that idles while an eligible job waits that is no larger than the idle nodes."""
    runs, waits = runs_of(result), waits_of(result)
    if result.machine.timeout is not None:  # who has his nodes waits no more (reading 66)
        runs = [replace(run, start=result.promised[run.job]) for run in runs]
        waits = [(j, since, min(until, result.promised[j])) for j, since, until in waits]
    last = max(run.end for run in runs)
    times = {time for run in runs for time in (run.start, run.end)} | {time for _, *ends in waits for time in ends}
    times |= {time for closure in result.machine.closures for time in (closure.begin, closure.end)}
    times = {time for time in times if result.t0 < time < last} | {result.t0, last}
    changes = sorted(times)
    lost = 0.0
    for begin, end in pairwise(changes):
        free = [group.count for group in result.machine.groups]
        for run in runs:
            if run.start <= begin < run.end:
                free = [nodes - x for nodes, x in zip(free, run.counts, strict=True)]
        for closure in result.machine.closures:
            free[closure.group] -= closure.nodes if closure.covers(begin) else 0
        idle = sum(max(0, nodes) for nodes in free)
        running = [(run.job, run.counts) for run in runs if run.start <= begin < run.end]
        waiting = [j for j, since, start in waits if since <= begin < start and result.jobs[j].reservation is None]
        jobs = result.jobs
        if any(jobs[j].tasks <= idle and not over_limit(result.machine, jobs, j, running) for j in waiting):
            lost += idle * (end - begin)
    return lost / (result.machine.nodes * (last - result.t0))


def quantile(values: list[float], share: float) -> float:
    """Return the value that a share of the values does not exceed, between two of them in proportion."""
    ordered, place = sorted(values), share * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])


def metrics(result: Result) -> dict[str, float]:
    """Return every metric of the model, by name, over the jobs that ran to their ends."""
    lost_capacity, runs, result_jobs = loss_of_capacity(result), runs_of(result), result.jobs
    result = result.of_the_started()
    jobs, machine, n = result.jobs, result.machine, len(result.jobs)
    in_queue = [start - since for start, since in zip(result.start, result.eligible, strict=True)]
    wait = [start - job.submit for job, start in zip(jobs, result.start, strict=True)]
    run = [finish - start for start, finish in zip(result.start, result.finish, strict=True)]
    response = [finish - job.submit for job, finish in zip(jobs, result.finish, strict=True)]
    slowdown = [r / seconds for r, seconds in zip(response, run, strict=True)]
    bounded = [max(1.0, r / max(seconds, 10.0)) for r, seconds in zip(response, run, strict=True)]
    tasks = sum(job.tasks for job in jobs)
    makespan = max(run.end for run in runs) - result.t0
    occupied = [0.0 for _ in machine.groups]  # node-seconds of each group over [t0, the last end]
    for one in runs:
        for g, x in enumerate(one.counts):
            occupied[g] += x * max(0.0, one.end - max(one.start, result.t0))
    busy_energy = sum(one.counts[g] * drawn(result_jobs[one.job], group) * max(0.0, one.end - max(one.start, result.t0))
                      for one in runs for g, group in enumerate(machine.groups))  # fmt: skip
    idle_energy = sum(  # eq. 1.8
        group.idle * (group.count * makespan - seconds) for group, seconds in zip(machine.groups, occupied, strict=True)
    )
    users: dict[int, list[float]] = {}
    for job, value in zip(jobs, bounded, strict=True):
        users.setdefault(job.user, []).append(value)
    means = [sum(values) / len(values) for values in users.values()]
    centre = sum(means) / len(means)
    return {
        "makespan": makespan,
        "flow": sum(response),
        "mean_wait": sum(wait) / n,
        "mean_wait_eligible": sum(in_queue) / n,
        "max_wait": max(wait),
        "p95_wait": quantile(wait, 0.95),
        "mean_response": sum(response) / n,
        "mean_slowdown": sum(slowdown) / n,
        "bounded_slowdown": sum(bounded) / n,
        "weighted_response": sum(job.tasks * r for job, r in zip(jobs, response, strict=True)) / tasks,
        "weighted_slowdown": sum(job.tasks * s for job, s in zip(jobs, slowdown, strict=True)) / tasks,
        "utilisation": sum(occupied) / (machine.nodes * makespan),
        "energy": busy_energy + idle_energy,
        "busy_energy": busy_energy,
        "idle_energy": idle_energy,
        "loss_of_capacity": lost_capacity,
        "wasted_node_seconds": sum(sum(one.counts) * (one.end - max(one.start, result.t0)) for one in result.lost),
        "requeues": float(sum(one.requeued for one in result.lost)),
        "coallocated": float(
            sum(sum(t > 0 for t in tasks_per_cluster(counts, machine)) > 1 for counts in result.counts)
        ),
        "saturated_seconds": result.saturated_seconds,
        "user_spread": math.sqrt(sum((mean - centre) ** 2 for mean in means) / len(means)),
    }
