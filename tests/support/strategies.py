"""Hypothesis strategies: small federations, workloads and settings in which ties and contention are common."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from reference import naive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

SPEEDS = (1.0, 2.0, 0.5, 1.5, 3.0, 0.7)
UPLINKS = (math.inf, 0.3, 1.0, 2.5, 10.0)
BANDWIDTHS = (0.0, 0.5, 1.0, 3.3)
SIGMAS = (0.0, 0.25, 0.5, 0.6, 0.9, 1.0)
GRAINS = (1.0, 0.1, 1 / 3, 60.0)  # the unit of a workload's times: whole, decimal, periodic, minutes
EPOCH = 1.7e9  # where the clock's resolution is 2.4e-7 s
ENDS = ("well", "well", "well", "badly", "cancelled")
STATUS = {"well": 1, "badly": 0, "cancelled": 5}  # in a log
BELOW = (1e-9, 1e-7, 1.3e-7)  # times that the clock of then cannot tell from nothing, or hardly


@dataclass(frozen=True)
class Settings:
    """One choice of every option of a simulation; an order is a name or job indexes."""

    dispatch: str = "strict"
    placement: str = "fastest"
    order: str | tuple[int, ...] = "fcfs"
    backfill_order: str | tuple[int, ...] | None = None
    same_time: str = "batch"
    saturation: str = "dynamic"
    kill_at_estimate: bool = False
    alternatives: str = "fixed"


@dataclass(frozen=True)
class Scenario:
    """A workload on a federation, and how to schedule it."""

    machine: naive.Machine
    jobs: list[naive.Job]
    settings: Settings

    def with_submit(self, late: int, instant: float) -> Scenario:
        """Return the scenario with one job submitted at that instant."""
        if math.isnan(instant):
            return self
        jobs = [
            replace(job, submit=instant, cancel_at=max(instant, job.cancel_at)) if j == late else job
            for j, job in enumerate(self.jobs)
        ]
        return replace(self, jobs=without_circles(jobs))

    def without_pools(self) -> Scenario:
        """Return the scenario without its pools."""
        jobs = [replace(job, needs=()) for job in self.jobs]
        return replace(self, jobs=jobs, machine=replace(self.machine, pools=(), pool_clusters=()))

    def without_partitions(self) -> Scenario:
        """Return the scenario without its partitions."""
        jobs = [replace(job, partition=None) for job in self.jobs]
        return replace(self, jobs=jobs, machine=replace(self.machine, partitions=(), tiers=()))

    def without_wishes(self) -> Scenario:
        """Return the scenario with jobs that ask nothing of nodes, no features and no resources."""
        jobs = [replace(job, features=(), demand=()) for job in self.jobs]
        limits = tuple(naive.of_these(limit, jobs) for limit in self.machine.limits)
        return replace(self, jobs=jobs, machine=replace(self.machine, limits=limits))

    def as_chosen(self) -> Scenario:
        """Return the scenario with jobs of one shape, the one that the rule gives them."""
        jobs = [replace(naive.shaped(job, self.settings.alternatives), alternatives=()) for job in self.jobs]
        limits = tuple(naive.of_these(limit, jobs) for limit in self.machine.limits)
        chosen = replace(self.settings, alternatives="fixed")
        return Scenario(replace(self.machine, limits=limits), jobs, chosen)

    def without_limits(self) -> Scenario:
        """Return the scenario with jobs of which any number may run."""
        return replace(self, machine=replace(self.machine, limits=()))

    def without_closures(self) -> Scenario:
        """Return the scenario with nodes that are always there."""
        open_to_all = replace(self.machine, closures=())
        return replace(self.without_reservations(), machine=open_to_all)

    def foreseen(self) -> Scenario:
        """Return the scenario with all that closes known from the outset, and its end, to all."""
        known = tuple(replace(one, known_from=-math.inf, end_known=True) for one in self.machine.closures)
        return replace(self, machine=replace(self.machine, closures=known)).for_bounds()

    def without_reservations(self) -> Scenario:
        """Return the scenario with jobs that name no reservation; what these kept is closed to all."""
        closures = tuple(replace(one, reservation=None) for one in self.machine.closures)
        jobs = [replace(job, reservation=None) for job in self.jobs]
        return replace(self, jobs=jobs, machine=replace(self.machine, closures=closures))

    def without_kills(self) -> Scenario:
        """Return the scenario with jobs that are queued again where they would be killed."""
        spared = tuple(
            replace(one, on_running="requeue" if one.on_running == "kill" else one.on_running)
            for one in self.machine.closures
        )
        return replace(self, machine=replace(self.machine, closures=spared))

    def for_bounds(self) -> Scenario:
        """Return the scenario with jobs that all count, whatever a schedule makes of them."""
        return self.as_chosen().without_kills().without_reservations()

    def without_victims(self) -> Scenario:
        """Return the scenario with closures that wait for the jobs on their nodes."""
        closures = tuple(replace(one, on_running="wait", victims="latest") for one in self.machine.closures)
        return replace(self, machine=replace(self.machine, closures=closures))

    def for_environments(self) -> Scenario:
        """Return the scenario with jobs of one shape, unless they choose theirs as they join the queue."""
        return self if self.settings.alternatives == "earliest_finish" else self.as_chosen()

    def with_endless(self, seed: int) -> Scenario:
        """Return the scenario with some closures that never end."""
        rng = random.Random(-39 - seed)
        closures = tuple(
            replace(one, end=math.inf) if one.reservation is None and rng.random() < 0.4 else one
            for one in self.machine.closures
        )
        return replace(self, machine=replace(self.machine, closures=closures))

    def without_holds(self) -> Scenario:
        """Return the scenario with jobs that nobody holds."""
        return replace(self, jobs=[replace(job, held=()) for job in self.jobs])

    def without_watts(self) -> Scenario:
        """Return the scenario with jobs whose nodes draw the busy watts of their groups."""
        return replace(self, jobs=[replace(job, watts=None, gear=0) for job in self.jobs])

    def for_the_exact_model(self) -> Scenario:
        """Return the scenario without what the exact solver does not know."""
        return self.as_chosen().without_conditions().without_closures()

    def with_breaks(self) -> Scenario:
        """Return the scenario with what the exact solver knows of closures, conditions and holds."""
        known = self.foreseen().machine.closures
        closures = tuple(one for one in known if one.end < math.inf)
        machine = replace(self.machine, closures=closures)
        scenario = replace(self, machine=machine).as_chosen().without_reservations()
        hopeless = naive.never_start(self.jobs, True) | naive.never_start(self.jobs, False)
        freed = [replace(job, after=()) if j in hopeless else job for j, job in enumerate(scenario.jobs)]
        return replace(scenario, jobs=freed)

    def without_conditions(self) -> Scenario:
        """Return the scenario with jobs that wait for nobody."""
        jobs = [replace(job, after=(), begin=0.0, held=(), cancel_at=math.inf, follows=None) for job in self.jobs]
        return replace(self, jobs=jobs)

    def part(self, rows: Sequence[int]) -> Scenario:
        """Return the scenario of these jobs alone: what they ask of others is met, and limits count none but them."""
        new = {j: row for row, j in enumerate(rows)}
        jobs = []
        for job in (self.jobs[j] for j in rows):
            asked = [one for one in job.after if one[0] == "singleton" or one[1] in new]
            after = tuple((kind, new.get(on, -1), lag) for kind, on, lag in asked)
            follows = (new[job.follows[0]], job.follows[1]) if job.follows and job.follows[0] in new else None
            jobs.append(replace(job, after=after, follows=follows))
        limits = tuple(
            replace(limit, parts={new[j]: amount for j, amount in limit.parts.items() if j in new})
            for limit in self.machine.limits
        )
        return replace(self, jobs=jobs, machine=replace(self.machine, limits=limits))

    def simulate(
        self,
        *,
        t0: float | None = None,
        watch: Callable[[naive.Simulation], None] | None = None,
        decide: naive.Decide | None = None,
        places: int = 0,
        **changes: Any,
    ) -> naive.Result:
        """Return the naive schedule, with some settings changed."""
        chosen = replace(self.settings, **changes)
        return naive.simulate(
            self.jobs,
            self.machine,
            order=chosen.order,
            backfill_order=chosen.backfill_order,
            dispatch=chosen.dispatch,
            placement=chosen.placement,
            same_time=chosen.same_time,
            saturation=chosen.saturation,
            kill_at_estimate=chosen.kill_at_estimate,
            alternatives=chosen.alternatives,
            t0=t0,
            watch=watch,
            decide=decide,
            places=places,
        )


@st.composite
def federations(
    draw: st.DrawFn, *, max_clusters: int = 4, max_groups: int = 3, uplinks: tuple[float, ...] = UPLINKS
) -> naive.Machine:
    """Return small federations: 1-4 clusters of 1-3 groups of 1-6 nodes, often all of one speed, so that ties occur."""
    groups = []
    speeds = draw(st.sampled_from((SPEEDS, *((speed,) for speed in SPEEDS))))
    clusters = draw(st.integers(1, max_clusters))
    for cluster in range(clusters):
        for _ in range(draw(st.integers(1, max_groups))):
            idle = draw(st.sampled_from((0.0, 50.0, 90.25)))
            groups.append(
                naive.Group(
                    cluster=cluster,
                    count=draw(st.integers(1, 6)),
                    speed=draw(st.sampled_from(speeds)),
                    busy=idle + draw(st.sampled_from((0.0, 41.3, 100.0))),
                    idle=idle,
                )
            )
    pools = tuple(draw(st.lists(st.integers(0, 4), max_size=2)))
    whose = draw(st.just(()) | st.tuples(*(st.none() | st.sampled_from(range(clusters)) for _ in pools)))
    return naive.Machine(groups, [draw(st.sampled_from(uplinks)) for _ in range(clusters)], pools, whose)


@st.composite
def _jobs(
    draw: st.DrawFn, machine: naive.Machine, job_id: int, grain: float, last_submit: int, sigmas: tuple[float, ...]
) -> naive.Job:
    """Return jobs that need not be feasible."""
    clusters = range(len(machine.uplinks))
    length = draw(st.integers(1, 6))
    runtime = length * grain
    estimate = draw(
        st.sampled_from((runtime, runtime, (length + 1) * grain, 2 * runtime, 0.5 * runtime, runtime / 3, 10 * grain))
    )
    caps = None
    if draw(st.integers(0, 3)) == 0:
        caps = [draw(st.integers(0, group.count + 1)) for group in machine.groups]
    return naive.Job(
        id=job_id,
        submit=draw(st.integers(0, last_submit)) * grain,
        tasks=draw(st.integers(1, machine.nodes)),
        runtime=runtime,
        estimate=estimate,
        sigma=draw(st.sampled_from(sigmas)),
        bandwidth=draw(st.sampled_from(BANDWIDTHS)),
        origin=draw(st.sampled_from(clusters)),
        allowed=draw(st.none() | st.none() | st.frozensets(st.sampled_from(clusters), min_size=1)),
        caps=caps,
        user=draw(st.integers(-1, 2)),
        needs=tuple(draw(st.integers(0, amount)) for amount in machine.pools),
    )


def made_feasible(job: naive.Job, machine: naive.Machine, placement: str) -> naive.Job:
    """Return the job with as many of its tasks, or at last of its restrictions, as the federation can take."""
    free = replace(job, caps=None, allowed=None)
    for attempt in (job, free, replace(free, needs=tuple(0 for _ in job.needs))):
        for tasks in range(attempt.tasks, 0, -1):
            smaller = replace(attempt, tasks=tasks)
            if naive.feasible(smaller, machine, placement):
                return smaller
    raise ValueError(f"No job of one task fits this federation under {placement!r}.")


@st.composite
def workloads(
    draw: st.DrawFn,
    machine: naive.Machine,
    placement: str = "fastest",
    *,
    max_jobs: int = 9,
    without_contention: bool = False,
) -> list[naive.Job]:
    """Return workloads that are feasible on the machine under the placement rule.

    Times are small multiples of one unit, and the compute fraction is often the same for all, so that equal
    submissions and equal ends are common. Identities do not follow the rows, so that ties by identity show.
    """
    grain = draw(st.sampled_from(GRAINS))
    last_submit = draw(st.sampled_from((0, 4, 12)))
    sigmas = draw(st.sampled_from((SIGMAS, *((sigma,) for sigma in SIGMAS))))
    ids = draw(st.permutations(range(1, draw(st.integers(1, max_jobs)) + 1)))
    jobs = []
    for job_id in ids:
        job = draw(_jobs(machine, job_id, grain, last_submit, sigmas))
        if without_contention:
            job = replace(job, bandwidth=0.0)
        jobs.append(made_feasible(job, machine, placement))
    if draw(st.integers(0, 2)) == 0:
        jobs = waiting_for_each_other(jobs, grain, lambda options: draw(st.sampled_from(options)))
    return jobs


def waiting_for_each_other(
    jobs: list[naive.Job], grain: float, choose: Callable[[Sequence[Any]], Any]
) -> list[naive.Job]:
    """Return the jobs with conditions on jobs of earlier rows, earliest starts, names and ends, none in a circle."""
    linked: list[naive.Job] = []
    for job in jobs:
        kinds = naive.CONDITIONS if linked else ("singleton",)
        after = []
        for _ in range(choose((0, 0, 1, 1, 2))):
            kind = choose(kinds)
            on = -1 if kind == "singleton" else choose(range(len(linked)))
            after.append((kind, on, choose((0.0, 0.0, grain, 2.5 * grain))))
        begin = choose((0.0, 0.0, 3 * grain))
        linked.append(replace(job, after=tuple(after), begin=begin, name=choose(("", "a")), ends=choose(ENDS)))
    return without_circles(linked)


def impatient(
    jobs: list[naive.Job], grain: float, choose: Callable[[Sequence[Any]], Any]
) -> list[naive.Job]:
    """Return the jobs, some of which are cancelled unless they start soon."""
    patience = (math.inf, math.inf, 0, 1, 2, 2.5, 5, 9)
    return [replace(job, cancel_at=job.submit + choose(patience) * grain) for job in jobs]


def held(jobs: list[naive.Job], grain: float, choose: Callable[[Sequence[Any]], Any]) -> list[naive.Job]:
    """Return the jobs, some of which are held for a time, once or twice, as they are submitted or later."""
    found = []
    for job in jobs:
        holds, time = [], job.submit
        for _ in range(choose((0, 1, 1, 2))):
            begin = max(0.0, time + choose((-1, 0, 0.5, 1, 2, 3, 5)) * grain)
            end = begin + choose((0.5, 1, 2, 4)) * grain
            if begin < end and (not holds or holds[-1][1] < begin):
                holds.append((begin, end))
                time = end + grain
        found.append(replace(job, held=tuple(holds)))
    return found


def touching_are_one(holds: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Return the holds of a job, which may touch where they are rounded (reading 73)."""
    found: list[tuple[float, float]] = []
    for begin, end in holds:
        if found and begin <= found[-1][1]:
            begin, _ = found.pop()
        found.append((begin, end))
    return tuple(found)


def measured(jobs: list[naive.Job], choose: Callable[[Sequence[Any]], Any]) -> list[naive.Job]:
    """Return the jobs, some of which say what their nodes draw: more than idle ones as a rule."""
    return [replace(job, watts=choose((None, 0.0, 60.5, 120.0, 300.0))) for job in jobs]


def in_gears(
    machine: naive.Machine, jobs: list[naive.Job], choose: Callable[[Sequence[Any]], Any]
) -> tuple[naive.Machine, list[naive.Job]]:
    """Return the machine with one gear or two beside full speed, and the jobs, some of them in these."""
    last = choose((1, 2))
    groups = [
        replace(group, gears=tuple(group.idle + share * (group.busy - group.idle) for share in shares))
        for group in machine.groups
        for shares in [[choose((0.0, 0.3, 0.7)) for _ in range(last)]]
    ]
    made = [job if job.alternatives else replace(job, gear=choose(range(last + 1))) for job in jobs]
    return replace(machine, groups=groups), made


def following(jobs: list[naive.Job], grain: float, choose: Callable[[Sequence[Any]], Any]) -> list[naive.Job]:
    """Return the jobs, some of which are submitted when one of an earlier row has ended."""
    found: list[naive.Job] = []
    for j, job in enumerate(jobs):
        think = choose((None, None, 0, 1, 2.5))
        follows = None if j == 0 or think is None else (choose(range(j)), think * grain)
        found.append(replace(job, follows=follows))
    return without_circles(found)


def in_partitions(
    machine: naive.Machine, jobs: list[naive.Job], placement: str, choose: Callable[[Sequence[Any]], Any]
) -> tuple[naive.Machine, list[naive.Job]]:
    """Return the machine with partitions, which may overlap, and the jobs, some of them in one that takes them."""
    groups = range(len(machine.groups))
    drawn = [frozenset(g for g in groups if choose((True, False))) for _ in range(choose((1, 2, 3)))]
    found = tuple(filter(None, drawn))
    tiers = tuple((2, 1, 7)[q] for q in range(len(found))) if len(jobs) % 2 else ()
    split = replace(machine, partitions=found, tiers=tiers)
    placed = []
    for job in jobs:
        there = replace(job, partition=choose((None, *range(len(split.partitions)))))
        placed.append(there if naive.feasible(there, split, placement) else job)
    return split, placed


FEATURES = ((), ("x",), ("y",), ("x", "y"))  # of nodes
ASKED = ("", "", "x", "y", "x&y", "x|y", "x&y|y")  # by jobs


def with_features(
    machine: naive.Machine, jobs: list[naive.Job], placement: str, choose: Callable[[Sequence[Any]], Any]
) -> tuple[naive.Machine, list[naive.Job]]:
    """Return the machine with features, and the jobs, some of which ask for nodes that have them."""
    groups = [replace(group, features=frozenset(choose(FEATURES))) for group in machine.groups]
    equipped, asking = replace(machine, groups=groups), []
    for job in jobs:
        text = choose(ASKED)
        asked = replace(job, features=tuple(frozenset(part.split("&")) for part in text.split("|")) if text else ())
        asking.append(asked if naive.feasible(asked, equipped, placement) else job)
    if not any(group.features for group in groups):
        asking = jobs  # then they bind nobody
    return equipped, asking


RESOURCES = ((), (("cpu", 8),), (("cpu", 16), ("gpu", 2)), (("gpu", 1),))  # of a node
DEMANDED = ((), (), (("cpu", 8),), (("cpu", 9),), (("gpu", 1),), (("cpu", 4), ("gpu", 2)), (("tape", 1),))


def with_resources(
    machine: naive.Machine, jobs: list[naive.Job], placement: str, choose: Callable[[Sequence[Any]], Any]
) -> tuple[naive.Machine, list[naive.Job]]:
    """Return the machine with resources and weights, and the jobs, some of which demand so much of every node."""
    groups = [replace(group, resources=choose(RESOURCES), weight=choose((1, 1, 2, 70))) for group in machine.groups]
    equipped, asking = replace(machine, groups=groups), []
    for job in jobs:
        asked = replace(job, demand=choose(DEMANDED))
        asking.append(asked if naive.feasible(asked, equipped, placement) else job)
    return equipped, asking


def closures(machine: naive.Machine, grain: float, choose: Callable[[Sequence[Any]], Any]) -> tuple[naive.Closure, ...]:
    """Return some stretches of time without some nodes, all of which end, known before or only when they begin."""
    found = []
    for _ in range(choose((1, 2, 3, 5))):
        group = choose(range(len(machine.groups)))
        begin = choose(range(-2, 25)) * grain
        one = naive.Closure(
            group,
            nodes=choose(range(1, machine.groups[group].count + 1)),
            begin=begin,
            end=begin + choose((1, 2, 3, 6, 12)) * grain,
            known_from=choose((-math.inf, -math.inf, begin, begin - 2 * grain)),
            end_known=choose((True, True, False)),
            **loses(choose),
        )
        found += of_named_groups(one, machine, choose) if one.victims == "recorded" else [one]
    return tuple(found)


def of_named_groups(
    one: naive.Closure, machine: naive.Machine, choose: Callable[[Sequence[Any]], Any]
) -> list[naive.Closure]:
    """Return a closure of a whole group, and some of others of its cluster, the last one first, as one names them."""
    beside = reversed(machine.inside[machine.groups[one.group].cluster])
    named = [g for g in beside if g == one.group or choose((True, False, False))]
    return [replace(one, group=g, nodes=machine.groups[g].count) for g in named]


def downtimes_of(machine: naive.Machine) -> list[list[naive.Closure]]:
    """Return the machine's closures as downtimes take them: what is recorded alike in a cluster's groups is one."""
    found: list[list[naive.Closure]] = []
    for one in machine.closures:
        if found and one.victims == "recorded" and are_one(found[-1][-1], one, machine):
            found[-1].append(one)
        else:
            found.append([one])
    return found


def are_one(last: naive.Closure, other: naive.Closure, machine: naive.Machine) -> bool:
    """Return whether two closures may be of one downtime, which tells of its cluster's last group first."""
    alike = replace(last, group=other.group, nodes=other.nodes) == other and other.reservation is None
    last_cluster, other_cluster = (machine.groups[one.group].cluster for one in (last, other))
    return alike and last_cluster == other_cluster and last.group > other.group


def with_reservations(
    machine: naive.Machine,
    jobs: list[naive.Job],
    placement: str,
    grain: float,
    choose: Callable[[Sequence[Any]], Any],
) -> tuple[naive.Machine, list[naive.Job]]:
    """Return the machine with one or two reservations beside what closes, and the jobs, some of them in these."""
    kept: list[naive.Closure] = []
    for reservation in range(choose((1, 1, 2))):
        begin = choose(range(-2, 20)) * grain
        end = begin + choose((1, 3, 6, 12, 25)) * grain
        times = {"begin": begin, "end": end, "known_from": choose((-math.inf, -math.inf, begin - grain))}
        taken = {one.group for one in kept if one.begin < end and begin < one.end}
        loss = loses(choose)
        for g in range(len(machine.groups)):
            if g not in taken and choose((True, True, False)):
                kept.append(naive.Closure(g, machine.groups[g].count, **times, **loss, reservation=reservation))
    closed = tuple(one for one in (*machine.closures, *kept))
    booked, placed = replace(machine, closures=closed), []
    for job in jobs:
        there = replace(job, reservation=choose((None, None, *booked.reservations)))
        placed.append(there if naive.feasible(there, booked, placement) else job)
    return booked, placed


def loses(choose: Callable[[Sequence[Any]], Any]) -> dict[str, Any]:
    """Return what becomes of jobs in the way of a closure."""
    on_running = choose(("wait", "wait", "requeue", "requeue", "kill"))
    if on_running == "wait":
        return {}
    return {"on_running": on_running, "victims": choose(("latest", "random", "recorded")), "seed": choose((0, 1, 2))}


RULES_OF_SHAPES = ("fixed", "smallest_area", "earliest_finish")


def with_alternatives(
    machine: naive.Machine, jobs: list[naive.Job], placement: str, choose: Callable[[Sequence[Any]], Any]
) -> list[naive.Job]:
    """Return the jobs, some with other shapes that the machine can take, as wide as the widest of them at most."""
    widest, made = max(job.tasks for job in jobs), []
    for job in jobs:
        shapes = [(job.tasks, job.runtime, job.estimate)]
        for _ in range(choose((0, 1, 2, 3))):
            tasks = choose(range(1, widest + 1))
            runtime = job.runtime * choose((0.5, 1.0, job.tasks / tasks, 2.0))
            shape = (tasks, runtime, runtime * choose((1.0, 1.0, 0.75, 2.0)))
            if shape not in shapes and naive.feasible(replace(job, tasks=tasks), machine, placement):
                shapes.append(shape)
        made.append(replace(job, alternatives=tuple(shapes), gear=0) if len(shapes) > 1 else job)
    return made


def by_shapes(scenario: Scenario) -> set[str]:
    """Return what the shapes of jobs decide: what they take of limits, and whether others that wait for them start."""
    jobs = scenario.jobs
    several = {j for j, job in enumerate(jobs) if len({shape[0] for shape in job.alternatives}) > 1}
    found = {"limits" for limit in scenario.machine.limits if limit.about[2] != "jobs" and several & limit.parts.keys()}
    if scenario.settings.kill_at_estimate:
        awaited = {on for job in jobs for kind, on, _ in job.after if kind in ("afterok", "afternotok")}
        found |= {"ends" for j in awaited if len({t > limit for _, t, limit in jobs[j].alternatives}) > 1}
    return found


LIMITED = ("user", "account", "array")


def limits(jobs: list[naive.Job], choose: Callable[[Sequence[Any]], Any]) -> tuple[naive.Limit, ...]:
    """Return some limits: of each user, of two accounts, of the tasks of an array; in jobs, in nodes or in CPUs."""
    found = []
    for of in LIMITED:
        if choose((True, False)):
            nodes = of != "array" and choose((True, False))
            what = "jobs" if not nodes else "cpus" if len(jobs) % 2 else "nodes"
            most = max(naive.part_of(job, what) for job in jobs)
            amount = most + choose((0, 0, 1, 3, 8)) if nodes else choose((1, 1, 2, 3))
            for name in sorted({who(of, j, job) for j, job in enumerate(jobs)} - {""}):
                mine = [j for j, job in enumerate(jobs) if who(of, j, job) == name]
                parts = {j: naive.part_of(jobs[j], what) for j in mine}
                found.append(naive.Limit(amount, parts, (of, name, what)))
    return tuple(found)


def who(of: str, j: int, job: naive.Job) -> str:
    """Return whose limit binds a job: its user's if known, one of two accounts', an array's of every third job."""
    if of == "user":
        return "" if job.user < 0 else str(job.user)
    return f"a{j % 2}" if of == "account" else "" if j % 3 else "many"


def later(machine: naive.Machine, seconds: float) -> naive.Machine:
    """Return the machine with its closures that much later."""
    moved = tuple(
        replace(one, begin=one.begin + seconds, end=one.end + seconds, known_from=one.known_from + seconds)
        for one in machine.closures
    )
    return replace(machine, closures=moved)


def without_circles(jobs: list[naive.Job]) -> list[naive.Job]:
    """Return the jobs, none of them a singleton where they would wait for each other in a circle."""
    if not naive.circular(jobs):
        return jobs
    return [replace(job, after=tuple(one for one in job.after if one[0] != "singleton")) for job in jobs]


def at_epoch(jobs: list[naive.Job], chance: Callable[[], float]) -> list[naive.Job]:
    """Return the jobs submitted at epoch times, a third of run times and of estimates below what its clock tells."""
    moved = [
        replace(
            job,
            submit=EPOCH + job.submit,
            begin=job.begin and EPOCH + job.begin,
            held=touching_are_one((EPOCH + begin, EPOCH + end) for begin, end in job.held),
            cancel_at=EPOCH + job.cancel_at,
        )
        for job in jobs
    ]
    for field in ("runtime", "estimate"):
        for j, job in enumerate(moved):
            place = int(3 * len(BELOW) * chance())
            moved[j] = replace(job, **{field: BELOW[place]}) if place < len(BELOW) else job
    return moved


@st.composite
def settings(draw: st.DrawFn, *, jobs: int | None = None) -> Settings:
    """Return every combination of options; with a number of jobs, explicit permutations as orders too."""

    def orders() -> st.SearchStrategy[str | tuple[int, ...]]:
        named: st.SearchStrategy[str | tuple[int, ...]] = st.sampled_from(naive.ORDERS)
        return named if jobs is None else named | st.permutations(range(jobs)).map(tuple)

    return Settings(
        dispatch=draw(st.sampled_from(naive.DISPATCH)),
        placement=draw(st.sampled_from(naive.PLACEMENT)),
        order=draw(orders()),
        backfill_order=draw(st.none() | orders()),
        same_time=draw(st.sampled_from(("batch", "sequential"))),
        saturation=draw(st.sampled_from(naive.SATURATION)),
        kill_at_estimate=draw(st.booleans()),
        alternatives=draw(st.sampled_from(RULES_OF_SHAPES)),
    )


@st.composite
def scenarios(
    draw: st.DrawFn,
    /,
    *,
    max_jobs: int = 9,
    without_contention: bool = False,
    epoch: bool | None = None,
    **fixed: Any,
) -> Scenario:
    """Return a federation, a workload that is feasible on it and settings, of which some may be fixed.

    Now and then a job is submitted at the very instant at which another one ends, and now and then (always or never,
    where `epoch` says so) all are submitted at epoch times.
    """
    machine = draw(federations())
    placement = fixed.get("placement") or draw(st.sampled_from(naive.PLACEMENT))
    jobs = draw(workloads(machine, placement, max_jobs=max_jobs, without_contention=without_contention))
    chosen = replace(draw(settings(jobs=len(jobs))), placement=placement)
    if draw(st.integers(0, 2)) == 0:
        grain = draw(st.sampled_from(GRAINS))
        machine = replace(machine, closures=closures(machine, grain, lambda options: draw(st.sampled_from(options))))
    if draw(st.integers(0, 3)) == 0:
        drawn = limits(jobs, lambda options: draw(st.sampled_from(options)))
        machine = replace(machine, limits=drawn)
    if draw(st.integers(0, 3)) == 0:
        grain = draw(st.sampled_from(GRAINS))
        machine, jobs = with_reservations(
            machine, jobs, placement, grain, lambda options: draw(st.sampled_from(options))
        )
    if epoch if epoch is not None else draw(st.integers(0, 3)) == 0:
        jobs, machine = at_epoch(jobs, lambda: draw(st.floats(0, 1, exclude_max=True))), later(machine, EPOCH)
    if draw(st.integers(0, 3)) == 0:
        jobs = with_alternatives(machine, jobs, placement, lambda options: draw(st.sampled_from(options)))
    if draw(st.integers(0, 3)) == 0:
        jobs = measured(jobs, lambda options: draw(st.sampled_from(options)))
    if draw(st.integers(0, 3)) == 0:
        machine, jobs = in_gears(machine, jobs, lambda options: draw(st.sampled_from(options)))
    scenario = Scenario(machine, jobs, replace(chosen, **fixed))
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        late, ended = draw(st.sampled_from(range(len(jobs)))), draw(st.sampled_from(range(len(jobs))))
        scenario = scenario.with_submit(late, scenario.simulate().finish[ended])
    return scenario


def random_scenario(
    seed: int,
    *,
    max_jobs: int = 14,
    epoch: bool | None = None,
    restless: bool = False,
    one_group: bool = False,
    **fixed: Any,
) -> Scenario:
    """Return the scenario of a seed: the same federations, jobs and settings, drawn evenly; every fifth at the epoch.

    Hypothesis leans to simple examples. Orders that turn on the last bit of a float, or on a job that arrives
    just as a crowded link clears, want many busy ones; these come at a millisecond apiece and do not shrink.
    In `restless` ones jobs may be cancelled, be held, or follow others. On `one_group` there are more nodes.
    """
    rng = random.Random(seed)
    speeds = rng.choice((SPEEDS, (rng.choice(SPEEDS),)))
    clusters = range(1 if one_group else rng.randint(1, 4))
    groups = []
    for cluster in clusters:
        for _ in range(1 if one_group else rng.randint(1, 3)):
            idle = rng.choice((0.0, 50.0, 90.25))
            busy = idle + rng.choice((0.0, 41.3, 100.0))
            groups.append(naive.Group(cluster, rng.randint(1, 12 if one_group else 4), rng.choice(speeds), busy, idle))
    beside = random.Random(-1 - seed)  # of its own, so that nodes and jobs are those of the seed, pools or not
    pools = tuple(beside.randint(1, 4) for _ in range(beside.choice((0, 0, 1, 2))))
    where = random.Random(-30 - seed)  # of its own as well
    whose = tuple(where.choice((None, *clusters)) for _ in pools) if where.random() < 0.4 else ()
    machine = naive.Machine(groups, [rng.choice(UPLINKS) for _ in clusters], pools, whose)
    placement = fixed.get("placement") or rng.choice(naive.PLACEMENT)
    grain, last_submit = rng.choice(GRAINS), rng.choice((0, 4, 12))
    sigmas = rng.choice((SIGMAS, (rng.choice(SIGMAS),)))
    largest = max(1, round(machine.nodes * rng.choice((0.4, 1.0))))
    jobs = []
    ids = rng.sample(range(1, max_jobs + 1), rng.randint(1, max_jobs))
    for job_id in ids:
        runtime = rng.randint(1, 6) * grain
        allowed = set(rng.sample(clusters, rng.randint(1, len(clusters)))) if rng.random() < 0.1 else None
        caps = [rng.randint(0, group.count + 1) for group in groups] if rng.random() < 0.1 else None
        job = naive.Job(
            id=job_id,
            submit=rng.randint(0, last_submit) * grain,
            tasks=rng.randint(1, largest),
            runtime=runtime,
            estimate=rng.choice((runtime, runtime, runtime + grain, 2 * runtime, 0.5 * runtime, runtime / 3)),
            sigma=rng.choice(sigmas),
            bandwidth=rng.choice(BANDWIDTHS),
            origin=rng.choice(clusters),
            allowed=allowed,
            caps=caps,
            user=rng.randint(-1, 2),
            needs=tuple(beside.randint(0, amount) if beside.random() < 0.6 else 0 for amount in pools),
        )
        jobs.append(made_feasible(job, machine, placement))
    if beside.random() < 0.3:
        jobs = waiting_for_each_other(jobs, grain, beside.choice)
    if beside.random() < 0.3:
        machine, jobs = in_partitions(machine, jobs, placement, beside.choice)
    if beside.random() < 0.2:
        machine, jobs = with_features(machine, jobs, placement, beside.choice)
    if beside.random() < 0.2:
        machine, jobs = with_resources(machine, jobs, placement, beside.choice)
    if beside.random() < 0.4:
        machine = replace(machine, closures=closures(machine, grain, beside.choice))
    if beside.random() < 0.25:
        machine = replace(machine, limits=limits(jobs, beside.choice))
    if beside.random() < 0.3:
        machine, jobs = with_reservations(machine, jobs, placement, grain, beside.choice)
    if restless and beside.random() < 0.4:
        jobs = impatient(jobs, grain, beside.choice)
    if restless and beside.random() < 0.3:
        jobs = following(jobs, grain, beside.choice)
    holder = random.Random(-73 - seed)  # of its own as well
    if restless and holder.random() < 0.3:
        jobs = held(jobs, grain, holder.choice)
    if seed % 5 == 4 if epoch is None else epoch:
        jobs, machine = at_epoch(jobs, rng.random), later(machine, EPOCH)
    if beside.random() < 0.3:
        jobs = with_alternatives(machine, jobs, placement, beside.choice)
    wattmeter = random.Random(-67 - seed)  # of its own as well
    if wattmeter.random() < 0.3:
        jobs = measured(jobs, wattmeter.choice)
    gearbox = random.Random(-77 - seed)
    if gearbox.random() < 0.3:
        machine, jobs = in_gears(machine, jobs, gearbox.choice)

    def order() -> str | tuple[int, ...]:
        return rng.choice((*naive.ORDERS, tuple(rng.sample(range(len(jobs)), len(jobs)))))

    drawn = Settings(
        dispatch=rng.choice(naive.DISPATCH),
        placement=placement,
        order=order(),
        backfill_order=rng.choice((None, order())),
        same_time=rng.choice(("batch", "sequential")),
        saturation=rng.choice(naive.SATURATION),
        kill_at_estimate=rng.random() < 0.3,
        alternatives=beside.choice(RULES_OF_SHAPES),
    )
    scenario = Scenario(machine, jobs, replace(drawn, **fixed))
    for _ in range(rng.choice((0, 1, 2))):
        late, ended = rng.randrange(len(jobs)), rng.randrange(len(jobs))
        scenario = scenario.with_submit(late, scenario.simulate().finish[ended])
    return scenario


RATES = (0, 1, 7, 40, 200)  # nodes a minute that go off or boot; 0: any


def saving_power(seed: int, **fixed: Any) -> Scenario:
    """Return the scenario of a seed whose idle nodes go off, without what that does not go with (reading 66)."""
    dispatch = random.Random(seed).choice(("strict", "greedy", "easy", "local", "lookahead", "conservative"))
    shapes = random.Random(-67 - seed).choice(("fixed", "fixed", "earliest_finish"))
    options = {"dispatch": dispatch, "same_time": "batch", "alternatives": shapes} | fixed
    scenario = random_scenario(seed, restless=True, **options)
    scenario = replace(scenario, machine=replace(scenario.machine, closures=()))
    jobs = [replace(job, reservation=None, bandwidth=0.0) for job in scenario.jobs]
    return going_off(replace(scenario, jobs=jobs), seed)


def going_off_beside_uplinks(seed: int) -> Scenario:
    """Return the scenario of a seed whose idle nodes go off, and whose jobs send over uplinks (readings 7 and 66)."""
    dispatch = random.Random(seed).choice(("strict", "greedy", "easy", "local", "lookahead", "conservative"))
    shapes = random.Random(-67 - seed).choice(("fixed", "fixed", "earliest_finish"))
    options = {"dispatch": dispatch, "same_time": "batch", "alternatives": shapes, "restless": seed % 2 == 0}
    scenario = random_scenario(seed, **options)
    jobs = [replace(job, reservation=None) for job in scenario.jobs]
    return going_off(replace(scenario, jobs=jobs, machine=replace(scenario.machine, closures=())), seed)


def going_off_with_downtimes(seed: int) -> Scenario:
    """Return the scenario of a seed whose idle nodes go off beside downtimes and reservations (readings 38, 46, 66)."""
    dispatch = random.Random(seed).choice(("strict", "greedy", "easy", "local", "lookahead", "conservative"))
    shapes = random.Random(-67 - seed).choice(("fixed", "fixed", "earliest_finish"))
    options = {"dispatch": dispatch, "same_time": "batch", "alternatives": shapes, "restless": seed % 3 > 0}
    scenario = random_scenario(seed, **options)
    closures = tuple(replace(one, on_running="wait", victims="latest", seed=0) for one in scenario.machine.closures)
    return going_off(replace(scenario, machine=replace(scenario.machine, closures=closures)), seed)


def going_off(scenario: Scenario, seed: int) -> Scenario:
    """Return a scenario whose idle nodes go off, after drawing how (reading 66)."""
    rng = random.Random(-66 - seed)
    grain = rng.choice(GRAINS)
    groups = [
        replace(
            group,
            off=group.idle * rng.choice((0.0, 0.1, 1.0)),
            boot=(rng.choice((0, 1, 2.5)) * grain, rng.choice((0.0, 60.0, 200.0))),
            shutdown=(rng.choice((0, 0.5, 3)) * grain, rng.choice((0.0, 30.0))),
        )
        for group in scenario.machine.groups
    ]
    timeout = rng.choice((0, 0.5, 2)) * grain, rng.choice((0, 0, 1, 2))
    ahead = rng.random() < 0.4
    machine = replace(scenario.machine, groups=groups, timeout=timeout, ahead=ahead)
    if not ahead and rng.random() < 0.6:
        machine = replace(machine, rates=(rng.choice(RATES), rng.choice(RATES)))
    return replace(scenario, machine=machine)


def under_caps(seed: int, **fixed: Any) -> Scenario:
    """Return the scenario of a seed under caps on power, without what does not go with them (reading 70)."""
    rng = random.Random(-68 - seed)
    dispatch = rng.choice(("strict", "greedy", "local", "easy", "easy", "lookahead", "conservative"))
    shapes = rng.choice(("fixed", "fixed", "earliest_finish"))
    options = {"dispatch": dispatch, "alternatives": shapes, "restless": seed % 2 == 0} | fixed
    return capped(random_scenario(seed, **options), rng)


def capped(scenario: Scenario, rng: random.Random) -> Scenario:
    """Return a scenario under caps on power that are drawn (reading 70)."""
    groups = scenario.machine.groups
    grain = max(0.01, rng.choice((0.2, 1 / 3, 1.0)) * max(job.runtime for job in scenario.jobs))  # few steps in a run
    t0 = min(job.submit for job in scenario.jobs)
    caps = []
    for _ in range(rng.choice((1, 1, 2)) if len(scenario.machine.uplinks) > 1 else 1):
        covered = frozenset(range(len(groups)))
        if caps:
            cluster = rng.choice(groups).cluster
            covered = frozenset(g for g in covered if groups[g].cluster == cluster)
        idle = sum(groups[g].count * groups[g].idle for g in covered)
        boots = scenario.machine.timeout is not None
        ahead = scenario.machine.timeout[1] if scenario.machine.ahead else 0
        idle += sum(min(ahead, groups[g].count) * max(0.0, groups[g].boot[1] - groups[g].idle) for g in covered)
        drawn = [[max(naive.drawn(job, groups[g]), groups[g].boot[1] if boots else 0.0) - groups[g].idle
                  for g in covered] for job in scenario.jobs]  # fmt: skip
        hungriest = [job.tasks * max(0.0, *watts) for job, watts in zip(scenario.jobs, drawn, strict=True)]
        levels = [idle + max(hungriest) * factor for factor in (1.0, 1.0, 1.3, 2.0)]
        levels += [0.5 * idle, idle + 41.3, idle + rng.choice(hungriest)]
        watts = [rng.choice(levels) for _ in range(rng.randint(1, 5))] + [rng.choice(levels[:4])]
        times = [t0 - rng.choice((0, 0.5)) * grain]
        for _ in watts[1:]:
            times.append(times[-1] + rng.choice((0.5, 1, 2.5, 4)) * grain)
        period = times[-1] + rng.choice((1, 3)) * grain - times[0] if rng.random() < 0.4 else math.inf
        caps.append(naive.Cap(covered, tuple(times), tuple(watts), period))
    machine = replace(scenario.machine, caps=tuple(caps), cap_at_start=rng.random() < 0.3)
    return replace(scenario, machine=machine)


def going_off_under_caps(seed: int) -> Scenario:
    """Return the scenario of a seed whose idle nodes go off under caps on power (readings 66 and 70)."""
    return capped(saving_power(seed), random.Random(-70 - seed))


OF_TASKS = ((), (), (("cpu", 1),), (("cpu", 2),), (("gpu", 1),), (("cpu", 2), ("gpu", 1)), (("tape", 3),))


def on_whole_nodes(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario on nodes of several cores, with jobs of which several tasks stand on each of their nodes."""
    rng = random.Random(-73 - seed)
    equal = rng.random() < 0.5
    cores = rng.choice((2, 4, 8))
    groups = []
    for group in scenario.machine.groups:
        has = {"cpu": cores if equal else rng.choice((2, 4, 8, 9)), "gpu": rng.choice((0, 1, 4))}
        groups.append(replace(group, resources=tuple(has.items())))
    machine = replace(scenario.machine, groups=groups)
    placement = scenario.settings.placement
    jobs = []
    for j, job in enumerate(scenario.jobs):
        packed = replace(job, demand=rng.choice(OF_TASKS), alone=rng.random() < 0.4)
        k = rng.choice((0, 1, 2, 3, 4, 8))
        nodes = 1 if rng.random() < 0.2 else job.tasks
        if k:
            packed = replace(packed, tasks=max(1, nodes * k - rng.choice((0, 0, *range(k)))), per_node=k)
        else:
            packed = replace(packed, tasks=nodes * (rng.choice((1, 2, 3, 8)) if packed.alone else 1))
        if job.alternatives:
            packed = replace(packed, alternatives=_of_so_many(job, packed, rng))
        jobs.append(packed if _can_be(packed, j, machine, placement) else replace(job, demand=()))
    return _with_known_shapes(replace(scenario, machine=machine, jobs=jobs))


def on_uneven_nodes(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario on nodes of different sizes, most of its jobs alone there: on so many as come."""
    rng = random.Random(-76 - seed)
    groups = [
        replace(group, resources=(("cpu", rng.choice((1, 2, 3, 4, 8))), ("gpu", rng.choice((0, 1, 4)))))
        for group in scenario.machine.groups
    ]
    wider = random.Random(-43 - seed)
    limits = tuple(
        limit if limit.about[2] == "jobs" else replace(limit, amount=limit.amount * wider.choice((1, 2, 3)))
        for limit in scenario.machine.limits
    )
    machine = replace(scenario.machine, groups=groups, limits=limits)
    jobs = []
    for j, job in enumerate(scenario.jobs):
        packed = replace(job, demand=rng.choice(OF_TASKS))
        packed = replace(packed, tasks=job.tasks * rng.choice((1, 2, 3, 5)) + rng.choice((0, 1)), alone=True)
        if job.alternatives:
            packed = replace(packed, alternatives=_of_so_many(job, packed, random.Random(f"{seed} {j}")))
        alone = rng.random() < 0.8 and _can_be(packed, j, machine, scenario.settings.placement)
        jobs.append(packed if alone else replace(job, demand=()))
    return _with_known_shapes(replace(scenario, machine=machine, jobs=jobs))


def _with_known_shapes(scenario: Scenario) -> Scenario:
    # A limit of nodes needs known shapes if jobs may be uneven.
    return scenario.as_chosen() if "limits" in by_shapes(scenario) else scenario


def under_tight_limits(scenario: Scenario, seed: int) -> Scenario:
    """Return the scenario with limits in nodes or CPUs that leave each job hardly more than it is given at first."""
    rng, scenario = random.Random(-4376 - seed), scenario.as_chosen()
    machine, found = replace(scenario.machine, limits=()), []
    held = [naive.on_whole_nodes(job, machine) for job in scenario.jobs]
    free, idle = [group.count for group in machine.groups], [0.0 for _ in machine.uplinks]
    for of in rng.sample(LIMITED[:2], rng.choice((1, 2))):
        what = rng.choice(("nodes", "cpus"))
        for name in sorted({who(of, j, job) for j, job in enumerate(held)} - {""}):
            parts = {j: naive.part_of(job, what) for j, job in enumerate(held) if who(of, j, job) == name}
            limit = naive.Limit(0, parts, (of, name, what))
            first = {j: naive.place(held[j], free, idle, machine, scenario.settings.placement) for j in parts}
            most = max(naive.taken_of(limit, held, j, counts) for j, counts in first.items())
            found.append(replace(limit, amount=most + rng.choice((0, 0, 1, 2, 5))))
    return replace(scenario, machine=replace(machine, limits=tuple(found)))


def _of_so_many(job: naive.Job, packed: naive.Job, rng: random.Random) -> tuple[naive.Shape, ...]:
    """Return the shapes of a job, each of as many times the tasks, or some less."""
    times = max(1, packed.tasks // job.tasks)
    shapes = [(packed.tasks, job.runtime, job.estimate)]
    for tasks, *spent in job.alternatives[1:]:
        shape = (max(1, tasks * times - rng.choice((0, 0, 1, 2))), *spent)
        shapes += [] if shape in shapes else [shape]
    return tuple(shapes) if len(shapes) > 1 else ()


def _can_be(job: naive.Job, j: int, machine: naive.Machine, placement: str) -> bool:
    try:
        held = naive.on_whole_nodes(job, machine)
    except ValueError:
        return False  # and the package refuses it by name
    limits = [limit for limit in machine.limits if j in limit.parts]
    shapes = [naive.in_shape(held, which) for which in range(len(held.alternatives))] or [held]
    bound = all(naive.part_of(one, limit.about[2]) <= limit.amount for limit in limits for one in shapes)
    bound = bound and all(naive.feasible(one, machine, placement) for one in shapes)
    return bound and not any(naive.too_many_nodes(machine, {j: one}, j, placement) for one in shapes)


def signal_of(cap: naive.Cap, machine: naive.Machine) -> Any:
    """Return a cap as the package takes it."""
    from fedsched.model.time.signal import Signal

    [*others] = {machine.groups[g].cluster for g in cap.groups}
    whose = "" if len(cap.groups) == len(machine.groups) else f"C{others[0] + 1}"
    again = cap.period < math.inf
    until = cap.times[0] + cap.period if again else cap.times[-1] + 1.0
    return Signal(cap.times, cap.watts, "W", whose, until=until, beyond="repeat" if again else "last")


def conditions_of(job: naive.Job, jobs: Sequence[naive.Job]) -> str:
    """Return what a job waits for, as the package takes it."""
    named = [(kind, kind if on < 0 else f"{kind}:{jobs[on].id}", lag) for kind, on, lag in job.after]
    return ",".join(text + (f"+{lag!r}s" if lag else "") for _, text, lag in named)


def to_package(jobs: list[naive.Job], machine: naive.Machine) -> tuple[Workload, Federation, Any]:
    """Return the package's workload and federation for naive jobs, and the caps as an int64 array [n, G]."""
    import numpy as np

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Cluster, Federation, NodeGroup
    from fedsched.model.machine.limits import Limit
    from fedsched.model.machine.partition import Partition
    from fedsched.model.power.switching import Reserve, Timeout
    from fedsched.model.time.downtimes import Downtime

    names = tuple(f"C{k + 1}" for k in range(len(machine.uplinks)))
    clusters = []
    for k, name in enumerate(names):
        groups = [machine.groups[g] for g in machine.inside[k]]
        nodes = tuple(
            NodeGroup(
                group.count,
                group.speed,
                group.busy,
                group.idle,
                features=tuple(sorted(group.features)),
                resources=group.resources,
                weight=group.weight,
                gears=tuple(zip((0.75, 0.5), group.gears, strict=False)),  # of speeds that no simulation looks at
                **({} if machine.timeout is None else states_of(group)),
            )
            for group in groups
        )
        clusters.append(Cluster(name, nodes, machine.uplinks[k]))
    counts = [group.count for group in machine.groups]
    allowed = None
    if any(job.allowed is not None for job in jobs):
        allowed = np.array([[job.allowed is None or k in job.allowed for k in range(len(names))] for job in jobs])
    workload = Workload(
        submit=np.array([job.submit for job in jobs]),
        tasks=np.array([job.tasks for job in jobs]),
        runtime=np.array([job.runtime for job in jobs]),
        estimate=np.array([job.estimate for job in jobs]),
        id=np.array([job.id for job in jobs]),
        compute_fraction=np.array([job.sigma for job in jobs]),
        task_bandwidth=np.array([job.bandwidth for job in jobs]),
        origin=np.array([-1 if job.origin is None else job.origin for job in jobs]),
        user=np.array([job.user for job in jobs]),
        allowed=allowed,
        sites=names,
        pools={f"P{p}": [job.needs[p] for job in jobs] for p in range(len(machine.pools))},
        after=[conditions_of(job, jobs) for job in jobs],
        begin=[job.begin for job in jobs],
        held={job.id: job.held for job in jobs if job.held} or None,
        cancel_at=[-1.0 if job.cancel_at == math.inf else job.cancel_at for job in jobs],
        feedback={
            "preceding": [-1 if job.follows is None else jobs[job.follows[0]].id for job in jobs],
            "think_time": [-1 if job.follows is None else job.follows[1] for job in jobs],
        },
        labels={
            "account": [who("account", j, job) for j, job in enumerate(jobs)],
            "array": [array_of(j, machine) for j in range(len(jobs))],
            "name": [job.name for job in jobs],
            "features": ["|".join("&".join(sorted(part)) for part in job.features) for job in jobs],
            "partition": ["" if job.partition is None else f"Q{job.partition}" for job in jobs],
            "reservation": ["" if job.reservation is None else f"R{job.reservation}" for job in jobs],
        },
        demand={name: [dict(job.demand).get(name, 0) for job in jobs] for name in ("cpu", "gpu", "tape")},
        layout={"tasks_per_node": [job.per_node for job in jobs], "exclusive": [int(job.alone) for job in jobs]},
        alternatives={job.id: job.alternatives for job in jobs if job.alternatives} or None,
        watts=[-1.0 if job.watts is None else job.watts for job in jobs],
        gear=[job.gear for job in jobs],
        log={"status": [STATUS[job.ends] for job in jobs]},
    )
    pools = pools_of(machine, names)
    tiers = machine.tiers or [1 for _ in machine.partitions]
    partitions = tuple(Partition(f"Q{q}", nodes_of(machine, q), tier=tier) for q, tier in enumerate(tiers))
    calendar = []
    for one, *others in downtimes_of(machine):
        inside = machine.inside[machine.groups[one.group].cluster]
        firsts = [sum(counts[g] for g in inside if g < part.group) for part in (one, *others)]
        times = {"begin": one.begin, "end": one.end, "known_from": one.known_from, "end_known": one.end_known}
        named = ",".join(
            f"{first}-{first + counts[part.group] - 1}" for first, part in zip(firsts, (one, *others), strict=True)
        )
        nodes = named if one.victims == "recorded" else f"{one.nodes} of {named}"
        if one.reservation is not None:
            times |= {"kind": "reservation", "name": f"R{one.reservation}"}
        losers = {"on_running": one.on_running, "victims": one.victims, "seed": one.seed}
        calendar.append(Downtime(names[machine.groups[one.group].cluster], nodes=nodes, **times, **losers))
    caps = np.array([counts if job.caps is None else job.caps for job in jobs], dtype=np.int64)
    bound = []
    for one in machine.limits:
        of, name, what = one.about
        if of != "array":
            bound.append(Limit(of, **{what: one.amount}, names=(name,)))
    shared = {"pools": pools, "partitions": partitions, "calendar": tuple(calendar), "limits": tuple(bound)}
    saving = None
    if machine.timeout is not None:
        seconds, keep = machine.timeout
        off, boot = machine.rates
        timed = Timeout(seconds, keep, suspend_rate=off, resume_rate=boot)
        saving = Reserve(keep, seconds) if machine.ahead else timed
    shared |= {"signals": tuple(signal_of(cap, machine) for cap in machine.caps)}
    shared |= {"cap": "now"} if machine.cap_at_start else {}
    federation = Federation(tuple(clusters), name="naive", **shared, power=saving)
    return workload, federation, caps


def pools_of(machine: naive.Machine, clusters: Sequence[str]) -> tuple[Any, ...]:
    """Return a machine's pools as the package takes them."""
    from fedsched.model.machine.federation import Pool

    whose = [None if k is None else clusters[k] for k in machine.pool_clusters or [None for _ in machine.pools]]
    return tuple(Pool(f"P{p}", amount, whose[p]) for p, amount in enumerate(machine.pools))


def states_of(group: naive.Group) -> dict[str, float]:
    """Return what the package is told of nodes that go off."""
    named = {"off_watts": group.off, "boot_seconds": group.boot[0], "boot_watts": group.boot[1]}
    return named | {"shutdown_seconds": group.shutdown[0], "shutdown_watts": group.shutdown[1]}


def array_of(j: int, machine: naive.Machine) -> str:
    """Return of which array a job is a task, and how many of them may run at a time."""
    for one in machine.limits:
        if one.about[0] == "array" and j in one.parts:
            return f"{one.about[1]}%{one.amount}"
    return ""


def nodes_of(machine: naive.Machine, partition: int) -> dict[str, str]:
    """Return a partition's nodes by cluster, as the package takes them."""
    found: dict[str, str] = {}
    for k in range(len(machine.uplinks)):
        first = 0
        for g in machine.inside[k]:
            last = first + machine.groups[g].count - 1
            if g in machine.partitions[partition]:
                found[f"C{k + 1}"] = f"{found[f'C{k + 1}']}," if f"C{k + 1}" in found else ""
                found[f"C{k + 1}"] += f"{first}-{last}"
            first = last + 1
    return found
