"""Nodes that several jobs share, node by node and device by device: slow, plain, and independent of the package [55].

What whole groups do (placement rules, queue orders, durations) is that of `naive`, in tasks, and so are the events: who
joins the queue when, and leaves it.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from reference import naive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reference.naive_measures import Steps

WHOLE = 1000


@dataclass(frozen=True)
class Ask:
    """What each task of a job takes, and how tasks stand."""

    need: dict[str, int]  # cpu at least 1; gpu: whole devices
    share: int = 0  # thousandths of one device
    chunk: int = 0
    alone: bool = False
    closed: frozenset[int] = frozenset()  # groups that it may not use


@dataclass
class Node:
    group: int
    has: dict[str, int]
    gpus: int
    free: dict[str, int] = field(default_factory=dict)
    left: list[int] = field(default_factory=list)
    jobs: set[int] = field(default_factory=set)

    def open(self) -> None:
        self.free = {name: amount for name, amount in self.has.items() if name != "gpu"}
        self.left = [WHOLE] * self.gpus

    def close(self) -> None:
        self.free = dict.fromkeys(self.free, 0)
        self.left = [0] * self.gpus

    def devices(self, ask: Ask) -> list[tuple[int, int]] | None:
        """Return which part of which device one more task takes; None where there is no such."""
        if ask.share:
            able = [(left, device) for device, left in enumerate(self.left) if left >= ask.share]
            return [(min(able)[1], ask.share)] if able else None
        whole = [device for device, left in enumerate(self.left) if left == WHOLE][: ask.need.get("gpu", 0)]
        return [(device, WHOLE) for device in whole] if len(whole) == ask.need.get("gpu", 0) else None

    def add(self, ask: Ask) -> list[tuple[int, int]] | None:
        """Put one task more here, and return its devices; None where it does not fit."""
        devices = self.devices(ask)
        amounts = {name: need for name, need in ask.need.items() if name != "gpu"}
        if devices is None or any(self.free.get(name, 0) < need for name, need in amounts.items()):
            return None
        for name, need in amounts.items():
            if need:
                self.free[name] -= need
        for device, part in devices:
            self.left[device] -= part
        return devices

    def room(self, ask: Ask) -> int:
        """Return how many tasks fit."""
        if ask.alone and self.jobs:
            return 0
        trial, fit = copy.deepcopy(self), 0
        while trial.add(ask) is not None:
            fit += 1
        return fit if not ask.chunk else ask.chunk if fit >= ask.chunk else 0

    def total(self, name: str) -> int:
        return sum(self.left) if name == "gpu" else self.free.get(name, 0)


Hold = dict[int, tuple[int, list[tuple[int, int]]]]  # node: tasks, devices


@dataclass
class Run:
    """One run of a dispatch rule."""

    machine: naive.Machine
    nodes: list[Node]
    jobs: list[naive.Job]
    asks: list[Ask]
    resources: list[str]
    choice: str
    reservation: str
    dispatch: str
    placement: str
    order: str
    backfill_order: str
    kill: bool
    limits: list[tuple[int, frozenset[int]]] = field(default_factory=list)  # nodes at most, and of which jobs
    sizes: dict[int, tuple[int, int]] = field(default_factory=dict)  # of a job: on how many nodes, at least and most
    sequential: bool = False
    saturation: str = "dynamic"
    decide: naive.Decide | None = None  # chooses the next job in place of the rule (reading 32)
    places: int = 0

    def run(self) -> None:
        for node in self.nodes:
            node.open()
        self.hold: list[Hold] = [{} for _ in self.jobs]
        self.lost: list[tuple[int, float, float, bool, Hold]] = []  # job, start, end, queued again, what it held
        self.events = Events(self)
        self.result = self.events.run()
        self.start, self.finish, self.counts = self.result.start, self.result.finish, self.result.counts

    @property
    def now(self) -> float:
        return self.events.now

    # ---- what fits -------------------------------------------------------------------------------------------

    def place(self, j: int, nodes: list[Node]) -> list[int] | None:
        """Return how many tasks each group takes, by the placement rule, of what fits there."""
        ask, closed = self.asks[j], self.closed_to(j)
        room = [0 for _ in self.machine.groups]
        for node in nodes:
            if node.group not in closed:
                room[node.group] += node.room(ask)
        groups = []
        for one in self.machine.groups:  # of cores, which tasks take as they take nodes on whole ones
            cores = dict(one.resources)["cpu"]
            groups.append(replace(one, count=one.count * cores, busy=one.busy / cores, idle=one.idle / cores))
        caps = self.jobs[j].caps
        if caps is not None and ask.chunk:
            caps = [cap if cap >= self.jobs[j].tasks else cap - cap % ask.chunk for cap in caps]
        job = replace(self.jobs[j], demand=(), caps=caps)
        of_cores = replace(self.machine, groups=groups)
        return naive.place(job, room, [0.0] * len(of_cores.uplinks), of_cores, self.placement)

    def closed_to(self, j: int) -> set[int]:
        """Return the groups that a job may not use, by what it asks for and by whose its pools are."""
        caps, chunk = self.jobs[j].caps or [], self.asks[j].chunk
        shut = {g for g, cap in enumerate(caps) if cap == 0 or (cap < chunk and cap < self.jobs[j].tasks)}
        return {*self.asks[j].closed} | shut | naive.elsewhere(self.jobs[j], self.machine)

    def room(self, j: int, nodes: list[Node]) -> list[int]:
        ask, closed = self.asks[j], self.closed_to(j)
        return [
            sum(node.room(ask) for node in nodes if node.group == g and g not in closed)
            for g in range(len(self.machine.groups))
        ]

    def choose(self, j: int, counts: list[int], nodes: list[Node]) -> Hold:
        """Return the tasks of each node, and their devices, by the choice of nodes."""
        ask, found = self.asks[j], {}
        for g, tasks in enumerate(counts):
            room = {n: fit for n, node in enumerate(nodes) if node.group == g and (fit := node.room(ask)) > 0}
            if tasks:
                found |= self.in_group(ask, tasks, room, nodes)
        hold = {}
        for n, tasks in found.items():
            trial = copy.deepcopy(nodes[n])
            hold[n] = (tasks, [part for _ in range(tasks) for part in (trial.add(ask) or ())])
        return hold

    def in_group(self, ask: Ask, tasks: int, room: dict[int, int], nodes: list[Node]) -> dict[int, int]:
        def free(n: int) -> list[int]:
            return [nodes[n].total(name) for name in self.resources]

        keys = {
            "first": lambda n: (n,),
            "best": lambda n: (free(n), n),
            "least_loaded": lambda n: (-free(n)[0], n),
            "spread": lambda n: (-free(n)[0], n),
        }
        found: dict[int, int] = {}
        if self.choice == "spread" and not ask.chunk:
            in_turn = sorted(room, key=keys["spread"])
            while tasks:
                for n in in_turn:
                    if tasks and found.get(n, 0) < room[n]:
                        found[n] = found.get(n, 0) + 1
                        tasks -= 1
            return found
        if self.choice == "block":
            return self.side_by_side(ask, tasks, room, nodes)
        while tasks:
            left = [n for n in room if n not in found]
            if self.choice == "pack":
                node = min(left, key=lambda n: (-min(room[n], tasks), n))
            else:
                node = min(left, key=keys[self.choice])
            found[node] = min(room[node], tasks)
            tasks -= found[node]
        return found

    def side_by_side(self, ask: Ask, tasks: int, room: dict[int, int], nodes: list[Node]) -> dict[int, int]:
        """Return the nodes of the smallest block that has room for all; of the largest first, where none has."""
        fit = {n: nodes[n].room(replace(ask, chunk=0)) for n in room}
        found: dict[int, int] = {}
        while tasks:
            blocks: list[list[int]] = []
            for n in sorted(set(room) - set(found)):
                if blocks and blocks[-1][-1] == n - 1:
                    blocks[-1].append(n)
                else:
                    blocks.append([n])
            block: list[int] = []
            for other in blocks:
                size, most = sum(fit[n] for n in other), sum(fit[n] for n in block)
                holds, held = (
                    sum(fit[n] for n in one) >= tasks and len(one) * (ask.chunk or tasks) >= tasks
                    for one in (other, block)
                )
                if (holds and not held) or (size < most if holds else size > most):
                    block = other
            one = [n for n in block if min(fit[n], ask.chunk or tasks) >= tasks]
            for n in [min(one, key=lambda n: (fit[n], n))] if one else block:
                if tasks:
                    found[n] = min(fit[n], ask.chunk or tasks, tasks)
                    tasks -= found[n]
        return found

    def put(self, nodes: list[Node], j: int, hold: Hold) -> None:
        for n, (tasks, devices) in hold.items():
            node = nodes[n]
            node.jobs.add(j)
            if self.asks[j].alone:
                node.close()
                continue
            for name, need in self.asks[j].need.items():
                if name in node.free:
                    node.free[name] -= tasks * need
            for device, part in devices:
                node.left[device] -= part

    def release(self, nodes: list[Node], j: int, hold: Hold | None = None) -> None:
        for n, (tasks, devices) in (self.hold[j] if hold is None else hold).items():
            node = nodes[n]
            node.jobs.remove(j)
            if self.asks[j].alone:
                node.open()
                continue
            for name, need in self.asks[j].need.items():
                if name in node.free:
                    node.free[name] += tasks * need
            for device, part in devices:
                node.left[device] += part

    # ---- passes ----------------------------------------------------------------------------------------------

    def planned_end(self, j: int, counts: list[int]) -> float:
        return self.events.planned_end(j, counts, self.now)

    def begin(self, j: int, counts: list[int], hold: Hold) -> None:
        self.put(self.nodes, j, hold)
        self.hold[j] = hold
        self.events.start(j, counts)

    def decided(self, decide: naive.Decide) -> None:
        """Let somebody choose, one job after the other, while one of those who are looked at fits (reading 32)."""
        while True:
            queue = self.events.sorted_by(self.order, self.events.waiting())
            waiting = [j for j in queue if not self.events.over_limit(j)][: self.places]
            found = [self.hold_now(j) for j in waiting]
            fits = [one is not None for one in found]
            if not any(fits):
                return
            chosen = decide(self.now, waiting, fits)
            if not 0 <= chosen < len(waiting) or not fits[chosen]:
                if self.events.goes_on() or 0 <= chosen < len(waiting):
                    return
                chosen = fits.index(True)  # no later instant would come (reading 33)
            held = found[chosen]
            assert held is not None
            self.begin(waiting[chosen], *held)

    def hold_now(self, j: int) -> tuple[list[int], Hold] | None:
        """Return what a job would have now; None if it cannot start."""
        counts = self.place_now(j)
        hold = {} if counts is None else self.choose(j, counts, self.nodes)
        return None if counts is None or self.over_nodes(j, hold) else (counts, hold)

    def pass_over(self, waiting: list[int]) -> None:
        if self.decide is not None:
            self.decided(self.decide)
            return
        if self.dispatch == "conservative":
            self.conservative(waiting)
            return
        if self.dispatch == "local":
            self.start_per_cluster(waiting)
            return
        if self.dispatch == "greedy":
            for j in waiting:
                self.try_now(j)
            return
        while waiting and (self.events.over_limit(waiting[0]) or self.try_now(waiting[0])):
            waiting.pop(0)
        if self.dispatch == "easy" and waiting:
            self.backfill(waiting[0], self.events.sorted_by(self.backfill_order, waiting[1:]))

    def place_now(self, j: int) -> list[int] | None:
        """Return how many tasks each group takes now, unless a limit or a pool is in the way (readings 31, 43)."""
        if self.events.over_limit(j) or not naive.needs_fit(self.jobs[j], self.events.left_at(self.now)):
            return None
        return self.place_from(j, self.nodes, self.now)

    def place_from(self, j: int, nodes: list[Node], begin: float) -> list[int] | None:
        """Return how many tasks each group takes of those open from `begin` until the planned end (reading 39)."""
        end = naive.ends_at(begin + self.shortest(j), begin)
        while True:
            mine = self.jobs[j].reservation
            known = [one for one in self.events.known_closures() if mine is None or one.reservation != mine]
            shut = {one.group for one in known if one.begin < end and begin < one.end}
            if mine is not None and end > self.machine.kept(mine)[0].end:
                return None
            counts = self.place(j, [node for node in nodes if node.group not in shut])
            if counts is None:
                return None
            needed = naive.ends_at(begin + naive.planned_duration(self.jobs[j], counts, self.machine), begin)
            if needed <= end:
                return counts
            end = needed

    def shortest(self, j: int) -> float:
        """Return how long a job takes on the fastest nodes that it may use, and that have what a task takes."""
        groups, need = range(len(self.machine.groups)), self.asks[j].need
        able = [
            g for g in groups
            if g not in self.closed_to(j)
            and all(dict(self.machine.groups[g].resources).get(name, 0) >= amount for name, amount in need.items())
        ]  # fmt: skip
        alone = [[int(g == other) for other in groups] for g in able]
        return min(naive.planned_duration(self.jobs[j], counts, self.machine) for counts in alone)

    def try_now(self, j: int) -> bool:
        """Start a job if it fits and may have its nodes; return whether others need not wait for it."""
        counts = self.place_now(j)
        if counts is not None:
            self.begin_within_limits(j, counts, self.choose(j, counts, self.nodes))
        return counts is not None

    def begin_within_limits(self, j: int, counts: list[int], hold: Hold) -> bool:
        """Start a job on nodes, if limits on these let it have them; return whether they do."""
        within = not self.over_nodes(j, hold)
        if within:
            self.begin(j, counts, hold)
        return within

    def over_nodes(self, j: int, hold: Hold) -> bool:
        """Return whether these nodes are too many or too few for a job, each counted once for all who are there."""
        least, most = self.sizes.get(j, (1, len(self.nodes)))
        if not least <= len(hold) <= most:
            return True
        for most, jobs in self.limits:
            there = {n for record in self.events.present() if record.job in jobs for n in self.hold[record.job]}
            if j in jobs and len(there | {*hold}) > most:
                return True
        return False

    def at(self, time: float, planned: Sequence[tuple[float, float, int, Hold]] = ()) -> list[Node]:
        """Return the nodes as planned ends, and the begins and ends of planned jobs, leave them at a time."""
        ends = [(self.events.end_in_plan(one), one.job, self.hold[one.job]) for one in self.events.present()]
        changes = [(end, "end", j, hold) for end, j, hold in (*ends, *(one[1:] for one in planned))]
        changes += [(begin, "start", j, hold) for begin, _, j, hold in planned]
        nodes = copy.deepcopy(self.nodes)
        for moment, what, j, hold in sorted(changes, key=lambda one: (one[0], one[1])):  # at an instant ends come first
            if moment > time:
                break
            if what != "end":
                self.put(nodes, j, hold)
            elif self.reservation == "resources" or self.dispatch == "conservative":
                self.release(nodes, j, hold)
            else:
                for n in hold:
                    nodes[n].jobs.remove(j)
                    if not nodes[n].jobs:
                        nodes[n].open()
        return nodes

    def backfill(self, head: int, candidates: list[int]) -> None:
        known = self.events.known_closures()
        times = {self.events.end_in_plan(record) for record in self.events.present()} | {one.end for one in known}
        for shadow in sorted(times - {math.inf}):
            later, left = self.at(shadow), self.events.left_at(shadow)
            counts = self.place_from(head, later, shadow) if naive.needs_fit(self.jobs[head], left) else None
            if counts is not None:
                self.put(later, head, self.gained(head, counts, later))
                left = naive.less(left, self.jobs[head])
                break
        else:
            assert known
            shadow = math.inf  # nothing is reserved for whom downtimes keep from ever starting
        for j in candidates:
            counts = self.place_now(j)
            if counts is None:
                continue
            if self.planned_end(j, counts) <= shadow:
                self.begin_within_limits(j, counts, self.choose(j, counts, self.nodes))
                continue
            both = [self.least(*pair) for pair in zip(self.nodes, later, strict=True)]
            room = self.room(j, both)
            enough = naive.needs_fit(self.jobs[j], left)
            if not enough or any(x > fit for x, fit in zip(counts, room, strict=True)):
                counts = self.place_from(j, both, self.now)
            if counts is None:
                continue
            lasts = self.planned_end(j, counts) > shadow
            if lasts and not enough:
                continue
            hold = self.choose(j, counts, both)
            if self.begin_within_limits(j, counts, hold) and lasts:
                self.put(later, j, hold)
                left = naive.less(left, self.jobs[j])

    def start_per_cluster(self, waiting: list[int]) -> None:
        """Start each job unless one that waits before it may use its cluster, or needs one of its pools [29]."""
        held: set[tuple[str, int]] = set()
        for j in waiting:
            if self.events.over_limit(j):
                continue
            groups = {node.group for node in self.nodes if self.takes(node, j)}
            mine = {("cluster", self.machine.groups[g].cluster) for g in groups}
            mine |= {("pool", p) for p, need in enumerate(self.jobs[j].needs) if need > 0}
            counts = None if mine & held else self.place_now(j)
            if counts is None:
                held |= mine
            else:
                self.begin_within_limits(j, counts, self.choose(j, counts, self.nodes))

    def takes(self, node: Node, j: int) -> bool:
        """Return whether a job may use a node, which has enough for one of its tasks."""
        ask, has = self.asks[j], {**node.has, "gpu": node.gpus}
        enough = all(has.get(name, 0) >= need for name, need in ask.need.items())
        return enough and (not ask.share or node.gpus > 0) and node.group not in self.closed_to(j)

    def conservative(self, waiting: list[int]) -> None:
        """Give each job in turn the first time at which it fits to its planned end, beside those before it [12]."""
        planned: list[tuple[float, float, int, Hold]] = []
        for j in waiting:
            if self.events.over_limit(j):
                continue
            ends = {self.events.end_in_plan(record) for record in self.events.present()}
            opens = {one.end for one in self.events.known_closures()}
            times = {self.now} | ends | {end for _, end, _, _ in planned} | opens
            for time in sorted(times - {math.inf}):
                fit = self.fit_from(j, time, planned)
                if fit is None:
                    continue
                counts, end, hold = fit
                if time > self.now:
                    planned.append((time, end, j, hold))
                else:
                    self.begin_within_limits(j, counts, hold)
                break

    def fit_from(
        self, j: int, begin: float, planned: list[tuple[float, float, int, Hold]]
    ) -> tuple[list[int], float, Hold] | None:
        """Return the tasks of each group, the planned end and the nodes of a job from `begin` on, if it fits."""
        end = naive.ends_at(begin + self.shortest(j), begin)
        while True:
            nodes, left = self.through(begin, end, planned)
            counts = self.place_from(j, nodes, begin) if naive.needs_fit(self.jobs[j], left) else None
            if counts is None:
                return None
            needed = naive.ends_at(begin + naive.planned_duration(self.jobs[j], counts, self.machine), begin)
            if needed <= end:
                return counts, needed, self.choose(j, counts, nodes)
            end = needed

    def through(
        self, begin: float, end: float, planned: list[tuple[float, float, int, Hold]]
    ) -> tuple[list[Node], list[int]]:
        """Return what is free on each node, and in pools, from `begin` until `end`, beside planned jobs."""
        times = {begin} | {one for one, *_ in planned if begin < one < end}
        found: tuple[list[Node], list[int]] | None = None
        for time in sorted(times):
            nodes, left = self.at(time, planned), self.events.left_at(time)
            for first, last, j, _ in planned:
                if first <= time < last:
                    left = naive.less(left, self.jobs[j])
            if found is not None:
                nodes = [self.least(*pair) for pair in zip(found[0], nodes, strict=True)]
                left = [min(pair) for pair in zip(found[1], left, strict=True)]
            found = nodes, list(left)
        assert found is not None
        return found

    def gained(self, head: int, counts: list[int], later: list[Node]) -> Hold:
        """Return the nodes of a reservation: within each group first those where the fewest tasks fit now."""
        ask, hold = self.asks[head], {}
        for n in sorted(range(len(later)), key=lambda n: (self.nodes[n].room(ask), n)):
            g = later[n].group
            tasks = min(later[n].room(ask), counts[g] - sum(hold[m][0] for m in hold if later[m].group == g))
            if tasks > 0:
                trial = copy.deepcopy(later[n])
                hold[n] = (tasks, [part for _ in range(tasks) for part in (trial.add(ask) or ())])
        return hold

    def least(self, now: Node, later: Node) -> Node:
        node = copy.deepcopy(now)
        node.free = {name: min(amount, later.free[name]) for name, amount in now.free.items()}
        node.left = [min(pair) for pair in zip(now.left, later.left, strict=True)]
        node.jobs = now.jobs | later.jobs
        return node


def watts_at(run: Run, moment: float) -> list[float]:
    """Return what each cluster draws at a moment: idle nodes, and of each the share of its cores that is taken [65]."""
    groups = run.machine.groups
    watts = [0.0 for _ in run.machine.uplinks]
    for node in run.nodes:
        watts[groups[node.group].cluster] += groups[node.group].idle
    runs = [(j, run.start[j], run.finish[j], hold) for j, hold in enumerate(run.hold)]
    runs += [(j, start, end, hold) for j, start, end, _, hold in run.lost]
    for j, start, end, hold in runs:
        if start <= moment < end:
            for n, (tasks, _) in hold.items():
                node, ask = run.nodes[n], run.asks[j]
                group = groups[node.group]
                share = 1.0 if ask.alone else tasks * max(1, ask.need["cpu"]) / node.has["cpu"]
                watts[group.cluster] += share * (naive.drawn(run.jobs[j], group) - group.idle)
    return watts


def priced(run: Run, signals: list[Steps], t0: float) -> tuple[float, float]:
    """Return what the energy of each cluster costs by its signal, and the most watts, piece of time by piece."""
    ran = [j for j, end in enumerate(run.finish) if not math.isnan(end)]
    times = {time for j in ran for time in (run.start[j], run.finish[j])}
    times |= {time for _, start, end, _, _ in run.lost for time in (start, end)} | {t0}
    last = max(times)
    times |= {time for signal in signals for time in signal.edges(t0, last)}
    cost = peak = 0.0
    for begin, end in pairwise(sorted(times)):
        watts = watts_at(run, (begin + end) / 2)
        peak = max(peak, sum(watts))
        for here, signal in zip(watts, signals, strict=True):
            cost += here * signal.at((begin + end) / 2) * signal.weight * (end - begin)
    return cost, peak


class Events(naive.Simulation):
    """What happens when, as on whole nodes; passes, and what ends give back, are those of shared ones."""

    def __init__(self, shared: Run) -> None:
        super().__init__(
            jobs=list(shared.jobs), machine=shared.machine, order=shared.order, backfill_order=shared.backfill_order,
            dispatch=shared.dispatch, placement=shared.placement, sequential=shared.sequential,
            saturation=shared.saturation, kill_at_estimate=shared.kill, t0=min(job.submit for job in shared.jobs),
            running=(), watch=None, decide=None, places=0, shapes_on_the_way=False,
        )  # fmt: skip
        self.shared = shared
        self.released: set[int] = set()  # whose nodes are free although their end is still to come (reading 3)

    def pass_over(self, queue: list[int]) -> None:
        present = {record.job for record in self.present()}
        for record in self.running:
            if record.job not in present | self.released:
                self.released.add(record.job)
                self.shared.release(self.shared.nodes, record.job)
        self.shared.pass_over(queue)

    def waiting(self) -> list[int]:
        mine = [j for j in self.queue if self.jobs[j].reservation == self.turn]
        ends = {j: naive.ends_at(self.now + self.shared.shortest(j), self.now) for j in mine}
        return [j for j in mine if self.turn is None or ends[j] <= self.open_until()]

    def end(self, record: naive.Running) -> None:
        super().end(record)
        if record.job in self.released:
            self.released.remove(record.job)
        else:
            self.shared.release(self.shared.nodes, record.job)

    def lose(self, record: naive.Running, requeue: bool) -> None:
        shared, j = self.shared, record.job
        shared.release(shared.nodes, j)
        shared.lost.append((j, record.start, self.now, requeue, shared.hold[j]))
        shared.hold[j] = {}
        super().lose(record, requeue)
