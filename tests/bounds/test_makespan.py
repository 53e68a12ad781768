"""The least makespan by modes that a shorter one rules out, and by CP-SAT for few jobs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from reference import brute, naive
from support import strategies

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.cost.dual import least_end, without_late_modes
from fedsched.bounds.lower import small_problems
from fedsched.bounds.lower.relaxation import Relaxation, relax
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack
from fedsched.model.reading import CLAIRVOYANT


def two_speeds() -> fs.Federation:
    """Return two fast nodes and four slow ones."""
    return fs.Federation((fs.Cluster("fast", (fs.NodeGroup(2, 2.0),)), fs.Cluster("slow", (fs.NodeGroup(4, 1.0),))))


def relaxed(workload: fs.Workload, federation: fs.Federation) -> Relaxation:
    """Return the relaxation with true run times."""
    problem = pack(workload, federation, reading=CLAIRVOYANT)
    return relax(problem, caps_table(workload, federation), workload.id, runtime=problem.runtime)


def test_two_long_jobs_cannot_both_have_the_fast_nodes() -> None:
    """Either they take turns there or one is slow: 100 s, of which a mix of both says 67 s."""
    workload = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[100, 100])
    assert lower_bounds(workload, two_speeds(), method="closed").makespan < 70
    for method in ("lp", "auto"):
        assert lower_bounds(workload, two_speeds(), method=method).makespan == pytest.approx(100)
        assert lower_bounds(workload, two_speeds(), method=method).makespan <= 100


def test_a_mode_that_ends_late_is_ruled_out_alone() -> None:
    """Below an instant modes that end at it or later are gone, the others stay, and jobs without any end it."""
    workload = fs.Workload(submit=[0, 10], tasks=[2, 2], runtime=[100, 40])
    problem = lower_bounds(workload, two_speeds())._prover.problem
    fewer = without_late_modes(problem, 100.0 - problem.relaxation.tick)
    assert fewer is not None
    assert fewer.relaxation.usable.tolist() == [[True, False], [True, True]]
    assert without_late_modes(problem, 50.0 - problem.relaxation.tick) is None


def test_the_search_among_instants_ends_at_the_last_that_is_ruled_out() -> None:
    """Whatever the bound that falls with the instant, it finds what looking at every instant finds."""
    rng = np.random.default_rng(1)
    workload = fs.Workload(submit=np.zeros(9), tasks=np.ones(9), runtime=rng.integers(1, 40, 9))
    problem = lower_bounds(workload, two_speeds(), method="closed")._prover.problem
    relaxation = problem.relaxation
    ends = np.unique((relaxation.release[:, None] + relaxation.duration)[relaxation.usable])
    for level in (0.0, 3.0, 11.0, 26.0, 31.0, 90.0):

        def falling(fewer, level: float = level) -> float:
            return level + 0.3 * float((~fewer.relaxation.usable).sum())

        each = [(end, without_late_modes(problem, float(end))) for end in ends]
        expected = max(min(end, math.inf if fewer is None else falling(fewer)) for end, fewer in each)
        assert least_end(problem, 0.0, falling) == expected


@pytest.mark.slow  # the reference and the bounds, on neither of which the compiler has a say
@pytest.mark.parametrize("epoch", [False, True])
def test_no_order_and_no_choice_of_groups_is_shorter(epoch: bool) -> None:
    """Over tiny problems with limits, releases and several speeds, brute force finds nothing below, and often it."""
    met = looked = 0
    for seed in range(80):
        scenario = strategies.random_scenario(seed, max_jobs=3, epoch=epoch).without_pools().without_conditions()
        scenario = scenario.for_bounds()
        if len(scenario.machine.groups) > 3 or len(scenario.jobs) > 3:
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        bound = lower_bounds(workload, federation, caps=caps).makespan
        every = itertools.islice(brute.schedules(scenario.jobs, scenario.machine), 600)
        best = min(naive.metrics(result)["makespan"] for result in every)
        assert bound <= best, seed
        met += bound >= best * (1 - 1e-6)
        looked += 1
    assert looked > 15
    assert met > 0.5 * looked


def test_a_list_schedule_is_one() -> None:
    """Its makespan is at least every bound, and that of the same rule in the simulation on equal nodes."""
    rng = np.random.default_rng(4)
    for federation in (fs.Federation.homogeneous(6), two_speeds()):
        workload = fs.Workload(
            submit=np.r_[0.0, rng.integers(0, 30, 19)], tasks=rng.integers(1, 5, 20), runtime=rng.integers(1, 50, 20)
        )
        relaxation = relaxed(workload, federation)
        made = small_problems.list_makespan(relaxation, relaxation.shortest)
        assert made >= lower_bounds(workload, federation).makespan
        if len(federation.groups) == 1:
            assert made == fs.simulate(workload, federation, fs.Rules(order="ljf", dispatch="greedy")).makespan


@pytest.mark.needs("ortools")
@pytest.mark.slow  # CP-SAT's time, whatever is compiled
def test_few_jobs_are_proven_by_the_solver(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where areas leave a gap the solver closes it, twice with the same number; without it the LP's bound stands."""
    workload = fs.Workload(submit=np.zeros(5), tasks=[3, 3, 2, 2, 2], runtime=[10, 10, 9, 9, 9])
    federation = fs.Federation.homogeneous(5)
    plain = lower_bounds(workload, federation, method="lp").makespan
    found = lower_bounds(workload, federation).makespan
    assert plain < 26 < found <= 27
    assert found == pytest.approx(27)
    assert lower_bounds(workload, federation).makespan == found
    late = replace(workload, submit=workload.submit + strategies.EPOCH)
    assert 27 - 1e-2 < lower_bounds(late, federation).makespan <= 27
    assert lower_bounds(workload, federation, seconds=0.0).makespan < 26
    monkeypatch.setattr(small_problems, "find_spec", lambda name: None)
    assert lower_bounds(workload, federation).makespan == plain


def test_a_proof_that_is_left_out_for_want_of_the_solver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that bounds and `optimize` say in one line that a solver was missing, but not where the gap is closed."""
    monkeypatch.setattr(small_problems, "find_spec", lambda name: None)
    open_gap = fs.Workload(submit=np.zeros(5), tasks=[3, 3, 2, 2, 2], runtime=[10, 10, 9, 9, 9])
    closed = fs.Workload(submit=np.zeros(2), tasks=[3, 3], runtime=[10, 10])
    for workload, is_told in ((open_gap, True), (closed, False)):
        assert ("pip install 'fedsched[exact]'" in str(lower_bounds(workload, 5))) == is_told
        found = fs.optimize(workload, 5, objectives="makespan", evaluations=20)
        assert (small_problems.WITHOUT_SOLVER in found.left_out) == is_told
        assert [line for line in str(found).splitlines() if "left out" in line] == [
            "left out: a solver's bound on the makespan, which needs OR-tools: pip install 'fedsched[exact]'"
        ] * is_told
    waits = fs.optimize(open_gap, 5, objectives="mean_wait", evaluations=20)
    assert waits.left_out == ()

@pytest.mark.needs("ortools")
def test_a_proof_that_gets_nowhere_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three jobs of which the solver finds neither a shorter schedule nor that there is none take it few conflicts."""
    from ortools.sat.python import cp_model

    small_problems.solver_bound.cache_clear()
    conflicts, solve = [], cp_model.CpSolver.solve

    def counted(solver: object, *given: object) -> object:
        status = solve(solver, *given)
        conflicts.append(solver.num_conflicts)
        return status

    monkeypatch.setattr(cp_model.CpSolver, "solve", counted)
    scenario = strategies.random_scenario(37, max_jobs=3).as_chosen().without_conditions()
    scenario = scenario.without_partitions().without_wishes().without_limits()
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    assert 380 < lower_bounds(workload, federation).makespan < 388
    assert lower_bounds(workload, federation, method="lp").makespan < 346
    assert 1000 < conflicts[0] <= 10_100


@pytest.mark.needs("ortools")
def test_what_is_asked_again_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver is asked once for the same jobs on the same nodes, anew for others, and always within seconds."""
    from fedsched.bounds.exact_answers.cp_sat_model import Model

    small_problems.solver_bound.cache_clear()
    asked, solve = [], Model.solve
    monkeypatch.setattr(Model, "solve", lambda model, **limits: asked.append(model) or solve(model, **limits))
    workload = fs.Workload(submit=np.zeros(5), tasks=[3, 3, 2, 2, 2], runtime=[10, 10, 9, 9, 9])
    others = (replace(workload, runtime=workload.runtime + 1), replace(workload, tasks=workload.tasks[::-1]))
    bounds = [lower_bounds(some, fs.Federation.homogeneous(5)).makespan for some in (workload, *others) * 2]
    assert bounds == pytest.approx([27, 30, 27] * 2)
    assert len(asked) == 3
    for _ in range(2):
        assert lower_bounds(workload, fs.Federation.homogeneous(5), seconds=60).makespan == pytest.approx(27)
    assert len(asked) == 5


@pytest.mark.needs("ortools")
def test_a_busy_machine_changes_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a budget in seconds the solver is given effort alone: however long it takes, its answer counts."""
    from fedsched.bounds.exact_answers.cp_sat_model import Model

    small_problems.solver_bound.cache_clear()
    given = []
    solve = Model.solve

    def slowly(model: Model, **limits: float) -> object:
        given.append(limits)
        return replace(solve(model, **limits), seconds=1e6)

    monkeypatch.setattr(Model, "solve", slowly)
    workload = fs.Workload(submit=np.zeros(5), tasks=[3, 3, 2, 2, 2], runtime=[10, 10, 9, 9, 9])
    assert lower_bounds(workload, fs.Federation.homogeneous(5)).makespan == pytest.approx(27)
    assert [(limits["seconds"], limits["effort"]) for limits in given] == [(math.inf, small_problems.EFFORT)]
