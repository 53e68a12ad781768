"""The VO's choice: dynamic programming against trying every combination."""

from __future__ import annotations

import random

import numpy as np
import pytest
from reference import market_naive as naive
from support.tiers import tries

from fedsched import market
from fedsched.core.errors import UnknownNameError
from fedsched.market.combination import mean_level

PROBLEMS = ("profit", "time", "cost", "idleness")


def small_batch(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return job, time and cost of the alternatives of up to five jobs, in whole numbers and in mixed order."""
    rng = random.Random(seed)
    jobs = rng.randrange(1, 6)
    job = [j for j in range(jobs) for _ in range(rng.randrange(1, 5))]
    rng.shuffle(job)
    time = [float(rng.randrange(1, 30)) for _ in job]
    cost = [float(rng.randrange(1, 30)) for _ in job]
    return np.array(job), np.array(time), np.array(cost)


def roles(problem: str, time: np.ndarray, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what is minimised and what is limited."""
    return {"profit": (-cost, time), "time": (time, cost), "cost": (cost, time), "idleness": (-time, time)}[problem]


def plain(
    problem: str, job: np.ndarray, time: np.ndarray, cost: np.ndarray, limit: float
) -> tuple[tuple[float, float, tuple[int, ...]], bool]:
    """Return the reference's answer, its alternatives as rows."""
    value, expense = roles(problem, time, cost)
    rows = [np.flatnonzero(job == j) for j in sorted(set(job.tolist()))]
    groups = [list(zip(value[own].tolist(), expense[own].tolist(), strict=True)) for own in rows]
    (best, spent, chosen), within = naive.best_combination(groups, limit)
    return (best, spent, tuple(int(own[s]) for own, s in zip(rows, chosen, strict=True))), within


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_choice_is_the_best_of_all_combinations(problem: str) -> None:
    """On hundreds of small batches, with a cell of the grid for each whole number, value, expense and rows agree."""
    unkept = 0
    for seed in range(tries(300)):
        job, time, cost = small_batch(seed)
        _, expense = roles(problem, time, cost)
        least = sum(expense[job == j].min() for j in set(job.tolist()))
        limit = float(least + random.Random(seed).randrange(-3, 40))
        limit = max(limit, 0.0)
        (best, spent, rows), within = plain(problem, job, time, cost, limit)
        grid = max(int(limit - least), 1)
        coarse = market.choose(job, time, cost, problem=problem, limit=limit, grid=1 + seed % 5)
        assert tuple(coarse.rows.tolist()) == rows  # ties too are settled alike
        chosen = market.choose(job, time, cost, problem=problem, limit=limit, grid=grid)
        assert (chosen.within, tuple(chosen.rows.tolist())) == (within, rows)
        assert (abs(chosen.value), chosen.expense) == (abs(best), spent)
        assert chosen.within == (chosen.expense <= limit)
        unkept += not within
    assert tries(11) <= unkept < tries(100)


@pytest.mark.compiled
@pytest.mark.parametrize("problem", PROBLEMS)
def test_any_grid_gives_the_best_combination(problem: str) -> None:
    """How finely the table is divided changes nothing: the best value, never over the limit."""
    for seed in range(200):
        job, time, cost = small_batch(seed)
        time, cost = time * np.pi / 3, cost * np.e / 3
        value, expense = roles(problem, time, cost)
        least = sum(expense[job == j].min() for j in set(job.tolist()))
        limit = float(least * (1 + seed / 200))
        (best, _, _), _ = plain(problem, job, time, cost, limit)
        for grid in (1, 7, 100, 20_000):
            chosen = market.choose(job, time, cost, problem=problem, limit=limit, grid=grid)
            assert chosen.within
            assert chosen.expense <= limit * (1 + 1e-12)
            assert chosen.proven
            assert value[chosen.rows].sum() == pytest.approx(best, rel=1e-12)


@pytest.mark.compiled
def test_default_limits_are_those_of_the_paper() -> None:
    """t* and b* are Σ ⌈mean⌉ (eqs. 1, 5), or b* is the value of (6); (7) under that takes no longer than (6)."""
    for seed in range(100):
        job, time, cost = small_batch(seed)
        limit = sum(int(np.ceil(time[job == j].mean())) for j in set(job.tolist()))
        assert mean_level(job, time) == limit
        profit = market.choose(job, time, cost, problem="profit")
        assert profit.limit == limit
        assert profit.value == cost[profit.rows].sum()
        usual = market.choose(job, time, cost, problem="time")
        assert usual.limit == sum(int(np.ceil(cost[job == j].mean())) for j in set(job.tolist()))
        fast = market.choose(job, time, cost, problem="time", budget="profit")
        assert fast.limit == profit.value
        assert fast.within
        assert fast.value <= time[profit.rows].sum() + 1e-9
        assert market.choose(job, time, cost, problem="idleness").value <= limit


def test_a_limit_that_nothing_keeps_is_reported() -> None:
    """The combination of least expense is taken and said to be above the limit."""
    job, time, cost = np.array([0, 0, 1]), np.array([5.0, 3.0, 4.0]), np.array([2.0, 9.0, 1.0])
    chosen = market.choose(job, time, cost, problem="time", limit=2.5)
    assert (chosen.rows.tolist(), chosen.expense, chosen.within) == ([0, 2], 3.0, False)
    assert market.choose(job, time, cost, problem="time", limit=3.0).within


def test_jobs_without_alternatives_and_empty_tables_are_left_out() -> None:
    """Rows are given only for jobs that occur; without any row nothing is chosen."""
    job, time, cost = np.array([7, 2, 7]), np.array([5.0, 3.0, 4.0]), np.array([2.0, 9.0, 1.0])
    assert market.choose(job, time, cost, problem="cost", limit=20.0).rows.tolist() == [1, 2]
    nothing = np.zeros(0)
    assert market.choose(np.zeros(0, np.int64), nothing, nothing).rows.size == 0


def test_wrong_options_are_named() -> None:
    """Problems, limits and grids that make no sense are refused with their value."""
    job, one = np.array([0]), np.array([1.0])
    with pytest.raises(UnknownNameError, match="Did you mean 'profit'"):
        market.choose(job, one, one, problem="profits")
    with pytest.raises(UnknownNameError, match="Did you mean 'mean'"):
        market.choose(job, one, one, budget="means")
    with pytest.raises(ValueError, match="limit=-1 must be finite and at least 0"):
        market.choose(job, one, one, limit=-1)
    for wrong, message in (
        (([0, 1], [1.0], [1.0]), "must be rows of one length"),
        (([0], [-1.0], [1.0]), "row 0: time=-1.0 must be finite and at least 0"),
        (([-1], [1.0], [1.0]), "row 0: job=-1 must be finite and at least 0"),
        (([0], [1.0], [float("inf")]), "row 0: cost=inf"),
    ):
        with pytest.raises(ValueError, match=message):
            market.choose(*wrong)
    with pytest.raises(TypeError, match="job must hold whole numbers"):
        market.choose([0.5], [1.0], [1.0])
    with pytest.raises(ValueError, match="grid=0 must be at least 1"):
        market.choose(job, one, one, grid=0)


def test_jobs_may_have_any_numbers() -> None:
    """The numbers of jobs are names: large ones cost no more than small ones, and change nothing."""
    job, time, cost = small_batch(3)
    small = market.choose(job, time, cost)
    large = market.choose(job + 10**15, time, cost)
    assert large.rows.tolist() == small.rows.tolist()
    assert (large.limit, large.value) == (small.limit, small.value)
