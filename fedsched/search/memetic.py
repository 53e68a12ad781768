"""The memetic search: late-acceptance walks over structured seeds, the stale ones replaced by children of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.archive import crowding
from fedsched.search.operators import cross_rows
from fedsched.search.walkers import Walkers

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.run import Run

MEMBERS = 8  # walkers, with a budget that feeds them
MEAL = 3000  # evaluations that make it worth while to have a walker more
STRETCH = 0.02  # of an evaluation budget: how long the walkers go between two exchanges
SHORTEST, LONGEST = 200, 4000  # trials of a stretch, all walkers together
STALE = 10_000  # trials without a better plan after which a walker begins elsewhere
SLACK = 0.01  # how much worse a walker that begins anew may at first become


class Memetic:
    """Walkers that share what they find.

    One objective: all walk towards it. Several: each walks in a direction of its own, from the least of one objective
    to the least of another, and everything non-dominated that is met on the way is kept.
    """

    def __init__(self, run: Run) -> None:
        objectives = len(run.problem.objectives.names)
        budget = run.total or 100 * LONGEST
        least = 1 if objectives == 1 else objectives + 1
        members = max(least, min(MEMBERS, budget // MEAL))
        self._walkers = Walkers(run, members=members)
        self._walkers.weights = directions(members, objectives)
        self._generation = 0
        self._stretch = int(np.clip(STRETCH * budget, SHORTEST, LONGEST))

    def step(self, run: Run) -> bool:
        """Evaluate the seeds, or walk a stretch and set stale walkers down elsewhere."""
        if self._generation == 0:
            self._begin(run)
        else:
            self._look_ahead(run)
            self._walkers.walk(run, min(self._stretch, run.left))
            self._restart_stale(run)
        self._generation += 1
        return True

    def _begin(self, run: Run) -> None:
        rows = run.first_rows(max(len(run.seeds), len(self._walkers)))
        values = run.evaluate(rows)
        self._look_ahead(run)
        taken: set[int] = set()
        for k in range(len(self._walkers)):
            ranking = np.argsort(self._walkers.scalar(k, values), kind="stable").tolist()
            best = next((i for i in ranking if i not in taken), ranking[0])
            taken.add(best)
            self._walkers.place(k, rows[best], values[best])

    def _look_ahead(self, run: Run) -> None:
        # Directions are measured from the best seen of each objective to the worst on the front.
        values = run.archive.values
        if values.shape[1] > 1:
            ideal, extent = values.min(axis=0), np.ptp(values, axis=0)
            floor = 1e-3 * np.abs(run.reference)
            self._walkers.aim(ideal, np.maximum(extent, floor))

    def _restart_stale(self, run: Run) -> None:
        stale = [k for k in range(len(self._walkers)) if self._walkers.stale(k) > STALE]
        if not stale or run.left < len(stale):
            return
        children = self._children(run, stale)
        values = run.evaluate(children)
        for k, child, value in zip(stale, children, values, strict=True):
            self._walkers.place(k, child, value, slack=SLACK)

    def _children(self, run: Run, stale: list[int]) -> Ints:
        # Parents: the walker's nearest plan of the archive, and another walker's best or another of the archive.
        rng = run.generator(self._generation)
        pool = np.concatenate([[walker.best for walker in self._walkers.walkers], *self._kept(run)])
        pairs = []
        for k in stale:
            first = k if len(run.archive.values[0]) == 1 else self._nearest(run, k, rng)
            second = int(rng.integers(len(pool)))
            pairs.append((first if first < len(pool) else k, second))
        children = np.zeros((len(stale), run.problem.layout.length), dtype=np.int64)
        cross_rows(
            run.problem.problem,
            run.problem.space,
            pool,
            np.array(pairs, dtype=np.int64),
            children,
            np.zeros(run.problem.layout.jobs, dtype=np.int64),
            np.zeros(1, dtype=np.uint64),
            run.seed,
            self._generation,
            run.problem.states[0],
        )
        return children

    def _kept(self, run: Run) -> list[Ints]:
        rows = run.archive.rows()
        return [rows] if rows.size else []

    def _nearest(self, run: Run, k: int, rng: np.random.Generator) -> int:
        # The place in the pool of a plan of the archive that is good in the walker's direction.
        places = [i for i, entry in enumerate(run.archive.entries) if entry.row is not None]
        if not places:
            return k
        scores = self._walkers.scalar(k, run.archive.values[places])
        chosen = int(np.argsort(scores, kind="stable")[: max(1, len(places) // 8)][0])
        if rng.random() < 0.3:
            chosen = int(np.argmax(np.nan_to_num(crowding(run.archive.values[places]), posinf=0.0)))
        return len(self._walkers) + chosen


def directions(members: int, objectives: int) -> Floats:
    """Return one weight vector a walker: evenly spread between the objectives, the corners included."""
    if objectives == 1:
        return np.ones((members, 1))
    if objectives == 2:
        share = np.linspace(0.02, 0.98, members)
        return np.stack([share, 1.0 - share], axis=1)
    # more objectives: the corners first, then points of a fixed low-discrepancy set on the simplex
    corners = np.full((objectives, objectives), 0.02) + np.eye(objectives) * (1.0 - 0.02 * objectives)
    rest = np.random.default_rng(objectives).dirichlet(np.ones(objectives), size=max(members - objectives, 0))
    return np.concatenate([corners, np.maximum(rest, 0.02)])[:members]
