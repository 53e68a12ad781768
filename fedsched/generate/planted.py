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
    whole = [(k, width, STEPS) for k, width in enumerate(nodes_of.values())]
    widths = np.array(list(nodes_of.values()))
    wanted = 1 + rng.multinomial(jobs - len(whole), widths / widths.sum())
    pieces = [piece for area, parts in zip(whole, wanted.tolist(), strict=True) for piece in _cut_up(area, parts, rng)]
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


def _cut_up(whole: Piece, parts: int, rng: np.random.Generator) -> list[Piece]:
    """Return a rectangle in so many parts: cut in two, each half in its share of the parts, and so on."""
    pieces = []
    todo = [(whole, parts)]
    while todo:
        piece, parts = todo.pop()
        if parts == 1:
            pieces.append(piece)
            continue
        left, right = _cut(piece, rng)
        most, least = _cells(left), parts - _cells(right)
        chance = most / (most + _cells(right))
        share = min(max(1 + int(rng.binomial(parts - 2, chance)), least), most)
        todo += [(left, share), (right, parts - share)]
    return pieces


def _cells(piece: Piece) -> int:
    return piece[1] * piece[2]


def _cut(piece: Piece, rng: np.random.Generator) -> tuple[Piece, Piece]:
    # A cut through the whole piece, across time or across nodes, between a fifth and four fifths of the way.
    speed, width, height = piece
    if _cells(piece) < 2:
        raise ValueError("planted: the federation cannot be cut into so many jobs; ask for fewer.")
    across_time = width == 1 or (height > 1 and rng.random() < 0.5)
    size = height if across_time else width
    at = int(np.clip(round(size * rng.uniform(0.2, 0.8)), 1, size - 1))
    if across_time:
        return (speed, width, at), (speed, width, size - at)
    return (speed, at, height), (speed, size - at, height)
