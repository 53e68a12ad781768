"""plan(): the best order of the waiting jobs in which none starts later than its forecast plus slack."""

from __future__ import annotations

import math
import random
import time
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import SteerError
from fedsched.core.text import counted
from fedsched.optimize import optimize
from fedsched.site.steer.picture import OrderSimulator, Picture, picture_of
from fedsched.site.steer.plan import DRIFT, TELLING, Plan, Promises, Start, gaps_in_words
from fedsched.site.steer.priorities import LEAST, Priorities

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fedsched.site.steer.queue import Queue, SlurmJob

    Changes = Mapping[int, int]  # what jobs are given, by their numbers

HOUR = 3600.0
MOST_IMPROVED = 60  # jobs, at most, of a queue in which moves of single jobs are tried out
LATE = 1e9  # weight of a second after a deadline, relative to a second of mean wait
OTHERS = 1e-3  # weight of the sum of all seconds after deadlines, relative to the largest of them
SEARCHED = 0.7  # share of the time for the search, if changes are limited: the rest is for choosing among them


@dataclass(frozen=True, slots=True)
class Choice:
    """Selects the jobs that are steered; an empty field selects all.

    Parameters
    ----------
    qos, partition, account, user
        Names of which a job must have one.
    leave
        The numbers of jobs that are never selected.

    Examples
    --------
    >>> from fedsched.site import outlook, steer
    >>> waiting = outlook.present("sample").queue.waiting
    >>> [job.number for job in waiting if steer.Choice(leave=frozenset({1, 2})).takes(job)][:3]
    [5, 13, 14]
    """

    qos: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    account: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    leave: frozenset[int] = frozenset()  # numbers of jobs that are left alone

    def takes(self, job: SlurmJob) -> bool:
        """Return whether a job is selected."""
        return job.number not in self.leave and all(
            not names or getattr(job, name) in names
            for name, names in (
                ("qos", self.qos), ("partition", self.partition), ("account", self.account), ("user", self.user)
            )
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Aims:
    """What a plan aims at, and within which limits it is searched for.

    Parameters
    ----------
    choice
        Which jobs are steered.
    slack
        How many seconds after its forecast a job may start at the latest.
    evaluations
        How many plans are simulated.
    seconds
        Seconds after which no further plan is tried.
    drift
        The most by which Slurm changes the difference of two priorities while the plan lasts; the plan keeps priorities
        farther apart than that. None: the most that the weights of age and fair share allow.
    lasting
        For how many seconds the plan is to last; None: until its last start.
    shares
        Whether the weight of fair share counts if `drift` is None; not in a watch, which plans again if priorities
        change their order.
    by_nice
        Whether the order must be made by Nice; else any order is possible.
    most
        How many jobs get another Nice at most; None: as many as the order takes.

    Examples
    --------
    >>> from fedsched.site import steer
    >>> steer.Aims(slack=1800, evaluations=200).slack
    1800
    """

    choice: Choice = field(default_factory=Choice)
    slack: float = HOUR
    evaluations: int = 1000
    seconds: float = 10.0
    seed: int = 0
    drift: int | None = None
    lasting: float | None = None
    shares: bool = True
    by_nice: bool = True
    most: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.slack < math.inf:
            raise SteerError(f"slack={self.slack!r} must be at least 0 seconds, and finite.")
        if self.drift is not None and self.drift < 0:
            raise SteerError(f"drift={self.drift} must be at least 0.")
        if self.evaluations < 1:
            raise SteerError(f"evaluations={self.evaluations} must be at least 1.")
        if self.most is not None and self.most < 1:
            raise SteerError(f"most={self.most} must be at least 1.")


def plan(
    queue: Queue,
    aims: Aims | None = None,
    *,
    former: Mapping[int, int] | None = None,
    promises: Promises | None = None,
) -> Plan:
    """Return the best plan that is found for a queue; nothing is changed.

    Parameters
    ----------
    queue
        The queue, as `read_queue` returns it.
    aims
        What the plan aims at; None: the defaults of `Aims`.
    former
        The Nice that jobs had before fedsched changed it, by job number.
    promises
        The deadlines promised before; for other jobs, the deadline is their forecast plus slack.

    Examples
    --------
    >>> from fedsched.site import outlook, steer
    >>> found = steer.plan(outlook.present("sample").queue, steer.Aims(evaluations=50, slack=7200))
    >>> len(found.order), found.late
    (15, ())
    """
    aims = aims or Aims()
    picture = picture_of(queue)
    return _Planner(picture, aims, Priorities(queue, former or {}), promises or Promises({}, {})).best()


class _Candidate(NamedTuple):
    """An order that was tried: its score (less is better), its starts, and the Nice values that make it."""

    score: float
    order: list[SlurmJob]
    starts: Mapping[int, float]
    niceties: Mapping[int, int]


class _Planner:
    """Searches for the best order of one queue."""

    def __init__(self, picture: Picture, aims: Aims, priorities: Priorities, promises: Promises) -> None:
        self.picture, self.aims, self.priorities = picture, aims, priorities
        self.simulator = OrderSimulator(picture)
        queue = picture.queue
        jobs = {job.number: job for job in picture.jobs[: picture.waiting]}
        self.jobs = sorted(jobs.values(), key=priorities.turn)  # in Slurm's order without fedsched's changes
        self.movable = frozenset(
            job.number for job in self.jobs
            if aims.choice.takes(job) and job.waits_its_turn(queue.now) and not job.part_of_several
            and not job.reservation and priorities.nice(job) >= 0
        )  # fmt: skip
        self.before = self._starts(self.jobs) if self.jobs else {}
        in_turn = {job.number: self.before[job.number] for job in self.jobs}
        self.deadline = promises.renewed(in_turn, aims.slack, self._starts_of)
        self.weight = np.array([job.tasks for job in self.jobs], dtype=np.float64)
        self.gap = 1
        self.drift: Mapping[str, int] = {}
        begun = time.monotonic()
        self._end = begun + aims.seconds
        self._until = self._end if aims.most is None else begun + SEARCHED * aims.seconds

    @property
    def _over(self) -> bool:
        return time.monotonic() > self._until

    def _starts(self, order: Sequence[SlurmJob]) -> dict[int, float]:
        return self._starts_of([job.number for job in order])

    def _starts_of(self, numbers: Sequence[int]) -> dict[int, float]:
        return self.simulator.starts(self.picture.rows_of(numbers))

    def score(self, starts: Mapping[int, float]) -> float:
        """Return the score of these starts (less is better): first the largest lateness counts, then the mean wait.

        The sum of all lateness has little weight: by it, wide and long jobs would be put behind all other late jobs
        again and again.
        """
        start = np.array([starts[job.number] for job in self.jobs])
        late = np.maximum(0.0, start - [self.deadline[job.number] for job in self.jobs] - TELLING)
        after = late.max() + OTHERS * late.sum()
        return float(LATE * after + np.average(start, weights=self.weight) - self.picture.queue.now)

    def apply_nice(self, order: Sequence[SlurmJob]) -> tuple[list[SlurmJob], dict[int, int]] | None:
        """Return the order closest to this one that Nice can make, and its Nice values, by job number.

        None if the Nice values would lower a priority to the least one. Without `by_nice`, any order can be made.
        """
        if not self.aims.by_nice:
            return list(order), {}
        niceties = self.priorities.niceties(order, self.movable, self.gap)
        if self.priorities.too_low(order, niceties):
            return None
        return self.priorities.order(order, niceties), niceties

    def evaluate(self, order: list[SlurmJob], niceties: Mapping[int, int]) -> _Candidate:
        """Simulate an order, and return it with its starts and its score."""
        starts = self._starts(order)
        return _Candidate(self.score(starts), order, starts, niceties)

    def best(self) -> Plan:
        """Return the plan with the best order that was found.

        If none saves a second of mean wait, it has Slurm's order without fedsched's changes.
        """
        if len(self.movable) < 2 or len(self.jobs) < 2:
            niceties = self._former_niceties() if len(self.jobs) > 1 else {}
            return self._plan(self.jobs, self.before, niceties, ["fewer than two jobs to steer"])
        self.drift = self._drift()
        self.gap = 1 + sum(self.drift.values())
        found = alone = _Candidate(self.score(self.before), self.jobs, self.before, self._former_niceties())
        low = 0
        for wanted in self._candidates():
            if self._over:
                break
            made = self.apply_nice(wanted)
            low += made is None
            if made is not None:
                found = min(found, self._repair(*made), key=lambda one: one.score)
        found = self._improve(found)
        if alone.niceties:  # keeping the earlier changes may be better than what was found this time
            found = min(found, self._with_changes({}), key=lambda one: one.score)
        if found.score > alone.score - TELLING:
            why = "no order was found that saves a second of mean wait"
            if low:
                down = f"{counted(low, 'order')} would take priorities down to {LEAST}, where all are equal"
                why += f"; {down}, with {gaps_in_words(self.drift)}"
            return self._limited_to_most(alone, [why])
        return self._limited_to_most(found, [])

    def _former_niceties(self) -> dict[int, int]:
        """Return the former Nice of each movable job that has another Nice now; nothing if Nice is not used."""
        if not self.aims.by_nice:
            return {}
        return {
            job.number: had for job in self.jobs
            if job.number in self.movable and (had := self.priorities.nice(job)) != job.nice
        }  # fmt: skip

    def _limited_to_most(self, found: _Candidate, why: list[str]) -> Plan:
        """Return the plan for an order; if it takes too many changes, the best found with as many as are allowed."""
        changes = {
            job.number: found.niceties[job.number] for job in reversed(found.order)
            if found.niceties.get(job.number, job.nice) != job.nice
        }  # fmt: skip
        most = self.aims.most
        if most is None or len(changes) <= most:
            return self._plan(found.order, found.starts, found.niceties, why)
        few = most_valuable_changes(
            lambda chosen: islice(self._single_changes(changes, chosen), max(1, self.aims.evaluations // most)),
            most,
            lambda some: self._with_changes(some).score,
            lambda: time.monotonic() < self._end,
        )
        made = self._with_changes(few)
        if made.score < found.score + TELLING:
            return self._plan(made.order, made.starts, few, why)
        left = sum(few.get(number) != nice for number, nice in changes.items())
        by_all = f"{left:,} more would make it {self._mean_wait(found):,.0f} s"
        by_few = f"mean wait {self._mean_wait(made):,.0f} s by these" if few else "so few save no second of mean wait"
        return self._plan(
            made.order, made.starts, few, [f"at most {counted(most, 'change')}: {by_few}; {by_all}", *why], left=left
        )

    def _single_changes(self, wanted: Mapping[int, int], chosen: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """Give changes (job number, Nice) of single jobs to try besides those chosen.

        First come all the wanted ones; then, in random order, changes that put one job just behind a later one.
        """
        yield from wanted.items()
        order = self.priorities.order(self.jobs, chosen)
        tier, after = self.picture.queue.tier, {job.number: self.priorities.after(job, chosen) for job in order}
        places = [
            (job, after[behind.number] - self.gap) for k, behind in enumerate(order) for job in order[:k]
            if job.number in self.movable and tier(job) == tier(behind) and after[behind.number] - self.gap > LEAST
        ]  # fmt: skip
        random.Random(self.aims.seed).shuffle(places)
        for job, priority in places:
            yield job.number, job.priority + job.nice - priority

    def _with_changes(self, changes: Mapping[int, int]) -> _Candidate:
        """Return the candidate that results if only these jobs get these Nice values."""
        return self.evaluate(self.priorities.order(self.jobs, changes), changes)

    def _mean_wait(self, found: _Candidate) -> float:
        waits = [found.starts[job.number] - job.submit for job in self.jobs]
        return float(np.average(waits, weights=self.weight))

    def _drift(self) -> Mapping[str, int]:
        aims = self.aims
        if not aims.by_nice:
            return {}
        if aims.drift is not None:
            return {DRIFT: aims.drift}
        lasting = aims.lasting
        if lasting is None:
            lasting = max(self.before.values()) - self.picture.queue.now
        movable = [job for job in self.jobs if job.number in self.movable]
        return self.priorities.drift(movable, max(0.0, lasting), shares=aims.shares)

    def _candidates(self) -> Iterator[list[SlurmJob]]:
        """Give candidate orders: the jobs sorted by simple keys, then the orders that `optimize` finds."""
        now = self.picture.queue.now
        size = {job.number: float(job.nodes) for job in self.jobs}
        keys = (
            lambda job: job.limit,
            lambda job: job.limit * size[job.number],
            lambda job: (size[job.number], job.limit),
            lambda job: (-size[job.number], job.limit),
            lambda job: -(((now - job.submit) / max(1.0, job.limit)) ** 3) * size[job.number],
            lambda job: -((now - job.submit) / max(1.0, job.limit) + 1.0),
            lambda job: self.deadline[job.number],
        )
        for key in keys:
            yield sorted(self.jobs, key=key)
        picture = self.picture
        result = optimize(
            picture.workload,
            picture.federation,
            objectives="mean_wait",
            submits="keep",
            running=picture.running,
            evaluations=self.aims.evaluations,
            seconds=max(0.1, self._until - time.monotonic()) / 2.0,
            seed=self.aims.seed,
            baselines=(),
            progress=False,
        )
        for k, planned in enumerate(result.front.plans):
            start = result.schedule(k).start[: picture.waiting]
            yield self._by_rows(np.argsort(start, kind="stable").tolist())
            if planned.order is not None:
                yield self._by_rows([row for row in planned.order.tolist() if row < picture.waiting])

    def _by_rows(self, rows: Sequence[int]) -> list[SlurmJob]:
        return list({job.number: job for job in (self.picture.jobs[row] for row in rows)}.values())

    def _repair(self, order: list[SlurmJob], niceties: dict[int, int]) -> _Candidate:
        """Return the best candidate found by moving late jobs ahead, one after the other.

        A late job starts after its deadline. It is put before the first of those jobs ahead of it that come after it in
        Slurm's own order; without such jobs, it is not moved.
        """
        turn = {job.number: k for k, job in enumerate(self.jobs)}
        found = last = self.evaluate(order, niceties)
        for _ in range(len(order)):
            if self._over:
                break
            late = [
                k for k, job in enumerate(last.order) if last.starts[job.number] > self.deadline[job.number] + TELLING
            ]
            behind = [
                (k, at) for k in late
                if (at := next((i for i in range(k) if turn[last.order[i].number] > turn[last.order[k].number]), k)) < k
            ]  # fmt: skip
            if not behind:
                break
            k, at = behind[0]
            made = self.apply_nice([*last.order[:at], last.order[k], *last.order[at:k], *last.order[k + 1 :]])
            if made is None:
                break
            last = self.evaluate(*made)
            found = min(found, last, key=lambda one: one.score)
        return found

    def _improve(self, found: _Candidate) -> _Candidate:
        """Return the best candidate found by moving single jobs to random places; for a long queue, return `found`."""
        tries = min(self.aims.evaluations, 4 * len(self.jobs))
        if len(self.jobs) > MOST_IMPROVED:
            return found
        draw = np.random.default_rng(self.aims.seed)
        for _ in range(tries):
            if self._over:
                break
            order = list(found.order)
            at, to = draw.integers(len(order), size=2).tolist()
            order.insert(to, order.pop(at))
            made = self.apply_nice(order)
            if at == to or made is None:
                continue
            found = min(found, self.evaluate(*made), key=lambda one: one.score)
        return found

    def _plan(
        self,
        order: Sequence[SlurmJob],
        starts: Mapping[int, float],
        niceties: Mapping[int, int],
        why: Sequence[str],
        *,
        left: int = 0,
    ) -> Plan:
        queue = self.picture.queue
        notes = [*self.picture.notes, *queue.aside_in_words()]
        if fixed := len(self.jobs) - len(self.movable):
            notes.append(f"as they are: priorities of {counted(fixed, 'job')}")
        return Plan(
            queue=queue,
            starts=tuple(
                Start(job, self.before[job.number], starts[job.number], self.deadline[job.number]) for job in order
            ),
            steered=self.movable,
            niceties=niceties,
            gap=self.gap,
            slack=self.aims.slack,
            notes=(*why, *notes),
            why=tuple(why),
            drift=self.drift,
            left=left,
            next_due=self._next_due(starts),
        )

    def _next_due(self, starts: Mapping[int, float]) -> int | None:
        """Return the number of the job that starts next after those that start now; None if it cannot be released now.

        It can be if it is movable, and Slurm, given these jobs in its own order, would start the same jobs now.
        """
        soon = self.picture.queue.now + TELLING
        later = [number for number in starts if starts[number] > soon]
        if not later:
            return None
        due = min(later, key=lambda number: starts[number])
        if due not in self.movable:
            return None
        together = [job for job in self.jobs if starts[job.number] <= soon or job.number == due]
        found = self._starts([*together, *(job for job in self.jobs if job not in together)])
        as_planned = all((found[job.number] <= soon) == (job.number != due) for job in together)
        return due if as_planned else None


def most_valuable_changes(
    offered: Callable[[Changes], Iterable[tuple[int, int]]],
    most: int,
    score: Callable[[Changes], float],
    goes_on: Callable[[], bool] = lambda: True,
) -> dict[int, int]:
    """Return at most `most` changes, chosen greedily for the least score; none if they do not save a second.

    Each step takes the change that gives the least score together with those taken before. A step may raise the score,
    since some changes help only together. Returned are the changes up to the step with the least score.

    Parameters
    ----------
    offered
        Gives the possible changes besides those taken; of several with the same score, the first is taken.
    score
        Returns the score with these changes made; less is better.
    goes_on
        Asked before each try; False ends the search.
    """
    chosen = dict[int, int]()
    best, least = dict[int, int](), score({})
    while len(chosen) < most:
        scores: dict[tuple[int, int], float] = {}
        for number, change in offered(chosen):
            if number in chosen:
                continue
            if not goes_on():
                break
            scores[number, change] = score({**chosen, number: change})
        if not scores:
            break
        number, change = min(scores, key=lambda one: scores[one])
        chosen[number] = change
        if scores[number, change] < least - TELLING:
            best, least = dict(chosen), scores[number, change]
    return best
