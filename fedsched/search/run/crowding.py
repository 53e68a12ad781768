"""Crowding distances of NSGA-II: the distances of a point's neighbours on its front."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints


def crowding(values: Floats, front: Ints | None = None) -> Floats:
    """Return every point's crowding distance within its front; −1 for all but the first of equal points.

    `front` has the front's number of each point; by default all points are on one front.
    """
    front = np.zeros(len(values), dtype=np.int64) if front is None else front
    distance = np.zeros(len(values))
    order = np.lexsort(values.T)
    again = order[1:][(values[order[1:]] == values[order[:-1]]).all(axis=1)]
    distance[again] = -1.0
    points = np.flatnonzero(distance == 0.0)
    for m in range(values.shape[1]):
        # All fronts are handled at once: points are sorted by front, then by the objective.
        sorted_points = points[np.lexsort((values[points, m], front[points]))]
        x, of = values[sorted_points, m], front[sorted_points]
        begins = np.flatnonzero(np.diff(of, prepend=-1))
        ends = np.append(begins[1:], len(of)) - 1
        extent = np.repeat(x[ends] - x[begins], ends - begins + 1)
        gap = np.zeros(len(of))
        gap[1:-1] = x[2:] - x[:-2]
        distance[sorted_points] += np.divide(gap, extent, out=np.zeros(len(of)), where=extent > 0.0)
        distance[sorted_points[np.union1d(begins, ends)]] = np.inf
    return distance


def least_crowded(values: Floats, count: int) -> Ints:
    """Return the indices of a front's `count` least crowded points, in order."""
    if len(values) <= count:
        return np.arange(len(values))
    return np.sort(np.argsort(-crowding(values), kind="stable")[:count])
