"""The memetic search: a population that breeds, and late-acceptance walks from its best; who finds more gets more.

Where the machine falls into units, a third side walks over plans that keep each job within one: its trials cost less.
Where few jobs are planned for makespan, one more takes some out of a plan and puts them back, and begins from chance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.search.run.population import Population, first_population
from fedsched.search.walks.per_cluster_walkers import ApartWalkers, Rebuilders, can_rebuild, can_walk_apart
from fedsched.search.walks.walkers import LATE, Walkers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.run.run import Run

POPULATION = 100
MEMBERS = 8  # walkers, where the budget is large enough for so many
WALKED = 0.4  # of a budget, as is expected: what walkers make of it
PER_WALKER = 30  # trials a job that make it worth while to have one walker more
PER_PLACE = 5  # trials a job for each plan that late acceptance looks back: few trials are best spent climbing
STRETCH = 0.02  # of an evaluation budget: how long one side goes on before the other may
SHORTEST, LONGEST = 200, 4000  # evaluations of a stretch
LEAST_TIMED = 20  # evaluations of a stretch where the budget is in seconds
STALE = 10_000  # trials without a better plan after which a walker begins elsewhere
SLACK = 0.01  # how much worse a walker that begins anew may at first become
LEAST_SHARE = 0.4  # of the evaluations, for all sides alike, whatever they bring
BREEDING_FIRST = 0.5  # of a budget: until then the population has most of it, for it is ahead of walks only late
BREEDING_SHARE = 0.8
STALE_APART = 100_000  # trials without a better plan after which a walker from cluster to cluster begins elsewhere
REBUILDING_SHARE = 0.7  # for those that ruin and recreate, where they can; of the rest, the shares above
MEMORY = 0.9  # how much of a side's success is remembered from stretch to stretch


class Memetic:
    """A population and walkers of both kinds, who set out from what any has found; their finds crowd no population.

    One objective: all walk towards it. Several: each walks in a direction of its own, from the least of one objective
    to the least of another, and everything non-dominated that is met on the way is kept.
    """

    def __init__(self, run: Run) -> None:
        self._population: Population | None = None
        self._generation = 0
        self._gather(run)
        sides = 2 + (self.apart is not None) + (self.rebuilders is not None)
        # In evaluations, or in seconds where the budget is: evaluations of the third side take less time.
        self._spent = np.zeros(sides)  # on breeding, on walking, from cluster to cluster too, and on rebuilding
        self._gained = np.zeros(sides)  # what they brought lately, and
        self._paid = np.zeros(sides)  # for how much

    def _gather(self, run: Run) -> None:
        # As many walkers as there will be trials for, and stretches to suit.
        budget = run.prospect or 100 * LONGEST
        objectives = len(run.problem.objectives.names)
        least = 1 if objectives == 1 else objectives + 1
        trials = WALKED * budget / run.problem.layout.jobs
        members = max(least, min(MEMBERS, int(trials / PER_WALKER)))
        self.walkers = Walkers(run, members=members, late=_look_back(trials / members))
        self.walkers.weights = directions(members, objectives)
        self._stretch = int(np.clip(STRETCH * budget, SHORTEST, LONGEST))
        self.apart: ApartWalkers | None = None
        if can_walk_apart(run.problem):
            members = 1 if objectives == 1 else members
            self.apart = ApartWalkers(run, members=members, late=_look_back(trials / members))
            self.apart.weights = directions(members, objectives)
        self.rebuilders = Rebuilders(run, members=1, late=_look_back(trials)) if can_rebuild(run.problem) else None

    def step(self, run: Run) -> bool:
        """Evaluate the first plans, or let one side go on for a stretch."""
        if self._population is None:
            self._begin(run)
            return True
        side = int(np.argmin(self._spent / self._shares(run)))
        before, merit = _used(run), run.hypervolume()
        evaluations, seconds = run.evaluations, run.seconds
        if side == 0:
            self._breed(run)
        elif self.rebuilders is not None and side == len(self._spent) - 1:
            self._rebuild(run, self.rebuilders)
        elif self.apart is not None and side == 2:
            self._walk_apart(run, self.apart)
        else:
            self._walk(run)
        spent = _used(run) - before
        if run.seconds_given is not None and run.seconds > seconds:
            rate = (run.evaluations - evaluations) / (run.seconds - seconds)
            self._stretch = int(np.clip(STRETCH * run.seconds_given * rate, LEAST_TIMED, LONGEST))
        self._spent[side] += spent
        self._gained[side] = MEMORY * self._gained[side] + run.hypervolume() - merit
        self._paid[side] = MEMORY * self._paid[side] + spent
        return True

    def state(self) -> dict[str, Plain]:
        """Return the population, the walkers, and what each side has brought."""
        begun = self._population is not None
        return {
            "generation": self._generation,
            "stretch": self._stretch,
            "spent": self._spent,
            "gained": self._gained,
            "paid": self._paid,
            "population": None if self._population is None else self._population.state(),
            "walkers": self.walkers.state() if begun else None,
            "apart": None if self.apart is None or not self.apart.are_set else self.apart.state(),
            "rebuilders": None if self.rebuilders is None or not self.rebuilders.are_set else self.rebuilders.state(),
        }

    def restore(self, saved: Saved, run: Run) -> None:
        """Go on with all of that; where nothing had begun, begin."""
        population, walkers = saved.maybe("population"), saved.maybe("walkers")
        if population is None or walkers is None:
            return
        self._generation = saved.whole("generation")
        self._stretch = saved.whole("stretch", LEAST_TIMED, LONGEST)
        self._spent, self._gained, self._paid = (
            saved.floats(name, (len(self._spent),)) for name in ("spent", "gained", "paid")
        )
        self._population = Population.of(population, run.problem, POPULATION)
        most = max(MEMBERS, len(run.problem.objectives.names) + 1)
        self.walkers.restore(walkers, run, most=most)
        apart = saved.maybe("apart")
        if self.apart is not None and apart is not None:
            self.apart.restore(apart, run, most=most)
        rebuilders = saved.maybe("rebuilders")
        if self.rebuilders is not None and rebuilders is not None:
            self.rebuilders.restore(rebuilders, run, most=1)

    def _shares(self, run: Run) -> Floats:
        # Rebuilders have a share of their own, for they alone begin anew; the others get their least share, and the
        # rest goes by what an evaluation of theirs has brought lately.
        if self.rebuilders is None:
            return self._earned(run, len(self._spent))
        others = (1.0 - REBUILDING_SHARE) * self._earned(run, len(self._spent) - 1)
        return np.append(others, REBUILDING_SHARE)

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
        if run.total is None:  # now the pace is known
            self._gather(run)
        self._look_ahead(run)
        taken: set[int] = set()
        for k in range(len(self.walkers)):
            ranking = np.argsort(self.walkers.scalar(k, values), kind="stable").tolist()
            best = next((i for i in ranking if i not in taken), ranking[0])
            taken.add(best)
            self.walkers.place(k, rows[best], values[best])

    # ---- breeding -----------------------------------------------------------------------------------------------

    def _breed(self, run: Run) -> None:
        population = self._population
        if population is None:
            return
        begun = run.evaluations
        while run.evaluations - begun < self._stretch:
            self._generation += 1
            children = population.children(run, self._generation)
            population.survive(children, run.evaluate(children))

    # ---- walking ------------------------------------------------------------------------------------------------

    def _walk(self, run: Run) -> None:
        self._look_ahead(run)
        self._start_elsewhere(run)
        self.walkers.walk(run, min(self._stretch, run.left))

    def _walk_apart(self, run: Run, apart: ApartWalkers) -> None:
        self._look_ahead(run)
        population = self._population
        if population is None:
            return
        rows, values = run.archive.plans()
        if not len(rows):  # a policy's schedule is better than every plan so far
            rows, values = list(population.rows), population.values
        bound = run.seeds[: 0 if apart.are_set else None]
        bound = bound[apart.are_bound(bound)]  # binding can cost a good plan dearly, and these have paid
        found = run.evaluate(bound)
        rng = run.generator(2_000_000 + run.steps)
        for k in range(len(apart)):
            if apart.stale(k) > STALE_APART:
                chosen = _one_of_the_best(apart.scalar(k, population.values), rng)
                apart.set_out(run, k, population.rows[chosen], slack=SLACK)
            else:
                for some, of_some in ((rows, values), (bound, found)):
                    scores = apart.scalar(k, of_some)
                    if len(some) and scores.min() < apart.best(k):
                        apart.set_out(run, k, some[int(np.argmin(scores))], if_better=True)
        apart.walk(run, min(self._stretch, run.left))

    def _rebuild(self, run: Run, rebuilders: Rebuilders) -> None:
        if not rebuilders.are_set:
            rows, _ = run.archive.plans()
            rebuilders.set_out(run, 0, rows[0] if len(rows) else run.seeds[0])
        rebuilders.walk(run, min(self._stretch, run.left))

    def _look_ahead(self, run: Run) -> None:
        # Directions are measured from the best seen of each objective to the worst on the front.
        values = run.archive.values
        if values.shape[1] > 1:
            ideal, extent = values.min(axis=0), np.ptp(values, axis=0)
            floor = 1e-3 * np.abs(run.reference)
            self.walkers.aim(ideal, np.maximum(extent, floor))
            if self.apart is not None:
                self.apart.aim(ideal, np.maximum(extent, floor))

    def _start_elsewhere(self, run: Run) -> None:
        # A walker goes where the archive has something better in its direction; a stale one, anywhere near.
        self._follow(*run.archive.plans())
        rng = run.generator(1_000_000 + run.steps)
        population = self._population
        for k in range(len(self.walkers)):
            if population is not None and self.walkers.stale(k) > STALE:
                chosen = _one_of_the_best(self.walkers.scalar(k, population.values), rng)
                self.walkers.place(k, population.rows[chosen], population.values[chosen], slack=SLACK)

    def _follow(self, rows: Sequence[Ints] | Ints, values: Floats) -> None:
        # Walkers go where there is something better in their direction; with one objective only the last of them.
        if not len(rows):
            return
        everyone = range(len(self.walkers))
        for k in everyone if values.shape[1] > 1 else [max(everyone, key=self.walkers.best)]:
            scores = self.walkers.scalar(k, values)
            best = int(np.argmin(scores))
            if scores[best] < self.walkers.best(k):
                self.walkers.place(k, rows[best], values[best])

    def welcome(self, rows: Sequence[Ints], values: Floats) -> None:
        """Let plans from elsewhere breed and be walked from, where they are good enough."""
        self._follow(rows, values)
        if self._population is not None:
            self._population.survive(rows, values)


def _look_back(trials: float) -> int:
    # How far back a walker looks that will try so many moves a job.
    return int(np.clip(trials / PER_PLACE, 1, LATE))


def _used(run: Run) -> float:
    """Return how much of its budget a run has used: evaluations, or seconds where there is no other budget."""
    return run.seconds if run.total is None and run.seconds_given is not None else run.evaluations


def _one_of_the_best(scores: Floats, rng: np.random.Generator) -> int:
    return int(rng.choice(np.argsort(scores, kind="stable")[: max(2, len(scores) // 8)]))


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
