"""Prices of the hours in which jobs want more nodes than there are: the multipliers of a linear program.

The program treats work as a liquid. A job's node-seconds flow into any stretches of time between its release and the
end, limited by the nodes that it may have, and in all by the supply. The solver's own value proves nothing; its prices
are a guide, and any prices prove a valid bound.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.bounds.cost.linear import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.time.signal import Curve

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

STRETCHES = 96  # the most stretches into which time is cut
KINDS = 120  # the most kinds of jobs: if there are more, jobs with similar releases are merged
UNDONE = 3.0  # the price of unplaced work, relative to the dearest: it marks a lack of nodes


class NodeSet(NamedTuple):
    """A set of equal nodes with one signal (price over time), and each job's node limit, run time and price on it."""

    curve: Curve
    nodes: int
    caps: Ints  # per job: the most nodes that it may have
    lasts: Floats  # seconds
    rate: Floats  # the price of a second at a signal value of 1

    def of(self, rows: Ints) -> NodeSet:
        """Return the same node set for some of the jobs (rows) only."""
        return self._replace(caps=self.caps[rows], lasts=self.lasts[rows], rate=self.rate[rows])


class NodeSetPrices(NamedTuple):
    """The price of a node-second in each node set and stretch of time, on top of the signals; 0 outside of them."""

    edges: Floats
    prices: Floats  # rooms × stretches

    def paid(self, room: int, times: Floats) -> Floats:
        """Return the price of a node of set `room`, held from the first edge until each of these times."""
        until = np.append(0.0, np.cumsum(self.prices[room] * np.diff(self.edges)))
        return np.asarray(np.interp(times, self.edges, until))

    def total(self, nodes: Sequence[int]) -> float:
        """Return the price of the whole supply over all time, with this many nodes in each set."""
        return float(np.array(nodes, dtype=np.float64) @ (self.prices @ np.diff(self.edges)))


def node_set_prices(
    rooms: Sequence[NodeSet], tasks: Ints, release: Floats, first: Ints, span: tuple[float, float], until: float
) -> NodeSetPrices | None:
    """Return prices of node-seconds, from a linear program that fits the jobs' work into node sets within a span.

    `rooms` are the node sets. `first` has the row at which each job's shapes begin; its work may be split among
    them. Return None if the solver finds nothing, or gives up at `until`, a time of `time.perf_counter`.
    """
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    if first.size == tasks.size:
        rooms, tasks, release = _fewer(rooms, tasks, release)
        first = np.arange(tasks.size)
    begin, end = span
    edges = np.unique(np.concatenate([[begin, end], *(room.curve.changes(begin, end) for room in rooms)]))
    if edges.size > STRETCHES + 1:
        edges = edges[np.unique(np.linspace(0, edges.size - 1, STRETCHES + 1).round().astype(np.int64))]
    lengths, jobs, many = np.diff(edges), first.size, len(rooms)
    owner = np.repeat(np.arange(jobs), np.diff(np.append(first, tasks.size)))
    open_for = np.clip(edges[None, 1:] - np.maximum(edges[None, :-1], release[:, None]), 0.0, None)  # job × stretch
    values = np.stack([np.diff(room.curve.integral(edges)) for room in rooms]) / lengths  # room × stretch
    caps = np.stack([room.caps for room in rooms], axis=1)  # job × room
    lasts, rate = np.stack([room.lasts for room in rooms], axis=1), np.stack([room.rate for room in rooms], axis=1)
    most = caps[:, :, None] * open_for[:, None, :]
    shape, room, stretch = np.nonzero((most > 0.0) & (lasts > 0.0)[:, :, None])
    if not shape.size:
        return None
    seconds = float(most.max())
    cost = rate[shape, room] * values[room, stretch]
    dear = float(cost.max()) or 1.0
    # Variables: node-seconds over `seconds`; then a job's unplaced nodes, each for its whole run. Nodes are counted in
    # those of the job's first shape; nodes of another shape are converted in proportion.
    run = np.maximum.reduceat(np.where(caps > 0, lasts, 0.0).max(axis=1), first)
    some, nodes_of_job = run > 0.0, tasks[first]
    part = nodes_of_job[owner] / tasks
    work = csr_matrix(
        (
            np.concatenate([seconds / lasts[shape, room] * part[shape], np.ones(jobs)]),
            (np.concatenate([owner[shape], np.arange(jobs)]), np.arange(shape.size + jobs)),
        )
    )
    space = csr_matrix((np.ones(shape.size), (room * lengths.size + stretch, np.arange(shape.size))),
                       shape=(many * lengths.size, shape.size + jobs))  # fmt: skip
    nodes = np.array([one.nodes for one in rooms], dtype=np.float64)
    solved = linprog(
        np.concatenate([cost / dear, UNDONE * run / seconds]),
        A_ub=space,
        b_ub=(nodes[:, None] * lengths / seconds).ravel(),
        A_eq=work,
        b_eq=np.where(some, nodes_of_job, 0).astype(np.float64),
        bounds=np.stack(
            [np.zeros(shape.size + jobs), np.append(most[shape, room, stretch] / seconds, nodes_of_job)], axis=1
        ),
        method="highs",
        options=within(until),
    )
    if solved.x is None or solved.ineqlin.marginals is None:
        return None
    prices = -np.asarray(solved.ineqlin.marginals).reshape(many, lengths.size) * dear
    return NodeSetPrices(edges, np.maximum(prices, 0.0))


def _fewer(rooms: Sequence[NodeSet], tasks: Ints, release: Floats) -> tuple[Sequence[NodeSet], Ints, Floats]:
    # If there are many jobs, those with successive releases are merged, grouped by similar areas.
    if tasks.size <= KINDS:
        return rooms, tasks, release
    slices = math.isqrt(KINDS)
    area = tasks * rooms[0].lasts
    waves = np.array_split(np.argsort(release, kind="stable"), slices)
    kinds = [part for wave in waves for part in np.array_split(wave[np.argsort(area[wave], kind="stable")], slices)]
    first = np.array([part[np.argmax(area[part])] for part in kinds])
    heads = tasks[first]
    together = [
        room._replace(
            caps=np.minimum([room.caps[part].sum() for part in kinds], room.nodes),
            lasts=np.array([float(tasks[part] @ room.lasts[part]) for part in kinds]) / heads,
            rate=np.array([room.rate[part].mean() for part in kinds]),
        )
        for room in rooms
    ]
    return together, heads, np.array([release[part].min() for part in kinds])
