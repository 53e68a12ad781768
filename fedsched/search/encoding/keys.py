"""Compiled operators on genomes of keys: the move of a particle swarm, and crossover.

A genome holds one number in [0, 1] for each job, by which the queue is sorted, and weights that forbid nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import kernel
from fedsched.core.random import begin_stream, below, uniform

if TYPE_CHECKING:
    from fedsched.core.random import Stream
    from fedsched.engine.arrays.structs import Floats, Ints

INERTIA, OWN, SOCIAL = 0.729, 1.494, 1.494
FASTEST = 0.2  # velocities are clipped to ± this


@kernel
def fly_keys(
    positions: Floats,
    velocities: Floats,
    own: Floats,
    leaders: Floats,
    leader_of: Ints,
    stream: Stream,
    seed: int,
    generation: int,
) -> None:
    """Update velocities, and move every particle in place towards its own best and its leader; stay within [0, 1]."""
    for p in range(positions.shape[0]):
        begin_stream(stream, seed, generation, p)
        leader = leader_of[p]
        for k in range(positions.shape[1]):
            here = positions[p, k]
            speed = INERTIA * velocities[p, k]
            speed += OWN * uniform(stream) * (own[p, k] - here) + SOCIAL * uniform(stream) * (leaders[leader, k] - here)
            speed = min(max(speed, -FASTEST), FASTEST)
            velocities[p, k] = speed
            positions[p, k] = min(max(here + speed, 0.0), 1.0)


@kernel
def cross_keys(
    parents: Floats,
    orders: Ints,
    mates: Ints,
    children: Floats,
    taken: Ints,
    stream: Stream,
    seed: int,
    generation: int,
) -> None:
    """Fill one child for each parent and its mate: order crossover of the keys' ranking, blend of the weights.

    `orders` holds the ranking of each parent's keys; a child's keys are evenly spaced in the child's ranking.
    """
    jobs = orders.shape[1]
    for c in range(parents.shape[0]):
        begin_stream(stream, seed, generation, c)
        mate = mates[c]
        begin = below(stream, jobs)
        end = begin + 1 + below(stream, jobs - begin)
        for j in range(jobs):
            taken[j] = 0
        for i in range(begin, end):
            j = orders[c, i]
            taken[j] = 1
            children[c, j] = (i + 0.5) / jobs
        place = 0
        for i in range(jobs):
            j = orders[mate, i]
            if taken[j] == 1:
                continue
            if place == begin:
                place = end
            children[c, j] = (place + 0.5) / jobs
            place += 1
        for k in range(jobs, parents.shape[1]):
            share = uniform(stream)
            children[c, k] = share * parents[c, k] + (1.0 - share) * parents[mate, k]
