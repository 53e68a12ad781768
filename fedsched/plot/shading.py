"""Computations for charts of very many bars: the largest bars, the shading that replaces the others, coarser steps.

Shading is the share of each cell of a grid (nodes × time) that bars take. A step function is averaged over parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

AT_ONCE = 500_000  # bars handled at once, to limit memory


class Parts(NamedTuple):
    """Columns of ranges of nodes that are cut at the borders of blocks of nodes (groups, or clusters)."""

    run: NDArray[np.int64]  # the range that each part belongs to
    block: NDArray[np.int64]
    low: NDArray[Any]  # where the part begins, in nodes from the block's first
    nodes: NDArray[Any]  # whole or, if jobs share nodes, also parts of them


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid of cells of `nodes` nodes by `seconds` seconds; each block of nodes begins with a new row."""

    blocks: tuple[int, ...]  # number of nodes of each
    nodes: int
    seconds: float
    columns: int

    @property
    def first_rows(self) -> list[int]:
        """Return the index of the first row of each block, followed by the number of all rows."""
        return [0, *np.cumsum([-(-count // self.nodes) for count in self.blocks]).tolist()]

    @classmethod
    def over(cls, blocks: Sequence[int], seconds: float, *, rows: int, columns: int) -> Grid:
        """Return a grid over these blocks and a period in seconds, with `columns` columns and about `rows` rows.

        A row has at least one node.
        """
        return cls(tuple(blocks), max(1, -(-sum(blocks) // rows)), max(seconds, 1e-300) / columns, columns)


def split(begin: NDArray[Any], end: NDArray[Any], blocks: Sequence[int]) -> Parts:
    """Return ranges of nodes, from `begin` to before `end`, cut into parts that each lie in one block.

    Both are numbers of nodes from the first, or parts of them.
    """
    starts = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    first = np.searchsorted(starts, begin, side="right") - 1
    count = np.searchsorted(starts, end, side="left") - first
    run = np.repeat(np.arange(begin.size), count)
    block = np.repeat(first - np.cumsum(count) + count, count) + np.arange(run.size)
    low = np.maximum(begin[run], starts[block])
    return Parts(run, block, low - starts[block], np.minimum(end[run], starts[block + 1]) - low)


def largest(sizes: NDArray[np.float64], most: int) -> NDArray[np.bool_]:
    """Return a mask of the `most` largest sizes, or of all if there are fewer; of equal sizes the first come first."""
    found = np.zeros(sizes.size, dtype=np.bool_)
    found[np.argsort(-sizes, kind="stable")[:most]] = True
    return found


def shares(grid: Grid, parts: Parts, begin: NDArray[np.float64], end: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of each cell's node-seconds that bars take, as rows × columns.

    Parameters
    ----------
    grid, parts
        The grid, and the nodes of each bar's parts.
    begin, end
        Times of each part, in seconds since the grid's beginning.
    """
    first_rows = np.array(grid.first_rows)
    shape = int(first_rows[-1]) + 2, grid.columns + 2
    changes = np.zeros(shape[0] * shape[1])
    for at in range(0, parts.run.size, AT_ONCE):
        some = slice(at, at + AT_ONCE)
        top = first_rows[parts.block[some]] + parts.low[some] / grid.nodes
        edges = (top, 1.0), (top + parts.nodes[some] / grid.nodes, -1.0)
        sides = [
            (np.clip(time[some] / grid.seconds, 0.0, grid.columns), sign) for time, sign in ((begin, 1.0), (end, -1.0))
        ]
        for edge, down in edges:
            for side, across in sides:
                _add_corner(changes, shape[1], edge, side, down * across)
    rows = changes.reshape(shape).cumsum(axis=0).cumsum(axis=1)[:-2, :-2]
    held = np.full(rows.shape[0], float(grid.nodes))  # a block's last row may hold fewer nodes
    for block, count in enumerate(grid.blocks):
        held[first_rows[block + 1] - 1] = count - (first_rows[block + 1] - first_rows[block] - 1) * grid.nodes
    return np.asarray(np.clip(rows * (grid.nodes / held)[:, None], 0.0, 1.0))


def _add_corner(
    changes: NDArray[np.float64], width: int, edge: NDArray[np.float64], side: NDArray[np.float64], sign: float
) -> None:
    # Add changes: their running sums over rows and columns give the part of each cell that lies right of a side and
    # below an edge: a cut cell gets its share, the next one the rest.
    row, column = edge.astype(np.int64), side.astype(np.int64)
    below, after = edge - row, side - column
    for r, by_row in ((0, 1 - below), (1, below)):
        for c, by_column in ((0, 1 - after), (1, after)):
            changes += np.bincount((row + r) * width + column + c, sign * by_row * by_column, changes.size)


def in_parts(
    times: NDArray[np.float64], values: NDArray[np.float64], edges: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return two arrays: the mean, and the greatest value, of a step function between consecutive edges.

    The function has `values[k]` from `times[k]` on, and 0 before the first time.
    """
    times, values = np.append(-np.inf, times), np.append(0.0, values)
    area = np.concatenate([[0.0, 0.0], np.cumsum(np.diff(times[1:]) * values[1:-1])])
    at = np.searchsorted(times, edges, side="right") - 1
    until = area[at] + values[at] * np.where(at > 0, edges - times[at], 0.0)
    most = values[at[:-1]]
    inside = (times >= edges[0]) & (times < edges[-1])
    np.maximum.at(most, np.searchsorted(edges, times[inside], side="right") - 1, values[inside])
    return np.diff(until) / np.maximum(np.diff(edges), 1e-300), most
