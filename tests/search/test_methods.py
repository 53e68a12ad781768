"""Every method of the registry: repeatable, resumable, never worse than the rules, better than chance."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import fedsched as fs
from fedsched.io.trees import Saved, pack, unpack
from fedsched.optimize.baselines import baseline_schedule, values_of
from fedsched.search.methods.methods import METHODS as REGISTRY
from fedsched.search.methods.methods import method_named
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import Run, drive
from fedsched.search.run.seeds import structured_seeds
from fedsched.search.run.stopping import MaxEvaluations

METHODS = {info.title: info for known in REGISTRY.values() for info in (known, *map(known.encoded, known.encodings))}
NAMES = sorted(METHODS)
# By chance jobs are bound to no nodes: with 120 of them that is better than what is found for plans that bind them all.
FREE = [name for name in NAMES if name != "random" and not METHODS[name].encoding]
BUDGET = 1500


def a_run(threads: int = 1, *, jobs: int = 40, seed: int = 2, budget: int = BUDGET, structured: bool = True) -> Run:
    """Return a run over a small package, two objectives."""
    problem = SearchProblem(
        fs.Workload.example().head(jobs + 10 * seed).take(np.arange(10 * seed, 10 * seed + jobs)),
        fs.Federation.example(),
        Objectives.of(("makespan", "energy")),
        threads=threads,
    )
    values = values_of(problem, [baseline_schedule(problem, "fcfs")])
    seeds = structured_seeds(problem, limit=60 if structured else 0)
    run = Run(problem, seed, [MaxEvaluations(budget)], values[0], seeds, np.zeros(2))
    run.archive.add(values, policies=["fcfs"])
    return run


@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
def test_threads_change_nothing(name: str) -> None:
    """Tests that one thread and two find the same archive, to the last bit and row, and spend the same budget."""
    one, two = a_run(1), a_run(2)
    for run in (one, two):
        drive(run, METHODS[name].make(run))
    assert one.evaluations == two.evaluations == BUDGET
    assert np.array_equal(one.archive.values, two.archive.values)
    assert np.array_equal(one.archive.rows(), two.archive.rows())


@pytest.mark.compiled
@pytest.mark.parametrize("name", NAMES)
def test_packing_in_the_middle_changes_nothing(name: str) -> None:
    """Tests that a method and run saved as bytes after each of the first steps go on as if nothing had happened."""
    whole = a_run()
    drive(whole, METHODS[name].make(whole))
    broken = a_run()
    method = METHODS[name].make(broken)
    for _ in range(3):
        if broken.left < 600:
            break
        method.step(broken)
        broken.steps += 1
        broken.remember()
        saved = Saved(unpack(pack({"run": broken.state(), "method": method.state()})))
        broken = a_run()
        broken.restore(saved.part("run"))
        method = METHODS[name].make(broken)
        method.restore(saved.part("method"), broken)
    drive(broken, method)
    assert np.array_equal(whole.archive.values, broken.archive.values)
    assert [moment.best for moment in whole.history] == [moment.best for moment in broken.history]


@pytest.mark.compiled
@pytest.mark.parametrize("name", [name for name in NAMES if name != "random"])
def test_at_least_as_good_as_the_best_seed(name: str) -> None:
    """Tests that no method loses what the structured seeds and FCFS give, in either objective."""
    run = a_run()
    rows = run.problem.values(run.seeds).min(axis=0)
    drive(run, METHODS[name].make(run))
    assert (run.archive.best() <= rows).all()
    assert (run.archive.best() <= run.reference).all()


@functools.cache
def unseeded(name: str, seed: int) -> float:
    """Return the best that a method finds on an instance without any seeds."""
    run = a_run(seed=seed, jobs=120, structured=False, budget=2000)
    drive(run, METHODS[name].make(run))
    return float(run.scalar(run.archive.values).min())


@pytest.mark.deep
@pytest.mark.compiled
@pytest.mark.parametrize("name", FREE)
def test_better_than_chance(name: str) -> None:
    """Tests that without any seeds a method beats random plans at equal evaluations on seven of eight instances.

    A method no better than chance would pass with probability 9/256, and hardly ever with a mean gain of a percent.
    """
    ratios = [unseeded(name, seed) / unseeded("random", seed) for seed in range(8)]
    assert sum(ratio < 1.0 for ratio in ratios) >= 7
    assert np.mean(ratios) < 0.99


@pytest.mark.parametrize("name", NAMES)
def test_a_little_of_every_method(name: str) -> None:
    """Tests that a few evaluations of each method, compiled or not, are counted and bring feasible plans."""
    run = a_run(jobs=8, budget=130)
    drive(run, METHODS[name].make(run))
    assert run.evaluations == 130
    for entry in run.archive.entries:
        if entry.row is not None:
            run.problem.schedule(entry.row).verify()


def test_names_and_aliases() -> None:
    """Tests that auto is memetic, nsga2 is moga, and a wrong name is met with the nearest."""
    assert method_named("auto").name == "memetic"
    assert method_named("NSGA2").name == "moga"
    with pytest.raises(ValueError, match="Did you mean 'moga'"):
        method_named("mogga")


def test_mpso_fga_needs_two_objectives() -> None:
    """Tests that the hybrid refuses one objective with the cure."""
    with pytest.raises(ValueError, match="two objectives"):
        fs.optimize(
            fs.Workload.example().head(10), fs.Federation.example(), method="mpso-fga", objectives="energy",
            evaluations=100, baselines=("fcfs",),
        )  # fmt: skip
