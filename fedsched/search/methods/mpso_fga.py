"""MPSO-FGA: a multi-objective particle swarm; a fuzzy controller promotes promising particles to parents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.encoding.keys import cross_keys
from fedsched.search.methods.swarm import Particles, evaluated_keys, first_keys
from fedsched.search.run.archive import crowding, non_dominated
from fedsched.search.run.checkpoint_arrays import saved_keys, saved_values
from fedsched.search.run.population import by_rank_and_crowding

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run


SPAN = 0.2  # relative improvements are clipped to ± this and scaled to ± 1
# Zero-order Sugeno rules: rows by the first objective's progress (negative, zero, positive), columns by the second's.
CHANCE = np.array(
    [
        [0.05, 0.2, 0.5],
        [0.2, 0.5, 0.8],
        [0.5, 0.8, 0.95],
    ]
)


def memberships(x: ArrayLike) -> Floats:
    """Return how far inputs in [−1, 1] are negative, zero and positive: three fuzzy degrees in a new last axis.

    The degrees are triangles from 0 to 1; inputs beyond ±1 are clipped.
    """
    x = np.clip(np.asarray(x, dtype=np.float64), -1.0, 1.0)
    return np.stack([np.maximum(0.0, -x), 1.0 - np.abs(x), np.maximum(0.0, x)], axis=-1)


def promotion(first: ArrayLike, second: ArrayLike) -> Floats:
    """Return the probability of promotion for progress in two objectives, each in [−1, 1]: the rules' weighted mean."""
    strength = memberships(first)[..., :, None] * memberships(second)[..., None, :]  # AND is the product
    return (strength * CHANCE).sum(axis=(-2, -1)) / strength.sum(axis=(-2, -1))


def progress(values: Floats, best: Floats) -> Floats:
    """Return the relative improvement over personal bests, clipped to ±20 % and scaled to [−1, 1]."""
    relative = (best - values) / np.where(best == 0.0, 1.0, np.abs(best))
    return np.clip(relative, -SPAN, SPAN) / SPAN


SWARM = 20
ARCHIVE = 50


class SwarmFuzzyGenetic:
    """The hybrid method: particles fly towards leaders; children of promoted particles replace the worst particles."""

    def __init__(self, run: Run) -> None:
        self._particles: Particles | None = None
        self._values: Floats = np.zeros((0, 0))
        self._archive: Floats = np.zeros((0, 0))  # keys
        self._archive_values: Floats = np.zeros((0, 0))
        self._steps = 0

    def step(self, run: Run) -> bool:
        """Make the first swarm; later, move it once, and breed children of the promoted particles. Return True.

        Raise ValueError if there is only one objective.
        """
        problem = run.problem
        if len(problem.objectives.names) < 2:
            raise ValueError(f"mpso-fga needs two objectives, not {problem.objectives.names}; pso-ea takes one.")
        if self._particles is None:
            self._begin(run)
            return True
        self._steps += 1
        rng = run.generator(self._steps)
        swarm = self._particles
        swarm.fly(self._archive, self._leaders(rng), seed=run.seed, step=2 * self._steps)
        values = evaluated_keys(run, swarm.positions)
        self._keep(swarm.positions, values)
        advance = progress(values, swarm.own_values)  # over the personal best before the update
        self._update_own(values)
        self._values = values
        promoted = rng.random(SWARM) < promotion(advance[:, 0], advance[:, 1])
        self._breed(run, np.flatnonzero(promoted), rng)
        return True

    def state(self) -> dict[str, Plain]:
        """Return the number of steps, the swarm, its values and its archive of non-dominated genomes."""
        return {
            "steps": self._steps,
            "particles": None if self._particles is None else self._particles.state(),
            "values": self._values,
            "archive": self._archive,
            "archive_values": self._archive_values,
        }

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue with a saved swarm; raise UnfitError if its archive has no genome or too many."""
        self._steps = saved.whole("steps")
        particles, problem = saved.maybe("particles"), run.problem
        if particles is None:
            return
        self._particles = Particles.of(particles, problem, SWARM, len(problem.objectives.names))
        self._values = saved_values(saved, "values", problem, SWARM)
        self._archive = saved_keys(saved, "archive", problem)
        self._archive_values = saved_values(saved, "archive_values", problem, len(self._archive))
        if not 1 <= len(self._archive) <= ARCHIVE:
            raise saved.unfit("archive", f"must hold 1 to {ARCHIVE} genomes")

    def _begin(self, run: Run) -> None:
        keys, values = first_keys(run, SWARM)
        self._archive, self._archive_values = keys[:0], values[:0]
        self._keep(keys, values)
        best = by_rank_and_crowding(values, SWARM)
        self._particles = Particles(keys[best], values[best])
        self._values = values[best]

    def _leaders(self, rng: np.random.Generator) -> Ints:
        # Binary tournament: the less crowded of two becomes a leader.
        distance = crowding(self._archive_values)
        a, b = rng.integers(0, len(distance), size=(2, SWARM))
        return np.where(distance[b] > distance[a], b, a)

    def _keep(self, keys: Floats, values: Floats) -> None:
        together = np.concatenate([self._archive, keys])
        all_values = np.concatenate([self._archive_values, values])
        kept = non_dominated(all_values)
        if len(kept) > ARCHIVE:
            kept = kept[np.argsort(-crowding(all_values[kept]), kind="stable")[:ARCHIVE]]
        self._archive, self._archive_values = together[kept], all_values[kept]

    def _update_own(self, values: Floats) -> None:
        # A personal best is kept only if it is at least as good in all objectives.
        swarm = self._particles
        if swarm is None:
            return
        dominated = np.all(swarm.own_values <= values, axis=1)
        swarm.own[~dominated], swarm.own_values[~dominated] = swarm.positions[~dominated], values[~dominated]

    def _breed(self, run: Run, promoted: Ints, rng: np.random.Generator) -> None:
        swarm = self._particles
        if swarm is None:
            return
        parents = swarm.positions[promoted]
        if len(parents) < 2:
            fill = rng.integers(0, len(self._archive), size=2 - len(parents))
            parents = np.concatenate([parents, self._archive[fill]])
        mates = (np.arange(len(parents)) + 1 + rng.integers(0, len(parents) - 1, size=len(parents))) % len(parents)
        children = crossed_keys(run.problem, parents, mates, seed=run.seed, generation=2 * self._steps + 1)
        values = evaluated_keys(run, children)
        self._keep(children, values)
        order = by_rank_and_crowding(self._values, SWARM)
        last = order[SWARM - len(children) :]
        swarm.positions[last], self._values[last] = children, values
        swarm.velocities[last] = 0.0
        swarm.own[last], swarm.own_values[last] = children, values  # children begin their personal bests


def crossed_keys(problem: PackedProblem, parents: Floats, mates: Ints, *, seed: int, generation: int) -> Floats:
    """Return one child for each parent genome and its mate; `mates` holds the mates' rows in `parents`.

    The ranking of the keys is crossed (order crossover), and the weights are blended.
    """
    jobs = problem.layout.jobs
    orders = np.argsort(parents[:, :jobs], axis=1, kind="stable")
    children = np.empty_like(parents)
    taken = np.zeros(jobs, dtype=np.int64)
    cross_keys(parents, orders, mates, children, taken, np.zeros(1, dtype=np.uint64), seed, generation)
    return children
