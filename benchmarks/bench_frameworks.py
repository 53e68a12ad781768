"""What a search costs beside its evaluations: microseconds an individual, and evaluation's share of the time."""

from __future__ import annotations

import time

import numpy as np
from bench_evaluation import instance
from measuring import Report, arguments

from fedsched.search import genetic, moga
from fedsched.search.driver import drive
from fedsched.search.methods import METHODS
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem
from fedsched.search.run import Run
from fedsched.search.seeds import structured_seeds
from fedsched.search.stopping import MaxEvaluations

POPULATION = 200
TARGETS = {"ga": 15.0, "moga": 15.0, "pso-ea": 15.0, "mpso-fga": 15.0}
SHARES = {"ga": 2 / 3, "moga": 2 / 3}


def overhead(name: str, evaluations: int) -> tuple[float, float]:
    """Return microseconds an individual that are not evaluation, and evaluation's share."""
    jobs, federation = instance(0.0)
    problem = SearchProblem(jobs, federation, Objectives.of(("makespan", "energy")))
    reference = problem.values(problem.row(np.arange(len(jobs)))[None])[0]
    spent = [0.0]
    evaluate = problem.metrics

    def timed(rows: np.ndarray) -> np.ndarray:
        begun = time.perf_counter()
        metrics = evaluate(rows)
        spent[0] += time.perf_counter() - begun
        return metrics

    problem.metrics = timed  # type: ignore[method-assign]
    seeds = structured_seeds(problem, limit=POPULATION)
    for count in (600, evaluations):  # the first time compiles and imports
        run = Run(problem, 1, [MaxEvaluations(count)], reference, seeds, np.zeros(2))
        method = METHODS[name].make(run)
        spent[0] = 0.0
        begun = time.perf_counter()
        drive(run, method)
        total = time.perf_counter() - begun
    return (total - spent[0]) / evaluations * 1e6, spent[0] / total


def walking(evaluations: int) -> tuple[float, float]:
    """Return the same of the memetic search, whose evaluations are inside its kernel: against the batch entry."""
    jobs, federation = instance(0.0)
    problem = SearchProblem(jobs, federation, Objectives.of(("makespan", "energy")))
    reference = problem.values(problem.row(np.arange(len(jobs)))[None])[0]
    seeds = structured_seeds(problem, limit=50)
    for count in (2000, evaluations):
        run = Run(problem, 1, [MaxEvaluations(count)], reference, seeds, np.zeros(2))
        method = METHODS["memetic"].make(run)
        begun = time.perf_counter()
        drive(run, method)
        total = time.perf_counter() - begun
    met = np.repeat(run.archive.rows(), 1 + 2000 // max(len(run.archive.rows()), 1), axis=0)
    begun = time.perf_counter()
    problem.metrics(met)
    evaluating = (time.perf_counter() - begun) / len(met)
    each = total / evaluations
    return (each - evaluating) * 1e6, evaluating / each


def main() -> None:
    """Print the table."""
    evaluations = 1000 if arguments(__doc__ or "").smoke else 20_000
    genetic.POPULATION = moga.POPULATION = POPULATION
    report = Report(f"200 jobs × 8 groups, population {POPULATION}, {evaluations} evaluations")
    for name, target in TARGETS.items():
        cost, share = overhead(name, evaluations)
        report.row(f"{name}: beside evaluation, an individual", cost, "µs", target, at_most=True)
        report.row(f"{name}: evaluation's share", 100 * share, "%", 100 * SHARES[name] if name in SHARES else None)
    cost, share = walking(evaluations)
    report.row("memetic: beside evaluation of plans as good as its best", cost, "µs", 3.0, at_most=True)
    report.row("memetic: evaluation's share", 100 * share, "%", 90)


if __name__ == "__main__":
    main()
