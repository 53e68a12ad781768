"""Workloads with a planted optimum: a full federation cut into jobs, so that the best makespan is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.workload import Workload

if TYPE_CHECKING:
    from fedsched.federation import Federation

Piece = tuple[int, int, int]  # class of equal speed, width in nodes, height in steps of time
STEPS = 1 << 20  # the makespan's resolution: cuts fall on whole steps, so that they add up


def planted(federation: Federation, *, jobs: int, makespan: float = 3600.0, seed: int = 0) -> tuple[Workload, float]:
    """Return a workload whose best makespan is known, and that makespan.

    All nodes of one speed, over [0, makespan], are one rectangle; rectangles are cut until there are `jobs` pieces,
    each a job (clusters of equal speed may be crossed). All jobs are submitted at 0 and only compute, so
    Σ tasks·runtime = makespan·Σ speed: no schedule can be shorter. It says nothing about energy.

    Parameters
    ----------
    federation
        What is cut; its uplinks do not matter.
    jobs
        How many pieces: at least one a speed.
    makespan
        The optimum, in seconds.
    seed
        The seed of the only random generator.
    """
    nodes_of: dict[float, int] = {}
    for group in federation.groups:
        nodes_of[group.speed] = nodes_of.get(group.speed, 0) + group.count
    speeds = np.array(list(nodes_of))
    if jobs < len(nodes_of):
        raise ValueError(f"planted: jobs={jobs}, but the federation has {len(nodes_of)} speeds; each needs a job.")
    if not makespan > 0:
        raise ValueError(f"planted: makespan={makespan!r} must be above 0 s.")
    rng = np.random.default_rng(seed)
    pieces: list[Piece] = [(k, width, STEPS) for k, width in enumerate(nodes_of.values())]
    while len(pieces) < jobs:
        area = np.array([width * height for _, width, height in pieces], dtype=float)
        k = int(rng.choice(len(pieces), p=area / area.sum()))
        pieces[k : k + 1] = _cut(pieces[k], rng)
    order = rng.permutation(jobs)
    shape = np.array(pieces)[order]
    duration = shape[:, 2] * (makespan / STEPS)
    workload = Workload(
        submit=np.zeros(jobs),
        tasks=shape[:, 1],
        runtime=duration * speeds[shape[:, 0]],
        name=f"planted-{jobs}",
        nodes=federation.nodes,
        history=(f"generated: planted({federation.name!r}, jobs={jobs}, makespan={makespan:g}, seed={seed})",),
    )
    return workload, makespan


def _cut(piece: Piece, rng: np.random.Generator) -> list[Piece]:
    # A cut through the whole piece, across time or across nodes, between a fifth and four fifths of the way.
    speed, width, height = piece
    across_time = width == 1 or (height > 1 and rng.random() < 0.5)
    size = height if across_time else width
    if size < 2:
        raise ValueError("planted: the federation cannot be cut into so many jobs; ask for fewer.")
    at = int(np.clip(round(size * rng.uniform(0.2, 0.8)), 1, size - 1))
    if across_time:
        return [(speed, width, at), (speed, width, size - at)]
    return [(speed, at, height), (speed, size - at, height)]
