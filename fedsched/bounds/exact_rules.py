"""What the exact model holds beside jobs and nodes: maintenance that is known, and jobs that wait for others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.engine.numbers import Awaits
from fedsched.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.bounds.relaxation import Ints, Relaxation
    from fedsched.engine.arrays import Calendar, Precedence, Problem
    from fedsched.model.federation import Federation


class Break(NamedTuple):
    """A stretch in which nodes of a class are closed, by the clock, the end not included."""

    node_class: int
    nodes: int
    begin: float
    end: float


class Wait(NamedTuple):
    """That a job starts no sooner than so many seconds after another one's start, or its end."""

    job: int
    on: int
    at_start: bool
    lag: float

    def over(self, start: Mapping[int, float], finish: Mapping[int, float]) -> float:
        """Return when it is over, of the times of those that are placed."""
        return (start if self.at_start else finish)[self.on] + self.lag


@dataclass(frozen=True, slots=True)
class ExactRules:
    """The breaks of every class, and who waits for whom."""

    breaks: tuple[Break, ...] = ()
    waits: tuple[Wait, ...] = ()

    @property
    def tied(self) -> frozenset[int]:
        """Return the jobs that wait for others or are waited for: no two of them are alike."""
        return frozenset(row for wait in self.waits for row in (wait.job, wait.on))

    def of_job(self, row: int) -> Iterator[Wait]:
        """Give what a job waits for."""
        return (wait for wait in self.waits if wait.job == row)


def refuse_surprises(federation: Federation, t0: float) -> None:
    """Refuse downtimes of which not all is known at t0: an optimum is one of what is known."""
    for downtime in federation.calendar:
        if downtime.end <= t0:
            continue
        if downtime.known_from > t0:  # type: ignore[operator]
            odd = f"becomes known at {downtime.known_from:g} only"
        elif not downtime.end_known:
            odd = "has an end that nobody knows beforehand"
        elif math.isinf(downtime.end):
            odd = "never ends"
        else:
            continue
        raise InfeasibleError(
            f"exact: {downtime.where} {odd}, and the exact model knows all at {t0:g}; leave it out of the calendar "
            "(dataclasses.replace(federation, calendar=...)), or search: optimize plans with what is known."
        )


def rules_of(problem: Problem, relaxation: Relaxation) -> ExactRules:
    """Return the breaks and waits of a problem all of whose jobs start."""
    if problem.extras is None:
        return ExactRules()
    return ExactRules(
        tuple(_breaks(problem.extras.calendar, problem.groups.nodes, relaxation)),
        tuple(_waits(problem.extras.precedence)),
    )


def _breaks(calendar: Calendar, nodes: Ints, relaxation: Relaxation) -> Iterator[Break]:
    # Step by step as many nodes as are closed together, which are never more than there are. Each group that closes is
    # a class of its own.
    begin, end = np.maximum(calendar.begin, relaxation.t0), calendar.end
    for g in np.unique(calendar.group).tolist():
        here = calendar.group == g
        times = np.unique(np.concatenate([begin[here], end[here]])).tolist()
        for first, last in pairwise(times):
            covering = here & (begin <= first) & (first < end)
            closed = min(int(calendar.nodes[covering].sum()), int(nodes[g]))
            if closed:
                yield Break(int(relaxation.group_class[g]), closed, first, last)


def _waits(precedence: Precedence) -> Iterator[Wait]:
    for on in range(precedence.first.size - 1):
        for i in range(precedence.first[on], precedence.first[on + 1]):
            at_start = bool(precedence.awaits[i] == Awaits.START)
            yield Wait(int(precedence.follower[i]), on, at_start, float(precedence.lag[i]))
