"""The exact model's rules besides jobs and nodes: maintenance, waits between jobs, jobs that leave, holds, stocks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bounds.lower.downtime_losses import closed_steps
from fedsched.engine.numbers import Awaits

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation
    from fedsched.engine.arrays.structs import Calendar, Pools, Precedence, Problem
    from fedsched.model.machine.counters import Counters


class Break(NamedTuple):
    """A stretch of time in which a number of nodes of a class are closed; the end is excluded."""

    node_class: int
    nodes: int
    begin: float
    end: float


class Wait(NamedTuple):
    """The rule that a job starts at least `lag` seconds after another job's start or end."""

    job: int
    on: int
    at_start: bool
    lag: float
    any_end: bool  # whether the wait also ends when the other job leaves without a start

    def over(self, start: Mapping[int, float], finish: Mapping[int, float]) -> float:
        """Return when the wait ends, by the times of jobs placed or gone so far; infinite if it never does."""
        if not self.any_end and self.on not in start:
            return math.inf
        return (start if self.at_start else finish).get(self.on, math.inf) + self.lag


class Stock(NamedTuple):
    """An amount that running jobs share besides nodes: a pool, or what a limit lets its jobs use together."""

    amount: int
    need: Ints  # per row of the relaxation (a job in one shape), whatever nodes it runs on
    per_node: Ints  # row × class: what it needs for each node besides; no columns if no stock counts nodes

    def used(self, row: int, counts: Sequence[Any]) -> Any:
        """Return how much of it a row needs on these nodes of each class, which may be variables of a model."""
        by_nodes = zip(self.per_node[row].tolist(), counts, strict=False)
        return int(self.need[row]) + sum(each * count for each, count in by_nodes if each)

    def of_rows(self, rows: Ints) -> Stock:
        """Return the stock for these rows alone."""
        return self._replace(need=self.need[rows], per_node=self.per_node[rows])


@dataclass(frozen=True, slots=True, eq=False)
class ExactRules:
    """The closures of every class, the waits between jobs, when jobs leave or are held, and which jobs never start."""

    breaks: tuple[Break, ...] = ()
    waits: tuple[Wait, ...] = ()
    leaves: tuple[float, ...] = ()  # per job, the time at which it leaves unless it has started; empty if no job leaves
    barred: frozenset[int] = frozenset()  # jobs that never start
    holds: tuple[tuple[tuple[float, float], ...], ...] = ()  # per job: from when until when it is held
    stocks: tuple[Stock, ...] = ()

    @property
    def tied(self) -> frozenset[int]:
        """Return the rows of the jobs that are not interchangeable.

        They wait, are waited for, are held at some time, or may never start.
        """
        held = {row for row, of_job in enumerate(self.holds) if of_job}
        return self.optional | held | {row for wait in self.waits for row in (wait.job, wait.on)}

    def held_until(self, row: int, time: float) -> float:
        """Return the end of the hold of a job that covers a time, or the time if there is none."""
        return next((end for begin, end in (self.holds[row] if self.holds else ()) if begin <= time < end), time)

    @property
    def optional(self) -> frozenset[int]:
        """Return the rows of the jobs that may never start: they may leave, or need the start of such a job."""
        found = {row for row in range(len(self.leaves)) if self.may_leave(row)}
        while more := {wait.job for wait in self.waits if wait.on in found and self.needs(wait)} - found:
            found |= more
        return frozenset(found)

    def leaves_at(self, row: int) -> float:
        """Return the time at which a job leaves unless it has started; infinite if it stays."""
        return self.leaves[row] if self.leaves else math.inf

    def may_leave(self, row: int) -> bool:
        """Return whether a job has a time at which it leaves unless it has started."""
        return self.leaves_at(row) < math.inf

    def needs(self, wait: Wait) -> bool:
        """Return whether a wait ends only if the other job starts."""
        return not (wait.any_end and self.may_leave(wait.on))

    def of_job(self, row: int) -> Iterator[Wait]:
        """Yield the waits of a job for other jobs."""
        return (wait for wait in self.waits if wait.job == row)


def rules_of(problem: Problem, relaxation: Relaxation, counters: Counters, owner: Ints) -> ExactRules:
    """Return the closures, waits, leaving and held jobs, pools and limits of a problem as ExactRules.

    A row of the relaxation is the job `owner` in one shape; what that takes of limits is an entry of `counters`.
    """
    if problem.extras is None:
        return ExactRules()
    precedence, held = problem.extras.precedence, problem.extras.holds
    spans = list(zip(held.begin.tolist(), held.end.tolist(), strict=True))
    leaves = np.full(problem.submit.size, np.inf)
    leaves[problem.extras.cancellations.job] = problem.extras.cancellations.time
    return ExactRules(
        tuple(_breaks(problem.extras.calendar, problem.groups.nodes, relaxation)),
        tuple(_waits(precedence)),
        tuple(leaves.tolist()) if np.isfinite(leaves).any() else (),
        frozenset([*_barred(precedence), *_too_late(problem, leaves).tolist()]),
        tuple(tuple(spans[begin:end]) for begin, end in pairwise(held.first.tolist())),
        (*(one.of_rows(owner) for one in _pools(problem.extras.pools)), *_limits(counters, relaxation, owner.size)),
    )


def _pools(pools: Pools) -> Iterator[Stock]:
    none = np.zeros((len(pools.need), 0), dtype=np.int64)
    for p, amount in enumerate(pools.amount.tolist()):
        if pools.need[:, p].any():
            yield Stock(amount, pools.need[:, p], none)


def _limits(counters: Counters, relaxation: Relaxation, rows: int) -> Iterator[Stock]:
    # Where an amount depends on the nodes, their groups are classes of their own.
    classes = relaxation.nodes.size
    for c, amount in enumerate(counters.amount.tolist()):
        mine = counters.counter == c
        fixed, by_nodes = mine & (counters.row < 0), mine & (counters.row >= 0)
        need, per_node = np.zeros(rows, dtype=np.int64), np.zeros((rows, classes if by_nodes.any() else 0), np.int64)
        need[counters.job[fixed]] = counters.weight[fixed]
        if by_nodes.any():
            of_class = counters.of_node[:, np.argsort(relaxation.group_class)]
            per_node[counters.job[by_nodes]] = of_class[counters.row[by_nodes]]
        yield Stock(amount, need, per_node)


def _breaks(calendar: Calendar, nodes: Ints, relaxation: Relaxation) -> Iterator[Break]:
    # Each group that closes is a class of its own.
    everything = np.ones(calendar.begin.size, dtype=np.bool_)
    for g, closed, first, last in closed_steps(calendar, nodes, relaxation.t0, everything):
        yield Break(int(relaxation.group_class[g]), closed, first, last)


def _waits(precedence: Precedence) -> Iterator[Wait]:
    for on in range(precedence.first.size - 1):
        for i in range(precedence.first[on], precedence.first[on + 1]):
            awaits = precedence.awaits[i]
            lag, any_end = float(precedence.lag[i]), bool(awaits == Awaits.END)
            yield Wait(int(precedence.follower[i]), on, bool(awaits == Awaits.START), lag, any_end)


def _barred(precedence: Precedence) -> Iterator[int]:
    # Jobs that wait for one kind of end of a job that will have another. Other such cases are refused earlier.
    for on in range(precedence.first.size - 1):
        for i in range(precedence.first[on], precedence.first[on + 1]):
            awaits = precedence.awaits[i]
            if awaits not in (Awaits.START, Awaits.END, precedence.end[on]):
                yield int(precedence.follower[i])


def _too_late(problem: Problem, leaves: Floats) -> Ints:
    """Return the rows of the jobs that leave at or before the earliest time at which they may start."""
    assert problem.extras is not None
    since = np.maximum(np.where(np.isinf(problem.submit), problem.t0, problem.submit), problem.t0)
    if problem.extras.precedence.earliest.size:
        since = np.maximum(since, problem.extras.precedence.earliest)
    return np.flatnonzero(leaves <= since)
