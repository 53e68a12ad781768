"""place(): choose a cluster of a federation for each job that leaves the choice to fedsched."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.text import counted
from fedsched.site.steer.picture import OrderSimulator, picture_of
from fedsched.site.steer.plan import TELLING
from fedsched.site.steer.planning import Aims

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from fedsched.site.steer.queue import Queue, SlurmJob

MARK = "fedsched"  # the word in a job's comment by which its user leaves the choice to fedsched
RESTARTS, MOVED = 30, 3  # restarts of the local search, and how many jobs each moves at random
LATE = 1e6  # weight of a second after a deadline, relative to a second of waiting
Chosen = dict[int, str]  # the cluster of each job that has one, by job number


class Placement(NamedTuple):
    """The cluster chosen for a job, and its start there (of an array's first task), in seconds since 1970."""

    job: SlurmJob
    cluster: str
    start: float


@dataclass(frozen=True, slots=True)
class Placing:
    """The clusters chosen for the jobs that leave the choice to fedsched.

    Parameters
    ----------
    placements
        In the order of their starts.
    left
        Jobs that get no cluster, since none can take them or they would delay others: they stay as they are.
    notes
        What is assumed, not modelled or left aside, cluster by cluster.
    """

    queues: Mapping[str, Queue]
    placements: tuple[Placement, ...]
    left: tuple[SlurmJob, ...]
    notes: tuple[str, ...]

    @property
    def now(self) -> float:
        """Return the time of the first queue, in seconds since 1970."""
        return next(iter(self.queues.values())).now

    def due(self, seconds: float) -> tuple[Placement, ...]:
        """Return the placements with a start at most this many seconds (and one) from now."""
        return tuple(one for one in self.placements if one.start <= self.now + seconds + TELLING)


def leaves_cluster_open(job: SlurmJob, now: float) -> bool:
    """Return whether a job of a federation waits for a begin time, and its comment has the word `MARK`.

    By this word its user leaves the choice of the cluster to fedsched.
    """
    return bool(job.siblings) and job.comes_later(now) and MARK in job.comment.lower().split()


def _can_be_placed(job: SlurmJob) -> bool:
    """Return whether a job can be given a cluster: it is no part of a heterogeneous job, and no array with a choice.

    All tasks of an array start on the cluster where it was submitted.
    """
    return not job.part_of_several and (job.tasks == 1 or len(job.siblings) == 1)


def place(queues: Mapping[str, Queue], aims: Aims | None = None) -> Placing:
    """Return the best clusters for the jobs that leave the choice to fedsched; nothing is changed.

    On its cluster, each job is scheduled by its priority, as in Slurm. The choice minimises the sum of all starts: of
    these jobs and of the jobs that wait there already. None of the latter starts later than its forecast plus slack.
    """
    aims = aims or Aims()
    sites = [site for name, queue in queues.items() if (site := _Site.of(name, queue, aims)) is not None]
    jobs = ((job, queue.now) for queue in queues.values() for job in queue.jobs)
    candidates = {job.number: job for job, now in jobs if leaves_cluster_open(job, now)}
    search = _Search({site.name: site for site in sites}, candidates.values(), aims)
    chosen = search.best()
    starts = {name: site.begins(_on(chosen, name)) for name, site in search.sites.items()}
    placements = [Placement(candidates[number], name, starts[name][number]) for number, name in chosen.items()]
    return Placing(
        queues,
        tuple(sorted(placements, key=lambda one: (one.start, one.job.number))),
        tuple(job for number, job in candidates.items() if number not in chosen and aims.choice.takes(job)),
        tuple(_notes(sites, candidates)),
    )


def _on(chosen: Chosen, name: str) -> frozenset[int]:
    return frozenset(number for number, cluster in chosen.items() if cluster == name)


def _notes(sites: list[_Site], candidates: Mapping[int, SlurmJob]) -> Iterator[str]:
    free = {job.number for site in sites for job in site.own if len(job.siblings) > 1}
    if free:
        yield (
            f"assumed: {counted(len(free), 'job')} that may start on several clusters, and did not ask, "
            "planned on each of them"
        )
    for site in sites:
        for note in site.simulator.picture.notes:
            yield f"{site.name}: {note}"
    if not candidates:
        yield (
            f"no job leaves its cluster to us: it waits for a begin time, and has the word {MARK} in its comment "
            f"(sbatch --begin=now+7days --comment={MARK})"
        )


@dataclass(slots=True)
class _Site:
    """A cluster to simulate: the jobs that wait there already (`own`), and those that may be placed (`asking`)."""

    name: str
    queue: Queue
    simulator: OrderSimulator
    own: list[SlurmJob]
    asking: dict[int, SlurmJob]
    slack: float
    known: dict[frozenset[int], dict[int, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, queue: Queue, aims: Aims) -> _Site | None:
        """Return a cluster to simulate; None if no job might be placed there or no node is up."""
        now = queue.now
        asking = {
            job.number for job in queue.jobs
            if leaves_cluster_open(job, now) and aims.choice.takes(job) and _can_be_placed(job)
        }  # fmt: skip
        if not asking or not any(node.is_up for node in queue.nodes):
            return None
        # Jobs that stay as they are keep waiting for their begin time, so they are left out.
        jobs = [
            replace(job, eligible=now, reason="PRIORITY") if job.number in asking else job
            for job in queue.jobs
            if job.number in asking or not leaves_cluster_open(job, now)
        ]
        picture = picture_of(replace(queue, jobs=tuple(jobs)))
        there = {job.number: job for job in picture.jobs[: picture.waiting]}
        own = [job for number, job in there.items() if number not in asking]
        coming = {number: there[number] for number in sorted(asking & there.keys())}
        return cls(name, queue, OrderSimulator(picture), own, coming, aims.slack) if coming else None

    def starts(self, come: frozenset[int]) -> dict[int, float]:
        """Return, by number, the starts of the cluster's own jobs and of the jobs in `come` if these are placed here.

        Starts are in seconds since 1970; for an array, that of the last task. Results are kept.
        """
        if come not in self.known:
            self.known[come] = self._starts(come, max)
        return self.known[come]

    def begins(self, come: frozenset[int]) -> dict[int, float]:
        """Return the same as `starts`, but for an array the start of its first task."""
        return self._starts(come, min)

    def _starts(self, come: frozenset[int], of_several: Callable[[float, float], float]) -> dict[int, float]:
        there = sorted([*self.own, *(self.asking[number] for number in come)], key=self.queue.turn)
        others = [number for number in self.asking if number not in come]
        rows = self.simulator.picture.rows_of([*(job.number for job in there), *others])
        found = self.simulator.starts(rows, of_several)
        return {job.number: found[job.number] for job in there}

    def late(self, come: frozenset[int]) -> float:
        """Return by how many seconds in all own jobs start after their forecast plus slack if those in `come` come.

        The forecast is a job's start if none comes. Jobs that may start on another cluster do not count.
        """
        starts, forecast = self.starts(come), self.starts(frozenset())
        bound = (job.number for job in self.own if len(job.siblings) < 2)  # others may start elsewhere
        return sum(max(0.0, starts[one] - forecast[one] - self.slack - TELLING) for one in bound)

    def cost(self, come: frozenset[int]) -> float:
        """Return the sum of all tasks' waits from now, in seconds, if those in `come` come; lateness costs far more."""
        tasks = {job.number: job.tasks for job in (*self.own, *self.asking.values())}
        total = sum((start - self.queue.now) * tasks[number] for number, start in self.starts(come).items())
        return total + LATE * self.late(come)


class _Search:
    """Searches for the best clusters: tries all choices if they are few, else builds one and improves it.

    By priority, each job first gets the cluster where it adds the least cost. Then single jobs are moved and pairs are
    swapped. If nothing helps any more, the search restarts from a choice with a few jobs moved at random.
    """

    def __init__(self, sites: dict[str, _Site], jobs: Iterable[SlurmJob], aims: Aims) -> None:
        self.sites, self.most, self.until = sites, aims.evaluations, time.monotonic() + aims.seconds
        self.draw = random.Random(aims.seed)
        in_turn = sorted(jobs, key=lambda job: (-job.priority, job.submit, job.number))
        where = {
            job.number: [name for name in sites if name in job.siblings and job.number in sites[name].asking]
            for job in in_turn
        }
        self.where = {number: names for number, names in where.items() if names}

    @property
    def _over(self) -> bool:
        simulated = sum(len(site.known) for site in self.sites.values())
        return simulated >= self.most or time.monotonic() > self.until

    def _cost(self, chosen: Chosen, names: set[str]) -> float:
        return sum(self.sites[name].cost(_on(chosen, name)) for name in names)

    def best(self) -> Chosen:
        """Return the best choice found, a cluster by job number; jobs that would make others late have none."""
        if sum(2 ** len(site.asking) for site in self.sites.values()) <= self.most:
            choices = [dict(zip(self.where, chosen, strict=True)) for chosen in product(*self.where.values())]
            return self._without_late_jobs(min(choices, key=lambda chosen: self._cost(chosen, set(self.sites))))
        chosen: Chosen = {}
        for number, names in self.where.items():
            added = {
                name: self._cost({**chosen, number: name}, {name}) - self._cost(chosen, {name}) for name in names
            }
            chosen[number] = min(added, key=lambda name: added[name])
        chosen = self._local_search(chosen)
        everywhere = set(self.sites)
        for _ in range(RESTARTS):
            moved = self.draw.sample(list(self.where), min(MOVED, len(self.where)))
            other = self._local_search(chosen | {number: self.draw.choice(self.where[number]) for number in moved})
            if self._cost(other, everywhere) < self._cost(chosen, everywhere):
                chosen = other
        return self._without_late_jobs(chosen)

    def _local_search(self, chosen: Chosen) -> Chosen:
        while not self._over and (better := self._improving_move(chosen)) is not None:
            chosen = better
        return chosen

    def _improving_move(self, chosen: Chosen) -> Chosen | None:
        """Return a better choice, with one job moved or two swapped; None if there is none or the budget is spent."""
        for changed in self._neighbours(chosen):
            if self._over:
                return None
            others = [number for number in chosen if changed[number] != chosen[number]]
            names = {one[number] for one in (changed, chosen) for number in others}
            if self._cost(changed, names) < self._cost(chosen, names) - TELLING:
                return changed
        return None

    def _without_late_jobs(self, chosen: Chosen) -> Chosen:
        """Return the choice without jobs that make others late, removed one by one, the most helpful removal first."""
        for name, site in self.sites.items():
            while site.late(come := _on(chosen, name)):
                gone = min(sorted(come), key=lambda number: site.cost(come - {number}))
                chosen = {number: cluster for number, cluster in chosen.items() if number != gone}
        return chosen

    def _neighbours(self, chosen: Chosen) -> Iterator[Chosen]:
        for number, names in self.where.items():
            for name in names:
                if name != chosen[number]:
                    yield {**chosen, number: name}
        for one, other in combinations(self.where, 2):
            a, b = chosen[one], chosen[other]
            if a != b and a in self.where[other] and b in self.where[one]:
                yield {**chosen, one: b, other: a}
