"""A constraint model of what lets jobs start beside nodes, written from the readings alone: the referee of bounds.

Whole seconds on groups of equal nodes. What a job needs of pools it holds while it runs (30); user, account or array
have no more at a time than their limits say (43); nobody starts while held (73), before his own time (34), or onto
nodes that a reservation keeps for others before he ends, and its own run within it and on its nodes only (46).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

    from ortools.sat.python import cp_model

RUNS = (2, 4, 6, 8, 12, 24)  # seconds on the slow nodes; half of it on the fast ones
SLOWDOWNS, BOUNDED = 24, 120  # the least numbers that all runs divide, and all runs of 10 s at least


@dataclass
class Job:
    """What a job asks for, and what keeps it."""

    submit: int
    tasks: int
    runtime: int
    user: int
    account: str
    begin: int = 0
    held: list[tuple[int, int]] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)  # of each pool
    cpus: int = 1  # on each of its nodes
    array: str = ""
    member: bool = False  # of the reservation


class Nodes(NamedTuple):
    """Equal nodes of a cluster; those that the reservation keeps are a group of their own."""

    count: int
    pace: int  # a run takes runtime / pace
    busy: int
    idle: int
    kept: bool = False


class Cap(NamedTuple):
    """How much each of some kind may have at a time: jobs, nodes or CPUs."""

    of: str  # user, account or array
    what: str
    most: int

    def whose(self, job: Job) -> str | int:
        """Return whom a job counts for."""
        return getattr(job, self.of)

    def part(self, job: Job) -> int:
        """Return how much of it a job takes."""
        return {"jobs": 1, "nodes": job.tasks, "cpus": job.tasks * job.cpus}[self.what]


@dataclass
class Case:
    """Jobs, the machine, and what is beside nodes."""

    jobs: list[Job]
    groups: list[Nodes]
    pools: list[int]
    caps: list[Cap]
    reservation: tuple[int, int] | None

    def modes(self, job: Job) -> Iterator[tuple[list[int], int]]:
        """Give each way to spread a job over the groups, and how long it runs then."""
        for spread in product(*(range(min(one.count, job.tasks) + 1) for one in self.groups)):
            on = [one for one, nodes in zip(self.groups, spread, strict=True) if nodes]
            if sum(spread) == job.tasks and (not job.member or all(one.kept for one in on)):
                yield list(spread), job.runtime // min(one.pace for one in on)


class Found(NamedTuple):
    """The best schedule: when each job starts, on how many nodes of each group, and its value; None: not at all."""

    start: list[int | None]
    counts: list[list[int]]
    value: float


def drawn(rng: random.Random, *, jobs: int, beside: str) -> Case:
    """Return a random case of up to so many jobs with pools, limits, holds or a reservation beside nodes, or all."""

    def has(what: str) -> bool:
        return beside == what or (beside == "all" and rng.random() < 0.6)

    groups = [Nodes(rng.randint(2, 4), 1, rng.choice((100, 200)), rng.choice((0, 50)))]
    if rng.random() < 0.5:
        groups.append(Nodes(rng.randint(1, 2), 2, rng.choice((150, 500)), rng.choice((0, 50))))
    nodes = sum(one.count for one in groups)
    made = [
        Job(rng.choice((0, 0, 1, 5)), rng.randint(1, nodes), rng.choice(RUNS), rng.randint(1, 2), rng.choice("ab"))
        for _ in range(rng.randint(2, jobs))
    ]
    made[0].submit = 0
    pools, caps, reservation = [], [], None
    if has("pools"):
        pools = [rng.randint(1, 3) for _ in range(rng.randint(1, 2))]
        for job in made:
            job.needs = [rng.randint(0, most) for most in pools]
    if has("limits"):
        for of in rng.sample(("user", "account", "array"), rng.randint(1, 2)):
            what = "jobs" if of == "array" else rng.choice(("jobs", "nodes", "cpus"))
            for job in made:
                job.cpus = rng.randint(1, 3) if what == "cpus" else job.cpus
                job.array = rng.choice(("x", "x", "")) if of == "array" else job.array
            cap = Cap(of, what, 1)
            least = max(cap.part(job) for job in made)
            caps.append(cap._replace(most=least + rng.choice((0, 0, 1))))
    if has("holds"):
        for job in made:
            job.begin = rng.choice((0, 0, 3, 9))
            times = sorted(rng.sample(range(20), 4))
            job.held = [(times[0], times[1]), (times[2], times[3])][: rng.randint(0, 2)]
    if has("reservation"):
        last = groups.pop()
        some = rng.randint(1, last.count)
        groups += [last._replace(count=last.count - some)] * (some < last.count)
        groups.append(last._replace(count=some, kept=True))
        begin = rng.randint(2, 12)
        reservation = (begin, begin + rng.choice((6, 12, 24)))
        for job in made[1:]:
            if rng.random() < 0.3 and job.tasks <= some and job.runtime // last.pace <= reservation[1] - begin:
                job.member, job.held, job.begin = True, [], 0
    return Case(made, groups, pools, caps, reservation)


def optimum(case: Case, objective: str, *, members: bool = True) -> Found | None:
    """Return a schedule of the least value, in which those of the reservation start or do not; None: there is none."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    there = [members or not job.member for job in case.jobs]
    horizon = 2 * sum(job.runtime for job in case.jobs) + 60
    start = [model.new_int_var(0, horizon, "start") for _ in case.jobs]
    intervals: list[list[tuple[cp_model.IntervalVar, list[int], cp_model.IntVar, int]]] = []
    for j, job in enumerate(case.jobs):
        ways = []
        for spread, seconds in case.modes(job):
            chosen = model.new_bool_var("chosen")
            run = model.new_optional_fixed_size_interval_var(start[j], seconds, chosen, "run")
            ways.append((run, spread, chosen, seconds))
        model.add(sum(way[2] for way in ways) == there[j])
        model.add(start[j] >= max(job.submit, job.begin))
        for begin, end in job.held:
            _outside(model, start[j], 0, begin, end, [])
        intervals.append(ways)
        if case.reservation is None:
            continue
        begin, end = case.reservation
        for _, spread, chosen, seconds in ways:
            if job.member:
                model.add(start[j] >= begin).only_enforce_if(chosen)
                model.add(start[j] + seconds <= end).only_enforce_if(chosen)
            elif any(nodes and one.kept for nodes, one in zip(spread, case.groups, strict=True)):
                _outside(model, start[j], seconds - 1, begin, end, [chosen])
    listed = [(j, *way) for j, ways in enumerate(intervals) for way in ways]
    for g, one in enumerate(case.groups):
        model.add_cumulative([run for _, run, *_ in listed], [spread[g] for _, _, spread, *_ in listed], one.count)
    for p, amount in enumerate(case.pools):
        model.add_cumulative([run for _, run, *_ in listed], [case.jobs[j].needs[p] for j, *_ in listed], amount)
    for cap in case.caps:
        for name in {cap.whose(job) for job in case.jobs} - {""}:
            mine = [(case.jobs[j], run) for j, run, *_ in listed if cap.whose(case.jobs[j]) == name]
            model.add_cumulative([run for _, run in mine], [cap.part(job) for job, _ in mine], cap.most)
    model.minimize(_cost(model, case, objective, start, intervals, there, horizon))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return None
    assert status == cp_model.OPTIMAL
    counts = [
        next((spread for _, spread, chosen, _ in ways if solver.value(chosen)), [0] * len(case.groups))
        for ways in intervals
    ]
    starts = [solver.value(begin) if here else None for begin, here in zip(start, there, strict=True)]
    return Found(starts, counts, solver.objective_value / _scale(objective, sum(there)))


def _outside(
    model: cp_model.CpModel, start: cp_model.IntVar, runs: int, begin: int, end: int, only: list[cp_model.IntVar]
) -> None:
    """Let a job start, and be over where it runs so many seconds beyond its start, before a stretch or after it."""
    before = model.new_bool_var("before")
    model.add(start + runs < begin).only_enforce_if([*only, before])
    model.add(start >= end).only_enforce_if([*only, ~before])


def _scale(objective: str, jobs: int) -> int:
    return {"mean_wait": jobs, "mean_slowdown": SLOWDOWNS * jobs, "bounded_slowdown": BOUNDED * jobs}.get(objective, 1)


def _cost(
    model: cp_model.CpModel,
    case: Case,
    objective: str,
    start: list[cp_model.IntVar],
    intervals: list[list[tuple[cp_model.IntervalVar, list[int], cp_model.IntVar, int]]],
    there: list[bool],
    horizon: int,
) -> cp_model.LinearExpr:
    most = BOUNDED * horizon
    last = model.new_int_var(0, horizon, "makespan")
    of_jobs, joules = [], 0
    for j, job in enumerate(case.jobs):
        if not there[j]:
            continue
        cost = model.new_int_var(0, most, "cost")
        of_jobs.append(cost)
        wait = start[j] - job.submit
        for _, spread, chosen, seconds in intervals[j]:
            told = {
                "flow": wait + seconds,
                "mean_slowdown": SLOWDOWNS // seconds * (wait + seconds),
                "bounded_slowdown": BOUNDED // max(seconds, 10) * (wait + seconds),
            }.get(objective, wait)
            model.add(cost >= told).only_enforce_if(chosen)
            model.add(last >= start[j] + seconds).only_enforce_if(chosen)
            joules += chosen * sum(
                nodes * seconds * (one.busy - one.idle) for nodes, one in zip(spread, case.groups, strict=True)
            )
        if objective == "bounded_slowdown":
            model.add(cost >= BOUNDED)
    match objective:
        case "makespan":
            return last + 0
        case "energy":
            return joules + sum(one.idle * one.count for one in case.groups) * last
        case "max_wait":
            longest = model.new_int_var(0, most, "longest wait")
            for cost in of_jobs:
                model.add(longest >= cost)
            return longest + 0
        case _:
            return sum(of_jobs)
