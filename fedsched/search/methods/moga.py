"""NSGA-II on rows, with pymoo's sorting: the thesis's MOGA."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.search.run.population import Population, first_population

if TYPE_CHECKING:
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.run.run import Run

POPULATION = 100


class Moga:
    """NSGA-II: parents are chosen by rank and crowding; of parents and children the better half survives."""

    def __init__(self, run: Run) -> None:
        self._population: Population | None = None
        self._generation = 0

    def step(self, run: Run) -> bool:
        """Make the first population, or the next generation."""
        if self._population is None:
            rows = first_population(run, POPULATION)
            self._population = Population(rows, run.evaluate(rows), POPULATION)
        else:
            children = self._population.children(run, self._generation)
            self._population.survive(children, run.evaluate(children))
        self._generation += 1
        return True

    def state(self) -> dict[str, Plain]:
        """Return the population and its generation."""
        population = self._population
        return {
            "generation": self._generation,
            "population": None if population is None else population.state(),
        }

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue with a saved population."""
        self._generation = saved.whole("generation")
        population = saved.maybe("population")
        self._population = None if population is None else Population.of(population, run.problem, POPULATION)
