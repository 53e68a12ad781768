"""The engine against the naive reference: the same starts, finishes, counts and metrics, to the last bit of a start."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from reference import naive, naive_measures
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.simulate import prepare

SEEDS = tries(4000, 480)
PARTS = 8


def run_engine(scenario: strategies.Scenario, **changes: object) -> fs.Schedule:
    """Return the package's schedule of a scenario."""
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    rules = fs.Rules(
        order=chosen.order,
        dispatch=chosen.dispatch,
        placement=chosen.placement,
        backfill_order=chosen.backfill_order,
    )
    options = {
        "same_time": chosen.same_time,
        "saturation": chosen.saturation,
        "kill_at_estimate": chosen.kill_at_estimate,
        "alternatives": chosen.alternatives,
        "caps": caps,
        **changes,
    }
    return fs.simulate(workload, federation, rules, **options)


def first_difference(scenario: strategies.Scenario, got: fs.Schedule, expected: naive.Result) -> str:
    """Return the first job, by the reference's starts, of which the engine says something else, and the rules."""
    for j in np.lexsort((expected.finish, expected.start)).tolist():
        for what in ("start", "counts", "finish"):
            ours, theirs = (np.asarray(getattr(result, what)[j]).tolist() for result in (got, expected))
            if not np.array_equal(ours, theirs, equal_nan=True):  # neither starts a job that never can
                job = scenario.jobs[j]
                return f"Job {job.id}: {what} {ours}, by the reference {theirs}, under {scenario.settings}; {job}"
    return ""


def assert_same(scenario: strategies.Scenario) -> None:
    """Fail unless engine and reference agree on everything."""
    expected = scenario.simulate()
    got = run_engine(scenario)
    difference = first_difference(scenario, got, expected)
    assert not difference, difference
    if not expected.ran:
        assert np.isnan(got.start).all()
        return
    measured = got.metrics().as_dict()
    for name, value in naive_measures.metrics(expected).items():
        same = math.isclose(measured[name], value, rel_tol=1e-9, abs_tol=1e-9)
        assert same or (math.isnan(value) and math.isnan(measured[name])), f"{name} under {scenario.settings}"


def test_a_difference_names_job_and_rules() -> None:
    """What is said of a schedule that is wrong in one start names the job, both starts and the rules."""
    scenario = strategies.random_scenario(2, dispatch="easy", placement="fastest")
    expected = scenario.simulate()
    got = run_engine(scenario)
    assert first_difference(scenario, got, expected) == ""
    last = int(np.argmax(expected.start))
    expected.start[last] += 1.0
    said = first_difference(scenario, got, expected)
    job, start = scenario.jobs[last].id, got.start[last]
    assert said.startswith(f"Job {job}: start {start}, by the reference {start + 1.0}, under")
    assert "dispatch='easy', placement='fastest'" in said


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_random_scenarios_agree(part: int) -> None:
    """Thousands of random systems, over every rule, placement, reading and order, give the same schedule."""
    for seed in range(part, SEEDS, PARTS):
        assert_same(strategies.random_scenario(seed, restless=True))


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("placement", naive.PLACEMENT)
@pytest.mark.parametrize("dispatch", naive.DISPATCH)
def test_every_combination_of_rules_agrees(dispatch: str, placement: str, same_time: str) -> None:
    """Each dispatch rule with each placement under both readings gives the reference's schedule."""
    for seed in range(10_000, 10_000 + tries(6, 1)):
        for saturation in ("dynamic", "static"):
            fixed = {"dispatch": dispatch, "placement": placement, "same_time": same_time, "saturation": saturation}
            assert_same(strategies.random_scenario(seed, restless=True, **fixed))


@pytest.mark.slow
@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("dispatch", naive.DISPATCH)
def test_epoch_times_agree_under_every_rule(dispatch: str, same_time: str) -> None:
    """Engine, reference and check agree where many of the times are below what the clock can tell."""
    for seed, placement in list(enumerate(naive.PLACEMENT * 2, start=70_000))[: tries(2 * len(naive.PLACEMENT), 3)]:
        for saturation in ("dynamic", "static"):
            fixed = {"dispatch": dispatch, "placement": placement, "same_time": same_time, "saturation": saturation}
            scenario = strategies.random_scenario(seed, epoch=True, restless=True, **fixed)
            assert_same(scenario)
            schedule = run_engine(scenario)
            schedule.verify(caps=strategies.to_package(scenario.jobs, scenario.machine)[2], claimed=schedule.metrics())
            assert (schedule.run[~np.isnan(schedule.finish)] > 0).all()


@given(scenario=strategies.scenarios())
@settings(derandomize=True, deadline=None, max_examples=tries(60))
def test_hypothesis_finds_no_difference(scenario: strategies.Scenario) -> None:
    """No scenario that hypothesis thinks of tells engine and reference apart."""
    assert_same(scenario)


@given(scenario=strategies.scenarios(without_contention=True))
@settings(derandomize=True, deadline=None, max_examples=tries(30))
def test_static_is_dynamic_without_contention(scenario: strategies.Scenario) -> None:
    """Where no job communicates, the two readings of saturation are one."""
    dynamic, static = (run_engine(scenario, saturation=reading) for reading in ("dynamic", "static"))
    np.testing.assert_array_equal(dynamic.start, static.start)
    np.testing.assert_array_equal(dynamic.finish, static.finish)


def test_a_stopped_run_goes_on_as_if_it_had_not_stopped() -> None:
    """Advancing event by event, or instant by instant, gives the schedule of one long run."""
    for seed in range(tries(60)):
        scenario = strategies.random_scenario(seed, restless=True)
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        rules = fs.Rules(
            order=chosen.order,
            dispatch=chosen.dispatch,
            placement=chosen.placement,
            backfill_order=chosen.backfill_order,
        )
        run = prepare(
            workload,
            federation,
            rules,
            same_time=chosen.same_time,
            saturation=chosen.saturation,
            kill_at_estimate=chosen.kill_at_estimate,
            alternatives=chosen.alternatives,
            caps=caps,
        )
        whole = run_engine(scenario)
        for instant in sorted({*whole.start, *whole.finish, *workload.submit}):
            run.advance(until=instant)
        assert run.schedule() == whole, seed


def test_a_run_starts_from_a_running_state() -> None:
    """The jobs still to come, started from the running jobs of a moment, finish, and cost, as in the whole run."""
    checked = 0
    for seed in range(tries(200)):
        fixed = {"order": "fcfs", "backfill_order": None, "same_time": "batch"}
        scenario = strategies.random_scenario(seed, **fixed).without_conditions()  # whose lags jobs of before leave
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        if chosen.alternatives == "earliest_finish":
            continue  # jobs that run already are in the shapes that their columns say [52]
        words = ("saturation", "kill_at_estimate", "alternatives")
        options = {name: getattr(chosen, name) for name in words}
        rules = fs.Rules(dispatch=chosen.dispatch, placement=chosen.placement)
        whole = fs.simulate(workload, federation, rules, caps=caps, **options)
        expected = scenario.simulate()
        if np.isnan(whole.start).all():
            continue  # all were killed
        moment = float(np.nanmedian(whole.start))  # some may have been killed
        run = prepare(workload, federation, rules, caps=caps, **options).advance(until=moment)
        now = run.schedule()
        over, waiting = now.finish <= moment, np.isnan(now.start)
        over[now.lost.killed] = True
        if over.all() or not waiting.any():
            continue
        rows = np.flatnonzero(~over)
        running = run.running().renumbered(rows)
        rest = fs.simulate(workload.take(rows), federation, rules, caps=caps[rows], running=running, **options)
        np.testing.assert_array_equal(rest.start, whole.start[rows])
        np.testing.assert_array_equal(rest.finish, whole.finish[rows])
        if whole.lost.runs:
            continue  # what was lost before is not lost again
        whose = ("jobs", "start", "finish", "counts", "eligible")
        columns = {name: [getattr(expected, name)[j] for j in rows] for name in whose}
        measured = rest.metrics().as_dict()
        for name, value in naive.metrics(replace(expected, t0=running.time, **columns)).items():
            if name not in ("loss_of_capacity", "saturated_seconds"):  # which are not of these jobs alone
                assert math.isclose(measured[name], value, rel_tol=1e-9, abs_tol=1e-9), f"{name} from {moment} s on"
        checked += 1
    assert checked > tries(50)
