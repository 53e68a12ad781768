"""Walks from cluster to cluster: what they hold is what whole runs give, to the bit, and where there are any."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.apart_cases import BASE, TWO, WHOLE, any_problem, federation, package, run_of, sliced
from support.tiers import INTERPRETED, tries

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.generate import planted
from fedsched.model.schedule.metrics import PRICED, QUANTILES
from fedsched.search.encoding.genome import ANY_NODES
from fedsched.search.methods.memetic import Memetic
from fedsched.search.problem.objectives import SOUGHT, Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import BudgetSpent, drive
from fedsched.search.walks.per_cluster_walkers import OF_THE_WHOLE, PerClusterWalkers, can_walk_per_cluster

NAMES = [name for name in SOUGHT if name not in (*OF_THE_WHOLE, *PRICED, *QUANTILES)]  # all that clusters have parts in


@settings(max_examples=tries(60), derandomize=True, deadline=None)
@given(st.integers(0, 10**6))
def test_decomposed_is_whole(seed: int) -> None:
    """Tests that plans at hand and best have the values that whole runs give them, bit by bit, contention included.

    Under any reading and every placement that is walked under.
    """
    rng = np.random.default_rng(seed)
    wide = bool(rng.random() < 0.5)
    machine = federation(rng, least=3 if wide else 2)
    names = rng.permutation(NAMES)[: int(rng.integers(1, 3))].tolist()
    problem = any_problem(machine, rng, names, wide=wide)
    run = run_of(problem, rng)
    walkers = PerClusterWalkers(run, members=1 if len(names) == 1 else 3)
    rows = problem.random_rows(len(walkers), rng)
    rules = problem.layout.rules(rows)
    rules[:, 1] = rng.choice(np.intersect1d(problem.space.placements, ANY_NODES), len(rows))
    for k, row in enumerate(problem.repaired(rows)):
        walkers.set_out(run, k, row)
    assert walkers.are_set
    walkers.walk(run, 6)
    for walker in walkers.walkers:
        rows = np.array([walker.current, walker.best])
        assert problem.holds(rows)
        np.testing.assert_array_equal(problem.values(rows), walker.objectives)
        assert walker.steps[0] > 0
    np.testing.assert_array_equal(problem.values(np.array(run.archive.plans()[0])), run.archive.values)


def test_a_share_of_the_idle_energy_is_one_of_the_whole_machine() -> None:
    """Tests that `efficient` chooses between the clusters of a unit as it does in the whole machine [19]."""
    cheap, fast = fs.NodeGroup(8, 1.0, 100.0, 60.0), fs.NodeGroup(8, 2.0, 220.0, 60.0)
    others = [fs.NodeGroup(7, 1.0, 100.0, 60.0)] * 4  # for which idle energy would be dear, were it the unit's alone
    machine = fs.Federation(tuple(fs.Cluster(f"C{k}", (one,)) for k, one in enumerate([cheap, fast, *others])))
    jobs = fs.Workload(submit=np.zeros(6), tasks=[10, 2, 3, 2, 1, 4], runtime=[20.0, 30.0, 40.0, 50.0, 60.0, 10.0])
    problem = SearchProblem(jobs, machine, Objectives.of("flow"))
    run = run_of(problem, np.random.default_rng(0))
    walkers = PerClusterWalkers(run, members=1)
    in_both = np.tile([8, 8, 0, 0, 0, 0], (6, 1))
    row = problem.row(np.arange(6), in_both, (Dispatch.GREEDY, Placement.EFFICIENT))
    walkers.place(0, row, problem.values(row[None])[0])
    walkers.walk(run, 20)
    walker = walkers.walkers[0]
    np.testing.assert_array_equal(problem.values(np.array([walker.current, walker.best])), walker.objectives)


def test_a_walk_in_parts_is_the_walk_in_one() -> None:
    """Tests that a walk that looks at the clock in between goes the way of one that does not."""
    ways: list[tuple[int, Any, float]] = []
    slices: list[int] = []
    asked: list[int] = []
    for parts in ([40], [1, 2, 7, 30]):
        rng = np.random.default_rng(5)
        machine = federation(rng)
        problem = SearchProblem(package(machine, rng, jobs=20), machine, Objectives.of("makespan"))
        run = run_of(problem, rng, kind=sliced(slices, asked))
        walkers = PerClusterWalkers(run, members=1)
        walkers.set_out(run, 0, run.seeds[0])
        slices[:], asked[:] = parts, []
        walkers.walk(run, 40)
        assert asked == [2] + [1] * len(parts)  # to begin with, all clusters are run
        ways.append((walkers.walkers[0].steps[0], walkers.walkers[0].current.copy(), walkers.best(0)))
    (steps, row, best), (steps_in_parts, row_in_parts, best_in_parts) = ways
    assert steps == steps_in_parts
    assert best == best_in_parts
    np.testing.assert_array_equal(row, row_in_parts)


def test_a_plan_is_bound_where_most_of_each_job_ran() -> None:
    """Tests that setting out binds each job to one cluster, in the order of its starts, and changes nothing else."""
    machine = fs.Federation.of(4, 4)
    workload = fs.Workload(submit=np.zeros(3), tasks=[3, 4, 4], runtime=[10.0, 10.0, 20.0])
    problem = SearchProblem(workload, machine, Objectives.of("makespan"))
    run = run_of(problem, np.random.default_rng(0))
    walkers = PerClusterWalkers(run, members=1)
    for row in problem.random_rows(20, np.random.default_rng(1)):
        bound = walkers.bound(run, row)
        assert problem.holds(bound[None])
        schedule = problem.schedule(bound)
        assert ((schedule.counts > 0).sum(axis=1) == 1).all()


def test_clusters_are_apart_where_nothing_joins_them() -> None:
    """Tests the case that the others differ from."""
    assert can_walk_per_cluster(SearchProblem(fs.Workload(**BASE), TWO, Objectives.of("makespan")))


@pytest.mark.parametrize("case", WHOLE)
def test_where_clusters_are_joined_plans_are_evaluated_whole(case: str) -> None:
    """Tests each reason for which no walk goes from cluster to cluster."""
    assert not can_walk_per_cluster(WHOLE[case]())


def test_the_third_side_has_its_turn_and_gains_what_it_finds() -> None:
    """Tests that memetic walks from cluster to cluster within its evaluations, and finds planted optima closer so."""
    speeds = (1.0, 0.5, 2.0)
    machine = fs.Federation(tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(16, speed),)) for k, speed in enumerate(speeds)))
    workload, best = planted(machine, jobs=40, seed=3)
    problem = SearchProblem(workload, machine, Objectives.of("makespan"))
    evaluations = 1000 if INTERPRETED else 2000  # with 500 the third side has no turn
    run = run_of(problem, np.random.default_rng(2), evaluations=evaluations)
    method = Memetic(run)
    drive(run, method)
    assert method.per_cluster is not None
    assert method.per_cluster.are_set
    assert run.evaluations == evaluations
    assert (method._spent > 0).all()
    assert run.archive.values.min() >= best * (1.0 - 1e-12)
    assert run.archive.values.min() <= method.per_cluster.best(0) * run.reference[0] * (1.0 + 1e-12)


@pytest.mark.parametrize("evaluations", range(1, 12))
def test_no_evaluation_is_one_too_many(evaluations: int) -> None:
    """Tests that setting out and walking keep to the budget, wherever within them it ends."""
    rng = np.random.default_rng(3)
    machine = fs.Federation.of(5, 5)
    problem = SearchProblem(package(machine, rng, jobs=8), machine, Objectives.of(("makespan", "energy")))
    run = run_of(problem, rng, evaluations=evaluations)
    walkers = PerClusterWalkers(run, members=3)
    with contextlib.suppress(BudgetSpent):
        for k in range(3):
            walkers.set_out(run, k, run.seeds[0])
        while run.left:
            walkers.walk(run, min(3, run.left))
    assert run.evaluations == evaluations
    assert walkers.are_set == (evaluations >= 6)


def test_walks_begin_where_a_policy_is_better_than_every_plan() -> None:
    """Tests that a front which holds a policy alone leaves the walks somewhere to begin."""
    rng = np.random.default_rng(8)
    machine = fs.Federation.of(5, 5)
    problem = SearchProblem(package(machine, rng, jobs=6), machine, Objectives.of("makespan"))
    run = run_of(problem, rng, evaluations=800)
    run.archive.add(np.zeros((1, 1)), policies=["unbeatable"])
    method = Memetic(run)
    drive(run, method)
    assert run.evaluations == 800
    assert method.per_cluster is not None
    assert method.per_cluster.are_set


def test_nothing_begins_that_may_end_too_late() -> None:
    """Tests that neither setting out nor a walk begins when the slowest plans would end beyond the time."""
    rng = np.random.default_rng(8)
    problem = SearchProblem(package(fs.Federation.of(5, 5), rng, jobs=6), fs.Federation.of(5, 5), Objectives.of("flow"))
    run = run_of(problem, rng)
    walkers = PerClusterWalkers(run, members=1)
    walkers.set_out(run, 0, run.seeds[0])
    done = run.evaluations
    run.cut_at = run.seconds + 3600.0
    run.note_trials(1, run.seconds - 2400.0)
    walkers.walk(run, 5)  # two plans may take 4800 s
    assert run.evaluations == done
    run.note_trials(1, run.seconds - 4800.0)
    with pytest.raises(BudgetSpent):
        walkers.set_out(run, 0, run.seeds[0])
    assert run.evaluations == done
