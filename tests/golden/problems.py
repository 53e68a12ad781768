"""Made problems: jobs and machines of fixed seeds, and each feature that jobs, machines and readings may have.

Random numbers are those of Python's `random.random`, which are the same in every version and on every machine. Times,
speeds and watts are small multiples of powers of two, so that sums are exact in whatever order a library adds them;
`ROUGH` has the others, where sums are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

import fedsched as fs
from fedsched.generate import gears
from fedsched.generate.feedback import Sessions, feedback
from fedsched.policies import Planned, Reserve, Timeout
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

JOBS = 80
SMALL = 4  # tasks: jobs of at most this size fit into any cluster and any partition
SITES = ("a", "b", "c")


@dataclass(frozen=True)
class Problem:
    """Jobs, a machine, and how the model's open choices are made."""

    workload: fs.Workload
    machine: fs.Federation
    options: Mapping[str, Any] = field(default_factory=dict)

    def jobs(self, **columns: Any) -> Problem:
        """Return the problem with some columns of its jobs exchanged."""
        return replace(self, workload=replace(self.workload, **columns))

    def labelled(self, **labels: list[str]) -> Problem:
        """Return the problem with more labels."""
        known = {} if self.workload.labels is None else dict(self.workload.labels.columns())
        return self.jobs(labels=known | labels)

    def has(self, **parts: Any) -> Problem:
        """Return the problem with more of what its machine has: tuples are appended."""
        new = {name: (*getattr(self.machine, name), *part) if isinstance(part, tuple) else part
               for name, part in parts.items()}  # fmt: skip
        return replace(self, machine=replace(self.machine, **new))

    def groups(self, **words: Any) -> Problem:
        """Return the problem with other node groups: a list has a value for each in turn, a function makes it."""
        turn = 0
        clusters = []
        for cluster in self.machine.clusters:
            found = []
            for group in cluster.groups:
                found.append(replace(group, **{name: _of(word, turn, group) for name, word in words.items()}))
                turn += 1
            clusters.append(replace(cluster, groups=tuple(found)))
        return replace(self, machine=replace(self.machine, clusters=tuple(clusters)))

    def read(self, **options: Any) -> Problem:
        """Return the problem with other options of `simulate`."""
        return replace(self, options={**self.options, **options})

    def drawn(self, seed: str, *values: Any) -> list[Any]:
        """Return one of these values for each job."""
        random = Random(seed)
        return [values[int(random.random() * len(values))] for _ in range(len(self.workload))]

    def rows(self, rows: Any) -> Problem:
        """Return the problem of some of its jobs."""
        return replace(self, workload=self.workload.take(rows))

    @property
    def small(self) -> list[bool]:
        """Return which jobs fit into a part of a cluster."""
        return (self.workload.tasks <= SMALL).tolist()

    @property
    def small_at_first(self) -> list[bool]:
        """Return which of these come from the first site."""
        return ((self.workload.tasks <= SMALL) & (self.workload.origin == 0)).tolist()

    @property
    def first(self) -> str:
        """Return the name of the first cluster."""
        return self.machine.clusters[0].name

    def only(self, rows: list[bool], values: list[Any], other: Any) -> list[Any]:
        """Return these values for some of the jobs, and another one for the rest."""
        return [value if mine else other for mine, value in zip(rows, values, strict=True)]


def _of(word: Any, turn: int, group: fs.NodeGroup) -> Any:
    if callable(word):
        return word(group)
    return word[turn % len(word)] if isinstance(word, list) else word


def made_jobs(seed: int, jobs: int = JOBS, *, widest: int = 16, grain: float = 0.25, every: float = 8.0) -> fs.Workload:
    """Return jobs that often wait, with equal submissions, equal sizes and equal times among them."""
    random = Random(seed)

    def one(*values: Any) -> Any:
        return values[int(random.random() * len(values))]

    ids = sorted(range(1, jobs + 1), key=lambda _: random.random())
    rows, time = [], 0.0
    for number in ids:
        time += grain * int(random.random() * one(0, 1, 2, 4) * every / grain) * 0.5
        tasks = min(widest, one(1, 1, 1, 2, 2, 3, 4, 4, 5, 6, 8, 12, 16))
        runtime = grain * one(4, 16, 40, 40, 80, 81, 120, 200, 320, 640)
        estimate = runtime * one(1.0, 1.0, 1.25, 1.5, 2.0, 3.0, 0.5, 0.75)
        rows.append((number, time, tasks, runtime, estimate, one(0, 0, 1, 2, 3, 4), one(0, 0, 1, 1, 2),
                     one(1.0, 1.0, 0.75, 0.5, 0.0)))  # fmt: skip
    number, submit, tasks, runtime, estimate, user, origin, fraction = zip(*rows, strict=True)
    return fs.Workload(
        id=number, submit=submit, tasks=tasks, runtime=runtime, estimate=estimate, user=user, origin=origin,
        sites=SITES, compute_fraction=fraction,
    )  # fmt: skip


def three_clusters(speeds: tuple[float, ...] = (1.0, 2.0, 1.0, 0.5)) -> fs.Federation:
    """Return 24 nodes of four kinds in three clusters."""
    watts = ((192.0, 96.0), (320.0, 128.0), (160.0, 64.0), (96.0, 48.0))
    kinds = [fs.NodeGroup(count, speed, busy, idle)
             for count, speed, (busy, idle) in zip((6, 5, 8, 5), speeds, watts, strict=True)]  # fmt: skip
    return fs.Federation(
        tuple(fs.Cluster(name, groups) for name, groups in zip(SITES, (kinds[:2], kinds[2:3], kinds[3:]), strict=True))
    )


def plain(*, widest: int = 16, seed: int = 1, jobs: int = JOBS) -> Problem:
    """Return the usual problem; jobs of up to 4 tasks fit into any cluster."""
    return Problem(made_jobs(seed, jobs, widest=widest), three_clusters())


def one_cluster(*nodes: int, jobs: int = JOBS, seed: int = 2) -> Problem:
    """Return jobs on one cluster of equal nodes; each number is the size of a node group."""
    groups = [fs.NodeGroup(count, 1.0, 192.0, 96.0) for count in nodes or (16,)]
    machine = fs.Federation((fs.Cluster("a", tuple(groups)),))
    return Problem(replace(made_jobs(seed, jobs), origin=0, sites=("a",)), machine)


def _parts(problem: Problem, **words: Any) -> Problem:
    every = {cluster.name: "all" for cluster in problem.machine.clusters}
    some = {cluster.name: f"0-{SMALL - 1}" for cluster in problem.machine.clusters}
    low, high = fs.Partition("low", every, default=True), fs.Partition("high", some, **words)
    asked = problem.only(problem.small, problem.drawn("partition", "high", "high", "low", ""), "low")
    return problem.has(partitions=(low, high)).labelled(partition=asked)


def _closes(problem: Problem, *spans: tuple[float, float, str], **words: Any) -> Problem:
    windows = (fs.Downtime(problem.first, begin, end, nodes, **words) for begin, end, nodes in spans)
    return problem.has(calendar=tuple(windows))


def _reserved(problem: Problem) -> Problem:
    nodes = f"{SMALL} of all"
    one = fs.Downtime(problem.first, 60.0, 260.0, nodes, kind="reservation", name="r", accounts=("x", "y"))
    early = (problem.workload.submit < 200.0).tolist()
    mine = [small and soon for small, soon in zip(problem.small_at_first, early, strict=True)]
    asked = problem.only(mine, problem.drawn("reservation", "r", "", ""), "")
    accounts = problem.drawn("account", "x", "y")
    return problem.has(calendar=(one,)).labelled(reservation=asked, account=accounts)


def _waits(problem: Problem, *kinds: str) -> Problem:
    ids, random = problem.workload.id.tolist(), Random(f"after {kinds}")
    texts = []
    for row in range(len(ids)):
        kind = kinds[int(random.random() * len(kinds))]
        on = ids[max(0, row - 1 - int(random.random() * 12))]
        if row == 0 or random.random() < 0.6:
            texts.append("")
        else:
            texts.append(kind if kind == "singleton" else kind.replace("#", f":{on}"))
    names = problem.drawn("name", "fit", "plot", "run", "")
    return problem.labelled(name=names).jobs(after=texts)


def _shapes(problem: Problem, rule: str) -> Problem:
    among, random, work = {}, Random("shapes"), problem.workload
    columns = (work.id.tolist(), work.tasks.tolist(), work.runtime.tolist(), work.estimate.tolist())
    for number, tasks, runtime, estimate in zip(*columns, strict=True):
        if random.random() < 0.5:
            wider = min(2 * tasks, SMALL if tasks <= SMALL else 16)
            among[number] = [
                (tasks, runtime, estimate), (wider, runtime * 0.5625, runtime), (max(1, tasks // 2), runtime * 1.75)
            ]  # fmt: skip
    return problem.jobs(alternatives=among).read(alternatives=rule)


def _equipped(problem: Problem) -> Problem:
    kinds = [{"cpu": cpu, "memory": memory} for cpu, memory in ((4, 16), (8, 32), (4, 16), (2, 8))]
    return problem.groups(resources=kinds)


def _demanding(problem: Problem) -> Problem:
    cpu = problem.only(problem.small_at_first, problem.drawn("cpu", 1, 2, 4, 8), 1)
    return _equipped(problem).jobs(demand={"cpu": cpu, "memory": problem.drawn("memory", 0, 4, 8)})


def _uneven(problem: Problem) -> Problem:
    return _equipped(problem).jobs(layout={"exclusive": problem.drawn("exclusive", 0, 1, 1)})


def _geared(problem: Problem) -> Problem:
    def of(group: fs.NodeGroup) -> tuple[tuple[float, float], ...]:
        more = group.busy_watts - group.idle_watts
        return tuple((speed, group.idle_watts + share * more) for speed, share in ((0.75, 0.5), (0.5, 0.25)))

    return problem.groups(gears=of)


def _signal(unit: str, *values: float, **words: Any) -> fs.Signal:
    return fs.Signal(tuple(64.0 * k for k in range(len(values))), values, unit, beyond="last", **words)


def _sleepy(problem: Problem, power: Any) -> Problem:
    return problem.groups(off_watts=8.0, boot_seconds=6.0, shutdown_seconds=2.0).has(power=power)


def _linked(problem: Problem, saturation: str) -> Problem:
    clusters = [replace(cluster, uplink=uplink)
                for cluster, uplink in zip(problem.machine.clusters, (6.0, 3.0, 1.5), strict=False)]  # fmt: skip
    rates = problem.drawn("bandwidth", 0.0, 0.25, 0.5, 1.0, 1.0)
    tied = replace(problem, machine=replace(problem.machine, clusters=tuple(clusters)))
    return tied.jobs(task_bandwidth=rates).read(saturation=saturation)


def begun(problem: Problem, sharing: str | None = None) -> Problem:
    """Return the jobs that wait or run after a hundred seconds, and how these run."""
    run = prepare(problem.workload, problem.machine, "easy", sharing=sharing).advance(until=100.0)
    rest = np.flatnonzero(~(run.schedule().finish <= 100.0))
    return problem.rows(rest).read(running=run.running().renumbered(rest))


def _fast(problem: Problem) -> Problem:
    return replace(problem, machine=problem.groups(speed=[1.0, 1.7, 1.3, 0.7]).machine)


def _thirds(problem: Problem) -> Problem:
    work = problem.workload
    return _fast(problem).jobs(
        submit=work.submit / 3, runtime=work.runtime / 3, estimate=work.estimate * 0.7,
        compute_fraction=problem.drawn("fraction", 1.0, 0.9, 0.6, 0.3),
    )  # fmt: skip


def _allowed(problem: Problem) -> Problem:
    sites = len(problem.workload.sites)
    own = problem.workload.origin.tolist()
    rows = [[may or k == mine for k, may in enumerate((more, True, True)[:sites])]
            for mine, more in zip(own, problem.drawn("allowed", True, False), strict=True)]  # fmt: skip
    return problem.jobs(allowed=rows, tasks=np.minimum(problem.workload.tasks, 8))


def _feedback(problem: Problem) -> Problem:
    ids = problem.workload.id.tolist()
    follows = problem.drawn("follows", -1, -1, 1, 2, 5)
    before = [ids[row - back] if 0 < back <= row else -1 for row, back in enumerate(follows)]
    think = [think if one >= 0 else -1 for one, think in zip(before, problem.drawn("think", 0, 4, 40), strict=True)]
    return problem.jobs(feedback={"preceding": before, "think_time": think})


def _sessions(problem: Problem) -> Problem:
    waits = [float(wait) for wait in problem.drawn("waits", 0, 0, 8, 64, -1)]
    return replace(problem, workload=feedback(replace(problem.workload, log={"wait": waits}), Sessions(100.0)))


def _cancelled(problem: Problem) -> Problem:
    patience = problem.drawn("patience", None, None, None, 0, 16, 64, 200)
    submit = problem.workload.submit.tolist()
    return problem.jobs(cancel_at=[-1 if one is None else at + one for at, one in zip(submit, patience, strict=True)])


def _held(problem: Problem) -> Problem:
    submit = problem.workload.submit.tolist()
    spans = problem.drawn("held", None, None, (0, 32), (8, 40), (64, 200))
    held = {number: [(at + span[0], at + span[1])] for number, at, span in
            zip(problem.workload.id.tolist(), submit, spans, strict=True) if span is not None}  # fmt: skip
    return problem.jobs(held=held)


def _begins(problem: Problem) -> Problem:
    later = problem.drawn("begin", 0, 0, 16, 100)
    submit = problem.workload.submit.tolist()
    return problem.jobs(begin=[at + more if more else 0 for at, more in zip(submit, later, strict=True)])


def _pools(problem: Problem) -> Problem:
    needs = {"ansys": problem.drawn("ansys", 0, 0, 1, 2), "buffer": problem.drawn("buffer", 0, 0, 0, 3, 8)}
    return problem.has(pools=(fs.Pool("ansys", 3), fs.Pool("buffer", 10))).jobs(pools=needs)


def _pool_of_a_cluster(problem: Problem) -> Problem:
    needs = {"disk": problem.only(problem.small_at_first, problem.drawn("disk", 0, 1, 2), 0)}
    return problem.has(pools=(fs.Pool("disk", 3, problem.first),)).jobs(pools=needs)


def _accounts(problem: Problem, *limits: fs.Limit) -> Problem:
    labels = {"account": problem.drawn("account", "x", "y"), "qos": problem.drawn("qos", "q", "", "long")}
    return problem.labelled(**labels).has(limits=limits)


def _array(problem: Problem) -> Problem:
    return problem.labelled(array=problem.drawn("array", "", "", "7%1", "8%2", "9"))


def _status(problem: Problem) -> Problem:
    return problem.jobs(log={"status": problem.drawn("status", 1, 1, 1, 0, 5)})


def _gears_of(problem: Problem, rule: str) -> Problem:
    geared = _geared(problem)
    return replace(geared, workload=gears(geared.workload, geared.machine)).read(alternatives=rule)


def _caps(problem: Problem) -> Problem:
    groups = len(problem.machine.groups)
    random = Random("caps")
    rows = [[SMALL + int(random.random() * 8) if random.random() < 0.7 else 16 for _ in range(groups)]
            for _ in range(len(problem.workload))]  # fmt: skip
    return problem.read(caps=np.array(rows))


def _marked(problem: Problem) -> Problem:
    words = problem.drawn("features", "", "ib", "big", "ib&big", "ib|big")
    asked = problem.only(problem.small_at_first, words, "")
    return problem.groups(features=[("ib",), ("ib", "big"), ("big",), ()]).labelled(features=asked)


def _limited_parts(problem: Problem) -> Problem:
    parts = _parts(problem, max_time=4000.0, max_nodes=SMALL, accounts=("x", "y"), qos=("q",))
    return parts.labelled(account=problem.drawn("account", "x", "y"), qos=problem.drawn("qos", "q", ""))


CALENDAR = ((40.0, 90.0, "0-3"), (120.0, 150.0, "all"), (200.0, 330.0, "2-5"))
SOME = ((40.0, 90.0, "2 of all"), (120.0, 150.0, "4 of all"), (200.0, 330.0, "3 of 0-5"))
MEANT = {"on_running": "requeue", "kind": "outage"}
# What of the feature table (docs/reference) can be reached by simulate(); each may be put upon another.
FEATURES: dict[str, Callable[[Problem], Problem]] = {
    "nothing": lambda p: p,
    "rough numbers": _thirds,
    "unequal speeds": _fast,
    "sites of users": _allowed,
    "partitions": _parts,
    "tiers": lambda p: _parts(p, tier=5),
    "partition limits": _limited_parts,
    "features": _marked,
    "demand": _demanding,
    "tasks_per_node": lambda p: _equipped(p).jobs(layout={"tasks_per_node": p.drawn("per node", 0, 0, 1, 2)}),
    "nodes of several sizes": _uneven,
    "limits on these": lambda p: _accounts(_uneven(p), fs.Limit("user", nodes=16), fs.Limit("account", cpus=96)),
    "weights": lambda p: p.groups(weight=[3, 1, 2, 1], speed=1.0),
    "pools": _pools,
    "pool of a cluster": _pool_of_a_cluster,
    "limit of users": lambda p: p.has(limits=(fs.Limit("user", jobs=2),)),
    "limit of accounts": lambda p: _accounts(p, fs.Limit("account", nodes=16)),
    "limit of qos": lambda p: _accounts(p, fs.Limit("qos", cpus=32)),
    "several limits": lambda p: _accounts(
        p, fs.Limit("user", jobs=3, nodes=16), fs.Limit("account", jobs=6, names=("x",)), fs.Limit("qos", nodes=20)
    ),
    "array": _array,
    "maintenance": lambda p: _closes(p, *CALENDAR),
    "part of the nodes": lambda p: _closes(p, *SOME),
    "outage": lambda p: _closes(p, *CALENDAR, kind="outage"),
    "outage that kills": lambda p: _closes(p, *CALENDAR, kind="outage", on_running="kill"),
    "outage that requeues": lambda p: _closes(p, *SOME, **MEANT),
    "random victims": lambda p: _closes(p, *SOME, **MEANT, victims="random", seed=5),
    "recorded victims": lambda p: _closes(p, *CALENDAR, **MEANT, victims="recorded"),
    "drain": lambda p: _closes(p, *CALENDAR, kind="drain"),
    "for good": lambda p: _closes(p, (150.0, np.inf, "0-1"), kind="drain"),
    "known late": lambda p: _closes(p, *CALENDAR[2:], known_from=120.0),
    "end that is not known": lambda p: _closes(p, *CALENDAR, end_known=False),
    "reservation": _reserved,
    "after": lambda p: _waits(p, "after#", "after#+1"),
    "afterany": lambda p: _waits(p, "afterany#"),
    "afterok": lambda p: _waits(_status(p), "afterok#+5s", "afterok#"),
    "afternotok": lambda p: _waits(_status(p), "afternotok#", "afterany#"),
    "singleton": lambda p: _waits(p, "singleton"),
    "every condition": lambda p: _waits(_status(p), "after#", "afterany#+9s", "afterok#", "afternotok#", "singleton"),
    "feedback": _feedback,
    "sessions": _sessions,
    "begin": _begins,
    "held": _held,
    "nice": lambda p: p.jobs(nice=p.drawn("nice", 0, 0, 100, -5)),
    "cancel_at": _cancelled,
    "alternatives": lambda p: _shapes(p, "fixed"),
    "smallest area": lambda p: _shapes(p, "smallest_area"),
    "earliest finish": lambda p: _shapes(p, "earliest_finish"),
    "status": _status,
    "watts": lambda p: p.jobs(watts=p.drawn("watts", -1, 128.0, 160.0, 320.0)),
    "gear": lambda p: _geared(p).jobs(gear=p.drawn("gear", 0, 0, 1, 2)),
    "gears to choose from": lambda p: _gears_of(p, "fixed"),
    "the fastest gear": lambda p: _gears_of(p, "smallest_area"),
    "timeout": lambda p: _sleepy(p, Timeout(16.0)),
    "paced timeout": lambda p: _sleepy(p, Timeout(8.0, keep=1, suspend_rate=4, resume_rate=6)),
    "reserve": lambda p: _sleepy(p, Reserve(1, 12.0)),
    "planned": lambda p: _sleepy(p, Planned()),
    "prices": lambda p: p.has(signals=(_signal("EUR/MWh", 50.0, 100.0, 75.0), _signal("g/kWh", 96.0, 16.0, 200.0))),
    "cap": lambda p: p.has(signals=(_signal("W", 6000.0, 4096.0, 5000.0, 6000.0),)),
    "cap at starts": lambda p: p.has(signals=(_signal("W", 6000.0, 4096.0, 5000.0, 6000.0),), cap="now"),
    "uplinks": lambda p: _linked(p, "dynamic"),
    "uplinks, static": lambda p: _linked(p, "static"),
    "uplinks, fair": lambda p: _linked(p, "fair"),
    "killed at estimates": lambda p: p.read(kill_at_estimate=True),
    "run times known": lambda p: p.read(knowledge="runtime"),
    "node caps": _caps,
    "a time before": lambda p: p.read(t0=-50.0),
    "running jobs": begun,
    "slack": lambda p: p.jobs(slack=p.drawn("slack", 0.0, 5.0, 3600.0)),
}  # fmt: skip
# Features whose times or watts are no small multiples of powers of two.
ROUGH = ("rough numbers", "unequal speeds", "uplinks", "uplinks, static", "uplinks, fair", "gear",
         "gears to choose from", "the fastest gear")  # fmt: skip


def mixed_names(seed: int, many: int = 3) -> tuple[str, ...]:
    """Return the names of some features, in the order in which they are put upon each other."""
    random = Random(f"mixed {seed}")
    chosen: list[str] = []
    while len(chosen) < many:
        name = NAMES[int(random.random() * len(NAMES))]
        if name not in chosen:
            chosen.append(name)
    return tuple(sorted(chosen, key=NAMES.index))


def mixed(names: tuple[str, ...], *, widest: int = 16) -> Problem:
    """Return the plain problem with several features."""
    problem = plain(widest=widest)
    for name in names:
        problem = FEATURES[name](problem)
    return problem


NAMES = tuple(FEATURES)  # what mixtures are drawn from: a feature more draws others
