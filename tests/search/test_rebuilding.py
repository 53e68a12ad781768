"""Ruin and recreate: what comes back is a plan with the value of a whole run, and the same seed makes the same one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.apart_cases import BASE, TWO, WHOLE, federation, package, run_of
from support.tiers import tries

import fedsched as fs
from fedsched.core.jit import kernel
from fedsched.engine.codes import Status
from fedsched.io.trees import Saved
from fedsched.search.methods.memetic import Memetic
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.problem.subfederation_runs import run_unit
from fedsched.search.run.run import drive
from fedsched.search.walks.per_cluster_walk import read_row
from fedsched.search.walks.per_cluster_walkers import FEW_JOBS, PerClusterWalkers, Rebuilders, can_rebuild
from fedsched.search.walks.rebuilding import STUCK

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Problem, State
    from fedsched.search.encoding.genome import Space
    from fedsched.search.problem.subfederation_runs import Parts, Units
    from fedsched.search.run.run import Run


def any_problem(rng: np.random.Generator) -> SearchProblem:
    """Return few jobs on clusters of any kind, or on one; some too wide for a cluster, some that share its uplink."""
    machine = federation(rng, least=1)
    jobs = package(machine, rng, jobs=int(rng.integers(1, 20)), wide=len(machine.clusters) > 1 and rng.random() < 0.4)
    if rng.random() < 0.5:
        jobs = replace(jobs, task_bandwidth=np.zeros(len(jobs)))
    if rng.random() < 0.3:
        jobs = replace(jobs, submit=jobs.submit + 1e9)
    return SearchProblem(jobs, machine, Objectives.of("makespan"))


def rebuilt(problem: SearchProblem, seed: int, stretches: tuple[int, ...]) -> tuple[Run, Rebuilders]:
    """Return what rebuilding a plan of chance came to."""
    run = run_of(problem, np.random.default_rng(seed))
    walkers = Rebuilders(run, members=1)
    walkers.set_out(run, 0, run.seeds[0])
    for trials in stretches:
        walkers.walk(run, trials)
    return run, walkers


@settings(max_examples=tries(60), derandomize=True, deadline=None)
@given(st.integers(0, 10**6))
def test_what_comes_back_is_a_plan(seed: int) -> None:
    """Tests that plans at hand, best, and after all jobs had left have the values that whole runs give them."""
    problem = any_problem(np.random.default_rng(seed))
    run, walkers = rebuilt(problem, seed, (15,))
    walker = walkers.walkers[0]
    found = [run.archive.values.min()]
    for stuck in (0, STUCK + 1):  # then it begins from chance
        walker.steps[0] += stuck
        walkers.walk(run, 15)
        rows = np.array([walker.current, walker.best])
        assert problem.holds(rows)
        np.testing.assert_array_equal(problem.values(rows), walker.objectives)
        found.append(run.archive.values.min())
    assert found == sorted(found, reverse=True)  # what was found before stays
    assert walker.steps[0] > STUCK + 1
    np.testing.assert_array_equal(problem.values(np.array(run.archive.plans()[0])), run.archive.values)


def test_all_leave_when_nothing_better_comes() -> None:
    """Tests that a walk that is stuck begins from chance, and counts what is best from there."""
    rng = np.random.default_rng(4)
    problem = SearchProblem(package(TWO, rng, jobs=12), TWO, Objectives.of("makespan"))
    run, walkers = rebuilt(problem, 4, (60,))
    walker, best = walkers.walkers[0], run.archive.values.min()
    walker.value[1] = 0.0  # nothing is better than this
    walker.steps[0] += STUCK - (walker.steps[0] - walker.steps[1])
    walkers.walk(run, 1)
    assert walker.value[1] == 0.0  # stuck for as long as it may be, but no longer
    walkers.walk(run, 60)
    assert walker.value[1] > 0.0
    assert walker.steps[0] - walker.steps[1] < STUCK
    assert run.archive.values.min() <= best


def test_jobs_come_back_to_every_cluster() -> None:
    """Tests that of more clusters than places none stays empty, and that a job which fits only the last comes back."""
    speeds = [1.0, 1.25] * 6
    clusters = [fs.Cluster(f"C{k}", (fs.NodeGroup(1 + (k == 11), speed),)) for k, speed in enumerate(speeds)]
    machine = fs.Federation(tuple(clusters))
    jobs = fs.Workload(submit=np.zeros(12), tasks=[1] * 11 + [2], runtime=np.full(12, 10.0))
    problem = SearchProblem(jobs, machine, Objectives.of("makespan"))
    run = run_of(problem, np.random.default_rng(1))
    walkers = Rebuilders(run, members=1)
    bound = np.where(np.arange(12) == 0, problem.space.limits, 0)  # all on the first cluster, but who does not fit
    bound[11] = problem.space.limits[11]
    walkers.set_out(run, 0, problem.row(np.arange(12), bound))
    for _ in range(2):
        walkers.walk(run, 600)
        assert run.archive.values.min() == 10.0
        walkers.walkers[0].steps[0] += STUCK + 1  # then all of them leave


def test_rebuilding_is_deterministic_and_goes_on_where_it_was_saved() -> None:
    """Tests that the same seed makes the same plans, whether in one process or saved and restored in between."""
    rng = np.random.default_rng(6)
    machine = federation(rng)
    problem = SearchProblem(package(machine, rng, jobs=15), machine, Objectives.of("makespan"))
    run, walkers = rebuilt(problem, 6, (30, 30))
    again, others = rebuilt(problem, 6, (30,))
    anew = Rebuilders(again, members=1)
    anew.restore(Saved(others.state()), again, most=1)
    anew.walk(again, 30)
    assert run.evaluations == again.evaluations
    for name, value in walkers.state().items():
        np.testing.assert_array_equal(np.array(value), np.array(anew.state()[name]), err_msg=name)


def test_what_is_run_is_counted() -> None:
    """Tests that what the last ruin of a stretch was too many is paid by the next."""
    rng = np.random.default_rng(7)
    problem = SearchProblem(package(TWO, rng, jobs=12), TWO, Objectives.of("makespan"))
    run, walkers = rebuilt(problem, 7, ())
    for trials in (1, 2, 5, 40):
        before, owed = run.evaluations, int(walkers._owed[0])
        walkers.walk(run, trials)
        assert run.evaluations - before == trials
        jobs_run = int(walkers._parts[0].jobs_run[0])
        assert walkers._owed[0] == jobs_run - 12 * trials >= 0
        assert jobs_run >= owed


NOT_REBUILT = {name: make for name, make in WHOLE.items() if name not in ("one cluster", "a job too wide for each")} | {
    "many jobs": lambda: SearchProblem(
        fs.Workload(submit=np.zeros(FEW_JOBS + 1), tasks=[1] * (FEW_JOBS + 1), runtime=[1.0] * (FEW_JOBS + 1)),
        TWO,
        Objectives.of("makespan"),
    ),
    "another objective": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of("flow")),
    "two objectives": lambda: SearchProblem(fs.Workload(**BASE), TWO, Objectives.of(("makespan", "energy"))),
}


def test_few_jobs_are_rebuilt_for_makespan() -> None:
    """Tests the cases that the others differ from."""
    assert can_rebuild(SearchProblem(fs.Workload(**BASE), TWO, Objectives.of("makespan")))
    assert can_rebuild(WHOLE["one cluster"]())
    assert can_rebuild(WHOLE["a job too wide for each"]())


@pytest.mark.parametrize("case", NOT_REBUILT)
def test_who_does_not_rebuild(case: str) -> None:
    """Tests each reason for which plans are not ruined."""
    assert not can_rebuild(NOT_REBUILT[case]())


def test_memetic_rebuilds_within_its_evaluations() -> None:
    """Tests that rebuilders have their share of the budget, and that what they find is what memetic returns."""
    rng = np.random.default_rng(2)
    problem = SearchProblem(package(TWO, rng, jobs=12), TWO, Objectives.of("makespan"))
    run = run_of(problem, rng, evaluations=1500)
    method = Memetic(run)
    drive(run, method)
    assert method.rebuilders is not None
    assert method.rebuilders.are_set
    assert run.evaluations == 1500
    assert method._spent[-1] > method._spent[:-1].max()
    assert run.archive.values.min() <= method.rebuilders.walkers[0].objectives.min()


@kernel
def _units_until(
    problem: Problem, space: Space, units: Units, parts: Parts, state: State, row: Ints, u: int, latest: float
) -> int:
    """Run one unit of a plan unless it would end later than that."""
    read_row(space, units, parts, row)
    return run_unit(problem, space, units, parts, state, u, row[row.size - 1], latest, True)


@settings(max_examples=tries(60), derandomize=True, deadline=None)
@given(st.integers(0, 10**6))
def test_a_run_is_cut_only_where_it_would_end_too_late(seed: int) -> None:
    """Tests that a unit which ends in time is run to its end, and that nobody has less area than is reckoned."""
    rng = np.random.default_rng(seed)
    machine = federation(rng, least=2)
    problem = SearchProblem(package(machine, rng, jobs=int(rng.integers(2, 20))), machine, Objectives.of("makespan"))
    run = run_of(problem, rng)
    walkers = PerClusterWalkers(run, members=1)
    row, parts = walkers.bound(run, run.seeds[0]), walkers._parts[0]
    whole = problem.problem, problem.space, walkers._units, parts, problem.states[0], row
    for u in range(len(parts.length)):
        assert _units_until(*whole, u, np.inf) == Status.DONE
        ends, end = parts.finish.copy(), float(parts.end[u])
        assert _units_until(*whole, u, end * (1.0 + 1e-9)) == Status.DONE
        assert parts.end[u] == end
        np.testing.assert_array_equal(parts.finish, ends)
        if parts.length[u] and _units_until(*whole, u, 0.5 * end) == Status.DONE:
            assert parts.end[u] > 0.5 * end
