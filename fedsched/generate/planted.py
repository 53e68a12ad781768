"""Workloads with a planted optimum: a full federation cut into jobs, so that the best makespan is known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.workload import Workload
from fedsched.values import seed_of, whole

if TYPE_CHECKING:
    from fedsched.model.federation import Federation

STEPS = 1 << 20  # the makespan's resolution: cuts fall on whole steps, so that they add up


class Piece(NamedTuple):
    """A rectangle of nodes × steps of time, on the nodes of one speed."""

    speed: int  # which of the federation's speeds
    node: int  # the first, counted among all nodes of that speed
    step: int  # when it begins
    width: int
    height: int


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
    if not 0 < makespan < math.inf:
        raise ValueError(f"planted: makespan={makespan!r} must be finite and above 0 s.")
    speeds = np.array(list(nodes_by_speed(federation)))
    shape = np.array(plan(federation, jobs=jobs, seed=seed))
    duration = shape[:, 4] * (makespan / STEPS)
    workload = Workload(
        submit=np.zeros(jobs),
        tasks=shape[:, 3],
        runtime=duration * speeds[shape[:, 0]],
        name=f"planted-{jobs}",
        nodes=federation.nodes,
        history=(f"generated: planted({federation.name!r}, jobs={jobs}, makespan={makespan:g}, seed={seed})",),
    )
    return workload, makespan


def nodes_by_speed(federation: Federation) -> dict[float, int]:
    """Return how many nodes of each speed there are, in the order in which the speeds appear."""
    nodes: dict[float, int] = {}
    for group in federation.groups:
        nodes[group.speed] = nodes.get(group.speed, 0) + group.count
    return nodes


def plan(federation: Federation, *, jobs: int, seed: int = 0) -> list[Piece]:
    """Return the planted schedule: where and when each job of `planted` runs, in the order of its jobs."""
    jobs, seed = whole("planted", "jobs", jobs), seed_of("planted", seed)
    widths = np.array(list(nodes_by_speed(federation).values()))
    if jobs < widths.size:
        raise ValueError(f"planted: jobs={jobs}, but the federation has {widths.size} speeds; each needs a job.")
    rng = np.random.default_rng(seed)
    wanted = 1 + rng.multinomial(jobs - widths.size, widths / widths.sum())
    if (wanted > widths * STEPS).any():
        raise ValueError(f"planted: the federation cannot be cut into jobs={jobs} pieces; ask for fewer.")
    pieces: list[Piece] = []
    for k, (width, parts) in enumerate(zip(widths.tolist(), wanted.tolist(), strict=True)):
        pieces += _cut_up(Piece(k, 0, 0, width, STEPS), parts, rng)
    return [pieces[i] for i in rng.permutation(jobs).tolist()]


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
    return piece.width * piece.height


def _cut(piece: Piece, rng: np.random.Generator) -> tuple[Piece, Piece]:
    # A cut through the whole piece, across time or across nodes, between a fifth and four fifths of the way.
    across_time = piece.width == 1 or (piece.height > 1 and rng.random() < 0.5)
    size = piece.height if across_time else piece.width
    at = int(np.clip(round(size * rng.uniform(0.2, 0.8)), 1, size - 1))
    if across_time:
        return piece._replace(height=at), piece._replace(step=piece.step + at, height=size - at)
    return piece._replace(width=at), piece._replace(node=piece.node + at, width=size - at)
