"""The supply of node-seconds in stretches of time, closed nodes subtracted: of each class, and for wide jobs [39].

Running jobs use no closed node of a class, so they have its node-seconds minus the closed ones. For a family f_p (sizes
of wide jobs) the closed nodes count as one more job. No set of jobs that fits on N nodes beside them has Σ f_p above N
minus the f_p of their number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.closed import dual_feasible, threshold_of

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation

MOST_EDGES = 16  # of closures, at which time is cut into stretches


@dataclass(frozen=True, slots=True, eq=False)
class ClosedCapacity:
    """The capacity that closed nodes take up to each of some times, ascending from 0; after the last none is closed."""

    times: Floats
    nodes: Floats  # time × class: node-seconds
    wide: Floats  # time × family of wide jobs, in the units of its f_p
    open: Floats  # time: the seconds in which all nodes could do what the open ones do until then

    @classmethod
    def of(cls, relaxation: Relaxation, of_class: Ints, classes: int, wide: Floats) -> ClosedCapacity:
        """Return the closed capacity of merged classes and of wide jobs.

        `of_class` maps the relaxation's classes to the merged ones, `classes` is their number, and `wide` has
        the jobs' f_p.
        """
        shut, total = relaxation.shut, relaxation.total_nodes
        times = np.unique(np.concatenate([[0.0], shut.begin, shut.end]))
        closed = np.zeros((times.size, classes))  # from each time on
        from_time, until_time = np.searchsorted(times, shut.begin), np.searchsorted(times, shut.end)
        for step, c in enumerate(of_class[shut.of_class].tolist()):
            closed[from_time[step] : until_time[step], c] += shut.nodes[step]
        together = closed.sum(axis=1)
        families = [threshold_of(row, relaxation.tasks, total) for row in wide]
        rows = [dual_feasible(together.astype(np.int64), p, total) for p in families]
        of_wide = np.stack(rows, axis=1) if rows else np.zeros((times.size, 0))
        seconds = np.diff(times)

        def until(rate: Floats) -> Floats:
            return np.concatenate([np.zeros((1, rate.shape[1])), np.cumsum(rate[:-1] * seconds[:, None], axis=0)])

        done = until((total - together)[:, None] / total)[:, 0]
        return cls(times, until(closed), until(of_wide), done if shut.begin.size else times)

    @property
    def anything(self) -> bool:
        """Return whether any node is closed at any time."""
        return self.times.size > 1

    def left(self, edges: Floats, nodes: Floats, things: Floats) -> tuple[Floats, Floats]:
        """Return the supply that closed nodes leave in each stretch between two edges: by class, and by other thing.

        The first things are the families of wide jobs.
        """
        lengths = np.diff(edges)[:, None]
        of_things = np.zeros((self.times.size, things.size))
        of_things[:, : self.wide.shape[1]] = self.wide
        left_of_nodes = lengths * nodes - self._between(edges, self.nodes)
        left_of_things = lengths * things - self._between(edges, of_things)
        return np.maximum(left_of_nodes, 0.0), np.maximum(left_of_things, 0.0)

    def _between(self, edges: Floats, taken: Floats) -> Floats:
        until = [np.interp(edges, self.times, column) for column in taken.T]
        return np.diff(np.stack(until, axis=1), axis=0) if until else np.zeros((edges.size - 1, 0))

    def worked(self, instants: Floats) -> Floats:
        """Return the seconds in which all nodes could do what the open ones do from 0 until each instant."""
        beyond = np.maximum(instants - self.times[-1], 0.0)
        return np.asarray(np.interp(instants, self.times, self.open) + beyond)

    def instants(self, worked: Floats) -> Floats:
        """Return the instant by which the open nodes have done what all nodes do in `worked` seconds.

        It is the inverse of `worked`.
        """
        beyond = np.maximum(worked - self.open[-1], 0.0)
        return np.asarray(np.interp(worked, self.open, self.times) + beyond)

    def edges(self, last: float) -> Floats:
        """Return the times in (0, `last`) at which nodes close or open; if there are more than 16, an even sample."""
        inside = self.times[(self.times > 0.0) & (self.times < last)]
        which = np.linspace(0, inside.size - 1, min(inside.size, MOST_EDGES)).round().astype(np.int64)
        return inside[which]
