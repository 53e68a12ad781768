"""Environment: the nodes of a resource domain, their owners' prices, and their free slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import ScheduleError
from fedsched.core.text import counted
from fedsched.market.slots import Slots, Timetable
from fedsched.market.tariff import paid
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.node_numbers import NodeRuns, by_their_numbers

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.market.tariff import Prices, Tariff
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]

SHARPNESS = 1e-3  # of an interval: times so close must differ as floating-point numbers
WATTS = 135.0  # a busy node's power by default, as in the federation


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Environment:
    """Nodes with performance r, price per time unit and power, and their free slots in a scheduling interval.

    A request states its length on a node of the reference performance. A length of `t` time units takes
    t · reference / r on a node of performance r. With a `tariff`, prices change over the interval; `price` then holds
    until the first change.

    Parameters
    ----------
    slots
        The free slots.
    performance, price, watts
        Performance, price of a time unit and power of each node, or one for all.
    interval
        When the scheduling interval begins and ends; by default from the first slot's begin to the last one's end.
    reference
        The performance for which requests state their lengths.
    tariff
        Prices that change over the interval; None: they stay.

    Examples
    --------
    >>> slots = fs.market.Slots(node=[0, 1], start=[0, 10], end=[100, 90])
    >>> environment = fs.market.Environment(slots=slots, performance=[1.0, 2.0], price=[1.0, 3.0])
    >>> float(environment.cost_of(node=1, start=10, length=20))
    60.0
    """

    slots: Slots
    performance: Floats
    price: Floats
    watts: Floats
    interval: tuple[float, float]
    reference: float = 1.0
    tariff: Tariff | None = None

    def __init__(
        self,
        *,
        slots: Slots,
        performance: ArrayLike,
        price: ArrayLike,
        watts: ArrayLike = WATTS,
        interval: tuple[float, float] | None = None,
        reference: float = 1.0,
        tariff: Tariff | None = None,
    ) -> None:
        speeds = np.array(performance, dtype=np.float64)
        if speeds.ndim != 1 or not len(speeds):
            raise ValueError(f"Environment: performance has shape {speeds.shape}; give one number for each node.")
        for name, values in (("performance", speeds), ("price", price), ("watts", watts)):
            column = _column(name, values, speeds)
            holds = np.isfinite(column) & ((column > 0) if name == "performance" else (column >= 0))
            if not holds.all():
                node = int(np.argmin(holds))
                rule = "above 0" if name == "performance" else "at least 0"
                raise ValueError(f"Environment: node {node}: {name}={column[node].item()!r} must be finite and {rule}.")
            column.setflags(write=False)
            object.__setattr__(self, name, column)
        if not (np.isfinite(reference) and reference > 0):
            raise ValueError(f"Environment: reference={reference!r} must be finite and above 0.")
        if len(slots) and int(slots.node.max()) >= len(speeds):
            raise ValueError(
                f"Environment: a slot is on node {slots.node.max()}, but performance is given for {len(speeds)} nodes "
                "(numbered from 0)."
            )
        if tariff is not None and len(tariff) and int(tariff.node.max()) >= len(speeds):
            raise ValueError(
                f"Environment: the tariff has a price of node {tariff.node.max()}, but performance is given for "
                f"{len(speeds)} nodes (numbered from 0)."
            )
        if interval is None:
            interval = (float(slots.start.min(initial=0.0)), float(slots.end.max(initial=0.0)))
        begin, end = float(interval[0]), float(interval[1])
        check_interval(begin, end)
        if len(slots) and not (begin <= slots.start.min() and slots.end.max() <= end):
            raise ValueError(
                f"Environment: slots lie in {slots.start.min():g}..{slots.end.max():g}, outside interval={interval}."
            )
        object.__setattr__(self, "slots", slots)
        object.__setattr__(self, "interval", (begin, end))
        object.__setattr__(self, "reference", float(reference))
        object.__setattr__(self, "tariff", tariff if tariff is not None and len(tariff) else None)

    def __len__(self) -> int:
        return len(self.performance)

    @property
    def length(self) -> float:
        """Return the length of the scheduling interval."""
        return self.interval[1] - self.interval[0]

    @property
    def price_table(self) -> tuple[Floats, Floats]:
        """Return two tables, a row a node: when each price begins to hold (-inf first, +inf unused), and the prices."""
        if self.tariff is None:
            return np.full((len(self), 1), -np.inf), self.price[:, None].copy()
        return self.tariff.table(self.price)

    @property
    def mean_price(self) -> Floats:
        """Return every node's price; if it changes, its mean over the interval."""
        if self.tariff is None:
            return self.price
        return self.cost_of(np.arange(len(self)), self.interval[0], self.length) / self.length

    def cost_of(self, node: ArrayLike, start: ArrayLike, length: ArrayLike) -> Floats:
        """Return the cost of slots, each time unit at the price that holds then.

        Parameters
        ----------
        node, start, length
            The node, start and length of each slot.
        """
        node, start, length = np.broadcast_arrays(node, start, length)
        return paid(*self.price_table, node, start, length)

    def priced(self, prices: Prices) -> Environment:
        """Return a copy of the environment with the tariff that `prices` sets."""
        return Environment(
            slots=self.slots,
            performance=self.performance,
            price=self.price,
            watts=self.watts,
            interval=self.interval,
            reference=self.reference,
            tariff=prices.tariff(self),
        )

    @property
    def busy(self) -> Timetable:
        """Return the time of the owners' local tasks: everything that is not free."""
        free = self.slots
        gaps = Timetable(free.node, free.start, free.end).free(len(self), *self.interval)
        return Timetable(gaps.node, gaps.start, gaps.end)

    @property
    def load(self) -> float:
        """Return the share of the nodes' time that local tasks take."""
        return 1.0 - float(self.slots.length.sum()) / (len(self) * self.length)

    @classmethod
    def of_schedule(
        cls,
        schedule: Schedule,
        *,
        begin: float,
        end: float,
        price: ArrayLike | None = None,
        reference: float = 1.0,
    ) -> Environment:
        """Return an environment in which a schedule's jobs are the local tasks and its nodes' idle time is free.

        Parameters
        ----------
        schedule
            A schedule on any federation; its jobs take the lowest free nodes of their groups.
        begin, end
            The scheduling interval.
        price
            Price per time unit, per node group or one for all; by default a node's speed.
        reference
            The speed of the node on which requests state their lengths.
        """
        check_interval(begin, end)
        groups = schedule.federation.groups
        speed = np.array([group.speed for group in groups])
        asked = speed if price is None else np.broadcast_to(np.asarray(price, dtype=np.float64), speed.shape)
        group_of = schedule.federation.group_of_node
        return cls(
            slots=_idle(schedule, len(group_of), begin, end),
            performance=speed[group_of],
            price=asked[group_of],
            watts=np.array([group.busy_watts for group in groups])[group_of],
            interval=(begin, end),
            reference=reference,
        )

    def __str__(self) -> str:
        begin, end = self.interval
        return (
            f"{counted(len(self), 'node')} over {begin:g}..{end:g}, {self.load:.0%} taken by local tasks; {self.slots}"
        )


def tells_apart(begin: float, length: float) -> bool:
    """Return whether times in an interval that are a thousandth of its length apart differ as floating-point values."""
    return bool(np.spacing(max(-begin, begin + length)) <= SHARPNESS * length)


def check_interval(begin: float, end: float) -> None:
    """Raise ValueError if the times are not finite and in order, or too far from 0 for floating-point numbers."""
    if not -np.inf < begin < end < np.inf:
        raise ValueError(f"Environment: interval={(begin, end)} must be two finite times, the first before the second.")
    if not tells_apart(begin, end - begin):
        raise ValueError(
            f"Environment: interval={(begin, end)} must be nearer to 0, or longer: so far off the clock does not tell "
            "its times apart."
        )


def _idle(schedule: Schedule, nodes: int, begin: float, end: float) -> Slots:
    """Return the free time of the nodes between two times, outside a schedule's jobs and the federation's downtimes.

    Neighbouring nodes that the same jobs take are handled as one; they are separated only in the result.
    """
    if getattr(schedule, "shares_nodes", False):
        raise ScheduleError(
            "Environment: jobs of the schedule share nodes, but a market sells whole nodes; simulate without sharing=."
        )
    of_jobs, of_lost, spans, closed, *_ = numbered(schedule)
    runs = NodeRuns(*map(np.concatenate, zip(of_jobs, of_lost, closed, strict=True)))
    runs = by_their_numbers(runs, schedule.federation.node_order)
    of_run = np.repeat(np.arange(runs.pieces.size), runs.pieces)
    start = np.maximum(np.concatenate([schedule.start, schedule.lost.start, spans.start]), begin)[of_run]
    stop = np.concatenate([schedule.finish, schedule.lost.end, spans.finish])
    stop = np.fmin(stop, end)[of_run]  # jobs without a finish run to the end
    within = stop > start
    edges = np.unique(np.concatenate([[0, nodes], runs.first[within], runs.last[within] + 1]))
    part = np.searchsorted(edges, runs.first[within])
    parts = np.searchsorted(edges, runs.last[within] + 1) - part
    busy = Timetable(_numbered(part, parts), np.repeat(start[within], parts), np.repeat(stop[within], parts))
    free = busy.free(len(edges) - 1, begin, end)
    sizes = np.diff(edges)[free.node]
    return Slots(_numbered(edges[free.node], sizes), np.repeat(free.start, sizes), np.repeat(free.end, sizes))


def _numbered(first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one array with, for each k, the counts[k] consecutive numbers from first[k] on."""
    behind = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(first - behind, counts)


def _column(name: str, values: ArrayLike, like: Floats) -> Floats:
    given = np.asarray(values, dtype=np.float64)
    if given.ndim == 0:
        return np.full(like.shape, float(given))
    if given.shape != like.shape:
        raise ValueError(f"Environment: {name} has shape {given.shape}, but performance gives {len(like)} nodes.")
    return given.copy()
