"""Walks over strict queues: their sums are those of whole runs, and their seeds those of a list of ten lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.apart_cases import BASE, TWO, WHOLE, any_problem, federation, package, run_of, sliced
from support.tiers import INTERPRETED, tries

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.io.trees import Saved, pack, unpack
from fedsched.policies.list_heuristics import list_keys
from fedsched.search.methods.memetic import Memetic
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import Run, drive
from fedsched.search.run.seeds import structured_seeds
from fedsched.search.run.stopping import MaxEvaluations
from fedsched.search.walks.per_cluster_walkers import TERMS, QueueWalkers, can_walk_queues
from fedsched.search.walks.queue_walk import Term

if TYPE_CHECKING:
    from pathlib import Path


def terms(problem: SearchProblem, schedule: fs.Schedule, term: Term) -> np.ndarray:
    """Return what each job adds to a sum, without its weight."""
    run, response = schedule.finish - schedule.start, schedule.finish - problem.problem.submit
    return {
        Term.RESPONSE: response,
        Term.WAIT: schedule.start - problem.problem.submit,
        Term.SLOWDOWN: response / run,
        Term.BOUNDED: np.maximum(1.0, response / np.maximum(run, 10.0)),
    }[term]


@settings(max_examples=tries(60), derandomize=True, deadline=None)
@given(st.integers(0, 10**6))
def test_sums_are_those_of_whole_runs(seed: int) -> None:
    """Tests values of plans at hand and best against whole runs, and that no job adds less than its bound.

    Under any reading, on clusters of several speeds, with jobs that may not use all nodes.
    """
    rng = np.random.default_rng(seed)
    machine = federation(rng, groups=3, least=1)
    name = str(rng.choice([*TERMS]))
    problem = any_problem(machine, rng, [name], wide=False)
    assert can_walk_queues(problem)
    run = run_of(problem, rng)
    walkers = QueueWalkers(run)
    walkers.set_out(run, 0, problem.random_rows(1, rng)[0])
    walkers.walk(run, 8)
    (walker,) = walkers.walkers
    rows = np.array([walker.current, walker.best])
    assert problem.holds(rows)
    assert (problem.layout.rules(rows) == [Dispatch.LOCAL, Placement.FASTEST]).all()
    np.testing.assert_allclose(problem.values(rows), walker.objectives, rtol=1e-12)
    np.testing.assert_array_equal(problem.values(np.array(run.archive.plans()[0])), run.archive.values)
    assert walker.steps[0] > 0
    schedule, sums = problem.schedule(walker.best), walkers._sums
    schedule.verify()
    added = sums.weight * terms(problem, schedule, TERMS[name])
    np.testing.assert_allclose(added.sum(), problem.values(walker.best[None])[0, 0], rtol=1e-9)
    assert (added * (1.0 + 1e-9) >= sums.least + sums.rate * (schedule.start - problem.problem.t0)).all()


def by_lists(workload: fs.Workload, machine: fs.Federation, key: np.ndarray) -> np.ndarray:
    """Return the starts of jobs that go, in the order of a key, to the cluster where each would end first."""
    free = [np.zeros(cluster.nodes) for cluster in machine.clusters]
    start = np.zeros(len(workload))
    for j in np.argsort(key, kind="stable"):
        tasks, ends = workload.tasks[j], []
        for cluster, times in zip(machine.clusters, free, strict=True):
            sigma, speed = workload.compute_fraction[j], cluster.groups[0].speed
            fits = tasks <= cluster.nodes
            ends.append(times[tasks - 1] + workload.runtime[j] * (sigma / speed + 1.0 - sigma) if fits else np.inf)
        k = int(np.argmin(ends))
        start[j], free[k][:tasks] = free[k][tasks - 1], ends[k]
        free[k].sort()
    return start


@pytest.mark.parametrize("seed", range(tries(20, 5)))
def test_seeds_and_policies_are_lists_of_ten_lines(seed: int) -> None:
    """Tests the four lists, as policies and as seeds of searches, on clusters of one speed each."""
    rng = np.random.default_rng(seed)
    machine = federation(rng, groups=1)
    workload = package(machine, rng, jobs=25)
    problem = SearchProblem(workload, machine, Objectives.of("flow"))
    seeds = structured_seeds(problem, limit=200)
    seeds = seeds[problem.layout.rules(seeds)[:, 0] == Dispatch.LOCAL]
    found = [problem.schedule(row).start for row in seeds]
    for name, key in list_keys(workload.tasks, workload.runtime).items():
        expected = by_lists(workload, machine, key)
        np.testing.assert_allclose(fs.simulate(workload, machine, name).start, expected)
        assert any(np.allclose(start, expected) for start in found)


def waiting(workload: fs.Workload, machine: fs.Federation, objectives: Any = "flow", **more: Any) -> SearchProblem:
    """Return a search problem."""
    return SearchProblem(workload, machine, Objectives.of(objectives), **more)


@pytest.mark.parametrize("objective", TERMS)
def test_sums_over_jobs_are_walked_over(objective: str) -> None:
    """Tests the cases that the next tests differ from, on several clusters and on one."""
    assert can_walk_queues(waiting(fs.Workload(**BASE), TWO, objective))
    assert can_walk_queues(waiting(fs.Workload(**BASE), fs.Federation.of(4), objective))


@pytest.mark.parametrize("objectives", ["makespan", "max_wait", "energy", ("flow", "makespan")])
def test_other_objectives_are_not(objectives: Any) -> None:
    """Tests that only a single sum over jobs is walked over."""
    assert not can_walk_queues(waiting(fs.Workload(**BASE), TWO, objectives))


ALONE = {"one cluster", "a metric of the whole", "one that is 0 here", "a user's function"}  # of objectives, or walked


@pytest.mark.parametrize("case", [case for case in WHOLE if case not in ALONE])
def test_what_joins_clusters_keeps_queues_from_being_walked_over(case: str) -> None:
    """Tests each feature for which no queue runs alone."""
    problem = WHOLE[case]()
    problem.objectives = Objectives.of("flow")
    assert not can_walk_queues(problem)


def test_a_walk_in_parts_is_the_walk_in_one() -> None:
    """Tests that a walk that looks at the clock in between goes the way of one that does not."""
    ways, slices = [], list[int]()
    for parts in ([40], [1, 2, 7, 30]):
        rng = np.random.default_rng(5)
        machine = federation(rng)
        run = run_of(waiting(package(machine, rng, jobs=20), machine), rng, kind=sliced(slices, []))
        walkers = QueueWalkers(run)
        walkers.set_out(run, 0, run.seeds[0])
        slices[:] = parts
        walkers.walk(run, 41)
        walker = walkers.walkers[0]
        ways.append((*walker.steps, *walker.current, *walker.best, *walker.value))
    assert ways[0] == ways[1]


@pytest.mark.parametrize("evaluations", range(1, 8))
def test_no_evaluation_is_one_too_many(evaluations: int) -> None:
    """Tests that walks keep to the budget, and that an only job does not keep them from ending."""
    for jobs in (1, 6):
        workload = fs.Workload(submit=np.zeros(jobs), tasks=np.ones(jobs, int), runtime=np.arange(1.0, jobs + 1.0))
        problem = waiting(workload, TWO)
        run = run_of(problem, np.random.default_rng(0), evaluations=evaluations)
        walkers = QueueWalkers(run)
        walkers.place(0, walkers.bound(run, run.seeds[0]), np.array([1e9]))
        walkers.walk(run, run.left)
        assert run.evaluations <= evaluations


@pytest.mark.parametrize("objective", TERMS)
def test_rounding_is_no_progress(objective: str) -> None:
    """Tests that a walk counts no plan as better whose sum, by a whole run, differs by rounding alone."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        machine = federation(rng)
        run = run_of(waiting(package(machine, rng, jobs=12), machine, objective), rng)
        walkers = QueueWalkers(run)
        walkers.set_out(run, 0, run.seeds[0])
        (walker,) = walkers.walkers
        for _ in range(10):
            steps, value = walker.steps[1], walker.value[1]
            walkers.walk(run, 30)
            assert walker.steps[1] == steps or walker.value[1] < value * (1.0 - 1e-13)


def searched(threads: int, stops: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what a memetic search finds that is saved and continued after these numbers of steps."""
    rng = np.random.default_rng(3)
    machine = federation(rng, least=3)
    problem = waiting(package(machine, rng, jobs=30), machine, "bounded_slowdown", threads=threads)
    seeds = structured_seeds(problem, limit=60)
    budget = [MaxEvaluations(1500 if INTERPRETED else 2500)]
    run = Run(problem, 4, budget, np.ones(1), seeds, np.zeros(1))
    method = Memetic(run)
    for steps in stops:
        for _ in range(steps):
            method.step(run)
            run.steps += 1
        saved = Saved(unpack(pack(method.state())))
        method = Memetic(run)
        method.restore(saved, run)
    drive(run, method)
    assert isinstance(method.per_cluster, QueueWalkers)
    assert (method._spent > 0).all()
    return run.evaluations, *run.archive.values.ravel(), *np.concatenate(run.archive.rows())


def test_a_search_of_queues_is_the_same_resumed_and_on_any_threads() -> None:
    """Tests memetic on a sum of slowdowns: uninterrupted, resumed twice, and on two threads."""
    once = searched(1, ())
    assert searched(1, (3, 2)) == once
    assert searched(2, ()) == once


def test_plans_of_queues_are_stored_and_replayed(tmp_path: Path) -> None:
    """Tests that memetic finds strict queues for flow, and that a file of the plan and its rules give its starts."""
    rng = np.random.default_rng(11)
    machine = federation(rng, least=3)
    workload = package(machine, rng, jobs=40)
    result = fs.optimize(workload, machine, objectives="flow", evaluations=1500, seed=2)
    (plan,) = result.front.plans
    assert plan.dispatch == "local"
    result.save(tmp_path / "found.json")
    found = fs.Result.load(tmp_path / "found.json")
    found.best().verify()
    np.testing.assert_array_equal(found.best().start, result.best().start)
    rules = fs.Rules(order=plan.order, dispatch="local", caps=plan.caps)
    schedule = fs.simulate(workload, machine, rules, knowledge="runtime", same_time="batch")
    np.testing.assert_array_equal(schedule.start, result.best().start)
    assert schedule.metrics().flow == result.front.values[0, 0] < min(one.values[0] for one in result.baselines)
