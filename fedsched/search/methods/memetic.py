"""The memetic search: a population that breeds, and walks with late acceptance from its best plans.

It has two to four kinds of search ("sides"), and divides the budget among them by their recent gains. The first two are
breeding and walking. If the machine splits into units, a third side walks over plans that keep each job within one
unit: its trials cost less. If one sum over jobs is sought, such as flow, that side walks over strict queues, one for
each cluster. If makespan alone is sought and jobs are few, another side removes some jobs from a plan and reinserts
them. When that side is stuck, it rebuilds the whole plan at random.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.run.population import Population, first_population
from fedsched.search.walks.per_cluster_walkers import (
    PerClusterWalkers,
    QueueWalkers,
    Rebuilders,
    can_rebuild,
    can_walk_per_cluster,
    can_walk_queues,
)
from fedsched.search.walks.walkers import LATE, Walkers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.run.run import Run

POPULATION = 100
MEMBERS = 8  # most walkers; with several objectives there is at least one walker more than objectives
WALKED = 0.4  # expected share of the budget that walkers use
PER_WALKER = 30  # trials for each job that justify one more walker
PER_PLACE = 5  # trials for each job and each plan that late acceptance looks back: few trials are best spent climbing
STRETCH = 0.02  # share of the evaluation budget for which one side goes on before sides may change
SHORTEST, LONGEST = 200, 4000  # evaluations of a stretch
LEAST_TIMED = 20  # least evaluations of a stretch if the budget is in seconds
STALE = 10_000  # trials without a better plan after which a walker restarts elsewhere
SLACK = 0.01  # relative worsening that a restarted walker accepts at first
LEAST_SHARE = 0.4  # share of the evaluations that is divided equally among the sides, whatever their gains
BREEDING_FIRST = 0.5  # share of the budget until which breeding gets most of it: breeding leads only late
BREEDING_SHARE = 0.8
STALE_PER_CLUSTER = 100_000  # the same as STALE for a walker that keeps each job within one unit
REBUILDING_SHARE = 0.7  # share of the side that ruins and recreates, if there is one; the others share the rest
QUEUES_SHARE = 0.8  # share of the walk over strict queues, if it applies; the others share the rest
MEMORY = 0.9  # weight of a side's earlier gains in each new stretch


class Memetic:
    """The method of a population and walkers; walkers start from plans of any side, and do not feed the population.

    With one objective all walkers minimise it. With several, each walker has its own weights of the objectives, and
    all non-dominated plans on its way are kept.
    """

    def __init__(self, run: Run) -> None:
        self._population: Population | None = None
        self._generation = 0
        self._gather(run)
        sides = len(self._stretch)
        # In evaluations, or in seconds if the budget is in seconds: evaluations of the third side take less time.
        self._spent = np.zeros(sides)  # budget used by breeding, walking, walking within units, and rebuilding
        self._gained = np.zeros(sides)  # recent gains of hypervolume
        self._paid = np.zeros(sides)  # recent budget used

    def _gather(self, run: Run) -> None:
        # The number of walkers and the length of stretches follow from the expected number of trials.
        budget = run.prospect or 100 * LONGEST
        objectives = len(run.problem.objectives.names)
        least = 1 if objectives == 1 else objectives + 1
        trials = WALKED * budget / run.problem.layout.jobs
        members = max(least, min(MEMBERS, int(trials / PER_WALKER)))
        self.walkers = Walkers(run, members=members, late=_look_back(trials / members))
        self.walkers.weights = directions(members, objectives)
        self.per_cluster: PerClusterWalkers | None = None
        self._fixed_share = 0.0  # of the last side; the others share the rest
        if can_walk_queues(run.problem):
            self.per_cluster = QueueWalkers(run, late=_look_back(trials))
            self._fixed_share = QUEUES_SHARE
        elif can_walk_per_cluster(run.problem):
            members = 1 if objectives == 1 else members
            self.per_cluster = PerClusterWalkers(run, members=members, late=_look_back(trials / members))
            self.per_cluster.weights = directions(members, objectives)
        self.rebuilders: Rebuilders | None = None
        if can_rebuild(run.problem):
            self.rebuilders = Rebuilders(run, members=1, late=_look_back(trials))
            self._fixed_share = REBUILDING_SHARE
        sides = 2 + (self.per_cluster is not None) + (self.rebuilders is not None)
        # Evaluations of a stretch of each side: in a budget in seconds, sides that evaluate faster have longer ones.
        self._stretch = np.full(sides, int(np.clip(STRETCH * budget, SHORTEST, LONGEST)))

    def step(self, run: Run) -> bool:
        """Evaluate the first plans, or run the side that is furthest below its share for a stretch; return True."""
        if self._population is None:
            self._begin(run)
            return True
        side = int(np.argmin(self._spent / self._shares(run)))
        stretch, before, merit = int(self._stretch[side]), _used(run), run.hypervolume()
        evaluations, seconds = run.evaluations, run.seconds
        if side == 0:
            self._breed(run, stretch)
        elif self.rebuilders is not None and side == len(self._spent) - 1:
            self._rebuild(run, self.rebuilders, stretch)
        elif self.per_cluster is not None and side == 2:
            self._walk_per_cluster(run, self.per_cluster, stretch)
        else:
            self._walk(run, stretch)
        spent = _used(run) - before
        if run.seconds_given is not None and run.seconds > seconds:
            rate = (run.evaluations - evaluations) / (run.seconds - seconds)
            self._stretch[side] = int(np.clip(STRETCH * run.seconds_given * rate, LEAST_TIMED, LONGEST))
        self._spent[side] += spent
        self._gained[side] = MEMORY * self._gained[side] + run.hypervolume() - merit
        self._paid[side] = MEMORY * self._paid[side] + spent
        return True

    def state(self) -> dict[str, Plain]:
        """Return the population, the walkers of all sides, and each side's budget used and gains."""
        begun = self._population is not None
        return {
            "generation": self._generation,
            "stretch": self._stretch,
            "spent": self._spent,
            "gained": self._gained,
            "paid": self._paid,
            "population": None if self._population is None else self._population.state(),
            "walkers": self.walkers.state() if begun else None,
            "apart": None if self.per_cluster is None or not self.per_cluster.are_set else self.per_cluster.state(),
            "rebuilders": None if self.rebuilders is None or not self.rebuilders.are_set else self.rebuilders.state(),
        }

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue from a saved state; do nothing if it has no population."""
        population, walkers = saved.maybe("population"), saved.maybe("walkers")
        if population is None or walkers is None:
            return
        self._generation = saved.whole("generation")
        self._stretch = saved.ints("stretch", (len(self._spent),), LEAST_TIMED, most=LONGEST)
        self._spent, self._gained, self._paid = (
            saved.floats(name, (len(self._spent),)) for name in ("spent", "gained", "paid")
        )
        self._population = Population.of(population, run.problem, POPULATION)
        most = max(MEMBERS, len(run.problem.objectives.names) + 1)
        self.walkers.restore(walkers, run, most=most)
        per_cluster = saved.maybe("apart")
        if self.per_cluster is not None and per_cluster is not None:
            self.per_cluster.restore(per_cluster, run, most=most)
        rebuilders = saved.maybe("rebuilders")
        if self.rebuilders is not None and rebuilders is not None:
            self.rebuilders.restore(rebuilders, run, most=1)

    def _shares(self, run: Run) -> Floats:
        # A side made for such problems has a fixed share. The others get their least share, and divide the rest by
        # their recent gain per evaluation.
        if not self._fixed_share:
            return self._earned(run, len(self._spent))
        others = (1.0 - self._fixed_share) * self._earned(run, len(self._spent) - 1)
        return np.append(others, self._fixed_share)

    def _earned(self, run: Run, sides: int) -> Floats:
        budget = run.seconds_given if run.total is None else run.total
        if budget is not None and _used(run) < BREEDING_FIRST * budget:
            return np.array([BREEDING_SHARE, *[(1.0 - BREEDING_SHARE) / (sides - 1)] * (sides - 1)])
        gained, paid = self._gained[:sides], self._paid[:sides]
        yields = np.divide(gained, paid, out=np.zeros(sides), where=paid > 0)
        total = yields.sum()
        earned = yields / total if total > 0 else np.full(sides, 1.0 / sides)
        return LEAST_SHARE / sides + (1.0 - LEAST_SHARE) * earned

    def _begin(self, run: Run) -> None:
        rows = first_population(run, POPULATION)
        values = run.evaluate(rows)
        self._population = Population(rows, values, POPULATION)
        if run.total is None:  # now the time for each plan is known
            self._gather(run)
        self._look_ahead(run)
        taken: set[int] = set()
        for k in range(len(self.walkers)):
            ranking = np.argsort(self.walkers.scalar(k, values), kind="stable").tolist()
            best = next((i for i in ranking if i not in taken), ranking[0])
            taken.add(best)
            self.walkers.place(k, rows[best], values[best])

    # ---- breeding -----------------------------------------------------------------------------------------------

    def _breed(self, run: Run, evaluations: int) -> None:
        population = self._population
        if population is None:
            return
        begun = run.evaluations
        while run.evaluations - begun < evaluations:
            self._generation += 1
            children = population.children(run, self._generation)
            population.survive(children, run.evaluate(children))

    # ---- walking ------------------------------------------------------------------------------------------------

    def _walk(self, run: Run, trials: int) -> None:
        self._look_ahead(run)
        self._start_elsewhere(run)
        self.walkers.walk(run, min(trials, run.left))

    def _walk_per_cluster(self, run: Run, walkers: PerClusterWalkers, trials: int) -> None:
        self._look_ahead(run)
        population = self._population
        if population is None:
            return
        rows, values = run.archive.plans()
        if not len(rows):  # a policy's schedule is better than every row so far
            rows, values = list(population.rows), population.values
        bound = run.seeds[: 0 if walkers.are_set else None]
        bound = bound[walkers.are_bound(bound)]  # binding can worsen a good plan much, and these are bound already
        found = run.evaluate(bound)
        rng = run.generator(2_000_000 + run.steps)
        for k in range(len(walkers)):
            if walkers.stale(k) > STALE_PER_CLUSTER:
                chosen = _one_of_the_best(walkers.scalar(k, population.values), rng)
                walkers.start_again(run, k, population.rows[chosen], slack=SLACK)
            else:
                for some, of_some in ((rows, values), (bound, found)):
                    scores = walkers.scalar(k, of_some)
                    if len(some) and scores.min() < walkers.best(k):
                        walkers.set_out(run, k, some[int(np.argmin(scores))], if_better=True)
        walkers.walk(run, min(trials, run.left))

    def _rebuild(self, run: Run, rebuilders: Rebuilders, trials: int) -> None:
        if not rebuilders.are_set:
            rows, _ = run.archive.plans()
            rebuilders.set_out(run, 0, rows[0] if len(rows) else run.seeds[0])
        rebuilders.walk(run, min(trials, run.left))

    def _look_ahead(self, run: Run) -> None:
        # Objectives are scaled from the best value seen to the worst on the front.
        values = run.archive.values
        if values.shape[1] > 1:
            ideal, extent = values.min(axis=0), np.ptp(values, axis=0)
            floor = 1e-3 * np.abs(run.reference)
            self.walkers.aim(ideal, np.maximum(extent, floor))
            if self.per_cluster is not None:
                self.per_cluster.aim(ideal, np.maximum(extent, floor))

    def _start_elsewhere(self, run: Run) -> None:
        # A walker moves to a plan of the archive that is better by its weights; a stale one, to a random good plan.
        self._follow(*run.archive.plans())
        rng = run.generator(1_000_000 + run.steps)
        population = self._population
        for k in range(len(self.walkers)):
            if population is not None and self.walkers.stale(k) > STALE:
                chosen = _one_of_the_best(self.walkers.scalar(k, population.values), rng)
                self.walkers.place(k, population.rows[chosen], population.values[chosen], slack=SLACK)

    def _follow(self, rows: Sequence[Ints] | Ints, values: Floats) -> None:
        # Walkers move to plans that are better by their weights; with one objective only the worst walker moves.
        if not len(rows):
            return
        everyone = range(len(self.walkers))
        for k in everyone if values.shape[1] > 1 else [max(everyone, key=self.walkers.best)]:
            scores = self.walkers.scalar(k, values)
            best = int(np.argmin(scores))
            if scores[best] < self.walkers.best(k):
                self.walkers.place(k, rows[best], values[best])

    def welcome(self, rows: Sequence[Ints], values: Floats) -> None:
        """Take up plans from another island: walkers move to better ones, and the population keeps the good ones."""
        self._follow(rows, values)
        if self._population is not None:
            self._population.survive(rows, values)


def _look_back(trials: float) -> int:
    # The length of late acceptance's history for this number of trials for each job.
    return int(np.clip(trials / PER_PLACE, 1, LATE))


def _used(run: Run) -> float:
    """Return how much of its budget a run has used: seconds if only seconds are limited, else evaluations."""
    return run.seconds if run.total is None and run.seconds_given is not None else run.evaluations


def _one_of_the_best(scores: Floats, rng: np.random.Generator) -> int:
    return int(rng.choice(np.argsort(scores, kind="stable")[: max(2, len(scores) // 8)]))


def directions(members: int, objectives: int) -> Floats:
    """Return one vector of objective weights for each walker, evenly spread, nearly single-objective ones included.

    With one objective all weights are 1.
    """
    if objectives == 1:
        return np.ones((members, 1))
    if objectives == 2:
        share = np.linspace(0.02, 0.98, members)
        return np.stack([share, 1.0 - share], axis=1)
    # More objectives: the corners first, then fixed pseudo-random points on the simplex.
    corners = np.full((objectives, objectives), 0.02) + np.eye(objectives) * (1.0 - 0.02 * objectives)
    rest = np.random.default_rng(objectives).dirichlet(np.ones(objectives), size=max(members - objectives, 0))
    return np.concatenate([corners, np.maximum(rest, 0.02)])[:members]
