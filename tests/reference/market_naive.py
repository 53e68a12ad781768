"""The economic metascheduler in slow, plain Python: what the compiled scan, choice and replay are compared with.

Written from Toporkov et al.'s text and from docs/explanation/market.md; nothing is imported from the package.
Windows are found by trying every subset of slots, combinations by trying every one.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random


@dataclass(frozen=True)
class Ask:
    """A request: m slots of a length on a node of the reference performance."""

    m: int
    length: float
    budget: float = math.inf
    deadline: float = math.inf
    least: float = 0.0
    criterion: str = "min_start"


@dataclass
class Domain:
    """Nodes, and their free slots as (start, node, end)."""

    performance: list[float]
    price: list[float]
    watts: list[float]
    slots: list[tuple[float, int, float]]
    reference: float = 1.0
    changes: dict[int, list[tuple[float, float]]] = field(default_factory=dict)  # of a node: (from, price), rising

    def length(self, ask: Ask, node: int) -> float:
        return ask.length * self.reference / self.performance[node]

    def cost(self, ask: Ask, node: int, start: float = 0.0) -> float:
        """Return what a slot costs, piece by piece; each begins where a price does."""
        end = start + self.length(ask, node)
        points = [start, *(since for since, _ in self.changes.get(node, []) if start < since < end), end]
        return sum((b - a) * self.asked(node, a) for a, b in itertools.pairwise(points))

    def asked(self, node: int, now: float) -> float:
        """Return the price of a time unit that begins now."""
        past = [price for since, price in self.changes.get(node, []) if since <= now]
        return past[-1] if past else self.price[node]

    def offers(self, ask: Ask) -> list[tuple[float, int, float]]:
        """Return (start, node, end of the slot) at which windows are tried."""
        if not self.changes:
            return sorted(self.slots)
        found = set()
        for start, node, end in self.slots:
            length = self.length(ask, node)
            last = min(end, ask.deadline) - length
            points = [start, last]
            for since, _ in self.changes.get(node, []):
                points += [since, since - length]
            found |= {(point, node, end) for point in points if start <= point <= last}
        return sorted(found)

    def energy(self, ask: Ask, node: int) -> float:
        return self.length(ask, node) * self.watts[node]


@dataclass(frozen=True)
class Found:
    """A window: its start and its nodes, ascending."""

    start: float
    nodes: tuple[int, ...]


def value(domain: Domain, ask: Ask, window: Found, criterion: str) -> float:
    """Return what a criterion says of a window."""
    longest = max(domain.length(ask, node) for node in window.nodes)
    return {
        "min_start": window.start,
        "min_finish": window.start + longest,
        "min_runtime": longest,
        "min_cost": sum(domain.cost(ask, node, window.start) for node in window.nodes),
        "min_cpu": sum(domain.length(ask, node) for node in window.nodes),
        "min_energy": sum(domain.energy(ask, node) for node in window.nodes),
    }[criterion]


def every_window(domain: Domain, ask: Ask, starts: list[float] | None = None) -> list[Found]:
    """Return every window within budget that starts at a slot's start, or at the starts given."""
    found = []
    for start in sorted({slot[0] for slot in domain.slots}) if starts is None else starts:
        fitting = [
            node
            for begin, node, end in domain.slots
            if begin <= start
            and domain.performance[node] >= ask.least
            and min(end, ask.deadline) - start >= domain.length(ask, node)
        ]
        for nodes in itertools.combinations(sorted(fitting), ask.m):
            if sum(domain.cost(ask, node, start) for node in nodes) <= ask.budget:
                found.append(Found(start, nodes))
    return found


def scan(domain: Domain, ask: Ask, rule: str, *, criterion: str | None = None, choice: str = "exact") -> Found | None:
    """Return the window of Algorithm 1, step by step; at each step every subset is tried.

    `choice` "cheapest" looks at no window but the cheapest of each step.
    """
    criterion = criterion or ask.criterion
    best, best_value = None, math.inf
    held: list[tuple[int, float]] = []
    for start, node, end in domain.offers(ask):
        if domain.performance[node] < ask.least:
            continue
        held = [(n, e) for n, e in held if min(e, ask.deadline) - start >= domain.length(ask, n)]
        if min(end, ask.deadline) - start < domain.length(ask, node):
            continue
        if (node, end) not in held:
            held.append((node, end))
        allowed = [n for n, _ in held if rule != "alp" or domain.cost(ask, n, start) * ask.m <= ask.budget]
        windows = [Found(start, nodes) for nodes in itertools.combinations(sorted(allowed), ask.m)]
        windows = [w for w in windows if value(domain, ask, w, "min_cost") <= ask.budget]
        if not windows:
            continue
        by_cost = min(windows, key=lambda w: (value(domain, ask, w, "min_cost"), w.nodes))
        if rule != "aep":
            return by_cost
        if choice == "cheapest" and criterion in ("min_cpu", "min_energy"):
            step = by_cost
        else:
            step = min(windows, key=lambda w: (value(domain, ask, w, criterion), value(domain, ask, w, "min_cost"),
                                               w.nodes))  # fmt: skip
        if value(domain, ask, step, criterion) < best_value:
            best, best_value = step, value(domain, ask, step, criterion)
    return best


def cut(domain: Domain, ask: Ask, window: Found) -> Domain:
    """Return the domain without the window's slots; what remains on both sides of each stays free."""
    slots = []
    for start, node, end in domain.slots:
        if node in window.nodes and start <= window.start < end:
            stop = window.start + domain.length(ask, node)
            if start < window.start:
                slots.append((start, node, window.start))
            if stop < end:
                slots.append((stop, node, end))
        else:
            slots.append((start, node, end))
    return Domain(domain.performance, domain.price, domain.watts, sorted(slots), domain.reference, domain.changes)


def alternatives(domain: Domain, batch: list[Ask], rule: str) -> list[tuple[int, Found]]:
    """Return the windows of all jobs: passes in batch order, each job one window a pass, until a pass finds none."""
    found = []
    while True:
        before = len(found)
        for j, ask in enumerate(batch):
            window = scan(domain, ask, rule, choice="cheapest")
            if window is not None:
                found.append((j, window))
                domain = cut(domain, ask, window)
        if len(found) == before:
            return found


def best_combination(
    groups: list[list[tuple[float, float]]], limit: float
) -> tuple[tuple[float, float, tuple[int, ...]], bool]:
    """Return (value, expense, indexes) of the least sum of values within the limit on expenses, by trying all.

    Of equal values the lower expense counts, then the earlier alternatives. Where the limit cannot be kept: of those
    of least expense, the best.
    """
    every = []
    for chosen in itertools.product(*[range(len(group)) for group in groups]):
        pairs = [group[s] for group, s in zip(groups, chosen, strict=True)]
        every.append((sum(v for v, _ in pairs), sum(e for _, e in pairs), chosen))
    kept = [one for one in every if one[1] <= limit]
    if kept:
        return min(kept), True
    least = min(one[1] for one in every)
    return min(one for one in every if one[1] == least), False


def flow(
    domain: Domain,
    batches: list[list[Ask]],
    *,
    period: float,
    horizon: float,
    order: str = "oldest",
    patience: float = math.inf,
) -> list[tuple[str, int, Found | None]]:
    """Return what became of each job of a flow of backfilled batches: ("served", cycle, window), "gone" or "waiting".

    The number of a job that has gone is that of the last cycle it took part in; one that waits has the last cycle's.
    """
    jobs = [(c, ask) for c, batch in enumerate(batches) for ask in batch]
    became: dict[int, tuple[str, int, Found | None]] = {}
    for c in range(len(batches)):
        now = c * period
        waiting = [j for j, (arrived, _) in enumerate(jobs) if arrived < c and j not in became]
        for j in list(waiting):
            if jobs[j][1].deadline <= now:
                became[j] = ("gone", c - 1, None)
                waiting.remove(j)
        new = [j for j, (arrived, _) in enumerate(jobs) if arrived == c]
        if order == "newest":
            batch = new + [j for old in range(c - 1, -1, -1) for j in waiting if jobs[j][0] == old]
        else:
            batch = waiting + new
        for j in batch:
            ahead = [(max(a, now), n, min(b, now + horizon)) for a, n, b in domain.slots]
            seen = [(a, n, b) for a, n, b in ahead if a < b]
            window = scan(replace(domain, slots=sorted(seen)), jobs[j][1], "amp")
            if window is not None:
                became[j] = ("served", c, window)
                domain = cut(domain, jobs[j][1], window)
            elif c + 1 - jobs[j][0] >= patience:
                became[j] = ("gone", c, None)
    return [became.get(j, ("waiting", len(batches) - 1, None)) for j in range(len(jobs))]


def for_the_slicer(domain: Domain, batch: list[Ask], first: int, select: str) -> list[int]:
    """Return the places of the jobs that BSF gives to the slicer: the first, the dearest, or the most critical ones."""

    def urgency(j: int) -> tuple[float, ...]:
        ask = batch[j]
        fit = [node for node in range(len(domain.performance)) if domain.performance[node] >= ask.least]
        if select == "cost":
            return (-ask.m * sum(domain.cost(ask, node) for node in fit) / max(len(fit), 1), j)
        work = ask.m * sum(domain.length(ask, node) for node in range(len(domain.performance)))
        return (len(fit) / ask.m, -work, j)

    places = list(range(len(batch)))
    return places[:first] if select == "order" else sorted(sorted(places, key=urgency)[:first])


@dataclass
class Job:
    """A reservation and how much of it is used."""

    ask: Ask
    window: Found
    share: float
    movable: bool
    released: set[int] = field(default_factory=set)


def replay(domain: Domain, jobs: list[Job]) -> list[Found]:
    """Return the windows in which jobs really run: at each end of a task the movable jobs look for earlier windows.

    What is free is worked out anew each time, from the slots less what is reserved or used.
    """

    def taken(job: Job, node: int, now: float) -> tuple[float, float]:
        length = domain.length(job.ask, node)
        used = job.window.start + job.share * length
        return job.window.start, used if used <= now else job.window.start + length

    def free(now: float, but: Job) -> Domain:
        slots = []
        for start, node, end in domain.slots:
            points = sorted(taken(j, node, now) for j in jobs if j is not but and node in j.window.nodes)
            at = max(start, now)
            for begin, stop in points:
                if stop <= start or begin >= end:
                    continue
                if begin > at:
                    slots.append((at, node, begin))
                at = max(at, stop)
            if at < end:
                slots.append((at, node, end))
        return Domain(domain.performance, domain.price, domain.watts, sorted(slots), domain.reference, domain.changes)

    now = -math.inf
    while True:
        ends = [
            job.window.start + job.share * domain.length(job.ask, node)
            for job in jobs
            for node in job.window.nodes
            if job.window.start + job.share * domain.length(job.ask, node) > now
        ]
        if not ends:
            return [job.window for job in jobs]
        now = min(ends)
        for job in jobs:
            if job.movable and job.window.start > now:
                window = scan(free(now, job), job.ask, "amp")
                if window is not None and window.start < job.window.start:
                    job.window = window


def random_changes(rng: random.Random, nodes: int, *, horizon: int = 40) -> dict[int, list[tuple[float, float]]]:
    """Return whole prices that change a few times on most nodes."""
    return {
        node: [
            (float(since), float(rng.randrange(0, 7)))
            for since in sorted(rng.sample(range(horizon), rng.randrange(1, 4)))
        ]
        for node in range(nodes)
        if rng.random() < 0.8
    }


def random_domain(rng: random.Random, nodes: int, *, horizon: int = 40) -> Domain:
    """Return a small domain of whole numbers, in which ties are common and sums exact; half of them are nearly idle."""
    idle = rng.random() < 0.5
    performance = [float(rng.choice((1, 2, 4))) for _ in range(nodes)]
    slots = []
    for node in range(nodes):
        at = rng.randrange(0, 3 if idle else 8)
        while at < horizon:
            end = at + (rng.randrange(10, 40) if idle else rng.randrange(2, 16))
            slots.append((float(at), node, float(end)))
            at = end + rng.randrange(1, 8)
    prices = [float(rng.randrange(1, 4 if idle else 7)) for _ in range(nodes)]
    return Domain(performance, prices, [float(rng.randrange(1, 9)) for _ in range(nodes)], sorted(slots))


def random_ask(rng: random.Random, nodes: int) -> Ask:
    """Return a small request, with a budget, a deadline and a least performance now and then."""
    m = rng.randrange(1, min(nodes, 4) + 1)
    length = 4.0 * rng.randrange(1, 4)
    return Ask(
        m,
        length,
        budget=rng.choice((math.inf, float(int(m * length * rng.uniform(0.5, 4.0))))),
        deadline=rng.choice((math.inf, math.inf, float(rng.randrange(10, 40)))),
        least=rng.choice((0.0, 0.0, 2.0)),
        criterion=rng.choice(("min_start", "min_finish", "min_runtime", "min_cost", "min_cpu", "min_energy")),
    )
