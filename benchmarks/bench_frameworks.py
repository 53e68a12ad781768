"""What a search costs beside its evaluations: microseconds an individual, and evaluation's share of the time."""

from __future__ import annotations

import copy
import time

import numpy as np
from bench_evaluation import instance
from measuring import Report, arguments

from fedsched.search.methods import genetic, mpso_fga, swarm
from fedsched.search.methods.memetic import Memetic
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import Run, drive
from fedsched.search.run.seeds import structured_seeds
from fedsched.search.run.stopping import MaxEvaluations

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
    """Return the same of the memetic search, whose evaluations are inside its kernel.

    A walk in the middle of a search is walked twice: a trial at a time, which shows the plans that it tries, and at
    once, against the clock; the batch entry then evaluates the same plans.
    """
    jobs, federation = instance(0.0)
    problem = SearchProblem(jobs, federation, Objectives.of(("makespan", "energy")))
    reference = problem.values(problem.row(np.arange(len(jobs)))[None])[0]
    seeds = structured_seeds(problem, limit=50)
    run = Run(problem, 1, [MaxEvaluations(evaluations)], reference, seeds, np.zeros(2))
    drive(run, method := Memetic(run))
    walkers = method.walkers
    shown = copy.deepcopy(walkers)
    trials = 40  # few, so that the batch entry reads warm rows as the walk does
    tried = np.zeros((len(shown) * trials, problem.layout.length), dtype=np.int64)
    for k, walker in enumerate(shown.walkers):
        for i in range(trials):
            shown.walk_one(run, k, 1, 0)
            tried[k * trials + i] = walker.trial
    walked, evaluated = [], []
    for _ in range(20):
        timed = copy.deepcopy(walkers)
        begun = time.perf_counter()
        for k in range(len(timed)):
            timed.walk_one(run, k, trials, 0)
        walked.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        problem.metrics(tried)
        evaluated.append(time.perf_counter() - begun)
    each, evaluating = min(walked) / len(tried), min(evaluated) / len(tried)
    return (each - evaluating) * 1e6, evaluating / each


def main() -> None:
    """Print the table."""
    evaluations = 1000 if arguments(__doc__ or "").smoke else 20_000
    genetic.POPULATION = swarm.SWARM = mpso_fga.SWARM = POPULATION
    report = Report(f"200 jobs × 8 groups, population {POPULATION}, {evaluations} evaluations")
    for name, target in TARGETS.items():
        cost, share = overhead(name, evaluations)
        report.row(f"{name}: beside evaluation, an individual", cost, "µs", target, at_most=True)
        report.row(f"{name}: evaluation's share", 100 * share, "%", 100 * SHARES[name] if name in SHARES else None)
    cost, share = walking(evaluations)
    report.row("memetic: beside evaluation of the same plans, a trial", cost, "µs", 3.0, at_most=True)
    report.row("memetic: evaluation's share", 100 * share, "%", 90)


if __name__ == "__main__":
    main()
