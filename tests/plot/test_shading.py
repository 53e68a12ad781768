"""What is too small to be drawn is shading that holds as many node-seconds."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.plot import shading
from fedsched.plot.shading import Grid, Parts


@pytest.mark.parametrize("seed", range(5))
def test_cells_hold_what_the_bars_take(seed: int) -> None:
    """Each cell's share is what the bars cover of it, found bar by bar and cell by cell."""
    rng = np.random.default_rng(seed)
    blocks = (5, 12, 1)
    grid = Grid.over(blocks, 60.0, rows=5, columns=7)
    assert grid.nodes == 4
    first = rng.integers(0, 18, 40)
    last = np.minimum(first + rng.integers(0, 9, 40), 17)
    begin = rng.uniform(0, 50, 40)
    end = begin + rng.uniform(0, 10, 40)
    parts = shading.split(first, last + 1, blocks)
    found = shading.shares(grid, parts, begin[parts.run], end[parts.run])
    starts = np.concatenate([[0], np.cumsum(blocks)])
    row = 0
    for block, count in enumerate(blocks):
        for low in range(0, count, grid.nodes):
            nodes = range(starts[block] + low, starts[block] + min(low + grid.nodes, count))
            for column in range(grid.columns):
                left, right = column * grid.seconds, (column + 1) * grid.seconds
                covered = sum(
                    max(0.0, min(right, end[k]) - max(left, begin[k]))
                    * len(set(nodes) & set(range(first[k], last[k] + 1)))
                    for k in range(40)
                )
                assert found[row, column] == pytest.approx(min(1.0, covered / (len(nodes) * grid.seconds)), abs=1e-9)
            row += 1
    assert found.shape == (row, grid.columns)


def test_runs_are_cut_where_blocks_begin() -> None:
    """A run over three blocks is three parts, one that ends with its block is one."""
    parts = shading.split(np.array([3, 0, 4]), np.array([10, 4, 5]), (4, 2, 4))
    assert parts == Parts(
        *(pytest.approx(column) for column in ([0, 0, 0, 1, 2], [0, 1, 2, 0, 1], [3, 0, 0, 0, 0], [1, 2, 4, 4, 1]))
    )


def test_the_largest_are_found() -> None:
    """Of equal sizes the first are kept, and never more than asked for."""
    assert shading.largest(np.array([1.0, 3.0, 2.0, 3.0, 3.0]), 2).tolist() == [False, True, False, True, False]
    assert shading.largest(np.array([1.0]), 5).tolist() == [True]
