"""Generator of workloads with a known best makespan: a fully used federation is cut into jobs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import seed_of, whole
from fedsched.io.arguments import federation_of
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from fedsched.io.arguments import AnyMachine
    from fedsched.model.machine.federation import Federation

STEPS = 1 << 20  # steps of the makespan: cuts fall on whole steps, so that durations add up exactly
WITHIN = ("speed", "cluster")  # jobs stay within the nodes of one speed, or of one cluster and speed


class Whole(NamedTuple):
    """A rectangle to cut into jobs: all nodes of one speed (or of one cluster and speed) over the whole makespan."""

    speed: float
    nodes: int


class Piece(NamedTuple):
    """A rectangle of nodes × time steps (2^20 make the makespan), cut from a `Whole`; it becomes one job."""

    whole: int  # index of the whole
    node: int  # its first node, counted within the whole
    step: int  # its first step
    width: int
    height: int


def planted(
    federation: AnyMachine, *, jobs: int, makespan: float = 3600.0, within: str = "speed", seed: int = 0
) -> tuple[Workload, float]:
    """Return a workload with a known optimal makespan, and that makespan.

    All nodes of one speed, over [0, makespan], are one rectangle. Rectangles are cut in two until there are `jobs`
    pieces; each is a job. Jobs may span clusters of equal speed, unless `within="cluster"`. All jobs are submitted at
    0 and only compute, so Σ tasks·runtime = makespan·Σ speed: no schedule can be shorter. Energy has no known optimum.

    Parameters
    ----------
    federation
        The federation to cut up; its uplinks do not matter.
    jobs
        The number of jobs: at least one for each speed, or for each cluster and speed.
    makespan
        The optimum, in seconds.
    within
        "speed", or "cluster": each cluster's nodes of a speed are cut up separately, so that each job fits a cluster.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> jobs, optimum = fs.generate.planted(fs.read_federation("example"), jobs=40, seed=1)
    >>> len(jobs), optimum
    (40, 3600.0)
    """
    federation = federation_of("planted", "federation", federation)
    if not 0 < makespan < math.inf:
        raise ValueError(f"planted: makespan={makespan!r} must be finite and above 0 s.")
    speeds = np.array([one.speed for one in wholes(federation, within)])
    shape = np.array(plan(federation, jobs=jobs, within=within, seed=seed))
    duration = shape[:, 4] * (makespan / STEPS)
    cut = "" if within == "speed" else f", within={within!r}"
    workload = Workload(
        submit=np.zeros(jobs),
        tasks=shape[:, 3],
        runtime=duration * speeds[shape[:, 0]],
        name=f"planted-{jobs}",
        nodes=federation.nodes,
        history=(f"generated: planted({federation.name!r}, jobs={jobs}, makespan={makespan:g}{cut}, seed={seed})",),
    )
    return workload, makespan


def wholes(federation: Federation, within: str = "speed") -> list[Whole]:
    """Return a rectangle for each node speed, or for each cluster and speed, in the federation's order."""
    if within not in WITHIN:
        raise unknown_name("within", within, WITHIN)
    nodes: dict[tuple[int, float], int] = {}
    for k, cluster in enumerate(federation.clusters):
        for group in cluster.groups:
            key = (k if within == "cluster" else 0, group.speed)
            nodes[key] = nodes.get(key, 0) + group.count
    return [Whole(speed, count) for (_, speed), count in nodes.items()]


def plan(federation: Federation, *, jobs: int, within: str = "speed", seed: int = 0) -> list[Piece]:
    """Return the planted schedule: for each job of `planted`, in the same order, its nodes and its time steps."""
    jobs, seed = whole("planted", "jobs", jobs), seed_of("planted", seed)
    widths = np.array([one.nodes for one in wholes(federation, within)])
    if jobs < widths.size:
        each = "speeds" if within == "speed" else "clusters and speeds"
        raise ValueError(f"planted: jobs={jobs}, but the federation has {widths.size} {each}; each needs a job.")
    rng = np.random.default_rng(seed)
    wanted = 1 + rng.multinomial(jobs - widths.size, widths / widths.sum())
    if (wanted > widths * STEPS).any():
        raise ValueError(f"planted: the federation cannot be cut into jobs={jobs} pieces; ask for fewer.")
    pieces: list[Piece] = []
    for k, (width, parts) in enumerate(zip(widths.tolist(), wanted.tolist(), strict=True)):
        pieces += _cut_up(Piece(k, 0, 0, width, STEPS), parts, rng)
    return [pieces[i] for i in rng.permutation(jobs).tolist()]


def _cut_up(whole: Piece, parts: int, rng: np.random.Generator) -> list[Piece]:
    """Return the `parts` pieces into which a rectangle is cut: in two at a random place, then each half likewise.

    The numbers of pieces of the two halves are drawn in proportion to their areas.
    """
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
    # One straight cut, across time or across nodes, between a fifth and four fifths of the length.
    across_time = piece.width == 1 or (piece.height > 1 and rng.random() < 0.5)
    size = piece.height if across_time else piece.width
    at = int(np.clip(round(size * rng.uniform(0.2, 0.8)), 1, size - 1))
    if across_time:
        return piece._replace(height=at), piece._replace(step=piece.step + at, height=size - at)
    return piece._replace(width=at), piece._replace(node=piece.node + at, width=size - at)
