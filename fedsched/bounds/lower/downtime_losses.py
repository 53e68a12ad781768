"""The capacity that downtimes surely take: node-seconds of a class that no schedule can use [39]."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Floats, Ints
    from fedsched.engine.arrays.structs import Calendar, Problem


class ClosedNodes(NamedTuple):
    """The closed nodes of classes of equal nodes: each row is a closure with begin and end in seconds since t0."""

    begin: Floats
    end: Floats
    of_class: Ints
    nodes: Ints

    def lost(self, levels: Floats, until: float, classes: int) -> Floats:
        """Return the closed node-seconds, level × class, from each time in `levels` until `until`."""
        found = np.zeros((levels.size, classes))
        if self.begin.size and until > levels[0]:
            seconds = np.minimum(self.end, until) - np.maximum(self.begin, levels[:, None])
            np.add.at(found.T, self.of_class, (np.maximum(seconds, 0.0) * self.nodes).T)
        return found

    def reached(self, base: float, price: Floats, levels: Floats) -> float:
        """Return the least T >= `base` that is at least `base` plus the price of the node-seconds closed until T.

        Prices (level × class) are of node-seconds. All nodes together cost at most 1 a second, so the loss
        never grows faster than T.
        """

        def needed(until: float) -> float:
            return base + float((price * self.lost(levels, until, price.shape[1])).sum())

        times = np.unique(np.concatenate([self.begin, self.end, levels]))
        reached = base
        for step in times[times > base].tolist():
            if needed(step) <= step:
                break
            reached = step
        # From here until the next of these times the loss grows linearly.
        closed = self.nodes * ((self.begin <= reached) & (reached < self.end))
        left = 1.0 - float(price[levels <= reached].sum(axis=0)[self.of_class] @ closed)
        missing = needed(reached) - reached
        return reached + max(missing, 0.0) / left if left > 0.0 else reached


NO_CLOSURES = ClosedNodes(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


def sure_closures(problem: Problem, group_class: Ints, tick: float) -> ClosedNodes:
    """Return the closures by downtimes that are known at t0, step by step, at most all nodes of each group.

    Jobs that would run into them do not start. Reservations are not included, since they are open to their own
    jobs. Nor are downtimes without an end.
    """
    if problem.extras is None:
        return NO_CLOSURES
    calendar = problem.extras.calendar
    known = (calendar.known_from <= problem.t0) & (calendar.reservation < 0) & (calendar.end > problem.t0)
    known &= np.isfinite(calendar.end)  # if nodes never come back, some jobs may never start
    rows = [
        (first - problem.t0, last - problem.t0 - tick, group_class[g], closed)
        for g, closed, first, last in closed_steps(calendar, problem.groups.nodes, problem.t0, known)
        if last - first > tick
    ]
    if not rows:
        return NO_CLOSURES
    first, last, of_class, shut = zip(*rows, strict=True)
    return ClosedNodes(
        np.array(first), np.array(last), np.array(of_class, dtype=np.int64), np.array(shut, dtype=np.int64)
    )


def closed_steps(
    calendar: Calendar, nodes: Ints, t0: float, which: NDArray[np.bool_]
) -> Iterator[tuple[int, int, float, float]]:
    """Yield group, closed nodes, begin and end of each step of these closures, with at most all nodes of a group.

    Between two steps of a group the number of closed nodes changes.
    """
    begin, end = np.maximum(calendar.begin, t0), calendar.end
    for g in np.unique(calendar.group[which]).tolist():
        here = which & (calendar.group == g)
        for first, last in pairwise(np.unique(np.concatenate([begin[here], end[here]])).tolist()):
            covering = here & (begin <= first) & (first < end)
            closed = min(int(calendar.nodes[covering].sum()), int(nodes[g]))
            if closed:
                yield g, closed, first, last
