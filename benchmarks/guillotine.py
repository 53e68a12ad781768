"""A second kind of planted optimum, of pieces that are alike in size: the largest is cut, on whole seconds."""

from __future__ import annotations

import heapq
from itertools import count

import numpy as np

import fedsched as fs

END = 10_000  # seconds: the optimum
LEAST, MOST = 0.15, 0.85  # where a piece may be cut, as shares of its side


def guillotine(federation: fs.Federation, *, jobs: int, seed: int) -> tuple[fs.Workload, float]:
    """Return jobs that fill every cluster until the best makespan, and that makespan.

    Each cluster's nodes over time are a rectangle. Again and again the rectangle of most node-seconds is cut in two,
    through and through, until there are as many as jobs. Time is cut on whole seconds, and no job crosses clusters.
    """
    rng = np.random.default_rng(seed)
    number = count()  # ties go to the oldest
    groups = [cluster.groups for cluster in federation.clusters]
    if any(len(one) > 1 for one in groups):
        raise ValueError("guillotine: each cluster has one group of nodes.")
    pieces = [(-group.count * END, next(number), group.count, END, group.speed) for (group,) in groups]
    heapq.heapify(pieces)
    while len(pieces) < jobs:
        _, _, width, height, speed = heapq.heappop(pieces)
        across_time = width == 1 or rng.random() < 0.5
        side = height if across_time else width
        at = min(max(round(side * rng.uniform(LEAST, MOST)), 1), side - 1)
        for part in (at, side - at):
            wide, high = (width, part) if across_time else (part, height)
            heapq.heappush(pieces, (-wide * high, next(number), wide, high, speed))
    kept = [pieces[k] for k in rng.permutation(jobs)]
    workload = fs.Workload(
        submit=np.zeros(jobs),
        tasks=[width for _, _, width, _, _ in kept],
        runtime=[height * speed for _, _, _, height, speed in kept],
        name=f"guillotine-{jobs}",
        nodes=federation.nodes,
    )
    return workload, float(END)
