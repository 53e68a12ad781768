"""A population: ranks and crowding against plain definitions, and duplicates found by hashing."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsched.search.run.archive import crowding
from fedsched.search.run.population import _new, by_rank_and_crowding, row_hashes

POINTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=25)


def plain_ranks(points: list[tuple[int, ...]]) -> list[int]:
    """Return each point's front by peeling off what nothing left dominates."""
    rank = [-1] * len(points)
    front = 0
    while -1 in rank:
        left = [i for i, r in enumerate(rank) if r == -1]
        for i in left:
            p = points[i]
            if not any(
                points[k] != p and all(a <= b for a, b in zip(points[k], p, strict=True)) for k in left
            ):  # fmt: skip
                rank[i] = front
        front += 1
    return rank


def plain_crowding(points: list[tuple[int, ...]]) -> list[float]:
    """Return the crowding distance of the different points of one front, as NSGA-II's paper has it."""
    distance = [0.0] * len(points)
    for m in range(len(points[0])):
        order = sorted(range(len(points)), key=lambda i: points[i][m])
        low, high = points[order[0]][m], points[order[-1]][m]
        distance[order[0]] = distance[order[-1]] = np.inf
        for before, i, after in zip(order, order[1:], order[2:], strict=False):
            if high > low:
                distance[i] += (points[after][m] - points[before][m]) / (high - low)
    return distance


@given(POINTS)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_fronts_then_crowding_by_plain_definition(points: list[tuple[int, int]]) -> None:
    """Tests distances front by front, doubles apart, and that the best come by rank, then by distance."""
    values = np.array(points, dtype=np.float64)
    rank = np.array(plain_ranks(points))
    distance = crowding(values, rank)
    for front in range(rank.max() + 1):
        members = np.flatnonzero(rank == front).tolist()
        first = [i for k, i in enumerate(members) if points[i] not in [points[x] for x in members[:k]]]
        assert np.allclose(distance[first], plain_crowding([points[i] for i in first]))
        assert (distance[[i for i in members if i not in first]] == -1.0).all()
    for count in (1, len(points) // 2, len(points)):
        best = by_rank_and_crowding(values, count)
        assert len(set(best.tolist())) == len(best) == min(count, len(points))
        keys = [(rank[i], -distance[i]) for i in best]
        assert keys == sorted(keys)
        assert keys == sorted((rank[i], -distance[i]) for i in range(len(points)))[:count]


def test_only_new_children_are_kept() -> None:
    """Tests that children equal to a parent or to one another go, in place order, and that one stays if all would."""
    rng = np.random.default_rng(0)
    parents = rng.integers(0, 50, size=(5, 40))
    children = rng.integers(0, 50, size=(6, 40))
    children[1] = parents[3]
    children[4] = children[2]
    assert _new(children, parents).tolist() == [0, 2, 3, 5]
    assert _new(parents[:3].copy(), parents).tolist() == [0]


def test_hashes_tell_rows_apart() -> None:
    """Tests that rows that differ by a swap, a shift or one number never meet in ten thousand."""
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(30) for _ in range(10_000)])
    assert len(np.unique(row_hashes(rows))) == len(np.unique(rows, axis=0))
