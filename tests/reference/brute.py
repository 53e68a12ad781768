"""The best schedules of tiny problems, found in plain Python by trying every order, and every choice of nodes.

`schedules` are those of plans, as the naive engine runs them; `best_of_all` is no plan's, and has starts put off too.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reference import naive

if TYPE_CHECKING:
    from collections.abc import Iterator


def schedules(jobs: list[naive.Job], machine: naive.Machine, *, caps: bool = True) -> Iterator[naive.Result]:
    """Return the strict schedules, by the rule `powerful`, of all orders × whole groups that each job may use."""
    groups = range(len(machine.groups))
    subsets = [set(some) for size in range(1, len(groups) + 1) for some in itertools.combinations(groups, size)]

    def limited(job: naive.Job, used: set[int]) -> naive.Job:
        own = naive.effective_caps(job, machine)
        return replace(job, caps=[own[g] if g in used else 0 for g in groups])

    choices = [
        [one for used in (subsets if caps else [set(groups)]) if naive.feasible(one := limited(job, used), machine,
                                                                               "powerful")]
        for job in jobs
    ]  # fmt: skip
    for chosen in itertools.product(*choices):
        for order in itertools.permutations(range(len(jobs))):
            yield naive.simulate(list(chosen), machine, order=order, dispatch="strict", placement="powerful")


def without_a_start(result: naive.Result) -> int:
    """Return how many jobs never start."""
    return sum(math.isnan(start) for start in result.start)


# ------------------------------------------------------------------------------- all schedules, not plans alone


@dataclass
class Partial:
    """Jobs that have a place, each begun no sooner than those before it, and the times at which others have left."""

    starts: dict[int, float] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    counts: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def with_job(self, j: int, start: float, end: float, counts: tuple[int, ...]) -> Partial:
        return Partial(self.starts | {j: start}, self.ends | {j: end}, self.counts | {j: counts})


def best_of_all(jobs: list[naive.Job], machine: naive.Machine) -> tuple[int, set[tuple[float, float]]]:
    """Return how few jobs can be left without a start, and makespan and energy of schedules that leave out no more.

    Without contention; jobs run as long as they ask for. Each start is the earliest behind those before it,
    which no schedule with the same order of starts and the same nodes beats.
    """
    for size in range(len(jobs) + 1):
        left_out = map(frozenset, itertools.combinations(range(len(jobs)), size))
        found = {made for out in left_out if may_be_left_out(jobs, out) for made in made_without(jobs, machine, out)}
        if found:
            return size, found
    raise AssertionError


def may_be_left_out(jobs: list[naive.Job], out: frozenset[int]) -> bool:
    """Return whether a schedule may leave out just these jobs (readings 35, 44 and 45)."""

    def in_vain(j: int) -> bool:
        for kind, on, _ in naive.conditions(jobs, j):
            wanted = {"afterok": "well", "afternotok": "badly"}.get(kind)
            if on in out and (kind != "afterany" or jobs[on].cancel_at == math.inf):
                return True
            if on not in out and wanted is not None and naive.end_of(jobs[on], False) != wanted:
                return True
        return False

    return all(in_vain(j) or jobs[j].cancel_at < math.inf if j in out else not in_vain(j) for j in range(len(jobs)))


def made_without(
    jobs: list[naive.Job], machine: naive.Machine, out: frozenset[int]
) -> Iterator[tuple[float, float]]:
    """Return makespan and energy of each schedule that leaves out just these jobs."""
    t0 = min(job.submit for job in jobs)
    idle = sum(group.idle * group.count for group in machine.groups)
    for whole in wholes(jobs, machine, out):
        makespan = max((whole.ends[j] for j in whole.starts), default=t0) - t0
        extra = sum(
            (whole.ends[j] - whole.starts[j]) * x * (naive.drawn(jobs[j], group) - group.idle)
            for j, counts in whole.counts.items()
            for x, group in zip(counts, machine.groups, strict=True)
        )
        yield makespan, idle * makespan + extra


def wholes(jobs: list[naive.Job], machine: naive.Machine, out: frozenset[int] = frozenset()) -> Iterator[Partial]:
    """Return each schedule that leaves out just these jobs."""
    t0 = min(job.submit for job in jobs)
    gone = {j: jobs[j].cancel_at for j in out if jobs[j].cancel_at < math.inf}
    ways = [spreads(job, naive.effective_caps(job, machine)) for job in jobs]

    def continued(partial: Partial) -> Iterator[Partial]:
        if len(partial.starts) + len(out) == len(jobs):
            yield partial
        for j in range(len(jobs)):
            if j in out or j in partial.starts:
                continue
            if any(on not in partial.starts and on not in out for _, on, _ in naive.conditions(jobs, j)):
                continue
            for counts in ways[j]:
                start, end = earliest(jobs, machine, partial, j, counts, t0)
                if start < jobs[j].cancel_at:
                    yield from continued(partial.with_job(j, start, end, counts))

    yield from continued(Partial(ends=gone))


def spreads(job: naive.Job, caps: list[int]) -> list[tuple[int, ...]]:
    """Return all ways to give a job's tasks nodes of groups, of each at most so many (readings 14 and 76)."""
    found = []
    for way in itertools.product(*(range(cap + 1) for cap in caps)):
        empty = sum(x * naive.together(job, g) for g, x in enumerate(way)) - naive.wanted(job)
        if 0 <= empty < max((naive.together(job, g) for g, x in enumerate(way) if x), default=0):
            found.append(way)
    return found


def earliest(
    jobs: list[naive.Job], machine: naive.Machine, partial: Partial, j: int, counts: tuple[int, ...], t0: float
) -> tuple[float, float]:
    """Return the earliest start of a job on these nodes behind those that have a place, and its end."""
    job = jobs[j]
    slowest = max(1 / group.speed for x, group in zip(counts, machine.groups, strict=True) if x)
    seconds = job.runtime * (job.sigma * slowest + (1 - job.sigma) * 1.0)
    since = max(t0, job.begin, *partial.starts.values(), job.submit if job.follows is None else t0)
    for kind, on, lag in naive.conditions(jobs, j):
        since = max(since, (partial.starts if kind == "after" else partial.ends)[on] + lag)
    closures = machine.closures
    moments = [since, *(end for i, end in partial.ends.items() if i in partial.starts), *(one.end for one in closures)]
    moments += [end for _, end in job.held]
    for start in sorted(moment for moment in moments if since <= moment < math.inf):
        if any(begin <= start < end for begin, end in job.held):
            continue
        if not leave_enough(jobs, machine, partial, j, counts, start):
            continue
        end = max(start + seconds, math.nextafter(start, math.inf))
        looked = [start, *(one.begin for one in closures if start < one.begin < end)]
        if all(counts[g] <= free_at(machine, partial, g, now) for g in range(len(counts)) for now in looked):
            return start, end
    return math.inf, math.inf


def leave_enough(
    jobs: list[naive.Job], machine: naive.Machine, partial: Partial, j: int, counts: tuple[int, ...], now: float
) -> bool:
    """Return whether the jobs that have a place leave a job enough of all pools and limits at a time."""
    there = [i for i in partial.starts if partial.ends[i] > now]
    for p, amount in enumerate(machine.pools):
        if sum(jobs[i].needs[p] for i in (*there, j) if jobs[i].needs) > amount:
            return False
    return not naive.over_limit(machine, jobs, j, [(i, partial.counts[i]) for i in there], counts)


def free_at(machine: naive.Machine, partial: Partial, g: int, now: float) -> int:
    """Return how many nodes of a group are free and open at a time, of those who have a place."""
    taken = sum(counts[g] for i, counts in partial.counts.items() if partial.ends[i] > now)
    closed = sum(one.nodes for one in machine.closures if one.group == g and one.covers(now))
    return machine.groups[g].count - taken - min(closed, machine.groups[g].count)
