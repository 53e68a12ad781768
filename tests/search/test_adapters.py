"""Our problem in the hands of pymoo's and DEAP's own algorithms."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.search import Objectives, SearchProblem, deap_individual_toolbox, deap_toolbox, pymoo_problem

if TYPE_CHECKING:
    from collections.abc import Callable


def a_problem(*objectives: str) -> SearchProblem:
    """Return a small problem."""
    jobs = fs.Workload.example().head(12)
    return SearchProblem(jobs, fs.Federation.example(), Objectives.of(objectives or ("makespan", "energy")))


def nsga3() -> Any:
    """Return NSGA-III for three objectives."""
    from pymoo.algorithms.moo.nsga3 import NSGA3
    from pymoo.util.ref_dirs import get_reference_directions

    return NSGA3(get_reference_directions("das-dennis", 3, n_partitions=4), pop_size=16)


def sms_emoa() -> Any:
    """Return SMS-EMOA."""
    from pymoo.algorithms.moo.sms import SMSEMOA

    return SMSEMOA(pop_size=12)


@pytest.mark.parametrize("make", [nsga3, sms_emoa])
def test_pymoos_algorithms_run_as_they_are(make: Callable[[], Any]) -> None:
    """Tests that algorithms of pymoo find plans whose schedules have the values that pymoo was told."""
    from pymoo.optimize import minimize

    problem = a_problem("makespan", "energy", "mean_wait")
    found = minimize(pymoo_problem(problem), make(), ("n_gen", 3), seed=1)
    rows = problem.rows_of_keys(np.atleast_2d(found.X).copy())
    for row, told in zip(rows, np.atleast_2d(found.F), strict=True):
        schedule = problem.schedule(row)
        schedule.verify()
        metrics = schedule.metrics().as_dict()
        assert told == pytest.approx([metrics[name] for name in problem.objectives.names])


def test_the_same_seed_gives_the_same_front() -> None:
    """Tests that nothing but pymoo's seed decides."""
    from pymoo.optimize import minimize

    problem = a_problem("makespan", "energy", "mean_wait")
    first, second = (minimize(pymoo_problem(problem), sms_emoa(), ("n_gen", 3), seed=7).F for _ in range(2))
    assert np.array_equal(first, second)


def test_pymoo_does_not_see_its_vectors_change() -> None:
    """Tests that repair of the weights leaves the population that pymoo holds as it is."""
    problem = a_problem()
    keys = np.full((3, problem.layout.keys_length), 0.9)
    before = keys.copy()
    pymoo_problem(problem).evaluate(keys)
    assert np.array_equal(keys, before)


def test_deaps_algorithms_run_as_they_are() -> None:
    """Tests that an algorithm of DEAP gets feasible individuals with their own values, and clones that are apart."""
    from deap import algorithms, tools

    problem = a_problem()
    toolbox = deap_individual_toolbox(problem, seed=2)
    toolbox.register("select", tools.selNSGA2)
    state = random.getstate()
    random.seed(3)
    try:
        population = toolbox.population(8)
        for one, fitness in zip(population, toolbox.map(toolbox.evaluate, population), strict=True):
            one.fitness.values = fitness
        population, _ = algorithms.eaMuPlusLambda(population, toolbox, 8, 8, cxpb=0.5, mutpb=0.5, ngen=2, verbose=False)
    finally:
        random.setstate(state)
    for one in population:
        values = problem.values(np.array([one], dtype=np.int64))[0]
        assert one.fitness.values == pytest.approx(values)
        problem.schedule(np.asarray(one)).verify()
    twin = toolbox.clone(population[0])
    assert twin.fitness.values == population[0].fitness.values
    twin[:2] = twin[1::-1]
    assert not np.array_equal(twin, population[0])


def test_the_toolbox_of_rows_names_every_operator() -> None:
    """Tests a generation by the operators that the toolbox of whole arrays registers."""
    problem = a_problem("makespan")
    toolbox = deap_toolbox(problem, seed=1, generation=4)
    rows = toolbox.rows(6)
    values = toolbox.map(toolbox.evaluate, rows)
    assert np.array_equal(values, problem.values(rows)[:, 0])
    pairs = toolbox.select(values, 8, np.random.default_rng(0)).reshape(4, 2)
    children = toolbox.mutate(toolbox.mate(rows, pairs), np.full(4, 2))
    assert children.shape == (4, problem.layout.length)
    assert not np.isnan(problem.values(children)).any()
