"""Two genetic algorithms: GA on DEAP (operators: Toolbox, record: Logbook), and NSGA-II (MOGA)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.search.encoding.assignment import first_assignments, reassigned
from fedsched.search.encoding.offspring import mutated
from fedsched.search.methods.adapters import deap_toolbox
from fedsched.search.problem.slowdown import costs_by_group
from fedsched.search.run.checkpoint_arrays import saved_plans
from fedsched.search.run.population import Population, first_population
from fedsched.search.run.run import BudgetSpent

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from deap import base

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.io.trees import Plain, Saved
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

    Redraw: TypeAlias = Callable[[Ints, np.random.Generator], None]  # changes rows in place

POPULATION = 100
ELITE = 2
CROSSED = 0.9  # share of the children with two parents
RECORDED = ("best", "mean")  # values of each generation in the logbook
REDRAWN = 0.3  # share of the jobs that get new caps in a redraw


class Encoding(NamedTuple):
    """How genomes encode a job's nodes: a function that makes first plans, and a mutation that keeps the encoding."""

    first: Callable[[Run, int], Ints]
    mutated: Callable[..., Ints]  # as `offspring.mutated`


ENCODINGS = {
    "blacklist": Encoding(first_population, mutated),
    "assignment": Encoding(first_assignments, reassigned),
}


class Genetic:
    """A generational genetic algorithm: binary tournament, order crossover, mutation; the two best plans survive."""

    def __init__(self, run: Run, *, encoding: str = "blacklist", redraw: Redraw | None = None) -> None:
        from deap import tools

        self._encoding = ENCODINGS[encoding]
        self._redraw = redraw
        self._generation = 0
        self._rows = np.zeros((0, run.problem.layout.length), dtype=np.int64)
        self._values: Floats = np.zeros(0)
        self.logbook = tools.Logbook()

    def step(self, run: Run) -> bool:
        """Evaluate the first population or the next generation, log its best and mean value, and return True.

        Raise BudgetSpent if there is no time for all children.
        """
        toolbox = self._toolbox(run)
        if self._generation == 0:
            rows = self._first_rows(run)
            values = toolbox.map(toolbox.evaluate, rows)
            best = np.argsort(values, kind="stable")[:POPULATION]
            self._rows, self._values = rows[best], values[best]
        else:
            self._next(run, toolbox)
        self.logbook.record(
            generation=self._generation, best=float(self._values.min()), mean=float(self._values.mean())
        )
        self._generation += 1
        return True

    def state(self) -> dict[str, Plain]:
        """Return the population and the logbook of its generations."""
        record = {name: np.array(self.logbook.select(name), dtype=np.float64) for name in RECORDED}
        return {"generation": self._generation, "rows": self._rows, "values": self._values, "record": record}

    def restore(self, saved: Saved, run: Run) -> None:
        """Continue with a saved population, its generation number and its logbook."""
        self._generation = saved.whole("generation")
        count = POPULATION if self._generation else 0
        self._rows = saved_plans(saved, "rows", run.problem, count)
        self._values = saved.floats("values", (count,))
        record = saved.part("record")
        columns = [record.floats(name, (self._generation,)).tolist() for name in RECORDED]
        self.logbook.clear()
        for generation, values in enumerate(zip(*columns, strict=True)):
            self.logbook.record(generation=generation, **dict(zip(RECORDED, values, strict=True)))

    def _toolbox(self, run: Run) -> base.Toolbox:
        problem, seed, generation = run.problem, run.seed, self._generation
        toolbox = deap_toolbox(problem, seed=seed, generation=generation, evaluate=self._evaluate(run))
        stream = 2 * generation + 1  # crossover has the even numbers
        changed = self._encoding.mutated
        toolbox.register("mutate", lambda rows, moves: changed(problem, rows, moves, seed=seed, generation=stream))
        return toolbox

    def _evaluate(self, run: Run) -> Callable[[Ints], Floats]:
        return lambda rows: run.scalar(run.evaluate(rows))

    def _first_rows(self, run: Run) -> Ints:
        rows = self._encoding.first(run, POPULATION)
        if self._redraw is not None:
            half = rows[::2].copy()
            self._redraw(half, run.generator(1))
            rows[::2] = half
        return rows

    def _next(self, run: Run, toolbox: base.Toolbox) -> None:
        rng = run.generator(2 + self._generation)
        elite = np.argsort(self._values, kind="stable")[:ELITE]
        count = len(self._rows) - ELITE
        pairs = toolbox.select(self._values, 2 * count, rng).reshape(count, 2)
        alone = rng.random(count) >= CROSSED
        pairs[alone, 1] = pairs[alone, 0]
        room = run.plans_in_time(count)
        children = toolbox.mate(self._rows, pairs[:room])
        moves = 1 + rng.geometric(0.6, size=count)
        toolbox.mutate(children, np.minimum(moves[:room], 5))
        if self._redraw is not None:
            some = np.flatnonzero(rng.random(count)[:room] < 0.2)
            redrawn = children[some]
            self._redraw(redrawn, rng)
            children[some] = redrawn
        values = toolbox.map(toolbox.evaluate, children)
        if room < count:
            raise BudgetSpent  # within a generation
        self._rows = np.concatenate([self._rows[elite], children])
        self._values = np.concatenate([self._values[elite], values])


def favour_fast_groups(problem: PackedProblem) -> Redraw:
    """Return a function that changes rows in place: random jobs get new caps that favour fast groups.

    A redrawn job keeps a group with a probability of the job's least predicted time cost over the group's.
    """
    cost = costs_by_group(problem.problem, problem.space.limits)
    chance = cost.min(axis=1, keepdims=True) / cost

    def redraw(rows: Ints, rng: np.random.Generator) -> None:
        caps = problem.layout.caps(rows)
        redrawn = rng.random((len(rows), problem.layout.jobs, 1)) < REDRAWN
        stays_open = rng.random(caps.shape) < chance[None]
        caps[:] = np.where(redrawn, np.where(stays_open, problem.space.limits, 0), caps)
        problem.repaired(rows)

    return redraw


def ga(run: Run, encoding: str = "blacklist") -> Genetic:
    """Return the genetic algorithm of CMMSE 2013; with other objectives it is `ga-mf` or `ga-ea`."""
    return Genetic(run, encoding=encoding)


def ga_slowdown(run: Run) -> Genetic:
    """Return the genetic algorithm with random redraws of caps, which favour groups of little predicted slowdown."""
    return Genetic(run, redraw=favour_fast_groups(run.problem))


class Moga:
    """NSGA-II: parents are chosen by rank and crowding; of parents and children the better half survives."""

    def __init__(self, run: Run) -> None:
        self._population: Population | None = None
        self._generation = 0

    def step(self, run: Run) -> bool:
        """Evaluate the first population, or breed and select the next generation; return True."""
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
        """Continue with a saved population and its generation number."""
        self._generation = saved.whole("generation")
        population = saved.maybe("population")
        self._population = None if population is None else Population.of(population, run.problem, POPULATION)
