"""List heuristics in slow, plain Python: every node is looked at, and every prediction is made anew.

The witness of the package's own: written from `docs/readings` ("reading n" below), nothing is imported from the
package. A node is known by its group and by when it becomes available.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from reference import naive

if TYPE_CHECKING:
    from collections.abc import Sequence

HEURISTICS = (
    "mct", "min-min", "max-min", "sufferage", "least-energy", "list-spt", "list-saf", "list-laf", "list-sqrt"
)  # fmt: skip


@dataclass
class Node:
    """One node, and when it becomes available."""

    group: int
    available: float


@dataclass(frozen=True)
class Place:
    """Where and when a job would run, and the groups that it would be bound to."""

    end: float
    start: float
    groups: list[int]
    counts: naive.Counts
    job: naive.Job  # in its shape


class Predictor:
    """The plan so far."""

    def __init__(self, machine: naive.Machine, t0: float, held: Sequence[tuple[float, naive.Counts]]) -> None:
        self.machine = machine
        self.nodes = [Node(g, t0) for g, group in enumerate(machine.groups) for _ in range(group.count)]
        self.latest = [t0 for _ in machine.uplinks]  # the last start in each cluster
        self.horizon = t0
        for end, counts in held:
            self.take(counts, t0, naive.ends_at(end, t0))

    def take(self, counts: naive.Counts, start: float, end: float) -> None:
        """Hold nodes that are available at the start until the end."""
        for g, x in enumerate(counts):
            able = [node for node in self.nodes if node.group == g and node.available <= start]
            for node in able[:x]:
                node.available = end
        self.horizon = max(self.horizon, end)

    def free_at(self, time: float) -> naive.Counts:
        """Return the available nodes of each group."""
        free = [0 for _ in self.machine.groups]
        for node in self.nodes:
            free[node.group] += node.available <= time
        return free

    def clusters(self, groups: list[int]) -> set[int]:
        return {self.machine.groups[g].cluster for g in groups}

    def place(self, job: naive.Job, site: list[int], now: float) -> Place:
        """Return the earliest completion of a job in these clusters (reading 26)."""
        machine = self.machine
        caps = naive.effective_caps(job, machine)
        may = [g for k in site for g in machine.inside[k] if caps[g] > 0]
        best = None
        for speed in sorted({machine.groups[g].speed for g in may}, reverse=True):
            level = [g for g in may if machine.groups[g].speed >= speed]
            earliest = max(now, *(self.latest[k] for k in self.clusters(level)))
            for start in sorted({earliest} | {node.available for node in self.nodes if node.available > earliest}):
                free = self.free_at(start)
                usable = [min(free[g], caps[g]) if g in level else 0 for g in range(len(free))]
                if sum(x * naive.together(job, g) for g, x in enumerate(usable)) >= naive.wanted(job):
                    seconds = job.estimate * (job.sigma * (1.0 / speed) + (1.0 - job.sigma))
                    end = naive.ends_at(start + seconds, start)
                    if best is None or end < best.end:
                        best = Place(end, start, level, self.fill(job, level, free, usable), job)
                    break
        assert best is not None
        return best

    def fill(self, job: naive.Job, level: list[int], free: naive.Counts, usable: naive.Counts) -> naive.Counts:
        """Return the nodes taken: fastest first, then those of the cluster with more free nodes (reading 16)."""
        groups = self.machine.groups

        def key(g: int) -> tuple[float, int, int, int, int]:
            k, turn = groups[g].cluster, self.machine.turns[g]
            return (-groups[g].speed, -sum(free[h] for h in self.machine.inside[k]), k, turn, g)

        counts = naive.fill(sorted(level, key=key), usable, job)
        assert counts is not None
        return counts

    def energy(self, place: Place) -> float:
        """Return by how much a job raises the predicted energy (reading 28)."""
        groups, job = self.machine.groups, place.job
        slowest = max(1.0 / groups[g].speed for g in place.groups)
        seconds = job.estimate * (job.sigma * slowest + (1.0 - job.sigma))
        watts = sum(x * (group.busy - group.idle) for group, x in zip(groups, place.counts, strict=True))
        idle = sum(group.count * group.idle for group in groups)
        return watts * seconds + idle * max(0.0, place.end - self.horizon)

    def bind(self, place: Place) -> None:
        self.take(place.counts, place.start, place.end)
        for k in self.clusters(place.groups):
            self.latest[k] = max(self.latest[k], place.start)


def sites(job: naive.Job, machine: naive.Machine) -> list[list[int]]:
    """Return every cluster that could hold the job alone, or else one site of all that it may use (reading 25)."""
    caps = naive.effective_caps(job, machine)
    usable = [naive.held_by(k, caps, job, machine) for k in range(len(machine.uplinks))]
    alone = [[k] for k, tasks in enumerate(usable) if tasks >= naive.wanted(job)]
    return alone or [[k for k, tasks in enumerate(usable) if tasks > 0]]


def shapes(job: naive.Job, machine: naive.Machine, *, choosing: bool) -> list[naive.Job]:
    """Return the job in each shape that the machine can hold, the recorded one first (reading 68)."""
    if not choosing or not job.alternatives:
        return [job]
    each = [naive.in_shape(job, which) for which in range(len(job.alternatives))]
    return [one for one in each if naive.feasible(one, machine, "fastest")]


def options(predictor: Predictor, job: naive.Job, now: float, *, choosing: bool) -> list[Place]:
    """Return the job's place at each of its sites: of the shapes that the site holds the first to end (reading 68)."""
    found: dict[tuple[bool, tuple[int, ...]], list[Place]] = {}
    for one in shapes(job, predictor.machine, choosing=choosing):
        for site in sites(one, predictor.machine):
            place = predictor.place(one, site, now)
            found.setdefault((len(site) > 1, tuple(site)), []).append(place)

    def key(place: Place) -> tuple[float, float]:
        return place.end, place.job.tasks * (place.end - place.start)

    return [min(found[site], key=key) for site in sorted(found)]  # clusters in turn, then all together


def urgency(places: list[Place], heuristic: str) -> float:
    """Return what the jobs of an instant are chosen by, greatest first (reading 27)."""
    ends = sorted(place.end for place in places)
    if heuristic == "min-min":
        return -ends[0]
    if heuristic == "max-min":
        return ends[0]
    return ends[1] - ends[0] if len(ends) > 1 else math.inf


def listed(job: naive.Job, heuristic: str) -> float:
    """Return what a heuristic with a list of its own takes the jobs of an instant by, least first (reading 27)."""
    if heuristic == "list-spt":
        return job.estimate
    if heuristic == "list-sqrt":
        return math.sqrt(job.tasks) * job.estimate
    return job.tasks * job.estimate * (-1.0 if heuristic == "list-laf" else 1.0)


def submitted(job: naive.Job, found: dict[int, Place]) -> float:
    """Return when a job is submitted, as predicted; infinite while the one that it follows is yet to be bound."""
    if job.follows is None:
        return job.submit
    on, think = job.follows
    return found[on].end + think if on in found else math.inf


def assign(
    jobs: list[naive.Job],
    machine: naive.Machine,
    heuristic: str,
    *,
    t0: float | None = None,
    held: Sequence[tuple[float, naive.Counts]] = (),
    already: frozenset[int] = frozenset(),
    choosing: bool = False,
) -> tuple[dict[int, Place], list[int]]:
    """Return each job's place, and the jobs in the order in which they were bound.

    `held` are the planned ends and nodes of the jobs that run `already` at t0. Whoever follows another job is
    submitted when that one has ended, as predicted (reading 53). Where they are `choosing`, jobs take their shapes as
    they are bound (reading 68).
    """
    began = min(job.submit for job in jobs) if t0 is None else t0
    predictor = Predictor(machine, began, held)
    unbound = set(range(len(jobs))) - already
    found: dict[int, Place] = {}
    while unbound:
        submit = {j: submitted(jobs[j], found) for j in unbound}
        waiting = sorted(unbound, key=lambda j: (submit[j], jobs[j].id))
        now = max(began, submit[waiting[0]])
        together = [j for j in waiting if max(began, submit[j]) == now]
        places = {j: options(predictor, jobs[j], now, choosing=choosing) for j in together}
        chosen = together[0]
        if heuristic in ("min-min", "max-min", "sufferage"):
            chosen = max(together, key=lambda j: urgency(places[j], heuristic))  # of equals the first
        elif heuristic.startswith("list-"):
            chosen = min(together, key=lambda j: listed(jobs[j], heuristic))
        mine = places[chosen]
        if heuristic == "least-energy":
            costs = [predictor.energy(place) for place in mine]
            place = min(zip(costs, mine, strict=True), key=lambda pair: (pair[0], pair[1].end))[1]
        else:
            place = min(mine, key=lambda place: place.end)
        predictor.bind(place)
        found[chosen] = place
        unbound.remove(chosen)
    return found, list(found)


def bound_jobs(
    jobs: list[naive.Job], machine: naive.Machine, found: dict[int, Place], turns: list[int]
) -> tuple[list[naive.Job], tuple[int, ...]]:
    """Return the jobs in their shapes, with caps on the groups that they are bound to, and the queue order."""
    bound = list(jobs)
    for j, place in found.items():
        caps = naive.effective_caps(jobs[j], machine)
        bound[j] = replace(place.job, caps=[cap if g in place.groups else 0 for g, cap in enumerate(caps)])
    order = sorted(found, key=lambda j: (found[j].start, turns.index(j)))
    return bound, (*(j for j in range(len(jobs)) if j not in found), *order)
