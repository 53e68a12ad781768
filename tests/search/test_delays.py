"""Delays: plans that put off jobs within their slack run as the same jobs with later earliest starts [71]."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import TraceError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.model.constraints.slack import delay_origin, with_delays
from fedsched.model.schedule.metrics import Column
from fedsched.search.encoding import delays as search_delays
from fedsched.search.encoding.delays import cheapest_delays
from fedsched.search.encoding.offspring import crossed, mutated
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600.0
CARBON = Objectives.of(("carbon", "mean_wait"))
NODE = {"busy_watts": 300.0, "idle_watts": 100.0}
# A night that is clean, then a dear hour, then a clean one again.
SIGNAL = fs.Signal((0.0, 1 * HOUR, 2 * HOUR), (400.0, 100.0, 400.0), "g/kWh", until=24 * HOUR, beyond="repeat")
SITE = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, **NODE),)),), signals=(SIGNAL,))
JOBS = fs.Workload(
    submit=[0.0, 0.0, 600.0], tasks=[1, 2, 1], runtime=[1800.0, 3000.0, 900.0], slack=[2 * HOUR, 0, HOUR]
)


def of_scenario(seed: int, *, slack: bool = True) -> tuple[SearchProblem, strategies.Scenario]:
    """Return a random small problem of jobs with slack under a signal, and the scenario that it is of."""
    scenario = strategies.random_scenario(seed, placement="fastest", kill_at_estimate=False).foreseen()
    jobs = [replace(job, follows=None) for job in scenario.jobs]
    scenario = replace(scenario, jobs=jobs)
    workload, federation, _ = strategies.to_package(jobs, scenario.machine)
    rng = np.random.default_rng(seed)
    longest = float(np.median(workload.runtime))
    if slack:
        workload = replace(workload, slack=np.where(rng.random(len(workload)) < 0.7, 3.0 + longest, 0.0))
    words = {"submits": "keep", "saturation": scenario.settings.saturation}
    return SearchProblem(workload, federation, Objectives.of(("makespan",)), delays=True, **words), scenario


def some_rows(problem: SearchProblem, count: int, seed: int) -> np.ndarray:
    """Return random rows, with any caps, dispatch, placement and delays."""
    rng = np.random.default_rng(seed)
    rows = problem.random_rows(count, rng)
    problem.layout.rules(rows)[:, 0] = rng.choice(problem.space.dispatches, count)
    problem.layout.rules(rows)[:, 1] = rng.choice(problem.space.placements, count)
    return problem.repaired(rows)


def same(one: fs.Schedule, other: fs.Schedule) -> bool:
    """Return whether two schedules have the same starts, ends and nodes, to the last bit."""
    return all(
        np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True)
        for name in ("start", "finish", "counts")
    )


def test_a_plan_with_delays_is_that_of_jobs_that_begin_later() -> None:
    """Tests starts, ends and metric rows, to the bit, against the same order, caps and rules of jobs with `begin`."""
    late = 0
    for seed in range(tries(60)):
        problem, _ = of_scenario(seed)
        rows = some_rows(problem, 3, seed)
        for row, found in zip(rows, problem.metrics(rows), strict=True):
            delays = problem.delays_of(row)
            t0, moved = problem.problem.t0, problem.workload
            moved = moved if delays is None else with_delays(moved, delay_origin(moved, t0), delays)
            objectives, words = Objectives.of(("makespan",)), {"reading": problem.reading, "t0": t0}
            other = SearchProblem(replace(moved, slack=None), problem.federation, objectives, submits="keep", **words)
            theirs = row[: problem.layout.read]
            assert np.array_equal(found, other.metrics(theirs[None])[0], equal_nan=True)
            schedule = problem.schedule(row)
            assert same(schedule, other.schedule(theirs))
            schedule.verify(claimed=schedule.metrics())
            assert np.array_equal(schedule.eligible, other.schedule(theirs).eligible, equal_nan=True)
            assert schedule.workload == problem.workload or problem.scores_differ
            late += delays is not None and bool((delays > 0).any())
    assert late > 0


def test_a_plan_with_delays_gives_what_the_naive_reference_gives() -> None:
    """Tests starts and ends against the plain-Python simulation of the jobs that begin when the plan lets them."""
    for seed in range(tries(60)):
        problem, scenario = of_scenario(seed)
        row = some_rows(problem, 1, seed)[0]
        order, caps, dispatch, placement = unpack_row(problem.layout, row)
        delays, t0 = problem.delays_of(row), problem.problem.t0
        since = delay_origin(problem.workload, t0)
        begins = [job.begin for job in scenario.jobs]
        if delays is not None:
            begins = [float(since[j] + late) if late else begins[j] for j, late in enumerate(delays.tolist())]
        jobs = [
            naive.replace(job, begin=begins[j], estimate=job.runtime, caps=tuple(caps[j].tolist()))
            for j, job in enumerate(scenario.jobs)
        ]
        rules = {"dispatch": Dispatch(dispatch).name.lower(), "placement": Placement(placement).name.lower()}
        result = naive.simulate(
            jobs, scenario.machine, order=order.tolist(), saturation=problem.saturation, t0=t0, **rules
        )
        schedule = problem.schedule(row)
        expected = [np.nan if not np.isfinite(start) else start for start in result.start]
        assert np.array_equal(schedule.start, expected, equal_nan=True), seed


def test_no_slack_changes_nothing() -> None:
    """Tests that a slack of nothing, or below a second, leaves a search as it is, to the bit."""
    bare = replace(JOBS, slack=None)
    words = {"objectives": ("carbon", "mean_wait"), "method": "moga", "submits": "keep", "evaluations": 60, "seed": 3}
    plain = fs.optimize(bare, SITE, **words)
    assert replace(JOBS, slack=0.0) == bare
    short = fs.optimize(replace(JOBS, slack=0.5), SITE, **words)
    for found in (plain, short):
        assert all(plan.delays is None for plan in found.front.plans)
    assert np.array_equal(plain.front.values, short.front.values)
    assert plain.schedule(0).start.tolist() == short.schedule(0).start.tolist()


def test_no_delay_changes_nothing() -> None:
    """Tests that plans that put off nobody have the metrics of the problem that knows no slack, to the bit."""
    for seed in range(tries(40)):
        problem, _ = of_scenario(seed)
        plain, _ = of_scenario(seed, slack=False)
        rows = some_rows(problem, 2, seed)
        if problem.delays is not None:
            problem.layout.delays(rows)[:] = 0
        expected = plain.metrics(rows[:, : problem.layout.read])
        assert np.array_equal(problem.metrics(rows), expected, equal_nan=True)


def test_variation_keeps_delays_within_slack() -> None:
    """Tests that children have delays of their parents, and that moves leave them within slack."""
    problem, rng = SearchProblem(JOBS, SITE, CARBON, submits="keep", delays=True), np.random.default_rng(5)
    parents = problem.random_rows(20, rng)
    assert problem.holds(parents)
    pairs = rng.integers(0, 20, size=(200, 2))
    children = crossed(problem, parents, pairs, seed=1, generation=2)
    assert problem.holds(children)
    late, theirs = problem.layout.delays(children), problem.layout.delays(parents)[pairs]
    assert ((late == theirs[:, 0]) | (late == theirs[:, 1])).all()
    assert (late != theirs[:, 0]).any()
    assert (late != theirs[:, 1]).any()
    moved = mutated(problem, children.copy(), np.full(200, 3), seed=1, generation=3)
    assert problem.holds(moved)
    changed = problem.layout.delays(moved) != late
    assert changed[:, [0, 2]].any(axis=0).all()
    assert not changed[:, 1].any()
    assert len(np.unique(problem.layout.delays(moved)[:, 0])) > 20
    again = mutated(problem, children.copy(), np.full(200, 3), seed=1, generation=3)
    assert np.array_equal(moved, again)
    still = mutated(problem, children.copy(), np.zeros(200, dtype=np.int64), seed=1, generation=3)
    assert np.array_equal(still, children)


def test_rows_beyond_slack_are_no_plans() -> None:
    """Tests that a delay beyond its job's slack is none of a plan, and is repaired to all of it."""
    problem = SearchProblem(JOBS, SITE, CARBON, submits="keep", delays=True)
    row = problem.row([0, 1, 2], delays=[9e6, 5, -3])
    assert problem.delays_of(row).tolist() == [2 * HOUR, 0, 0]
    row[-1] = HOUR + 1
    assert not problem.holds(row[None])


def test_searches_put_off_jobs_to_cleaner_hours(tmp_path: Path) -> None:
    """Tests that slack finds plans of less carbon, which are verified, saved, read back and begun with."""
    words = {"method": "ga", "submits": "keep", "evaluations": 400, "seed": 1, "baselines": ("fcfs", "easy")}
    without = fs.optimize(replace(JOBS, slack=None), SITE, objectives="carbon", **words)
    found = fs.optimize(JOBS, SITE, objectives="carbon", **words)
    assert found.value() < without.value()
    assert found.bound() <= found.value()
    best = found.best()
    best.verify(claimed=best.metrics())
    assert best.metrics().carbon == pytest.approx(found.value())
    assert best.workload == JOBS
    assert "the plan puts off" in str(best.remarks)
    found.save(tmp_path / "found.json")
    again = fs.Result.load(tmp_path / "found.json")
    assert again.best() == best
    best.to_csv(tmp_path / "plan.csv")
    assert fs.Schedule.read(tmp_path / "plan.csv", JOBS, SITE, t0=0.0, knowledge="runtime") == best
    more = fs.optimize(JOBS, SITE, objectives="carbon", initial=[again], **(words | {"evaluations": 60}))
    assert more.value() <= found.value()
    from_schedule = fs.optimize(JOBS, SITE, objectives="carbon", initial=[best], **(words | {"evaluations": 60}))
    assert from_schedule.value() <= found.value()
    sooner = found.front.plans[0]
    data = (tmp_path / "found.json").read_text().replace(f'"delays": {sooner.delays.tolist()}', '"delays": [1, 2]')
    (tmp_path / "odd.json").write_text(data)
    with pytest.raises(TraceError, match="puts off jobs, but not these by their slack"):
        fs.Result.load(tmp_path / "odd.json")


FRONTS = {"objectives": ("carbon", "mean_wait"), "method": "moga", "submits": "keep", "seed": 2, "baselines": ("easy",)}


@pytest.mark.compiled
def test_islands_carry_delays() -> None:
    """Tests that searches side by side find the same plans on any number of threads."""
    one, other = (fs.optimize(JOBS, SITE, evaluations=300, islands=2, threads=k, **FRONTS) for k in (1, 2))
    assert np.array_equal(one.front.values, other.front.values)
    assert any((plan.delays > 0).any() for plan in one.front.plans if plan.delays is not None)


def test_checkpoints_carry_delays(tmp_path: Path) -> None:
    """Tests that a search that goes on from its file has plans that put off jobs."""
    words = FRONTS
    fs.optimize(JOBS, SITE, evaluations=120, checkpoint=tmp_path / "saved", **words)
    longer = fs.optimize(JOBS, SITE, evaluations=300, checkpoint=tmp_path / "saved", **words)
    assert any((plan.delays > 0).any() for plan in longer.front.plans if plan.delays is not None)


def test_delays_and_shapes_go_together() -> None:
    """Tests that plans that choose shapes and delays are run as jobs of these shapes that begin later."""
    jobs = replace(JOBS, alternatives={1: "1x1800|2x1000"})
    problem = SearchProblem(jobs, SITE, CARBON, submits="keep", alternatives="free", delays=True)
    rows = problem.random_rows(40, np.random.default_rng(0))
    for row, found in zip(rows, problem.metrics(rows), strict=True):
        schedule = problem.schedule(row)
        schedule.verify(claimed=schedule.metrics())
        assert found[Column.CARBON] == schedule.metrics().carbon
        assert found[Column.MEAN_WAIT] == schedule.metrics().mean_wait


def test_delays_beyond_slack_or_not_kept_break_the_model() -> None:
    """Tests that a schedule is refused whose job waits longer than it may, or starts before its delay is over."""
    problem = SearchProblem(JOBS, SITE, CARBON, submits="keep", delays=True)
    schedule = problem.schedule(problem.row([0, 1, 2], delays=[3600, 0, 0]))
    assert schedule.start[0] == HOUR
    assert not schedule.violations()
    early = replace(schedule, delays=[2 * HOUR, 0.0, 0.0])
    assert early.violations() == ["Job 1: it starts at 3600, but is put off until 7200."]
    assert "of a slack of 7200 s" in replace(schedule, delays=[3 * HOUR, 0.0, 0.0]).violations()[0]
    assert "of a slack of 0 s" in replace(schedule, delays=[0.0, 5.0, 0.0]).violations()[0]
    assert schedule != early
    assert schedule.take(np.array([0, 2])).delays.tolist() == [HOUR, 0.0]
    assert early != replace(early, delays=None)


def test_delays_count_from_what_a_job_waits_for_anyway() -> None:
    """Tests that a delay counts from the latest of submit, t0 and the earliest start that the user asked for."""
    jobs = replace(JOBS, begin=[500.0, 0.0, 0.0]).take([0, 2])
    problem = SearchProblem(jobs, SITE, CARBON, submits="keep", t0=100.0, delays=True)
    schedule = problem.schedule(problem.row([0, 1], delays=[100, 50]))
    assert schedule.start.tolist() == [600.0, 650.0]
    schedule.verify(claimed=schedule.metrics())


def test_what_knows_no_delays_says_so() -> None:
    """Tests the refusals: nothing to gain, plans of keys or assignments, compiled walks, packages, feedback."""
    usual = {"submits": "keep", "evaluations": 20}
    with pytest.raises(ValueError, match="none of these gains by a delay; choose one of cost, carbon"):
        fs.optimize(JOBS, SITE, **usual)
    for words in ({"method": "pso-ea"}, {"method": "ga", "encoding": "assignment"}):
        with pytest.raises(ValueError, match="does not delay jobs, but these have slack; take ga or moga"):
            fs.optimize(JOBS, SITE, objectives="carbon", **words, **usual)
    for method in ("memetic", "sa", "hc"):
        with pytest.raises(ValueError, match="compiled walks"):
            fs.optimize(JOBS, SITE, objectives="carbon", method=method, **usual)
    with pytest.raises(ValueError, match="Job 2: slack=-4 must be finite and at least 0 seconds"):
        replace(JOBS, slack=[0.0, -4.0, 0.0])
    assert "slack: plans may put off 2 jobs, by up to 2 h" in str(JOBS)


def test_seeds_put_jobs_in_their_cheapest_hours() -> None:
    """Tests that a search of nothing but its first plans has one in which each job is in its clean hour."""
    words = {"method": "ga", "submits": "keep", "evaluations": 6, "baselines": ("easy",), "seed": 1}
    found = fs.optimize(JOBS, SITE, objectives="carbon", **words)
    assert found.front.plans[0].delays.tolist() == [HOUR, 0, HOUR - 600]


def test_seeds_look_at_the_signals_of_those_clusters_alone_that_a_job_may_run_on() -> None:
    """Tests that jobs at home in two places, each clean at another hour, wait for their own; who is free, for both."""
    noon = fs.Signal((0.0, 1 * HOUR, 2 * HOUR), (300.0, 100.0, 300.0), "g/kWh", "a", until=24 * HOUR, beyond="repeat")
    dusk = fs.Signal((0.0, 2 * HOUR, 3 * HOUR), (900.0, 100.0, 900.0), "g/kWh", "b", until=24 * HOUR, beyond="repeat")
    sites = tuple(fs.Cluster(name, (fs.NodeGroup(2, **NODE),)) for name in "ab")
    may = np.array([[True, False], [False, True], [True, True]])
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[1] * 3, runtime=[1800.0] * 3, slack=[4 * HOUR] * 3)
    jobs = replace(jobs.with_sites(("a", "b")), allowed=may)
    problem = SearchProblem(
        jobs, fs.Federation(sites, signals=(noon, dusk)), Objectives.of(("carbon",)), submits="keep", delays=True
    )
    assert [delays.tolist() for delays in cheapest_delays(problem)] == [[HOUR, 2 * HOUR, 2 * HOUR]]


def one_job(slack: float, signal: fs.Signal, runtime: float = 3.0) -> SearchProblem:
    """Return the problem to put off one job of one node."""
    jobs = fs.Workload(submit=[4.0], tasks=[1], runtime=[runtime], slack=[slack])
    return SearchProblem(
        jobs, replace(SITE, signals=(signal,)), Objectives.of(("carbon",)), submits="keep", delays=True
    )


def test_seeds_look_at_one_period_of_a_signal_that_comes_again_for_ages() -> None:
    """Tests that a slack of a million periods takes no room for them: the first cheap stretch is as good as any."""
    problem = one_job(1e7, fs.Signal((0.0, 5.0), (300.0, 100.0), "g/kWh", until=10.0, beyond="repeat"))
    tracemalloc.start()
    try:
        assert [delays.tolist() for delays in cheapest_delays(problem)] == [[1]]
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(tries(20)))
def test_one_period_has_what_all_have(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the first cheapest begin is the same whether all steps are looked at or those of one period."""
    rng = np.random.default_rng(seed)
    times = np.sort(rng.choice(30, size=5, replace=False)).astype(float)
    values = tuple(rng.integers(1, 9, 5).astype(float))
    signal = fs.Signal(tuple(times), values, "g/kWh", until=times[-1] + 7.0, beyond="repeat")
    problem = one_job(float(rng.integers(1, 200)), signal, float(rng.integers(1, 60)))
    listed = cheapest_delays(problem)
    monkeypatch.setattr(search_delays, "MOST_STEPS", 0)
    assert [one.tolist() for one in cheapest_delays(problem)] == [one.tolist() for one in listed]
