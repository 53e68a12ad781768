"""Node numbers: the lowest free nodes of each group, in order of start, by runs."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.model.schedule.node_numbers import node_runs, number_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray


def one_by_one(
    federation: fs.Federation, start: NDArray[np.float64], finish: NDArray[np.float64], counts: NDArray[np.int64]
) -> list[set[int]]:
    """Return every job's nodes, each looked for among all nodes of its group."""
    held: list[set[int]] = [set() for _ in start]
    for j in sorted(np.flatnonzero(~np.isnan(start)).tolist(), key=lambda row: (start[row], row)):
        before = [k for k in range(len(start)) if held[k] and not finish[k] <= start[j]]
        busy = set().union(*(held[k] for k in before))
        first = 0
        for group, count in zip(federation.groups, counts[j], strict=True):
            free = [node for node in range(first, first + group.count) if node not in busy]
            held[j] |= set(free[:count])
            first += group.count
    return held


@pytest.mark.parametrize("seed", range(40))
def test_runs_are_the_nodes_found_one_by_one(seed: int) -> None:
    """Runs are maximal, in order, and hold the lowest free nodes, also where jobs were cut off or ask for too much."""
    rng = np.random.default_rng(seed)
    groups = tuple(fs.NodeGroup(int(count)) for count in rng.integers(1, 9, rng.integers(1, 4)))
    federation = fs.Federation((fs.Cluster("one", groups),))
    start = rng.integers(0, 20, 30).astype(np.float64)
    finish = start + rng.integers(0, 6, 30)
    finish[rng.random(30) < 0.1] = np.nan
    start[rng.random(30) < 0.1] = np.nan
    counts = rng.integers(0, 7, (30, len(groups)))
    found = number_nodes(federation, start, finish, counts)
    for nodes, runs in zip(one_by_one(federation, start, finish, counts), found, strict=True):
        assert {node for first, last in runs for node in range(first, last + 1)} == nodes
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(runs))


def test_a_machine_of_any_size_is_numbered() -> None:
    """What numbering takes grows with the runs and not with the nodes: a thousand million nodes are a few runs."""
    federation = fs.Federation.homogeneous(2**30)
    start, finish = np.array([0.0, 0.0, 1.0, 2.0]), np.array([5.0, 2.0, 5.0, 9.0])
    counts = np.array([[2**26], [2**26], [2**26], [2**27]])
    runs = node_runs(federation, start, finish, counts)
    assert runs.pieces.tolist() == [1, 1, 1, 2]
    assert runs.first.tolist() == [0, 2**26, 2**27, 2**26, 3 * 2**26]
    assert runs.last.tolist()[-1] == 2**28 - 1
