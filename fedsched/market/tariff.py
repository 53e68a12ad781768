"""Tariff: prices that change over the interval; Hours and Demand: two ways to set them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.market.environment import Environment

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Tariff:
    """Prices by node: from `start` on `node` costs `price` a time unit, until its next row; rows by (node, start).

    Parameters
    ----------
    node, start, price
        The node, the time from which the price holds, and the price, row by row; rows by (node, start).

    Examples
    --------
    >>> tariff = fs.market.Tariff(node=[0, 0], start=[0, 50], price=[1.0, 2.0])
    >>> tariff.table([5.0])
    (array([[-inf,   0.,  50.]]), array([[5., 1., 2.]]))
    """

    node: Ints
    start: Floats
    price: Floats

    def __post_init__(self) -> None:
        node = np.asarray(self.node)
        if node.dtype.kind not in "iu" and node.size:
            raise TypeError(f"Tariff: node must hold whole numbers, not {node.dtype}.")
        start, price = np.asarray(self.start, dtype=np.float64), np.asarray(self.price, dtype=np.float64)
        if node.ndim != 1 or node.shape != start.shape or node.shape != price.shape:
            shapes = f"{node.shape}, {start.shape} and {price.shape}"
            raise ValueError(f"Tariff: node, start and price have shapes {shapes}; they must be rows of one length.")
        for name, column, holds, rule in (
            ("node", node, node >= 0, "must be at least 0"),
            ("start", start, np.isfinite(start), "must be finite"),
            ("price", price, np.isfinite(price) & (price >= 0), "must be finite and at least 0"),
        ):
            if not holds.all():
                row = int(np.argmin(holds))
                raise ValueError(f"Tariff: row {row}: {name}={column[row].item()!r} {rule}.")
        order = np.lexsort((start, node))
        for name, column in (("node", node.astype(np.int64)), ("start", start), ("price", price)):
            kept = np.ascontiguousarray(column[order])
            kept.setflags(write=False)
            object.__setattr__(self, name, kept)
        twice = (self.node[1:] == self.node[:-1]) & (self.start[1:] == self.start[:-1])
        if twice.any():
            row = int(np.argmax(twice))
            raise ValueError(f"Tariff: node {self.node[row]} has two prices from {self.start[row]:g} on; give one.")

    def __len__(self) -> int:
        return len(self.node)

    def table(self, base: Floats) -> tuple[Floats, Floats]:
        """Return two tables, a row a node: when each price begins to hold (-inf first, +inf unused), and the prices."""
        place = np.arange(len(self)) - np.searchsorted(self.node, self.node) + 1
        width = int(place.max(initial=0)) + 1
        since, price = np.full((len(base), width), np.inf), np.zeros((len(base), width))
        since[:, 0], price[:, 0] = -np.inf, base
        since[self.node, place], price[self.node, place] = self.start, self.price
        return since, price


def paid(since: Floats, price: Floats, node: ArrayLike, start: ArrayLike, length: ArrayLike) -> Floats:
    """Return the cost of slots by the two tables of `Tariff.table`, each time unit at the price that holds then."""
    node, begin, size = np.asarray(node), np.asarray(start, dtype=np.float64), np.asarray(length, dtype=np.float64)
    until = np.concatenate([since[:, 1:], np.full((len(since), 1), np.inf)], axis=1)
    end = begin + size
    inside = (since[node] <= begin[..., None]) & (end[..., None] <= until[node])
    shares = np.minimum(end[..., None], until[node]) - np.maximum(begin[..., None], since[node])
    # A slot within one price costs its exact length, not a rounded difference of two times.
    whole = np.where(inside, size[..., None], 0.0)
    shares = np.where(inside.any(axis=-1, keepdims=True), whole, np.maximum(shares, 0.0))
    return np.asarray((shares * price[node]).sum(axis=-1))


class Prices(Protocol):
    """A rule by which owners set prices over an interval."""

    def tariff(self, environment: Environment) -> Tariff:
        """Return the tariff that follows from the environment's prices."""
        ...


@dataclass(frozen=True, slots=True)
class Hours:
    """Prices by time: from each time on, every node's price × a factor; before the first time, × 1.

    Parameters
    ----------
    factors
        Pairs of a time and the factor that holds from it on.

    Examples
    --------
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> cheap_later = domain.priced(fs.market.Hours(((0, 1.3), (300, 0.7))))
    >>> bool(cheap_later.cost_of(0, 350, 10) < cheap_later.cost_of(0, 50, 10))
    True
    """

    factors: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for start, factor in self.factors:
            if not (np.isfinite(start) and np.isfinite(factor) and factor >= 0):
                raise ValueError(f"Hours: ({start!r}, {factor!r}) must be a finite time and a factor of at least 0.")
        if any(a[0] >= b[0] for a, b in pairwise(self.factors)):
            raise ValueError(f"Hours: the times of {self.factors} must rise.")

    def tariff(self, environment: Environment) -> Tariff:
        """Return the tariff: every node's price times each factor, from the factor's time on."""
        start, factor = np.array(self.factors, dtype=np.float64).reshape(-1, 2).T
        return _of_factors(environment, start, factor)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """Prices by demand: in each stretch of time × (1 + strength · (u/ū − 1)), but never below 0.

    u is the share of all nodes' time in the stretch that local tasks and earlier sold windows take; ū is its mean over
    the interval.

    Parameters
    ----------
    strength
        0: prices stay; 1: in proportion to the demand; below 0: prices fall as demand rises.
    every
        The length of a stretch; the first begins with the interval.

    Examples
    --------
    >>> domain = fs.market.Domain(prices=fs.market.Demand(strength=0.5)).environment(seed=1)
    >>> domain.tariff is not None
    True
    """

    strength: float = 1.0
    every: float = 100.0

    def __post_init__(self) -> None:
        if not np.isfinite(self.strength):
            raise ValueError(f"Demand: strength={self.strength!r} must be finite.")
        if not 0 < self.every < np.inf:
            raise ValueError(f"Demand: every={self.every!r} must be finite and above 0.")

    def tariff(self, environment: Environment) -> Tariff:
        """Return the tariff: every node's price times the factor of each stretch of the interval, by demand in it."""
        begin, end = environment.interval
        start = np.arange(begin, end, self.every)
        stop = np.append(start[1:], end)
        free = environment.slots
        share = np.minimum(free.end[:, None], stop) - np.maximum(free.start[:, None], start)
        taken = 1.0 - np.maximum(share, 0.0).sum(axis=0) / (len(environment) * (stop - start))
        mean = environment.load
        relative = taken / mean - 1.0 if mean > 0 else np.zeros(len(start))
        return _of_factors(environment, start, np.maximum(1.0 + self.strength * relative, 0.0))


def _of_factors(environment: Environment, start: Floats, factor: Floats) -> Tariff:
    nodes = len(environment)
    return Tariff(
        np.repeat(np.arange(nodes), len(start)), np.tile(start, nodes), np.outer(environment.price, factor).ravel()
    )
