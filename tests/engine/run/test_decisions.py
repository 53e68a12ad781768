"""Decisions: runs that somebody outside decides job by job, against the reference, step by step."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import deciding, strategies
from support.plain import arrived, clusters, jobs, plain
from support.tiers import tries

import fedsched as fs
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

queues = plain("fedsched.engine.queue.queue_tree")
decisions = plain("fedsched.engine.run.decisions")


def at_random(seed: int, places: int) -> Callable[[list[int], list[bool]], int]:
    """Return answers that are drawn: any place, those of nobody and of jobs that do not fit among them, or none."""
    rng = random.Random(seed)
    return lambda waiting, fits: rng.randrange(-1, places)


def assert_same(scenario: strategies.Scenario, seed: int, places: int) -> None:
    """Fail unless engine and reference ask the same, and make the same schedule of the same answers."""
    episodes = deciding.episodes_of(scenario, waiting_places=places)
    got, asked, _ = deciding.by_engine(episodes, at_random(seed, places))
    expected, wanted = deciding.by_reference(scenario, at_random(seed, places), places)
    for ours, theirs in zip(asked, wanted, strict=False):
        assert ours == theirs, scenario.settings
    assert len(asked) == len(wanted)
    np.testing.assert_array_equal(got.start, expected.start)  # neither has a start of who never starts
    np.testing.assert_array_equal(got.finish, expected.finish)
    assert got.counts.tolist() == expected.counts


def assert_first_waiting_is_simulated(scenario: strategies.Scenario, seed: int) -> fs.Schedule:
    """Fail unless always choosing the first place makes what `simulate` makes by FCFS; return the schedule."""
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    episodes = deciding.episodes_of(scenario)
    deciding.by_engine(episodes, at_random(seed, 6))  # an episode leaves nothing behind
    got, _, _ = deciding.by_engine(episodes, deciding.first_waiting)
    rules = fs.Rules(order=episodes.order, placement=episodes.placement)
    expected = fs.simulate(workload, federation, rules, reading=episodes.reading, caps=caps)
    assert got == expected
    assert got.metrics() == expected.metrics()
    assert (got.notes, got.integrals) == (expected.notes, expected.integrals)
    if got.complete:
        got.verify(caps=caps, claimed=expected.metrics())
    return got


@pytest.mark.slow
def test_random_answers_agree() -> None:
    """Hundreds of random systems, answered at random, are asked the same and give the reference's schedule."""
    for seed in range(tries(600, 60)):
        scenario = deciding.without_permutations(strategies.random_scenario(seed, restless=True).for_environments())
        if seed % 3 == 2:  # some of whom limits let have hardly more nodes than the first that they are given
            scenario = strategies.under_tight_limits(strategies.on_uneven_nodes(scenario, seed), seed)
        elif seed % 3 == 1:
            scenario = scenario.with_endless(seed)
        assert_same(scenario, seed, places=random.Random(seed).choice((1, 2, 5, 20)))


POWERED = (
    strategies.under_caps, strategies.saving_power, strategies.going_off_under_caps,
    strategies.going_off_beside_uplinks, strategies.going_off_with_downtimes,
)  # fmt: skip


@pytest.mark.parametrize("made", POWERED)
def test_random_answers_agree_under_caps_and_with_boots(made: Callable[[int], strategies.Scenario]) -> None:
    """Who lacks watts does not fit, and who is chosen waits for its nodes to boot, as in the reference."""
    for seed in range(tries(60, 6)):
        scenario = deciding.without_permutations(made(seed).for_environments())
        assert_same(scenario, seed, places=random.Random(seed).choice((1, 2, 5, 20)))
        assert_first_waiting_is_simulated(scenario, seed)


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("placement", naive.PLACEMENT)
def test_every_placement_agrees(placement: str, same_time: str) -> None:
    """Under each placement rule and both readings of an instant random answers give the reference's schedule."""
    for seed in range(20_000, 20_000 + tries(8)):
        fixed = {"placement": placement, "same_time": same_time, "order": "fcfs"}
        assert_same(strategies.random_scenario(seed, restless=True, **fixed).for_environments(), seed, places=3)


def test_orders_that_change_agree() -> None:
    """Who waits first is that by the keys of now, where the queue order changes with time."""
    for order in ("xfactor", "wfp3", "unicef", "sjf"):
        for seed in range(21_000, 21_000 + tries(12)):
            assert_same(strategies.random_scenario(seed, restless=True, order=order).for_environments(), seed, places=4)


def test_the_first_waiting_job_is_fcfs() -> None:
    """Whoever always chooses the first waiting job makes the schedule of `strict`, start for start."""
    for seed in range(tries(150)):
        scenario = strategies.random_scenario(seed, restless=True, dispatch="strict").for_environments()
        scenario = deciding.without_permutations(scenario).with_endless(seed)
        for places in (1, 20):
            episodes = deciding.episodes_of(scenario, waiting_places=places)
            got, _, _ = deciding.by_engine(episodes, deciding.first_waiting)
            expected = scenario.simulate()
            np.testing.assert_array_equal(got.start, expected.start, str(scenario.settings))
            assert got.counts.tolist() == expected.counts


def test_first_come_first_served_is_as_it_is_simulated() -> None:
    """Always the first place is what `simulate` makes by FCFS, metrics and lost runs and all that never starts."""
    lost = stuck = 0
    for seed in range(tries(240)):
        scenario = deciding.without_permutations(strategies.random_scenario(seed, restless=True).for_environments())
        scenario = scenario.with_endless(seed)
        got = assert_first_waiting_is_simulated(scenario, seed)
        lost, stuck = lost + got.lost.runs, stuck + bool(got.notes)
    assert lost > 3
    assert stuck > 10


def test_the_first_that_fits_is_greedy() -> None:
    """Whoever always chooses the first job that fits makes the schedule of `greedy`, where all the queue is seen."""
    for seed in range(tries(150)):
        scenario = strategies.random_scenario(seed, restless=True, dispatch="greedy").for_environments()
        scenario = deciding.without_permutations(scenario)
        got, _, _ = deciding.by_engine(deciding.episodes_of(scenario), deciding.first_that_fits)
        expected = scenario.simulate()
        np.testing.assert_array_equal(got.start, expected.start, str(scenario.settings))
        assert got.counts.tolist() == expected.counts


@pytest.mark.parametrize(("policy", "choose"), [("fcfs", "first_waiting"), ("greedy", "first_that_fits")])
def test_the_sample_is_decided_as_it_is_simulated(policy: str, choose: str) -> None:
    """On the sample log the two rules give what `simulate` gives, and the same metrics of it."""
    log, cluster = fs.Workload.example().head(tries(400)), fs.Federation.example()
    episodes = deciding.Episodes(log, cluster, runs=1, waiting_places=400)
    got, _, _ = deciding.by_engine(episodes, getattr(deciding, choose))
    expected = fs.simulate(log, cluster, policy)
    np.testing.assert_array_equal(got.start, expected.start)
    np.testing.assert_array_equal(got.finish, expected.finish)
    assert got.metrics() == expected.metrics()
    got.verify(claimed=expected.metrics())


def test_whatever_is_answered_the_schedule_is_whole_and_holds() -> None:
    """Answers drawn at random, and never any job at all, end in schedules that pass the check."""
    for seed in range(tries(60)):
        scenario = deciding.without_permutations(strategies.random_scenario(seed, restless=True).for_environments())
        caps = strategies.to_package(scenario.jobs, scenario.machine)[2]
        for choose in (at_random(seed, 6), lambda waiting, fits: -1):
            got, _, _ = deciding.by_engine(deciding.episodes_of(scenario, waiting_places=5), choose)
            assert got.complete or got.notes
            if got.complete:
                got.verify(caps=caps, claimed=got.metrics())


def test_none_goes_on_while_time_does() -> None:
    """None lets the others come and end; when nothing else can come the first waiting job starts."""
    jobs = [naive.Job(1, 0.0, 1, 5.0, 5.0), naive.Job(2, 3.0, 1, 5.0, 5.0), naive.Job(3, 4.0, 1, 5.0, 5.0)]
    scenario = strategies.Scenario(naive.Machine([naive.Group(0, 2)], [1.0]), jobs, strategies.Settings())
    got, asked, _ = deciding.by_engine(deciding.episodes_of(scenario), lambda waiting, fits: -1)
    assert [(one.time, one.waiting) for one in asked] == [
        (0.0, [1]), (3.0, [1, 2]), (4.0, [1, 2, 3]), (4.0, [2, 3]), (9.0, [2, 3]), (9.0, [3]), (14.0, [3]),
    ]  # fmt: skip
    assert got.start.tolist() == [4.0, 9.0, 14.0]


def test_a_job_that_does_not_fit_holds_nothing() -> None:
    """A chosen job that does not fit waits, and at the next instant somebody else may be chosen."""
    jobs = [naive.Job(1, 0.0, 2, 5.0, 5.0), naive.Job(2, 1.0, 3, 5.0, 5.0), naive.Job(3, 2.0, 1, 5.0, 5.0),
            naive.Job(4, 3.0, 1, 1.0, 1.0)]  # fmt: skip
    scenario = strategies.Scenario(naive.Machine([naive.Group(0, 3)], [1.0]), jobs, strategies.Settings())
    answers = iter([0, 0, 2, 0, 0, 0])
    got, asked, _ = deciding.by_engine(deciding.episodes_of(scenario), lambda *_: next(answers))
    assert [(one.time, one.waiting, one.fits) for one in asked] == [
        (0.0, [1], [True]),
        (2.0, [2, 3], [False, True]),  # nothing fits at 1: nobody is asked
        (3.0, [2, 3, 4], [False, True, True]),
        (4.0, [2, 3], [False, True]),
        (5.0, [2, 3], [True, True]),
        (10.0, [3], [True]),
    ]
    assert got.start.tolist() == [0.0, 5.0, 10.0, 3.0]


def test_a_run_starts_from_a_running_state() -> None:
    """Over the running jobs of a moment, the rest is decided as the rest is simulated."""
    checked = 0
    for seed in range(tries(120)):
        fixed = {"dispatch": "strict", "order": "fcfs", "backfill_order": None, "same_time": "batch"}
        scenario = strategies.random_scenario(seed, **fixed).as_chosen()
        scenario = scenario.without_conditions().without_limits()  # arrays go by the places of jobs
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        options = {"saturation": chosen.saturation, "kill_at_estimate": chosen.kill_at_estimate}
        rules = fs.Rules(placement=chosen.placement)
        moment = float(np.median(fs.simulate(workload, federation, rules, caps=caps, **options).start))
        run = prepare(workload, federation, rules, caps=caps, **options).advance(until=moment)
        rows = np.flatnonzero(~(run.state.finish <= moment))
        if not np.isnan(run.state.start).any() or not len(run.running().rows):
            continue
        running = run.running().renumbered(rows)
        rest = fs.simulate(workload.take(rows), federation, rules, caps=caps[rows], running=running, **options)
        left = replace(scenario, jobs=[scenario.jobs[j] for j in rows])
        episodes = deciding.episodes_of(left, running=running)
        for _ in range(2):  # an episode leaves nothing behind
            got, _, _ = deciding.by_engine(episodes, deciding.first_waiting)
            np.testing.assert_array_equal(got.start, rest.start)
            np.testing.assert_array_equal(got.finish, rest.finish)
        checked += 1
    assert checked > tries(40)


def test_jobs_exchange_the_places_that_they_hold() -> None:
    """The jobs take these places in the order given, with the durations that their new caps allow; the rest stays."""
    problem, plan, state = arrived(
        jobs([3, 2, 1, 4], [8.0, 8.0, 8.0, 8.0]), clusters(((4, 4.0),), ((4, 1.0),)), dispatch="easy"
    )
    assert state.shortest.tolist() == [2.0] * 4
    plan = plan._replace(caps=np.array([[4, 4], [0, 4]]), cap_row=np.array([0, 0, 1, 0]))
    decisions.reorder_queued(problem, plan, state, np.array([2, 0]), np.array([0, 2]), np.array([], dtype=int))
    assert state.queue.order.tolist() == [2, 1, 0, 3]
    assert state.queue.position.tolist() == [2, 1, 0, 3]
    assert state.shortest.tolist() == [2.0, 2.0, 8.0, 2.0]
    assert queues.next_small(state.queue, 0, 2) == 0
    assert queues.next_small(state.queue, 1, 2) == 1
    assert queues.next_candidate(state.queue, 0, 4, 2.0, 0) == 1
