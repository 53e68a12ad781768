"""Prices of the hours mended by what jobs choose at them: the linear program over whole runs, choice by choice.

Work is a liquid in the program that prices begin with; a run is in one piece. Here each job takes one of the runs that
it has chosen at some prices so far, in parts if need be, and all of these fit together. The multipliers are the next
prices, at which jobs choose anew. What is proven with prices holds for any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.bounds.cost.hour_prices import UNDONE, RoomPrices
from fedsched.bounds.cost.linear import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.bounds.cost.hour_prices import Room

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


class Chosen(NamedTuple):
    """What each job, or each of its shapes, chose: what it pays, on how many nodes of each room, and from when on."""

    paid: Floats
    nodes: Ints  # job × room
    begins: Floats  # job × room

    def of(self, rows: Ints) -> Chosen:
        """Return what some of them chose."""
        return Chosen(self.paid[rows], self.nodes[rows], self.begins[rows])


class Choices:
    """What jobs have chosen so far, in rooms whose time is cut by the edges of these prices."""

    def __init__(self, rooms: Sequence[Room], prices: RoomPrices) -> None:
        self.rooms, self.edges = rooms, prices.edges
        self.supply = (np.array([room.nodes for room in rooms])[:, None] * np.diff(prices.edges)).ravel()
        highest = max(float(room.rate.max(initial=0.0) * np.max(room.curve.values)) for room in rooms)
        self.undone = UNDONE * max(highest, float(prices.prices.max(initial=0.0)))
        self._costs: list[Floats] = []
        self._uses: list[Floats] = []

    def add(self, chosen: Chosen, rows: Ints) -> None:
        """Add what each job chose, in the shape that is this row of the rooms."""
        cost, use = np.zeros(rows.size), []
        for p, room in enumerate(self.rooms):
            begins, nodes = chosen.begins[:, p], chosen.nodes[:, p]
            ends = begins + room.lasts[rows]
            cost += nodes * room.rate[rows] * (room.curve.integral(ends) - room.curve.integral(begins))
            until = np.clip(ends[:, None], self.edges[:-1], self.edges[1:])
            use.append(nodes[:, None] * (until - np.clip(begins[:, None], self.edges[:-1], self.edges[1:])))
        self._costs.append(cost)
        self._uses.append(np.concatenate(use, axis=1))

    def prices(self, until: float) -> RoomPrices | None:
        """Return the multipliers of what is scarce; None where the solver has nothing to say, or gives up."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, hstack, identity

        jobs, chosen, scarce = self._costs[0].size, len(self._costs), self.supply.size
        use = csr_matrix(np.concatenate(self._uses).T / self.supply[:, None])
        ones = np.ones(jobs * chosen)
        each = csr_matrix(
            (ones, (np.tile(np.arange(jobs), chosen), np.arange(ones.size))), shape=(jobs, ones.size + scarce)
        )
        solved = linprog(
            np.concatenate([*self._costs, self.undone * self.supply]),
            A_ub=hstack([use, -identity(scarce)]).tocsr(),  # more than there is, at a price
            b_ub=np.ones(scarce),
            A_eq=each,
            b_eq=np.ones(jobs),
            method="highs",
            options=within(until),
        )
        if solved.x is None or solved.ineqlin.marginals is None:
            return None
        found = np.maximum(-np.asarray(solved.ineqlin.marginals) / self.supply, 0.0)
        return RoomPrices(self.edges, found.reshape(len(self.rooms), -1))
