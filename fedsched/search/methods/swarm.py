"""The particle swarm PSO-EA on genomes of keys: numbers in [0, 1] that rank jobs and forbid nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.encoding.keys import FASTEST, fly_keys
from fedsched.search.run.checkpoint_arrays import saved_keys
from fedsched.search.run.run import BudgetSpent

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

SWARM = 40


class Particles:
    """The positions, velocities and personal bests of a swarm's particles, each of which is a genome of keys."""

    def __init__(self, positions: Floats, values: Floats) -> None:
        self.positions = positions
        self.velocities = np.zeros_like(positions)
        self.own = positions.copy()  # personal bests
        self.own_values = values.copy()

    def state(self) -> dict[str, Plain]:
        """Return positions, velocities and personal bests."""
        return {
            "positions": self.positions,
            "velocities": self.velocities,
            "own": self.own,
            "own_values": self.own_values,
        }

    @classmethod
    def of(cls, saved: Saved, problem: PackedProblem, *values: int) -> Particles:
        """Return particles from a saved state; `values` is the shape of their values, the number of particles first."""
        particles = cls(saved_keys(saved, "positions", problem, values[0]), saved.floats("own_values", values))
        particles.velocities = saved.floats("velocities", particles.positions.shape, -FASTEST, FASTEST)
        particles.own = saved_keys(saved, "own", problem, values[0])
        return particles

    def fly(self, leaders: Floats, leader_of: Ints, *, seed: int, step: int) -> None:
        """Move every particle, in place, towards its own best and its leader; `leader_of` has its row of `leaders`."""
        stream = np.zeros(1, dtype=np.uint64)
        fly_keys(self.positions, self.velocities, self.own, leaders, leader_of, stream, seed, step)


def first_keys(run: Run, size: int) -> tuple[Floats, Floats]:
    """Return at least `size` first genomes and their values: the seeds for which there is time, and random plans.

    Evaluate them all. Raise BudgetSpent if there is no time for a swarm of that size.
    """
    random = run.random_rows(max(size - len(run.seeds), size // 4))
    room = run.first_plans_in_time(len(random))
    seeds = run.seeds[: max(room - len(random), 0)]
    keys = run.problem.keys_of_rows(np.concatenate([seeds, random[:room]]))
    values = run.evaluate(run.problem.rows_of_keys(keys))
    if len(values) < size:
        raise BudgetSpent
    return keys, values


def evaluated_keys(run: Run, keys: Floats) -> Floats:
    """Return the objective values of genomes, and repair their weights in place.

    If there is no time for all, evaluate the first ones, for the archive, and raise BudgetSpent.
    """
    room = run.plans_in_time(len(keys))
    if room == len(keys):
        return run.evaluate(run.problem.rows_of_keys(keys))
    run.evaluate(run.problem.rows_of_keys(keys[:room]))
    raise BudgetSpent


class ParticleSwarm:
    """The method of global-best particle swarm optimisation, on the weighted sum of the objectives."""

    def __init__(self, run: Run) -> None:
        self._particles: Particles | None = None
        self._steps = 0

    def step(self, run: Run) -> bool:
        """Make the first swarm, or move it once and update the personal bests; return True."""
        if self._particles is None:
            keys, found = first_keys(run, SWARM)
            values = run.scalar(found)
            best = np.argsort(values, kind="stable")[:SWARM]
            self._particles = Particles(keys[best], values[best])
            return True
        self._steps += 1
        swarm = self._particles
        leader = np.full(len(swarm.positions), np.argmin(swarm.own_values))
        swarm.fly(swarm.own, leader, seed=run.seed, step=self._steps)
        values = run.scalar(evaluated_keys(run, swarm.positions))
        better = values < swarm.own_values
        swarm.own[better], swarm.own_values[better] = swarm.positions[better], values[better]
        return True

    def state(self) -> dict[str, Plain]:
        """Return the swarm and the number of its moves."""
        return {"steps": self._steps, "particles": None if self._particles is None else self._particles.state()}

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue with a saved swarm."""
        self._steps = saved.whole("steps")
        particles = saved.maybe("particles")
        self._particles = None if particles is None else Particles.of(particles, run.problem, SWARM)
