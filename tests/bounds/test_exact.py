"""The exact model: never beaten, never wrong about its bound, and honest about what it could not prove."""

from __future__ import annotations

import itertools
import math
import random
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from reference import brute, naive
from support import strategies
from support.exact_answers import check_against_best
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, exact_front, lower_bounds
from fedsched.bounds.exact_answers.cp_sat_model import time_unit
from fedsched.core.errors import InfeasibleError
from fedsched.generate import planted

PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine


def two_kinds() -> fs.Federation:
    """Return a small federation whose fast nodes are hungry."""
    fast, slow = fs.NodeGroup(2, 2.0, 300.0, 20.0), fs.NodeGroup(3, 1.0, 80.0, 10.0)
    return fs.Federation((fs.Cluster("fast", (fast,)), fs.Cluster("slow", (slow,))))


pytestmark = [pytest.mark.needs("ortools"), pytest.mark.slow]  # the solver's time, whatever is compiled


def package(jobs: int, *, seed: int, grain: float = 60.0, most: int = 4) -> fs.Workload:
    """Return jobs that all wait at 0, with run times of whole grains."""
    rng = np.random.default_rng(seed)
    return fs.Workload(
        submit=np.zeros(jobs), tasks=rng.integers(1, most + 1, jobs), runtime=rng.integers(1, 12, jobs) * grain
    )


def quiet_cases(count: int) -> list[tuple[list[naive.Job], naive.Machine]]:
    """Return tiny problems without communication, of one to three jobs with limits and releases of their own."""
    found = []
    for seed in itertools.count():
        scenario = strategies.random_scenario(seed, max_jobs=3).for_the_exact_model()
        if len(scenario.machine.groups) <= 3 and len(scenario.jobs) >= 2:
            found.append(([replace(job, bandwidth=0.0) for job in scenario.jobs], scenario.machine))
        if len(found) == count:
            return found
    raise AssertionError


def test_a_process_can_be_interrupted_after_a_proof() -> None:
    """Ctrl-C is Python's again when the solver, which takes it, is done."""
    script = """
import signal
import fedsched as fs
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs tests in the background has ignored
jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[60.0, 60.0])
fs.bounds.exact(jobs, fs.Federation((fs.Cluster("c", (fs.NodeGroup(1),)),)))
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""
    done = subprocess.run([sys.executable, "-c", script], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


def test_bound_optimum_and_brute_force_are_in_order() -> None:
    """Lower bound <= exact value <= the best of all orders and group choices, for makespan and energy."""
    tighter = 0
    for jobs, machine in quiet_cases(40):
        workload, federation, caps = strategies.to_package(jobs, machine)
        bounds = lower_bounds(workload, federation, caps=caps, method="lp")
        rows = [naive.metrics(result) for result in itertools.islice(brute.schedules(jobs, machine), 800)]
        for objective in ("makespan", "energy"):
            answer = exact(workload, federation, objective=objective, caps=caps, seconds=PATIENCE, workers=1)
            answer.schedule.verify(caps=caps)
            told = np.spacing(workload.submit.max()) < 1e-9 * bounds.makespan  # else the clock may hide the last of it
            assert answer.status == "optimal" or not told
            assert bounds.of(objective) <= answer.bound <= answer.value
            assert answer.value <= min(row[objective] for row in rows) * (1 + 1e-9)
            assert answer.value == getattr(answer.schedule, objective)
            tighter += answer.value > bounds.of(objective) * (1 + 1e-5)
    assert tighter > 5


def bound_cases(count: int) -> list[tuple[list[naive.Job], naive.Machine]]:
    """Return tiny problems with maintenance, jobs that wait for others, or both; all know how long they run."""
    found = []
    for seed in itertools.count():
        scenario = strategies.random_scenario(seed, max_jobs=3).with_breaks()
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        bound = scenario.machine.closures or any(job.after or job.begin for job in jobs)
        if bound and len(scenario.machine.groups) <= 3 and len(jobs) >= 2:
            found.append((jobs, scenario.machine))
        if len(found) == count:
            return found
    raise AssertionError


def test_no_bound_is_above_the_optimum_with_maintenance_and_conditions() -> None:
    """Lower bounds <= exact value <= the best of all orders and group choices; of other metrics bounds hold for all."""
    with_breaks = with_conditions = 0
    for jobs, machine in bound_cases(30):
        workload, federation, caps = strategies.to_package(jobs, machine)
        bounds = lower_bounds(workload, federation, caps=caps, method="lp")
        results = itertools.islice(brute.schedules(jobs, machine), 300)
        rows = [naive.metrics(result) for result in results if not np.isnan(result.finish).any()]
        for objective in ("makespan", "energy"):
            answer = exact(workload, federation, objective=objective, caps=caps, seconds=PATIENCE, workers=1)
            answer.schedule.verify(caps=caps)
            assert answer.value == getattr(answer.schedule, objective)
            told = np.spacing(workload.submit.max()) < 1e-9 * bounds.makespan
            assert answer.status == "optimal" or not told or answer.value < 1e-3  # joules, which the clock hides
            assert bounds.of(objective) <= answer.bound <= answer.value
            assert answer.value <= min(row[objective] for row in rows) * (1 + 1e-9)
        for name in set(rows[0]) - {"utilisation", "user_spread"}:
            bound = bounds.of(name)
            assert not bound > min(row[name] for row in rows) * (1 + 1e-9) + 1e-9
        with_breaks += bool(machine.closures)
        with_conditions += any(job.after for job in jobs)
    assert with_breaks > 5
    assert with_conditions > 5


def endless_cases(count: int) -> list[tuple[list[naive.Job], naive.Machine]]:
    """Return tiny problems in which some nodes never open again, and the others hold each job."""
    found = []
    for seed in itertools.count():
        scenario = strategies.random_scenario(seed, max_jobs=3).with_breaks()
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        rng = random.Random(seed)
        closures = [replace(one, end=rng.choice((one.end, math.inf))) for one in scenario.machine.closures]
        machine = replace(scenario.machine, closures=tuple(closures))
        ever = [one for one in closures if one.end == math.inf]
        gone = [sum(one.nodes for one in ever if one.group == g) for g in range(len(machine.groups))]
        pairs = zip(machine.groups, gone, strict=True)
        left = replace(machine, groups=[replace(group, count=max(0, group.count - n)) for group, n in pairs])
        rooms = [
            sum(cap * naive.together(job, g) for g, cap in enumerate(naive.effective_caps(job, left))) for job in jobs
        ]
        ways = [len(brute.spreads(job, naive.effective_caps(job, machine))) for job in jobs]
        fits = all(room >= naive.wanted(job) for room, job in zip(rooms, jobs, strict=True))
        if any(gone) and fits and len(jobs) > 1 and math.prod(ways) <= 200:
            found.append((jobs, machine))
        if len(found) == count:
            return found
    raise AssertionError


def test_nodes_that_never_open_again() -> None:
    """The least value of all schedules in which jobs end before their nodes close, or are on others."""
    proven = asked = matters = 0
    for jobs, machine in endless_cases(tries(60)):
        workload, federation, caps = strategies.to_package(jobs, machine)
        fewest, points = brute.best_of_all(jobs, machine)
        for objective, place in (("makespan", 0), ("energy", 1)):
            answer = exact(workload, federation, objective=objective, caps=caps, seconds=PATIENCE, workers=1)
            answer.schedule.verify(caps=caps)
            check_against_best(answer, fewest, min(point[place] for point in points))
            proven += answer.status == "optimal"
            asked += 1
        always = brute.best_of_all(jobs, replace(machine, closures=()))[1]
        matters += min(points) != min(always)
    assert proven > 0.8 * asked
    assert matters > 3


def test_a_job_that_endless_downtimes_leave_no_room_is_refused() -> None:
    """It might run before, but another job might then be in its way for ever."""
    gone = fs.Downtime("cluster", 18.0, math.inf, nodes="1 of all", known_from=0.0, end_known=True)
    two = replace(fs.Federation.homogeneous(2), calendar=(gone,))
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[1, 1, 1], runtime=[20.0, 15.0, 16.0])
    answer = exact(jobs, two, seconds=PATIENCE)
    assert (answer.status, answer.value) == ("optimal", 35.0)
    with pytest.raises(InfeasibleError, match="job 2 may find no room on the nodes that downtimes do not close"):
        exact(replace(jobs, tasks=[1, 2, 1]), two, seconds=PATIENCE)


def test_maintenance_and_conditions_under_contention() -> None:
    """With saturated uplinks, too, the bound holds for what the rules make, and the schedule found keeps to all."""
    for seed in range(25):
        drawn = strategies.random_scenario(seed, max_jobs=5, saturation="dynamic", placement="powerful")
        scenario = drawn.with_breaks()
        jobs = [replace(job, estimate=job.runtime) for job in scenario.jobs]
        workload, federation, caps = strategies.to_package(jobs, scenario.machine)
        answer = exact(workload, federation, caps=caps, seconds=10, workers=1)
        made = replace(scenario, jobs=jobs).simulate(kill_at_estimate=False)
        if not np.isnan(made.finish).any():
            assert answer.bound <= naive.metrics(made)["makespan"]
        answer.schedule.verify(caps=caps)
        assert answer.bound <= answer.value


def test_the_least_makespan_around_maintenance() -> None:
    """Three jobs of two nodes' work around a gap in which one of the two is closed: the wide one comes last."""
    package = fs.Workload(submit=[0.0] * 3, tasks=[2, 1, 1], runtime=[4.0, 5.0, 3.0], after=["", "", "afterok:2+1s"])
    works = fs.Downtime("cluster", 3.0, 9.0, nodes="1 of all")
    answer = exact(package, replace(fs.Federation.homogeneous(2), calendar=(works,)), seconds=PATIENCE)
    assert (answer.status, answer.value) == ("optimal", 13.0)
    assert answer.schedule.start.tolist() == [9.0, 0.0, 6.0]


def test_no_heuristic_beats_it_under_contention() -> None:
    """With saturated uplinks the bound still holds for every schedule, and the claim is no more than was proven."""
    crowded = 0
    for seed in range(25):
        drawn = strategies.random_scenario(seed, max_jobs=5, saturation="dynamic", placement="powerful")
        scenario = drawn.for_the_exact_model()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        answer = exact(workload, federation, caps=caps, kill_at_estimate=killed, seconds=10, workers=1)
        made = naive.metrics(scenario.simulate())
        assert answer.bound <= made["makespan"]
        assert answer.bound <= answer.value
        assert (answer.status == "optimal") == (answer.value <= answer.bound * (1 + 1e-5))
        crowded += made["saturated_seconds"] > 0
    assert crowded > 3


def test_a_planted_optimum_is_found() -> None:
    """On a full machine, equal nodes or two speeds, the planted makespan is reached and proven."""
    for federation in (fs.Federation.homogeneous(8), two_kinds()):
        workload, optimum = planted(federation, jobs=7, makespan=3600.0, seed=2)
        answer = exact(workload, federation, seconds=30)
        assert answer.status == "optimal"
        assert answer.value == pytest.approx(optimum, rel=1e-5)
        assert answer.bound <= optimum


def test_times_without_a_common_unit_keep_the_claim_true() -> None:
    """Run times that are no multiples of anything: the bound stays below the value, and meets it to 1e-5."""
    for seed in range(5):
        workload = replace(package(5, seed=seed), runtime=np.random.default_rng(seed).uniform(1, 50, 5))
        for objective in ("makespan", "energy"):
            answer = exact(workload, two_kinds(), objective=objective, seconds=PATIENCE)
            answer.schedule.verify()
            assert answer.bound <= answer.value <= answer.bound * (1 + 1e-5)


def test_many_ways_are_left_to_the_model() -> None:
    """A job that can be spread in more ways than are listed is as well placed by variable counts."""
    from fedsched.bounds.exact_answers import cp_sat_model

    kinds = [fs.NodeGroup(6, speed, 100 * speed, 10.0) for speed in (1.0, 1.5, 2.0, 3.0)]
    federation = fs.Federation((fs.Cluster("all", tuple(kinds)),))
    workload = package(4, seed=1, most=14)
    assert not cp_sat_model._spreads(12, [6, 6, 6, 6], [1, 1, 1, 1], cp_sat_model.MANY)
    answers = []
    for many in (0, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(cp_sat_model, "MANY", many)
            both = ("makespan", "energy")
            answers.append([exact(workload, federation, objective=name, seconds=PATIENCE) for name in both])
    for free, listed in zip(*answers, strict=True):
        assert free.status == listed.status == "optimal"
        assert free.value == pytest.approx(listed.value, rel=1e-5)


def test_spreads_are_all_and_only_those_that_fit() -> None:
    """The ways to spread a job are the count vectors within the caps that add up to its tasks."""
    from fedsched.bounds.exact_answers.cp_sat_model import _spreads

    ways = _spreads(3, [2, 1, 3], [1, 1, 1], 100)
    expected = [way for way in itertools.product(range(3), range(2), range(4)) if sum(way) == 3]
    assert sorted(ways) == expected
    assert _spreads(3, [2, 1, 3], [1, 1, 1], len(expected) - 1) == []
    uneven = _spreads(5, [2, 1, 3], [1, 4, 2], 100)  # none could be done without
    assert sorted(uneven) == [(0, 0, 3), (0, 1, 1), (1, 0, 2), (1, 1, 0)]


def test_weights_trade_makespan_for_energy() -> None:
    """A weighted optimum is no worse, by its own weights, than the optima of either objective."""
    workload, federation = package(5, seed=3), two_kinds()
    fast, thrifty = (exact(workload, federation, objective=name, seconds=PATIENCE) for name in ("makespan", "energy"))
    assert fast.value < thrifty.schedule.makespan
    assert thrifty.value < fast.schedule.energy
    weights = (1 / fast.value, 1 / thrifty.value)
    both = exact(workload, federation, objective="weighted", weights=weights, seconds=PATIENCE)
    assert both.status == "optimal"
    for other in (fast, thrifty):
        cost = weights[0] * other.schedule.makespan + weights[1] * other.schedule.energy
        assert both.value <= cost * (1 + 1e-9)


def test_the_front_dominates_every_schedule() -> None:
    """Every order and group choice is no better in both than some point of the front, whose ends are the optima."""
    for seed in range(6):
        workload, federation = package(3, seed=seed), two_kinds()
        front = exact_front(workload, federation, seconds=PATIENCE)
        assert front.complete
        times, energies = front.points.T
        assert (np.diff(times) > 0).all()
        assert (np.diff(energies) < 0).all()
        assert times[0] == pytest.approx(exact(workload, federation, seconds=PATIENCE).value, rel=1e-5)
        assert energies[-1] == pytest.approx(
            exact(workload, federation, objective="energy", seconds=PATIENCE).value, rel=1e-6
        )
        groups = [naive.Group(0, 2, 2.0, 300.0, 20.0), naive.Group(1, 3, 1.0, 80.0, 10.0)]
        machine = naive.Machine(groups, [np.inf, np.inf])
        jobs = [naive.Job(j, 0.0, int(t), float(r), float(r)) for j, (t, r) in
                enumerate(zip(workload.tasks, workload.runtime, strict=True))]  # fmt: skip
        for result in brute.schedules(jobs, machine):
            row = naive.metrics(result)
            by = (times <= row["makespan"] * (1 + 1e-5)) & (energies <= row["energy"] * (1 + 1e-5))
            assert by.any()
        for point, schedule in zip(front.points, front.schedules, strict=True):
            schedule.verify()
            assert tuple(point) == (schedule.makespan, schedule.energy)
        bounds = lower_bounds(workload, federation)
        for makespan, energy in front.points:
            assert bounds.energy_within(makespan * (1 + 1e-9)) <= energy


def test_the_plan_replays() -> None:
    """Its order and counts, handed to the simulation as queue order and caps, give its makespan again."""
    workload, federation = package(6, seed=5), two_kinds()
    answer = exact(workload, federation, seconds=PATIENCE)
    rules = fs.Rules(order=answer.order, dispatch="strict", placement="powerful")
    again = fs.simulate(workload, federation, rules, caps=np.array(answer.counts))
    assert again.makespan == pytest.approx(answer.value)
    np.testing.assert_array_equal(again.counts, answer.counts)


def test_an_origin_after_the_submits() -> None:
    """No job starts before t0, and the makespan counts from there."""
    workload = replace(package(4, seed=2), submit=np.array([0.0, 30.0, 60.0, 600.0]))
    answer = exact(workload, two_kinds(), t0=120.0, seconds=PATIENCE)
    answer.schedule.verify()
    assert answer.schedule.start.min() >= 120
    assert answer.schedule.start[3] >= 600
    assert answer.bound >= lower_bounds(workload, two_kinds(), t0=120.0).makespan


def test_without_time_it_returns_what_it_has() -> None:
    """With hardly any time there is still a schedule, and a bound that is true."""
    workload = package(30, seed=1)
    answer = exact(workload, two_kinds(), seconds=1e-3, workers=1)
    answer.schedule.verify()
    assert answer.bound <= answer.value
    assert f"{answer.status}: makespan" in str(answer)


def test_units() -> None:
    """Times with a common unit are whole multiples of it; others are rounded down to a tiny one."""
    whole = time_unit([np.array([0.1, 0.2, 0.7])], 10.0)
    assert whole.exact
    assert whole.down(np.array([0.1, 0.7])).tolist() == [round(0.1 / whole.seconds), round(0.7 / whole.seconds)]
    odd = time_unit([np.array([np.pi, np.e])], 10.0)
    assert not odd.exact
    assert (odd.truth(1) * odd.down(np.array([np.pi, np.e])) <= [np.pi, np.e]).all()


def test_it_says_what_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wrong options, empty workloads, jobs that never fit and a missing solver are errors with a cure."""
    workload, federation = package(2, seed=1), two_kinds()
    with pytest.raises(fs.errors.UnknownNameError, match="makespan"):
        exact(workload, federation, objective="makespam")
    with pytest.raises(ValueError, match="if and only if objective='weighted'"):
        exact(workload, federation, weights=(1.0, 1.0))
    with pytest.raises(ValueError, match="if and only if objective='weighted'"):
        exact(workload, federation, objective="weighted")
    with pytest.raises(ValueError, match="one of them above 0"):
        exact(workload, federation, objective="weighted", weights=(0.0, 0.0))
    with pytest.raises(ValueError, match="seconds=0"):
        exact(workload, federation, seconds=0)
    with pytest.raises(fs.errors.TraceError, match="empty"):
        exact(workload.head(0), federation)
    with pytest.raises(fs.errors.InfeasibleError, match="tasks=9"):
        exact(fs.Workload(submit=[0], tasks=[9], runtime=[1]), federation)
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with pytest.raises(fs.errors.MissingExtraError, match=r"fedsched\[exact\]"):
        exact(workload, federation)
