"""What there is in stretches of time, where nodes are closed in some of it: of each class, and beside wide jobs [39].

At any time the jobs that run use no node of a class that is closed, so they have its node-seconds less those closed. To
a family f_p the closed nodes are one job more: no set of jobs that fits on N nodes beside them has Σ f_p above N less
the f_p of how many they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.closed import dual_feasible, threshold_of

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation

MOST_EDGES = 16  # of what closes and opens, at which stretches of time are cut


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What is closed until each of some times, ascending from 0; after the last nothing is."""

    times: Floats
    nodes: Floats  # time × class: node-seconds
    wide: Floats  # time × family of wide jobs, in the units of its f_p
    open: Floats  # time: the seconds that all nodes together would need for what they do until then

    @classmethod
    def of(cls, relaxation: Relaxation, of_class: Ints, classes: int, wide: Floats) -> Taken:
        """Return what is taken of so many classes, of which each of the relaxation's is one, and of wide jobs."""
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
        """Return whether anything is closed at any time."""
        return self.times.size > 1

    def left(self, edges: Floats, nodes: Floats, things: Floats) -> tuple[Floats, Floats]:
        """Return what is left in each stretch between two edges, of so much of each class and of other things.

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
        """Return how long all nodes would need for what they can do until each instant."""
        beyond = np.maximum(instants - self.times[-1], 0.0)
        return np.asarray(np.interp(instants, self.times, self.open) + beyond)

    def instants(self, worked: Floats) -> Floats:
        """Return when the nodes have done what all would do in so long."""
        beyond = np.maximum(worked - self.open[-1], 0.0)
        return np.asarray(np.interp(worked, self.open, self.times) + beyond)

    def edges(self, last: float) -> Floats:
        """Return times before the last at which something closes or opens; of many, some of them, evenly."""
        inside = self.times[(self.times > 0.0) & (self.times < last)]
        which = np.linspace(0, inside.size - 1, min(inside.size, MOST_EDGES)).round().astype(np.int64)
        return inside[which]
