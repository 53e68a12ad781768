"""The NamedTuples that the market's kernels read and write, and functions that fill them from the public classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference
from fedsched.market.codes import CRITERIA, Figure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.market.environment import Environment
    from fedsched.market.requests import Request

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]


@by_reference
class SlotList(NamedTuple):
    """The free slots (spans of a node's time), sorted by (start, node); rows from used[0] on are unused."""

    start: Floats
    end: Floats
    node: Ints
    used: Ints  # [0]: number of rows in use


@by_reference
class Needs(NamedTuple):
    """The requests of a batch as arrays, with each job's length, cost and energy on every node, and nodes' prices."""

    nodes: Ints  # m, per job
    budget: Floats
    deadline: Floats
    criterion: Ints
    length: Floats  # job x node: t_req·r_min/r
    cost: Floats  # job x node: length · price; if prices change, the mean price of the interval
    energy: Floats  # job x node: length · watts
    rank: Ints  # job x node: the node's place by (cost, node)
    suitable: Bools  # job x node: fast enough
    since: Floats  # node x price: when it begins to hold, -inf first; one column if no price changes
    price: Floats  # node x price


@by_reference
class Found(NamedTuple):
    """The windows that a search has found so far, a row each, in the order found."""

    job: Ints
    figures: Floats  # a row each, its columns by Figure
    nodes: Ints  # a row each, ascending; unused columns hold -1
    used: Ints  # [0]: rows in use


@by_reference
class Rounds(NamedTuple):
    """The progress of a search for alternative windows, kept between calls of the kernel `search`."""

    place: Ints  # indexed by Place
    done: Bools  # per job: no further window will be found


@by_reference
class Scratch(NamedTuple):
    """Work arrays of the scan; `node` holds the nodes with slots that the scan may use now, cheapest slot first."""

    node: Ints
    end: Floats
    cost: Floats  # per node: the cost of the job's slot on it at this step
    chosen: Ints  # the sub-window of this step
    best: Ints  # the best sub-window so far
    tried: Ints  # the sub-window that is being tried
    order: Ints
    key: Floats
    stack: Ints
    multiplier: Floats  # [0]: the Lagrange multiplier of the budget, kept between steps
    figures: Floats  # the best window's row
    offer_start: Floats  # if prices change: the times at which windows are tried
    offer_end: Floats  # the end of the slot to which each offer belongs
    offer_node: Ints
    offer_order: Ints  # by (start, node)


def slot_list(environment: Environment, *, spare: int = 0) -> SlotList:
    """Return the environment's free slots as a `SlotList`, with `spare` unused rows behind them."""
    free = environment.slots
    return with_spare_slots(SlotList(free.start, free.end, free.node, np.array([len(free)], np.int64)), spare)


def copy_slots(source: SlotList, target: SlotList) -> None:
    """Overwrite the slots of `target` with those of `source`; `target` must have enough rows."""
    used = int(source.used[0])
    for column, values in zip(target[:3], source[:3], strict=True):
        column[:used] = values[:used]
    target.used[0] = used


def needs_of(batch: Sequence[Request], environment: Environment) -> Needs:
    """Return the requests of a batch as `Needs`, with their lengths, costs and energies on every node."""
    work = np.array([request.length for request in batch]) * environment.reference
    length = np.ascontiguousarray(work[:, None] / environment.performance[None, :])
    cost = length * environment.mean_price
    rank = np.empty(length.shape, np.int64)
    places = np.broadcast_to(np.arange(len(environment)), length.shape)
    np.put_along_axis(rank, np.argsort(cost, axis=1, kind="stable"), places, axis=1)
    least = np.array([request.min_performance for request in batch])
    return Needs(
        np.array([request.nodes for request in batch], np.int64),
        np.array([request.budget for request in batch], np.float64),
        np.array([request.deadline for request in batch], np.float64),
        np.array([CRITERIA[request.criterion] for request in batch], np.int64),
        length,
        cost,
        length * environment.watts,
        rank,
        np.ascontiguousarray(environment.performance[None, :] >= least[:, None]),
        *environment.price_table,
    )


def scratch(needs: Needs, slots: SlotList) -> Scratch:
    """Return new work arrays, large enough for a scan over this slot list."""
    nodes, prices = needs.since.shape
    offers = len(slots.start) * 2 * prices if prices > 1 else 0

    def ints(size: int = nodes + 1) -> Ints:
        return np.zeros(size, np.int64)

    def floats(size: int = nodes + 1) -> Floats:
        return np.zeros(size)

    return Scratch(
        node=ints(),
        end=floats(),
        cost=floats(),
        chosen=ints(),
        best=ints(),
        tried=ints(),
        order=ints(),
        key=floats(),
        stack=ints(),
        multiplier=floats(1),
        figures=floats(len(Figure)),
        offer_start=floats(offers),
        offer_end=floats(offers),
        offer_node=ints(offers),
        offer_order=ints(offers),
    )


def empty_windows(rows: int, widest: int) -> Found:
    """Return `Found` arrays without windows, with rows for this many windows of up to `widest` nodes."""
    return Found(
        np.zeros(rows, np.int64),
        np.zeros((rows, len(Figure))),
        np.full((rows, widest), -1, np.int64),
        np.zeros(1, np.int64),
    )


def with_rows(found: Found, rows: int) -> Found:
    """Return a copy of the found windows in arrays of `rows` rows."""
    used = int(found.used[0])
    larger = empty_windows(rows, found.nodes.shape[1])
    for column, values in zip(larger[:3], found[:3], strict=True):
        column[:used] = values[:used]
    larger.used[0] = used
    return larger


def with_spare_slots(slots: SlotList, spare: int) -> SlotList:
    """Return a copy of the slot list with `spare` unused rows behind its slots."""
    used = int(slots.used[0])
    larger = SlotList(
        np.full(used + spare, np.inf),
        np.full(used + spare, np.inf),
        np.zeros(used + spare, np.int64),
        np.array([used], np.int64),
    )
    copy_slots(slots, larger)
    return larger
