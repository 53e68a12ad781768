"""SearchProblem: what a row means, and that evaluating it is simulating it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError, UnknownNameError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.model.schedule.metrics import Column
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

BOTH = Objectives.of(("makespan", "energy"))


def of_scenario(seed: int) -> tuple[SearchProblem, fs.Workload, fs.Federation, object]:
    """Return a random small problem, everything waiting."""
    scenario = strategies.random_scenario(seed, placement="fastest", kill_at_estimate=False).foreseen()
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    return (
        SearchProblem(workload, federation, BOTH, saturation=scenario.settings.saturation),
        workload,
        federation,
        scenario,
    )


def some_rows(problem: SearchProblem, count: int, seed: int) -> np.ndarray:
    """Return random feasible rows, with random caps on single nodes and any dispatch and placement."""
    rng = np.random.default_rng(seed)
    rows = problem.random_rows(count, rng)
    limits = problem.space.limits
    problem.layout.caps(rows)[:] = rng.integers(0, limits + 1, size=(count, *limits.shape))
    problem.layout.rules(rows)[:, 0] = rng.choice(problem.space.dispatches, count)
    problem.layout.rules(rows)[:, 1] = rng.choice(problem.space.placements, count)
    return problem.repaired(rows)


def test_a_row_is_evaluated_as_it_is_simulated() -> None:
    """Tests that the batch's metric rows are those of the full schedules, bit for bit, and that these verify."""
    for seed in range(tries(40)):
        problem, *_ = of_scenario(seed)
        rows = some_rows(problem, 3, seed)
        metrics = problem.metrics(rows)
        for row, found in zip(rows, metrics, strict=True):
            schedule = problem.schedule(row)
            schedule.verify()
            expected = schedule.metrics(users=False)
            assert found[Column.MAKESPAN] == expected.makespan
            assert found[Column.ENERGY] == expected.energy
            assert found[Column.FLOW] == expected.flow


@pytest.mark.parametrize("ruled", [None, Dispatch.LOCAL])
def test_a_row_gives_what_the_naive_reference_gives(ruled: Dispatch | None) -> None:
    """Tests values against the plain-Python simulation of the same order, caps, dispatch and placement."""
    for seed in range(tries(40) if ruled is None else tries(80, 20)):
        problem, workload, _, scenario = of_scenario(seed)
        row = some_rows(problem, 1, seed)[0]
        if ruled is not None:
            problem.layout.rules(row[None])[0, 0] = ruled
        order, caps, dispatch, placement = unpack_row(problem.layout, row)
        t0 = problem.problem.t0
        jobs = [
            naive.replace(
                job,
                submit=t0,
                estimate=job.runtime,
                caps=tuple(caps[j].tolist()),
                after=tuple(naive.conditions(scenario.jobs, j)),  # a singleton's are of the submits that were
            )
            for j, job in enumerate(scenario.jobs)  # type: ignore[attr-defined]
        ]
        result = naive.simulate(
            jobs,
            scenario.machine,  # type: ignore[attr-defined]
            order=order.tolist(),
            dispatch=Dispatch(dispatch).name.lower(),
            placement=Placement(placement).name.lower(),
            saturation=problem.saturation,
        )
        assert problem.values(row[None])[0, 0] == max(result.of_the_started().finish) - t0
        assert len(workload) == len(jobs)


@given(st.integers(0, 10_000))
@settings(max_examples=tries(60), derandomize=True, deadline=None)
def test_repair_makes_any_caps_feasible(seed: int) -> None:
    """Tests that repaired caps keep within limits, leave every job placeable, and are left alone by another repair."""
    problem, *_ = of_scenario(seed)
    rows = some_rows(problem, 4, seed)
    caps = problem.layout.caps(rows)
    assert (caps >= 0).all()
    assert (caps <= problem.space.limits).all()
    assert (caps.sum(axis=2) >= problem.problem.tasks).all()
    assert not np.isnan(problem.values(rows)).any()
    assert np.array_equal(problem.repaired(rows.copy()), rows)


def test_repair_restores_whole_groups_the_least_forbidden_first() -> None:
    """Tests the order of restoration on a case worked by hand: weights 0.9, 0.5 and 1 of groups of ten nodes."""
    federation = fs.Federation.of(10, 10, 10)
    workload = fs.Workload(submit=[0.0], tasks=[14], runtime=[1.0])
    problem = SearchProblem(workload, federation, BOTH)
    row = problem.layout.pack(np.array([[0]]), np.array([[[1, 5, 0]]]), np.array([problem.default_rules()]))
    caps = problem.layout.caps(problem.repaired(row))[0, 0]
    assert caps.tolist() == [10, 10, 0]


def test_keys_and_rows_go_round() -> None:
    """Tests that a plan turned into keys and back has the same order and caps, and that weights are canonical."""
    for seed in range(tries(20)):
        problem, *_ = of_scenario(seed)
        rows = some_rows(problem, 3, seed)
        problem.layout.rules(rows)[:] = problem.default_rules()
        rows = problem.repaired(rows)
        keys = problem.keys_of_rows(rows)
        again = problem.rows_of_keys(keys)
        assert np.array_equal(again, rows)
        assert np.array_equal(keys, problem.keys_of_rows(again))


def test_keys_forbid_the_stated_share() -> None:
    """Tests the blacklist's arithmetic: a weight w forbids floor(w·count) nodes, and never more than fits."""
    problem = SearchProblem(fs.Workload(submit=[0, 0], tasks=[2, 9], runtime=[1, 1]), fs.Federation.of(10, 10), BOTH)
    keys = np.array([[0.7, 0.2, 0.95, 0.3, 0.75, 0.6]])
    row = problem.rows_of_keys(keys)[0]
    order, caps, *_ = unpack_row(problem.layout, row)
    assert order.tolist() == [1, 0]
    assert caps[0].tolist() == [1, 2]  # 10 − ⌊9.5⌋ = 1; 10 − 3 = 7, but two tasks need no more than 2
    assert caps[1].tolist() == [3, 9]  # 3 + 4 < 9: the group with the smaller weight comes back whole


def test_values_do_not_depend_on_threads() -> None:
    """Tests that two threads give the very values of one."""
    workload, federation = fs.Workload.example().head(60), fs.Federation.example()
    one, two = (SearchProblem(workload, federation, BOTH, threads=threads) for threads in (1, 2))
    rows = some_rows(one, 41, 5)
    assert np.array_equal(one.metrics(rows), two.metrics(rows), equal_nan=True)


def test_a_search_starts_from_running_jobs() -> None:
    """Tests that evaluations begin, each anew, at the state that a simulation left."""
    workload, federation = fs.Workload.example().head(80), fs.Federation.example()
    run = prepare(workload, federation, "easy").advance(until=float(workload.submit[60]))
    state = run.running()
    waiting = np.flatnonzero(np.isnan(run.state.start) & (workload.submit <= state.time))
    rows = np.concatenate([state.rows, waiting])
    assert len(state.rows) > 3
    assert len(waiting) > 3
    part = workload.take(rows)
    problem = SearchProblem(part, federation, BOTH, submits="keep", running=state.renumbered(rows))
    plan = problem.row(np.arange(len(part)))
    twice = problem.values(np.array([plan, plan]))
    assert np.array_equal(twice[0], twice[1])
    schedule = problem.schedule(plan)
    assert schedule.metrics(users=False).makespan == twice[0, 0]
    assert np.array_equal(schedule.start[: len(state.rows)], run.state.start[state.rows])


def test_names_are_checked() -> None:
    """Tests that unknown names and impossible weights are refused with the nearest name."""
    with pytest.raises(UnknownNameError, match="makespan"):
        Objectives.of("makespn")
    with pytest.raises(ValueError, match="once"):
        Objectives.of(("energy", "energy"))
    with pytest.raises(ValueError, match="weights"):
        Objectives.of(("energy", "makespan"), (1.0,))
    with pytest.raises(UnknownNameError, match="submits"):
        SearchProblem(fs.Workload.example().head(3), fs.Federation.example(), BOTH, submits="later")


def test_a_plan_has_no_rule_that_its_workspace_cannot_hold() -> None:
    """Tests that a plan under conservative backfilling is refused: it would write beyond the arrays."""
    problem = SearchProblem(fs.Workload.example().head(5), fs.Federation.example(), BOTH)
    with pytest.raises(ValueError, match="greedy, strict, easy, local, not conservative"):
        problem.row(range(5), rules=(int(Dispatch.CONSERVATIVE), 0))


def test_a_job_that_fits_nowhere_is_named() -> None:
    """Tests that a job wider than the federation is refused with its numbers."""
    with pytest.raises(InfeasibleError, match="tasks=40"):
        SearchProblem(fs.Workload(submit=[0.0], tasks=[40], runtime=[1.0]), fs.Federation.of(16, 16), BOTH)


def test_maximised_objectives_turn_round() -> None:
    """Tests that utilisation is minimised as its negative."""
    problem = SearchProblem(fs.Workload.example().head(20), fs.Federation.example(), Objectives.of("utilisation"))
    row = problem.row(np.arange(20))
    assert problem.values(row[None])[0, 0] == -problem.schedule(row).metrics(users=False).utilisation


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (lambda row: row.__setitem__(0, row[1]), "order must hold each of the rows 0..8 − 1 exactly once"),
        (lambda row: row.__setitem__(0, 10**9), "order must hold"),
        (lambda row: row.__setitem__(0, -1), "order must hold"),
        (lambda row: row.__setitem__(-1, 77), "rules must be numbers"),
        (lambda row: row.__setitem__(-2, int(Dispatch.CONSERVATIVE)), "rules must be numbers"),
        (lambda row: row.__setitem__(8, -1), "caps must be at least 0"),
    ],
)
def test_a_row_that_is_no_plan_is_refused(spoil: Callable[[Any], None], told: str) -> None:
    """Tests that a row with a faulty order, rule or cap is an error with its cause, and is never simulated."""
    problem = SearchProblem(fs.read("sample").head(8), fs.read_federation("example"), Objectives.of("makespan"))
    rows = np.stack([problem.row(range(8))] * 2)
    spoil(rows[1])
    with pytest.raises(ValueError, match=told):
        problem.values(rows)
    with pytest.raises(ValueError, match=r"\(plan 1\)"):
        problem.values_unless(rows, lambda: False)
    if "caps" in told:
        assert problem.holds(problem.repaired(rows))
    else:
        with pytest.raises(ValueError, match=told):
            problem.repaired(rows)
        assert not problem.holds(rows)


def test_rows_of_another_shape_are_refused() -> None:
    """Tests that one row, shorter rows and fractions are errors that say how rows are laid out."""
    problem = SearchProblem(fs.read("sample").head(8), fs.read_federation("example"), Objectives.of("makespan"))
    for rows in (problem.row(range(8)), np.zeros((3, 5), dtype=np.int64), problem.row(range(8))[None] * 1.0):
        with pytest.raises(ValueError, match=r"must be plans × 50 whole numbers"):
            problem.values(rows)
        with pytest.raises(ValueError, match="whole numbers"):
            problem.repaired(rows)
