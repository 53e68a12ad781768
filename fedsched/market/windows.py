"""Windows: m slots that start together. One window or all disjoint ones are found by AMP, ALP or AEP."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import seed_of, whole
from fedsched.market.arrays import (
    Found,
    Rounds,
    empty_windows,
    needs_of,
    scratch,
    slot_list,
    with_rows,
    with_spare_slots,
)
from fedsched.market.codes import CHOICES, CRITERIA, RULES, Figure, Place, Status, code_of
from fedsched.market.requests import check_batch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.market.arrays import Needs, SlotList
    from fedsched.market.environment import Environment
    from fedsched.market.requests import Request

LARGEST = sys.maxsize  # kernels count in 64 bits with a sign


@dataclass(frozen=True, slots=True)
class Window:
    """Slots of one job, one a node, that start together and may end at different times.

    Parameters
    ----------
    job
        The row of its job in the batch.
    start
        When all its slots start.
    nodes, lengths
        The node and the length of each slot.
    cost, energy
        Cost and energy of the whole window.

    Examples
    --------
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> window = fs.market.find_window(domain, fs.market.Request(nodes=2, length=100))
    >>> len(window.slots), window.finish == window.start + window.runtime
    (2, True)
    """

    job: int
    start: float
    nodes: tuple[int, ...]
    lengths: tuple[float, ...]
    cost: float
    energy: float

    @property
    def runtime(self) -> float:
        """Return the length of the longest slot."""
        return max(self.lengths)

    @property
    def finish(self) -> float:
        """Return the end of the longest slot."""
        return self.start + self.runtime

    @property
    def cpu(self) -> float:
        """Return the sum of the slots' lengths."""
        return sum(self.lengths)

    @property
    def slots(self) -> tuple[tuple[int, float, float], ...]:
        """Return node, start and end of each slot."""
        return tuple(
            (node, self.start, self.start + length) for node, length in zip(self.nodes, self.lengths, strict=True)
        )

    def value(self, criterion: str) -> float:
        """Return the criterion's value of the window; less is better."""
        code = code_of("criterion", criterion, CRITERIA)
        return (self.start, self.finish, self.runtime, self.cost, self.cpu, self.energy)[code]


def find_window(
    environment: Environment,
    request: Request,
    *,
    method: str = "aep",
    criterion: str | None = None,
    window: str = "cheapest",
    seed: int = 0,
) -> Window | None:
    """Return a window for one request, or None if none is within its budget, deadline and nodes.

    Parameters
    ----------
    environment, request
        Where to search, and the request.
    method
        "amp" stops at the first window within budget, "alp" at the first with slots that each cost no more than
        their share of it; "aep" tries all and returns the best by the criterion.
    criterion
        Replaces the request's own criterion.
    window
        How "aep" chooses m slots for min_cpu and min_energy: "cheapest", "random", or "exact" (the knapsack).
    seed
        The seed of "random".

    Examples
    --------
    >>> slots = fs.market.Slots(node=[0, 1, 2], start=[0, 10, 5], end=[100, 90, 80])
    >>> nodes = fs.market.Environment(slots=slots, performance=[1.0, 2.0, 2.0], price=[1.0, 3.0, 2.0])
    >>> window = fs.market.find_window(nodes, fs.market.Request(nodes=2, length=40), criterion="min_cost")
    >>> window.start, window.nodes, window.cost
    (5.0, (0, 2), 80.0)
    """
    found = find_windows(environment, request, method=method, criterion=criterion, window=window, seed=seed, most=1)
    return found[0] if found else None


def find_windows(
    environment: Environment,
    request: Request,
    *,
    method: str = "amp",
    criterion: str | None = None,
    window: str = "cheapest",
    seed: int = 0,
    most: int | None = None,
) -> list[Window]:
    """Return disjoint windows for one request, found and cut from the slots one after the other.

    Parameters
    ----------
    environment, request, method, criterion, window, seed
        As of `find_window`.
    most
        Stop after this number of windows; by default find all.

    Examples
    --------
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> windows = fs.market.find_windows(domain, fs.market.Request(nodes=2, length=100), most=3)
    >>> len(windows)
    3
    """
    seed = seed_of("find_windows", seed)
    check_batch([request], environment)
    needs = needs_of([request], environment)
    found = search_all(
        slot_list(environment, spare=4 * len(environment)),
        needs,
        0,
        1,
        method=method,
        criterion=criterion or request.criterion,
        window=window,
        seed=seed,
        most=most,
    )
    return windows_of(found, needs)


def best_of(windows: Sequence[Window], criterion: str) -> Window:
    """Return the first of the windows with the least value of a criterion (CSA: the choice after the search).

    Parameters
    ----------
    windows
        The windows of one job.
    criterion
        "min_start", "min_finish", "min_runtime", "min_cost", "min_cpu" or "min_energy".

    Examples
    --------
    >>> domain = fs.market.Domain().environment(seed=1)
    >>> windows = fs.market.find_windows(domain, fs.market.Request(nodes=2, length=100), most=3)
    >>> fs.market.best_of(windows, "min_cost").cost == min(window.cost for window in windows)
    True
    """
    if not windows:
        raise ValueError("best_of: there is no window to choose from; see find_windows.")
    return min(windows, key=lambda window: window.value(criterion))


def search_all(
    slots: SlotList,
    needs: Needs,
    first: int,
    last: int,
    *,
    method: str,
    criterion: str | None = None,
    window: str = "cheapest",
    seed: int = 0,
    most: int | None = None,
) -> Found:
    """Return the disjoint windows of jobs first to last − 1, in the order found; a job may have any number of them.

    The search cuts windows from `slots` or from a larger copy, so the content of `slots` is undefined afterwards.
    """
    from fedsched.market.search_kernel import OWN, search

    rule = code_of("method", method, RULES)
    choice = code_of("window", window, CHOICES)
    wanted = OWN if criterion is None else int(code_of("criterion", criterion, CRITERIA))
    if most is not None:
        whole("find_windows", "most", most, least=1, most=LARGEST)
    found = empty_windows(max(64, 8 * (last - first)), int(needs.nodes.max()))
    rounds = Rounds(np.zeros(len(Place), np.int64), np.zeros(len(needs.nodes), np.bool_))
    rounds.place[Place.NEXT] = first
    work = scratch(needs, slots)
    while True:
        status = search(
            slots,
            needs,
            first,
            last,
            int(rule),
            wanted,
            int(choice),
            seed,
            most or LARGEST,
            work,
            found,
            rounds,
        )
        if status == Status.DONE:
            return found
        slots = with_spare_slots(slots, 2 * int(slots.used[0]) + int(needs.nodes.max()))
        work = scratch(needs, slots)
        found = with_rows(found, 2 * len(found.job))


def windows_of(found: Found, needs: Needs) -> list[Window]:
    """Return the windows that a search has found, in the order found, as `Window` objects."""
    return [window_of(needs, int(found.job[k]), found.figures[k], found.nodes[k]) for k in range(int(found.used[0]))]


def window_of(needs: Needs, j: int, figures: np.ndarray, nodes: np.ndarray) -> Window:
    """Return job j's `Window` from its row of figures and its row of nodes."""
    taken = nodes[: needs.nodes[j]]
    return Window(
        j,
        float(figures[Figure.START]),
        tuple(taken.tolist()),
        tuple(needs.length[j, taken].tolist()),
        float(figures[Figure.COST]),
        float(figures[Figure.ENERGY]),
    )
