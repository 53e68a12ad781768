"""The Lagrangian over stretches of time: what node-seconds at given prices prove about sums over starts.

Time is cut into buckets. In bucket k a node of class c has a price λ_ck >= 0 a second, and so has a unit of each other
scarce thing (nodes in the sense of f_p, pools). All jobs together use no more than the supply, which is smaller while
nodes are closed. Hence, for every schedule,

    Σ_j charge_j(S_j) >= Σ_j [charge_j(S_j) + price of what j uses] − price of the whole supply

With each job's least bracket over modes, nodes and starts, the right side is a lower bound. For a mode and nodes, the
price of [S, S + d) is Λ(S + d) − Λ(S) with Λ the piecewise linear integral of λ. The bracket is piecewise linear in S,
and its least value is at the release, where S or S + d meets an edge, or at a kink of the charge. The cheapest nodes
are the cheapest classes first.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.bounds.lower.relaxation import ROUNDING
from fedsched.bounds.lower.supply import ClosedCapacity

if TYPE_CHECKING:
    from fedsched.bounds.cost.charges import Charge
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation

BLOCK = 400_000  # entries of mode × start × class that are computed at once


@dataclass(frozen=True, slots=True, eq=False)
class Scarce:
    """The supply that jobs share: nodes of each speed (classes), and other limited things.

    These things are wide-job sizes (f_p) and pools.
    """

    relaxation: Relaxation
    slowdown: Ints  # per class: its index in the slowdowns
    nodes: Floats  # per class
    caps: Ints  # job × class
    needs: Floats  # thing × job
    amounts: Floats  # per thing
    taken: ClosedCapacity  # the part of the supply that closed nodes take

    @classmethod
    def of(cls, relaxation: Relaxation, wide: Floats) -> Scarce:
        """Return the supply of a relaxation; classes of one speed are merged, since their watts do not matter here.

        `wide` has the values f_p of jobs, family × job.
        """
        slowdowns = np.unique(relaxation.class_slowdown)
        member = relaxation.class_slowdown[:, None] == slowdowns
        place = np.searchsorted(slowdowns, relaxation.class_slowdown)
        nodes = relaxation.nodes @ member
        return cls(
            relaxation,
            slowdowns,
            nodes.astype(np.float64),
            np.minimum(relaxation.caps @ member, nodes),
            np.concatenate([wide, relaxation.pool_need.T.astype(np.float64)]),
            np.concatenate([np.full(len(wide), float(relaxation.total_nodes)), relaxation.pool_amount]),
            ClosedCapacity.of(relaxation, place, slowdowns.size, wide),
        )

    def take(self, rows: Ints) -> Scarce:
        """Return the same supply with some of the jobs (rows) only."""
        return Scarce(
            self.relaxation.take(rows), self.slowdown, self.nodes, self.caps[rows], self.needs[:, rows], self.amounts,
            self.taken,
        )  # fmt: skip

    def left(self, edges: Floats) -> tuple[Floats, Floats]:
        """Return the supply in each bucket between edges, without closed nodes: by class, and by other thing."""
        return self.taken.left(edges, self.nodes, self.amounts)


class Prices(NamedTuple):
    """The prices of a second of a node of each class, and of a unit of each other thing, in each bucket of time."""

    edges: Floats  # of the buckets, ascending from 0; after the last all prices are 0
    node: Floats  # bucket × class
    thing: Floats  # bucket × thing

    @property
    def lengths(self) -> Floats:
        """Return the length of each bucket in seconds."""
        return np.diff(self.edges)

    def finer(self, parts: int) -> Prices:
        """Return the prices with each bucket cut into `parts`; they are linear between the old buckets' middles."""
        cuts = self.edges[:-1, None] + np.arange(parts) / parts * self.lengths[:, None]
        edges = np.append(cuts.ravel(), self.edges[-1])
        old, new = (edge[1:] / 2 + edge[:-1] / 2 for edge in (self.edges, edges))

        def between(prices: Floats) -> Floats:
            columns = [np.interp(new, old, column) for column in prices.T]
            return np.stack(columns, axis=1) if columns else np.zeros((new.size, 0))

        return Prices(edges, between(self.node), between(self.thing))


class Value(NamedTuple):
    """The Lagrangian's value at some prices, and its supergradient with respect to the prices of nodes and things."""

    bound: float
    node: Floats
    thing: Floats


class Starts:
    """The start times tried for each mode (a job at a slowdown), to find each job's least bracket, on given edges.

    With `every`, they are all starts at which the minimum can be, for any prices. Without, only the edges and the
    release: fewer starts, good enough to search for prices.
    """

    def __init__(self, scarce: Scarce, charge: Charge, edges: Floats, *, every: bool) -> None:
        relaxation = scarce.relaxation
        self.scarce, self.edges, self.widths = scarce, edges, np.diff(edges)
        self.left = scarce.left(edges)
        self.job, self.v = np.nonzero(relaxation.usable)
        self.first = np.flatnonzero(np.diff(self.job, prepend=-1))  # the first mode of each job
        self.row = np.arange(self.job.size)
        self.modes = np.diff(np.append(self.first, self.job.size))  # of each job
        release = relaxation.release[self.job][:, None]
        self.seconds = relaxation.duration[self.job, self.v]
        places = [release, np.broadcast_to(edges, (self.job.size, edges.size))]
        if every:
            places += [edges - self.seconds[:, None], charge.kinks(relaxation, self.job, self.v)]
        runs_already = (relaxation.begun > 0.0)[self.job][:, None]
        self.start = np.where(runs_already, release, np.maximum(np.concatenate(places, axis=1), release))
        self.charge = charge.of(relaxation, self.job, self.v, self.start)
        self.begin, self.end = self._located(self.start), self._located(self.start + self.seconds[:, None])
        reach = scarce.slowdown[None, :] <= self.v[:, None]
        self.caps = np.where(reach, scarce.caps[self.job], 0)
        self.tasks = relaxation.tasks[self.job].astype(np.float64)
        # Slower nodes are usually cheaper, and then a mode's nodes are the same whenever it starts.
        self.usual = self._taken(self.caps[:, ::-1], self.tasks)[:, ::-1]

    @staticmethod
    def _taken(caps: Ints, tasks: Floats) -> Floats:
        """Return how many nodes of each class `tasks` tasks take, if the classes are filled in order up to `caps`."""
        filled = np.minimum(caps.cumsum(axis=-1), tasks[..., None])
        taken: Floats = filled.copy()
        taken[..., 1:] -= filled[..., :-1]
        return taken

    def _located(self, instant: Floats) -> tuple[Ints, Floats]:
        """Return the bucket of each instant, and its distance from the bucket's begin in seconds."""
        bucket = np.clip(np.searchsorted(self.edges, instant, side="right") - 1, 0, self.edges.size - 2)
        return bucket, np.minimum(instant, self.edges[-1]) - self.edges[bucket]

    def _spent(self, price: Floats) -> Floats:
        """Return the price of one unit used from start to end (modes × starts), at these prices by bucket."""
        integral = np.concatenate([[0.0], np.cumsum(price * self.widths)])
        (begin, into), (end, further) = self.begin, self.end
        return np.maximum(integral[end] + price[end] * further - (integral[begin] + price[begin] * into), 0.0)

    def least(self, prices: Prices) -> Floats:
        """Return each job's least bracket: its charge plus the price of what it uses, over modes and starts."""
        bracket = self._brackets(prices)[0]
        return np.minimum.reduceat(bracket.min(axis=1), self.first)

    def value(self, prices: Prices, copies: Floats) -> Value:
        """Return the Lagrangian's value and supergradient, without an allowance for rounding.

        Job j counts `copies[j]` times.
        """
        bracket, odd, taken = self._brackets(prices)
        where = bracket.argmin(axis=1)
        of_mode = bracket[self.row, where]
        best = np.minimum.reduceat(of_mode, self.first)
        winners = np.flatnonzero(of_mode <= np.repeat(best, self.modes))
        owner = self.job[winners]  # ascending
        rows = winners[np.append(True, owner[1:] != owner[:-1])]
        at = where[rows]
        start = self.start[rows, at][:, None]
        end = start + self.seconds[rows][:, None]
        overlap = np.maximum(np.minimum(end, self.edges[1:]) - np.maximum(start, self.edges[:-1]), 0.0)
        used = self.usual[rows]
        is_odd = odd[rows, at] >= 0
        used[is_odd] = taken[odd[rows, at][is_odd]]
        (nodes, things), weighed = self.left, (overlap * copies[:, None]).T
        return Value(
            float(best @ copies) - _of_all(self.left, prices),
            weighed @ used - nodes,
            weighed @ self.scarce.needs.T - things,
        )

    def _brackets(self, prices: Prices) -> tuple[Floats, Ints, Floats]:
        """Return the brackets (modes × starts), and where other nodes than the usual ones are cheaper.

        A bracket is a charge plus a price. The second array has each bracket's row among these odd ones, or −1;
        the third has the nodes that the odd ones take, row × class.
        """
        each = [self._spent(column) for column in prices.node.T]
        bracket = self.charge + sum(taken[:, None] * spent for taken, spent in zip(self.usual.T, each, strict=True))
        dearer = np.zeros(bracket.shape, dtype=np.bool_)
        for fast, slow in pairwise(each):
            dearer |= slow > fast
        mode, at = np.nonzero(dearer)
        odd = np.full(bracket.shape, -1)
        odd[mode, at] = np.arange(mode.size)
        taken = np.zeros((mode.size, len(each)))
        if mode.size:
            spent = np.stack([column[mode, at] for column in each], axis=1)
            order = np.argsort(spent, axis=1, kind="stable")
            filled = self._taken(np.take_along_axis(self.caps[mode], order, axis=1), self.tasks[mode])
            np.put_along_axis(taken, order, filled, axis=1)
            bracket[mode, at] = self.charge[mode, at] + (taken * spent).sum(axis=1)
        for needs, column in zip(self.scarce.needs, prices.thing.T, strict=True):
            bracket = bracket + needs[self.job][:, None] * self._spent(column)
        return bracket, odd, taken


def _of_all(left: tuple[Floats, Floats], prices: Prices) -> float:
    """Return the price of the whole supply over all buckets."""
    nodes, things = left
    return float((prices.node * nodes).sum() + (prices.thing * things).sum())


def proven(scarce: Scarce, charge: Charge, prices: Prices) -> float:
    """Return the lower bound that the prices prove: the Lagrangian's value minus what rounding may have added.

    It is in the metric's own unit, and at least 0. Prices below 0 count as 0.
    """
    relaxation, jobs = scarce.relaxation, scarce.relaxation.tasks.size
    prices = prices._replace(node=np.maximum(prices.node, 0.0), thing=np.maximum(prices.thing, 0.0))
    entries = relaxation.slowdown.size * (2 * prices.edges.size + 3) * scarce.nodes.size
    step = max(1, BLOCK // entries)
    total = _of_all(scarce.left(prices.edges), prices)
    low, size = -total, total
    for begin in range(0, jobs, step):
        part = scarce.take(np.arange(begin, min(begin + step, jobs)))
        least = Starts(part, charge, prices.edges, every=True).least(prices)
        low += float(least.sum())
        size += float(np.abs(least).sum())
    # Bounds a job's intermediate numbers: instants times the price of a second of delay and of its nodes.
    span, weight = relaxation.release + relaxation.late + relaxation.begun + prices.edges[-1], charge.weight(relaxation)
    dearest = relaxation.tasks * prices.node.max() + prices.thing.max(axis=0, initial=0.0) @ scarce.needs
    size += float(span @ (weight + dearest)) + abs(relaxation.t0) * float(weight.sum())
    if scarce.taken.anything:  # the supply is then a difference of sums up to two edges
        most = prices.node.max(axis=0) @ scarce.nodes + prices.thing.max(axis=0, initial=0.0) @ scarce.amounts
        size += float(prices.edges[-1] * most)
    return max(0.0, (low - ROUNDING * size) * charge.share(relaxation))
