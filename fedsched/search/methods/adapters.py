"""Thin adapters that give the search problem to users' algorithms of pymoo and DEAP.

Of fedsched's own methods only `Genetic` uses one of them, `deap_toolbox`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.values import seed_of, whole
from fedsched.search.encoding.offspring import crossed, mutated, tournament

if TYPE_CHECKING:
    from collections.abc import Callable

    from deap import base
    from pymoo.core.problem import Problem

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.search.problem.packed import PackedProblem


def pymoo_problem(problem: PackedProblem) -> Problem:
    """Return the search problem as a pymoo Problem over vectors in [0, 1], with all objectives at once.

    A vector has n keys, which sort the n jobs, and n·G weights, which forbid nodes of the G groups to jobs.
    `problem.rows_of_keys(result.X)` returns the plans of a pymoo result, `problem.schedule(row)` a plan's schedule.

    Parameters
    ----------
    problem
        The jobs, the machine and the objectives, as a `SearchProblem`.

    Examples
    --------
    >>> objectives = fs.search.Objectives.of(["makespan", "energy"])
    >>> problem = fs.search.SearchProblem(fs.read("sample").head(20), fs.Federation.of(128), objectives)
    >>> fs.search.pymoo_problem(problem).n_obj
    2
    """
    from pymoo.core.problem import Problem

    class PlanKeys(Problem):  # type: ignore[misc]
        """A pymoo Problem that evaluates a whole population of genomes of keys at once."""

        def __init__(self) -> None:
            super().__init__(
                n_var=problem.layout.keys_length,
                n_obj=len(problem.objectives.names),
                xl=0.0,
                xu=1.0,
            )

        def _evaluate(self, x: Floats, out: dict[str, Any], *args: object, **kwargs: object) -> None:
            keys = np.array(np.atleast_2d(x), dtype=np.float64)
            out["F"] = problem.values(problem.rows_of_keys(keys))

    return PlanKeys()


def deap_toolbox(
    problem: PackedProblem,
    *,
    seed: int = 0,
    generation: int = 0,
    evaluate: Callable[[Ints], Floats] | None = None,
) -> base.Toolbox:
    """Return a DEAP Toolbox with operators on whole arrays of rows.

    It registers `rows(count)` (random plans), `evaluate(rows)` (the first objective), `map(evaluate, rows)` (all at
    once), `select(values, count, rng)` (binary tournament), `mate(rows, pairs)` and `mutate(rows, moves)`. The
    operators' random streams depend on (seed, generation): make a new toolbox for each generation.

    Parameters
    ----------
    problem
        The jobs, the machine and the objectives, as a `SearchProblem`.
    seed, generation
        What the operators' random streams depend on.
    evaluate
        Called with rows in place of the problem's own evaluation.

    Examples
    --------
    >>> objectives = fs.search.Objectives.of("makespan")
    >>> problem = fs.search.SearchProblem(fs.read("sample").head(20), fs.Federation.of(128), objectives)
    >>> toolbox = fs.search.deap_toolbox(problem, seed=1)
    >>> toolbox.evaluate(toolbox.rows(4)).shape
    (4,)
    """
    from deap import base

    seed, generation = seed_of("deap_toolbox", seed), whole("deap_toolbox", "generation", generation, least=0)
    toolbox = base.Toolbox()
    toolbox.register("rows", lambda count: problem.random_rows(count, np.random.default_rng([seed, generation])))
    toolbox.register("evaluate", evaluate or (lambda rows: problem.values(rows)[:, 0]))
    toolbox.register("map", lambda function, rows: function(rows))
    toolbox.register("select", tournament)
    toolbox.register("mate", lambda rows, pairs: crossed(problem, rows, pairs, seed=seed, generation=2 * generation))
    toolbox.register(
        "mutate", lambda rows, moves: mutated(problem, rows, moves, seed=seed, generation=2 * generation + 1)
    )
    return toolbox


def deap_individual_toolbox(problem: PackedProblem, *, seed: int = 0) -> base.Toolbox:
    """Return a Toolbox for DEAP's own algorithms (`eaSimple`, `eaMuPlusLambda`, …): one individual at a time.

    An individual is a row with a `fitness` over all objectives. You register the selection, `select`, yourself: for
    example `deap.tools.selNSGA2`.

    Parameters
    ----------
    problem
        The jobs, the machine and the objectives, as a `SearchProblem`.
    seed
        The seed of all random draws.

    Examples
    --------
    >>> objectives = fs.search.Objectives.of(["makespan", "energy"])
    >>> problem = fs.search.SearchProblem(fs.read("sample").head(20), fs.Federation.of(128), objectives)
    >>> toolbox = fs.search.deap_individual_toolbox(problem, seed=1)
    >>> len(toolbox.evaluate(toolbox.population(4)[0]))
    2
    """
    from deap import base

    seed = seed_of("deap_individual_toolbox", seed)

    class Fitness(base.Fitness):  # type: ignore[misc]
        """A DEAP fitness that minimises all objectives."""

        weights = (-1.0,) * len(problem.objectives.names)

    class Individual(np.ndarray):
        """A plan's row as an array, with a DEAP fitness."""

        fitness: Fitness

    counter = [0]

    def individual(row: Ints) -> Individual:
        one = np.array(row, dtype=np.int64).view(Individual)
        one.fitness = Fitness()
        return one

    def clone(other: Individual) -> Individual:
        one = individual(other)
        one.fitness.wvalues = other.fitness.wvalues
        return one

    def population(count: int) -> list[Individual]:
        return [individual(row) for row in problem.random_rows(count, np.random.default_rng(seed))]

    def evaluated(function: object, individuals: list[Individual]) -> list[tuple[float, ...]]:
        rows = list(individuals)
        if not rows:
            return []
        return [tuple(values) for values in problem.values(np.array(rows, dtype=np.int64)).tolist()]

    def mate(a: Individual, b: Individual) -> tuple[Individual, Individual]:
        counter[0] += 1
        children = crossed(problem, np.array([a, b]), np.array([[0, 1], [1, 0]]), seed=seed, generation=counter[0])
        a[:], b[:] = children
        return a, b

    def mutate(one: Individual) -> tuple[Individual]:
        counter[0] += 1
        one[:] = mutated(problem, np.array([one]), np.array([2]), seed=seed, generation=counter[0])[0]
        return (one,)

    toolbox = base.Toolbox()
    toolbox.register("individual", individual)
    toolbox.register("population", population)
    toolbox.register("evaluate", lambda one: evaluated(None, [one])[0])
    toolbox.register("map", evaluated)
    toolbox.register("clone", clone)
    toolbox.register("mate", mate)
    toolbox.register("mutate", mutate)
    return toolbox
